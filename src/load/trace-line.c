/*
 * trace-line.c - one instruction line of a text trace.
 *
 *   [cta x y z, warp] [line] PC MASK ndst {reg} OPCODE nsrc {reg} [commit]
 *   width [mode addresses] [imm [imm]] [Val ...|NoVal]
 *
 * The grammar grew over six tracer versions and only the tail tells them
 * apart, so the tail is never gated on the version: immediates are read where
 * they stand, values of registers (version 6) are passed over.
 *
 * Speed.  What a line says besides its mask and addresses is the same each
 * time the instruction executes: the text before the mask and the text after
 * it up to the width make a static instruction, which is parsed once
 * (trace-static.c).  Each remembers the two that followed it last; a line is
 * first compared with those as bytes, eight at a time, and parsed word by word
 * only if it is neither.  A mask is eight digits, converted at once.
 *
 * Traps: mode 2 has one delta less than set lanes, each to the lane before;
 * an empty mask prints `1 0x0 0`; mode 1 counts set lanes, not lanes, which
 * differs where the set lanes are not one run.
 *
 * SPDX-License-Identifier: MIT
 */
#include "trace-line.h"

#include "trace-static.h"

enum { MAX_BULK = 1 << 16 }; /* addresses of a bulk copy */

struct hd_lines {
    struct hd_statics known;
    struct hd_static *last;
    bool prefix;
    bool settled; /* the prefix is known */
    uint64_t *addr;
    size_t room_addr;
};

/* ---- life ---------------------------------------------------------------- */

struct hd_lines *hd_lines_new(struct hd_box *box)
{
    struct hd_lines *c = calloc(1, sizeof *c);

    if (c == NULL)
        return NULL;
    c->known.box = box;
    c->room_addr = HD_MAX_LANES;
    c->addr = malloc(c->room_addr * sizeof *c->addr);
    if (c->addr != NULL)
        return c;
    free(c);
    return NULL;
}

void hd_lines_free(struct hd_lines *c)
{
    if (c == NULL)
        return;
    hd_statics_forget(&c->known);
    free(c->addr);
    free(c);
}

void hd_lines_kernel(struct hd_lines *c, uint32_t version, bool lineinfo)
{
    hd_statics_forget(&c->known);
    hd_err_clear(&c->known.err);
    c->known.version = version;
    c->known.lineinfo = lineinfo;
    c->last = &c->known.start;
    c->prefix = version < 3;
    c->settled = false;
}

void hd_lines_warp(struct hd_lines *c)
{
    c->last = &c->known.start;
}

int hd_lines_error(const struct hd_lines *c, const char **text)
{
    *text = c->known.err.text;
    return c->known.err.code;
}

static const char *expected(struct hd_lines *c, const char *what,
                            const char *at)
{
    return hd_static_expected(&c->known.err, what, at);
}

static const char *no_memory(struct hd_lines *c)
{
    hd_err_memory(&c->known.err);
    return NULL;
}

/* ---- addresses ----------------------------------------------------------- */

static const char *next_hex(const char *p, uint64_t *v)
{
    if (HD_LIKELY(p[0] == ' ' && p[1] != ' '))
        return hd_scan_hex(p + 1, v);
    p = hd_scan_blank(p);
    return p != NULL ? hd_scan_hex(p, v) : NULL;
}

static const char *next_dec(const char *p, int64_t *v)
{
    p = hd_scan_blank(p);
    return p != NULL ? hd_scan_signed(p, v) : NULL;
}

/* Reads n addresses into c->addr.  Either all begin with 0x or none: an
 * immediate must not pass for the last one. */
static const char *scan_list(struct hd_lines *c, const char *p, uint64_t n)
{
    bool prefix = p[0] == ' ' && p[1] == '0' && p[2] == 'x';

    for (uint64_t i = 0; i < n; i++) {
        const char *q = next_hex(p, &c->addr[i]);

        if (q == NULL || (prefix && (p[1] != '0' || p[2] != 'x')))
            return expected(c, "an address", hd_skip_blank(p));
        p = q;
    }
    return p;
}

/* Reads what follows the first of n addresses as deltas. */
static const char *scan_deltas(struct hd_lines *c, const char *p, uint64_t n)
{
    for (uint64_t i = 1; i < n; i++) {
        int64_t d;
        const char *q = next_dec(p, &d);

        if (q == NULL)
            return expected(c, "an address delta", hd_skip_blank(p));
        c->addr[i] = c->addr[i - 1] + (uint64_t)d;
        p = q;
    }
    return p;
}

static const char *scan_stride(struct hd_lines *c, const char *p,
                               struct hd_line *out)
{
    const char *q = next_hex(p, &out->first);

    if (q == NULL)
        return expected(c, "a base address", hd_skip_blank(p));
    p = next_dec(q, &out->stride);
    if (p == NULL)
        return expected(c, "a stride", hd_skip_blank(q));
    uint64_t run = out->mask == 0 ? 0 : out->mask >> hd_bit_first(out->mask);
    out->affine = true;
    if (out->n < 2)
        out->stride = 0; /* what stands there means nothing */
    if ((run & (run + 1)) == 0)
        return p;
    /* the set lanes are not one run: k counts them */
    out->odd = true;
    out->affine = false;
    for (uint64_t i = 0; i < out->n; i++)
        c->addr[i] = out->first + i * (uint64_t)out->stride;
    return p;
}

static const char *scan_bulk(struct hd_lines *c, const char *p,
                             struct hd_line *out, uint64_t mode)
{
    int64_t n = 0;
    uint64_t base = 0;
    const char *q = p;

    if (mode == 4 && (q = next_hex(p, &base)) == NULL)
        return expected(c, "a base address", hd_skip_blank(p));
    p = next_dec(q, &n);
    if (p == NULL || n < 0 || n > MAX_BULK)
        return expected(c, "a count of addresses", hd_skip_blank(q));
    if ((size_t)n >= c->room_addr) {
        uint64_t *a = hd_grow(&c->addr, (size_t)n, &c->room_addr, sizeof *a);
        if (a == NULL)
            return no_memory(c);
    }
    out->n = (uint32_t)n;
    if (mode == 3)
        return scan_list(c, p, (uint64_t)n);
    c->addr[0] = base;
    return scan_deltas(c, p, (uint64_t)n);
}

/* mbar, multicast [CTA mask], bytes, bytes out of bounds. */
static const char *scan_transfer(struct hd_lines *c, const char *p,
                                 struct hd_line *out)
{
    uint64_t mbar, ctas;
    int64_t multicast, bytes, outside;
    const char *from = p;

    p = next_hex(p, &mbar);
    p = p != NULL ? next_dec(p, &multicast) : NULL;
    if (p != NULL && multicast != 0)
        p = next_hex(p, &ctas);
    p = p != NULL ? next_dec(p, &bytes) : NULL;
    p = p != NULL ? next_dec(p, &outside) : NULL;
    if (p == NULL || bytes < 0)
        return expected(c, "the fields of a bulk copy", hd_skip_blank(from));
    out->bytes = (uint64_t)bytes;
    return p;
}

void hd_line_affine(struct hd_line *out)
{
    const uint64_t *a = out->addr;
    uint64_t m = out->mask;

    if (out->affine || out->n == 0)
        return;
    unsigned f = hd_bit_first(m);
    int64_t stride = 0;
    m &= m - 1;
    if (m != 0) {
        int64_t d = (int64_t)(a[1] - a[0]);
        int64_t lanes = hd_bit_first(m) - f;
        if (d % lanes != 0)
            return;
        stride = d / lanes;
    }
    for (unsigned i = 1; m != 0; m &= m - 1, i++) {
        if (a[0] + (uint64_t)(hd_bit_first(m) - f) * (uint64_t)stride != a[i])
            return;
    }
    out->affine = true;
    out->first = a[0];
    out->stride = stride;
}

static const char *scan_addresses(struct hd_lines *c, const char *p,
                                  const struct hd_static *s,
                                  struct hd_line *out)
{
    int64_t mode;
    const char *q;

    out->odd = out->affine = false;
    out->bulk = s->bulk;
    if (s->bulk && (p = scan_transfer(c, p, out)) == NULL)
        return NULL;
    q = next_dec(p, &mode);
    if (q == NULL || mode < 0 || mode > 4 || (s->bulk && mode < 3))
        return expected(c, "an address mode", hd_skip_blank(p));
    out->n = hd_bit_count(out->mask);
    switch (mode) {
    case 0:
        q = scan_list(c, q, out->n);
        break;
    case 1:
        q = scan_stride(c, q, out);
        break;
    case 2:
        /* an empty mask still has its base */
        q = scan_list(c, q, 1);
        q = q != NULL ? scan_deltas(c, q, out->n) : NULL;
        break;
    default:
        q = scan_bulk(c, q, out, (uint64_t)mode);
        out->odd = !s->bulk;
        if (q != NULL && !s->bulk && out->n != hd_bit_count(out->mask))
            return expected(c, "an address for each lane", hd_skip_blank(p));
    }
    out->addr = c->addr;
    if (q != NULL && !s->bulk)
        hd_line_affine(out);
    return q;
}

/* ---- tail ---------------------------------------------------------------- */

/* Immediates and register values, of which nothing is kept. */
static const char *scan_tail(struct hd_lines *c, const char *p)
{
    const char *q = p, *from;
    uint64_t v;
    unsigned words = 0;

    for (;;) {
        from = p = hd_skip_blank(q);
        if (*p == '\n')
            return p + 1;
        if ((q = hd_scan_is(p, "NoVal")) != NULL && hd_scan_word(q) == NULL)
            break;
        if ((q = hd_scan_is(p, "Val")) != NULL && hd_scan_word(q) == NULL)
            break;
        q = hd_scan_hex(p + (*p == '-'), &v);
        if (q == NULL || hd_scan_word(q) != NULL || words++ == 2)
            return expected(c, "the end of the line", from);
    }
    for (;;) {
        p = hd_skip_blank(q);
        if (*p == '\n')
            return p + 1;
        q = hd_scan_hex(p, &v);
        if (q == NULL || hd_scan_word(q) != NULL)
            return expected(c, "a register value", p);
    }
}

/* ---- lines --------------------------------------------------------------- */

/* The prefix of tracers before version 3. */
static const char *skip_prefix(struct hd_lines *c, const char *p)
{
    const char *from = p;
    uint64_t v;

    for (unsigned i = 0; i < 4; i++) {
        p = hd_scan_dec(p, &v);
        p = p != NULL ? hd_scan_blank(p) : NULL;
        if (p == NULL)
            return expected(c, "block x y z and warp before the instruction",
                            from);
    }
    return p;
}

static const char *read_line(struct hd_lines *c, const char *p,
                             struct hd_line *out)
{
    struct hd_static *s, *last = c->last;
    const char *q;

    if (HD_UNLIKELY(c->prefix) && (p = skip_prefix(c, p)) == NULL)
        return NULL;
    if ((q = hd_static_fits(s = last->next[0], p, &out->mask)) == NULL &&
        (q = hd_static_fits(s = last->next[1], p, &out->mask)) == NULL) {
        if ((q = hd_statics_scan(&c->known, p, &out->mask, &s)) == NULL)
            return NULL;
        if (!s->i.op.replay)
            last->next[last->next[0] != NULL] = s;
    }
    out->inst = &s->i;
    out->addressed = s->addressed;
    if (s->i.op.replay)
        return hd_scan_line_end(q) + 1;
    c->last = s;
    if (s->addressed && (q = scan_addresses(c, q, s, out)) == NULL)
        return NULL;
    if (q[0] == '\n')
        return q + 1;
    if (q[0] == ' ' && q[1] == '0' && q[2] == '\n')
        return q + 3;
    return scan_tail(c, q);
}

const char *hd_lines_read(struct hd_lines *c, const char *p,
                          struct hd_line *out)
{
    const char *q = read_line(c, p, out);

    if (HD_LIKELY(c->settled && q != NULL))
        return q;
    if (q == NULL && !c->settled && c->known.err.code == HEDDLE_EDATA) {
        /* the first instruction: perhaps the version lies */
        struct hd_err first = c->known.err;
        hd_err_clear(&c->known.err);
        c->prefix = !c->prefix;
        q = read_line(c, p, out);
        if (q == NULL)
            c->known.err = first;
    }
    c->settled = true;
    return q;
}
