/*
 * survey.c - what a workload asks of a memory system, measured without time.
 *
 * functional.c runs the workload with a machine's crowd of warps; here each
 * instruction is counted: by kernel, how many lanes, lines and pages it has
 * (the coalescer is the cores' own), which pages and lines a launch touches
 * and whether an earlier launch or another kernel had touched them, how far
 * apart two accesses to a page are (survey-pages.c), and where in the address
 * space the accesses of a stretch of time fall.
 *
 * The picture has so many columns at most: when they are used up, each two
 * become one and a column stands for twice the memory instructions, so that
 * any length fits and between half and all of the columns are used.
 *
 * Kernels beyond the 64th count as one where "another kernel" is asked.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit/bits.h"
#include "core/coalesce.h"
#include "kit/grow.h"
#include "survey-pages.h"
#include "core/functional.h"

enum {
    LINE_SHIFT = 7,
    MOST_ALLOCS = 1024,
    CUT = 1,             /* what survey_count() returns at the limit */
    STOP_EVERY = 1 << 16 /* instructions between two calls of stop() */
};

struct launch {
    uint32_t kernel;
    uint64_t start; /* memory instructions before it */
};

/* An allocation: addresses, or pages. */
struct span {
    uint64_t from, to;
};

struct heddle_survey {
    struct heddle_survey_options o;
    struct heddle_survey_result r;
    struct heddle_survey_kernel *kernel;
    struct launch *launch;
    size_t room_kernels, room_launches;
    struct span *alloc;            /* [allocs] */
    struct heddle_survey_use *use; /* [kernel][alloc][kind] */
    uint32_t hint;                 /* allocation found last */
    struct hd_seen seen;
    uint32_t *cell;        /* [column][row] */
    uint64_t end;          /* address after the last allocation */
    uint64_t instructions; /* warp instructions so far */
    uint64_t memory;       /* of them: memory */
    uint64_t asked;        /* instructions when stop() was asked last */
    uint32_t current;      /* launch, 1, 2, ..; 0: none yet */
};

/* ---- launches ------------------------------------------------------------ */

static size_t uses_of(const struct heddle_survey *s, uint32_t kernels)
{
    return (size_t)kernels * s->r.allocs * HEDDLE_SURVEY_KINDS;
}

/* Room for the uses of one more kernel. */
static bool more_uses(struct heddle_survey *s)
{
    size_t now = uses_of(s, s->r.kernels), n = uses_of(s, s->r.kernels + 1);
    struct heddle_survey_use *use = realloc(s->use, n * sizeof *use);

    if (use == NULL)
        return false;
    memset(use + now, 0, (n - now) * sizeof *use);
    s->use = use;
    return true;
}

static uint32_t find_kernel(struct heddle_survey *s, const char *name)
{
    struct heddle_survey_kernel *k;
    uint32_t i;

    for (i = 0; i < s->r.kernels; i++)
        if (strcmp(s->kernel[i].name, name) == 0)
            return i;
    k = hd_grow(&s->kernel, s->r.kernels, &s->room_kernels, sizeof *k);
    if (k == NULL)
        return UINT32_MAX;
    memset(&k[i], 0, sizeof k[i]);
    if (s->alloc != NULL && !more_uses(s))
        return UINT32_MAX;
    snprintf(k[i].name, sizeof k[i].name, "%s", name);
    return s->r.kernels++;
}

static int begin_launch(struct heddle_survey *s, const struct hd_launch *l)
{
    uint32_t kernel = find_kernel(s, l->name);
    struct launch *list =
        hd_grow(&s->launch, s->r.launches, &s->room_launches, sizeof *list);

    if (list == NULL || kernel == UINT32_MAX)
        return HEDDLE_ENOMEM;
    list[s->r.launches].kernel = kernel;
    list[s->r.launches].start = s->memory;
    s->r.launches++;
    s->kernel[kernel].launches++;
    s->kernel[kernel].blocks += l->blocks;
    s->current = l->id;
    return 0;
}

/* ---- the picture --------------------------------------------------------- */

/* Each two columns become one. */
static void fold(struct heddle_survey *s)
{
    uint32_t rows = s->o.rows, half = s->o.columns / 2;

    for (uint32_t c = 0; c < half; c++)
        for (uint32_t r = 0; r < rows; r++)
            s->cell[(size_t)c * rows + r] =
                s->cell[(size_t)2 * c * rows + r] +
                s->cell[((size_t)2 * c + 1) * rows + r];
    memset(s->cell + (size_t)half * rows, 0,
           (size_t)(s->o.columns - half) * rows * sizeof *s->cell);
    s->r.column_accesses *= 2;
}

static void survey_draw(struct heddle_survey *s, uint64_t vpn)
{
    uint64_t column = s->memory / s->r.column_accesses;
    uint64_t row = (vpn - (s->r.base >> HD_PAGE_SHIFT)) / s->r.row_pages;

    if (column >= s->o.columns) {
        fold(s);
        column = s->memory / s->r.column_accesses;
    }
    if (row < s->r.rows)
        s->cell[column * s->o.rows + row]++;
}

/* ---- counting ------------------------------------------------------------ */

/* A page that this launch touches for the first time. */
static void survey_touch(struct heddle_survey *s,
                         struct heddle_survey_kernel *k, struct hd_seen_page *p)
{
    uint32_t index = (uint32_t)(k - s->kernel);
    uint64_t own = 1ull << (index < 64 ? index : 63);

    k->pages_touched++;
    if (s->r.launches == 1)
        s->r.first_pages++;
    if (p->launch != 0)
        k->pages_before++;
    if (p->kernels & ~own)
        k->pages_other++;
    p->kernels |= own;
    p->launch = s->current;
}

static int count_pages(struct heddle_survey *s, struct heddle_survey_kernel *k,
                       struct hd_lines *l)
{
    uint32_t page[HD_MAX_LINES];

    for (uint32_t i = 0; i < l->pages; i++) {
        struct hd_seen_page *p;

        page[i] = hd_seen_find(&s->seen, l->page[i].vpn);
        if (page[i] == UINT32_MAX)
            return HEDDLE_ENOMEM;
        s->r.reuse[hd_seen_access(&s->seen, page[i])]++;
        p = &s->seen.page[page[i]];
        if (p->launch != s->current)
            survey_touch(s, k, p);
        if (s->cell != NULL)
            survey_draw(s, l->page[i].vpn);
    }
    for (uint32_t i = 0; i < l->n; i++) {
        const struct hd_lsu_line *x = hd_lines_at(l, i);
        uint32_t *last = &s->seen.page[page[x->page]].line[x->place];

        if (*last == s->current)
            continue;
        k->lines_touched++;
        if (s->r.launches == 1)
            s->r.first_lines++;
        if (*last != 0)
            k->lines_before++;
        else
            s->r.lines++;
        *last = s->current;
    }
    return 0;
}

static void count_use(struct heddle_survey *s,
                      const struct heddle_survey_kernel *k,
                      const struct hd_step *t, uint64_t lanes,
                      const struct hd_lines *l)
{
    unsigned first = hd_bit_first(t->op->mask);
    uint64_t at = hd_access_lane(t->acc, first);
    uint32_t kind = t->op->kind - HEDDLE_OP_LOAD, n = s->r.allocs;
    struct heddle_survey_use *u;

    for (uint32_t i = 0; i < n; i++, s->hint = (s->hint + 1) % n) {
        if (at < s->alloc[s->hint].from || at >= s->alloc[s->hint].to)
            continue;
        u = &s->use[uses_of(s, (uint32_t)(k - s->kernel)) +
                    s->hint * HEDDLE_SURVEY_KINDS + kind];
        u->instructions++;
        u->lanes += lanes;
        u->lines += l->n;
        u->pages += l->pages;
        return;
    }
}

static int survey_memory(struct heddle_survey *s,
                         struct heddle_survey_kernel *k,
                         const struct hd_step *t)
{
    const struct hd_op *op = t->op;
    uint64_t lanes = hd_bit_count(op->mask);
    struct hd_lines l;
    int rc;

    hd_coalesce(t->acc, op->mask, t->launch->lanes, op->bytes, LINE_SHIFT, &l);
    k->lanes += lanes;
    k->lines += l.n;
    k->pages += l.pages;
    k->line_hist[l.n]++;
    k->page_hist[l.pages]++;
    if (op->kind == HEDDLE_OP_LOAD) {
        k->loads += op->count;
        k->load_lanes += lanes;
        k->load_lines += l.n;
    } else if (op->kind == HEDDLE_OP_STORE) {
        k->stores += op->count;
    } else {
        k->atomics += op->count;
    }
    if (s->alloc != NULL && lanes > 0)
        count_use(s, k, t, lanes, &l);
    rc = count_pages(s, k, &l);
    s->memory++;
    return rc;
}

static int survey_count(void *ud, const struct hd_step *t)
{
    struct heddle_survey *s = ud;
    const struct hd_op *op = t->op;
    struct heddle_survey_kernel *k;
    int rc = 0;

    if (s->o.limit != 0 && s->instructions >= s->o.limit)
        return CUT;
    if (t->launch->id != s->current && (rc = begin_launch(s, t->launch)) != 0)
        return rc;
    k = &s->kernel[s->launch[s->r.launches - 1].kernel];
    k->instructions += op->count;
    k->thread_instructions += op->count * (uint64_t)hd_bit_count(op->mask);
    if (op->mask != t->exist && op->kind != HEDDLE_OP_EXIT)
        k->divergent += op->count;
    s->instructions += op->count;
    if (op->kind == HEDDLE_OP_ALU)
        k->alu += op->count;
    else if (op->kind == HEDDLE_OP_BARRIER)
        k->barriers += op->count;
    else if (op->kind != HEDDLE_OP_EXIT)
        rc = survey_memory(s, k, t);
    if (rc == 0 && s->o.stop != NULL &&
        s->instructions - s->asked >= STOP_EVERY) {
        s->asked = s->instructions;
        rc = s->o.stop(s->o.ud);
    }
    return rc;
}

/* ---- the workload's memory ----------------------------------------------- */

static int by_from(const void *a, const void *b)
{
    const struct span *x = a, *y = b;

    return (x->from > y->from) - (x->from < y->from);
}

/* The addresses of all allocations. */
static int list_allocs(struct heddle_survey *s, struct hd_source *src)
{
    struct hd_alloc a;
    uint32_t n = 0;
    size_t room = 0;

    for (; memset(&a, 0, sizeof a), src->ops->alloc(src->self, n, &a); n++) {
        struct span *more = hd_grow(&s->alloc, n, &room, sizeof *more);

        if (more == NULL)
            return HEDDLE_ENOMEM;
        more[n].from = a.base.v;
        more[n].to = a.base.v + a.bytes;
    }
    s->r.allocs = n;
    return 0;
}

/* Bytes and pages of all allocations, and where they begin and end. */
static int find_memory(struct heddle_survey *s)
{
    uint32_t n = s->r.allocs;
    struct span *list = calloc(n + 1u, sizeof *list);
    uint64_t after = 0;

    if (list == NULL)
        return HEDDLE_ENOMEM;
    s->r.base = UINT64_MAX;
    for (uint32_t i = 0; i < n; i++) {
        list[i].from = s->alloc[i].from >> HD_PAGE_SHIFT;
        list[i].to = (s->alloc[i].to + HD_PAGE_BYTES - 1) >> HD_PAGE_SHIFT;
        s->r.allocated += s->alloc[i].to - s->alloc[i].from;
        s->r.base = hd_min_u64(s->r.base, s->alloc[i].from);
        s->end = hd_max_u64(s->end, s->alloc[i].to);
    }
    qsort(list, n, sizeof *list, by_from);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t from = hd_max_u64(list[i].from, after);

        s->r.allocated_pages += list[i].to > from ? list[i].to - from : 0;
        after = hd_max_u64(after, list[i].to);
    }
    free(list);
    if (n > MOST_ALLOCS) {
        free(s->alloc);
        s->alloc = NULL;
    }
    return 0;
}

static int open_picture(struct heddle_survey *s)
{
    uint64_t first = s->r.base >> HD_PAGE_SHIFT, pages;

    if (s->o.columns < 2 || s->o.rows < 1 || s->end <= s->r.base)
        return 0;
    s->o.columns &= ~1u;
    pages = ((s->end - 1) >> HD_PAGE_SHIFT) - first + 1;
    s->r.row_pages = hd_ceil_div(pages, s->o.rows);
    s->r.rows = (uint32_t)hd_ceil_div(pages, s->r.row_pages);
    s->r.base = first << HD_PAGE_SHIFT;
    s->r.column_accesses = 1;
    s->cell = calloc((size_t)s->o.columns * s->o.rows, sizeof *s->cell);
    return s->cell != NULL ? 0 : HEDDLE_ENOMEM;
}

/* What follows from the counts. */
static void conclude(struct heddle_survey *s)
{
    s->r.pages = s->seen.n;
    for (uint32_t i = 0; i < s->seen.n; i++)
        s->r.once += s->seen.page[i].accesses == 1;
    for (int i = 0; i < HEDDLE_SURVEY_REUSE; i++)
        s->r.reuse_bound[i] =
            i < HD_REUSE_BOUNDS ? hd_reuse_bound[i] : UINT64_MAX;
    if (s->cell != NULL)
        s->r.columns = (uint32_t)hd_ceil_div(s->memory, s->r.column_accesses);
}

/* ---- the interface ------------------------------------------------------- */

void heddle_survey_free(heddle_survey *s)
{
    if (s == NULL)
        return;
    hd_seen_close(&s->seen);
    free(s->kernel);
    free(s->launch);
    free(s->alloc);
    free(s->use);
    free(s->cell);
    free(s);
}

static int survey(struct heddle_survey *s, struct hd_source *src,
                  struct heddle_error *err)
{
    const struct heddle_survey_room *o = &s->o.room;
    const struct hd_room room = {.cores = o->cores,
                                 .blocks = o->blocks,
                                 .warps = o->warps,
                                 .threads = o->threads,
                                 .regs = o->regs,
                                 .shared_bytes = o->shared_bytes};
    struct hd_functional run = {.src = src,
                                .name = "survey",
                                .v = {.step = survey_count, .ud = s},
                                .lanes = s->o.lanes,
                                .launches = s->o.launches,
                                .every = s->o.every,
                                .room = &room};
    int rc = list_allocs(s, src);

    if (rc == 0)
        rc = find_memory(s);
    if (rc == 0)
        rc = open_picture(s);
    if (rc < 0)
        return hd_err_memory(err);
    rc = hd_functional_run(&run, err);
    if (rc == CUT) {
        s->r.cut = 1;
        rc = 0;
    }
    return rc;
}

int heddle_survey_run(heddle_workload *w, const struct heddle_survey_options *o,
                      heddle_survey **out, char *error, size_t room)
{
    static const struct heddle_survey_options none;
    struct heddle_survey *s = calloc(1, sizeof *s);
    struct heddle_error err = {0};
    int rc;

    *out = NULL;
    if (s == NULL) {
        rc = hd_err_memory(&err);
    } else {
        s->o = o != NULL ? *o : none;
        hd_seen_open(&s->seen);
        rc = survey(s, hd_workload_source(w), &err);
    }
    if (rc == 0) {
        conclude(s);
        *out = s;
        return 0;
    }
    heddle_survey_free(s);
    if (rc < 0)
        hd_err_tell(&err, error, room);
    return rc;
}

const struct heddle_survey_result *heddle_survey_result(const heddle_survey *s)
{
    return &s->r;
}

const struct heddle_survey_kernel *heddle_survey_kernel(const heddle_survey *s,
                                                        uint32_t i)
{
    return i < s->r.kernels ? &s->kernel[i] : NULL;
}

const struct heddle_survey_use *heddle_survey_use(const heddle_survey *s,
                                                  uint32_t kernel,
                                                  uint32_t alloc, uint32_t kind)
{
    if (s->use == NULL || kernel >= s->r.kernels || alloc >= s->r.allocs ||
        kind >= HEDDLE_SURVEY_KINDS)
        return NULL;
    return &s->use[uses_of(s, kernel) + alloc * HEDDLE_SURVEY_KINDS + kind];
}

uint64_t heddle_survey_cell(const heddle_survey *s, uint32_t column,
                            uint32_t row)
{
    if (column >= s->r.columns || row >= s->r.rows)
        return 0;
    return s->cell[(size_t)column * s->o.rows + row];
}

int heddle_survey_launch(const heddle_survey *s, uint32_t i, uint32_t *kernel,
                         uint64_t *start)
{
    if (i >= s->r.launches)
        return HEDDLE_EINVAL;
    *kernel = s->launch[i].kernel;
    *start = s->launch[i].start;
    return 0;
}
