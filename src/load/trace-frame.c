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
 * Here blocks are collected; trace-pack.c writes the frame.
 *
 * SPDX-License-Identifier: MIT
 */
#include "trace-pack.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* A frame is full at so many estimated bytes, addresses, or warps. */
enum { FULL_BYTES = HD_TRACE_FRAME, FULL_MEM = 1 << 16, FULL_WARPS = 1 << 15 };

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
    struct hd_top *t = hd_grow(&k->top, k->tops, &k->room_tops, sizeof *t);

    if (t == NULL) {
        k->oom = true;
        return false;
    }
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
    struct hd_pack_warp *w = &k->w[warp];

    hd_assert(warp < k->warps);
    if (HD_UNLIKELY(w->n >= w->room)) {
        struct hd_pack_entry *e = hd_grow(&w->e, w->n, &w->room, sizeof *e);
        if (e == NULL) {
            k->oom = true;
            return;
        }
    }
    w->e[w->n++] = (struct hd_pack_entry){mask, find_top(k, o), 0};
}

static struct hd_pack_mem *add_mem(struct hd_pack *k, uint32_t warp)
{
    struct hd_pack_warp *w = &k->w[warp];
    struct hd_pack_mem *m = hd_grow(&w->m, w->nm, &w->room_m, sizeof *m);

    if (m == NULL) {
        k->oom = true;
        return NULL;
    }
    return &m[w->nm++];
}

void hd_pack_affine(struct hd_pack *k, uint32_t warp, const struct hd_top *o,
                    uint64_t mask, uint64_t first, int64_t stride)
{
    hd_pack_op(k, warp, o, mask);
    struct hd_pack_mem *m = add_mem(k, warp);
    if (m != NULL)
        *m = (struct hd_pack_mem){first, stride, HD_PACK_NO_LIST};
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
    struct hd_pack_mem *m = add_mem(k, warp);
    uint64_t *v = hd_grow(&k->value, k->values + n, &k->room_values, 8);
    if (m == NULL || v == NULL) {
        k->oom = true;
        return;
    }
    *m = (struct hd_pack_mem){0, 0, k->values};
    memcpy(v + k->values, addr, n * 8);
    k->values += n;
    k->cost += n * 4;
}

/* ---- end of a block ----------------------------------------------------- */

static bool is_path(const struct hd_pack *k, const struct hd_pack_path *p,
                    const struct hd_pack_warp *w)
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

static bool add_path(struct hd_pack *k, const struct hd_pack_warp *w,
                     uint64_t hash)
{
    struct hd_pack_path *p =
        hd_grow(&k->path, k->paths, &k->room_paths, sizeof *p);

    if (p == NULL)
        return false;
    if (k->n + w->n > k->room) {
        struct hd_pack_entry *e =
            hd_grow(&k->e, k->n + w->n, &k->room, sizeof *e);
        if (e == NULL)
            return false;
    }
    if (w->n != 0)
        memcpy(k->e + k->n, w->e, w->n * sizeof *w->e);
    p[k->paths++] = (struct hd_pack_path){hash, k->n, (uint32_t)w->n};
    k->n += w->n;
    k->cost += w->n * 2 + 2;
    return true;
}

/* The number of the path that a warp took; HD_NONE: out of memory. */
static uint32_t find_path(struct hd_pack *k, const struct hd_pack_warp *w)
{
    uint32_t before = k->uses != 0 ? k->use[k->uses - 1] : HD_NONE;

    if (before != HD_NONE && is_path(k, &k->path[before], w))
        return before;
    if (k->paths * 2 >= k->path_slots && !grow_path_slots(k))
        return HD_NONE;
    uint64_t hash = XXH3_64bits(w->e, w->n * sizeof *w->e);
    size_t at = hash & (k->path_slots - 1);
    for (; k->path_slot[at] != 0; at = (at + 1) & (k->path_slots - 1)) {
        const struct hd_pack_path *p = &k->path[k->path_slot[at] - 1];
        if (p->hash == hash && is_path(k, p, w))
            return k->path_slot[at] - 1;
    }
    if (!add_path(k, w, hash))
        return HD_NONE;
    k->path_slot[at] = (uint32_t)k->paths;
    return (uint32_t)k->paths - 1;
}

static bool end_warp(struct hd_pack *k, const struct hd_pack_warp *w)
{
    uint32_t path = find_path(k, w);
    uint32_t *u = hd_grow(&k->use, k->uses, &k->room_uses, sizeof *u);

    if (path == HD_NONE || u == NULL)
        return false;
    u[k->uses++] = path;
    if (k->nm + w->nm > k->room_m) {
        struct hd_pack_mem *m =
            hd_grow(&k->m, k->nm + w->nm, &k->room_m, sizeof *m);
        if (m == NULL)
            return false;
    }
    if (w->nm != 0)
        memcpy(k->m + k->nm, w->m, w->nm * sizeof *w->m);
    k->nm += w->nm;
    k->cost += w->nm;
    return true;
}

int hd_pack_block_end(struct hd_pack *k)
{
    struct hd_pack_block *b =
        hd_grow(&k->block, k->blocks, &k->room_blocks, sizeof *b);

    if (b == NULL || k->oom)
        return HEDDLE_ENOMEM;
    b[k->blocks++] = (struct hd_pack_block){k->number, k->uses};
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
