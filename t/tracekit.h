/*
 * tracekit.h - text traces written in a test, and what a workload does as
 * text: files in a directory of the test's own, and one line an operation.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEKIT_H
#define TRACEKIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "kit/env.h"
#include "folder.h"
#include "heddle_trace.h"
#include "points/source.h"

struct kit {
    char dir[FOLDER];
    char path[160]; /* of the last file */
    char text[1024];
    char *ops;
    size_t n, room;
};

static inline struct kit kit_open(void)
{
    struct kit k = {0};

    assert_non_null(folder_make(k.dir));
    return k;
}

static inline void kit_close(struct kit *k)
{
    char cmd[128];

    snprintf(cmd, sizeof cmd, "rm -rf '%s'", k->dir);
    assert_int_equal(system(cmd), 0);
    free(k->ops);
}

/* The kit of a group of tests, and what builds it and takes it away. */
static struct kit kit;

static inline int kit_setup(void **state)
{
    (void)state;
    kit = kit_open();
    return 0;
}

static inline int kit_teardown(void **state)
{
    (void)state;
    kit_close(&kit);
    return 0;
}

static inline const char *kit_file(struct kit *k, const char *name)
{
    snprintf(k->path, sizeof k->path, "%s/%s", k->dir, name);
    return k->path;
}

static inline const char *kit_write_n(struct kit *k, const char *name,
                                      const void *p, size_t n)
{
    FILE *f = fopen(kit_file(k, name), "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(p, 1, n, f), n);
    fclose(f);
    return k->path;
}

static inline const char *kit_write(struct kit *k, const char *name,
                                    const char *text)
{
    return kit_write_n(k, name, text, strlen(text));
}

static inline unsigned char *kit_read(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");

    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    *n = (size_t)ftell(f);
    rewind(f);
    unsigned char *p = malloc(*n + 1);
    assert_int_equal(fread(p, 1, *n, f), *n);
    p[*n] = 0;
    fclose(f);
    return p;
}

/* A kernel of one block of `threads` threads whose warps are `body`. */
static inline char *kit_kernel(int version, int threads, const char *body)
{
    size_t room = strlen(body) + 1024;
    char *s = malloc(room);

    snprintf(s, room,
             "-kernel name = k\n-kernel id = 1\n-grid dim = (1,1,1)\n"
             "-block dim = (%d,1,1)\n-shmem = 0\n-nregs = 16\n"
             "-binary version = 70\n-cuda stream id = 0\n"
             "-shmem base_addr = 0x00007f0000000000\n"
             "-local mem base_addr = 0x00007f1000000000\n"
             "-nvbit version = 1.5.5\n-accelsim tracer version = %d\n"
             "%s\n#traces format = [line_num] PC mask ...\n\n"
             "#BEGIN_TB\n\nthread block = 0,0,0\n\n%s\n#END_TB\n",
             threads, version, version >= 4 ? "-enable lineinfo = 0\n" : "",
             body);
    return s;
}

/* heddle_trace_open, whose error is a code and, unless room is 0, a text. */
static inline heddle_workload *trace_open(const char *path,
                                          const struct heddle_trace_options *o,
                                          int *status, char *text, size_t room)
{
    struct heddle_error error;
    heddle_workload *w = heddle_trace_open(path, o, &error);

    *status = error.code;
    if (room != 0)
        snprintf(text, room, "%s", error.text);
    return w;
}

static inline heddle_workload *kit_trace(struct kit *k, const char *path)
{
    int status;
    heddle_workload *w =
        trace_open(path, NULL, &status, k->text, sizeof k->text);

    if (w == NULL)
        print_message("# %s\n", k->text);
    assert_non_null(w);
    return w;
}

/* The status of opening what must not open. */
static inline int kit_fails(struct kit *k, const char *path)
{
    int status = 0;
    heddle_workload *w =
        trace_open(path, NULL, &status, k->text, sizeof k->text);

    assert_null(w);
    assert_true(status < 0 && k->text[0] != '\0');
    return status;
}

static inline void kit_put(struct kit *k, const char *fmt, ...)
{
    va_list ap;

    if (k->n + 4096 > k->room) {
        k->room = k->room * 2 + 8192;
        k->ops = realloc(k->ops, k->room);
    }
    va_start(ap, fmt);
    k->n += (size_t)vsnprintf(k->ops + k->n, k->room - k->n, fmt, ap);
    va_end(ap);
}

/*
 * Everything a workload does, one operation a line:
 *     block.warp kind count gGROUP pc wN.N sN mMASK /bytes space addresses
 * wait and slot are left out where there is none, the mask where it is full,
 * and the group of a run where that is all of it or not known;
 * affine addresses are base+stride of lane 0, others a list.
 */
static inline void kit_op(struct kit *k, struct hd_source *s, uint32_t ctx,
                          uint64_t block, uint32_t warp, const struct hd_op *o)
{
    kit_put(k, "%llu.%u %s", (unsigned long long)block, warp,
            heddle_op_name(o->kind));
    if (o->count != 1)
        kit_put(k, " x%u", o->count);
    if (o->kind == HEDDLE_OP_ALU && o->bytes != 0 && o->bytes < o->count)
        kit_put(k, " g%u", o->bytes);
    kit_put(k, " %x", o->pc);
    for (uint32_t w = o->wait; w != 0; w &= w - 1)
        kit_put(k, " w%d", __builtin_ctz(w));
    if (o->slot != HD_NO_SLOT)
        kit_put(k, " s%u", o->slot);
    if (o->mask != 0xffffffff)
        kit_put(k, " m%llx", (unsigned long long)o->mask);
    if (o->kind >= HEDDLE_OP_LOAD && o->kind <= HEDDLE_OP_ATOMIC) {
        struct hd_access a = {0};
        s->ops->access(s->self, ctx, warp, &a);
        kit_put(k, " /%u%s", o->bytes,
                o->space == HD_SPACE_LOCAL ? " local" : "");
        if (a.lane == NULL && o->mask != 0)
            kit_put(k, " %llx%+lld", (unsigned long long)a.base.v,
                    (long long)a.stride);
        for (uint64_t m = o->mask; a.lane != NULL && m != 0; m &= m - 1)
            kit_put(k, " %llx",
                    (unsigned long long)a.lane[__builtin_ctzll(m)].v);
    }
    kit_put(k, "\n");
}

static inline const char *kit_ops(struct kit *k, heddle_workload *w)
{
    struct hd_source *s = hd_workload_source(w);
    struct hd_arena arena;
    struct heddle_error err = {0};
    struct hd_env env = {.arena = &arena, .err = &err, .apps = 1};
    struct hd_launch l;
    uint32_t ctx;
    int r;

    k->n = 0;
    kit_put(k, "%s", "");
    assert_int_equal(hd_arena_open(&arena, 1 << 26), 0);
    assert_int_equal(s->ops->bind(s->self, &env, 0, 32, 64), 0);
    for (l = (struct hd_launch){0}; (r = s->ops->launch(s->self, &l)) == 1;
         l = (struct hd_launch){0}) {
        kit_put(k, "%s %u\n", l.name, l.id);
        for (uint64_t b = 0; b < l.blocks; b++) {
            assert_int_equal(s->ops->block_start(s->self, b, &ctx), 0);
            for (uint32_t i = 0; i < l.warps; i++) {
                struct hd_op o;
                do {
                    s->ops->next(s->self, ctx, i, &o);
                    kit_op(k, s, ctx, b, i, &o);
                } while (o.kind != HEDDLE_OP_EXIT);
            }
            s->ops->block_end(s->self, ctx);
        }
    }
    assert_int_equal(r, 0);
    s->ops->unbind(s->self);
    hd_arena_close(&arena);
    return k->ops;
}

/* The ops of one warp of a kernel of `version`, without the first line. */
static inline const char *kit_warp(struct kit *k, int version, int insts,
                                   const char *lines)
{
    char *body = malloc(strlen(lines) + 64);

    sprintf(body, "warp = 0\ninsts = %d\n%s", insts, lines);
    char *text = kit_kernel(version, 32, body);
    heddle_workload *w = kit_trace(k, kit_write(k, "kernel-1.traceg", text));
    const char *ops = kit_ops(k, w);
    heddle_workload_free(w);
    free(text);
    free(body);
    assert_memory_equal(ops, "k 1\n", 4);
    return ops + 4;
}

/* How often the reader stumbled over something. */
static inline uint64_t kit_note(heddle_workload *w, const char *name)
{
    struct heddle_trace_note n;

    for (uint32_t i = 0; heddle_trace_note(w, i, &n) == 0; i++) {
        if (strcmp(n.name, name) == 0)
            return n.count;
    }
    fail_msg("no note %s", name);
    return 0;
}

#endif
