--[[
RAY - a ray tracer, ISPASS-2009 (also MASK, Mosaic).

Arrays, in order: out u32[height][width], and the local memory of the threads,
f32[20][resident].  Footprint 4 width height + 80 resident bytes, 4.0 MB for
256 x 256 pixels and the 46,080 threads that 30 cores of 1536 hold.  (The
program allocates some arrays more, which it never touches.)

One launch, blocks of 16 x 8, a pixel a thread: a warp is two rows of 16 pixels,
two segments of 64 bytes in one page.  A thread clears its pixel, follows its
ray for up to five bounces, each against a plane and three spheres in constant
memory and, where the light is in front, with a ray to the light that stops at
the first object; then it adds up what the bounces left and adds to the pixel.
The stack of bounces (five times four words) is indexed by a variable and so
is in local memory: word k of the thread in slot s at 4 (k resident + s),
consecutive for the lanes of a warp, 180 KB from one word to the next.

The rays are real: the scene, the view and the arithmetic (single precision)
are the program's first image, so bounces, shadows and lanes that are left over
are as they fall.  Most of the run is arithmetic.

Approximated: alu counts.  Shading has the operations of the source (a power of
50 is 150), the tests of objects share what is left of the measured total, 956 a
pixel: 47 each, where their formulas need some 40.  Blocks take the slots of
local memory in turn, where the machine's would depend on which cores are free.

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"
local app, kernel, u32, f32 = h.app, h.kernel, h.u32, h.f32

local BOUNCES, FAR = 5, 10000
local LIGHT = { 10, 10, 10 }
-- centre and radius; object 0 is the plane through its centre
local PLANE = { 0, -1.5, 0 }
local SPHERES = { { -1, 0, -1, 0.5 }, { 1, 0, -1, 0.5 }, { 0, 0, -2, 0.75 } }
local TEST = 47 -- instructions to test an object

-- ---- vectors of three values -----------------------------------------------

local function map(fn, a, b)
    return { fn(a[1], b and b[1]), fn(a[2], b and b[2]), fn(a[3], b and b[3]) }
end
local function add(a, b) return map(function(x, y) return x + y end, a, b) end
local function sub(a, b) return map(function(x, y) return x - y end, a, b) end
local function times(a, s) return map(function(x) return x * s end, a) end
local function dot(a, b) return a[1] * b[1] + a[2] * b[2] + a[3] * b[3] end

-- Of length 1; a root and three divisions.
local function unit(a)
    local n = dot(a, a):sqrt()
    return map(function(x) return x / n end, a)
end

local function choose(t, c, a, b)
    return map(function(x, y) return t:select(c, x, y) end, a, b)
end

local function variables(t, a)
    return map(function(x) return t:var(x) end, a)
end

local function set(v, a)
    for i = 1, 3 do v[i]:set(a[i]) end
end

-- ---- rays -------------------------------------------------------------------

-- Where a ray from `from` in direction `u` meets a sphere; 0 where it misses.
local function meet_sphere(t, from, u, sphere)
    local r2 = sphere[4] * sphere[4]
    local to = { sphere[1] - from[1], sphere[2] - from[2], sphere[3] - from[3] }
    local d, l2 = dot(to, u), dot(to, to)
    local m2 = l2 - d * d
    local outside = l2:gt(r2)
    local misses = d:lt(0):band(outside):bor(m2:gt(r2))
    local q = (r2 - m2):max(0):sqrt()
    return t:select(misses, 0, t:select(outside, d - q, d + q))
end

local function meet_plane(t, from, u)
    local m = u[2]
    local along = -(from[2] - PLANE[2]) / m
    local flat = m:max(-m):lt(0.0001)
    return t:select(flat:bor(along:le(0)), 0, along)
end

local function meet(t, from, u, object)
    t:alu(TEST, { uses = {} })
    if object == 0 then return meet_plane(t, from, u) end
    return meet_sphere(t, from, u, SPHERES[object])
end

-- The nearest object that a ray meets: its distance and number.
local function nearest(t, from, u)
    local least, object = t:var(t:const(FAR, "f32")), t:var(t:const(0))
    for j = 0, #SPHERES do
        local d = meet(t, from, u, j)
        local nearer = d:gt(0):band(d:lt(least))
        least:set(t:select(nearer, d, least))
        object:set(t:select(nearer, j, object))
    end
    return least, object
end

-- Whether nothing is between `at` and the light in direction `u`.
local function lit(t, at, u)
    local far = sub(LIGHT, at)
    local limit = dot(far, far)
    local from = add(at, times(u, 0.0001))
    local hit = t:var(t:const(0, "f32"))
    t:alu(12, { uses = {} })
    for j = 0, #SPHERES do
        t:when(hit:eq(0), function()
            local d = meet(t, from, u, j)
            local p = add(at, times(u, d))
            hit:set(t:select(d:gt(0):band(dot(p, p):gt(limit)), 0, d))
            t:alu(4, { uses = {} })
        end)
    end
    return hit:eq(0)
end

-- ---- the kernel -------------------------------------------------------------

-- Column vectors of the view: forward, up, side; from where, and its depth.
local function view()
    local eye = { 0, 0.5, 2 }
    local function norm(a)
        local n = math.sqrt(a[1] ^ 2 + a[2] ^ 2 + a[3] ^ 2)
        return { a[1] / n, a[2] / n, a[3] / n }
    end
    local U = norm { 0, -0.5, -2 }
    local V = norm { 0 - U[2] * U[1], 1 - U[2] * U[2], 0 - U[2] * U[3] }
    local W = norm { U[2] * V[3] - U[3] * V[2], U[3] * V[1] - U[1] * V[3],
        U[1] * V[2] - U[2] * V[1] }
    return eye, U, V, W, 1 / math.tan(65 * 3.141592654 / 180 / 2)
end

-- The direction of the ray through pixel (gx, gy); rows of the view's matrix
-- are forward, up and side, and the program adds them up as rows.
local function direction(t, p)
    local _, U, V, W, depth = view()
    local pixel = 2 / math.min(p.width, p.height)
    local x = (t.gx:f32() - p.width * 0.5) * pixel
    local y = (t.gy:f32() - p.height * 0.5) * pixel
    local u = {}
    for i = 1, 3 do u[i] = x * W[i] + y * V[i] + U[i] * depth end
    return unit(u)
end

-- Stores or loads the four words of entry i of the stack.
local function entry(t, b, p, what, i, slot)
    local values = {}
    for k = 0, 3 do
        local at = (i * 4 + k) * p.resident + slot
        if what == "store" then
            t:store(b["local"], at)
        else
            values[k + 1] = t:load(b["local"], at)
        end
    end
    return values
end

-- One bounce at `at`, distance `least`: light, shadow, and the ray continues.
local function bounce(t, p, b, ray, least, object, i, slot)
    local at = add(ray.from, times(ray.u, least))
    local L, V = unit(sub(LIGHT, at)), unit(sub(ray.from, at))
    local centre = SPHERES[1]
    for j = 2, #SPHERES do
        centre = choose(t, object:eq(j), SPHERES[j], centre)
    end
    local N = unit(sub(at, centre))
    N = choose(t, object:eq(0), { 0, 1, 0 }, N)
    local NV = dot(N, V)
    local facing = t:select(NV:lt(0), -1, 1):f32()
    local light = dot(N, L) * facing
    t:alu(80, { uses = {} })
    entry(t, b, p, "store", i, slot)
    t:when(light:gt(0), function()
        t:when(lit(t, at, L), function()
            t:alu(216, { uses = {} })
            entry(t, b, p, "store", i, slot)
        end)
    end)
    local u = unit(sub(times(N, 2 * NV), V))
    t:alu(26, { uses = {} })
    set(ray.u, u)
    set(ray.from, add(at, times(u, 0.0001)))
end

local function render(p, b)
    local options = { grid = { p.width // 16, p.height // 8 },
        block = { 16, 8 }, regs = 45 }
    return kernel("render", options, function(t)
        local id = t.gx + p.width * t.gy
        local slot = (t.block * 128 + t.tid) % p.resident
        t:alu(12)
        for i = 0, BOUNCES - 1 do entry(t, b, p, "store", i, slot) end
        t:store(b.out, id)
        t:alu(48)
        local ray = { from = variables(t, map(function(x)
            return t:const(x, "f32") end, (view()))),
            u = variables(t, direction(t, p)) }
        t:sync()
        local n, i = t:var(t:const(0)), t:var(t:const(0))
        t:while_(function() return i:lt(BOUNCES):band(n:eq(i)) end, function()
            local least, object = nearest(t, ray.from, ray.u)
            t:alu(6, { uses = {} })
            t:when(least:lt(FAR), function()
                n:set(n + 1)
                bounce(t, p, b, ray, least, object, i, slot)
            end)
            i:set(i + 1)
        end)
        t:loop(n - 1, 0, -1, function(j)
            entry(t, b, p, "load", j, slot)
            entry(t, b, p, "load", j - 1, slot)
            t:alu(10)
            entry(t, b, p, "store", j - 1, slot)
        end)
        entry(t, b, p, "load", t:const(0), slot)
        t:alu(24)
        t:load(b.out, id)
        t:alu(1)
        t:store(b.out, id)
    end)
end

return app {
    name = "RAY", suite = "ISPASS-2009", source = "ISPASS-2009 RAY",
    summary = "ray tracing: arithmetic, branches, local memory",
    registers = "ptxas for sm_20 (MAFIA)",
    params = { width = 256, height = 256, resident = 30 * 1536 },
    sizes = {
        T = { width = 48, height = 32, resident = 512 },
        R = { width = 256, height = 256 },
        S = { width = 256, height = 256 },
        M = { width = 2048, height = 2048 },
        L = { width = 4096, height = 4096 },
    },
    footprint = function(p)
        return 4 * p.width * p.height + 16 * BOUNCES * p.resident
    end,

    buffers = function(p)
        h.check(p.width % 16 == 0 and p.height % 8 == 0
            and p.resident % 128 == 0 and p.width > 0 and p.height > 0
            and p.resident > 0,
            "RAY: width is a multiple of 16, height of 8, resident of 128")
        return { u32("out", p.height, p.width),
            f32("local", 4 * BOUNCES, p.resident) }
    end,

    kernels = function(p, b) return { render(p, b) } end,
}
