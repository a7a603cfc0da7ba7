--[[
kernel.lua - kernel programs: applications written as Lua expressions.

An application describes its buffers and its kernels.  A kernel function runs
ONCE, when the program is built: the values it handles are expressions over
the index of the thread, and what it calls on `t` is written down as bytecode,
which the C engine then runs for all lanes of a warp at once.

    local k = require "heddle.kernel"
    local app, kernel, f32 = k.app, k.kernel, k.f32

    return app {
      name = "vecadd", source = "example",
      params = { n = 1 << 20, alu = 4 },
      sizes = { T = { n = 4096 }, L = { n = 1 << 24 } },
      buffers = function(p) return {
        f32("a", p.n), f32("b", p.n), f32("c", p.n) } end,
      kernels = function(p, b) return {
        kernel("add", { grid = k.ceil(p.n, 256), block = 256 }, function(t)
          local i = t.gid
          t:alu(p.alu)
          t:when(i:lt(p.n), function()
            local x, y = t:load(b.a, i), t:load(b.b, i)
            t:alu(1, { uses = { x, y } })
            t:store(b.c, i, x + y)
          end)
        end) } end,
    }

APPLICATION    app { ... } returns an application.  Fields:
  name, source, note    texts
  params                table of defaults; unknown parameters are errors
  sizes                 { T = {...}, S = {...}, M = {...}, L = {...} }:
                        parameters that differ; the default size is "S"
  buffers(p)            an ORDERED list of buffers, allocated in this order,
                        each at a multiple of `align` bytes
  align                 default 256
  kernels(p, b)         a list of kernels, or of launches
                        { kernel, grid = , args = { name = value } };
                        b.NAME is the buffer NAME
  host(h, s)            optional: see HOST.  Without it the list is launched
                        once from front to back.
  A:instance(o)   the application for o = "T" or { size = "T", n = 5, ... }:
                  { app, name, size, params, buffers (list), b, kernels (each
                    distinct kernel once), launches (the list), host }.
                  A kernel is { name, grid = {x,y,z}, block = {x,y,z}, regs,
                  shared, args, fn }; a buffer { name, type, width, count,
                  dims, contents, data, align, index (1..) }.
  A:workload(o)   the same, compiled: a workload for a simulation

BUFFERS    u8 i32 u32 i64 f32 f64 (name, n1 [, n2 ...] [, options]);
           n1 * n2 * ... elements, indexed from 0 by ONE index (row-major
           arithmetic is yours).  Options:
  contents = true   real values are kept: loads read them, stores write them.
                    Otherwise loads give 0 and stores are dropped.
  data              the values at the start (implies contents): a function(i)
                    (i from 0), a list, a number (fill), a string of raw
                    little-endian elements, or data from a generator.
                    What it does not cover is 0.

KERNELS    kernel(name, options, function(t) ... end).  Options: grid and
           block (a number or {x, y, z}), regs (a thread, default 32), shared
           (bytes a block, default 0), args = { name = default }.

VALUES     are int (64 bits, wraps), f32, f64 and bool.  A thread index is
           int; a load gives int for u8 i32 u32 i64 buffers (u8 and u32 are
           zero-extended), else f32 or f64.  An operation is computed where
           it is written.  Plain Lua numbers are constants and are folded.
           int with f32 gives f32, anything with f64 gives f64; a constant
           takes the type of the other side, and int with a constant that is
           not an integer gives f64.
  t.gid         global linear index: t.block * threads + t.tid
  t.gx gy gz    global index in each dimension: t.bx * Bx + t.tx, ...
  t.tid         linear index in the block: tx + Bx * (ty + By * tz)
  t.tx ty tz  t.bx by bz  t.block  t.nx ny nz
                thread and block index; linear block index; size of the grid
  t.lane t.warp t.lanes
                lane in the warp, warp in the block, lanes of a warp
  t:arg(name [, type])   a parameter of the kernel, set by the launch (type
                "int", "f32" or "f64"; default "int")
  + - * unary -    all numbers
  /             f32 and f64 (int operands: an error, use //)
  // %          int; rounds toward minus infinity as in Lua; by 0 gives 0
  :lt :le :gt :ge :eq :ne     give bool
  :band :bor :bxor            int, or bool with bool
  :bnot                       int, or bool
  :shl :shr :lshr  int; shift counts are taken modulo 64; shr keeps the sign
  :min :max     numbers: (a < b) and a or b; (a > b) and a or b
  :sqrt         f32, f64
  :f32 :f64 :int   conversions (int: toward zero; bool gives 0 or 1; out of
                   range or NaN gives 0)
  t:select(c, a, b)   a where c holds, else b.  Both are computed.
  t:const(v [, type])  a constant as a value
  t:var(init)   a mutable register with the value and type of init; v:set(e);
                v itself is an expression.  `local x = v` is another name for
                the same register; `v:get()` copies its value of now.
  A value made inside t:when, t:loop or t:while_ may not be used outside it
  (an error): carry it out with t:var.

INSTRUCTIONS   only these cost issue slots; arithmetic, comparisons and control
               flow are free, their price is whatever t:alu says.
  t:load(buf, index [, {vec = 2 or 4}])          1; gives the value.  vec: a
                lane reads that many elements (at most 16 bytes) from index
                on; the value is the first.
  t:store(buf, index [, value [, {vec = }]])     1
  t:atomic(op, buf, index [, value [, compare]]) 1; gives the old value; op is
                add min max and or xor exch cas (cas writes value where the
                old one equals compare); default value 1; for cas both are
                needed.  f32 and f64 buffers: add, min, max, exch.  Lanes act
                in ascending order.
  t:alu(n [, {uses = {v, ...}}])                 n; waits for all outstanding
                loads of the warp, or only for those that the values in uses
                come from (uses = {}: for none)
  t:shared(n [, {uses = }])                      n shared-memory accesses;
                waits like t:alu
  t:sync()                                       1; barrier of the block
  end of the kernel                              1
  A load does not wait.  Its value, and everything computed from it, is waited
  for at the first use in an index, a stored or atomic value, a condition, a
  loop bound, or a t:alu.  An index outside the buffer stops the run.

CONTROL FLOW
  t:when(c, fn [, else_fn])   lanes with c run fn, the others else_fn
  t:loop(n, fn)               fn(i) for i = 0 .. n - 1
  t:loop(from, to [, step], fn)   for i = from, from + step, ... while i < to
                (i > to where step is a negative constant); bounds may differ
                between lanes; they are taken once, before the first round
  t:while_(cond, body)        while cond() holds for a lane; cond is evaluated
                before each round, may load, and its loads cost
  t:exit_if(c)                lanes with c are done (no instruction)
  All of it is structured: lanes meet again at the end of each construct.
  c may be a plain Lua boolean.

HOST    host(h, s) is called before the first launch and after each kernel; it
        returns a kernel, its name, a launch { kernel, grid = , args = }, or
        nil at the end of the application.
  s             plain data (numbers, strings, booleans, tables of them), yours;
                empty at the start; part of snapshots
  h.read(buf, i)  h.write(buf, i, v)  h.fill(buf, v)   buffers with contents
  h.b h.kernels h.p     buffers; kernels by number and by name; parameters
  h.launched    number of launches so far
  host must not keep state anywhere else.

SPDX-License-Identifier: MIT
]]

local M = {}

return M
