/*
 * 812-no-memory.c - memory may run out anywhere.  Pinned: whichever allocation
 * of a run fails, alone or with all that follow, the run ends with
 * HEDDLE_ENOMEM and the one text of that, the command with status 71 and the
 * same text; nothing crashes, everything that was taken is given back, and no
 * part of a file is left.  What does as well without the memory (a buffer of
 * stdio, a cache of SQLite) may end as it would have, with the same results.
 *
 * The functions of malloc and mmap are put before those of the C library, so
 * that the libraries that heddle uses run out of memory, too.  In C every place
 * is tried, in the command some hundred.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "folder.h"
#include "heddle_generate.h"
#include "part/tool_part.h"
#include "heddle_survey.h"
#include "heddle_trace.h"
#include "heddle_survey.h"
#include "kasm.h"
#include "policy.h"
#include "texts.h"

/* The command, as a function: of the program that it is, one is enough. */
int command_main(int argc, char **argv);
#define main command_main
#include "command/main.c"
#undef main

/* ---- memory that runs out ------------------------------------------------ */

#define OVER __attribute__((visibility("default")))

static struct {
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void *(*aligned_alloc)(size_t, size_t);
    void (*free)(void *);
    void *(*mmap)(void *, size_t, int, int, int, off_t);
} real;

static struct {
    bool on;
    bool resized; /* realloc, too, which is Lua's */
    bool forever; /* all from that place on */
    long place;   /* the one that fails, 1, 2, ... */
    long seen, failed;
    long live; /* blocks that are not freed */
} memory;

/* For dlsym, before there is a malloc. */
static unsigned char early[8192];
static size_t early_used;

static void *early_calloc(size_t n)
{
    void *p = early + early_used;

    early_used += (n + 15) / 16 * 16;
    if (early_used > sizeof early)
        _exit(99);
    return p;
}

static void find_real(void)
{
    static bool finding;

    if (finding || real.free != NULL)
        return;
    finding = true;
    *(void **)&real.malloc = dlsym(RTLD_NEXT, "malloc");
    *(void **)&real.calloc = dlsym(RTLD_NEXT, "calloc");
    *(void **)&real.realloc = dlsym(RTLD_NEXT, "realloc");
    *(void **)&real.aligned_alloc = dlsym(RTLD_NEXT, "aligned_alloc");
    *(void **)&real.mmap = dlsym(RTLD_NEXT, "mmap");
    *(void **)&real.free = dlsym(RTLD_NEXT, "free");
    finding = false;
}

/* Whether this allocation is to fail. */
static bool fails(bool resizes)
{
    if (!memory.on || (resizes && !memory.resized))
        return false;
    memory.seen++;
    if (memory.seen < memory.place ||
        (memory.seen > memory.place && !memory.forever))
        return false;
    memory.failed++;
    errno = ENOMEM;
    return true;
}

static void *counted(void *p)
{
    memory.live += p != NULL;
    return p;
}

OVER void *malloc(size_t n)
{
    find_real();
    if (real.malloc == NULL)
        return early_calloc(n);
    return fails(false) ? NULL : counted(real.malloc(n));
}

OVER void *calloc(size_t n, size_t size)
{
    find_real();
    if (real.calloc == NULL)
        return early_calloc(n * size);
    return fails(false) ? NULL : counted(real.calloc(n, size));
}

OVER void *aligned_alloc(size_t align, size_t n)
{
    find_real();
    return fails(false) ? NULL : counted(real.aligned_alloc(align, n));
}

OVER void *realloc(void *p, size_t n)
{
    void *q;

    find_real();
    if (fails(true))
        return NULL;
    q = real.realloc(p, n);
    memory.live += p == NULL && q != NULL;
    return q;
}

OVER void free(void *p)
{
    unsigned char *b = p;

    if (p == NULL || (b >= early && b < early + sizeof early))
        return;
    memory.live--;
    real.free(p);
}

/* A sanitizer has its own, past malloc. */
OVER char *strdup(const char *s)
{
    size_t n = strlen(s) + 1;
    char *p = malloc(n);

    return p != NULL ? memcpy(p, s, n) : NULL;
}

OVER void *mmap(void *at, size_t n, int prot, int flags, int fd, off_t offset)
{
    find_real();
    if (fails(false))
        return MAP_FAILED;
    return real.mmap(at, n, prot, flags, fd, offset);
}

/* ---- runs ---------------------------------------------------------------- */

static char dir[FOLDER];
static char said[2048]; /* the text of the run's error */

static const char *in_dir(const char *name)
{
    static char out[4][400];
    static int at;

    at = (at + 1) % 4;
    snprintf(out[at], sizeof out[at], "%s/%s", dir, name);
    return out[at];
}

/* A call that may fail; goes on if it has not.  Both names are the run's. */
#define TRY(call)                                                              \
    do {                                                                       \
        if (rc >= 0)                                                           \
            rc = (call);                                                       \
    } while (0)

static int tell(int rc, const char *text)
{
    if (rc < 0)
        snprintf(said, sizeof said, "%s", text);
    return rc;
}

/* The text is asked for once the call has returned. */
static int last;
#define tell(rc, text) (last = (rc), (tell)(last, text))

/* A call whose only error is the want of memory. */
static int made(const void *p)
{
    return p != NULL ? 0 : tell(HEDDLE_ENOMEM, HEDDLE_NO_MEMORY);
}

static struct kasm a;

static int host(void *ud, heddle_host *h, struct heddle_launch *l)
{
    size_t bytes;
    int32_t count = 0;
    const void *p = heddle_host_state(h, &bytes);
    int rc;

    (void)ud;
    if (bytes == sizeof count)
        memcpy(&count, p, sizeof count);
    if (count++ == 2)
        return 0;
    rc = heddle_host_write(h, 0, 5, (union heddle_value){.i = count});
    l->args = 1;
    l->arg[0].i = count;
    return rc == 0 && heddle_host_set_state(h, &count, sizeof count) == 0 ? 1
                                                                          : -1;
}

enum { N = 8192 };

/* x[tid] = x[tid] * 3 + k, with data at the start and a host with state. */
static int program(heddle_workload **out)
{
    heddle_program *p = heddle_program_new("memory");
    heddle_data *d = NULL;
    int rc = made(p);

    if (rc == 0)
        rc = made(d = heddle_data_new(HEDDLE_I32, N / 2));
    TRY(tell(heddle_program_buffer(p, "x", HEDDLE_I32, N, HEDDLE_CONTENTS, d),
             heddle_program_error(p)->text));
    heddle_data_free(d);
    kasm_scale(&a, N);
    TRY(tell(kasm_add(&a, p), heddle_program_error(p)->text));
    TRY(heddle_program_host(p, host, NULL, NULL, "host", 4));
    if (rc >= 0) {
        *out = heddle_program_workload(p);
        rc = *out != NULL ? 0 : tell(HEDDLE_ENOMEM, heddle_program_error(p)->text);
    }
    heddle_program_free(p);
    return rc < 0 ? rc : 0;
}

static int trace(heddle_workload **out, const char *path)
{
    struct heddle_error error;

    *out = heddle_trace_open(path, NULL, &error);
    return tell(error.code, error.text);
}

static int use(heddle_sim *s, const char *name, const char *at)
{
    return tell(heddle_use(s, heddle_policy_find(name, NULL), at, NULL, NULL, 0,
                           0),
                heddle_policy_error(s)->text);
}

static uint64_t state; /* hash of a run that has gone well */

/* Two applications and their policies: run, taken, put back, run to the end. */
static int machine(const char *paging, const char *memory_bytes)
{
    heddle_workload *w[2] = {NULL, NULL};
    heddle_snapshot *k = NULL;
    heddle_sim *s = NULL;
    heddle_config *c = heddle_config_new();
    struct heddle_error error;
    int rc = made(c);

    if (rc == 0)
        rc = program(&w[0]);
    TRY(trace(&w[1], "scenarios/data/vecadd.hdt"));
    TRY(tell(heddle_config_set(c, "core.count", "2"), heddle_config_error(c)->text));
    TRY(tell(heddle_config_set(c, "sim.stop_cycles", "20000"), heddle_config_error(c)->text));
    TRY(tell(heddle_config_set(c, "vm.paging", paging), heddle_config_error(c)->text));
    TRY(tell(heddle_config_set(c, "vm.memory_bytes", memory_bytes), heddle_config_error(c)->text));
    if (rc == 0) {
        s = heddle_new(c, NULL, w, 2, &error);
        rc = tell(error.code, error.text);
    }
    TRY(use(s, "mask", NULL));
    TRY(use(s, "srrip", "l2cache"));
    TRY(use(s, "random", "l1tlb"));
    TRY(tell(heddle_run(s, 3000), heddle_error(s)->text));
    TRY(tell(heddle_snapshot_take(s, &k), heddle_error(s)->text));
    TRY(tell(heddle_run(s, 3000), heddle_error(s)->text));
    TRY(tell(heddle_snapshot_restore(s, k), heddle_error(s)->text));
    TRY(tell(heddle_snapshot_take(s, &k), heddle_error(s)->text));
    TRY(tell(heddle_run(s, UINT64_MAX), heddle_error(s)->text));
    TRY(tell(heddle_check(s), heddle_error(s)->text));
    if (rc >= 0)
        state = heddle_state_hash(s);
    heddle_snapshot_free(k);
    heddle_free(s);
    heddle_workload_free(w[0]);
    heddle_workload_free(w[1]);
    heddle_config_free(c);
    return rc;
}

static int plain_machine(void)
{
    return machine("none", "1073741824");
}

static int paging_machine(void)
{
    return machine("fault", "268435456");
}

static int each_op(void *ud, const struct heddle_each_op *op)
{
    (void)op;
    ++*(uint64_t *)ud;
    return 0;
}

/* Text to container, container to text; a recording. */
static int traces(void)
{
    heddle_workload *w = NULL;
    uint64_t ops = 0;
    int rc = heddle_trace_convert(in_dir("app"), in_dir("out.hdt"), said,
                                  sizeof said);

    TRY(heddle_trace_contexts(in_dir("out.hdt"), said, sizeof said));
    TRY(trace(&w, in_dir("out.hdt")));
    TRY(heddle_trace_verify(w, said, sizeof said));
    TRY(heddle_trace_dump(w, &(struct heddle_trace_select){0}, each_op, &ops,
                          said, sizeof said));
    TRY(heddle_trace_record(w, in_dir("copy.hdt"), 0, said, sizeof said));
    heddle_workload_free(w);
    w = NULL;
    TRY(trace(&w, in_dir("app")));
    TRY(heddle_trace_dump(w, &(struct heddle_trace_select){0}, each_op, &ops,
                          said, sizeof said));
    heddle_workload_free(w);
    w = NULL;
    TRY(program(&w));
    TRY(heddle_trace_record(w, in_dir("program.hdt"), 0, said, sizeof said));
    heddle_workload_free(w);
    state = ops;
    return rc;
}

static int surveys(void)
{
    struct heddle_survey_options o = {.columns = 16, .rows = 8};
    heddle_survey *s = NULL;
    heddle_workload *w = NULL;
    int rc = program(&w);

    TRY(heddle_survey_run(w, &o, &s, said, sizeof said));
    state = rc < 0 ? 0 : heddle_survey_result(s)->pages;
    heddle_survey_free(s);
    heddle_workload_free(w);
    return rc;
}

/* A block that was made, or the code of the words that say why not. */
static int block(heddle_data *d)
{
    int rc = d != NULL                              ? 0
             : strcmp(said, HEDDLE_NO_MEMORY) == 0 ? HEDDLE_ENOMEM
                                                    : HEDDLE_EINVAL;
    heddle_data_free(d);
    return rc;
}

static int generators(void)
{
    struct heddle_graph_spec spec[] = {
        {.kind = HEDDLE_GRAPH_UNIFORM, .n = 64, .lo = 1, .hi = 4},
        {.kind = HEDDLE_GRAPH_RANDOM, .n = 64, .edges = 99},
        {.kind = HEDDLE_GRAPH_RMAT, .scale = 6, .edges = 99, .permute = 1,
         .a = 0.5, .b = 0.2, .c = 0.2},
        {.kind = HEDDLE_GRAPH_GRID, .width = 8, .height = 8},
    };
    struct heddle_genome_spec genome = {
        .bases = 500, .reads = 4, .length = 25, .gc = 0.4};
    struct heddle_mesh_spec mesh = {.nx = 2, .ny = 2, .nz = 2, .window = 8, .multiple = 32};
    struct heddle_suffix_tree tree;
    struct heddle_clusters cl;
    struct heddle_graph g;
    size_t room = sizeof said;
    int rc = 0;

    for (size_t i = 0; i < HD_LEN(spec); i++) {
        TRY(heddle_generate_graph(&spec[i], &g, said, room));
        if (rc < 0)
            break;
        TRY(block(heddle_generate_levels(&g, 0, said, room)));
        heddle_graph_free(&g);
    }
    TRY(block(heddle_generate_ints(9, 0, 5, 1, said, room)));
    TRY(block(heddle_generate_floats(9, 1, said, room)));
    TRY(block(heddle_generate_permutation(9, 1, said, room)));
    TRY(block(heddle_generate_zipf(9, 5, 1, 1, said, room)));
    TRY(block(heddle_generate_starts(9, 4, said, room)));
    TRY(block(heddle_generate_memcached(6, 40, 1, said, room)));
    TRY(block(heddle_generate_mesh(&mesh, said, room)));
    if (rc >= 0) {
        rc = heddle_generate_clusters(20, 2, 3, 1, &cl, said, room);
        if (rc >= 0)
            heddle_clusters_free(&cl);
    }
    if (rc >= 0) {
        rc = heddle_generate_suffix_tree(&genome, &tree, said, room);
        if (rc >= 0)
            heddle_suffix_tree_free(&tree);
    }
    return rc;
}

static int parts(void)
{
    struct heddle_part_dram_result r;
    heddle_part_dram *d = heddle_part_dram_new();
    heddle_part_tags *t = NULL;
    int rc = made(d);

    for (uint64_t i = 0; i < 300; i++)
        TRY(tell(heddle_part_dram_add(d, i * 4096, 0, i),
                 heddle_part_dram_error(d)));
    TRY(tell(heddle_part_dram_run(d, &r), heddle_part_dram_error(d)));
    if (rc >= 0)
        rc = made(t = heddle_part_cache_new());
    TRY(tell(heddle_part_tags_set(t, "policy", "srrip"),
             heddle_part_tags_error(t)));
    for (uint64_t i = 0; i < 30; i++)
        TRY(tell(heddle_part_tags_access(t, i * 128, 0),
                 heddle_part_tags_error(t)));
    heddle_part_tags_free(t);
    heddle_part_dram_free(d);
    return rc;
}

/* ---- trials -------------------------------------------------------------- */

static void put_file(const char *name, const char *text)
{
    FILE *f = fopen(in_dir(name), "w");

    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

/* Removes what runs have written; nothing of it may be half a file. */
static void sweep(void)
{
    static const char *const given[] = {".",        "..",       "app",
                                        "script.lua"};
    DIR *d = opendir(dir);
    struct dirent *e;
    struct stat st;

    assert_non_null(d);
    while ((e = readdir(d)) != NULL) {
        bool ours = false;

        for (size_t i = 0; i < HD_LEN(given); i++)
            ours |= strcmp(e->d_name, given[i]) == 0;
        if (ours)
            continue;
        assert_null(strstr(e->d_name, ".part"));
        if (strstr(e->d_name, ".hdt") != NULL) {
            char why[256] = "";
            int n = heddle_trace_contexts(in_dir(e->d_name), why, sizeof why);
            if (n < 1)
                print_message("# %s: %s\n", e->d_name, why);
            assert_int_equal(n, 1);
        }
        assert_int_equal(stat(in_dir(e->d_name), &st), 0);
        assert_int_equal(unlink(in_dir(e->d_name)), 0);
    }
    closedir(d);
}

struct outcome {
    long tried, told, did; /* did: ended well without that memory */
};

static int trial(int (*run)(void), long place, bool forever)
{
    int rc;

    said[0] = '\0';
    memory.place = place;
    memory.forever = forever;
    memory.seen = memory.failed = 0;
    memory.on = true;
    rc = run();
    memory.on = false;
    return rc;
}

/* Fails every place of a run in turn. */
static void every_place(const char *name, int (*run)(void))
{
    struct outcome o = {0, 0, 0};
    uint64_t want;
    long before;
    int rc;

    memory.resized = true;
    rc = trial(run, 0, false); /* what is kept for good is there */
    if (rc < 0)
        print_message("# %s: %d %s\n", name, rc, said);
    assert_true(rc >= 0);
    sweep();
    want = state;
    for (int forever = 0; forever < 2; forever++) {
        for (long n = 1;; n++) {
            before = memory.live;
            rc = trial(run, n, forever);
            if (memory.failed == 0)
                break;
            o.tried++;
            o.told += rc == HEDDLE_ENOMEM;
            o.did += rc >= 0;
            if (rc < 0 ? rc != HEDDLE_ENOMEM ||
                             strcmp(said, HEDDLE_NO_MEMORY) != 0
                       : state != want)
                print_message("# %s, place %ld%s: %d %s\n", name, n,
                              forever ? " and on" : "", rc, said);
            if (memory.live != before)
                print_message("# %s, place %ld%s: %ld blocks are not freed\n",
                              name, n, forever ? " and on" : "",
                              memory.live - before);
            if (rc < 0) {
                assert_int_equal(rc, HEDDLE_ENOMEM);
                assert_string_equal(said, HEDDLE_NO_MEMORY);
            } else {
                assert_int_equal(state, want);
            }
            assert_int_equal(memory.live, before);
            sweep();
        }
        sweep();
    }
    print_message("# %s: %ld failures, %ld told, %ld did without\n", name,
                  o.tried, o.told, o.did);
    assert_true(o.told > o.tried / 2);
}

static void in_c(void **unused)
{
    (void)unused;
    every_place("generators", generators);
    every_place("parts", parts);
    every_place("surveys", surveys);
    every_place("traces", traces);
    every_place("machine", plain_machine);
    every_place("paging", paging_machine);
}

/* ---- the command --------------------------------------------------------- */

/* The command's standard error while it runs goes to `said`. */
static int command(void)
{
    char name[] = "heddle", verb[] = "run", file[128];
    char *argv[] = {name, verb, file, NULL};
    int kept, fd, rc;
    ssize_t n;

    memory.on = false;
    snprintf(file, sizeof file, "%s", in_dir("script.lua"));
    kept = dup(2);
    fd = open(in_dir("stderr"), O_RDWR | O_CREAT | O_TRUNC, 0600);
    dup2(fd, 2);
    memory.on = true;
    rc = command_main(3, argv);
    memory.on = false;
    dup2(kept, 2);
    close(kept);
    n = pread(fd, said, sizeof said - 1, 0);
    said[n > 0 ? n : 0] = '\0';
    close(fd);
    return rc;
}

/* Fails so many places of the command, evenly spread. */
static void some_places(bool resized, bool forever, long tries)
{
    struct outcome o = {0, 0, 0};
    long all, step, before;

    memory.resized = resized;
    trial(command, 0, false);
    trial(command, 0, false);
    all = memory.seen;
    step = all / tries + 1;
    for (long n = 1; n <= all; n += step) {
        before = memory.live;
        int rc = trial(command, n, forever);
        o.tried++;
        o.told += rc == EXIT_OS;
        o.did += rc == 0;
        if (memory.live != before)
            print_message("# place %ld: %ld blocks are not freed\n", n,
                          memory.live - before);
        if (rc != 0) {
            if (rc != EXIT_OS)
                print_message("# place %ld: %s\n", n, said);
            assert_int_equal(rc, EXIT_OS);
            assert_string_equal(said, "heddle: " HEDDLE_NO_MEMORY "\n");
        }
        assert_int_equal(memory.live, before);
        sweep();
    }
    print_message("# command, %ld places%s: %ld failures, %ld told, %ld did "
                  "without\n",
                  all, forever ? ", and on" : "", o.tried, o.told, o.did);
    assert_true(o.told > 0);
}

static void in_lua(void **unused)
{
    (void)unused;
    put_file("script.lua",
             "local H = require 'heddle'\n"
             "local sqlite = require 'heddle.sqlite'\n"
             "local f32 = H.kernel.f32\n"
             "local g = H.generator { name = 'g', buffers = { f32('a', 9999) },\n"
             "    kernels = function(p, b) return { { name = 'one', grid = 8,\n"
             "        block = 64, warp = function(t)\n"
             "            for i = 1, 100 do\n"
             "                t:load(b.a, function(l) return l * i end)\n"
             "            end\n"
             "        end } } end }\n"
             "local function sim()\n"
             "    local s = H.sim { machine = 'maxwell', progress = false,\n"
             "        apps = { H.app('BFS2', { size = 'T' }), g },\n"
             "        settings = { ['core.count'] = 2 } }\n"
             "    s:use('policies/random.lua', { at = 'l2tlb' })\n"
             "    return s\n"
             "end\n"
             "local a, b = sim(), sim()\n"
             "a:run(1000)\n"
             "local snap = a:snapshot()\n"
             "a:run(500)\n"
             "b:restore(snap)\n"
             "snap = b:snapshot(snap)\n"
             "b:run(500)\n"
             "assert(b:results().cycles == 1500)\n"
             "local t = H.trace(H.here('app'))\n"
             "H.sim { machine = 'maxwell', apps = { t } }:run(100)\n"
             "local db <close> = sqlite.open ':memory:'\n"
             "db:exec 'create table if not exists t (v real)'\n"
             "db:exec('insert into t values (?)', 1.5)\n"
             "assert(#db:exec 'select * from t' > 0)\n"
             "assert(not pcall(db.exec, db, 'select ?', {}))\n");
    some_places(false, false, 150);
    some_places(true, true, 200);
}

static int set_up(void **unused)
{
    (void)unused;
    if (folder_make(dir) == NULL || mkdir(in_dir("app"), 0700) != 0)
        return -1;
    put_file("app/kernelslist.g",
             "MemcpyHtoD,0x0000000000001000,4096\nkernel-1.traceg\n");
    put_file("app/kernel-1.traceg",
             "-kernel name = scale\n-kernel id = 1\n-grid dim = (2,1,1)\n"
             "-block dim = (32,1,1)\n-shmem = 0\n-nregs = 16\n"
             "-binary version = 70\n-shmem base_addr = 0x00007f0000000000\n"
             "-local mem base_addr = 0x00007f1000000000\n"
             "-accelsim tracer version = 4\n\n"
             "#traces format = [line_num] PC mask dest_num\n\n"
             "#BEGIN_TB\nthread block = 0,0,0\nwarp = 0\ninsts = 3\n"
             "0000 0000000f 1 R2 LDG.E.SYS 1 R4 4 1 0x1000 4 0\n"
             "0010 0000000f 0 STL 2 R1 R2 4 1 0x7f1000fffd00 0 0\n"
             "0020 ffffffff 0 EXIT 0 0 0\n#END_TB\n"
             "#BEGIN_TB\nthread block = 1,0,0\nwarp = 0\ninsts = 2\n"
             "0000 80000001 1 R2 LDG.E.64 1 R4 8 0 0x2000 0x1abc8 0\n"
             "0020 ffffffff 0 EXIT 0 0 0\n#END_TB\n");
    return 0;
}

static int tear_down(void **unused)
{
    (void)unused;
    unlink(in_dir("app/kernelslist.g"));
    unlink(in_dir("app/kernel-1.traceg"));
    rmdir(in_dir("app"));
    unlink(in_dir("script.lua"));
    sweep();
    return rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_c),
        cmocka_unit_test(in_lua),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
