/*
 * trace-text.c - the lines of a kernel's text trace, into a container.
 *
 * A header of `-name = value` lines up to the first line that begins with #;
 * then thread blocks between #BEGIN_TB and #END_TB, each `thread block =
 * x,y,z` (version 6: cluster lines) and for each warp `warp = w`, `insts = n`
 * and n instruction lines.  Blank lines may stand anywhere.  Lines nobody
 * knows are passed over and counted for the lint, but not between the
 * instructions of a warp, and a file may not end inside a block.
 *
 * What an instruction touches is trace-inst.c's business.
 *
 * SPDX-License-Identifier: MIT
 */
#include "trace-in.h"
#include "trace-reader.h"
#include "trace-scan.h"

#include <stdio.h>

struct hd_trace_text *hd_trace_text_new(struct hd_box *box)
{
    struct hd_trace_text *t = calloc(1, sizeof *t);

    if (t == NULL)
        return NULL;
    t->box = box;
    t->pack = hd_pack_new();
    t->lines = hd_lines_new(box);
    t->warp.pack = t->pack;
    if (t->pack != NULL && t->lines != NULL)
        return t;
    hd_trace_text_free(t);
    return NULL;
}

void hd_trace_text_free(struct hd_trace_text *t)
{
    if (t == NULL)
        return;
    hd_pack_free(t->pack);
    hd_lines_free(t->lines);
    free(t);
}

uint64_t hd_trace_text_bytes(const struct hd_trace_text *t)
{
    return t->bytes;
}

void hd_trace_note(struct hd_box *b, enum hd_trace_note n, const char *path,
                   uint64_t line)
{
    struct hd_trace_note_row *r = &b->note[n];

    if (r->count++ != 0)
        return;
    size_t len = strlen(path), room = sizeof r->where - 24;
    const char *dots = len > room ? "..." : "";
    path += len > room ? len - room : 0;
    if (line != 0)
        snprintf(r->where, sizeof r->where, "%s%s:%llu", dots, path,
                 (unsigned long long)line);
    else
        snprintf(r->where, sizeof r->where, "%s%s", dots, path);
}

/* What was expected instead of the line at p. */
static int bad_line(struct hd_trace_text *t, const char *p, const char *what)
{
    size_t n = 0;

    while (n < 60 && p[n] != '\n' && p[n] != '\0')
        n++;
    return hd_err_set(t->err, HEDDLE_EDATA, "%s:%llu: %s: `%.*s'", t->path,
                      (unsigned long long)t->line, what, (int)n, p);
}

static int no_memory(struct hd_trace_text *t)
{
    return hd_err_memory(t->err);
}

/* ---- warps and blocks ---------------------------------------------------- */

static int end_warp(struct hd_trace_text *t)
{
    if (!t->in_warp)
        return 0;
    if (hd_trace_inst_end(t) != 0)
        return t->err->code;
    t->in_warp = false;
    hd_twarp_end(&t->warp);
    uint64_t real = t->lines_read - t->markers;
    if (!t->sized)
        return hd_err_set(t->err, HEDDLE_EDATA,
                          "%s:%llu: warp %u has no `insts = n'", t->path,
                          (unsigned long long)t->line, t->w);
    if (t->insts != t->lines_read && t->insts != real)
        return hd_err_set(t->err, HEDDLE_EDATA,
                          "%s:%llu: warp %u has %llu instructions, not %llu",
                          t->path, (unsigned long long)t->line, t->w,
                          (unsigned long long)real,
                          (unsigned long long)t->insts);
    if (real == 0)
        hd_trace_text_note(t, HD_TN_EMPTY_WARP);
    else if (!t->warp.ended)
        hd_trace_text_note(t, HD_TN_NO_EXIT);
    return 0;
}

static int begin_warp(struct hd_trace_text *t, const char *line)
{
    uint64_t w;
    const char *p = hd_scan_is(line, "warp = ");

    if (end_warp(t) != 0)
        return t->err->code;
    if (!t->numbered)
        return bad_line(t, line, "expected `thread block = x,y,z' first");
    p = p != NULL ? hd_scan_dec(p, &w) : NULL;
    if (p == NULL || *hd_skip_blank(p) != '\n')
        return bad_line(t, line, "expected `warp = w'");
    if (w >= t->warps)
        return bad_line(t, line, "the block has no such warp");
    if (t->seen >> w & 1)
        return bad_line(t, line, "the block has this warp twice");
    t->seen |= 1ull << w;
    t->w = (uint32_t)w;
    t->in_warp = true;
    t->sized = false;
    t->insts = t->lines_read = t->markers = 0;
    hd_lines_warp(t->lines);
    hd_twarp_begin(&t->warp, t->w);
    return 0;
}

static int set_insts(struct hd_trace_text *t, const char *line)
{
    const char *p = hd_scan_is(line, "insts = ");

    p = p != NULL ? hd_scan_dec(p, &t->insts) : NULL;
    if (p == NULL || *hd_skip_blank(p) != '\n')
        return bad_line(t, line, "expected `insts = n'");
    if (!t->in_warp || t->sized)
        return bad_line(t, line, "expected `warp = w' first");
    t->sized = true;
    return 0;
}

/* "(x,y,z)" or "x,y,z". */
static const char *scan_dim(const char *p, uint32_t out[3])
{
    bool paren = *p == '(';

    p += paren;
    for (unsigned i = 0; i < 3; i++) {
        uint64_t v;
        p = hd_scan_dec(p, &v);
        if (p == NULL || v > UINT32_MAX || (i < 2 && *p != ','))
            return NULL;
        out[i] = (uint32_t)v;
        p += i < 2;
    }
    if (paren && *p++ != ')')
        return NULL;
    return *hd_skip_blank(p) == '\n' ? p : NULL;
}

/* Adds a block to those of the kernel; false if it was there. */
static bool add_block(struct hd_trace_text *t, uint64_t b)
{
    struct hd_trace_run *below = NULL, *above = NULL;

    for (uint32_t i = 0; i < t->runs; i++) {
        struct hd_trace_run *r = &t->run[i];
        if (b >= r->from && b < r->to)
            return false;
        if (r->to == b)
            below = r;
        if (r->from == b + 1)
            above = r;
    }
    if (below != NULL && above != NULL) {
        below->to = above->to;
        *above = t->run[--t->runs];
    } else if (below != NULL) {
        below->to++;
    } else if (above != NULL) {
        above->from--;
    } else if (t->runs < HD_TRACE_RUNS) {
        t->run[t->runs++] = (struct hd_trace_run){b, b + 1};
    }
    return true;
}

static int number_block(struct hd_trace_text *t, const char *line)
{
    const char *p = hd_scan_is(line, "thread block = ");
    uint32_t at[3];
    const uint32_t *g = t->k->grid;

    if (!t->in_block || t->numbered)
        return bad_line(t, line, "expected #BEGIN_TB first");
    if (p == NULL || scan_dim(p, at) == NULL)
        return bad_line(t, line, "expected `thread block = x,y,z'");
    if (at[0] >= g[0] || at[1] >= g[1] || at[2] >= g[2])
        return bad_line(t, line, "the grid has no such block");
    uint64_t number = at[0] + g[0] * (at[1] + (uint64_t)g[1] * at[2]);
    if (!add_block(t, number))
        return bad_line(t, line, "the kernel has this block twice");
    t->numbered = true;
    hd_pack_block(t->pack, number);
    return 0;
}

static int end_block(struct hd_trace_text *t, const char *line)
{
    if (!t->in_block || !t->numbered)
        return bad_line(t, line, "expected #BEGIN_TB and a thread block first");
    if (end_warp(t) != 0)
        return t->err->code;
    for (uint32_t w = 0; w < t->warps; w++) {
        if (t->seen >> w & 1)
            continue;
        hd_twarp_begin(&t->warp, w);
        hd_twarp_end(&t->warp);
        hd_trace_text_note(t, HD_TN_EMPTY_WARP);
    }
    t->in_block = false;
    return hd_box_block_end(t->box, t->pack, t->err);
}

/* ---- header -------------------------------------------------------------- */

struct header {
    struct hd_trace_kernel k;
    bool grid, block, lineinfo, done;
    uint64_t lines;
};

static int set_number(const char *p, uint64_t max, uint64_t *out)
{
    uint64_t v;

    p = p[0] == '0' && p[1] == 'x' ? hd_scan_hex(p, &v) : hd_scan_dec(p, &v);
    if (p == NULL || *hd_skip_blank(p) != '\n' || v > max)
        return -1;
    *out = v;
    return 0;
}

static int set_name(struct hd_trace_text *t, struct header *h, const char *p)
{
    const char *end = p;

    while (*end != '\n' && *end != '\r')
        end++;
    uint32_t s = hd_box_string(t->box, p, (size_t)(end - p), t->err);
    if (s == HD_NONE)
        return t->err->code;
    h->k.name = t->box->string[s];
    return 0;
}

/* The last version of the tracer whose lines are known. */
enum { TRACER_KNOWN = 6 };

/* A line "-what = value". */
static int header_line(struct hd_trace_text *t, struct header *h,
                       const char *line)
{
    static const struct {
        const char *name;
        size_t offset; /* of a uint32_t, or a uint64_t if wide */
        bool wide;
    } field[] = {
        {"-kernel id = ", offsetof(struct hd_trace_kernel, id), false},
        {"-shmem = ", offsetof(struct hd_trace_kernel, shared_bytes), false},
        {"-nregs = ", offsetof(struct hd_trace_kernel, regs), false},
        {"-binary version = ", offsetof(struct hd_trace_kernel, binary), false},
        {"-accelsim tracer version = ",
         offsetof(struct hd_trace_kernel, version), false},
        {"-cuda stream id = ", offsetof(struct hd_trace_kernel, stream), true},
        {"-shmem base_addr = ", offsetof(struct hd_trace_kernel, shared_base),
         true},
        {"-local mem base_addr = ",
         offsetof(struct hd_trace_kernel, local_base), true},
    };
    const char *p;
    uint64_t v;

    for (size_t i = 0; i < HD_LEN(field); i++) {
        if ((p = hd_scan_is(line, field[i].name)) == NULL)
            continue;
        uint64_t max = field[i].wide ? UINT64_MAX : UINT32_MAX;
        if (set_number(p, max, &v) != 0)
            return bad_line(t, line, "expected a number");
        if (field[i].offset == offsetof(struct hd_trace_kernel, version) &&
            v > TRACER_KNOWN)
            hd_trace_text_note(t, HD_TN_NEW_TRACER);
        char *to = (char *)&h->k + field[i].offset;
        if (field[i].wide)
            *(uint64_t *)(void *)to = v;
        else
            *(uint32_t *)(void *)to = (uint32_t)v;
        return 0;
    }
    if ((p = hd_scan_is(line, "-kernel name = ")) != NULL)
        return set_name(t, h, p);
    if ((p = hd_scan_is(line, "-grid dim = ")) != NULL) {
        h->grid = scan_dim(p, h->k.grid) != NULL;
        return h->grid ? 0 : bad_line(t, line, "expected (x,y,z)");
    }
    if ((p = hd_scan_is(line, "-block dim = ")) != NULL) {
        h->block = scan_dim(p, h->k.block) != NULL;
        return h->block ? 0 : bad_line(t, line, "expected (x,y,z)");
    }
    if ((p = hd_scan_is(line, "-enable lineinfo = ")) != NULL) {
        if (set_number(p, 1, &v) != 0)
            return bad_line(t, line, "expected 0 or 1");
        h->lineinfo = v != 0;
        return 0;
    }
    if (hd_scan_is(line, "-nvbit version = ") == NULL)
        hd_trace_text_note(t, HD_TN_HEADER_LINE);
    return 0;
}

/* The header is complete: the kernel begins. */
static int begin_kernel(struct hd_trace_text *t, struct header *h)
{
    struct hd_trace_kernel *k = &h->k;
    uint64_t dim = 1;

    if (!h->grid || !h->block)
        return hd_err_set(t->err, HEDDLE_EDATA,
                          "%s:%llu: the header has no `-%s dim = (x,y,z)'",
                          t->path, (unsigned long long)t->line,
                          h->grid ? "block" : "grid");
    for (unsigned i = 0; i < 3; i++) {
        if (k->block[i] == 0 || k->block[i] > 2048 || k->grid[i] == 0)
            dim = 0;
    }
    if (dim == 0 || hd_trace_threads(k) > 2048)
        return hd_err_set(t->err, HEDDLE_EDATA,
                          "%s: a grid of %ux%ux%u blocks of %ux%ux%u threads "
                          "cannot be",
                          t->path, k->grid[0], k->grid[1], k->grid[2],
                          k->block[0], k->block[1], k->block[2]);
    if (k->name == NULL) {
        uint32_t s = hd_box_string(t->box, "kernel", 6, t->err);
        if (s == HD_NONE)
            return t->err->code;
        k->name = t->box->string[s];
    }
    t->warps = hd_trace_warps(k);
    t->k = hd_box_kernel(t->box, k, t->err);
    if (t->k == NULL)
        return t->err->code;
    hd_lines_kernel(t->lines, k->version, h->lineinfo);
    hd_pack_begin(t->pack, 32, t->warps);
    h->done = true;
    return 0;
}

/* ---- the file ------------------------------------------------------------ */

/* A line that is no instruction. */
static int other_line(struct hd_trace_text *t, const char *p)
{
    if (*hd_skip_blank(p) == '\n')
        return 0;
    if (*p == 'w')
        return begin_warp(t, p);
    if (*p == 'i')
        return set_insts(t, p);
    if (*p == 't')
        return number_block(t, p);
    if (hd_scan_is(p, "#BEGIN_TB") != NULL) {
        if (t->in_block)
            return bad_line(t, p, "expected #END_TB first");
        t->in_block = true;
        t->numbered = false;
        t->seen = 0;
        return 0;
    }
    if (hd_scan_is(p, "#END_TB") != NULL)
        return end_block(t, p);
    if (hd_scan_is(p, "cluster ") != NULL)
        return 0;
    if (t->in_warp && *p != '#' && *p != '-')
        return bad_line(t, p, "expected `insts = n' before instructions");
    hd_trace_text_note(t, HD_TN_BODY_LINE);
    return 0;
}

/* Does an instruction begin here? */
static inline bool is_inst(const char *p)
{
    return hd_hex_digit((unsigned char)*p) < 16 ? p[1] != 'l' : *p == 'R';
}

/* The whole lines in [p, end). */
static int read_lines(struct hd_trace_text *t, struct header *h, const char *p,
                      const char *end)
{
    struct hd_line l;

    while (p < end) {
        t->line++;
        if (HD_LIKELY(t->in_warp && t->sized && is_inst(p))) {
            const char *q = hd_lines_read(t->lines, p, &l);
            if (HD_UNLIKELY(q == NULL)) {
                const char *text;
                int code = hd_lines_error(t->lines, &text);
                return hd_err_set(t->err, code, "%s:%llu: %s", t->path,
                                  (unsigned long long)t->line, text);
            }
            p = q;
            t->lines_read++;
            if (hd_trace_inst_put(t, &l) != 0)
                return t->err->code;
            continue;
        }
        const char *next = p;
        while (*next != '\n')
            next++;
        if (!h->done && *p == '#' && begin_kernel(t, h) != 0)
            return t->err->code;
        if (h->done) {
            if (hd_scan_is(p, "#traces format") == NULL &&
                other_line(t, p) != 0)
                return t->err->code;
        } else if (*p == '-') {
            if (header_line(t, h, p) != 0)
                return t->err->code;
        } else if (*hd_skip_blank(p) != '\n') {
            return bad_line(t, p, "expected a header line that begins with -");
        }
        p = next + 1;
    }
    return 0;
}

static int end_kernel(struct hd_trace_text *t, const struct header *h)
{
    struct hd_trace_kernel *k = t->k;

    if (!h->done)
        return hd_err_set(t->err, HEDDLE_EDATA,
                          "%s:%llu: the file ends inside its header", t->path,
                          (unsigned long long)t->line);
    if (t->in_block)
        return hd_err_set(t->err, HEDDLE_EDATA,
                          "%s:%llu: the file ends inside a thread block",
                          t->path, (unsigned long long)t->line);
    if (k->blocks == 0)
        return hd_err_set(t->err, HEDDLE_EDATA,
                          "%s:%llu: the file has no thread block", t->path,
                          (unsigned long long)t->line);
    k->insts = t->warp.insts;
    k->thread_insts = t->warp.thread_insts;
    k->mem_insts = t->warp.mem_insts;
    k->lane_addrs = t->warp.lane_addrs;
    t->line = 0;
    if (k->blocks < (uint64_t)k->grid[0] * k->grid[1] * k->grid[2])
        hd_trace_text_note(t, HD_TN_MISSING_BLOCKS);
    return hd_box_pack(t->box, t->pack, t->err);
}

int hd_trace_text_kernel(struct hd_trace_text *t, const char *path,
                         struct hd_pages *pages, struct hd_err *err)
{
    struct hd_trace_in *in = hd_trace_in_open(path, err);
    struct header h = {.k = {.lanes = 32, .regs = 0}};
    const char *p, *end;
    int r;

    if (in == NULL)
        return err->code;
    t->err = err;
    t->path = path;
    t->pages = pages;
    t->line = 0;
    t->runs = 0;
    t->in_block = t->in_warp = t->held.any = false;
    t->x = &t->box->context[t->box->contexts - 1];
    h.k.context = (uint32_t)t->box->contexts - 1;
    t->warp.insts = t->warp.thread_insts = 0;
    t->warp.mem_insts = t->warp.lane_addrs = 0;
    while ((r = hd_trace_in_more(in, &p, &end, err)) > 0) {
        if ((r = read_lines(t, &h, p, end)) != 0)
            break;
    }
    if (r == 0 && hd_trace_in_unended(in))
        hd_trace_text_note(t, HD_TN_NO_NEWLINE);
    if (r == 0)
        r = end_kernel(t, &h);
    if (r == 0 && pages->oom)
        r = no_memory(t);
    t->bytes += hd_trace_in_bytes(in);
    hd_trace_in_close(in);
    return r;
}
