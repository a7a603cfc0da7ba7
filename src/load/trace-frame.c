/*
 * trace-frame.c - packs thread blocks into a frame of about 64 KB.
 *
 * A frame stands alone: it can be decoded without any other, which makes a
 * container seekable by block.  It holds, apart from one another so that each
 * compresses well:
 *
 *   tops     the distinct operations (kind, slot, waits, pc, opcode, ...)
 *   paths    the distinct sequences of operations with masks that a warp
 *            executed; most warps of a kernel share one
 *   blocks   for each block its number and runs of (path, warps)
 *   desc     for each memory operation of each warp, in order, where it went
 *   streams  how the address lists of one instruction are packed
 *   bits     the packed lists
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
#include "trace-frame.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { TAG_SAME, TAG_STRIDE, TAG_SHARED, TAG_OWN };

/* A frame is full at so many estimated bytes, addresses, or warps. */
enum { FULL_BYTES = HD_TRACE_FRAME, FULL_MEM = 1 << 16, FULL_WARPS = 1 << 15 };

struct entry {
    uint64_t mask;
    uint32_t top;
    uint32_t zero; /* so that entries compare and hash as bytes */
};

struct mem {
    uint64_t first;
    int64_t stride;
    size_t list; /* first of its values, or NO_LIST */
};

#define NO_LIST SIZE_MAX

struct warp { /* of the block being collected */
    struct entry *e;
    struct mem *m;
    size_t n, room, nm, room_m;
};

struct path {
    uint64_t hash;
    size_t at;
    uint32_t n;
};

struct block {
    uint64_t number;
    size_t warp; /* first of its path numbers */
};

struct stream {
    uint64_t min, bits; /* lists: smallest, OR of differences to it */
    uint64_t max;
    uint32_t lists;
    uint8_t shift, width;
};

struct predict {
    uint64_t last, step, first, across;
    int64_t stride;
    uint32_t warp; /* the last that used it, counted from 1; 0: none */
};

struct hd_pack {
    uint32_t lanes, warps;
    bool oom;
    struct warp w[HD_TRACE_MAX_WARPS];
    uint64_t number; /* of the block being collected */
    /* the frame */
    struct hd_top *top;
    size_t tops, room_tops;
    uint32_t top_slot[4096];    /* hash: row + 1; a late comer overwrites */
    uint32_t stream_slot[4096]; /* the same for memory operations by pc */
    struct entry *e;            /* of all paths */
    size_t n, room;
    struct path *path;
    size_t paths, room_paths;
    uint32_t *path_slot;
    size_t path_slots;
    struct block *block;
    size_t blocks, room_blocks;
    uint32_t *use; /* path of each warp */
    size_t uses, room_uses;
    struct mem *m;
    size_t nm, room_m;
    uint64_t *value;
    size_t values, room_values;
    size_t cost; /* bytes the frame will take, about */
    struct stream *stream;
    size_t room_streams;
    struct predict *predict;
    size_t room_predicts;
    struct hd_bytes part[6];
};

enum { P_TOP, P_PATH, P_BLOCK, P_DESC, P_STREAM, P_BITS };

struct hd_pack *hd_pack_new(void)
{
    return calloc(1, sizeof(struct hd_pack));
}

void hd_pack_free(struct hd_pack *k)
{
    if (k == NULL)
        return;
    for (unsigned i = 0; i < HD_LEN(k->w); i++) {
        free(k->w[i].e);
        free(k->w[i].m);
    }
    for (unsigned i = 0; i < HD_LEN(k->part); i++)
        hd_bytes_free(&k->part[i]);
    free(k->top);
    free(k->e);
    free(k->path);
    free(k->path_slot);
    free(k->block);
    free(k->use);
    free(k->m);
    free(k->value);
    free(k->stream);
    free(k->predict);
    free(k);
}

void hd_pack_begin(struct hd_pack *k, uint32_t lanes, uint32_t warps)
{
    k->lanes = lanes;
    k->warps = warps;
    k->tops = k->n = k->paths = k->blocks = k->uses = k->nm = k->values = 0;
    k->cost = 0;
    memset(k->top_slot, 0, sizeof k->top_slot);
    memset(k->stream_slot, 0, sizeof k->stream_slot);
    if (k->path_slot != NULL)
        memset(k->path_slot, 0, k->path_slots * sizeof *k->path_slot);
}

/* ---- operations of the current block ----------------------------------- */

void hd_pack_block(struct hd_pack *k, uint64_t number)
{
    k->number = number;
    for (uint32_t i = 0; i < k->warps; i++)
        k->w[i].n = k->w[i].nm = 0;
}

static bool same_top(const struct hd_top *a, const struct hd_top *b)
{
    return a->pc == b->pc && a->kind == b->kind && a->slot == b->slot &&
           a->bytes == b->bytes && a->space == b->space && a->wait == b->wait &&
           a->count == b->count && a->opcode == b->opcode;
}

static bool add_top(struct hd_pack *k, const struct hd_top *o)
{
    struct hd_top *t = hd_grow(k->top, k->tops, &k->room_tops, sizeof *t);

    if (t == NULL) {
        k->oom = true;
        return false;
    }
    k->top = t;
    t[k->tops] = *o;
    t[k->tops].stream = (uint32_t)k->tops;
    if (hd_top_memory(o)) {
        uint32_t *s = &k->stream_slot[(o->pc * 0x9e3779b1u) >> 20];
        if (*s != 0 && t[*s - 1].pc == o->pc && t[*s - 1].space == o->space)
            t[k->tops].stream = *s - 1;
        else
            *s = (uint32_t)k->tops + 1;
    }
    k->tops++;
    k->cost += 10;
    return true;
}

/* The number of an operation in the frame's table.  A slot of the hash is
 * overwritten by whoever comes last; a row that is missed is written again,
 * which costs bytes but is not wrong. */
static uint32_t find_top(struct hd_pack *k, const struct hd_top *o)
{
    uint64_t h = ((uint64_t)o->pc << 32 | o->wait) * 0x9e3779b97f4a7c15ull;

    h ^= ((uint64_t)o->count << 24 | (uint64_t)o->slot << 8 | o->kind) *
         0xc2b2ae3d27d4eb4full;
    uint32_t *slot = &k->top_slot[h >> 52];
    if (*slot != 0 && same_top(&k->top[*slot - 1], o))
        return *slot - 1;
    if (!add_top(k, o))
        return 0;
    *slot = (uint32_t)k->tops;
    return *slot - 1;
}

void hd_pack_op(struct hd_pack *k, uint32_t warp, const struct hd_top *o,
                uint64_t mask)
{
    struct warp *w = &k->w[warp];

    hd_assert(warp < k->warps);
    if (HD_UNLIKELY(w->n >= w->room)) {
        struct entry *e = hd_grow(w->e, w->n, &w->room, sizeof *e);
        if (e == NULL) {
            k->oom = true;
            return;
        }
        w->e = e;
    }
    w->e[w->n++] = (struct entry){mask, find_top(k, o), 0};
}

static struct mem *add_mem(struct hd_pack *k, uint32_t warp)
{
    struct warp *w = &k->w[warp];
    struct mem *m = hd_grow(w->m, w->nm, &w->room_m, sizeof *m);

    if (m == NULL) {
        k->oom = true;
        return NULL;
    }
    w->m = m;
    return &m[w->nm++];
}

void hd_pack_affine(struct hd_pack *k, uint32_t warp, const struct hd_top *o,
                    uint64_t mask, uint64_t first, int64_t stride)
{
    hd_pack_op(k, warp, o, mask);
    struct mem *m = add_mem(k, warp);
    if (m != NULL)
        *m = (struct mem){first, stride, NO_LIST};
}

void hd_pack_list(struct hd_pack *k, uint32_t warp, const struct hd_top *o,
                  uint64_t mask, const uint64_t *addr)
{
    size_t n = hd_bit_count(mask);

    if (n <= 1) {
        hd_pack_affine(k, warp, o, mask, n == 1 ? addr[0] : 0, 0);
        return;
    }
    hd_pack_op(k, warp, o, mask);
    struct mem *m = add_mem(k, warp);
    uint64_t *v = hd_grow(k->value, k->values + n, &k->room_values, 8);
    if (m == NULL || v == NULL) {
        k->oom = true;
        return;
    }
    *m = (struct mem){0, 0, k->values};
    k->value = v;
    memcpy(v + k->values, addr, n * 8);
    k->values += n;
    k->cost += n * 4;
}

/* ---- end of a block ----------------------------------------------------- */

static bool is_path(const struct hd_pack *k, const struct path *p,
                    const struct warp *w)
{
    return p->n == w->n && memcmp(k->e + p->at, w->e, w->n * sizeof *w->e) == 0;
}

/* Doubles the hash of paths, which is kept at most half full. */
static bool grow_path_slots(struct hd_pack *k)
{
    size_t n = k->path_slots == 0 ? 256 : k->path_slots * 2;
    uint32_t *s = calloc(n, sizeof *s);

    if (s == NULL)
        return false;
    for (size_t i = 0; i < k->paths; i++) {
        size_t at = k->path[i].hash & (n - 1);
        while (s[at] != 0)
            at = (at + 1) & (n - 1);
        s[at] = (uint32_t)i + 1;
    }
    free(k->path_slot);
    k->path_slot = s;
    k->path_slots = n;
    return true;
}

static bool add_path(struct hd_pack *k, const struct warp *w, uint64_t hash)
{
    struct path *p = hd_grow(k->path, k->paths, &k->room_paths, sizeof *p);

    if (p == NULL)
        return false;
    k->path = p;
    if (k->n + w->n > k->room) {
        struct entry *e = hd_grow(k->e, k->n + w->n, &k->room, sizeof *e);
        if (e == NULL)
            return false;
        k->e = e;
    }
    if (w->n != 0)
        memcpy(k->e + k->n, w->e, w->n * sizeof *w->e);
    p[k->paths++] = (struct path){hash, k->n, (uint32_t)w->n};
    k->n += w->n;
    k->cost += w->n * 2 + 2;
    return true;
}

/* The number of the path that a warp took; HD_NONE: out of memory. */
static uint32_t find_path(struct hd_pack *k, const struct warp *w)
{
    uint32_t before = k->uses != 0 ? k->use[k->uses - 1] : HD_NONE;

    if (before != HD_NONE && is_path(k, &k->path[before], w))
        return before;
    if (k->paths * 2 >= k->path_slots && !grow_path_slots(k))
        return HD_NONE;
    uint64_t hash = XXH3_64bits(w->e, w->n * sizeof *w->e);
    size_t at = hash & (k->path_slots - 1);
    for (; k->path_slot[at] != 0; at = (at + 1) & (k->path_slots - 1)) {
        const struct path *p = &k->path[k->path_slot[at] - 1];
        if (p->hash == hash && is_path(k, p, w))
            return k->path_slot[at] - 1;
    }
    if (!add_path(k, w, hash))
        return HD_NONE;
    k->path_slot[at] = (uint32_t)k->paths;
    return (uint32_t)k->paths - 1;
}

static bool end_warp(struct hd_pack *k, const struct warp *w)
{
    uint32_t path = find_path(k, w);
    uint32_t *u = hd_grow(k->use, k->uses, &k->room_uses, sizeof *u);

    if (path == HD_NONE || u == NULL)
        return false;
    k->use = u;
    u[k->uses++] = path;
    if (k->nm + w->nm > k->room_m) {
        struct mem *m = hd_grow(k->m, k->nm + w->nm, &k->room_m, sizeof *m);
        if (m == NULL)
            return false;
        k->m = m;
    }
    if (w->nm != 0)
        memcpy(k->m + k->nm, w->m, w->nm * sizeof *w->m);
    k->nm += w->nm;
    k->cost += w->nm;
    return true;
}

int hd_pack_block_end(struct hd_pack *k)
{
    struct block *b = hd_grow(k->block, k->blocks, &k->room_blocks, sizeof *b);

    if (b == NULL || k->oom)
        return HEDDLE_ENOMEM;
    k->block = b;
    b[k->blocks++] = (struct block){k->number, k->uses};
    k->cost += 3;
    for (uint32_t i = 0; i < k->warps; i++) {
        if (!end_warp(k, &k->w[i])) {
            k->oom = true;
            return HEDDLE_ENOMEM;
        }
    }
    return 0;
}

bool hd_pack_full(const struct hd_pack *k)
{
    return k->cost >= FULL_BYTES || k->nm >= FULL_MEM || k->uses >= FULL_WARPS;
}

uint32_t hd_pack_blocks(const struct hd_pack *k)
{
    return (uint32_t)k->blocks;
}

/* ---- writing ------------------------------------------------------------ */

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
static struct stream own_width(const uint64_t *v, size_t n)
{
    struct stream s = {UINT64_MAX, 0, 0, 0, 0, 0};

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
static void widen(struct stream *s, const uint64_t *v, size_t n)
{
    if (s->lists++ == 0)
        *s = (struct stream){v[0], 0, v[0], 1, 0, 0};
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
                                const struct entry *e, struct mem *m))
{
    struct mem *m = k->m;

    for (size_t u = 0; u < k->uses; u++) {
        const struct path *p = &k->path[k->use[u]];
        for (uint32_t i = 0; i < p->n; i++) {
            const struct entry *e = &k->e[p->at + i];
            if (hd_top_memory(&k->top[e->top]))
                fn(k, (uint32_t)u + 1, e, m++);
        }
    }
}

static void widen_all(struct hd_pack *k, uint32_t warp, const struct entry *e,
                      struct mem *m)
{
    (void)warp;
    if (m->list != NO_LIST)
        widen(&k->stream[k->top[e->top].stream], k->value + m->list,
              hd_bit_count(e->mask));
}

/* Lists that do better alone leave their stream: stride 1 marks them. */
static void choose_own(struct hd_pack *k, uint32_t warp, const struct entry *e,
                       struct mem *m)
{
    (void)warp;
    if (m->list == NO_LIST)
        return;
    const struct stream *s = &k->stream[k->top[e->top].stream];
    unsigned n = hd_bit_count(e->mask);
    struct stream own = own_width(k->value + m->list, n);
    size_t alone = (n * own.width + 7) / 8 + 5;
    m->stride = alone < (n * (size_t)s->width + 7) / 8;
    m->first = own.min;
}

static void widen_rest(struct hd_pack *k, uint32_t warp, const struct entry *e,
                       struct mem *m)
{
    if (m->list != NO_LIST && m->stride == 0)
        widen_all(k, warp, e, m);
}

/* The address that a stream is expected to touch next. */
static uint64_t expect(const struct predict *p, uint32_t warp)
{
    return p->warp == warp ? p->last + p->step : p->first + p->across;
}

static void learn(struct predict *p, uint32_t warp, uint64_t addr)
{
    if (p->warp == warp) {
        p->step = addr - p->last;
    } else {
        p->across = p->warp == 0 ? 0 : addr - p->first;
        p->first = addr;
    }
    p->warp = warp;
    p->last = addr;
}

static void put_desc(struct hd_pack *k, uint32_t warp, const struct entry *e,
                     struct mem *m)
{
    struct hd_bytes *b = &k->part[P_DESC];
    uint32_t id = k->top[e->top].stream;
    struct predict *p = &k->predict[id];
    unsigned n = hd_bit_count(e->mask);

    if (m->list != NO_LIST && m->stride == 0) {
        const struct stream *s = &k->stream[id];
        hd_bytes_put(b, TAG_SHARED);
        put_bits(&k->part[P_BITS], k->value + m->list, n, s->min, s->shift,
                 s->width);
        return;
    }
    uint64_t diff = hd_fold((int64_t)(m->first - expect(p, warp))) << 2;
    learn(p, warp, m->first);
    if (m->list != NO_LIST) {
        struct stream own = own_width(k->value + m->list, n);
        hd_bytes_put(b, diff | TAG_OWN);
        hd_bytes_u8(b, own.shift);
        hd_bytes_u8(b, own.width);
        put_bits(&k->part[P_BITS], k->value + m->list, n, own.min, own.shift,
                 own.width);
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
    struct hd_bytes *b = &k->part[P_TOP];

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
    struct hd_bytes *b = &k->part[P_PATH];

    for (size_t i = 0; i < k->paths; i++) {
        const struct entry *e = k->e + k->path[i].at;
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
    struct hd_bytes *b = &k->part[P_BLOCK];
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
    struct hd_bytes *b = &k->part[P_STREAM];

    for (size_t i = 0; i < k->tops; i++) {
        const struct stream *s = &k->stream[i];
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
    struct stream *s = hd_grow(k->stream, k->tops, &k->room_streams, sizeof *s);
    if (s == NULL)
        return false;
    k->stream = s;
    struct predict *p =
        hd_grow(k->predict, k->tops, &k->room_predicts, sizeof *p);
    if (p == NULL)
        return false;
    k->predict = p;
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
