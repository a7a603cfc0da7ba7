/*
 * launch.c - kernel programs as a source of instructions: launches,
 * blocks, the host function, snapshots.  What a warp does next is simt.c.
 *
 * The host function of a program, or its list, says which kernel is launched
 * next; while a launch runs, its kernel, grid and arguments are in the arena,
 * and what follows from the kernel is worked out again after a restore.  The
 * contents of buffers and the bytes of the host function are outside of it, and
 * are saved and loaded with a snapshot; a relaunch empties the latter.  The
 * host sees the contents of buffers as the kernels left them.
 *
 * What belongs to a warp is stored together: lanes that run, registers, open
 * constructs, and the lanes of the registers that are vectors; from warp to
 * warp by whole lines of the host's cache.  Only the high halves of ints, which
 * are seldom needed, are apart (lane.c).
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "kit/bits.h"
#include "lane.h"

/* ---- launches and blocks ---------------------------------------------- */

static uint32_t up_to(uint32_t n, uint32_t align)
{
    return (n + align - 1) & ~(align - 1);
}

static struct hd_lane_layout layout_of(const struct hd_kernel *k,
                                       uint32_t lanes)
{
    struct hd_lane_layout a;

    a.reg = up_to((uint32_t)offsetof(struct hd_lane_warp, tag) + k->nreg, 8);
    a.frame = a.reg + k->nreg * (uint32_t)sizeof(struct hd_cell);
    a.name = a.frame + k->depth * (uint32_t)sizeof(struct hd_lane_frame);
    a.copies = a.name + k->names;
    if (k->copies)
        a.copies = up_to(a.copies, 8);
    a.vec = up_to(a.copies +
                      (k->copies ? (uint32_t)sizeof(struct hd_lane_copies) : 0),
                  64);
    a.bytes = a.vec + k->nvec * lanes * 4;
    return a;
}

/* Sets what follows from the current kernel. */
static void launch_lay_out(struct hd_lane_engine *vm)
{
    bool regroups = vm->divided != NULL && vm->env->compact;
    const struct hd_kernel *k =
        &(regroups ? vm->divided : vm->prog->kernel)[vm->st->kernel];

    vm->k = k;
    vm->warps = (k->threads + vm->lanes - 1) / vm->lanes;
    vm->contexts = vm->slots / vm->warps;
    vm->last = hd_ones(k->threads - (vm->warps - 1) * vm->lanes);
    vm->at = layout_of(k, vm->lanes);
}

static void undivide(struct hd_lane_engine *vm)
{
    for (uint32_t i = 0; vm->divided != NULL && i < vm->prog->nkernel; i++)
        hd_kernel_undivide(&vm->divided[i]);
    free(vm->divided);
    vm->divided = NULL;
}

/* The kernels for blocks whose threads are regrouped.  0 or -1. */
static int launch_divide(struct hd_lane_engine *vm)
{
    const struct heddle_program *p = vm->prog;

    vm->divided = calloc(p->nkernel, sizeof(*vm->divided));
    for (uint32_t i = 0; vm->divided != NULL && i < p->nkernel; i++)
        if (hd_kernel_divide(&vm->divided[i], &p->kernel[i], p->buf) != 0)
            undivide(vm);
    return vm->divided != NULL ? 0 : -1;
}

static int launch_bind(void *self, struct hd_env *env, uint32_t app,
                       uint32_t lanes, uint32_t slots)
{
    struct hd_lane_engine *vm = self;
    size_t most = 0, passing = 1, high = 1, places = slots;

    (void)app;
    if (vm->env != NULL)
        return hd_err_set(env->err, HEDDLE_EINVAL,
                          "workload %s serves another simulation already",
                          vm->src.name);
    if (vm->prog->lanes != 0 && vm->prog->lanes != lanes)
        return hd_err_set(
            env->err, HEDDLE_EPROGRAM,
            "application %s is written for warps of %u lanes, and "
            "the machine's have %u; expected core.lanes = %u (and "
            "a core.width that divides it)",
            vm->src.name, vm->prog->lanes, lanes, vm->prog->lanes);
    if (env->compact) { /* as many formed warps as others */
        places = 2 * (size_t)slots;
        vm->part =
            hd_arena_take(env->arena, slots, HD_LANE_HOMES * sizeof(*vm->part));
        if (vm->part == NULL || launch_divide(vm) != 0)
            return hd_err_memory(env->err);
    }
    for (uint32_t i = 0; i < vm->prog->nkernel; i++) {
        const struct hd_kernel *k =
            &(vm->divided != NULL ? vm->divided : vm->prog->kernel)[i];

        most = hd_max_u64(most, layout_of(k, lanes).bytes);
        passing = hd_max_u64(passing, k->npass + k->pint);
        high = hd_max_u64(high, k->nint);
    }
    vm->st = hd_arena_take(env->arena, 1, sizeof(*vm->st));
    vm->block = hd_arena_take(env->arena, places, sizeof(*vm->block));
    vm->pool = hd_arena_take(env->arena, places, most);
    vm->high = hd_arena_take(env->arena, places, high * lanes * 4);
    vm->passing = calloc(passing, lanes * sizeof(*vm->passing));
    if (vm->st == NULL || vm->block == NULL || vm->pool == NULL ||
        vm->high == NULL || vm->passing == NULL ||
        hd_numbers_open(&vm->numbers, env->arena, slots) < 0 ||
        hd_buffers_open(&vm->buf, vm->prog) != 0) {
        free(vm->passing);
        vm->passing = NULL;
        undivide(vm);
        return hd_err_memory(env->err);
    }
    vm->env = env;
    vm->lanes = lanes;
    vm->slots = slots;
    return 0;
}

static void drop_state(struct hd_lane_engine *vm)
{
    free(vm->host_state);
    vm->host_state = NULL;
    vm->host_bytes = 0;
}

static void launch_unbind(void *self)
{
    struct hd_lane_engine *vm = self;

    if (vm->env == NULL)
        return;
    hd_buffers_close(&vm->buf);
    free(vm->passing);
    vm->passing = NULL;
    undivide(vm);
    drop_state(vm);
    vm->env = NULL;
    vm->k = NULL;
}

static bool launch_alloc(void *self, uint32_t i, struct hd_alloc *out)
{
    const struct hd_lane_engine *vm = self;
    const struct hd_bufdef *b;

    if (i >= vm->prog->nbuf || vm->prog->buf[i].scratch)
        return false; /* scratch buffers are the last ones */
    b = &vm->prog->buf[i];
    memcpy(out->name, b->name, sizeof(out->name));
    out->base = b->va;
    out->bytes = b->count << b->shift;
    return true;
}

static uint32_t launch_gone(void *self, uint32_t i)
{
    const struct hd_lane_engine *vm = self;

    return vm->st->gone[i];
}

/* A buffer is given back, or taken again; with it ends what was said of it. */
static void launch_turn(struct hd_lane_state *st, uint32_t buffer)
{
    if (++st->gone[buffer] & 1)
        st->advice[buffer] = st->reported[buffer] = st->ranged[buffer] = 0;
}

enum {
    UNKNOWN = 0xff
}; /* reported: allocations may have gone and come again */

static void launch_call(const struct hd_lane_call *c, struct hd_hint *out)
{
    *out = (struct hd_hint){.alloc = c->buffer,
                            .what = c->what,
                            .set = c->set,
                            .unset = c->unset,
                            .offset = c->offset,
                            .bytes = c->bytes,
                            .ns = c->ns};
}

static bool launch_hint(void *self, struct hd_hint *out)
{
    struct hd_lane_engine *vm = self;
    struct hd_lane_state *st = vm->st;

    for (uint32_t i = 0; st->advised && i < vm->prog->nbuf; i++) {
        if (st->reported[i] == st->advice[i])
            continue;
        st->reported[i] = st->advice[i];
        *out = (struct hd_hint){.alloc = i,
                                .what = HD_HINT_ADVICE,
                                .set = st->advice[i],
                                .unset = HD_HINT_ALL_ADVICE};
        return true;
    }
    st->advised = 0;
    if (st->called >= st->before)
        return false;
    launch_call(&st->call[st->called++], out);
    return true;
}

static bool launch_beside(void *self, struct hd_hint *out)
{
    struct hd_lane_state *st = ((struct hd_lane_engine *)self)->st;

    if (st->called < st->before)
        st->called = st->before; /* nothing comes from the host */
    if (st->called == st->calls)
        return false;
    launch_call(&st->call[st->called++], out);
    if (out->what == HD_HINT_GONE || out->what == HD_HINT_FREED)
        launch_turn(st, out->alloc);
    return true;
}

static int launch_restart(void *self)
{
    struct hd_lane_engine *vm = self;
    uint8_t reported[HD_MAX_BUFFERS], ranged[HD_MAX_BUFFERS];

    hd_buffers_restart(&vm->buf);
    drop_state(vm);
    memcpy(reported, vm->st->reported, sizeof(reported));
    memcpy(ranged, vm->st->ranged, sizeof(ranged));
    memset(vm->st, 0, sizeof(*vm->st));
    for (uint32_t i = 0; i < HD_MAX_BUFFERS; i++)
        vm->st->reported[i] = reported[i] != 0 || ranged[i] != 0 ? UNKNOWN : 0;
    vm->st->advised = 1;
    vm->k = NULL;
    return 0;
}

/* A launch that ran without time had nothing done before it, or next to it;
 * what was advised stands, and what was given back or taken. */
static void launch_forget_calls(struct hd_lane_state *st)
{
    uint32_t n = 0;

    for (uint32_t i = st->called; i < st->calls; i++)
        if (st->call[i].what == HD_HINT_ADVICE)
            st->call[n++] = st->call[i];
        else if (st->call[i].what == HD_HINT_GONE ||
                 st->call[i].what == HD_HINT_FREED)
            launch_turn(st, st->call[i].buffer);
    st->calls = n;
    st->called = st->beside = 0;
}

/* Asks the host, or walks the list.  1, 0 or an error. */
static int launch_choose(struct hd_lane_engine *vm, struct heddle_launch *l)
{
    struct heddle_program *p = vm->prog;
    struct heddle_host h = {vm};
    int r;

    memset(l, 0, sizeof(*l));
    launch_forget_calls(vm->st);
    if (p->host == NULL) {
        if (vm->st->launches >= p->nlaunch)
            return 0;
        *l = p->launch[vm->st->launches];
        return 1;
    }
    r = p->host(p->host_ud, &h, l);
    if (r < 0 || vm->env->err->code != 0)
        return hd_err_set(vm->env->err, r < 0 ? r : HEDDLE_EPROGRAM,
                          "program %s: its host function failed", p->name);
    if (!vm->st->beside)
        vm->st->before = vm->st->calls;
    return r > 0;
}

/* Whether a kernel has an access to a buffer. */
static bool launch_uses(const struct hd_kernel *k, uint32_t buffer)
{
    for (uint32_t i = 0; i < k->nins; i++)
        if (k->ins[i].buf == buffer && (k->ins[i].op == HEDDLE_INS_LOAD ||
                                        k->ins[i].op == HEDDLE_INS_STORE ||
                                        k->ins[i].op == HEDDLE_INS_ATOM))
            return true;
    return false;
}

/* What goes next to a launch at once is not what it uses.  0 or an error. */
static int launch_check_calls(struct hd_lane_engine *vm)
{
    const struct hd_lane_state *st = vm->st;
    const struct hd_kernel *k = &vm->prog->kernel[st->kernel];

    for (uint32_t i = st->before;
         i < st->calls && st->call[i].what != HD_HINT_FREED; i++)
        if (st->call[i].what == HD_HINT_GONE &&
            launch_uses(k, st->call[i].buffer))
            return hd_err_set(vm->env->err, HEDDLE_EPROGRAM,
                              "program %s: next to kernel %s the host frees or "
                              "allocates buffer %s, which that kernel uses; "
                              "expected a free that waits for it, or another "
                              "launch",
                              vm->prog->name, k->name,
                              vm->prog->buf[st->call[i].buffer].name);
    return 0;
}

/* The streams and events of a launch are the program's; what it waits for has
 * been recorded, so that no launch can wait for a later one.  0 or an error. */
static int launch_check_stream(struct hd_lane_engine *vm,
                               const struct heddle_launch *l)
{
    const struct heddle_program *p = vm->prog;
    uint64_t late = l->wait & ~vm->st->recorded;
    const char *kernel = p->kernel[l->kernel].name;
    uint32_t number = vm->st->launches + 1;

    if (l->stream > p->nstream ||
        ((l->wait | l->record) & ~hd_ones(p->nevent)) != 0)
        return hd_err_set(vm->env->err, HEDDLE_EPROGRAM,
                          "program %s: launch %u (kernel %s) has stream %u and "
                          "events 0x%llx; there are %u streams and %u events",
                          p->name, number, kernel, l->stream,
                          (unsigned long long)(l->wait | l->record), p->nstream,
                          p->nevent);
    if (late != 0)
        return hd_err_set(vm->env->err, HEDDLE_EPROGRAM,
                          "program %s: launch %u (kernel %s, %s%s) waits for "
                          "event %s, which %s; expected one that an earlier "
                          "launch records",
                          p->name, number, kernel,
                          l->stream != 0 ? "stream " : "the default stream",
                          l->stream != 0 ? p->stream[l->stream - 1] : "",
                          p->event[hd_bit_first(late)],
                          (late & -late & l->record) != 0
                              ? "it records itself"
                              : "no launch has recorded");
    if (l->stream != 0 && vm->st->beside)
        return hd_err_set(vm->env->err, HEDDLE_EPROGRAM,
                          "program %s: launch %u (kernel %s, stream %s) has "
                          "calls next to it; only launches of the default "
                          "stream may have some",
                          p->name, number, kernel, p->stream[l->stream - 1]);
    vm->st->recorded |= l->record;
    return 0;
}

static int set_launch(struct hd_lane_engine *vm, const struct heddle_launch *l)
{
    struct hd_lane_state *st = vm->st;
    struct heddle_error *err = vm->env->err;
    const struct hd_kernel *k;

    if (l->kernel >= vm->prog->nkernel ||
        l->args > vm->prog->kernel[l->kernel].nargs)
        return hd_err_set(err, HEDDLE_EPROGRAM,
                          "program %s: launch of kernel %u with %u arguments; "
                          "there is none like that",
                          vm->prog->name, l->kernel, l->args);
    k = &vm->prog->kernel[l->kernel];
    st->kernel = l->kernel;
    for (int i = 0; i < 3; i++) {
        st->grid[i] = l->grid[i] != 0 ? l->grid[i] : k->grid[i];
        if (st->grid[i] == 0)
            st->grid[i] = 1;
    }
    if ((double)st->grid[0] * st->grid[1] * st->grid[2] > 1e12)
        return hd_err_set(err, HEDDLE_EPROGRAM,
                          "kernel %s: a grid of %u x %u x %u blocks; expected "
                          "at most 10^12",
                          k->name, st->grid[0], st->grid[1], st->grid[2]);
    for (uint32_t i = 0; i < k->nargs; i++) {
        st->arg[i] = i < l->args ? l->arg[i] : k->arg[i].def;
        if (k->arg[i].type == HD_R_F32)
            st->arg[i].f = (double)(float)st->arg[i].f;
    }
    if (launch_check_calls(vm) != 0 || launch_check_stream(vm, l) != 0)
        return err->code;
    hd_numbers_clear(&vm->numbers);
    st->started = 1;
    launch_lay_out(vm);
    if (vm->contexts == 0)
        return hd_err_set(err, HEDDLE_EPROGRAM,
                          "kernel %s: a block of %u warps; the machine holds "
                          "%u",
                          k->name, vm->warps, vm->slots);
    return 0;
}

static int launch_next(void *self, struct hd_launch *out)
{
    struct hd_lane_engine *vm = self;
    struct heddle_launch l;
    const struct hd_kernel *k;
    int r = launch_choose(vm, &l);

    if (r <= 0)
        return r;
    if (set_launch(vm, &l) != 0)
        return vm->env->err->code;
    k = vm->k;
    memset(out, 0, sizeof(*out));
    memcpy(out->name, k->name, sizeof(out->name));
    out->id = ++vm->st->launches;
    memcpy(out->grid, vm->st->grid, sizeof(out->grid));
    memcpy(out->block, k->block, sizeof(out->block));
    out->blocks = (uint64_t)out->grid[0] * out->grid[1] * out->grid[2];
    out->threads = k->threads;
    out->warps = vm->warps;
    out->lanes = vm->lanes;
    out->regs = k->regs;
    out->shared_bytes = k->shared_bytes;
    out->stream = l.stream;
    out->sync = l.sync != 0;
    out->wait = l.wait;
    out->record = l.record;
    return 1;
}

static int launch_block_start(void *self, uint64_t block, uint32_t *ctx)
{
    struct hd_lane_engine *vm = self;
    struct hd_lane_state *st = vm->st;
    uint64_t rows = block / st->grid[0];
    struct hd_lane_block *b;

    if (hd_numbers_live(&vm->numbers) == vm->contexts)
        return hd_err_set(vm->env->err, HEDDLE_EINVAL,
                          "kernel %s: more than %u blocks at once", vm->k->name,
                          vm->contexts);
    *ctx = hd_numbers_take(&vm->numbers);
    b = &vm->block[*ctx];
    b->number = block;
    b->at[0] = (uint32_t)(block % st->grid[0]);
    b->at[1] = (uint32_t)(rows % st->grid[1]);
    b->at[2] = (uint32_t)(rows / st->grid[1]);
    b->formed = 0;
    for (uint32_t i = 0; i < vm->warps; i++) {
        struct hd_lane_warp *w = hd_lane_warp(vm, *ctx, i);

        *w = (struct hd_lane_warp){.mask = hd_lane_all(vm, i)};
        hd_lane_name_all(vm, w);
        if (vm->k->life != NULL) /* others write its registers, too */
            memset(w->tag, HD_UNIFORM, vm->k->nreg);
    }
    return 0;
}

static void launch_block_end(void *self, uint32_t ctx)
{
    struct hd_lane_engine *vm = self;

    hd_numbers_give(&vm->numbers, ctx);
}

/* ---- what the host may do between launches ----------------------------- */

static struct hd_buffer *host_find(heddle_host *h, uint32_t buffer, uint64_t i)
{
    struct hd_lane_engine *vm = h->vm;
    struct hd_buffer *b;

    if (buffer >= vm->buf.n) {
        hd_err_set(vm->env->err, HEDDLE_EPROGRAM,
                   "program %s: the host uses buffer %u of %u", vm->prog->name,
                   buffer, vm->buf.n);
        return NULL;
    }
    b = &vm->buf.v[buffer];
    if (!b->def->contents) {
        hd_err_set(vm->env->err, HEDDLE_EPROGRAM,
                   "program %s: the host uses buffer %s, which has no "
                   "contents",
                   vm->prog->name, b->def->name);
        return NULL;
    }
    if (i >= b->def->count) {
        hd_err_set(vm->env->err, HEDDLE_EPROGRAM,
                   "program %s: the host uses index %lld of buffer %s; "
                   "expected less than %llu",
                   vm->prog->name, (long long)i, b->def->name,
                   (unsigned long long)b->def->count);
        return NULL;
    }
    return b;
}

int heddle_host_read(heddle_host *h, uint32_t buffer, uint64_t i,
                     union heddle_value *v)
{
    struct hd_buffer *b = host_find(h, buffer, i);

    if (b == NULL)
        return HEDDLE_EPROGRAM;
    *v = hd_buffer_get(b, i);
    return 0;
}

int heddle_host_write(heddle_host *h, uint32_t buffer, uint64_t i,
                      union heddle_value v)
{
    struct hd_buffer *b = host_find(h, buffer, i);

    if (b == NULL)
        return HEDDLE_EPROGRAM;
    if (hd_buffer_set(&h->vm->buf, b, i, v) != 0)
        return hd_err_memory(h->vm->env->err);
    return 0;
}

int heddle_host_fill(heddle_host *h, uint32_t buffer, union heddle_value v)
{
    struct hd_buffer *b = host_find(h, buffer, 0);
    int e = b == NULL ? HEDDLE_EPROGRAM : 0;

    for (uint64_t i = 0; e == 0 && i < b->def->count; i++)
        e = heddle_host_write(h, buffer, i, v);
    return e;
}

/* Whether a buffer is in the memory of the device.  0 or HEDDLE_EPROGRAM. */
static int on_device(heddle_host *h, uint32_t buffer, const char *does)
{
    struct hd_lane_engine *vm = h->vm;

    if (buffer >= vm->buf.n || vm->buf.v[buffer].def->scratch)
        return hd_err_set(vm->env->err, HEDDLE_EPROGRAM,
                          "program %s: the host %s buffer %u, which is not "
                          "in the memory of the device",
                          vm->prog->name, does, buffer);
    if (vm->st->freed[buffer])
        return hd_err_set(vm->env->err, HEDDLE_EPROGRAM,
                          "program %s: the host %s buffer %s, which it has "
                          "freed",
                          vm->prog->name, does, vm->buf.v[buffer].def->name);
    return 0;
}

/* One more call at the next launch.  0 or HEDDLE_EPROGRAM. */
static int host_add_call(heddle_host *h, struct hd_lane_call c)
{
    struct hd_lane_state *st = h->vm->st;

    if (st->calls == HD_LANE_CALLS)
        return hd_err_set(h->vm->env->err, HEDDLE_EPROGRAM,
                          "program %s: the host has more than %d calls at a "
                          "launch",
                          h->vm->prog->name, (int)HD_LANE_CALLS);
    st->call[st->calls++] = c;
    return 0;
}

/* A buffer is freed before the launch: what was to be done to it first is not,
 * since buffers are freed and taken before all else. */
static void host_drop_calls(struct hd_lane_state *st, uint32_t buffer)
{
    uint32_t n = st->called;

    for (uint32_t i = st->called; i < st->calls; i++)
        if (st->call[i].buffer != buffer || st->call[i].what == HD_HINT_WAIT)
            st->call[n++] = st->call[i];
    st->calls = n;
}

/* A buffer is freed, or taken again, before the launch or next to it.  0 or
 * HEDDLE_EPROGRAM. */
static int host_turn(heddle_host *h, uint32_t buffer, uint8_t what, bool frees)
{
    struct hd_lane_state *st = h->vm->st;
    int e;

    if (frees || buffer >= h->vm->buf.n || h->vm->buf.v[buffer].def->scratch)
        e = on_device(h, buffer, frees ? "frees" : "allocates");
    else if (!st->freed[buffer])
        e = hd_err_set(h->vm->env->err, HEDDLE_EPROGRAM,
                       "program %s: the host allocates buffer %s, which it has "
                       "not freed",
                       h->vm->prog->name, h->vm->buf.v[buffer].def->name);
    else
        e = 0;
    if (e == 0 && st->beside)
        e = host_add_call(
            h, (struct hd_lane_call){.buffer = (uint16_t)buffer, .what = what});
    if (e != 0)
        return e;
    st->freed[buffer] = frees;
    if (st->beside)
        return 0;
    launch_turn(st, buffer);
    if (frees)
        host_drop_calls(st, buffer);
    return 0;
}

int heddle_host_release(heddle_host *h, uint32_t buffer)
{
    return host_turn(h, buffer, HD_HINT_FREED, true);
}

int heddle_host_release_async(heddle_host *h, uint32_t buffer)
{
    return host_turn(h, buffer, HD_HINT_GONE, true);
}

int heddle_host_allocate(heddle_host *h, uint32_t buffer)
{
    return host_turn(h, buffer, HD_HINT_GONE, false);
}

void heddle_host_beside(heddle_host *h)
{
    struct hd_lane_state *st = h->vm->st;

    if (!st->beside)
        st->before = st->calls;
    st->beside = 1;
}

int heddle_host_wait(heddle_host *h, uint64_t ns)
{
    if (ns > 1000000000)
        return hd_err_set(h->vm->env->err, HEDDLE_EPROGRAM,
                          "program %s: the host waits for %llu ns; expected a "
                          "second at most",
                          h->vm->prog->name, (unsigned long long)ns);
    return host_add_call(h,
                         (struct hd_lane_call){.what = HD_HINT_WAIT, .ns = ns});
}

/* A range is in its buffer, which is in the device's memory: fills the call.  0
 * or HEDDLE_EPROGRAM. */
static int host_range(heddle_host *h, const struct heddle_range *r,
                      const char *does, struct hd_lane_call *c)
{
    struct hd_lane_engine *vm = h->vm;
    int e = on_device(h, r->buffer, does);
    const struct hd_bufdef *b;
    uint64_t size;

    if (e != 0)
        return e;
    b = vm->buf.v[r->buffer].def;
    size = b->count << b->shift;
    if (r->bytes == 0 || r->offset >= size || r->bytes > size - r->offset)
        return hd_err_set(vm->env->err, HEDDLE_EPROGRAM,
                          "program %s: the host %s %lld bytes at offset %lld "
                          "of buffer %s; expected 1 or more of its %llu bytes",
                          vm->prog->name, does, (long long)r->bytes,
                          (long long)r->offset, b->name,
                          (unsigned long long)size);
    *c = (struct hd_lane_call){.buffer = (uint16_t)r->buffer,
                               .offset = r->offset,
                               .bytes = r->bytes == size ? 0 : r->bytes};
    return 0;
}

/* One of the places at most, and no bit that there is not. */
static int host_advice(heddle_host *h, uint32_t advice)
{
    uint32_t both = HEDDLE_ADVICE_GPU | HEDDLE_ADVICE_HOST;

    if (advice > HD_HINT_ALL_ADVICE || (advice & both) == both)
        return hd_err_set(h->vm->env->err, HEDDLE_EPROGRAM,
                          "program %s: advice %u; expected a set of bits with "
                          "at most one preferred location",
                          h->vm->prog->name, advice);
    return 0;
}

/* Whether pages of a buffer have been advised on since the engine last asked:
 * what is said now comes behind. */
static bool host_has_calls(const struct hd_lane_state *st, uint32_t buffer)
{
    for (uint32_t i = st->called; i < st->calls; i++)
        if (st->call[i].buffer == buffer && st->call[i].what == HD_HINT_ADVICE)
            return true;
    return false;
}

int heddle_host_advise(heddle_host *h, uint32_t buffer, uint32_t advice)
{
    struct hd_lane_state *st = h->vm->st;
    int e = on_device(h, buffer, "advises on");

    if (e == 0)
        e = host_advice(h, advice);
    if (e != 0)
        return e;
    if (st->beside || (st->ranged[buffer] && host_has_calls(st, buffer))) {
        st->ranged[buffer] = 1;
        return host_add_call(
            h, (struct hd_lane_call){.buffer = (uint16_t)buffer,
                                     .what = HD_HINT_ADVICE,
                                     .set = (uint8_t)advice,
                                     .unset = HD_HINT_ALL_ADVICE});
    }
    if (HD_UNLIKELY(st->ranged[buffer]))
        st->reported[buffer] = UNKNOWN;
    st->ranged[buffer] = 0;
    st->advice[buffer] = (uint8_t)advice;
    st->advised = 1;
    return 0;
}

int heddle_host_advise_range(heddle_host *h, const struct heddle_range *r,
                             uint32_t set, uint32_t unset)
{
    struct hd_lane_call c;
    int e = host_range(h, r, "advises on", &c);

    if (e == 0)
        e = host_advice(h, set);
    if (e == 0 && unset > HD_HINT_ALL_ADVICE)
        e = hd_err_set(h->vm->env->err, HEDDLE_EPROGRAM,
                       "program %s: advice %u is taken back; expected a set of "
                       "bits",
                       h->vm->prog->name, unset);
    if (e != 0)
        return e;
    c.what = HD_HINT_ADVICE;
    c.set = (uint8_t)set;
    c.unset = (uint8_t)unset;
    h->vm->st->ranged[r->buffer] = 1;
    return host_add_call(h, c);
}

/* enum heddle_move has it.  0 or HEDDLE_EPROGRAM. */
static int host_moves(heddle_host *h, enum heddle_move what)
{
    if (what <= HEDDLE_MOVE_WRITTEN)
        return 0;
    return hd_err_set(h->vm->env->err, HEDDLE_EPROGRAM,
                      "program %s: the host moves a buffer in way %d, which is "
                      "none of enum heddle_move",
                      h->vm->prog->name, (int)what);
}

int heddle_host_move(heddle_host *h, uint32_t buffer, enum heddle_move what)
{
    int e = on_device(h, buffer, "moves");

    if (e == 0)
        e = host_moves(h, what);
    if (e != 0)
        return e;
    return host_add_call(h, (struct hd_lane_call){.buffer = (uint16_t)buffer,
                                                  .what = (uint8_t)what});
}

int heddle_host_move_range(heddle_host *h, const struct heddle_range *r,
                           enum heddle_move what)
{
    struct hd_lane_call c;
    int e = host_range(h, r, "moves", &c);

    if (e == 0)
        e = host_moves(h, what);
    if (e != 0)
        return e;
    c.what = (uint8_t)what;
    return host_add_call(h, c);
}

uint32_t heddle_host_launched(const heddle_host *h)
{
    return h->vm->st->launches;
}

const void *heddle_host_state(const heddle_host *h, size_t *bytes)
{
    *bytes = h->vm->host_bytes;
    return h->vm->host_state;
}

int heddle_host_set_state(heddle_host *h, const void *p, size_t bytes)
{
    unsigned char *copy = NULL;

    if (bytes > 0) {
        copy = malloc(bytes);
        if (copy == NULL)
            return hd_err_memory(h->vm->env->err);
        memcpy(copy, p, bytes);
    }
    free(h->vm->host_state);
    h->vm->host_state = copy;
    h->vm->host_bytes = bytes;
    return 0;
}

int heddle_host_fail(heddle_host *h, int code, const char *text)
{
    return hd_err_set(h->vm->env->err, code < 0 ? code : HEDDLE_EPROGRAM, "%s",
                      text);
}

/* ---- snapshots and life ----------------------------------------------- */

struct saved {
    struct hd_buffers_saved *buf;
    struct hd_lane_state st;
    size_t host_bytes;
    unsigned char host_state[];
};

static int launch_restored(void *self)
{
    struct hd_lane_engine *vm = self;

    vm->k = NULL;
    if (vm->st->started)
        launch_lay_out(vm);
    return 0;
}

static void *launch_save(const void *self)
{
    const struct hd_lane_engine *vm = self;
    struct saved *s = malloc(sizeof(*s) + vm->host_bytes);

    if (s == NULL)
        return NULL;
    s->buf = hd_buffers_save(&vm->buf);
    if (s->buf == NULL) {
        free(s);
        return NULL;
    }
    s->st = *vm->st;
    s->host_bytes = vm->host_bytes;
    if (vm->host_bytes > 0)
        memcpy(s->host_state, vm->host_state, vm->host_bytes);
    return s;
}

static int launch_load(void *self, const void *saved)
{
    struct hd_lane_engine *vm = self;
    const struct saved *s = saved;
    struct heddle_host h = {vm};

    if (hd_buffers_load(&vm->buf, s->buf) != 0 ||
        heddle_host_set_state(&h, s->host_state, s->host_bytes) != 0)
        return hd_err_memory(vm->env->err);
    *vm->st = s->st;
    return 0;
}

static void launch_drop(void *saved)
{
    struct saved *s = saved;

    hd_buffers_drop(s->buf);
    free(s);
}

static void launch_pack(const void *saved, struct hd_bytes *out)
{
    const struct saved *s = saved;

    hd_bytes_add(out, &s->st, sizeof s->st);
    hd_buffers_pack(s->buf, out);
    hd_bytes_put(out, s->host_bytes);
    hd_bytes_add(out, s->host_state, s->host_bytes);
}

static void *launch_unpack(const void *self, struct hd_cursor *in)
{
    const struct hd_lane_engine *vm = self;
    const void *st = hd_cursor_take(in, sizeof(struct hd_lane_state)), *host;
    struct hd_buffers_saved *buf =
        st != NULL ? hd_buffers_unpack(&vm->buf, in) : NULL;
    size_t n = hd_cursor_count(in, 1);
    struct saved *s = NULL;

    host = hd_cursor_take(in, n);
    if (buf != NULL && host != NULL) {
        s = malloc(sizeof(*s) + n);
        in->oom |= s == NULL;
    }
    if (s == NULL) {
        hd_buffers_drop(buf);
        return NULL;
    }
    s->buf = buf;
    memcpy(&s->st, st, sizeof s->st);
    s->host_bytes = n;
    memcpy(s->host_state, host, n);
    return s;
}

static bool launch_contents(void *self, hd_va va, unsigned char *out)
{
    const struct hd_lane_engine *vm = self;

    memset(out, 0, HD_PAGE_BYTES);
    for (uint32_t i = 0; i < vm->buf.n; i++)
        if (!hd_buffer_start(&vm->buf.v[i], va, out))
            return false;
    return true;
}

static uint64_t launch_memory(void *self)
{
    const struct hd_lane_engine *vm = self;

    return hd_buffers_bytes(&vm->buf) + vm->host_bytes;
}

static void launch_free(void *self)
{
    struct hd_lane_engine *vm = self;

    launch_unbind(vm);
    heddle_program_free(vm->prog);
    free(vm);
}

#define LAUNCH_OPS(next_of)                                                    \
    {                                                                          \
        .bind = launch_bind, .alloc = launch_alloc, .gone = launch_gone,       \
        .hint = launch_hint, .beside = launch_beside,                          \
        .restart = launch_restart, .launch = launch_next,                      \
        .block_start = launch_block_start, .block_end = launch_block_end,      \
        .next = next_of, .detail = hd_lane_detail, .access = hd_lane_access,   \
        .regroup = hd_lane_regroup, .origin = hd_lane_origin,                  \
        .restored = launch_restored, .save = launch_save, .load = launch_load, \
        .drop = launch_drop, .pack = launch_pack, .unpack = launch_unpack,     \
        .contents = launch_contents, .memory = launch_memory,                  \
        .unbind = launch_unbind,                                               \
    }

static const struct hd_source_ops launch_ops = LAUNCH_OPS(hd_lane_next);
static const struct hd_source_ops named_ops = LAUNCH_OPS(hd_lane_next_named);

const struct hd_source_ops *hd_lane_ops(void)
{
    return &launch_ops;
}

struct hd_source *hd_lane_source(struct heddle_program *p)
{
    struct hd_lane_engine *vm = calloc(1, sizeof(*vm));

    if (vm == NULL)
        return NULL;
    vm->prog = p;
    p->refs++;
    vm->src.ops = &launch_ops;
    for (uint32_t i = 0; i < p->nkernel; i++)
        if (p->kernel[i].names > 0 || p->kernel[i].copies) {
            vm->src.ops = &named_ops;
            vm->src.copies |= p->kernel[i].copies;
        }
    vm->src.self = vm;
    vm->src.hash = p->hash;
    vm->src.free = launch_free;
    memcpy(vm->src.name, p->name, sizeof(vm->src.name));
    return &vm->src;
}

struct hd_source *hd_program_source(struct heddle_program *p)
{
    return p->nstream != 0 ? hd_program_streams(p) : hd_lane_source(p);
}
