/*
 * choose.c - which kernels of a trace are wanted, and which of their blocks.
 *
 * A choice is written as a list, items separated by commas: a kernel's number
 * in the order of the trace, from 1; a range of numbers (5-8, 5-); or a POSIX
 * extended regular expression that is to be found somewhere in a kernel's name,
 * which is what Accel-Sim's tracer takes, but for its matching whole names.  A
 * comma in a name is matched by a point.  A kernel is chosen if one of the
 * items says so, and kernels keep the order of the trace.  Blocks are those of
 * each chosen kernel, by their index in its grid: "64" are the first 64,
 * "64-127" those from 64 to 127.
 *
 * Invariant: every item has chosen a kernel, and every chosen kernel has one of
 * the blocks; anything else is refused, with the kernels that there are.
 *
 * Left out: threads, warps and parts of a kernel's time, which a machine's
 * resources tie together.
 *
 * SPDX-License-Identifier: MIT
 */
#include "choose.h"

#include "tool.h"

#include <regex.h>
#include <stdio.h>

enum {
    ITEMS = 256, /* of a choice */
    ITEM = 512,  /* characters of one */
    LISTED = 12, /* kernels that a message names */
    SHOWN = 60,  /* characters of a name in it */
    NAME = 4096  /* that a pattern sees */
};

struct item {
    uint64_t from, to; /* numbers; or, if from is 0, a pattern: */
    regex_t pattern;
    bool met; /* it has chosen a kernel */
    char text[ITEM];
};

struct hd_choice {
    struct item *item;
    size_t items, room;
    bool names;
    uint64_t block, blocks; /* blocks 0: all */
    uint32_t kernels;       /* of the trace, so far */
    char listed[LISTED * (SHOWN + 16)];
    size_t listed_n;
};

void hd_choice_free(struct hd_choice *c)
{
    if (c == NULL)
        return;
    for (size_t i = 0; i < c->items; i++)
        if (c->item[i].from == 0)
            regfree(&c->item[i].pattern);
    free(c->item);
    free(c);
}

/* "n", "n-m" or "n-" up to the text's end; false: it is none. */
static bool scan_range(const char *p, uint64_t least, uint64_t *from,
                       uint64_t *to, bool *range)
{
    uint64_t *v = from;

    *from = 0;
    *to = UINT32_MAX;
    *range = false;
    if (*p < '0' || *p > '9')
        return false;
    for (; *p != '\0'; p++) {
        if (*p == '-' && v == from) {
            v = to;
            *range = true;
            *to = p[1] != '\0' ? 0 : UINT32_MAX;
            continue;
        }
        if (*p < '0' || *p > '9')
            return false;
        *v = hd_min_u64(*v * 10 + (uint64_t)(*p - '0'), UINT32_MAX);
    }
    if (!*range)
        *to = *from;
    return *from >= least;
}

static int bad_item(const char *name, const char *text, const char *what,
                    struct heddle_error *err)
{
    return hd_err_set(err, HEDDLE_EINVAL, "%s: %s, not `%.*s'", name, what,
                      SHOWN, text);
}

static int add_item(struct hd_choice *c, const char *text, size_t n,
                    struct heddle_error *err)
{
    static const char what[] =
        "numbers from 1, ranges such as 5-8, and regular expressions of names "
        "are expected";
    struct item *list = hd_grow(&c->item, c->items, &c->room, sizeof *list);
    bool range;

    if (list == NULL)
        return hd_err_memory(err);
    struct item *i = &list[c->items];
    *i = (struct item){0};
    if (n == 0 || n >= sizeof i->text || c->items == ITEMS)
        return bad_item("kernels", text, what, err);
    memcpy(i->text, text, n);
    bool number = i->text[strspn(i->text, "0123456789-")] == '\0';
    if (scan_range(i->text, 1, &i->from, &i->to, &range) && i->to >= i->from) {
        c->items++;
        return 0;
    }
    i->from = 0;
    if (number)
        return bad_item("kernels", i->text, what, err);
    int r = regcomp(&i->pattern, i->text, REG_EXTENDED | REG_NOSUB);
    if (r != 0) {
        char why[128];
        regerror(r, &i->pattern, why, sizeof why);
        return hd_err_set(err, HEDDLE_EINVAL, "kernels: `%.*s': %s", SHOWN,
                          i->text, why);
    }
    c->names = true;
    c->items++;
    return 0;
}

static int add_blocks(struct hd_choice *c, const char *text,
                      struct heddle_error *err)
{
    uint64_t from, to;
    bool range;

    if (!scan_range(text, 0, &from, &to, &range) || (range && to < from) ||
        (!range && from == 0))
        return bad_item("blocks", text,
                        "a number of blocks, or a range such as 64-127, is "
                        "expected",
                        err);
    c->block = range ? from : 0;
    c->blocks = range ? to - from + 1 : from;
    return 0;
}

int hd_choice_open(const char *kernels, const char *blocks,
                   struct hd_choice **out, struct heddle_error *err)
{
    struct hd_choice *c;

    *out = NULL;
    if (kernels == NULL && blocks == NULL)
        return 0;
    if ((c = calloc(1, sizeof *c)) == NULL)
        return hd_err_memory(err);
    for (const char *p = kernels; p != NULL && err->code == 0;) {
        size_t n = strcspn(p, ",");
        add_item(c, p, n, err);
        p = p[n] == ',' ? p + n + 1 : NULL;
    }
    if (blocks != NULL && err->code == 0)
        add_blocks(c, blocks, err);
    if (err->code == 0)
        *out = c;
    else
        hd_choice_free(c);
    return err->code;
}

bool hd_choice_names(const struct hd_choice *c)
{
    return c != NULL && c->names;
}

/* Adds a kernel to those that a message names. */
static void list_kernel(struct hd_choice *c, const char *name)
{
    char shown[SHOWN + 1] = "";

    if (name != NULL)
        heddle_line_escape(name, strlen(name), "", shown, sizeof shown);
    size_t room = sizeof c->listed - c->listed_n;
    int n = snprintf(c->listed + c->listed_n, room, "%s%u%s%s",
                     c->kernels > 1 ? ", " : "", c->kernels,
                     name != NULL ? " " : "", shown);
    c->listed_n += n > 0 ? hd_min_u64((uint64_t)n, room - 1) : 0;
}

bool hd_choice_kernel(struct hd_choice *c, const char *name)
{
    char head[NAME + 1];
    bool chosen;

    if (c == NULL)
        return true;
    if (name != NULL && strlen(name) > NAME) {
        memcpy(head, name, NAME);
        head[NAME] = '\0';
        name = head;
    }
    if (++c->kernels <= LISTED)
        list_kernel(c, name);
    chosen = c->items == 0;
    for (size_t k = 0; k < c->items; k++) {
        struct item *i = &c->item[k];
        bool is = i->from != 0 ? c->kernels >= i->from && c->kernels <= i->to
                               : name != NULL && regexec(&i->pattern, name, 0,
                                                         NULL, 0) == 0;
        i->met |= is;
        chosen |= is;
    }
    return chosen;
}

int hd_choice_end(const struct hd_choice *c, const char *where,
                  struct heddle_error *err)
{
    for (size_t k = 0; c != NULL && k < c->items; k++) {
        const struct item *i = &c->item[k];
        if (i->met)
            continue;
        return hd_err_set(
            err, HEDDLE_EINVAL, "%s: no kernel %s`%.*s'; it has %u: %s%s",
            where, i->from != 0 ? "" : "with a name that has ", SHOWN, i->text,
            c->kernels, c->listed, c->kernels > LISTED ? ", ..." : "");
    }
    return 0;
}

bool hd_choice_some(const struct hd_choice *c)
{
    return c != NULL && c->blocks != 0;
}

bool hd_choice_block(const struct hd_choice *c, uint64_t block)
{
    return !hd_choice_some(c) || block - c->block < c->blocks;
}

int hd_choice_blocks(const struct hd_choice *c, const struct hd_trace_kernel *k,
                     uint64_t *n, struct heddle_error *err)
{
    uint64_t grid = hd_trace_grid(k);

    *n = grid;
    if (!hd_choice_some(c))
        return 0;
    *n = c->block < grid ? hd_min_u64(c->blocks, grid - c->block) : 0;
    if (*n != 0)
        return 0;
    return hd_err_set(err, HEDDLE_EINVAL,
                      "blocks: kernel %u (%.*s) has no block from %llu on; its "
                      "grid has %llu",
                      k->id, SHOWN, k->name, (unsigned long long)c->block,
                      (unsigned long long)grid);
}
