/*
 * snapshot.c - copies of a simulation's state, and their restoration.
 *
 * The state is the used part of the arena, what sources keep outside it
 * (written pages of buffers), and what scripts keep outside it.  Wiring stays
 * as it is: a snapshot can be restored into the simulation that it was taken
 * from, or into another of the same settings, workloads and policies (a
 * fork); it names them by hash and refuses others.
 *
 * On disk it is one file, which begins with lines for people: what it is, the
 * build, a note.  Behind them is one frame of zstd, with what it belongs to
 * (all settings, hashes of workloads and policies), the arena, and what was
 * outside of it, and then the XXH64 of all before.  A build has one layout of
 * these, so that another build's are refused by that line and not converted.
 * Since the arena refers to itself by handles, its bytes are good in any
 * process.
 *
 * A snapshot owns all that it needs: copies, and its references to pages that
 * are counted.  It knows no simulation, workload or policy, so that these and
 * it can be freed in any order.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include <zstd.h>

#include "kit/grow.h"
#include "kit/line.h"
#include "kit/save.h"
#include "simulation.h"

/* What one source saved, and how that is freed. */
struct outside {
    void *saved; /* NULL: nothing */
    const struct hd_source_ops *ops;
};

/* What it belongs to. */
struct belongs {
    struct hd_machine m;
    uint32_t apps;
    uint64_t workload[HD_MAX_APPS]; /* hashes */
    char name[HD_MAX_APPS][64];
    struct hd_slots_mark policy[HEDDLE_MAX_BOUND];
};

struct heddle_snapshot {
    struct belongs to;
    size_t used, room; /* bytes of the arena's copy: taken, allocated */
    unsigned char *arena;
    struct outside source[HD_MAX_APPS];
    void *scripts;
    size_t script_bytes;
    void *more; /* the caller's, from a file */
};

/* Keeps the memory of the arena's copy, for what is taken next. */
static void drop_outside(heddle_snapshot *k)
{
    for (uint32_t i = 0; i < k->to.apps; i++)
        if (k->source[i].saved != NULL)
            k->source[i].ops->drop(k->source[i].saved);
    free(k->scripts);
    free(k->more);
    memset(k->source, 0, sizeof k->source);
    k->scripts = k->more = NULL;
    k->script_bytes = 0;
}

void heddle_snapshot_free(heddle_snapshot *k)
{
    if (k == NULL)
        return;
    drop_outside(k);
    free(k->arena);
    free(k);
}

static void identify(const heddle_sim *s, struct belongs *to)
{
    memset(to, 0, sizeof *to);
    to->m = s->m;
    to->apps = s->apps;
    for (uint32_t i = 0; i < s->apps; i++) {
        to->workload[i] = s->source[i]->hash;
        memcpy(to->name[i], s->source[i]->name, sizeof to->name[i]);
    }
    hd_slots_marks(&s->slots, to->policy);
}

static int save_arena(heddle_sim *s, heddle_snapshot *k)
{
    if (k->room < s->arena.used) {
        free(k->arena);
        k->arena = malloc(s->arena.used);
        k->room = k->arena != NULL ? s->arena.used : 0;
    }
    if (k->arena == NULL)
        return HEDDLE_ENOMEM;
    k->used = s->arena.used;
    memcpy(k->arena, s->arena.base, k->used);
    return 0;
}

static int save_sources(heddle_sim *s, heddle_snapshot *k)
{
    for (uint32_t i = 0; i < s->apps; i++) {
        const struct hd_source *src = s->source[i];
        if (src->ops->save == NULL)
            continue;
        k->source[i].ops = src->ops;
        k->source[i].saved = src->ops->save(src->self);
        if (k->source[i].saved == NULL)
            return HEDDLE_ENOMEM;
    }
    return 0;
}

static int save_scripts(heddle_sim *s, heddle_snapshot *k)
{
    size_t n = hd_slots_save(&s->slots, NULL, 0);

    if (n == 0 || s->err.code < 0)
        return s->err.code < 0 ? s->err.code : 0;
    k->scripts = malloc(n);
    if (k->scripts == NULL)
        return HEDDLE_ENOMEM;
    k->script_bytes = n;
    hd_slots_save(&s->slots, k->scripts, n);
    return s->err.code < 0 ? s->err.code : 0;
}

static int save(heddle_sim *s, heddle_snapshot *k)
{
    int rc;

    identify(s, &k->to);
    rc = save_arena(s, k);

    if (rc == 0)
        rc = save_sources(s, k);
    if (rc == 0)
        rc = save_scripts(s, k);
    return rc;
}

int heddle_snapshot_take(heddle_sim *s, heddle_snapshot **out)
{
    heddle_snapshot *k = *out != NULL ? *out : calloc(1, sizeof *k);
    int rc, code = s->err.code;

    s->refused = false;
    if (code < 0) { /* it has failed */
        rc = code;
    } else if (k == NULL) {
        rc = HEDDLE_ENOMEM;
    } else {
        drop_outside(k);
        rc = save(s, k);
    }
    *out = k;
    if (rc == 0)
        return 0;
    heddle_snapshot_free(k);
    *out = NULL;
    if (rc == HEDDLE_ENOMEM) { /* the simulation stays as it was */
        hd_err_memory(&s->err);
        s->err.code = code;
    }
    return rc;
}

/* The setting that differs, or HEDDLE_EINVAL. */
static int same_settings(const struct hd_machine *a, const struct hd_machine *b,
                         struct heddle_error *err)
{
    const struct hd_part_info *g;
    const struct hd_setting *x;
    char name[64];
    char there[HD_TEXT_ROOM], here[HD_TEXT_ROOM];

    if (memcmp(a, b, sizeof *a) == 0)
        return 0;
    for (uint32_t i = 0; (x = hd_setting_at(i, &g)) != NULL; i++) {
        snprintf(name, sizeof name, "%s.%s", g->rows->name, x->name);
        hd_machine_get(a, name, there, sizeof there, err);
        hd_machine_get(b, name, here, sizeof here, err);
        if (strcmp(there, here) != 0)
            return hd_err_set(err, HEDDLE_EINVAL,
                              "the snapshot was taken with other settings: %s "
                              "was %s, and is %s here",
                              name, there, here);
    }
    return 0;
}

static int same(heddle_sim *s, const struct belongs *to)
{
    if (same_settings(&to->m, &s->m, &s->err) != 0)
        return s->err.code;
    for (uint32_t i = 0; i < s->apps || i < to->apps; i++)
        if (i >= to->apps || i >= s->apps ||
            to->workload[i] != s->source[i]->hash)
            return hd_err_set(&s->err, HEDDLE_EINVAL,
                              "the snapshot was taken with another workload "
                              "as application %u: %s%s",
                              i, i < to->apps ? to->name[i] : "none",
                              i < s->apps && i < to->apps &&
                                      strcmp(to->name[i],
                                             s->source[i]->name) == 0
                                  ? " with other contents"
                                  : "");
    return hd_slots_same(&s->slots, to->policy, &s->err);
}

/* It can be restored here. */
static int fits(heddle_sim *s, const heddle_snapshot *k)
{
    if (k == NULL)
        return hd_err_set(&s->err, HEDDLE_EINVAL,
                          "no snapshot (NULL) to restore");
    if (same(s, &k->to) != 0)
        return s->err.code;
    if (hd_arena_fits(&s->arena, k->used))
        return 0;
    return hd_err_set(&s->err, HEDDLE_EINVAL,
                      "the snapshot has %zu bytes of state, and this simulation "
                      "found addresses for %zu only (ulimit -v)",
                      k->used, s->arena.reserved);
}

/* Puts wiring in step with a restored arena. */
static int restored(heddle_sim *s)
{
    hd_events_restored(&s->ev);
    for (uint32_t i = 0; i < s->gpu.cores; i++)
        hd_core_assign(&s->gpu, i, s->gpu.core[i].s->app);
    hd_dispatch_restored(s->gpu.dispatch);
    hd_env_bound(s->env); /* tables may be steered that were not, or not */
    for (uint32_t i = 0; i < s->apps; i++) {
        struct hd_source *src = s->source[i];
        if (src->ops->restored != NULL && src->ops->restored(src->self) != 0)
            return hd_err_set(&s->err, HEDDLE_EDATA,
                              "application %u: its data cannot be found again",
                              i);
    }
    return 0;
}

static int load_sources(heddle_sim *s, const heddle_snapshot *k)
{
    for (uint32_t i = 0; i < s->apps; i++) {
        const struct hd_source *src = s->source[i];
        if (k->source[i].saved != NULL &&
            src->ops->load(src->self, k->source[i].saved) != 0)
            return hd_err_memory(&s->err);
    }
    return 0;
}

static int load_scripts(heddle_sim *s, const heddle_snapshot *k)
{
    int rc = hd_slots_load(&s->slots, k->to.policy, k->scripts, k->script_bytes);

    return rc == 0 ? 0
                   : hd_err_set(&s->err, rc,
                                "a policy cannot take its state back");
}

int heddle_snapshot_restore(heddle_sim *s, const heddle_snapshot *k)
{
    struct heddle_error before = s->err;

    s->refused = false;
    hd_err_clear(&s->err);
    if (fits(s, k) != 0) {
        int code = hd_slots_told(&s->slots, &s->err);
        s->err = before; /* it stays as it was, or failed as it has */
        s->refused = true;
        return code;
    }
    hd_arena_replace(&s->arena, k->arena, k->used);
    if (load_sources(s, k) != 0 || load_scripts(s, k) != 0 || restored(s) != 0)
        return s->run->status = s->err.code; /* until another is restored */
    s->err.code = s->run->status;
    return 0;
}

/* ---- files ---------------------------------------------------------------- */

static const char magic[] = "heddle checkpoint 1\n";
enum { LEVEL = 1, SUM = 8 };

/* All but the lines: what it belongs to, and the state. */
static void pack(const heddle_snapshot *k, const struct heddle_checkpoint *c,
                 struct hd_bytes *out)
{
    hd_bytes_add(out, &k->to, sizeof k->to);
    hd_bytes_put(out, k->used);
    hd_bytes_add(out, k->arena, k->used);
    for (uint32_t i = 0; i < k->to.apps; i++)
        if (k->source[i].saved != NULL)
            k->source[i].ops->pack(k->source[i].saved, out);
    hd_bytes_put(out, k->script_bytes);
    hd_bytes_add(out, k->scripts, k->script_bytes);
    hd_bytes_put(out, c->bytes);
    hd_bytes_add(out, c->more, c->bytes);
}

static void add_text(struct hd_bytes *b, const char *s)
{
    hd_bytes_add(b, s, strlen(s));
}

int heddle_snapshot_write(const heddle_snapshot *k, const char *path,
                          const struct heddle_checkpoint *c,
                          struct heddle_error *error)
{
    struct hd_bytes raw = {0}, out = {0};
    struct heddle_error err = {0};
    size_t n = 0;

    if (hd_line_check("note", c->note, HEDDLE_EINVAL, &err) != 0)
        return hd_err_give(&err, error);
    add_text(&out, magic);
    add_text(&out, "build ");
    add_text(&out, c->build);
    add_text(&out, "\nnote ");
    add_text(&out, c->note);
    add_text(&out, "\n\n");
    pack(k, c, &raw);
    if (hd_bytes_room(&out, ZSTD_compressBound(raw.n) + SUM))
        n = ZSTD_compress(out.p + out.n, out.room - out.n, raw.p, raw.n, LEVEL);
    if (raw.oom || out.oom || ZSTD_isError(n)) {
        hd_err_memory(&err);
    } else {
        out.n += n;
        hd_store64(out.p + out.n, XXH64(out.p, out.n, 0));
        hd_save_whole(path, out.p, out.n + SUM, &err);
    }
    hd_bytes_free(&raw);
    hd_bytes_free(&out);
    return hd_err_give(&err, error);
}

static int damaged(heddle_sim *s, const char *path, const char *what)
{
    return hd_err_set(&s->err, HEDDLE_EDATA, "%s: %s", path, what);
}

/* All of a file; its checksum is right. */
static int read_file(heddle_sim *s, const char *path, struct hd_bytes *in)
{
    FILE *f = fopen(path, "rb");
    size_t n = 1;

    if (f == NULL)
        return hd_err_set(&s->err, hd_err_errno(HEDDLE_ENOINPUT), "%s: %s",
                          path, strerror(errno));
    while (n > 0 && hd_bytes_room(in, 1 << 20)) {
        n = fread(in->p + in->n, 1, in->room - in->n, f);
        in->n += n;
    }
    n = ferror(f) != 0;
    fclose(f);
    if (in->oom)
        return hd_err_memory(&s->err);
    if (n != 0)
        return hd_err_set(&s->err, HEDDLE_EIO, "%s: cannot be read", path);
    if (in->n < sizeof magic + SUM ||
        memcmp(in->p, magic, sizeof magic - 3) != 0)
        return damaged(s, path, "not a checkpoint of heddle");
    if (memcmp(in->p, magic, sizeof magic - 1) != 0)
        return damaged(s, path, "a checkpoint of another version of heddle");
    in->n -= SUM;
    if (hd_load64(in->p + in->n) != XXH64(in->p, in->n, 0))
        return damaged(s, path, "the checkpoint is damaged, or incomplete");
    return 0;
}

/* The line that begins so, which ends with a zero from now on; NULL:
 * another. */
static char *take_line(struct hd_cursor *c, const char *begin)
{
    const char *p = (const char *)c->p;
    char *end = memchr(c->p, '\n', hd_cursor_left(c));
    size_t n = strlen(begin);

    if (end == NULL || (size_t)(end - p) < n || memcmp(p, begin, n) != 0)
        return NULL;
    *end = '\0';
    c->p = (const unsigned char *)end + 1;
    return end - (end - p) + n;
}

/* The frame behind the lines, unpacked. */
static int inflate(heddle_sim *s, const char *path, const struct hd_cursor *c,
                   struct hd_bytes *raw)
{
    unsigned long long n = ZSTD_getFrameContentSize(c->p, hd_cursor_left(c));
    size_t got;

    if (n >= ZSTD_CONTENTSIZE_ERROR || n > SIZE_MAX / 2)
        return damaged(s, path, "the checkpoint's data are damaged");
    if (!hd_bytes_room(raw, n + 1))
        return hd_err_memory(&s->err);
    got = ZSTD_decompress(raw->p, n, c->p, hd_cursor_left(c));
    raw->n = ZSTD_isError(got) ? 0 : got;
    return got == n ? 0 : damaged(s, path, "the checkpoint's data are damaged");
}

static void *copy(struct hd_cursor *in, uint64_t n)
{
    const void *from = hd_cursor_take(in, n);
    void *to = from != NULL ? malloc(n + 1) : NULL;

    in->oom |= from != NULL && to == NULL;
    if (to != NULL)
        memcpy(to, from, n);
    return to;
}

/* The state, behind what it belongs to, which is as it must be. */
static int unpack(heddle_sim *s, const char *path, struct hd_cursor *in,
                  heddle_snapshot *k, struct heddle_checkpoint *c)
{
    k->used = k->room = hd_cursor_count(in, 1);
    in->bad |= k->used < s->built;
    k->arena = copy(in, k->used);
    for (uint32_t i = 0; i < s->apps; i++) {
        const struct hd_source *src = s->source[i];

        if ((k->source[i].ops = src->ops)->unpack != NULL)
            k->source[i].saved = src->ops->unpack(src->self, in);
    }
    k->script_bytes = hd_cursor_count(in, 1);
    k->scripts = copy(in, k->script_bytes);
    c->bytes = hd_cursor_count(in, 1);
    c->more = k->more = copy(in, c->bytes);
    if (in->oom)
        hd_err_memory(&s->err);
    else if (in->bad || hd_cursor_left(in) > 0)
        damaged(s, path, "the checkpoint's data are damaged");
    return s->err.code;
}

/* The file in memory becomes a snapshot. */
static int parse(heddle_sim *s, const char *path, struct hd_bytes *in,
                 struct hd_bytes *raw, heddle_snapshot *k,
                 struct heddle_checkpoint *c)
{
    struct hd_cursor at = {.p = in->p + sizeof magic - 1, .end = in->p + in->n};
    const char *build = take_line(&at, "build ");
    const void *to;

    if (build == NULL || take_line(&at, "note ") == NULL ||
        take_line(&at, "") == NULL)
        return damaged(s, path, "the checkpoint's first lines are damaged");
    if (strcmp(build, c->build) != 0)
        return hd_err_set(&s->err, HEDDLE_EINVAL,
                          "%s: it was written by another build of heddle, %s; "
                          "this is %s",
                          path, build, c->build);
    if (inflate(s, path, &at, raw) != 0)
        return s->err.code;
    at = (struct hd_cursor){.p = raw->p, .end = raw->p + raw->n};
    to = hd_cursor_take(&at, sizeof k->to);
    if (to == NULL)
        return damaged(s, path, "the checkpoint's data are damaged");
    memcpy(&k->to, to, sizeof k->to);
    if (k->to.apps > HD_MAX_APPS) {
        k->to.apps = 0;
        return damaged(s, path, "the checkpoint's data are damaged");
    }
    for (uint32_t i = 0; i < k->to.apps; i++)
        k->to.name[i][sizeof k->to.name[i] - 1] = 0;
    for (uint32_t i = 0; i < HEDDLE_MAX_BOUND; i++)
        k->to.policy[i].name[sizeof k->to.policy[i].name - 1] = 0;
    return same(s, &k->to) == 0 ? unpack(s, path, &at, k, c) : s->err.code;
}

int heddle_snapshot_read(heddle_sim *s, const char *path, heddle_snapshot **k,
                         struct heddle_checkpoint *c)
{
    struct hd_bytes in = {0}, raw = {0};
    struct heddle_error before = s->err;
    int rc;

    s->refused = false;
    hd_err_clear(&s->err);
    *k = calloc(1, sizeof **k);
    if (*k == NULL)
        rc = hd_err_memory(&s->err);
    else if ((rc = read_file(s, path, &in)) == 0)
        rc = parse(s, path, &in, &raw, *k, c);
    hd_bytes_free(&in);
    hd_bytes_free(&raw);
    if (rc != 0) {
        heddle_snapshot_free(*k);
        *k = NULL;
    }
    s->refused = rc != 0;
    if (rc != 0)
        hd_slots_told(&s->slots, &s->err);
    s->err = before; /* it stays as it was */
    return rc;
}

void heddle_memory(const heddle_sim *s, uint64_t *arena, uint64_t *outside)
{
    *arena = s->arena.used;
    *outside = 0;
    for (uint32_t i = 0; i < s->apps; i++)
        if (s->source[i]->ops->memory != NULL)
            *outside += s->source[i]->ops->memory(s->source[i]->self);
}

uint64_t heddle_state_hash(const heddle_sim *s)
{
    return XXH3_64bits(s->arena.base, s->arena.used);
}
