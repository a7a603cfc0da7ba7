/*
 * trace-frame.c - some thread blocks of one kernel as about 64 KB of bytes, and
 * back.
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
 * Reading trusts nothing: a frame may come from a damaged or hostile file.
 * Every count is checked against the bytes that are left before memory is
 * taken, every reference against its table, every address against the 48 bits
 * of the page tables, and the memory of the whole is computed first and
 * compared with a limit.  What comes out can be replayed without another check:
 * each path ends with its only EXIT, and each memory operation has an address
 * record.  A record is eight bytes (an address and an index of strides, or a
 * list's number); lists stay packed until the instruction issues.
 *
 * SPDX-License-Identifier: MIT
 */
#include "trace-frame.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* A frame is full at so many estimated bytes, addresses, or warps. */
enum { FULL_BYTES = HD_TRACE_FRAME, FULL_MEM = 1 << 16, FULL_WARPS = 1 << 15 };

enum { TAG_SAME, TAG_STRIDE, TAG_SHARED, TAG_OWN };
enum { P_TOP, P_PATH, P_BLOCK, P_DESC, P_STREAM, P_BITS, PARTS };

/* ---- prediction ---------------------------------------------------------- */

/* Where an instruction went; all 0 at first. */
struct predict {
    uint64_t last, step; /* of this warp */
    uint64_t first;      /* the warp's first address */
    uint64_t across;     /* to it from that of the warp before */
    uint32_t warp;       /* the last that used it, counted from 1; 0: none */
    bool known;          /* reading: it has a stride's index */
    uint32_t index;
    int64_t stride; /* from lane to lane */
};

/* The address that it is expected to touch next: within a warp the last step
 * again, from a warp to the next the distance of their first addresses. */
static inline uint64_t predicted(const struct predict *p, uint32_t warp)
{
    return p->warp == warp ? p->last + p->step : p->first + p->across;
}

static inline void learn(struct predict *p, uint32_t warp, uint64_t addr)
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

/* ---- collecting blocks --------------------------------------------------- */

struct pack_entry {
    uint64_t mask;
    uint32_t top;
    uint32_t zero; /* so that entries compare and hash as bytes */
};

struct pack_mem {
    uint64_t first;
    int64_t stride;
    size_t list; /* first of its values, or NO_LIST */
    uint32_t stream, lanes;
};

#define NO_LIST SIZE_MAX

struct pack_warp { /* of the block being collected */
    struct pack_entry *e;
    struct pack_mem *m;
    size_t n, room, nm, room_m;
};

struct pack_path {
    uint64_t hash;
    size_t at;
    uint32_t n, memory;
};

struct pack_block {
    uint64_t number;
    size_t warp; /* first of its path numbers */
};

struct pack_stream {
    uint64_t min, bits; /* lists: smallest, OR of differences to it */
    uint64_t max;
    uint32_t lists;
    uint8_t shift, width;
};

struct hd_pack {
    uint32_t lanes, warps;
    bool oom;
    struct pack_warp w[HD_TRACE_MAX_WARPS];
    uint64_t number; /* of the block being collected */
    /* the frame */
    struct hd_top *top;
    size_t tops, room_tops;
    uint32_t top_slot[4096];    /* hash: row + 1; a late comer overwrites */
    uint32_t stream_slot[4096]; /* the same for memory operations by pc */
    struct pack_entry *e;       /* of all paths */
    size_t n, room;
    struct pack_path *path;
    size_t paths, room_paths;
    struct hd_hash path_at;
    struct pack_block *block;
    size_t blocks, room_blocks;
    uint32_t *use; /* path of each warp */
    size_t uses, room_uses;
    struct pack_mem *m;
    size_t nm, room_m;
    uint64_t *value;
    size_t values, room_values;
    size_t cost; /* bytes the frame will take, about */
    struct pack_stream *stream;
    size_t room_streams;
    struct predict *predict;
    size_t room_predicts;
    struct hd_bytes part[PARTS];
};

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
    free(k->path_at.slot);
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
    if (k->path_at.slot != NULL)
        memset(k->path_at.slot, 0, k->path_at.slots * sizeof(uint32_t));
}

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

/* The number of an operation in the frame's table.  A slot of the hash is
 * overwritten by whoever comes last; a row that is missed is written again,
 * which costs bytes but is not wrong. */
static uint32_t find_top(struct hd_pack *k, const struct hd_top *o)
{
    uint64_t h = ((uint64_t)o->pc << 32 | o->wait) * 0x9e3779b97f4a7c15ull;
    struct hd_top *t;

    h ^= ((uint64_t)o->count << 24 | (uint64_t)o->slot << 8 | o->kind) *
         0xc2b2ae3d27d4eb4full;
    uint32_t *slot = &k->top_slot[h >> 52], n = (uint32_t)k->tops;
    if (*slot != 0 && same_top(&k->top[*slot - 1], o))
        return *slot - 1;
    if ((t = hd_grow(&k->top, n, &k->room_tops, sizeof *t)) == NULL) {
        k->oom = true;
        return 0;
    }
    t[n] = *o;
    t[n].stream = n;
    if (hd_top_memory(o)) {
        uint32_t *s = &k->stream_slot[(o->pc * 0x9e3779b1u) >> 20];
        if (*s != 0 && t[*s - 1].pc == o->pc && t[*s - 1].space == o->space)
            t[n].stream = *s - 1;
        else
            *s = n + 1;
    }
    k->tops++;
    k->cost += 10;
    *slot = n + 1;
    return n;
}

/* Appends an operation to a warp of the block; its row.  HD_NONE: no memory. */
static uint32_t add_op(struct hd_pack *k, uint32_t warp, const struct hd_top *o,
                       uint64_t mask)
{
    struct pack_warp *w = &k->w[warp];
    uint32_t top;

    hd_assert(warp < k->warps);
    if (hd_grow(&w->e, w->n, &w->room, sizeof *w->e) == NULL) {
        k->oom = true;
        return HD_NONE;
    }
    top = find_top(k, o);
    w->e[w->n++] = (struct pack_entry){mask, top, 0};
    return top;
}

void hd_pack_op(struct hd_pack *k, uint32_t warp, const struct hd_top *o,
                uint64_t mask)
{
    add_op(k, warp, o, mask);
}

/* Appends a memory operation; NULL: no memory. */
static struct pack_mem *add_mem(struct hd_pack *k, uint32_t warp,
                                const struct hd_top *o, uint64_t mask)
{
    struct pack_warp *w = &k->w[warp];
    struct pack_mem *m = hd_grow(&w->m, w->nm, &w->room_m, sizeof *m);
    uint32_t top = add_op(k, warp, o, mask);

    k->oom |= m == NULL;
    if (k->oom)
        return NULL;
    m += w->nm++;
    *m = (struct pack_mem){.list = NO_LIST,
                           .stream = k->top[top].stream,
                           .lanes = hd_bit_count(mask)};
    return m;
}

void hd_pack_affine(struct hd_pack *k, uint32_t warp, const struct hd_top *o,
                    uint64_t mask, uint64_t first, int64_t stride)
{
    struct pack_mem *m = add_mem(k, warp, o, mask);

    if (m == NULL)
        return;
    m->first = first;
    m->stride = stride;
}

void hd_pack_list(struct hd_pack *k, uint32_t warp, const struct hd_top *o,
                  uint64_t mask, const uint64_t *addr)
{
    size_t n = hd_bit_count(mask);

    if (n <= 1) {
        hd_pack_affine(k, warp, o, mask, n == 1 ? addr[0] : 0, 0);
        return;
    }
    struct pack_mem *m = add_mem(k, warp, o, mask);
    uint64_t *v = hd_grow(&k->value, k->values + n, &k->room_values, 8);
    if (m == NULL || v == NULL) {
        k->oom = true;
        return;
    }
    m->list = k->values;
    memcpy(v + k->values, addr, n * 8);
    k->values += n;
    k->cost += n * 4;
}

static bool is_path(const struct hd_pack *k, const struct pack_path *p,
                    const struct pack_warp *w)
{
    return p->n == w->n && memcmp(k->e + p->at, w->e, w->n * sizeof *w->e) == 0;
}

static uint64_t path_hash(const void *k, size_t i)
{
    return ((const struct hd_pack *)k)->path[i].hash;
}

/* The number of the path that a warp took; HD_NONE: out of memory. */
static uint32_t find_path(struct hd_pack *k, const struct pack_warp *w)
{
    uint32_t before = k->uses != 0 ? k->use[k->uses - 1] : HD_NONE;
    struct hd_hash *h = &k->path_at;
    struct pack_path *p;

    if (before != HD_NONE && is_path(k, &k->path[before], w))
        return before;
    if (!hd_hash_room(h, k, k->paths, path_hash))
        return HD_NONE;
    uint64_t hash = XXH3_64bits(w->e, w->n * sizeof *w->e);
    size_t at = hash & (h->slots - 1);
    for (; h->slot[at] != 0; at = (at + 1) & (h->slots - 1)) {
        p = &k->path[h->slot[at] - 1];
        if (p->hash == hash && is_path(k, p, w))
            return h->slot[at] - 1;
    }
    p = hd_grow(&k->path, k->paths, &k->room_paths, sizeof *p);
    if (p == NULL ||
        hd_grow(&k->e, k->n + w->n, &k->room, sizeof *k->e) == NULL)
        return HD_NONE;
    if (w->n != 0)
        memcpy(k->e + k->n, w->e, w->n * sizeof *w->e);
    p[k->paths++] =
        (struct pack_path){hash, k->n, (uint32_t)w->n, (uint32_t)w->nm};
    k->n += w->n;
    k->cost += w->n * 2 + 2;
    h->slot[at] = (uint32_t)k->paths;
    return (uint32_t)k->paths - 1;
}

static bool end_warp(struct hd_pack *k, const struct pack_warp *w)
{
    uint32_t path = find_path(k, w);
    uint32_t *u = hd_grow(&k->use, k->uses, &k->room_uses, sizeof *u);

    if (path == HD_NONE || u == NULL ||
        hd_grow(&k->m, k->nm + w->nm, &k->room_m, sizeof *k->m) == NULL)
        return false;
    u[k->uses++] = path;
    if (w->nm != 0)
        memcpy(k->m + k->nm, w->m, w->nm * sizeof *w->m);
    k->nm += w->nm;
    k->cost += w->nm;
    return true;
}

int hd_pack_block_end(struct hd_pack *k)
{
    struct pack_block *b =
        hd_grow(&k->block, k->blocks, &k->room_blocks, sizeof *b);

    if (b == NULL || k->oom)
        return HEDDLE_ENOMEM;
    b[k->blocks++] = (struct pack_block){k->number, k->uses};
    k->cost += 3;
    for (uint32_t i = 0; i < k->warps; i++) {
        if (!end_warp(k, &k->w[i])) {
            k->oom = true;
            return HEDDLE_ENOMEM;
        }
    }
    return 0;
}

bool hd_trace_affine(uint64_t mask, const uint64_t *a, int64_t *stride)
{
    unsigned f = mask != 0 ? hd_bit_first(mask) : 0;
    uint64_t m = mask & (mask - 1);

    *stride = 0;
    if (m != 0) {
        int64_t d = (int64_t)(a[1] - a[0]), lanes = hd_bit_first(m) - f;
        if (d % lanes != 0)
            return false;
        *stride = d / lanes;
    }
    for (unsigned i = 1; m != 0; m &= m - 1, i++) {
        if (a[0] + (uint64_t)(hd_bit_first(m) - f) * (uint64_t)*stride != a[i])
            return false;
    }
    return true;
}

bool hd_pack_full(const struct hd_pack *k)
{
    return k->cost >= FULL_BYTES || k->nm >= FULL_MEM || k->uses >= FULL_WARPS;
}

uint32_t hd_pack_blocks(const struct hd_pack *k)
{
    return (uint32_t)k->blocks;
}

/* ---- writing ------------------------------------------------------------- */

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
static struct pack_stream own_width(const uint64_t *v, size_t n)
{
    struct pack_stream s = {UINT64_MAX, 0, 0, 0, 0, 0};

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
static void widen(struct pack_stream *s, const uint64_t *v, size_t n)
{
    if (s->lists++ == 0)
        *s = (struct pack_stream){v[0], 0, v[0], 1, 0, 0};
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

/* Gives each list its stream, or its own packing where that is shorter: stride
 * 1 marks the latter, which then leave their stream. */
static void pack_lists(struct hd_pack *k)
{
    struct pack_mem *m, *end = k->m + k->nm;

    for (m = k->m; m < end; m++)
        if (m->list != NO_LIST)
            widen(&k->stream[m->stream], k->value + m->list, m->lanes);
    for (m = k->m; m < end; m++) {
        if (m->list == NO_LIST)
            continue;
        unsigned width = k->stream[m->stream].width;
        struct pack_stream own = own_width(k->value + m->list, m->lanes);
        size_t alone = (m->lanes * own.width + 7) / 8 + 5;
        m->stride = alone < (m->lanes * width + 7) / 8;
        m->first = own.min;
    }
    memset(k->stream, 0, k->tops * sizeof *k->stream);
    for (m = k->m; m < end; m++)
        if (m->list != NO_LIST && m->stride == 0)
            widen(&k->stream[m->stream], k->value + m->list, m->lanes);
}

static void put_desc(struct hd_pack *k, uint32_t warp, const struct pack_mem *m)
{
    struct hd_bytes *b = &k->part[P_DESC];
    struct predict *p = &k->predict[m->stream];
    unsigned n = m->lanes;

    if (m->list != NO_LIST && m->stride == 0) {
        const struct pack_stream *s = &k->stream[m->stream];
        hd_bytes_put(b, TAG_SHARED);
        put_bits(&k->part[P_BITS], k->value + m->list, n, s->min, s->shift,
                 s->width);
        return;
    }
    uint64_t diff = hd_fold((int64_t)(m->first - predicted(p, warp))) << 2;
    learn(p, warp, m->first);
    if (m->list != NO_LIST) {
        struct pack_stream own = own_width(k->value + m->list, n);
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

static void put_descs(struct hd_pack *k)
{
    const struct pack_mem *m = k->m;

    for (size_t u = 0; u < k->uses; u++)
        for (uint32_t n = k->path[k->use[u]].memory; n != 0; n--)
            put_desc(k, (uint32_t)u + 1, m++);
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
        const struct pack_entry *e = k->e + k->path[i].at;
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
        const struct pack_stream *s = &k->stream[i];
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
    struct pack_stream *s =
        hd_grow(&k->stream, k->tops, &k->room_streams, sizeof *s);
    if (s == NULL)
        return false;
    struct predict *p =
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
    pack_lists(k);
    put_descs(k);
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

/* ---- reading ------------------------------------------------------------- */

enum {
    MAX_STRIDES = 0xffff,
    NO_WIDTH = 0xff,
    /* a list's: affine after all; min is the first address, and the next
     * list's min the stride */
    PAIR = 0xfe
};

struct hd_flist {
    uint64_t min;
    uint32_t at; /* in the packed bits */
    uint8_t shift, width;
};

struct stream { /* how the lists of one instruction are packed */
    uint64_t min;
    uint8_t shift, width; /* width NO_WIDTH: it has none */
};

struct unpack {
    struct hd_frame *f;
    struct hd_cursor part[PARTS];
    uint64_t blocks, tops, paths, entries, mems, opcodes;
    uint32_t strides, lists;
    size_t room_strides, room_lists;
    struct stream *stream;
    struct predict *predict;
    const char *what;
};

const char hd_frame_too_large[] = "size";
const char hd_frame_memory[] = "memory";

static bool fail(struct unpack *u, const char *what)
{
    if (u->what == NULL)
        u->what = what;
    return false;
}

/* ---- tables -------------------------------------------------------------- */

static bool good_top(const struct hd_top *t)
{
    bool bytes = t->bytes != 0 && t->bytes <= 16 && hd_is_pow2(t->bytes);

    if (t->kind > HD_OP_EXIT || t->space > HD_TS_TEXTURE)
        return false;
    if (t->slot != HD_NO_SLOT && (t->slot >= 32 || !hd_top_memory(t)))
        return false;
    if (t->kind == HD_OP_ALU)
        return t->count != 0;
    return t->count <= 1 && (hd_top_memory(t) ? bytes : t->bytes == 0);
}

static bool get_tops(struct unpack *u)
{
    struct hd_cursor *c = &u->part[P_TOP];

    for (uint64_t i = 0; i < u->tops; i++) {
        struct hd_top *t = &u->f->top[i];
        unsigned kind = hd_cursor_u8(c);
        t->kind = kind & 15;
        t->space = (uint8_t)(kind >> 4);
        t->slot = (uint8_t)hd_cursor_u8(c);
        t->bytes = (uint8_t)hd_cursor_u8(c);
        t->wait = (uint32_t)hd_cursor_max(c, UINT32_MAX);
        t->count = (uint32_t)hd_cursor_max(c, UINT32_MAX);
        t->pc = (uint32_t)hd_cursor_max(c, UINT32_MAX);
        t->opcode = (uint32_t)hd_cursor_max(c, UINT32_MAX);
        t->stream = (uint32_t)(i - hd_cursor_max(c, i));
        if (c->bad || !good_top(t) || t->opcode >= u->opcodes)
            return fail(u, "operations");
        if (u->f->top[t->stream].space != t->space)
            return fail(u, "operations");
    }
    return c->p == c->end || fail(u, "operations");
}

static bool get_masks(struct unpack *u, struct hd_fentry *e, uint64_t n)
{
    struct hd_cursor *c = &u->part[P_PATH];
    uint64_t mask = hd_ones(u->f->lanes), changes = hd_cursor_count(c, 2);
    uint64_t at = 0;

    for (uint64_t i = 0; i < changes; i++) {
        uint64_t to = at + hd_cursor_max(c, n - 1 - at);
        uint64_t m = hd_cursor_max(c, hd_ones(u->f->lanes));
        if (c->bad)
            return false;
        for (; at < to; at++)
            e[at].mask = mask;
        mask = m;
    }
    for (; at < n; at++)
        e[at].mask = mask;
    return !c->bad;
}

static bool get_path(struct unpack *u, struct hd_fpath *p, uint64_t at)
{
    struct hd_cursor *c = &u->part[P_PATH];
    struct hd_fentry *e = u->f->entry + at;
    uint64_t n = hd_cursor_max(c, u->entries - at);
    uint32_t memory = 0;

    if (n == 0)
        return false;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t top = hd_cursor_get(c);
        if (c->bad || top >= u->tops)
            return false;
        const struct hd_top *t = &u->f->top[top];
        if ((t->kind == HD_OP_EXIT) != (i == n - 1))
            return false;
        e[i] = (struct hd_fentry){0, (uint32_t)top, memory};
        memory += hd_top_memory(t);
    }
    *p = (struct hd_fpath){(uint32_t)at, (uint32_t)n, memory};
    return get_masks(u, e, n);
}

static bool get_paths(struct unpack *u)
{
    uint64_t at = 0;

    for (uint64_t i = 0; i < u->paths; i++) {
        if (!get_path(u, &u->f->path[i], at))
            return fail(u, "paths");
        at += u->f->path[i].n;
    }
    if (at != u->entries || u->part[P_PATH].p != u->part[P_PATH].end)
        return fail(u, "paths");
    return true;
}

static bool get_blocks(struct unpack *u)
{
    struct hd_cursor *c = &u->part[P_BLOCK];
    struct hd_fwarp *w = u->f->warp;
    uint64_t next = 0, mem = 0;

    for (uint64_t i = 0; i < u->blocks; i++) {
        u->f->number[i] = next + (uint64_t)hd_cursor_gets(c);
        next = u->f->number[i] + 1;
        for (uint32_t j = 0; j < u->f->warps;) {
            uint64_t path = hd_cursor_get(c);
            uint64_t run = hd_cursor_max(c, u->f->warps - j - 1) + 1;
            if (c->bad || path >= u->paths)
                return fail(u, "blocks");
            for (j += (uint32_t)run; run != 0; run--) {
                *w++ = (struct hd_fwarp){(uint32_t)path, (uint32_t)mem};
                mem += u->f->path[path].memory;
                if (mem > u->mems)
                    return fail(u, "blocks");
            }
        }
    }
    return (mem == u->mems && c->p == c->end) || fail(u, "blocks");
}

static bool good_packing(uint64_t min, unsigned shift, unsigned width)
{
    return min < HD_TRACE_VA_END && shift + width <= HD_TRACE_VA_BITS;
}

static bool get_streams(struct unpack *u)
{
    struct hd_cursor *c = &u->part[P_STREAM];

    for (uint64_t i = 0; i < u->tops; i++)
        u->stream[i].width = NO_WIDTH;
    for (;;) {
        uint64_t id = hd_cursor_get(c);
        if (c->bad || id > u->tops)
            return fail(u, "streams");
        if (id == 0)
            break;
        struct stream *s = &u->stream[id - 1];
        s->min = hd_cursor_get(c);
        s->shift = (uint8_t)hd_cursor_u8(c);
        s->width = (uint8_t)hd_cursor_u8(c);
        if (c->bad || !good_packing(s->min, s->shift, s->width))
            return fail(u, "streams");
    }
    return c->p == c->end || fail(u, "streams");
}

/* ---- addresses ----------------------------------------------------------- */

/* The index of a stride; MAX_STRIDES when the table is full. */
static uint32_t find_stride(struct unpack *u, int64_t stride)
{
    uint32_t n = u->strides;

    for (uint32_t i = 0; i < n && i < 8; i++) {
        if (u->f->stride[n - 1 - i] == stride)
            return n - 1 - i;
    }
    if (n >= MAX_STRIDES)
        return MAX_STRIDES;
    int64_t *s = hd_grow(&u->f->stride, n, &u->room_strides, sizeof *s);
    if (s == NULL)
        return MAX_STRIDES;
    s[u->strides++] = stride;
    return n;
}

/* Room for so many more lists. */
static bool more_lists(struct unpack *u, size_t n)
{
    struct hd_flist *l =
        hd_grow(&u->f->list, u->lists + n - 1, &u->room_lists, sizeof *l);

    if (l == NULL)
        return fail(u, hd_frame_memory);
    return true;
}

static bool add_list(struct unpack *u, uint64_t *record, unsigned lanes,
                     uint64_t min, unsigned shift, unsigned width)
{
    struct hd_cursor *c = &u->part[P_BITS];

    if (!more_lists(u, 1))
        return false;
    u->f->list[u->lists] = (struct hd_flist){min, (uint32_t)(c->p - u->f->bits),
                                             (uint8_t)shift, (uint8_t)width};
    *record = HD_FLIST << HD_TRACE_VA_BITS | u->lists++;
    hd_cursor_take(c, (lanes * width + 7) / 8);
    return !c->bad || fail(u, "lists");
}

/* An affine access whose stride found no place in the table: two lists. */
static bool add_pair(struct unpack *u, uint64_t *record, uint64_t first,
                     int64_t stride)
{
    struct hd_flist *l;

    if (!more_lists(u, 2))
        return false;
    l = &u->f->list[u->lists];
    l[0] = (struct hd_flist){first, 0, 0, PAIR};
    l[1] = (struct hd_flist){(uint64_t)stride, 0, 0, PAIR};
    *record = HD_FLIST << HD_TRACE_VA_BITS | u->lists;
    u->lists += 2;
    return true;
}

/* The lane addresses of an affine access lie in the 48 bits. */
static bool good_affine(uint64_t first, int64_t stride, uint64_t mask)
{
    int64_t span = mask == 0 ? 0 : hd_log2(mask) - hd_bit_first(mask);
    int64_t most = (int64_t)HD_TRACE_VA_END;

    if (first >= HD_TRACE_VA_END || stride >= most || stride <= -most)
        return false;
    int64_t last = (int64_t)first + span * stride;
    return last >= 0 && last < most;
}

static bool get_affine(struct unpack *u, struct predict *p, bool fresh,
                       uint64_t addr, uint64_t mask, uint64_t *record)
{
    if (fresh)
        p->stride = hd_cursor_gets(&u->part[P_DESC]);
    if (!good_affine(addr, p->stride, mask))
        return fail(u, "addresses");
    if (fresh || !p->known) {
        p->index = find_stride(u, p->stride);
        p->known = true;
    }
    if (HD_UNLIKELY(p->index == MAX_STRIDES))
        return add_pair(u, record, addr, p->stride);
    *record = addr | (uint64_t)p->index << HD_TRACE_VA_BITS;
    return true;
}

static bool get_addr(struct unpack *u, uint32_t warp, const struct hd_fentry *e,
                     uint64_t *record)
{
    struct hd_cursor *c = &u->part[P_DESC];
    uint32_t id = u->f->top[e->top].stream;
    struct predict *p = &u->predict[id];
    uint64_t d = hd_cursor_get(c);
    unsigned tag = d & 3;

    if (c->bad)
        return fail(u, "addresses");
    if (tag == TAG_SHARED) {
        const struct stream *s = &u->stream[id];
        if (s->width == NO_WIDTH)
            return fail(u, "streams");
        return add_list(u, record, hd_bit_count(e->mask), s->min, s->shift,
                        s->width);
    }
    uint64_t addr = predicted(p, warp) + (uint64_t)hd_unfold(d >> 2);
    learn(p, warp, addr);
    if (tag != TAG_OWN)
        return get_affine(u, p, tag == TAG_STRIDE, addr, e->mask, record);
    unsigned shift = hd_cursor_u8(c), width = hd_cursor_u8(c);
    if (c->bad || !good_packing(addr, shift, width))
        return fail(u, "addresses");
    return add_list(u, record, hd_bit_count(e->mask), addr, shift, width);
}

static bool get_desc(struct unpack *u)
{
    struct hd_frame *f = u->f;
    uint64_t *record = f->mem;
    uint32_t warps = (uint32_t)(u->blocks * f->warps);

    memset(u->predict, 0, u->tops * sizeof *u->predict);
    for (uint32_t w = 0; w < warps; w++) {
        const struct hd_fpath *p = &f->path[f->warp[w].path];
        const struct hd_fentry *e = f->entry + p->entry;
        for (uint32_t left = p->memory; left != 0; e++) {
            if (!hd_top_memory(&f->top[e->top]))
                continue;
            if (!get_addr(u, w + 1, e, record++))
                return false;
            left--;
        }
    }
    if (u->part[P_DESC].p != u->part[P_DESC].end ||
        u->part[P_BITS].p != u->part[P_BITS].end)
        return fail(u, "addresses");
    f->lists = u->lists;
    return true;
}

/* ---- the whole ----------------------------------------------------------- */

static size_t round8(size_t n)
{
    return (n + 7) & ~(size_t)7;
}

/* Takes the memory of all tables whose size the counts give, in one piece. */
static bool take(struct unpack *u, uint32_t lanes, uint32_t warps, size_t limit)
{
    size_t bits = hd_cursor_left(&u->part[P_BITS]);
    const size_t bytes[] = {sizeof(struct hd_frame),
                            u->tops * sizeof(struct hd_top),
                            u->entries * sizeof(struct hd_fentry),
                            u->paths * sizeof(struct hd_fpath),
                            u->blocks * sizeof(uint64_t),
                            u->blocks * warps * sizeof(struct hd_fwarp),
                            u->mems * sizeof(uint64_t),
                            bits + 8};
    size_t at[HD_LEN(bytes)], n = 0;

    for (unsigned i = 0; i < HD_LEN(bytes); i++) {
        at[i] = n;
        n += round8(bytes[i]);
    }
    if (n > limit)
        return fail(u, hd_frame_too_large);
    unsigned char *p = malloc(n);
    if (p == NULL)
        return fail(u, hd_frame_memory);
    struct hd_frame *f = u->f = (struct hd_frame *)(void *)p;
    *f = (struct hd_frame){.blocks = (uint32_t)u->blocks,
                           .warps = warps,
                           .lanes = lanes,
                           .tops = (uint32_t)u->tops,
                           .paths = (uint32_t)u->paths,
                           .bytes = n};
    f->top = (void *)(p + at[1]);
    f->entry = (void *)(p + at[2]);
    f->path = (void *)(p + at[3]);
    f->number = (void *)(p + at[4]);
    f->warp = (void *)(p + at[5]);
    f->mem = (void *)(p + at[6]);
    f->bits = p + at[7];
    memcpy(f->bits, u->part[P_BITS].p, bits);
    memset(f->bits + bits, 0, round8(bits + 8) - bits);
    u->part[P_BITS] = (struct hd_cursor){.p = f->bits, .end = f->bits + bits};
    return true;
}

static bool get_head(struct unpack *u, struct hd_cursor *c)
{
    u->blocks = hd_cursor_count(c, 3);
    u->tops = hd_cursor_count(c, 8);
    u->paths = hd_cursor_count(c, 3);
    u->entries = hd_cursor_count(c, 1);
    u->mems = hd_cursor_count(c, 1);
    uint64_t len[PARTS];
    for (unsigned i = 0; i < PARTS; i++)
        len[i] = hd_cursor_count(c, 1);
    if (c->bad || u->blocks == 0 || hd_cursor_left(c) > UINT32_MAX)
        return fail(u, "counts");
    for (unsigned i = 0; i < PARTS; i++) {
        const unsigned char *p = hd_cursor_take(c, len[i]);
        if (p == NULL)
            return fail(u, "counts");
        u->part[i] = (struct hd_cursor){.p = p, .end = p + len[i]};
    }
    return c->p == c->end || fail(u, "counts");
}

struct hd_frame *hd_frame_unpack(const unsigned char *p, size_t n,
                                 uint32_t lanes, uint32_t warps,
                                 uint32_t opcodes, size_t limit,
                                 const char **what)
{
    struct hd_cursor c = {.p = p, .end = p + n};
    struct unpack u = {.opcodes = opcodes};
    bool ok = get_head(&u, &c) && take(&u, lanes, warps, limit);

    if (ok) {
        u.stream = malloc((u.tops + 1) * sizeof *u.stream);
        u.predict = malloc((u.tops + 1) * sizeof *u.predict);
        ok = u.stream != NULL && u.predict != NULL;
        if (!ok)
            fail(&u, hd_frame_memory);
    }
    ok = ok && get_tops(&u) && get_paths(&u) && get_blocks(&u) &&
         get_streams(&u) && get_desc(&u);
    free(u.stream);
    free(u.predict);
    if (!ok) {
        hd_frame_free(u.f);
        *what = u.what;
        return NULL;
    }
    u.f->bytes +=
        u.room_strides * sizeof *u.f->stride + u.room_lists * sizeof *u.f->list;
    return u.f;
}

void hd_frame_free(struct hd_frame *f)
{
    if (f == NULL)
        return;
    free(f->stride);
    free(f->list);
    free(f);
}

/* An affine access: the address of the first set lane. */
static struct hd_access affine(uint64_t first, int64_t stride, uint64_t mask)
{
    unsigned f = mask != 0 ? hd_bit_first(mask) : 0;

    return (struct hd_access){.base.v = first - f * (uint64_t)stride,
                              .stride = stride};
}

void hd_frame_addr(const struct hd_frame *f, uint64_t r, uint64_t mask,
                   struct hd_access *out, hd_va lane[HD_MAX_LANES])
{
    uint64_t low = r & (HD_TRACE_VA_END - 1), index = r >> HD_TRACE_VA_BITS;

    if (index != HD_FLIST) {
        *out = affine(low, f->stride[index], mask);
        return;
    }
    const struct hd_flist *l = &f->list[low];
    if (l->width == PAIR) {
        *out = affine(l[0].min, (int64_t)l[1].min, mask);
        return;
    }
    const unsigned char *bits = f->bits + l->at;
    uint64_t ones = hd_ones(l->width);
    size_t at = 0;
    *out = (struct hd_access){.lane = lane};
    for (; mask != 0; mask &= mask - 1, at += l->width) {
        uint64_t v = hd_load64(bits + at / 8) >> (at & 7) & ones;
        lane[hd_bit_first(mask)].v =
            (l->min + (v << l->shift)) & (HD_TRACE_VA_END - 1);
    }
}
