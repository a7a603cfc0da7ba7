/*
 * 811-snapshot-life.c - who needs whom.  Pinned: a snapshot, the simulation
 * that it was taken from, one that it is restored into, and the workloads of
 * both may be freed in any order; whatever is left after each can be used: a
 * simulation runs to the same end, a snapshot is restored and is taken again.
 * All 120 orders are tried, with a program that writes its buffers and has a
 * host with state, so that a snapshot holds all that there is outside the
 * arena; a generator's outlives the script, too.  A simulation that found fewer
 * addresses refuses the snapshot of a larger one, and goes on.  One that reads a
 * file whose checksum is right, whatever is behind it, takes it or refuses it.
 *
 * SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

#include "folder.h"
#include "kasm.h"
#include "kit/grow.h"
#include "kit/rng.h"
#include "lua/lheddle.h"
#include "simulation.h"
#include "texts.h"

static struct kasm a;

enum { N = 16384, LAUNCHES = 3, CUT = 2000 };

static int host(void *ud, heddle_host *h, struct heddle_launch *l)
{
    size_t bytes;
    const void *p = heddle_host_state(h, &bytes);
    int32_t count = 0;

    (void)ud;
    if (bytes == sizeof count)
        memcpy(&count, p, sizeof count);
    if (count++ == LAUNCHES)
        return 0;
    l->args = 1;
    l->arg[0].i = count;
    return heddle_host_set_state(h, &count, sizeof count) == 0 ? 1 : -1;
}

static heddle_workload *workload(void)
{
    heddle_program *p = heddle_program_new("life");
    heddle_workload *w;

    assert_int_equal(
        heddle_program_buffer(p, "x", HEDDLE_I32, N, HEDDLE_CONTENTS, NULL), 0);
    kasm_scale(&a, N);
    assert_int_equal(kasm_add(&a, p), 0);
    heddle_program_host(p, host, NULL, NULL, "host", 4);
    w = heddle_program_workload(p);
    assert_non_null(w);
    heddle_program_free(p);
    return w;
}

static heddle_sim *simulation(heddle_workload *w)
{
    heddle_config *c = heddle_config_new();
    heddle_sim *s;

    heddle_config_set(c, "core.count", "2");
    s = heddle_new(c, NULL, &w, 1, NULL);
    assert_non_null(s);
    heddle_config_free(c);
    return s;
}

/* Runs to the end, which every run has at the same state. */
static void finish(heddle_sim *s)
{
    static uint64_t want;
    uint64_t outside, arena;

    assert_int_equal(heddle_run(s, UINT64_MAX), HEDDLE_DONE);
    heddle_memory(s, &arena, &outside);
    assert_int_equal(outside, 4 * N + 4);
    if (want == 0)
        want = heddle_state_hash(s);
    assert_int_equal(heddle_state_hash(s), want);
}

enum { FROM, FROM_WORKLOAD, SNAPSHOT, INTO, INTO_WORKLOAD, KINDS };

struct all {
    heddle_workload *w[2];
    heddle_sim *s[2];
    heddle_snapshot *k;
};

static void make(struct all *t)
{
    *t = (struct all){{workload(), workload()}, {NULL, NULL}, NULL};
    for (int i = 0; i < 2; i++)
        t->s[i] = simulation(t->w[i]);
    assert_int_equal(heddle_run(t->s[0], CUT), HEDDLE_OK);
    assert_int_equal(heddle_snapshot_take(t->s[0], &t->k), 0);
    assert_int_equal(heddle_run(t->s[0], CUT), HEDDLE_OK);
    assert_int_equal(heddle_snapshot_restore(t->s[1], t->k), 0);
}

static void let_go(struct all *t, int what)
{
    switch (what) {
    case FROM:
    case INTO:
        heddle_free(t->s[what == INTO]);
        t->s[what == INTO] = NULL;
        break;
    case FROM_WORKLOAD:
    case INTO_WORKLOAD:
        heddle_workload_free(t->w[what == INTO_WORKLOAD]);
        break;
    default:
        heddle_snapshot_free(t->k);
        t->k = NULL;
    }
}

/* What is left is as it was. */
static void use(struct all *t)
{
    for (int i = 0; i < 2; i++) {
        if (t->s[i] == NULL)
            continue;
        finish(t->s[i]);
        if (t->k == NULL)
            continue;
        assert_int_equal(heddle_snapshot_restore(t->s[i], t->k), 0);
        assert_int_equal(heddle_now(t->s[i]), CUT);
        assert_int_equal(heddle_run(t->s[i], CUT), HEDDLE_OK);
        assert_int_equal(heddle_snapshot_restore(t->s[i], t->k), 0);
        assert_int_equal(heddle_snapshot_take(t->s[i], &t->k), 0);
        finish(t->s[i]);
    }
}

/* The next order, as the library of C++ has it; false after the last. */
static bool next_order(int *v)
{
    int i = KINDS - 2, j = KINDS - 1, t;

    while (i >= 0 && v[i] > v[i + 1])
        i--;
    if (i < 0)
        return false;
    while (v[j] < v[i])
        j--;
    t = v[i], v[i] = v[j], v[j] = t;
    for (i++, j = KINDS - 1; i < j; i++, j--)
        t = v[i], v[i] = v[j], v[j] = t;
    return true;
}

static void any_order(void **state)
{
    int order[KINDS] = {0, 1, 2, 3, 4}, tried = 0;

    (void)state;
    do {
        struct all t;

        make(&t);
        for (int i = 0; i < KINDS; i++) {
            let_go(&t, order[i]);
            if (tried % 4 == 0 || i == KINDS - 2)
                use(&t);
        }
        tried++;
    } while (next_order(order));
    assert_int_equal(tried, 120);
}

/* The coroutines of its warps go with the state of Lua, what they gave does not.
 */
static void behind_the_script(void **state)
{
    static const char script[] =
        "local H = require 'heddle'\n"
        "return H.sim { machine = 'fermi', apps = { H.generator { name = 'g',\n"
        "    buffers = { H.kernel.f32('a', 9999) },\n"
        "    kernels = function(p, b) return { { name = 'one', grid = 4,\n"
        "        block = 64, warp = function(t)\n"
        "            while true do t:load(b.a, math.random(0, 9000)) end\n"
        "        end } } end } } }.core";
    lua_State *L = luaL_newstate();
    heddle_snapshot *k = NULL;
    heddle_sim **s;

    (void)state;
    luaL_openlibs(L);
    hl_embed_preload(L);
    assert_int_equal(luaL_dostring(L, script), LUA_OK);
    s = luaL_checkudata(L, -1, HL_SIM);
    assert_int_equal(heddle_run(*s, CUT), HEDDLE_OK);
    assert_int_equal(heddle_snapshot_take(*s, &k), 0);
    assert_int_equal(heddle_run(*s, 10 * CUT), HEDDLE_OK);
    lua_close(L);
    heddle_snapshot_free(k);
}

static void fewer_addresses(void **state)
{
    struct all t;
    size_t found;

    (void)state;
    make(&t);
    found = t.s[1]->arena.reserved;
    /* as if it had been built under ulimit -v */
    t.s[1]->arena.reserved = t.s[1]->arena.used - 1;
    assert_int_equal(heddle_snapshot_restore(t.s[1], t.k), HEDDLE_EINVAL);
    assert_text(heddle_error(t.s[1])->text, "(ulimit -v)");
    t.s[1]->arena.reserved = found;
    finish(t.s[1]);
    assert_int_equal(heddle_snapshot_restore(t.s[1], t.k), 0);
    finish(t.s[1]);
    for (int i = 0; i < KINDS; i++)
        let_go(&t, i);
}

/* Reads the file of these bytes, packed; 0 or an error. */
static int read_packed(heddle_sim *s, const char *path, const void *head,
                       size_t lines, const void *raw, size_t n)
{
    size_t room = lines + ZSTD_compressBound(n) + 8, at = lines;
    struct heddle_checkpoint c = {.build = "b"};
    unsigned char *out = malloc(room);
    heddle_snapshot *k;
    int rc;

    memcpy(out, head, lines);
    at += ZSTD_compress(out + at, room - at, raw, n, 1);
    hd_store64(out + at, XXH64(out, at, 0));
    assert_int_equal(heddle_save(path, out, at + 8, NULL, 0), 0);
    free(out);
    rc = heddle_snapshot_read(s, path, &k, &c);
    assert_true((rc == 0) == (k != NULL));
    assert_true(rc == 0 || rc == HEDDLE_EDATA || rc == HEDDLE_EINVAL);
    assert_true(rc == 0 || heddle_error(s)->text[0] != '\0');
    heddle_snapshot_free(k);
    return rc;
}

static void right_checksums(void **state)
{
    struct heddle_checkpoint c = {
        .build = "b", .note = "", .more = "more", .bytes = 4};
    char dir[FOLDER], path[128];
    struct hd_rng r = hd_rng_make(1, 811);
    unsigned char *file, *raw, *bad;
    size_t bytes, lines, n;
    struct all t;
    int taken = 0;
    FILE *f;

    (void)state;
    assert_non_null(folder_make(dir));
    snprintf(path, sizeof path, "%s/snapshot", dir);
    make(&t);
    assert_int_equal(heddle_snapshot_write(t.k, path, &c, NULL), 0);
    f = fopen(path, "rb");
    fseek(f, 0, SEEK_END);
    bytes = (size_t)ftell(f);
    rewind(f);
    file = malloc(bytes);
    assert_int_equal(fread(file, 1, bytes, f), bytes);
    fclose(f);
    lines = (size_t)(strstr((char *)file, "\n\n") - (char *)file) + 2;
    n = ZSTD_getFrameContentSize(file + lines, bytes - lines - 8);
    raw = malloc(n);
    bad = malloc(n);
    assert_int_equal(ZSTD_decompress(raw, n, file + lines, bytes - lines - 8),
                     n);
    assert_int_equal(read_packed(t.s[1], path, file, lines, raw, n), 0);
    for (int i = 0; i < 200; i++) {
        size_t size = i % 5 == 0 ? n - hd_rng_below(&r, 4000) : n;

        memcpy(bad, raw, n);
        for (int k = i % 5 != 0; k > 0; k = hd_rng_below(&r, 3) - 1) {
            uint32_t at = hd_rng_below(&r, 12000);
            bad[i % 2 == 0 ? at : n - 1 - at] = (unsigned char)hd_rng_next(&r);
        }
        taken += read_packed(t.s[1], path, file, lines, bad, size) == 0;
    }
    assert_in_range(taken, 1, 199); /* contents are believed, sizes are not */
    finish(t.s[1]);
    free(file);
    free(raw);
    free(bad);
    unlink(path);
    rmdir(dir);
    for (int i = 0; i < KINDS; i++)
        let_go(&t, i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_order),
        cmocka_unit_test(behind_the_script),
        cmocka_unit_test(fewer_addresses),
        cmocka_unit_test(right_checksums),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
