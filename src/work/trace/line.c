/*
 * line.c - one instruction line of a text trace.
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
 * it up to the width make a static instruction, which is parsed once.  A line
 * is first compared, eight bytes at a time, with the two instructions that last
 * followed on the program counter of the line before, and parsed word by word
 * only if it is neither; then it takes the place of one of them.  A mask is
 * eight digits, converted at once.
 *
 * Traps: mode 2 has one delta less than set lanes, each to the lane before;
 * an empty mask prints `1 0x0 0`; mode 1 counts set lanes, not lanes, which
 * differs where the set lanes are not one run.
 *
 * Opcodes.  The part of the mnemonic before the first dot decides, compared
 * whole: LDGDEPBAR is no LDG and REDUX is no RED; only the bulk copies are
 * known by a word inside, as the tracer knows them.  How many bytes a lane
 * moves is read from the first part that is a number of bits (128, U8, S16),
 * because the tracer's own width can be wrong; what has none uses the tracer's.
 * A name that is not in the table and comes with addresses is counted by the
 * lint and executed as an arithmetic instruction.
 *
 * Bulk loads (TMA) and LDGSTS end without writing a register: they take a
 * scoreboard slot that DEPBAR, or a look at an mbarrier (SYNCS), waits for.
 * Which group of copies such an instruction waits for is not traced; it waits
 * for all.
 *
 * SPDX-License-Identifier: MIT
 */
#include "text.h"

enum {
    PLACES = 1 << 10,  /* of pairs of static instructions */
    PRE = 48,          /* characters of texts that are remembered */
    POST = 160,        /* with 8 behind them that may be read */
    MAX_BULK = 1 << 16 /* addresses of a bulk copy */
};

/* What a line says besides its mask and its addresses. */
struct inst {
    struct hd_trace_inst i;
    bool addressed, bulk;
    uint8_t pre_len, post_len; /* of the texts before and after the mask */
    char pre[PRE], digits[8], post[POST];
    uint64_t mask; /* that the digits are */
};

struct hd_lines {
    struct hd_container *container; /* opcodes become strings of it */
    struct heddle_error err;
    uint32_t version; /* of the tracer */
    bool lineinfo;    /* lines begin with a line number */
    bool prefix;
    bool settled;                     /* the prefix is known */
    struct inst (*next)[2];           /* what comes next in this warp */
    struct inst fresh;                /* parsed just now */
    struct inst place[PLACES + 1][2]; /* by the pc before; first in a warp */
    uint64_t *addr;
    size_t room_addr;
    uint32_t
        registers; /* that instructions of the kernel name, R0 to the last */
};

/* Records what was expected at a place in a line; returns NULL. */
static void *line_expected(struct hd_lines *c, const char *what, const char *at)
{
    size_t n = strcspn(at, " \t\r\n");

    hd_err_set(&c->err, HEDDLE_EDATA, "expected %s, not `%.*s'", what,
               (int)(n < 40 ? n : 40), at);
    return NULL;
}

/* ---- opcodes ------------------------------------------------------------- */

struct row {
    char name[12];
    uint8_t where, kind;
};

static const struct row table[] = {
    {"LDG", HD_OW_GLOBAL, HEDDLE_OP_LOAD},
    {"STG", HD_OW_GLOBAL, HEDDLE_OP_STORE},
    {"LD", HD_OW_GENERIC, HEDDLE_OP_LOAD},
    {"ST", HD_OW_GENERIC, HEDDLE_OP_STORE},
    {"ATOM", HD_OW_GENERIC, HEDDLE_OP_ATOMIC},
    {"ATOMG", HD_OW_GLOBAL, HEDDLE_OP_ATOMIC},
    {"RED", HD_OW_GLOBAL, HEDDLE_OP_ATOMIC},
    {"REDG", HD_OW_GLOBAL, HEDDLE_OP_ATOMIC},
    {"LDGMC", HD_OW_GLOBAL, HEDDLE_OP_LOAD}, /* multimem */
    {"USTGR", HD_OW_GLOBAL, HEDDLE_OP_STORE},
    {"UREDGR", HD_OW_GLOBAL, HEDDLE_OP_ATOMIC},
    {"LDL", HD_OW_LOCAL, HEDDLE_OP_LOAD},
    {"STL", HD_OW_LOCAL, HEDDLE_OP_STORE},
    {"LDS", HD_OW_SHARED, HEDDLE_OP_LOAD},
    {"STS", HD_OW_SHARED, HEDDLE_OP_STORE},
    {"LDSM", HD_OW_SHARED, HEDDLE_OP_LOAD},
    {"STSM", HD_OW_SHARED, HEDDLE_OP_STORE},
    {"STAS", HD_OW_SHARED, HEDDLE_OP_STORE},
    {"ATOMS", HD_OW_SHARED, HEDDLE_OP_ATOMIC},
    {"LDGSTS", HD_OW_STAGED, HEDDLE_OP_LOAD},
    {"UTMALDG", HD_OW_TMA, HEDDLE_OP_LOAD},
    {"UTMASTG", HD_OW_TMA, HEDDLE_OP_STORE},
    {"UTMAREDG", HD_OW_TMA, HEDDLE_OP_ATOMIC},
    {"UTMAPF", HD_OW_TMA, HEDDLE_OP_LOAD},
    {"UBLKCP", HD_OW_TMA, HEDDLE_OP_LOAD},
    {"UBLKPF", HD_OW_TMA, HEDDLE_OP_LOAD},
    {"UBLKRED", HD_OW_TMA, HEDDLE_OP_ATOMIC},
};

/* What touches no memory that a GPU's virtual memory sees. */
static const char *const none[] = {
    "LDC",  "ULDC", "LDCU",   "TEX",   "TLD",  "TLD4",  "TMML",  "TXD",  "TXQ",
    "SULD", "SUST", "SUATOM", "SURED", "CCTL", "CCTLL", "CCTLT", "LDTM", "STTM",
};

static bool line_is(const char *name, size_t n, const char *word)
{
    return strlen(word) == n && memcmp(name, word, n) == 0;
}

static bool contains(const char *name, size_t n, const char *word)
{
    size_t len = strlen(word);

    for (size_t i = 0; i + len <= n; i++) {
        if (memcmp(name + i, word, len) == 0)
            return true;
    }
    return false;
}

/* Bytes of a part such as "128" or "U8", or 0. */
static unsigned part_bytes(const char *p, size_t n)
{
    unsigned bits = 0;

    if (n != 0 && (*p == 'U' || *p == 'S')) {
        p++;
        n--;
    }
    if (n == 0 || n > 3)
        return 0;
    for (size_t i = 0; i < n; i++) {
        if (p[i] < '0' || p[i] > '9')
            return 0;
        bits = bits * 10 + (unsigned)(p[i] - '0');
    }
    return bits >= 8 && bits <= 256 && hd_is_pow2(bits) ? bits / 8 : 0;
}

/* Does the second part of the name say `word`? */
static bool second(const char *name, size_t base, size_t n, const char *word)
{
    size_t end = base + 1;

    while (end < n && name[end] != '.')
        end++;
    return base < n && line_is(name + base + 1, end - base - 1, word);
}

void hd_opcode_read(const char *name, size_t n, struct hd_opcode *out)
{
    size_t base = 0;

    while (base < n && name[base] != '.')
        base++;
    *out = (struct hd_opcode){.where = HD_OW_UNKNOWN, .kind = HEDDLE_OP_ALU};
    for (size_t i = 0; i < HD_LEN(table); i++) {
        bool found = table[i].where == HD_OW_TMA
                         ? contains(name, n, table[i].name)
                         : line_is(name, base, table[i].name);
        if (found) {
            out->where = table[i].where;
            out->kind = table[i].kind;
        }
    }
    for (size_t i = 0; i < HD_LEN(none); i++)
        if (line_is(name, base, none[i]))
            out->where = HD_OW_NONE;
    for (size_t at = base, end; at < n && out->bytes == 0; at = end) {
        for (end = at + 1; end < n && name[end] != '.'; end++)
            ;
        out->bytes = (uint8_t)part_bytes(name + at + 1, end - at - 1);
    }
    if (line_is(name, base, "BAR") && !second(name, base, n, "ARV"))
        out->kind = HEDDLE_OP_BARRIER;
    out->exit = line_is(name, base, "EXIT");
    out->replay =
        line_is(name, n, "REPLAY_START") || line_is(name, n, "REPLAY_END");
    out->gmma = contains(name, n, "GMMA");
    out->collect =
        line_is(name, base, "DEPBAR") || line_is(name, base, "SYNCS");
    out->async = (out->where == HD_OW_TMA && out->kind == HEDDLE_OP_LOAD &&
                  !contains(name, base, "PF")) ||
                 out->where == HD_OW_STAGED;
}

/* ---- static instructions ------------------------------------------------- */

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
static const char *scan_regs(struct hd_lines *c, const char *p,
                             struct hd_trace_inst *i, const char *what)
{
    uint64_t n;
    const char *q = hd_scan_dec(p, &n);

    if (q == NULL || n > HD_TINST_REGS)
        return line_expected(c, what, p);
    for (; n != 0; n--) {
        uint16_t reg;
        p = hd_scan_blank(q);
        q = p != NULL ? scan_reg(p, &reg) : NULL;
        if (q == NULL)
            return line_expected(c, "a register", p != NULL ? p : "\n");
        if (reg == HD_TREGS)
            continue;
        if (i->regs == HD_TINST_REGS)
            return line_expected(c, "at most 24 registers", p);
        i->reg[i->regs++] = reg;
    }
    p = hd_scan_blank(q);
    return p != NULL ? p : line_expected(c, "a blank after the registers", q);
}

/* How many registers each written one stands for: a load of 256 bits names two
 * that stand for four each; a predicate is none of them. */
static uint8_t registers_each(const struct hd_trace_inst *i)
{
    unsigned n = 0;

    for (unsigned k = 0; k < i->dsts; k++)
        n += i->reg[k] < HD_TREG_PRED;
    return (uint8_t)hd_max_u64(1, n != 0 ? i->bytes / 4 / n : 1);
}

/* Adds the registers that an instruction names. */
static void count_registers(struct hd_lines *c, const struct hd_trace_inst *i)
{
    for (unsigned k = 0; k < i->regs; k++) {
        uint32_t last = i->reg[k] + (k < i->dsts ? i->each : 1u);
        if (i->reg[k] < 255 && last > c->registers)
            c->registers = last;
    }
}

/* Parses the part after the mask, up to the end of the width. */
static const char *scan_post(struct hd_lines *c, const char *p, struct inst *s)
{
    const char *from = p, *q;
    uint64_t width, flag;

    if ((p = hd_scan_blank(p)) == NULL)
        return line_expected(c, "a blank after the mask", from);
    if ((p = scan_regs(c, p, &s->i, "the number of written registers")) == NULL)
        return NULL;
    s->i.dsts = s->i.regs;
    if ((q = hd_scan_word(p)) == NULL)
        return line_expected(c, "an opcode", p);
    hd_opcode_read(p, (size_t)(q - p), &s->i.op);
    if (c->container->classes)
        s->i.op.klass = hd_opcode_class(p, (size_t)(q - p));
    s->i.opcode =
        hd_container_string(c->container, p, (size_t)(q - p), &c->err);
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
            return line_expected(c, "a commit flag", p);
        p = q;
    }
    if ((q = hd_scan_dec(p, &width)) == NULL || hd_scan_word(q) != NULL)
        return line_expected(c, "the access width", p);
    uint64_t bytes = s->i.op.bytes != 0 ? s->i.op.bytes : hd_min_u64(width, 64);
    for (s->i.bytes = 1; s->i.bytes < bytes;)
        s->i.bytes *= 2;
    s->i.each = registers_each(&s->i);
    count_registers(c, &s->i);
    s->bulk = s->i.op.where == HD_OW_TMA && c->version >= 6;
    s->addressed = width != 0 || s->bulk;
    return q;
}

/* Parses what stands before the mask. */
static const char *scan_pre(struct hd_lines *c, const char *p, struct inst *s)
{
    uint64_t v;
    const char *q;

    if (c->lineinfo) {
        q = hd_scan_dec(p, &v);
        if (q == NULL || (q = hd_scan_blank(q)) == NULL)
            return line_expected(c, "a line number", p);
        p = q;
    }
    q = hd_scan_hex(p, &v);
    if (q == NULL || (q = hd_scan_blank(q)) == NULL)
        return line_expected(c, "a program counter", p);
    s->i.pc = (uint32_t)v;
    return q;
}

/* Remembers the instruction parsed just now, with its texts from pre, digits
 * (eight) and post on, unless these are too long. */
static void line_keep(struct hd_lines *c, const char *pre, const char *digits,
                      const char *post, const char *end)
{
    struct inst *s = &(*c->next)[(*c->next)[0].pre_len != 0];

    if (digits - pre > PRE - 8 || end - post > POST - 8 || post - digits != 8)
        return;
    c->fresh.pre_len = (uint8_t)(digits - pre);
    c->fresh.post_len = (uint8_t)(end - post);
    *s = c->fresh;
    memcpy(s->pre, pre, s->pre_len);
    memcpy(s->digits, digits, sizeof s->digits);
    memcpy(s->post, post, s->post_len);
}

/* Parses a line word by word up to its width.  Returns what follows, or NULL
 * with c->err set. */
static const char *scan_head(struct hd_lines *c, const char *p, uint64_t *mask)
{
    struct inst *s = &c->fresh;
    const char *q, *m;

    s->i = (struct hd_trace_inst){0};
    s->addressed = s->bulk = false;
    *mask = 0;
    if (hd_scan_is(p, "REPLAY_") != NULL) { /* a marker alone on its line */
        s->i.op.replay = true;
        return hd_scan_line_end(p);
    }
    if ((m = scan_pre(c, p, s)) == NULL)
        return NULL;
    q = hd_scan_hex(m, mask);
    if (q == NULL || *mask > UINT32_MAX)
        return line_expected(c, "a mask of 32 lanes", m);
    const char *end = scan_post(c, q, s);
    s->mask = *mask;
    if (end != NULL && !s->i.op.replay)
        line_keep(c, p, m, q, end);
    return end;
}

/* What follows the width where a line begins like instruction s, else NULL. */
static inline const char *line_fits(const struct inst *s, const char *p,
                                    uint64_t *mask)
{
    if (s->pre_len == 0 || !hd_scan_same(p, s->pre, s->pre_len))
        return NULL;
    p += s->pre_len;
    *mask = s->mask;
    if (memcmp(p, s->digits, 8) != 0 && hd_scan_nibbles(p, mask) != 8)
        return NULL;
    if (!hd_scan_same(p + 8, s->post, s->post_len))
        return NULL;
    p += 8 + s->post_len;
    return *p == ' ' || *p == '\n' ? p : NULL;
}

/* ---- life ---------------------------------------------------------------- */

struct hd_lines *hd_lines_new(struct hd_container *container)
{
    struct hd_lines *c = calloc(1, sizeof *c);

    if (c == NULL)
        return NULL;
    c->container = container;
    c->room_addr = HD_MAX_LANES;
    c->addr = malloc(c->room_addr * sizeof *c->addr);
    if (c->addr != NULL)
        return c;
    free(c);
    return NULL;
}

void hd_lines_free(struct hd_lines *c)
{
    if (c != NULL)
        free(c->addr);
    free(c);
}

void hd_lines_kernel(struct hd_lines *c, uint32_t version, bool lineinfo)
{
    c->registers = 0;
    if (c->settled) /* else nothing is there yet */
        memset(c->place, 0, sizeof c->place);
    hd_err_clear(&c->err);
    c->version = version;
    c->lineinfo = lineinfo;
    c->prefix = version < 3;
    c->settled = false;
    hd_lines_warp(c);
}

void hd_lines_warp(struct hd_lines *c)
{
    c->next = &c->place[PLACES];
}

void hd_lines_after(struct hd_lines *c, uint32_t pc)
{
    c->next = &c->place[(pc * 0x9e3779b1u) >> 22];
}

uint32_t hd_lines_registers(const struct hd_lines *c)
{
    return c->registers;
}

const struct heddle_error *hd_lines_error(const struct hd_lines *c)
{
    return &c->err;
}

/* ---- addresses ----------------------------------------------------------- */

static const char *next_hex(const char *p, uint64_t *v)
{
    if (HD_LIKELY(p[0] == ' ' && p[1] != ' '))
        return hd_scan_hex(p + 1, v);
    p = hd_scan_blank(p);
    return p != NULL ? hd_scan_hex(p, v) : NULL;
}

static inline const char *next_dec(const char *p, int64_t *v)
{
    if (HD_LIKELY(p[0] == ' ' && p[1] >= '0' && p[1] <= '9' && p[2] == ' ')) {
        *v = p[1] - '0';
        return p + 2;
    }
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
            return line_expected(c, "an address", hd_skip_blank(p));
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
            return line_expected(c, "an address delta", hd_skip_blank(p));
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
        return line_expected(c, "a base address", hd_skip_blank(p));
    p = next_dec(q, &out->stride);
    if (p == NULL)
        return line_expected(c, "a stride", hd_skip_blank(q));
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
        return line_expected(c, "a base address", hd_skip_blank(p));
    p = next_dec(q, &n);
    if (p == NULL || n < 0 || n > MAX_BULK)
        return line_expected(c, "a count of addresses", hd_skip_blank(q));
    if ((size_t)n >= c->room_addr) {
        uint64_t *a = hd_grow(&c->addr, (size_t)n, &c->room_addr, sizeof *a);
        if (a == NULL)
            return hd_err_no_memory(&c->err);
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
        return line_expected(c, "the fields of a bulk copy",
                             hd_skip_blank(from));
    out->bytes = (uint64_t)bytes;
    return p;
}

void hd_line_affine(struct hd_line *out)
{
    if (out->affine || out->n == 0 ||
        !hd_trace_affine(out->mask, out->addr, &out->stride))
        return;
    out->affine = true;
    out->first = out->addr[0];
}

static const char *scan_addresses(struct hd_lines *c, const char *p,
                                  const struct inst *s, struct hd_line *out)
{
    int64_t mode;
    const char *q;

    out->odd = out->affine = false;
    out->bulk = s->bulk;
    if (s->bulk && (p = scan_transfer(c, p, out)) == NULL)
        return NULL;
    q = next_dec(p, &mode);
    if (q == NULL || mode < 0 || mode > 4 || (s->bulk && mode < 3))
        return line_expected(c, "an address mode", hd_skip_blank(p));
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
            return line_expected(c, "an address for each lane",
                                 hd_skip_blank(p));
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
            return line_expected(c, "the end of the line", from);
    }
    for (;;) {
        p = hd_skip_blank(q);
        if (*p == '\n')
            return p + 1;
        q = hd_scan_hex(p, &v);
        if (q == NULL || hd_scan_word(q) != NULL)
            return line_expected(c, "a register value", p);
    }
}

/* ---- lines --------------------------------------------------------------- */

/* The prefix of tracers before version 3. */
static const char *skip_prefix(struct hd_lines *c, const char *p)
{
    const char *q = hd_scan_prefix(p);

    return q != NULL ? q
                     : line_expected(
                           c, "block x y z and warp before the instruction", p);
}

static const char *read_line(struct hd_lines *c, const char *p,
                             struct hd_line *out)
{
    const struct inst *s;
    const char *q;

    if (HD_UNLIKELY(c->prefix) && (p = skip_prefix(c, p)) == NULL)
        return NULL;
    if ((q = line_fits(s = &(*c->next)[0], p, &out->mask)) == NULL &&
        (q = line_fits(s = &(*c->next)[1], p, &out->mask)) == NULL) {
        if ((q = scan_head(c, p, &out->mask)) == NULL)
            return NULL;
        s = &c->fresh;
    }
    out->inst = &s->i;
    out->addressed = s->addressed;
    if (HD_UNLIKELY(s->i.op.replay))
        return hd_scan_line_end(q) + 1;
    hd_lines_after(c, s->i.pc);
    if (s->addressed && (q = scan_addresses(c, q, s, out)) == NULL)
        return NULL;
    if (q[0] == '\n')
        return q + 1;
    if (q[0] == ' ' && q[1] == '0' && q[2] == '\n')
        return q + 3;
    return scan_tail(c, q);
}

/* The first instruction, whose line was read as q: perhaps the version is
 * wrong. */
static const char *line_settle(struct hd_lines *c, const char *p, const char *q,
                               struct hd_line *out)
{
    struct heddle_error first = c->err;

    c->settled = true;
    if (q != NULL || first.code != HEDDLE_EDATA)
        return q;
    hd_err_clear(&c->err);
    c->prefix = !c->prefix;
    q = hd_lines_read(c, p, out);
    if (q == NULL)
        c->err = first;
    return q;
}

const char *hd_lines_read(struct hd_lines *c, const char *p,
                          struct hd_line *out)
{
    const char *q = read_line(c, p, out);

    return HD_LIKELY(c->settled) ? q : line_settle(c, p, q, out);
}
