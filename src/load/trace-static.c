/*
 * trace-static.c - the static instructions of a kernel of a text trace.
 *
 * A line is parsed word by word up to its width (trace-line.c has the
 * grammar).  The text before the mask and the text after it, up to the width,
 * are the key of a hash: whoever has the same texts is the same instruction.
 * The program counter is part of the text, so two instructions of a program
 * are two here; one whose registers or width vary from line to line is as many.
 *
 * Instructions lie in chunks that do not move, since lines point to them and
 * they point to each other.  All are forgotten when the next kernel begins.
 *
 * SPDX-License-Identifier: MIT
 */
#include "trace-static.h"

#include "trace-scan.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum {
    MAX_STATIC = 1 << 20, /* static instructions of a kernel */
    CHUNK = 256,
    MAX_HEAD = 4096 /* characters */
};

struct hd_static_chunk {
    struct hd_static_chunk *before;
    struct hd_static inst[CHUNK];
};

const char *hd_static_expected(struct hd_err *err, const char *what,
                               const char *at)
{
    size_t n = strcspn(at, " \t\r\n");

    hd_err_set(err, HEDDLE_EDATA, "expected %s, not `%.*s'", what,
               (int)(n < 40 ? n : 40), at);
    return NULL;
}

static const char *expected(struct hd_statics *c, const char *what,
                            const char *at)
{
    return hd_static_expected(&c->err, what, at);
}

static void no_memory(struct hd_statics *c)
{
    hd_err_memory(&c->err);
}

/* ---- words -------------------------------------------------------------- */

/* A register's number, or HD_TREGS when it holds nothing. */
static const char *scan_reg(const char *p, uint16_t *out)
{
    bool uniform = *p == 'U';
    uint64_t n;

    p += uniform;
    if (*p != 'R' && *p != 'P')
        return NULL;
    bool pred = *p++ == 'P';
    if (*p == 'Z' || *p == 'T') {
        n = 255;
        p++;
    } else {
        p = hd_scan_dec(p, &n);
    }
    if (p == NULL || n > 255)
        return NULL;
    if (pred)
        *out =
            (uint16_t)(n >= 7 ? (uint64_t)HD_TREGS
                              : (uniform ? HD_TREG_UPRED : HD_TREG_PRED) + n);
    else
        *out = (uint16_t)(n == 255  ? (uint64_t)HD_TREGS
                          : uniform ? HD_TREG_UNIFORM + n
                                    : n);
    return p;
}

/* A count and so many registers. */
static const char *scan_regs(struct hd_statics *c, const char *p,
                             struct hd_tinst *i, const char *what)
{
    uint64_t n;
    const char *q = hd_scan_dec(p, &n);

    if (q == NULL || n > HD_TINST_REGS)
        return expected(c, what, p);
    for (; n != 0; n--) {
        uint16_t reg;
        p = hd_scan_blank(q);
        q = p != NULL ? scan_reg(p, &reg) : NULL;
        if (q == NULL)
            return expected(c, "a register", p != NULL ? p : "\n");
        if (reg == HD_TREGS)
            continue;
        if (i->regs == HD_TINST_REGS)
            return expected(c, "at most 24 registers", p);
        i->reg[i->regs++] = reg;
    }
    p = hd_scan_blank(q);
    return p != NULL ? p : expected(c, "a blank after the registers", q);
}

static void settle_bytes(struct hd_tinst *i, uint64_t width)
{
    unsigned bytes = i->op.bytes;

    if (bytes == 0)
        bytes = width > 32 ? 32 : (unsigned)width;
    i->bytes = 1;
    while (i->bytes < bytes)
        i->bytes *= 2;
}

/* Parses the part after the mask, up to the end of the width. */
static const char *scan_post(struct hd_statics *c, const char *p,
                             struct hd_static *s)
{
    const char *from = p, *q;
    uint64_t width, flag;

    if ((p = hd_scan_blank(p)) == NULL)
        return expected(c, "a blank after the mask", from);
    if ((p = scan_regs(c, p, &s->i, "the number of written registers")) == NULL)
        return NULL;
    s->i.dsts = s->i.regs;
    if ((q = hd_scan_word(p)) == NULL)
        return expected(c, "an opcode", p);
    hd_opcode_read(p, (size_t)(q - p), &s->i.op);
    s->i.opcode = hd_box_string(c->box, p, (size_t)(q - p), &c->err);
    if (s->i.opcode == HD_NONE)
        return NULL;
    p = hd_skip_blank(q);
    if (s->i.op.replay) /* a marker may end here */
        return hd_scan_line_end(q);
    if ((p = scan_regs(c, p, &s->i, "the number of read registers")) == NULL)
        return NULL;
    if (s->i.op.gmma && c->version >= 6) {
        q = hd_scan_dec(p, &flag);
        if (q == NULL || (q = hd_scan_blank(q)) == NULL)
            return expected(c, "a commit flag", p);
        p = q;
    }
    if ((q = hd_scan_dec(p, &width)) == NULL || hd_scan_word(q) != NULL)
        return expected(c, "the access width", p);
    settle_bytes(&s->i, width);
    s->bulk = s->i.op.where == HD_OW_TMA && c->version >= 6;
    s->addressed = width != 0 || s->bulk;
    return q;
}

/* Parses what stands before the mask. */
static const char *scan_pre(struct hd_statics *c, const char *p,
                            struct hd_static *s)
{
    uint64_t v;
    const char *q;

    if (c->lineinfo) {
        q = hd_scan_dec(p, &v);
        if (q == NULL || (q = hd_scan_blank(q)) == NULL)
            return expected(c, "a line number", p);
        p = q;
    }
    q = hd_scan_hex(p, &v);
    if (q == NULL || (q = hd_scan_blank(q)) == NULL)
        return expected(c, "a program counter", p);
    s->i.pc = (uint32_t)v;
    return q;
}

/* ---- keeping ------------------------------------------------------------ */

void hd_statics_forget(struct hd_statics *c)
{
    for (size_t i = 0; i < c->n; i++) {
        struct hd_static *s = &c->chunk->inst[(c->n - 1 - i) % CHUNK];
        free(s->pre);
        if ((c->n - 1 - i) % CHUNK == 0) {
            struct hd_static_chunk *k = c->chunk;
            c->chunk = k->before;
            free(k);
        }
    }
    free(c->slot);
    c->slot = NULL;
    c->slots = c->n = 0;
    c->start = (struct hd_static){0};
}

static bool grow_slots(struct hd_statics *c)
{
    size_t n = c->slots == 0 ? 256 : c->slots * 2;
    struct hd_static **slot = calloc(n, sizeof *slot);

    if (slot == NULL)
        return false;
    for (size_t i = 0; i < c->slots; i++) {
        if (c->slot[i] == NULL)
            continue;
        size_t at = c->slot[i]->hash & (n - 1);
        while (slot[at] != NULL)
            at = (at + 1) & (n - 1);
        slot[at] = c->slot[i];
    }
    free(c->slot);
    c->slot = slot;
    c->slots = n;
    return true;
}

/* Keeps a copy of *s, whose texts still point into the line. */
static struct hd_static *keep(struct hd_statics *c, const struct hd_static *s)
{
    if (c->n >= MAX_STATIC) {
        hd_err_set(&c->err, HEDDLE_EDATA,
                   "more than %d different instructions in a kernel",
                   MAX_STATIC);
        return NULL;
    }
    char *text = malloc(s->pre_len + s->post_len + 16);
    if (text != NULL && c->n % CHUNK == 0) {
        struct hd_static_chunk *k = malloc(sizeof *k);
        if (k == NULL) {
            free(text);
            text = NULL;
        } else {
            k->before = c->chunk;
            c->chunk = k;
        }
    }
    if (text == NULL) {
        no_memory(c);
        return NULL;
    }
    struct hd_static *t = &c->chunk->inst[c->n++ % CHUNK];
    *t = *s;
    t->pre = text;
    t->post = text + s->pre_len + 8;
    memset(text, 0, s->pre_len + s->post_len + 16);
    memcpy(t->pre, s->pre, s->pre_len);
    memcpy(t->post, s->post, s->post_len);
    return t;
}

/* The static instruction with these texts, new or known. */
static struct hd_static *intern(struct hd_statics *c, struct hd_static *s)
{
    if (s->pre_len + s->post_len > MAX_HEAD) {
        expected(c, "an instruction of at most 4096 characters", s->pre);
        return NULL;
    }
    if (c->n * 2 >= c->slots && !grow_slots(c)) {
        no_memory(c);
        return NULL;
    }
    s->hash =
        XXH3_64bits(s->pre, s->pre_len) * 3 + XXH3_64bits(s->post, s->post_len);
    size_t at = s->hash & (c->slots - 1);
    for (; c->slot[at] != NULL; at = (at + 1) & (c->slots - 1)) {
        struct hd_static *t = c->slot[at];
        if (t->hash == s->hash && t->pre_len == s->pre_len &&
            t->post_len == s->post_len &&
            memcmp(t->pre, s->pre, s->pre_len) == 0 &&
            memcmp(t->post, s->post, s->post_len) == 0)
            return t;
    }
    return c->slot[at] = keep(c, s);
}

/* ---- a line ------------------------------------------------------------- */

const char *hd_statics_scan(struct hd_statics *c, const char *p, uint64_t *mask,
                            struct hd_static **out)
{
    struct hd_static s = {0};
    const char *q, *m;

    if (hd_scan_is(p, "REPLAY_") != NULL) { /* a marker alone on its line */
        c->marker.i.op.replay = true;
        *out = &c->marker;
        *mask = 0;
        return hd_scan_line_end(p);
    }
    if ((m = scan_pre(c, p, &s)) == NULL)
        return NULL;
    q = hd_scan_hex(m, mask);
    if (q == NULL || *mask > UINT32_MAX)
        return expected(c, "a mask of 32 lanes", m);
    const char *end = scan_post(c, q, &s);
    if (end == NULL)
        return NULL;
    s.pre = (char *)(uintptr_t)p;
    s.pre_len = (uint32_t)(m - p);
    s.post = (char *)(uintptr_t)q;
    s.post_len = (uint32_t)(end - q);
    *out = intern(c, &s);
    return *out != NULL ? end : NULL;
}
