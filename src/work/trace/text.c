/*
 * text.c - the text trace of a kernel, into a container.
 *
 * A header of `-name = value` lines up to #traces or the first block, with
 * comments (# ...) before, between and behind them; then thread blocks between
 * #BEGIN_TB and #END_TB, each `thread block = x,y,z` (version 6: cluster lines)
 * and for each warp `warp = w`, `insts = n` and n instruction lines.  Blank
 * lines may stand anywhere.  Unknown lines are passed over and counted, but not
 * between the instructions of a warp.  A file may end without its last #END_TB,
 * but not before all warps of the block are there.
 *
 * What an instruction touches.  Generic accesses are classified by the windows
 * [base, base + 16 MB) of shared and local memory (the traces of different
 * cards order the two differently, so neither bounds the other); shared memory
 * takes issue slots only; local accesses keep their offset in the thread's
 * window and are placed when they are replayed.
 *
 * LDGSTS stands twice in traces that were not post-processed; the first, which
 * names the shared address, is dropped.  A bulk copy lists addresses of no
 * lane in particular; each stands for an equal part of the transfer, and the
 * parts are executed 32 addresses at a time, as one instruction.
 *
 * Registers become scoreboard slots.  A load, or an atomic with a result, takes
 * the lowest free slot; its destination registers (as many as hold its bytes a
 * lane) are pending until an instruction reads or writes one, which then waits
 * for the slot.  From there on the slot counts as free.  Taking the
 * lowest keeps the slots of a loop's iterations the same, so iterations look
 * alike and pack well.  When all 32 are taken the oldest is used again, and the
 * load waits for it.  R255, URZ, PT and UPT hold nothing.
 *
 * A run of arithmetic (shared-memory, constant and texture instructions among
 * it) is one operation with a count; it ends where the mask changes or where
 * an instruction must wait, because an operation waits before its first
 * instruction only.  Of the registers that its instructions write and read one
 * from the other, the run keeps what the core needs of it: the longest chain of
 * c of its n instructions makes it issue in groups of n / c, rounded up, each
 * of which waits for the one before (core.ilp).
 *
 * Blocks that are not chosen (choose.c) are passed over up to their #END_TB, and
 * a file is not read further than the last one that is.
 *
 * EXIT ends a warp only as its last instruction: a predicated EXIT takes some
 * lanes and is an instruction like others.  A warp that stops without EXIT
 * gets one that counts as no instruction.
 *
 * SPDX-License-Identifier: MIT
 */
#include "text.h"

#include <stdarg.h>
#include <stdio.h>

enum {
    LANES = 32,         /* of a warp of a text trace */
    BULK_STEP = 32,     /* bytes from lane to lane of a bulk copy */
    BULK_LANES = 8192,  /* of one instruction: 256 KB */
    RUNS = 64,          /* of the blocks of a kernel that are remembered */
    START = 4096,       /* characters of a start */
    START_REGS = 128,   /* that it writes */
    START_TRIES = 16,   /* in a kernel, to learn one */
    REGISTERS = 8,      /* hardware gives a thread registers in such units */
    GRID_X = INT32_MAX, /* CUDA's limits of a grid */
    GRID_YZ = 65535,
    TRACER_KNOWN = 6 /* last version of the tracer whose lines are known */
};

/* One warp: its open run and its scoreboard. */
struct warp {
    struct hd_packer *pack;
    uint32_t w;
    /* counted over all warps until they are reset */
    uint64_t insts, thread_insts, mem_insts, lane_addrs;
    bool ended; /* the last warp ended with EXIT */
    /* the open run, and an EXIT that may be the last */
    struct hd_trace_op run, exit;
    bool in_run, at_exit;
    bool classes;         /* operations have classes and dependences: */
    uint64_t seq, before; /* number of the instruction; of the last before the
                             warp */
    uint64_t writer[HD_TREGS]; /* that wrote a register; 0: a load did */
    uint32_t number;  /* of the run */
    uint32_t longest; /* instructions of its longest chain */
    /* slots that may be occupied, and those of them that copies fill */
    uint32_t busy, copies;
    uint32_t age[32], gen[32], clock;
    struct {
        uint32_t slot, gen;
        uint32_t run, depth; /* that wrote it last; in a chain of so many */
    } reg[HD_TREGS];
};

/* The two halves of an LDGSTS: the first waits for what follows. */
struct held {
    bool any;
    struct hd_line line;
    struct hd_trace_inst inst;
    uint64_t addr[LANES];
};

/* The run that a warp begins with, which most warps of a kernel do with the
 * same lines: these are compared as a whole, and what they come to is known. */
struct start {
    size_t len;
    char text[START];
    struct hd_trace_op run;
    uint32_t longest, pc; /* pc: of the last */
    uint32_t regs;
    struct {
        uint32_t reg, depth;
    } reg[START_REGS];
    /* while it is learnt from a warp */
    bool learning;
    uint32_t tries, number; /* so far; of the run */
    const char *from, *to;
};

/* Blocks from, .. to - 1. */
struct run {
    uint64_t from, to;
};

struct hd_trace_text {
    struct hd_container *container;
    struct hd_packer *pack;
    struct hd_lines *lines;
    struct warp warp;
    struct start start;
    struct hd_pages *pages;
    struct hd_trace_kernel *k; /* in the container, once the header is read */
    struct hd_trace_context *x;
    struct held held;
    struct heddle_error *err;
    const char *path;
    uint64_t line;
    uint32_t warps; /* of a block */
    bool in_block, numbered, in_warp, sized;
    const struct hd_choice *choice;
    bool passed;   /* the block is not chosen */
    uint64_t left; /* blocks of the kernel that are chosen and have not come */
    /* blocks of the kernel so far; what takes more runs is not remembered */
    struct run run[RUNS];
    uint32_t runs;
    uint64_t seen; /* warps of the block */
    uint64_t insts, lines_read, markers;
    uint64_t lane[LANES];
};

struct hd_trace_text *hd_trace_text_new(struct hd_container *container,
                                        const struct hd_choice *choice)
{
    struct hd_trace_text *t = calloc(1, sizeof *t);

    if (t == NULL)
        return NULL;
    t->container = container;
    t->choice = choice;
    t->pack = hd_packer_new();
    t->lines = hd_lines_new(container);
    t->warp.pack = t->pack;
    if (t->pack != NULL && t->lines != NULL)
        return t;
    hd_trace_text_free(t);
    return NULL;
}

void hd_trace_text_free(struct hd_trace_text *t)
{
    if (t == NULL)
        return;
    hd_packer_free(t->pack);
    hd_lines_free(t->lines);
    free(t);
}

void hd_trace_note(struct hd_trace_context *x, enum hd_trace_note n,
                   const char *path, uint64_t line)
{
    struct hd_trace_note_row *r = &x->note[n];

    if (r->count++ != 0)
        return;
    size_t len = strlen(path), room = sizeof r->where - 24;
    const char *dots = len > room ? "..." : "";
    path += len > room ? len - room : 0;
    if (line != 0)
        snprintf(r->where, sizeof r->where, "%s%s:%llu", dots, path,
                 (unsigned long long)line);
    else
        snprintf(r->where, sizeof r->where, "%s%s", dots, path);
}

/* Notes it of the line that is being read. */
static void note(struct hd_trace_text *t, enum hd_trace_note n)
{
    t->start.learning = false; /* a note is made for each line */
    hd_trace_note(t->x, n, t->path, t->line);
}

/* What is wrong with the line that is being read; returns the error. */
__attribute__((format(printf, 2, 3))) static int wrong(struct hd_trace_text *t,
                                                       const char *fmt, ...)
{
    char text[256];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return hd_err_set(t->err, HEDDLE_EDATA, "%s:%llu: %s", t->path,
                      (unsigned long long)t->line, text);
}

/* What was expected instead of the line at p. */
static int text_bad_line(struct hd_trace_text *t, const char *p,
                         const char *what)
{
    size_t n = 0;

    while (n < 60 && p[n] != '\n' && p[n] != '\0')
        n++;
    return wrong(t, "%s: `%.*s'", what, (int)n, p);
}

/* ---- warps: scoreboard slots and runs ------------------------------------ */

static void warp_begin(struct warp *w, uint32_t warp)
{
    w->w = warp;
    w->in_run = w->at_exit = w->ended = false;
    w->busy = w->copies = 0;
    w->before = w->seq;
}

/* An instruction comes: those before it whose results it needs, as
 * hd_detail.first; what it writes is its own. */
static uint32_t text_depends(struct warp *w, const struct hd_trace_inst *i)
{
    uint32_t on = 0;

    if (!w->classes)
        return 0;
    w->seq++;
    for (unsigned k = 0; k < i->regs; k++) {
        uint64_t by = w->writer[i->reg[k]];
        if (by > w->before)
            on |= 1u << (hd_min_u64(w->seq - by, 32) - 1);
    }
    for (unsigned k = 0; k < i->dsts; k++)
        w->writer[i->reg[k]] = w->seq;
    return on;
}

/* Whether an instruction is one more of the open run, as far as classes say. */
static inline bool text_goes_on(struct warp *w, const struct hd_trace_inst *i,
                                uint32_t on)
{
    if (!w->classes)
        return true;
    if (w->run.klass != i->op.klass || (w->run.count > 1 && w->run.each != on))
        return false;
    w->run.each = on;
    return true;
}

/* The slots that an instruction must find empty. */
static uint32_t text_waits(struct warp *w, const struct hd_trace_inst *i)
{
    uint32_t wait = i->op.collect ? w->copies : 0;

    for (unsigned k = 0; k < i->regs; k++) {
        uint32_t s = w->reg[i->reg[k]].slot;
        if ((w->busy >> s & 1) && w->reg[i->reg[k]].gen == w->gen[s])
            wait |= 1u << s;
    }
    return wait;
}

static void text_release(struct warp *w, uint32_t slots)
{
    w->busy &= ~slots;
    w->copies &= ~slots;
}

/* Takes a slot, the oldest when none is free; adds to *wait then. */
static unsigned take_slot(struct warp *w, uint32_t *wait)
{
    unsigned s;

    if (w->busy != UINT32_MAX) {
        s = hd_bit_first(~w->busy);
    } else {
        s = 0;
        for (unsigned k = 1; k < 32; k++) {
            if ((int32_t)(w->age[k] - w->age[s]) < 0)
                s = k;
        }
        *wait |= 1u << s;
        text_release(w, 1u << s);
    }
    w->busy |= 1u << s;
    w->age[s] = w->clock++;
    w->gen[s]++;
    return s;
}

static void pending(struct warp *w, unsigned reg, unsigned slot)
{
    w->reg[reg].slot = slot;
    w->reg[reg].gen = w->gen[slot];
    w->writer[reg] = 0;
}

/* The open run has one more instruction: where it stands in its chains. */
static void chain(struct warp *w, const struct hd_trace_inst *i)
{
    uint32_t depth = 1;

    for (unsigned k = i->dsts; k < i->regs; k++)
        if (w->reg[i->reg[k]].run == w->number)
            depth = (uint32_t)hd_max_u64(depth, w->reg[i->reg[k]].depth + 1);
    for (unsigned k = 0; k < i->dsts; k++) {
        w->reg[i->reg[k]].run = w->number;
        w->reg[i->reg[k]].depth = depth;
    }
    w->longest = (uint32_t)hd_max_u64(w->longest, depth);
}

/* An instruction begins a run. */
static void open_run(struct warp *w)
{
    w->in_run = true;
    w->longest = 1;
    w->number++;
}

/* Counts and packs an operation that touches no memory. */
static void put_plain(struct warp *w, const struct hd_trace_op *o)
{
    w->insts += o->count;
    w->thread_insts += (uint64_t)o->count * hd_bit_count(o->mask);
    hd_packer_op(w->pack, w->w, o, NULL);
}

static void close_run(struct warp *w)
{
    if (w->in_run) {
        w->run.bytes = (uint8_t)hd_min_u64(
            ((uint64_t)w->run.count + w->longest - 1) / w->longest, UINT8_MAX);
        put_plain(w, &w->run);
    }
    w->in_run = false;
}

static struct hd_trace_op plain_op(const struct hd_trace_inst *i, unsigned kind,
                                   uint64_t mask, uint32_t wait)
{
    return (struct hd_trace_op){.kind = (uint8_t)kind,
                                .slot = HD_NO_SLOT,
                                .wait = wait,
                                .count = 1,
                                .pc = i->pc,
                                .opcode = i->opcode,
                                .klass = i->op.klass,
                                .mask = mask};
}

/* Something follows the EXIT that was held back: it is an instruction. */
static void not_last(struct warp *w)
{
    w->at_exit = false;
    w->run = w->exit;
    w->run.kind = HEDDLE_OP_ALU;
    open_run(w);
}

/* An instruction that touches no memory. */
static void warp_plain(struct warp *w, const struct hd_trace_inst *i,
                       uint64_t mask)
{
    uint32_t wait = w->busy != 0 ? text_waits(w, i) : 0;
    uint32_t on = text_depends(w, i);

    if (HD_LIKELY(w->in_run && wait == 0 && w->run.mask == mask &&
                  i->op.kind != HEDDLE_OP_BARRIER && !i->op.exit &&
                  w->run.count != UINT32_MAX && text_goes_on(w, i, on))) {
        w->run.count++;
        chain(w, i);
        return;
    }
    if (HD_UNLIKELY(w->at_exit))
        not_last(w);
    text_release(w, wait);
    close_run(w);
    if (i->op.kind == HEDDLE_OP_BARRIER) {
        struct hd_trace_op o = plain_op(i, HEDDLE_OP_BARRIER, mask, wait);
        o.after = on;
        put_plain(w, &o);
    } else if (i->op.exit) {
        w->exit = plain_op(i, HEDDLE_OP_EXIT, mask, wait);
        w->exit.after = on;
        w->at_exit = true;
    } else {
        w->run = plain_op(i, HEDDLE_OP_ALU, mask, wait);
        w->run.after = on;
        open_run(w);
        chain(w, i);
    }
}

/* A memory instruction: fills *o with its operation, which the caller packs
 * next. */
static void warp_memory(struct warp *w, const struct hd_trace_inst *i,
                        uint64_t mask, unsigned kind, unsigned bytes,
                        enum hd_trace_space space, struct hd_trace_op *o)
{
    uint32_t wait = w->busy != 0 ? text_waits(w, i) : 0;
    uint32_t on = text_depends(w, i);
    unsigned slot = HD_NO_SLOT;
    unsigned lanes = hd_bit_count(mask);

    w->insts++;
    w->mem_insts++;
    w->thread_insts += lanes;
    w->lane_addrs += lanes;
    if (HD_UNLIKELY(w->at_exit))
        not_last(w);
    text_release(w, wait);
    close_run(w);
    if (lanes != 0 && kind != HEDDLE_OP_STORE && (i->dsts != 0 || i->op.async))
        slot = take_slot(w, &wait);
    *o = plain_op(i, kind, mask, wait);
    o->slot = (uint8_t)slot;
    o->bytes = (uint8_t)bytes;
    o->space = (uint8_t)space;
    o->after = on;
    if (slot == HD_NO_SLOT)
        return;
    if (i->op.async)
        w->copies |= 1u << slot;
    for (unsigned k = 0; k < i->dsts; k++) {
        unsigned each = i->reg[k] < HD_TREG_PRED ? i->each : 1;
        for (unsigned r = 0; r < each; r++) {
            unsigned reg = i->reg[k] + r;
            if (reg == 255 || reg == HD_TREGS)
                break;
            pending(w, reg, slot);
        }
    }
}

/* A warp is at its first line, p: what follows those that it begins with, if
 * they are known; else NULL, and they are learnt. */
static const char *same_start(struct hd_trace_text *t, const char *p,
                              const char *end)
{
    struct start *s = &t->start;
    struct warp *w = &t->warp;

    if ((size_t)(end - p) < s->len)
        return NULL;
    if (s->len == 0 || memcmp(p, s->text, s->len) != 0) {
        s->learning = s->tries++ < START_TRIES;
        s->number = w->number + 1;
        s->from = s->to = p;
        return NULL;
    }
    open_run(w);
    w->run = s->run;
    w->longest = s->longest;
    for (uint32_t i = 0; i < s->regs; i++) {
        w->reg[s->reg[i].reg].run = w->number;
        w->reg[s->reg[i].reg].depth = s->reg[i].depth;
    }
    hd_lines_after(t->lines, s->pc);
    t->line += s->run.count - 1;
    t->lines_read = s->run.count;
    return p + s->len;
}

/* Another line, which ends before `to`, has been read while a start is learnt:
 * it belongs to it, or the start is complete. */
static void learn_start(struct hd_trace_text *t, uint32_t pc, const char *to)
{
    struct start *s = &t->start;
    const struct warp *w = &t->warp;

    if (w->in_run && w->number == s->number && w->run.count == t->lines_read) {
        s->to = to;
        s->pc = pc;
        return;
    }
    s->learning = false;
    s->len = (size_t)(s->to - s->from);
    s->run = w->run;
    s->longest = w->longest;
    s->regs = 0;
    for (uint32_t r = 0; r < HD_TREGS && s->regs < START_REGS; r++) {
        if (w->reg[r].run != s->number)
            continue;
        s->reg[s->regs].reg = r;
        s->reg[s->regs++].depth = w->reg[r].depth;
    }
    if (w->number != s->number || s->len > START || s->regs == START_REGS)
        s->len = 0;
    memcpy(s->text, s->from, s->len);
}

/* The warp has no more instructions. */
static void warp_end(struct warp *w)
{
    struct hd_trace_op o;

    if (w->at_exit) {
        put_plain(w, &w->exit);
        w->ended = true;
        w->at_exit = false;
        return;
    }
    close_run(w);
    o = (struct hd_trace_op){.kind = HEDDLE_OP_EXIT, .slot = HD_NO_SLOT};
    hd_packer_op(w->pack, w->w, &o, NULL);
}

/* ---- addresses ----------------------------------------------------------- */

static bool in_window(uint64_t addr, uint64_t base)
{
    return base != 0 && addr - base < HD_TRACE_WINDOW;
}

static int too_far(struct hd_trace_text *t, uint64_t addr)
{
    return wrong(t, "address 0x%llx is not below 2^%d",
                 (unsigned long long)addr, HD_TRACE_VA_BITS);
}

/* Addresses become a list, one for each set lane. */
static const uint64_t *as_list(struct hd_trace_text *t, const struct hd_line *l)
{
    uint64_t m = l->mask;

    if (!l->affine)
        return l->addr;
    unsigned f = m != 0 ? hd_bit_first(m) : 0;
    for (unsigned i = 0; m != 0; m &= m - 1, i++)
        t->lane[i] =
            l->first + (uint64_t)(hd_bit_first(m) - f) * (uint64_t)l->stride;
    return t->lane;
}

/* Packs a global access and adds its pages. */
static int put_global(struct hd_trace_text *t, const struct hd_line *l,
                      struct hd_trace_op *o)
{
    o->mask = l->mask;
    o->first = o->mask != 0 && l->affine ? l->first : 0;
    o->stride = o->mask != 0 && l->affine ? l->stride : 0;
    if (l->mask == 0) {
        hd_packer_op(t->pack, t->warp.w, o, NULL);
        return 0;
    }
    if (l->affine) {
        unsigned span = hd_log2(l->mask) - hd_bit_first(l->mask);
        uint64_t last = l->first + span * (uint64_t)l->stride;
        uint64_t lo = hd_min_u64(l->first, last);
        uint64_t hi = hd_max_u64(l->first, last);
        /* a product that wraps has a stride as large as the address space */
        if (hi >= HD_TRACE_VA_END || l->stride >= (int64_t)HD_TRACE_VA_END ||
            l->stride <= -(int64_t)HD_TRACE_VA_END)
            return too_far(t, hi);
        hd_packer_op(t->pack, t->warp.w, o, NULL);
        if (HD_UNLIKELY(lo == 0))
            note(t, HD_TN_ZERO_ADDRESS);
        if (lo >> HD_PAGE_SHIFT == (hi + o->bytes - 1) >> HD_PAGE_SHIFT) {
            hd_pages_add(t->pages, lo, 1);
            return 0;
        }
    }
    const uint64_t *a = as_list(t, l);
    unsigned n = hd_bit_count(l->mask);
    bool zero = false;
    for (unsigned i = 0; i < n; i++) {
        if (a[i] >= HD_TRACE_VA_END)
            return too_far(t, a[i]);
        zero |= a[i] == 0;
        hd_pages_add(t->pages, a[i], o->bytes);
    }
    if (!l->affine) {
        hd_packer_op(t->pack, t->warp.w, o, a);
        if (HD_UNLIKELY(zero))
            note(t, HD_TN_ZERO_ADDRESS);
    }
    return 0;
}

void hd_trace_local(struct hd_trace_context *x, uint64_t least, uint64_t most,
                    uint64_t base)
{
    if (x->local_words == 0)
        x->local_base = base < HD_TRACE_VA_END ? base : 0;
    else
        most = hd_max_u64(most, x->local_low + x->local_words);
    if (x->local_words == 0 || least < x->local_low)
        x->local_low = least;
    x->local_words = most - x->local_low;
}

/* Packs a local access as offsets into the window. */
static int put_local(struct hd_trace_text *t, const struct hd_line *l,
                     struct hd_trace_op *o)
{
    uint64_t base = t->k->local_base, off[LANES];
    uint64_t least = HD_TRACE_WINDOW / 4, most = 0;
    const uint64_t *a = as_list(t, l);
    unsigned n = hd_bit_count(l->mask);

    for (unsigned i = 0; i < n; i++) {
        off[i] =
            in_window(a[i], base) ? a[i] - base : a[i] & (HD_TRACE_WINDOW - 1);
        least = hd_min_u64(least, off[i] / 4);
        most = hd_max_u64(most, off[i] / 4 + 1);
    }
    if (n != 0)
        hd_trace_local(t->x, least, most, base);
    bool affine =
        l->affine && n != 0 && off[0] + (a[n - 1] - a[0]) == off[n - 1];
    o->mask = l->mask;
    o->first = affine ? off[0] : 0;
    o->stride = affine ? l->stride : 0;
    hd_packer_op(t->pack, t->warp.w, o, affine ? NULL : off);
    return 0;
}

/* Packs an instruction of shared memory with its addresses. */
static void text_put_shared(struct hd_trace_text *t, const struct hd_line *l)
{
    const struct hd_trace_inst *i = l->inst;
    struct warp *w = &t->warp;
    uint32_t wait = w->busy != 0 ? text_waits(w, i) : 0;
    struct hd_trace_op o = plain_op(i, HEDDLE_OP_ALU, l->mask, wait);
    uint64_t base = t->k->shared_base, off[LANES];
    const uint64_t *a = as_list(t, l);
    unsigned n = hd_bit_count(l->mask);
    bool affine = false;

    o.after = text_depends(w, i);
    o.klass = HEDDLE_CLASS_SHARED;
    o.bytes = (uint8_t)(n != 0 ? hd_min_u64(i->bytes, HD_TRACE_MAX_BYTES) : 0);
    if (HD_UNLIKELY(w->at_exit))
        not_last(w);
    text_release(w, wait);
    close_run(w);
    for (unsigned k = 0; k < n; k++)
        off[k] =
            in_window(a[k], base) ? a[k] - base : a[k] & (HD_TRACE_WINDOW - 1);
    if (n != 0 && (affine = hd_trace_affine(l->mask, off, &o.stride)))
        o.first = off[0];
    w->insts++;
    w->thread_insts += n;
    hd_packer_op(t->pack, w->w, &o, n != 0 && !affine ? off : NULL);
}

/* ---- instructions -------------------------------------------------------- */

enum place { PLACE_GLOBAL, PLACE_SHARED, PLACE_LOCAL };

/* Where a generic access goes.  Lanes elsewhere lose their bit in l->mask. */
static enum place text_classify(struct hd_trace_text *t, struct hd_line *l)
{
    uint64_t sh = t->k->shared_base, lo = t->k->local_base, to[3] = {0};
    const uint64_t *a = as_list(t, l);
    unsigned i = 0;

    if (sh == 0 && lo == 0)
        note(t, HD_TN_NO_WINDOWS);
    for (uint64_t m = l->mask; m != 0; m &= m - 1, i++) {
        enum place p = in_window(a[i], sh)   ? PLACE_SHARED
                       : in_window(a[i], lo) ? PLACE_LOCAL
                                             : PLACE_GLOBAL;
        to[p] |= m & (0 - m);
    }
    if (to[0] == l->mask)
        return PLACE_GLOBAL;
    enum place p = to[0] != 0             ? PLACE_GLOBAL
                   : to[PLACE_LOCAL] != 0 ? PLACE_LOCAL
                                          : PLACE_SHARED;
    if (to[p] == l->mask)
        return p;
    note(t, HD_TN_MIXED_WINDOWS);
    unsigned n = 0;
    i = 0;
    for (uint64_t m = l->mask; m != 0; m &= m - 1, i++) {
        if (to[p] & m & (0 - m))
            t->lane[n++] = a[i];
    }
    l->mask = to[p];
    l->affine = false;
    l->addr = t->lane;
    return p;
}

/* One instruction that moves l->bytes at l->n addresses. */
static int put_bulk(struct hd_trace_text *t, const struct hd_line *l)
{
    const struct hd_trace_inst *i = l->inst;
    uint64_t each = l->n != 0 ? hd_ceil_div(l->bytes, l->n) : 0;
    uint64_t lanes = hd_max_u64(1, hd_ceil_div(each, BULK_STEP));
    struct hd_line part = {.inst = i};
    struct hd_trace_op o;
    uint64_t addr[32];
    unsigned n = 0, slot;

    if (l->n * lanes > BULK_LANES)
        lanes = hd_max_u64(1, BULK_LANES / l->n);
    warp_memory(&t->warp, i, l->n != 0 ? l->mask | 1 : 0, i->op.kind,
                each >= 16 ? 16 : 4, HD_TS_GLOBAL, &o);
    part.addr = addr;
    slot = o.slot;
    for (uint64_t k = 0; k < l->n * lanes; k++) {
        bool last = k + 1 == l->n * lanes;
        addr[n++] = l->addr[k / lanes] + k % lanes * BULK_STEP;
        if (n < 32 && !last)
            continue;
        /* the first part is the instruction and waits; the last, which the
         * load/store unit serves last, fills the slot */
        part.mask = hd_ones(n);
        part.n = n;
        part.affine = false;
        hd_line_affine(&part);
        o.slot = last ? (uint8_t)slot : HD_NO_SLOT;
        if (put_global(t, &part, &o) != 0)
            return t->err->code;
        o.count = 0;
        o.wait = o.after = 0;
        n = 0;
    }
    return l->n == 0 ? put_global(t, &part, &o) : 0;
}

/* An instruction with addresses. */
static int text_put_memory(struct hd_trace_text *t, const struct hd_line *line)
{
    struct hd_line l = *line;
    const struct hd_trace_inst *i = l.inst;
    enum place place = PLACE_GLOBAL;
    unsigned bytes = i->bytes;
    struct hd_trace_op o;

    if (l.odd)
        note(t, HD_TN_ODD_MODE);
    if (l.bulk)
        return put_bulk(t, &l);
    if (i->op.where == HD_OW_GENERIC || i->op.where == HD_OW_STAGED)
        place = text_classify(t, &l);
    else if (i->op.where == HD_OW_LOCAL)
        place = PLACE_LOCAL;
    if (place == PLACE_SHARED) {
        if (t->warp.classes)
            text_put_shared(t, &l);
        else
            warp_plain(&t->warp, i, l.mask);
        return 0;
    }
    if (bytes > HD_TRACE_MAX_BYTES) {
        note(t, HD_TN_WIDE_LANE);
        bytes = HD_TRACE_MAX_BYTES;
    }
    if (place == PLACE_LOCAL) {
        warp_memory(&t->warp, i, l.mask, i->op.kind, bytes, HD_TS_LOCAL, &o);
        return put_local(t, &l, &o);
    }
    warp_memory(&t->warp, i, l.mask, i->op.kind, bytes, HD_TS_GLOBAL, &o);
    return put_global(t, &l, &o);
}

static int flush_held(struct hd_trace_text *t)
{
    t->held.any = false;
    return text_put_memory(t, &t->held.line);
}

/* Keeps an LDGSTS until the next instruction shows whether it was the first
 * of two. */
static int text_hold(struct hd_trace_text *t, const struct hd_line *l)
{
    struct held *h = &t->held;

    if (h->any && h->line.inst->pc == l->inst->pc) {
        note(t, HD_TN_LDGSTS_TWICE);
        h->any = false;
        return text_put_memory(t, l);
    }
    if (h->any && flush_held(t) != 0)
        return t->err->code;
    h->any = true;
    h->line = *l;
    h->line.addr = h->addr;
    h->line.inst = memcpy(&h->inst, l->inst, sizeof h->inst);
    if (!l->affine)
        memcpy(h->addr, l->addr, hd_bit_count(l->mask) * sizeof *h->addr);
    return 0;
}

/* Packs an instruction into the warp.  0 or an error. */
static int put_inst(struct hd_trace_text *t, const struct hd_line *l)
{
    const struct hd_trace_inst *i = l->inst;

    if (i->op.replay) {
        t->markers++;
        note(t, HD_TN_REPLAY);
        return 0;
    }
    if (i->op.where == HD_OW_STAGED && l->addressed)
        return text_hold(t, l);
    if (HD_UNLIKELY(t->held.any) && flush_held(t) != 0)
        return t->err->code;
    if (HD_UNLIKELY(t->warp.classes)) {
        if (i->op.klass == HEDDLE_CLASS_UNKNOWN)
            note(t, HD_TN_UNKNOWN_CLASS);
        if (i->op.where == HD_OW_SHARED && l->addressed && !l->bulk) {
            text_put_shared(t, l);
            return 0;
        }
    }
    if (i->op.where > HD_OW_UNKNOWN && i->op.where != HD_OW_SHARED) {
        if (l->addressed)
            return text_put_memory(t, l);
        note(t, HD_TN_NO_WIDTH);
    } else if (l->addressed && i->op.where == HD_OW_UNKNOWN) {
        note(t, HD_TN_UNKNOWN_OPCODE);
    }
    warp_plain(&t->warp, i, l->mask);
    return 0;
}

/* ---- warps and blocks ---------------------------------------------------- */

static int end_warp(struct hd_trace_text *t)
{
    if (!t->in_warp)
        return 0;
    if (t->held.any && flush_held(t) != 0)
        return t->err->code;
    t->in_warp = false;
    warp_end(&t->warp);
    uint64_t real = t->lines_read - t->markers;
    if (!t->sized)
        return wrong(t, "warp %u has no `insts = n'", t->warp.w);
    if (t->insts != t->lines_read && t->insts != real)
        return wrong(t, "warp %u has %llu instructions, not %llu", t->warp.w,
                     (unsigned long long)real, (unsigned long long)t->insts);
    if (real == 0)
        note(t, HD_TN_EMPTY_WARP);
    else if (!t->warp.ended)
        note(t, HD_TN_NO_EXIT);
    return 0;
}

static int text_begin_warp(struct hd_trace_text *t, const char *line)
{
    uint64_t w;
    const char *p = hd_scan_is(line, "warp = ");

    if (end_warp(t) != 0)
        return t->err->code;
    if (!t->numbered)
        return text_bad_line(t, line, "expected `thread block = x,y,z' first");
    p = p != NULL ? hd_scan_dec(p, &w) : NULL;
    if (p == NULL || *hd_skip_blank(p) != '\n')
        return text_bad_line(t, line, "expected `warp = w'");
    if (w >= t->warps)
        return text_bad_line(t, line, "the block has no such warp");
    if (t->seen >> w & 1)
        return text_bad_line(t, line, "the block has this warp twice");
    t->seen |= 1ull << w;
    t->in_warp = true;
    t->sized = false;
    t->insts = t->lines_read = t->markers = 0;
    hd_lines_warp(t->lines);
    warp_begin(&t->warp, (uint32_t)w);
    return 0;
}

static int set_insts(struct hd_trace_text *t, const char *line)
{
    const char *p = hd_scan_is(line, "insts = ");

    p = p != NULL ? hd_scan_dec(p, &t->insts) : NULL;
    if (p == NULL || *hd_skip_blank(p) != '\n')
        return text_bad_line(t, line, "expected `insts = n'");
    if (!t->in_warp || t->sized)
        return text_bad_line(t, line, "expected `warp = w' first");
    t->sized = true;
    return 0;
}

/* Does nothing but a comment follow? */
static bool text_at_end(const char *p)
{
    p = hd_skip_blank(p);
    return *p == '\n' || *p == '#';
}

/* "(x,y,z)" or "x,y,z". */
static const char *scan_dim(const char *p, uint32_t out[3])
{
    bool paren = *p == '(';

    p += paren;
    for (unsigned i = 0; i < 3; i++) {
        uint64_t v;
        p = hd_scan_dec(p, &v);
        if (p == NULL || v > UINT32_MAX || (i < 2 && *p != ','))
            return NULL;
        out[i] = (uint32_t)v;
        p += i < 2;
    }
    if (paren && *p++ != ')')
        return NULL;
    return text_at_end(p) ? p : NULL;
}

/* Adds a block to those of the kernel; false if it was there. */
static bool add_block(struct hd_trace_text *t, uint64_t b)
{
    struct run *below = NULL, *above = NULL;

    for (uint32_t i = 0; i < t->runs; i++) {
        struct run *r = &t->run[i];
        if (b >= r->from && b < r->to)
            return false;
        if (r->to == b)
            below = r;
        if (r->from == b + 1)
            above = r;
    }
    if (below != NULL && above != NULL) {
        below->to = above->to;
        *above = t->run[--t->runs];
    } else if (below != NULL) {
        below->to++;
    } else if (above != NULL) {
        above->from--;
    } else if (t->runs < RUNS) {
        t->run[t->runs++] = (struct run){b, b + 1};
    }
    return true;
}

static int number_block(struct hd_trace_text *t, const char *line)
{
    const char *p = hd_scan_is(line, "thread block = ");
    uint32_t at[3];
    const uint32_t *g = t->k->grid;

    if (!t->in_block || t->numbered)
        return text_bad_line(t, line, "expected #BEGIN_TB first");
    if (p == NULL || scan_dim(p, at) == NULL)
        return text_bad_line(t, line, "expected `thread block = x,y,z'");
    if (at[0] >= g[0] || at[1] >= g[1] || at[2] >= g[2])
        return text_bad_line(t, line, "the grid has no such block");
    uint64_t number = at[0] + g[0] * (at[1] + (uint64_t)g[1] * at[2]);
    if (!add_block(t, number))
        return text_bad_line(t, line, "the kernel has this block twice");
    t->numbered = true;
    t->passed = !hd_choice_block(t->choice, number);
    t->left -= !t->passed;
    hd_packer_block(t->pack, number);
    return 0;
}

static int text_end_block(struct hd_trace_text *t)
{
    if (t->passed) {
        t->in_block = t->passed = false;
        return 0;
    }
    if (end_warp(t) != 0)
        return t->err->code;
    for (uint32_t w = 0; w < t->warps; w++) {
        if (t->seen >> w & 1)
            continue;
        warp_begin(&t->warp, w);
        warp_end(&t->warp);
        note(t, HD_TN_EMPTY_WARP);
    }
    t->in_block = false;
    return hd_container_block_end(t->container, t->pack, t->err);
}

/* ---- header -------------------------------------------------------------- */

struct header {
    struct hd_trace_kernel k;
    bool grid, block, lineinfo, done;
    bool repair; /* its registers are those of the instructions */
    uint64_t lines;
};

static int text_number(const char *p, uint64_t max, uint64_t *out)
{
    uint64_t v;

    p = p[0] == '0' && p[1] == 'x' ? hd_scan_hex(p, &v) : hd_scan_dec(p, &v);
    if (p == NULL || !text_at_end(p) || v > max)
        return -1;
    *out = v;
    return 0;
}

/* The name in such a line: from where up to where, or NULL. */
static const char *header_name(const char *line, const char **end)
{
    const char *p = hd_scan_is(line, "-kernel name = "), *q = p;

    if (p == NULL)
        return NULL;
    while (*q != '\n' && *q != '\r' &&
           (*q != '#' || hd_scan_blank(q - 1) == NULL))
        q++;
    while (q > p && hd_scan_blank(q - 1) != NULL)
        q--;
    *end = q;
    return p;
}

/* A line "-what = value". */
static int header_line(struct hd_trace_text *t, struct header *h,
                       const char *line)
{
    static const struct {
        const char *name;
        size_t offset; /* of a uint32_t, or a uint64_t if wide */
        bool wide;
        uint8_t note; /* of what is not in this range: */
        uint32_t least, most;
    } field[] = {
#define AT(m) offsetof(struct hd_trace_kernel, m)
        {"-kernel id = ", AT(id), false, 0, 0, 0},
        {"-shmem = ", AT(shared_bytes), false, 0, 0, 0},
        {"-nregs = ", AT(regs), false, HD_TN_BAD_REGISTERS, 0,
         HEDDLE_TRACE_REGISTERS},
        {"-binary version = ", AT(binary), false, HD_TN_BAD_BINARY,
         HEDDLE_TRACE_BINARY, UINT32_MAX},
        {"-accelsim tracer version = ", AT(version), false, HD_TN_NEW_TRACER, 0,
         TRACER_KNOWN},
        {"-cuda stream id = ", AT(stream), true, 0, 0, 0},
        {"-shmem base_addr = ", AT(shared_base), true, 0, 0, 0},
        {"-local mem base_addr = ", AT(local_base), true, 0, 0, 0},
#undef AT
    };
    const char *p, *end;
    uint64_t v;

    for (size_t i = 0; i < HD_LEN(field); i++) {
        if ((p = hd_scan_is(line, field[i].name)) == NULL)
            continue;
        uint64_t max = field[i].wide ? UINT64_MAX : UINT32_MAX;
        if (text_number(p, max, &v) != 0)
            return text_bad_line(t, line, "expected a number");
        bool odd = v < field[i].least || v > field[i].most;
        if (field[i].most != 0 && odd) {
            bool repair =
                field[i].note == HD_TN_BAD_REGISTERS && t->container->repair;
            h->repair |= repair;
            note(t,
                 repair ? HD_TN_REPAIRED : (enum hd_trace_note)field[i].note);
        }
        char *to = (char *)&h->k + field[i].offset;
        if (field[i].wide)
            *(uint64_t *)(void *)to = v;
        else
            *(uint32_t *)(void *)to = (uint32_t)v;
        return 0;
    }
    if ((p = header_name(line, &end)) != NULL) {
        h->k.name =
            hd_container_name(t->container, p, (size_t)(end - p), t->err);
        return t->err->code;
    }
    if ((p = hd_scan_is(line, "-grid dim = ")) != NULL) {
        h->grid = scan_dim(p, h->k.grid) != NULL;
        return h->grid ? 0 : text_bad_line(t, line, "expected (x,y,z)");
    }
    if ((p = hd_scan_is(line, "-block dim = ")) != NULL) {
        h->block = scan_dim(p, h->k.block) != NULL;
        return h->block ? 0 : text_bad_line(t, line, "expected (x,y,z)");
    }
    if ((p = hd_scan_is(line, "-enable lineinfo = ")) != NULL) {
        if (text_number(p, 1, &v) != 0)
            return text_bad_line(t, line, "expected 0 or 1");
        h->lineinfo = v != 0;
        return 0;
    }
    if (hd_scan_is(line, "-nvbit version = ") == NULL)
        note(t, HD_TN_HEADER_LINE);
    return 0;
}

/* The header is complete: the kernel begins. */
static int begin_kernel(struct hd_trace_text *t, struct header *h)
{
    struct hd_trace_kernel *k = &h->k;
    uint64_t dim = 1;

    if (!h->grid || !h->block)
        return wrong(t, "the header has no `-%s dim = (x,y,z)'",
                     h->grid ? "block" : "grid");
    for (unsigned i = 0; i < 3; i++) {
        if (k->block[i] == 0 || k->block[i] > 2048 || k->grid[i] == 0 ||
            k->grid[i] > (i == 0 ? GRID_X : GRID_YZ))
            dim = 0;
    }
    if (dim == 0 || hd_trace_threads(k) > 2048)
        return hd_err_set(t->err, HEDDLE_EDATA,
                          "%s: a grid of %ux%ux%u blocks of %ux%ux%u threads "
                          "is impossible",
                          t->path, k->grid[0], k->grid[1], k->grid[2],
                          k->block[0], k->block[1], k->block[2]);
    if (k->name == NULL)
        k->name = hd_container_name(t->container, "kernel", 6, t->err);
    t->warps = hd_trace_warps(k);
    if (k->name == NULL ||
        hd_choice_blocks(t->choice, k, &t->left, t->err) != 0 ||
        (t->k = hd_container_kernel(t->container, k, t->err)) == NULL)
        return t->err->code;
    hd_lines_kernel(t->lines, k->version, h->lineinfo);
    hd_packer_begin(t->pack, t->warps);
    h->done = true;
    return 0;
}

/* ---- the file ------------------------------------------------------------ */

/* A line that is no instruction. */
static int other_line(struct hd_trace_text *t, const char *p)
{
    if (*hd_skip_blank(p) == '\n')
        return 0;
    if (*p == 'w')
        return text_begin_warp(t, p);
    if (*p == 'i')
        return set_insts(t, p);
    if (*p == 't')
        return number_block(t, p);
    if (hd_scan_is(p, "#BEGIN_TB") != NULL) {
        if (t->in_block)
            return text_bad_line(t, p, "expected #END_TB first");
        t->in_block = true;
        t->numbered = false;
        t->seen = 0;
        return 0;
    }
    if (hd_scan_is(p, "#END_TB") != NULL)
        return t->in_block && t->numbered
                   ? text_end_block(t)
                   : text_bad_line(
                         t, p, "expected #BEGIN_TB and a thread block first");
    if (hd_scan_is(p, "cluster ") != NULL)
        return 0;
    if (!t->in_block && hd_scan_prefix(p) != NULL)
        return wrong(t, "a raw trace, whose instructions are not grouped in "
                        "thread blocks; run the tracer's post-processing "
                        "(post-traces-processing) on its list first");
    if (t->in_warp && *p != '#' && *p != '-')
        return text_bad_line(t, p, "expected `insts = n' before instructions");
    note(t, HD_TN_BODY_LINE);
    return 0;
}

/* Does an instruction begin here? */
static inline bool is_inst(const char *p)
{
    return (*p >= '0' && *p <= '9') ||
           (hd_hex_digit((unsigned char)*p) < 16 ? p[1] != 'l' : *p == 'R');
}

/* Does the header end before this line?  Another # begins a comment. */
static bool ends_header(const char *p)
{
    return hd_scan_is(p, "#traces") != NULL ||
           hd_scan_is(p, "#BEGIN_TB") != NULL;
}

/* The whole lines in [p, end). */
static int read_lines(struct hd_trace_text *t, struct header *h, const char *p,
                      const char *end)
{
    struct hd_line l;

    t->start.learning = false; /* that text is gone */
    while (p < end) {
        const char *q = NULL;

        t->line++;
        if (HD_UNLIKELY(t->passed) && hd_scan_is(p, "#END_TB") == NULL) {
            p = hd_scan_line_end(p) + 1;
            continue;
        }
        if (HD_LIKELY(t->in_warp && t->sized && is_inst(p))) {
            if (t->lines_read == 0 && (q = same_start(t, p, end)) != NULL) {
                p = q;
                continue;
            }
            q = hd_lines_read(t->lines, p, &l);
            if (HD_UNLIKELY(q == NULL)) {
                const struct heddle_error *e = hd_lines_error(t->lines);
                return hd_err_set(t->err, e->code, "%s:%llu: %s", t->path,
                                  (unsigned long long)t->line, e->text);
            }
            p = q;
            t->lines_read++;
            if (put_inst(t, &l) != 0)
                return t->err->code;
            if (HD_UNLIKELY(t->start.learning))
                learn_start(t, l.inst->pc, p);
            continue;
        }
        const char *next = hd_scan_line_end(p);
        if (!h->done && ends_header(p) && begin_kernel(t, h) != 0)
            return t->err->code;
        if (h->done) {
            if (hd_scan_is(p, "#traces format") == NULL &&
                other_line(t, p) != 0)
                return t->err->code;
        } else if (*p == '-') {
            if (header_line(t, h, p) != 0)
                return t->err->code;
        } else if (!text_at_end(p)) {
            return text_bad_line(t, p,
                                 "expected a header line that begins with -");
        }
        p = next + 1;
    }
    return 0;
}

/* The file ends inside a block; what is before it can be used. */
static int cut_off(struct hd_trace_text *t)
{
    bool first = t->runs == 1 && t->run[0].from == 0 && t->k->blocks != 0;
    char use[80] = "";

    if (first)
        snprintf(
            use, sizeof use, "; the %llu before it can be chosen: blocks=%llu",
            (unsigned long long)t->k->blocks, (unsigned long long)t->k->blocks);
    return wrong(t, "the file ends inside a thread block%s", use);
}

static int end_kernel(struct hd_trace_text *t, const struct header *h)
{
    struct hd_trace_kernel *k = t->k;

    if (!h->done && t->line == 0)
        return hd_err_set(t->err, HEDDLE_EDATA,
                          "%s: the file is empty: the tracer or its "
                          "post-processing has failed on this kernel",
                          t->path);
    if (!h->done)
        return wrong(t, "the file ends inside its header");
    if (t->in_block && t->passed)
        t->in_block = false;
    if (t->in_block) {
        bool cut = t->in_warp && (!t->sized || t->lines_read < t->insts);
        if (!t->numbered || t->seen != hd_ones(t->warps) || cut)
            return cut_off(t);
        if (text_end_block(t) != 0)
            return t->err->code;
        note(t, HD_TN_UNENDED_BLOCK);
    }
    if (k->blocks == 0 && hd_choice_some(t->choice))
        return hd_err_set(t->err, HEDDLE_EINVAL, HD_CHOICE_NO_BLOCK, k->id,
                          k->name);
    if (k->blocks == 0)
        return wrong(t, "the file has no thread block");
    if (h->repair)
        k->regs = (hd_lines_registers(t->lines) + REGISTERS - 1) / REGISTERS *
                  REGISTERS;
    k->insts = t->warp.insts;
    k->thread_insts = t->warp.thread_insts;
    k->mem_insts = t->warp.mem_insts;
    k->lane_addrs = t->warp.lane_addrs;
    t->line = 0;
    if (t->left != 0)
        note(t, HD_TN_MISSING_BLOCKS);
    return hd_container_pack(t->container, t->pack, t->err);
}

int hd_trace_text_kernel(struct hd_trace_text *t, const char *path,
                         struct hd_pages *pages, struct heddle_error *err)
{
    struct hd_trace_in *in = hd_trace_in_open(path, err);
    struct header h = {.k = {.lanes = 32, .regs = 0}};
    const char *p, *end;
    bool unended = false;
    int r;

    if (in == NULL)
        return err->code;
    t->err = err;
    t->path = path;
    t->pages = pages;
    t->line = 0;
    t->runs = 0;
    t->start.len = t->start.tries = 0;
    t->warp.classes = t->container->classes;
    if (t->warp.classes) /* what follows needs each of its instructions */
        t->start.tries = START_TRIES;
    t->in_block = t->in_warp = t->held.any = t->passed = false;
    t->x = &t->container->context[t->container->contexts - 1];
    h.k.context = (uint32_t)t->container->contexts - 1;
    t->warp.insts = t->warp.thread_insts = 0;
    t->warp.mem_insts = t->warp.lane_addrs = 0;
    while ((r = hd_trace_in_more(in, &p, &end, err)) > 0) {
        unended = r == 2;
        if ((r = read_lines(t, &h, p, end)) != 0)
            break;
        if (h.done && t->left == 0 && !t->in_block &&
            hd_choice_some(t->choice)) {
            unended = false;
            break;
        }
    }
    if (r == 0 && unended)
        note(t, HD_TN_NO_NEWLINE);
    if (r == 0)
        r = end_kernel(t, &h);
    if (r == 0 && pages->oom)
        r = hd_err_memory(err);
    hd_trace_in_close(in);
    return r;
}

char *hd_trace_text_name(const char *path, struct heddle_error *err)
{
    struct hd_trace_in *in = hd_trace_in_open(path, err);
    const char *p = NULL, *end = NULL, *from = "kernel", *to = from + 6;
    char *out = NULL;
    int r;

    if (in == NULL)
        return NULL;
    if ((r = hd_trace_in_more(in, &p, &end, err)) >= 0) {
        for (; r > 0 && p < end && !ends_header(p); p = hd_scan_line_end(p) + 1)
            if (header_name(p, &to) != NULL) {
                from = header_name(p, &to);
                break;
            }
        size_t n = (size_t)(to - from);
        if ((out = calloc(n + 1, 1)) != NULL)
            memcpy(out, from, n);
        else
            hd_err_memory(err);
    }
    hd_trace_in_close(in);
    return out;
}
