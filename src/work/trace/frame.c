/*
 * frame.c - some thread blocks of one kernel as about 64 KB of bytes, and
 * back.
 *
 * A frame stands alone: it can be decoded without any other, which makes a
 * container seekable by block.  It says how many blocks, operations and listed
 * addresses it has; then for each block its number, and warp by warp the
 * operations up to the warp's EXIT.
 *
 * An operation is a record of fixed fields, and one table of them both writes
 * and reads it.  It is expected to be what came last time after the operation
 * before it, which that one's pc finds, and to continue touching memory as it
 * did: within a warp the last step again, from a warp to the next the distance
 * of their first addresses.  Written is which fields are not as expected, and
 * by how much they differ.  Most warps of a kernel do what the one before did,
 * an access that is affine in the lane from an address that is affine in the
 * warp's number and a loop's: a zero byte an operation, of which zstd leaves
 * next to nothing.  Addresses that are not affine in the lane follow their
 * record: what they are above the least of them, without the low bits that all
 * of them have alike, in as few bytes as hold them all.
 *
 * What is replayed is little, so that it does not drive the machine out of the
 * host's caches: an operation is where it begins and which record says the
 * rest, and there are few records; lists stay as they were written, until
 * the addresses are asked for.
 *
 * Reading trusts nothing: a frame may come from a damaged or hostile file.
 * Every count is checked against the bytes that are left before memory is
 * taken, every address against the 48 bits of the page tables, and the memory
 * of the whole is compared with a limit before it is taken.  What comes out can
 * be replayed without another check.
 *
 * SPDX-License-Identifier: MIT
 */
#include "trace.h"

enum {
    FULL_BYTES = 64 << 10, /* a frame is full at so many of these */
    FULL_OPS = 1 << 16,
    PLACES = 1 << 10
};

/* ---- operations ---------------------------------------------------------- */

/* Those that change most are first: their marks fit into one byte. */
static const struct field {
    uint8_t at, bytes;
} fields[] = {
#define F(name)                                                                \
    {                                                                          \
        offsetof(struct hd_trace_op, name),                                    \
            sizeof((struct hd_trace_op *)0)->name                              \
    }
    F(first),  F(mask), F(wait),  F(count), F(slot), F(pc),
    F(opcode), F(kind), F(bytes), F(space), F(list), F(stride),
    F(klass),  F(after), F(each),
#undef F
};

static inline uint64_t load_field(const struct hd_trace_op *o, struct field f)
{
    const unsigned char *p = (const unsigned char *)o + f.at;
    uint32_t half;
    uint64_t v;

    if (f.bytes == 1)
        return *p;
    if (f.bytes == 4) {
        memcpy(&half, p, 4);
        return half;
    }
    memcpy(&v, p, 8);
    return v;
}

/* False: it does not fit. */
static inline bool store_field(struct hd_trace_op *o, struct field f,
                               uint64_t v)
{
    unsigned char *p = (unsigned char *)o + f.at;
    uint32_t half = (uint32_t)v;

    if (f.bytes == 8) {
        memcpy(p, &v, 8);
        return true;
    }
    if (f.bytes == 4)
        memcpy(p, &half, 4);
    else
        *p = (unsigned char)v;
    return v >> 8 * f.bytes == 0;
}

/* What came after an operation; all 0 at first. */
struct follower {
    struct hd_trace_op op;
    uint64_t start, across; /* a warp's first address; to the next warp's */
    uint64_t step;          /* within a warp */
    uint64_t low, room;     /* it begins at one of so many addresses from low */
    struct follower *next;  /* what comes after it */
    uint32_t warp;          /* the last in which it came, from 1 on */
    uint32_t record;        /* of the frame that is read: what op is there */
};

/* The followers of a frame, and the warp that is written or read. */
struct coder {
    struct follower after[PLACES + 1];
    struct follower *at; /* of the operation before */
    uint32_t warp;
};

static void coder_begin_warp(struct coder *c)
{
    c->warp++;
    c->at = &c->after[PLACES];
}

/* Where the expected operation begins. */
static inline uint64_t coder_expected(const struct coder *c)
{
    const struct follower *f = c->at;

    return f->warp == c->warp ? f->op.first + f->step : f->start + f->across;
}

/* It has come. */
static inline void coder_again(struct coder *c, uint64_t first)
{
    struct follower *f = c->at;

    if (f->warp != c->warp)
        f->start = first;
    f->warp = c->warp;
    f->op.first = first;
    c->at = f->next;
}

/* Another has. */
static void coder_learn(struct coder *c, const struct hd_trace_op *o)
{
    struct follower *f = c->at;

    if (f->warp == c->warp) {
        f->step = o->first - f->op.first;
    } else {
        f->across = f->warp == 0 ? 0 : o->first - f->start;
        f->start = o->first;
    }
    f->warp = c->warp;
    f->op = *o;
    c->at = f->next = &c->after[(o->pc * 0x9e3779b1u) >> 22];
}

/* ---- writing ------------------------------------------------------------- */

struct pack_warp { /* of the block being collected */
    struct hd_trace_op *op;
    uint64_t *addr; /* the lists of them */
    size_t n, room, addrs, room_addrs;
};

struct hd_packer {
    bool oom;
    uint32_t warps;
    struct pack_warp w[HD_TRACE_MAX_WARPS];
    uint64_t number, next; /* of the block; what it is expected to be */
    uint64_t blocks, ops, addrs;
    struct coder c;
    struct hd_bytes out;
};

struct hd_packer *hd_packer_new(void)
{
    return calloc(1, sizeof(struct hd_packer));
}

void hd_packer_free(struct hd_packer *k)
{
    for (unsigned i = 0; k != NULL && i < HD_LEN(k->w); i++) {
        free(k->w[i].op);
        free(k->w[i].addr);
    }
    if (k != NULL)
        hd_bytes_free(&k->out);
    free(k);
}

void hd_packer_begin(struct hd_packer *k, uint32_t warps)
{
    k->warps = warps;
    k->blocks = k->ops = k->addrs = k->next = k->out.n = 0;
    memset(&k->c, 0, sizeof k->c);
}

void hd_packer_block(struct hd_packer *k, uint64_t number)
{
    k->number = number;
    for (uint32_t i = 0; i < k->warps; i++)
        k->w[i].n = k->w[i].addrs = 0;
}

void hd_packer_op(struct hd_packer *k, uint32_t warp,
                  const struct hd_trace_op *o, const uint64_t *list)
{
    struct pack_warp *w = &k->w[warp];
    struct hd_trace_op *to = hd_grow(&w->op, w->n, &w->room, sizeof *to);
    size_t n = list != NULL ? hd_bit_count(o->mask) : 0;

    hd_assert(warp < k->warps);
    k->oom |=
        to == NULL || (n != 0 && hd_grow(&w->addr, w->addrs + n, &w->room_addrs,
                                         sizeof *list) == NULL);
    if (k->oom)
        return;
    to += w->n++;
    *to = *o;
    if (list == NULL)
        return;
    to->first = n != 0 ? list[0] : 0;
    to->stride = 0;
    to->list = n > 1;
    if (n <= 1)
        return;
    memcpy(w->addr + w->addrs, list, n * sizeof *list);
    w->addrs += n;
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

static void put_op(struct hd_packer *k, const struct hd_trace_op *o)
{
    struct hd_trace_op e = k->c.at->op;
    uint64_t differs = 0;

    e.first = coder_expected(&k->c);
    if (HD_LIKELY(memcmp(&e, o, sizeof e) == 0 && k->c.at->warp != 0)) {
        hd_bytes_u8(&k->out, 0);
        coder_again(&k->c, e.first);
        return;
    }
    for (unsigned i = 0; i < HD_LEN(fields); i++)
        if (load_field(o, fields[i]) != load_field(&e, fields[i]))
            differs |= 1ull << i;
    hd_bytes_put(&k->out, differs);
    for (; differs != 0; differs &= differs - 1) {
        struct field f = fields[hd_bit_first(differs)];
        hd_bytes_puts(&k->out, (int64_t)(load_field(o, f) - load_field(&e, f)));
    }
    coder_learn(&k->c, o);
}

static void put_list(struct hd_packer *k, const uint64_t *a, unsigned n)
{
    uint64_t min = a[0], max = a[0], bits = 0;
    unsigned shift, width = 1;

    for (unsigned i = 1; i < n; i++) {
        bits |= a[i] ^ a[0];
        min = hd_min_u64(min, a[i]);
        max = hd_max_u64(max, a[i]);
    }
    shift = bits != 0 ? hd_bit_first(bits) : 0;
    while ((max - min) >> shift >> 8 * width != 0)
        width++;
    hd_bytes_u8(&k->out, shift);
    hd_bytes_u8(&k->out, width);
    hd_bytes_put(&k->out, (a[0] - min) >> shift);
    if (!hd_bytes_room(&k->out, n * width + 8))
        return;
    for (unsigned i = 1; i < n; i++, k->out.n += width)
        hd_store64(k->out.p + k->out.n, (a[i] - min) >> shift);
    k->addrs += n;
}

int hd_packer_block_end(struct hd_packer *k)
{
    hd_bytes_puts(&k->out, (int64_t)(k->number - k->next));
    k->next = k->number + 1;
    k->blocks++;
    for (uint32_t i = 0; i < k->warps; i++) {
        const struct pack_warp *w = &k->w[i];
        const uint64_t *a = w->addr;
        coder_begin_warp(&k->c);
        for (size_t j = 0; j < w->n; j++) {
            const struct hd_trace_op *o = &w->op[j];
            put_op(k, o);
            if (!o->list)
                continue;
            put_list(k, a, hd_bit_count(o->mask));
            a += hd_bit_count(o->mask);
        }
        k->ops += w->n;
    }
    return k->oom || k->out.oom ? HEDDLE_ENOMEM : 0;
}

bool hd_packer_full(const struct hd_packer *k)
{
    return k->out.n >= FULL_BYTES || k->ops >= FULL_OPS;
}

uint32_t hd_packer_blocks(const struct hd_packer *k)
{
    return (uint32_t)k->blocks;
}

int hd_packer_end(struct hd_packer *k, struct hd_bytes *out)
{
    out->n = 0;
    hd_bytes_put(out, k->blocks);
    hd_bytes_put(out, k->ops);
    hd_bytes_put(out, k->addrs);
    hd_bytes_add(out, k->out.p, k->out.n);
    return out->oom ? HEDDLE_ENOMEM : 0;
}

/* ---- reading ------------------------------------------------------------- */

struct hd_unpack {
    struct hd_cursor c;
    const unsigned char *bytes; /* where they begin */
    struct hd_frame *f;
    uint32_t lanes, warps, opcodes;
    uint64_t blocks, ops, addrs;
    struct hd_frame_op *op, *last; /* the next one's place; behind the last */
    size_t records, room, limit;   /* bytes that the records may take */
    size_t addr;                   /* of the next list */
    struct coder coder;
};

struct hd_unpack *hd_unpack_new(void)
{
    return malloc(sizeof(struct hd_unpack));
}

void hd_unpack_free(struct hd_unpack *u)
{
    free(u);
}

const char hd_frame_too_large[] = "size";
const char hd_frame_memory[] = "memory";

/* Where an operation may begin so that its lanes' addresses fit the 48 bits:
 * f->room addresses from f->low on. */
static void follower_bound(struct follower *f, const struct hd_trace_op *o)
{
    int64_t span = o->mask == 0 ? 0 : hd_log2(o->mask) - hd_bit_first(o->mask);
    int64_t most = (int64_t)HD_TRACE_VA_END, last = 0;

    if (o->stride < most && o->stride > -most)
        last = span * o->stride;
    else
        most = 0;
    f->low = last < 0 ? (uint64_t)-last : 0;
    last = last < 0 ? -last : last;
    f->room = last < most ? (uint64_t)(most - last) : 0;
}

/* Whether a record can be. */
static bool good_op(const struct hd_unpack *u, const struct hd_trace_op *o)
{
    bool memory = hd_trace_op_memory(o);

    if (o->klass >= HEDDLE_CLASSES)
        return false;
    if (hd_trace_op_shared(o) && (o->bytes > HD_TRACE_MAX_BYTES ||
                                  !hd_is_pow2(o->bytes) || o->count != 1))
        return false;
    if (o->kind > HEDDLE_OP_EXIT || o->space > HD_TS_COPY ||
        o->opcode >= u->opcodes || (o->mask & ~hd_ones(u->lanes)) != 0)
        return false;
    if (o->space == HD_TS_COPY)
        return o->kind == HEDDLE_OP_LOAD && o->count <= 1 &&
               o->slot >= HD_SLOT_MANY && o->slot < 2 * HD_SLOT_MANY &&
               (o->bytes == 4 || o->bytes == 8 || o->bytes == 16) &&
               o->list <= ((o->mask & (o->mask - 1)) != 0);
    if (!memory)
        return o->slot == HD_NO_SLOT &&
               o->list <= (hd_trace_op_shared(o) &&
                           (o->mask & (o->mask - 1)) != 0) &&
               (o->kind == HEDDLE_OP_ALU ? o->count != 0
                                         : o->count <= 1 && o->bytes == 0);
    if ((o->slot != HD_NO_SLOT && o->slot >= 32) || o->count > 1 ||
        o->bytes > HD_TRACE_MAX_BYTES || !hd_is_pow2(o->bytes))
        return false;
    return o->list <= ((o->mask & (o->mask - 1)) != 0);
}

/* A list's bytes: all addresses but the first, of which the least is min. */
struct list {
    const unsigned char *p;
    unsigned width, shift;
    uint64_t min;
};

static inline bool get_list(struct hd_cursor *c, uint64_t first, unsigned n,
                            struct list *l)
{
    l->shift = hd_cursor_u8(c);
    l->width = hd_cursor_u8(c);
    uint64_t below = hd_cursor_max(c, first >> (l->shift & 63));

    if (l->shift >= HD_TRACE_VA_BITS || l->width > 6)
        return false;
    l->min = first - (below << l->shift);
    l->p = hd_cursor_take(c, (n - 1) * l->width);
    return l->p != NULL && !c->bad;
}

/* Eight bytes may be read at p, of which `ones` count. */
static inline uint64_t list_at(const struct list *l, const unsigned char *p,
                               uint64_t ones)
{
    return l->min + ((hd_load64(p) & ones) << l->shift);
}

/* The list of an operation: where it is, once its addresses are known to be
 * good. */
static bool unpack_check_list(struct hd_unpack *u, const struct hd_trace_op *o,
                              struct hd_frame_op *op)
{
    unsigned n = hd_bit_count(o->mask);
    unsigned char last[HD_MAX_LANES * 6 + 8] = {0};
    uint64_t bad = 0, ones;
    struct list l = {0};

    op->list = (uint32_t)(u->c.p - u->bytes) + 1;
    if (n > u->addrs - u->addr || !get_list(&u->c, op->first, n, &l))
        return false;
    u->addr += n;
    ones = hd_ones(8 * l.width);
    if (l.min + (ones << l.shift) < HD_TRACE_VA_END)
        return true;
    if (hd_cursor_left(&u->c) < 8) /* so many are read behind it */
        l.p = memcpy(last, l.p, (n - 1) * l.width);
    for (unsigned i = 1; i < n; i++, l.p += l.width)
        bad |= list_at(&l, l.p, ones) >= HD_TRACE_VA_END;
    return !bad;
}

/* A record more; HD_NONE: it passes the limit, or there is no memory. */
static uint32_t add_record(struct hd_unpack *u, const struct hd_trace_op *o,
                           const char **what)
{
    struct hd_trace_op *to = NULL;

    *what = hd_frame_too_large;
    if ((u->records + 1) * sizeof *to <= u->limit) {
        *what = hd_frame_memory;
        to = hd_grow(&u->f->record, u->records, &u->room, sizeof *to);
    }
    if (to == NULL)
        return HD_NONE;
    to[u->records] = *o;
    return (uint32_t)u->records++;
}

/* Reads an operation, and says what it is. */
static const struct hd_trace_op *
get_op(struct hd_unpack *u, struct hd_frame_op *op, const char **what)
{
    uint64_t differs = hd_cursor_get(&u->c);
    struct follower *at = u->coder.at;
    struct hd_trace_op o;

    op->first = coder_expected(&u->coder);
    op->list = 0;
    if (HD_LIKELY(differs == 0 && op->first - at->low < at->room)) {
        op->record = at->record;
        coder_again(&u->coder, op->first);
        return at->op.list == 0 || unpack_check_list(u, &at->op, op) ? &at->op
                                                                     : NULL;
    }
    o = at->op;
    o.first = op->first;
    if (differs == 0 || differs >> HD_LEN(fields) != 0)
        return NULL;
    for (uint64_t d = differs; d != 0; d &= d - 1) {
        struct field f = fields[hd_bit_first(d)];
        uint64_t v = load_field(&o, f) + (uint64_t)hd_cursor_gets(&u->c);
        if (!store_field(&o, f, v))
            return NULL;
    }
    follower_bound(at, &o);
    if (u->c.bad || !good_op(u, &o) || o.first - at->low >= at->room)
        return NULL;
    u->f->copies |= o.space == HD_TS_COPY;
    if (differs != 1 && (at->record = add_record(u, &o, what)) == HD_NONE)
        return NULL;
    op->first = o.first;
    op->record = at->record;
    coder_learn(&u->coder, &o);
    return o.list == 0 || unpack_check_list(u, &o, op) ? &at->op : NULL;
}

/* What is wrong, or NULL. */
static const char *get_blocks(struct hd_unpack *u)
{
    struct hd_frame *f = u->f;
    uint64_t next = 0;

    for (uint64_t w = 0; w < u->blocks * u->warps; w++) {
        const struct hd_trace_op *o;
        if (w % u->warps == 0) {
            f->number[w / u->warps] = next + (uint64_t)hd_cursor_gets(&u->c);
            next = f->number[w / u->warps] + 1;
        }
        coder_begin_warp(&u->coder);
        f->start[w] = (uint32_t)(u->op - f->op);
        do {
            const char *what = "operations";
            if (u->op == u->last)
                return "blocks";
            if ((o = get_op(u, u->op++, &what)) == NULL)
                return what;
        } while (o->kind != HEDDLE_OP_EXIT);
    }
    return u->op == u->last && u->addr == u->addrs && u->c.p == u->c.end &&
                   !u->c.bad
               ? NULL
               : "blocks";
}

/* Takes the memory of all but the records in one piece, and brings the bytes
 * along that lists are read from.  What is wrong, or NULL. */
static const char *unpack_take(struct hd_unpack *u, size_t n, size_t limit)
{
    size_t kept = u->addrs != 0 ? n + 8 : 0; /* so many are read behind them */
    const size_t bytes[] = {sizeof(struct hd_frame), u->ops * sizeof *u->f->op,
                            u->blocks * sizeof *u->f->number,
                            u->blocks * u->warps * sizeof *u->f->start, kept};
    void *part[HD_LEN(bytes)];
    size_t all = 0;

    for (unsigned i = 0; i < HD_LEN(bytes); i++)
        all += bytes[i];
    if (all > limit)
        return hd_frame_too_large;
    unsigned char *p = malloc(all);
    if (p == NULL)
        return hd_frame_memory;
    for (unsigned i = 0; i < HD_LEN(bytes); p += bytes[i++])
        part[i] = p;
    u->f = part[0];
    *u->f = (struct hd_frame){.blocks = (uint32_t)u->blocks,
                              .warps = u->warps,
                              .op = part[1],
                              .number = part[2],
                              .start = part[3],
                              .list = part[4],
                              .lists = kept,
                              .bytes = all};
    if (kept != 0)
        memset((unsigned char *)memcpy(part[4], u->bytes, n) + n, 0, 8);
    u->limit = limit - all;
    u->op = u->f->op;
    u->last = u->op + u->ops;
    return NULL;
}

void hd_frame_free(struct hd_frame *f)
{
    if (f != NULL)
        free(f->record);
    free(f);
}

struct hd_frame *hd_frame_unpack(struct hd_unpack *u, const unsigned char *p,
                                 size_t n, uint32_t lanes, uint32_t warps,
                                 uint32_t opcodes, size_t limit,
                                 const char **what)
{
    memset(u, 0, sizeof *u);
    u->c = (struct hd_cursor){.p = p, .end = p + n};
    u->bytes = p;
    u->lanes = lanes;
    u->warps = warps;
    u->opcodes = opcodes;
    u->blocks = hd_cursor_count(&u->c, 1 + (size_t)warps);
    u->ops = hd_cursor_count(&u->c, 1);
    u->addrs = hd_cursor_count(&u->c, 1);
    bool bad = u->c.bad || u->blocks == 0 || u->ops >= UINT32_MAX ||
               u->addrs >= UINT32_MAX || n >= UINT32_MAX;
    if ((*what = bad ? "counts" : unpack_take(u, n, limit)) == NULL)
        *what = get_blocks(u);
    if (*what == NULL) {
        u->f->bytes += u->room * sizeof *u->f->record;
        return u->f;
    }
    hd_frame_free(u->f);
    return NULL;
}

void hd_frame_addr(const struct hd_frame *f, const struct hd_frame_op *op,
                   struct hd_access *out, hd_va lane[HD_MAX_LANES])
{
    const struct hd_trace_op *o = hd_frame_record(f, op);
    unsigned first = o->mask != 0 ? hd_bit_first(o->mask) : 0;
    struct list l = {0};

    *out = (struct hd_access){.base.v = op->first - first * (uint64_t)o->stride,
                              .stride = o->stride};
    if (op->list == 0)
        return;
    struct hd_cursor c = {.p = f->list + op->list - 1,
                          .end = f->list + f->lists};
    get_list(&c, op->first, hd_bit_count(o->mask), &l);
    uint64_t ones = hd_ones(8 * l.width);
    lane[first].v = op->first;
    for (uint64_t m = o->mask & (o->mask - 1); m != 0; m &= m - 1) {
        lane[hd_bit_first(m)].v = list_at(&l, l.p, ones);
        l.p += l.width;
    }
    out->lane = lane;
}
