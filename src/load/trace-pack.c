/*
 * trace-pack.c - writes the blocks that trace-frame.c has collected as a frame,
 * whose parts are listed there.
 *
 * Addresses.  Nearly all accesses of real kernels are affine in the lane, and
 * the first lane's address is affine in the warp's number and in the trip
 * count of a loop.  A stream (the operations of one pc) predicts: for its
 * first instance in a warp, the address that continues the last two warps'
 * first instances; for later ones, the last address plus the last step, which
 * is kept from warp to warp.  desc is (difference << 2 | tag); a kernel that
 * does what it did becomes a string of zero bytes, one an operation.
 *
 * What is not affine is a list.  Tag 2 packs (address - min) >> shift with the
 * fewest bits that hold all lists of the stream in the frame; tag 3 gives a
 * list its own minimum, shift and width where that is shorter.  Random
 * addresses then cost their entropy and nothing else: a word of a 256 MB
 * table takes 26 bits.
 *
 * SPDX-License-Identifier: MIT
 */
#include "trace-pack.h"

enum { TAG_SAME, TAG_STRIDE, TAG_SHARED, TAG_OWN };

static unsigned width_of(uint64_t x)
{
    return x == 0 ? 0 : hd_log2(x) + 1;
}

static void put_bits(struct hd_bytes *b, const uint64_t *v, size_t n,
                     uint64_t min, unsigned shift, unsigned width)
{
    uint64_t acc = 0;
    unsigned have = 0;

    if (!hd_bytes_room(b, n * 8 + 8))
        return;
    for (size_t i = 0; i < n; i++) {
        uint64_t x = (v[i] - min) >> shift;
        acc |= x << have;
        have += width;
        if (have >= 64) {
            hd_store64(b->p + b->n, acc);
            b->n += 8;
            have -= 64;
            acc = have == 0 ? 0 : x >> (width - have);
        }
    }
    for (; have > 0; have = have > 8 ? have - 8 : 0, acc >>= 8)
        b->p[b->n++] = (unsigned char)acc;
}

/* The fewest bits for a list alone. */
static struct hd_pack_stream own_width(const uint64_t *v, size_t n)
{
    struct hd_pack_stream s = {UINT64_MAX, 0, 0, 0, 0, 0};

    for (size_t i = 0; i < n; i++) {
        s.min = hd_min_u64(s.min, v[i]);
        s.max = hd_max_u64(s.max, v[i]);
        s.bits |= v[i] ^ v[0];
    }
    s.shift = s.bits == 0 ? 0 : (uint8_t)hd_bit_first(s.bits);
    s.width = (uint8_t)width_of((s.max - s.min) >> s.shift);
    return s;
}

/* Adds a list to what its stream must hold. */
static void widen(struct hd_pack_stream *s, const uint64_t *v, size_t n)
{
    if (s->lists++ == 0)
        *s = (struct hd_pack_stream){v[0], 0, v[0], 1, 0, 0};
    for (size_t i = 0; i < n; i++) {
        s->bits |= v[i] ^ s->min;
        s->max = hd_max_u64(s->max, v[i]);
        s->min = hd_min_u64(s->min, v[i]);
    }
    /* bits: OR of differences to earlier minima, in which every difference
     * to the last minimum has its low end */
    s->shift = s->bits == 0 ? 0 : (uint8_t)hd_bit_first(s->bits);
    s->width = (uint8_t)width_of((s->max - s->min) >> s->shift);
}

/* Calls fn for each memory operation of the frame, in order. */
static void each_mem(struct hd_pack *k,
                     void (*fn)(struct hd_pack *k, uint32_t warp,
                                const struct hd_pack_entry *e,
                                struct hd_pack_mem *m))
{
    struct hd_pack_mem *m = k->m;

    for (size_t u = 0; u < k->uses; u++) {
        const struct hd_pack_path *p = &k->path[k->use[u]];
        for (uint32_t i = 0; i < p->n; i++) {
            const struct hd_pack_entry *e = &k->e[p->at + i];
            if (hd_top_memory(&k->top[e->top]))
                fn(k, (uint32_t)u + 1, e, m++);
        }
    }
}

static void widen_all(struct hd_pack *k, uint32_t warp,
                      const struct hd_pack_entry *e, struct hd_pack_mem *m)
{
    (void)warp;
    if (m->list != HD_PACK_NO_LIST)
        widen(&k->stream[k->top[e->top].stream], k->value + m->list,
              hd_bit_count(e->mask));
}

/* Lists that do better alone leave their stream: stride 1 marks them. */
static void choose_own(struct hd_pack *k, uint32_t warp,
                       const struct hd_pack_entry *e, struct hd_pack_mem *m)
{
    (void)warp;
    if (m->list == HD_PACK_NO_LIST)
        return;
    const struct hd_pack_stream *s = &k->stream[k->top[e->top].stream];
    unsigned n = hd_bit_count(e->mask);
    struct hd_pack_stream own = own_width(k->value + m->list, n);
    size_t alone = (n * own.width + 7) / 8 + 5;
    m->stride = alone < (n * (size_t)s->width + 7) / 8;
    m->first = own.min;
}

static void widen_rest(struct hd_pack *k, uint32_t warp,
                       const struct hd_pack_entry *e, struct hd_pack_mem *m)
{
    if (m->list != HD_PACK_NO_LIST && m->stride == 0)
        widen_all(k, warp, e, m);
}

static void put_desc(struct hd_pack *k, uint32_t warp,
                     const struct hd_pack_entry *e, struct hd_pack_mem *m)
{
    struct hd_bytes *b = &k->part[HD_PACK_DESC];
    uint32_t id = k->top[e->top].stream;
    struct hd_pack_predict *p = &k->predict[id];
    unsigned n = hd_bit_count(e->mask);

    if (m->list != HD_PACK_NO_LIST && m->stride == 0) {
        const struct hd_pack_stream *s = &k->stream[id];
        hd_bytes_put(b, TAG_SHARED);
        put_bits(&k->part[HD_PACK_BITS], k->value + m->list, n, s->min,
                 s->shift, s->width);
        return;
    }
    uint64_t diff = hd_fold((int64_t)(m->first - hd_predict_next(&p->at, warp)))
                    << 2;
    hd_predict_learn(&p->at, warp, m->first);
    if (m->list != HD_PACK_NO_LIST) {
        struct hd_pack_stream own = own_width(k->value + m->list, n);
        hd_bytes_put(b, diff | TAG_OWN);
        hd_bytes_u8(b, own.shift);
        hd_bytes_u8(b, own.width);
        put_bits(&k->part[HD_PACK_BITS], k->value + m->list, n, own.min,
                 own.shift, own.width);
    } else if (m->stride == p->stride) {
        hd_bytes_put(b, diff | TAG_SAME);
    } else {
        hd_bytes_put(b, diff | TAG_STRIDE);
        hd_bytes_puts(b, m->stride);
        p->stride = m->stride;
    }
}

static void put_tops(struct hd_pack *k)
{
    struct hd_bytes *b = &k->part[HD_PACK_TOP];

    for (size_t i = 0; i < k->tops; i++) {
        const struct hd_top *t = &k->top[i];
        hd_bytes_u8(b, t->kind | (unsigned)t->space << 4);
        hd_bytes_u8(b, t->slot);
        hd_bytes_u8(b, t->bytes);
        hd_bytes_put(b, t->wait);
        hd_bytes_put(b, t->count);
        hd_bytes_put(b, t->pc);
        hd_bytes_put(b, t->opcode);
        hd_bytes_put(b, i - t->stream);
    }
}

static void put_paths(struct hd_pack *k)
{
    struct hd_bytes *b = &k->part[HD_PACK_PATH];

    for (size_t i = 0; i < k->paths; i++) {
        const struct hd_pack_entry *e = k->e + k->path[i].at;
        uint64_t mask = hd_ones(k->lanes), n = k->path[i].n, changes = 0;

        hd_bytes_put(b, n);
        for (size_t j = 0; j < n; j++) {
            hd_bytes_put(b, e[j].top);
            changes += e[j].mask != mask;
            mask = e[j].mask;
        }
        hd_bytes_put(b, changes);
        mask = hd_ones(k->lanes);
        for (size_t j = 0, last = 0; j < n; j++) {
            if (e[j].mask == mask)
                continue;
            mask = e[j].mask;
            hd_bytes_put(b, j - last);
            hd_bytes_put(b, mask);
            last = j;
        }
    }
}

static void put_blocks(struct hd_pack *k)
{
    struct hd_bytes *b = &k->part[HD_PACK_BLOCK];
    uint64_t next = 0;

    for (size_t i = 0; i < k->blocks; i++) {
        const uint32_t *use = k->use + k->block[i].warp;
        hd_bytes_puts(b, (int64_t)(k->block[i].number - next));
        next = k->block[i].number + 1;
        for (uint32_t j = 0, run; j < k->warps; j += run) {
            for (run = 1; j + run < k->warps && use[j + run] == use[j]; run++)
                ;
            hd_bytes_put(b, use[j]);
            hd_bytes_put(b, run - 1);
        }
    }
}

static void put_streams(struct hd_pack *k)
{
    struct hd_bytes *b = &k->part[HD_PACK_STREAM];

    for (size_t i = 0; i < k->tops; i++) {
        const struct hd_pack_stream *s = &k->stream[i];
        if (s->lists == 0)
            continue;
        hd_bytes_put(b, i + 1);
        hd_bytes_put(b, s->min);
        hd_bytes_u8(b, s->shift);
        hd_bytes_u8(b, s->width);
    }
    hd_bytes_put(b, 0);
}

/* Per-stream tables, cleared. */
static bool clear_streams(struct hd_pack *k)
{
    struct hd_pack_stream *s =
        hd_grow(&k->stream, k->tops, &k->room_streams, sizeof *s);
    if (s == NULL)
        return false;
    struct hd_pack_predict *p =
        hd_grow(&k->predict, k->tops, &k->room_predicts, sizeof *p);
    if (p == NULL)
        return false;
    memset(s, 0, k->tops * sizeof *s);
    memset(p, 0, k->tops * sizeof *p);
    return true;
}

int hd_pack_end(struct hd_pack *k, struct hd_bytes *out)
{
    out->n = 0;
    for (unsigned i = 0; i < HD_LEN(k->part); i++)
        k->part[i].n = 0;
    if (k->oom || !clear_streams(k))
        return HEDDLE_ENOMEM;
    put_tops(k);
    put_paths(k);
    put_blocks(k);
    each_mem(k, widen_all);
    each_mem(k, choose_own);
    memset(k->stream, 0, k->tops * sizeof *k->stream);
    each_mem(k, widen_rest);
    each_mem(k, put_desc);
    put_streams(k);

    hd_bytes_put(out, k->blocks);
    hd_bytes_put(out, k->tops);
    hd_bytes_put(out, k->paths);
    hd_bytes_put(out, k->n);
    hd_bytes_put(out, k->nm);
    for (unsigned i = 0; i < HD_LEN(k->part); i++)
        hd_bytes_put(out, k->part[i].n);
    for (unsigned i = 0; i < HD_LEN(k->part); i++) {
        k->oom |= k->part[i].oom;
        hd_bytes_add(out, k->part[i].p, k->part[i].n);
    }
    return k->oom || out->oom ? HEDDLE_ENOMEM : 0;
}
