/*
 * trace-unframe.c - reads a frame back, trusting none of it.
 *
 * A frame may come from a damaged or hostile file.  Every count is checked
 * against the bytes that are left before memory is taken, every reference
 * against its table, every address against the 48 bits of the page tables, and
 * the memory of the whole is computed first and compared with a limit.  What
 * comes out can be replayed without another check: each path ends with its
 * only EXIT, and each memory operation has an address record.
 *
 * A record is eight bytes (an address and an index of strides, or a list's
 * number); lists stay packed until the instruction issues.
 *
 * SPDX-License-Identifier: MIT
 */
#include "trace-frame.h"
#include "trace-predict.h"

enum { TAG_SAME, TAG_STRIDE, TAG_SHARED, TAG_OWN };
enum { P_TOP, P_PATH, P_BLOCK, P_DESC, P_STREAM, P_BITS, PARTS };
enum { MAX_STRIDES = 0xffff };

struct predict {
    struct hd_predict at;
    int64_t stride;
    uint32_t index; /* of the stride */
    bool known;     /* the stream has a stride index */
};

struct unpack {
    struct hd_frame *f;
    struct hd_cursor part[PARTS];
    uint64_t blocks, tops, paths, entries, mems, opcodes;
    uint32_t strides, room_strides, lists;
    size_t room_lists;
    struct hd_fstream *stream;
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
        u->stream[i].width = 0xff;
    for (;;) {
        uint64_t id = hd_cursor_get(c);
        if (c->bad || id > u->tops)
            return fail(u, "streams");
        if (id == 0)
            break;
        struct hd_fstream *s = &u->stream[id - 1];
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
    if (n == u->room_strides) {
        uint32_t room = n == 0 ? 16 : n * 2;
        if (n >= MAX_STRIDES)
            return MAX_STRIDES;
        int64_t *s = realloc(u->f->stride, room * sizeof *s);
        if (s == NULL)
            return MAX_STRIDES;
        u->f->stride = s;
        u->room_strides = room;
    }
    if (n >= MAX_STRIDES)
        return MAX_STRIDES;
    u->f->stride[u->strides++] = stride;
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
    l[0] = (struct hd_flist){first, 0, 0, HD_FPAIR};
    l[1] = (struct hd_flist){(uint64_t)stride, 0, 0, HD_FPAIR};
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
        const struct hd_fstream *s = &u->stream[id];
        if (s->width == 0xff)
            return fail(u, "streams");
        return add_list(u, record, hd_bit_count(e->mask), s->min, s->shift,
                        s->width);
    }
    uint64_t addr = hd_predict_next(&p->at, warp) + (uint64_t)hd_unfold(d >> 2);
    hd_predict_learn(&p->at, warp, addr);
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
    size_t at[8], n = round8(sizeof(struct hd_frame));

    at[0] = n;
    n += u->tops * sizeof(struct hd_top);
    at[1] = n = round8(n);
    n += u->entries * sizeof(struct hd_fentry);
    at[2] = n = round8(n);
    n += u->paths * sizeof(struct hd_fpath);
    at[3] = n = round8(n);
    n += u->blocks * sizeof(uint64_t);
    at[4] = n = round8(n);
    n += u->blocks * warps * sizeof(struct hd_fwarp);
    at[5] = n = round8(n);
    n += u->mems * sizeof(uint64_t);
    at[6] = n;
    n += round8(bits + 8);
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
    f->top = (void *)(p + at[0]);
    f->entry = (void *)(p + at[1]);
    f->path = (void *)(p + at[2]);
    f->number = (void *)(p + at[3]);
    f->warp = (void *)(p + at[4]);
    f->mem = (void *)(p + at[5]);
    f->bits = p + at[6];
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

void hd_frame_addr(const struct hd_frame *f, uint64_t r, uint64_t mask,
                   struct hd_faddr *out, hd_va lane[HD_MAX_LANES])
{
    uint64_t low = r & (HD_TRACE_VA_END - 1), index = r >> HD_TRACE_VA_BITS;

    if (index != HD_FLIST) {
        *out = (struct hd_faddr){true, low, f->stride[index]};
        return;
    }
    const struct hd_flist *l = &f->list[low];
    if (l->width == HD_FPAIR) {
        *out = (struct hd_faddr){true, l[0].min, (int64_t)l[1].min};
        return;
    }
    const unsigned char *bits = f->bits + l->at;
    uint64_t ones = hd_ones(l->width);
    size_t at = 0;
    *out = (struct hd_faddr){false, 0, 0};
    for (; mask != 0; mask &= mask - 1, at += l->width) {
        uint64_t v = hd_load64(bits + at / 8) >> (at & 7) & ones;
        lane[hd_bit_first(mask)].v =
            (l->min + (v << l->shift)) & (HD_TRACE_VA_END - 1);
    }
}
