/*
 * trace-inst.c - what an instruction of a text trace touches.
 *
 * Generic accesses are told apart by the windows [base, base + 16 MB) of shared
 * and local memory (the traces of different cards order the two differently,
 * so neither bounds the other); shared memory takes issue slots only; local
 * accesses keep their offset in the thread's window and are placed when they
 * are replayed.
 *
 * LDGSTS stands twice in traces that were not post-processed; the first, which
 * names the shared address, is dropped.  A bulk copy lists addresses of no
 * lane in particular; each stands for an equal part of the transfer, and the
 * parts are executed 32 addresses at a time, as one instruction.
 *
 * SPDX-License-Identifier: MIT
 */
#include "trace-reader.h"

enum {
    BULK_STEP = 32,   /* bytes from lane to lane of a bulk copy */
    BULK_LANES = 8192 /* of one instruction: 256 KB */
};

/* ---- addresses ----------------------------------------------------------- */

static bool in_window(uint64_t addr, uint64_t base)
{
    return base != 0 && addr - base < HD_TRACE_WINDOW;
}

static int too_far(struct hd_trace_text *t, uint64_t addr)
{
    return hd_err_set(t->err, HEDDLE_EDATA,
                      "%s:%llu: address 0x%llx is not below 2^%d", t->path,
                      (unsigned long long)t->line, (unsigned long long)addr,
                      HD_TRACE_VA_BITS);
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
                      const struct hd_top *o)
{
    if (l->mask == 0) {
        hd_pack_affine(t->pack, t->w, o, 0, 0, 0);
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
        hd_pack_affine(t->pack, t->w, o, l->mask, l->first, l->stride);
        if (HD_UNLIKELY(lo == 0))
            hd_trace_text_note(t, HD_TN_ZERO_ADDRESS);
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
        hd_pack_list(t->pack, t->w, o, l->mask, a);
        if (HD_UNLIKELY(zero))
            hd_trace_text_note(t, HD_TN_ZERO_ADDRESS);
    }
    return 0;
}

/* The address space's threads touch words [least, most) of their windows. */
static void widen_local(struct hd_trace_context *x, uint64_t least,
                        uint64_t most, uint64_t base)
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
                     const struct hd_top *o)
{
    uint64_t base = t->k->local_base, off[HD_TRACE_HELD];
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
        widen_local(t->x, least, most, base);
    if (l->affine && n != 0 && off[0] + (a[n - 1] - a[0]) == off[n - 1])
        hd_pack_affine(t->pack, t->w, o, l->mask, off[0], l->stride);
    else
        hd_pack_list(t->pack, t->w, o, l->mask, off);
    return 0;
}

/* ---- instructions -------------------------------------------------------- */

enum place { PLACE_GLOBAL, PLACE_SHARED, PLACE_LOCAL };

/* Where a generic access goes.  Lanes elsewhere lose their bit in l->mask. */
static enum place classify(struct hd_trace_text *t, struct hd_line *l)
{
    uint64_t sh = t->k->shared_base, lo = t->k->local_base, to[3] = {0};
    const uint64_t *a = as_list(t, l);
    unsigned i = 0;

    if (sh == 0 && lo == 0)
        hd_trace_text_note(t, HD_TN_NO_WINDOWS);
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
    hd_trace_text_note(t, HD_TN_MIXED_WINDOWS);
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
    const struct hd_tinst *i = l->inst;
    uint64_t each = l->n != 0 ? hd_ceil_div(l->bytes, l->n) : 0;
    uint64_t lanes = hd_max_u64(1, hd_ceil_div(each, BULK_STEP));
    struct hd_line part = {.inst = i};
    struct hd_top o;
    uint64_t addr[32];
    unsigned n = 0, slot;

    if (l->n * lanes > BULK_LANES)
        lanes = hd_max_u64(1, BULK_LANES / l->n);
    hd_twarp_memory(&t->warp, i, l->n != 0 ? l->mask | 1 : 0, i->op.kind,
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
        o.wait = 0;
        n = 0;
    }
    return l->n == 0 ? put_global(t, &part, &o) : 0;
}

/* An instruction with addresses. */
static int put_memory(struct hd_trace_text *t, const struct hd_line *line)
{
    struct hd_line l = *line;
    const struct hd_tinst *i = l.inst;
    enum place place = PLACE_GLOBAL;
    unsigned bytes = i->bytes;
    struct hd_top o;

    if (l.odd)
        hd_trace_text_note(t, HD_TN_ODD_MODE);
    if (l.bulk)
        return put_bulk(t, &l);
    if (i->op.where == HD_OW_GENERIC || i->op.where == HD_OW_STAGED)
        place = classify(t, &l);
    else if (i->op.where == HD_OW_LOCAL)
        place = PLACE_LOCAL;
    if (place == PLACE_SHARED) {
        hd_twarp_plain(&t->warp, i, l.mask);
        return 0;
    }
    if (bytes > 16) {
        hd_trace_text_note(t, HD_TN_WIDE_LANE);
        bytes = 16;
    }
    if (place == PLACE_LOCAL) {
        hd_twarp_memory(&t->warp, i, l.mask, i->op.kind, bytes, HD_TS_LOCAL,
                        &o);
        return put_local(t, &l, &o);
    }
    hd_twarp_memory(&t->warp, i, l.mask, i->op.kind, bytes, HD_TS_GLOBAL, &o);
    return put_global(t, &l, &o);
}

static int flush_held(struct hd_trace_text *t)
{
    t->held.any = false;
    return put_memory(t, &t->held.line);
}

/* Keeps an LDGSTS until the next instruction shows whether it was the first
 * of two. */
static int hold(struct hd_trace_text *t, const struct hd_line *l)
{
    struct hd_trace_held *h = &t->held;

    if (h->any && h->line.inst->pc == l->inst->pc) {
        hd_trace_text_note(t, HD_TN_LDGSTS_TWICE);
        h->any = false;
        return put_memory(t, l);
    }
    if (h->any && flush_held(t) != 0)
        return t->err->code;
    h->any = true;
    h->line = *l;
    h->line.addr = h->addr;
    if (!l->affine)
        memcpy(h->addr, l->addr, hd_bit_count(l->mask) * sizeof *h->addr);
    return 0;
}

int hd_trace_inst_put(struct hd_trace_text *t, const struct hd_line *l)
{
    const struct hd_tinst *i = l->inst;

    if (i->op.replay) {
        t->markers++;
        hd_trace_text_note(t, HD_TN_REPLAY);
        return 0;
    }
    if (i->op.where == HD_OW_STAGED && l->addressed)
        return hold(t, l);
    if (HD_UNLIKELY(t->held.any) && flush_held(t) != 0)
        return t->err->code;
    if (i->op.where > HD_OW_UNKNOWN && i->op.where != HD_OW_SHARED) {
        if (l->addressed)
            return put_memory(t, l);
        hd_trace_text_note(t, HD_TN_NO_WIDTH);
    } else if (l->addressed && i->op.where == HD_OW_UNKNOWN) {
        hd_trace_text_note(t, HD_TN_UNKNOWN_OPCODE);
    }
    hd_twarp_plain(&t->warp, i, l->mask);
    return 0;
}

int hd_trace_inst_end(struct hd_trace_text *t)
{
    return t->held.any ? flush_held(t) : 0;
}
