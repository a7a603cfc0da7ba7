/*
 * 453-trace-container.c - the container as a file.
 *
 * Pinned: a conversion gives the same operations, allocations, facts and hash
 * as the text; spilling to a temporary file changes nothing; a file cut at any
 * byte, or with any bit flipped, is an error that names it, never a crash;
 * an unfinished file leaves nothing behind; what cannot be written or found
 * has its own code; another version of the container is named, with what to do;
 * options repair headers, and refuse what is wrong with a trace.
 *
 * SPDX-License-Identifier: MIT
 */
#include "tracekit.h"

#include <dirent.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "kit/grow.h"
#include "kit/rng.h"
#include "heddle_survey.h"
#include "texts.h"

/* Two kernels: affine, lists, divergence, local memory, barriers. */
static void write_trace(const char *dir)
{
    static const char *const head =
        "-kernel name = kernel%u\n-kernel id = %u\n-grid dim = (%u,1,1)\n"
        "-block dim = (64,1,1)\n-shmem = 128\n-nregs = 16\n"
        "-shmem base_addr = 0x00007f0000000000\n"
        "-local mem base_addr = 0x00007f1000000000\n"
        "-accelsim tracer version = 4\n#traces format = x\n";
    char path[160];
    struct hd_rng r = hd_rng_make(1, 1);
    FILE *f;

    snprintf(path, sizeof path, "%s/kernelslist.g", dir);
    f = fopen(path, "w");
    fprintf(f, "MemcpyHtoD,0x00007f2000000000,65536\n"
               "cudaMalloc,0x7f2000000000,1048576\n"
               "cudaMalloc,0x7f3000000100,512\n"
               "kernel-1.traceg\n\nkernel-2.traceg\n");
    fclose(f);
    for (unsigned k = 1; k <= 2; k++) {
        unsigned blocks = k == 1 ? 30 : 7;
        snprintf(path, sizeof path, "%s/kernel-%u.traceg", dir, k);
        f = fopen(path, "w");
        fprintf(f, head, k, k, blocks);
        for (unsigned b = 0; b < blocks; b++) {
            fprintf(f, "#BEGIN_TB\n\nthread block = %u,0,0\n\n", b);
            for (unsigned w = 0; w < 2; w++) {
                unsigned loops = k == 1 ? 2 : hd_rng_below(&r, 4);
                fprintf(f, "warp = %u\ninsts = %u\n", w, 3 + loops * 3);
                fprintf(f, "0000 ffffffff 1 R2 S2R 0 0 0\n");
                for (unsigned i = 0; i < loops; i++) {
                    fprintf(f, "0010 ffffffff 1 R4 LDG.E 1 R2 4 1 0x%llx 4 0\n",
                            0x7f2000000000ull + (b * 2 + w) * 128 + i * 8192);
                    uint32_t m = (uint32_t)hd_rng_next(&r);
                    fprintf(f, "0020 %08x 1 R6 LDG.E 1 R4 4 0", m);
                    for (; m != 0; m &= m - 1)
                        fprintf(f, " 0x%llx",
                                0x7f4000000000ull + hd_rng_below(&r, 9999) * 4);
                    fprintf(f,
                            " 0\n0030 ffffffff 0 STL 2 R1 R6 4 1 "
                            "0x7f1000fffd%02x 0 0\n",
                            i * 4);
                }
                fprintf(f, "0040 ffffffff 0 BAR.SYNC 0 0 0\n"
                           "0050 ffffffff 0 EXIT 0 0 0\n\n");
            }
            fprintf(f, "#END_TB\n\n");
        }
        fclose(f);
    }
}

static char *ops_of(heddle_workload *w)
{
    return strdup(kit_ops(&kit, w));
}

static void same_facts(heddle_workload *a, heddle_workload *b)
{
    struct heddle_trace_info x, y;
    struct heddle_workload_alloc p, q;
    uint32_t i = 0;

    assert_int_equal(heddle_trace_info(a, &x), 0);
    assert_int_equal(heddle_trace_info(b, &y), 0);
    assert_string_equal(x.name, y.name);
    assert_int_equal(x.kernels, y.kernels);
    assert_int_equal(x.blocks, y.blocks);
    assert_int_equal(x.instructions, y.instructions);
    assert_int_equal(x.thread_instructions, y.thread_instructions);
    assert_int_equal(x.memory_instructions, y.memory_instructions);
    assert_int_equal(x.lane_addresses, y.lane_addresses);
    assert_int_equal(x.pages, y.pages);
    assert_int_equal(x.hash, y.hash);
    assert_int_equal(heddle_workload_hash(a), heddle_workload_hash(b));
    for (; heddle_workload_alloc(a, i, &p) == 0; i++) {
        assert_int_equal(heddle_workload_alloc(b, i, &q), 0);
        assert_string_equal(p.name, q.name);
        assert_int_equal(p.base, q.base);
        assert_int_equal(p.bytes, q.bytes);
    }
    assert_int_equal(heddle_workload_alloc(b, i, &q), HEDDLE_EINVAL);
    assert_int_equal(i, x.allocations + 1);
    for (i = 0;; i++) {
        struct heddle_trace_note m, n;
        if (heddle_trace_note(a, i, &m) != 0)
            break;
        assert_int_equal(heddle_trace_note(b, i, &n), 0);
        assert_int_equal(m.count, n.count);
        assert_string_equal(m.where, n.where);
    }
}

static void round_trip(void **state)
{
    char out[160], again[160];
    size_t n, m;

    (void)state;
    heddle_workload *text = kit_trace(&kit, kit.dir);
    char *ops = ops_of(text);
    snprintf(out, sizeof out, "%s/a.hdt", kit.dir);
    snprintf(again, sizeof again, "%s/b.hdt", kit.dir);
    assert_int_equal(heddle_trace_convert(kit.dir, out, kit.text, 1024), 0);
    heddle_workload *box = kit_trace(&kit, out);
    assert_string_equal(kit_ops(&kit, box), ops);
    same_facts(text, box);
    assert_int_equal(heddle_trace_verify(box, kit.text, 1024), 0);
    /* the container's container is the same file; so is a recording */
    assert_int_equal(heddle_trace_convert(out, again, kit.text, 1024), 0);
    unsigned char *a = kit_read(out, &n), *b = kit_read(again, &m);
    assert_int_equal(n, m);
    assert_memory_equal(a, b, n);
    free(b);
    assert_int_equal(heddle_trace_record(text, again, 0, kit.text, 1024), 0);
    b = kit_read(again, &m);
    assert_int_equal(n, m);
    assert_memory_equal(a, b, n);
    free(a);
    free(b);
    heddle_workload_free(text);
    heddle_workload_free(box);
    free(ops);
}

static void spill(void **state)
{
    struct heddle_trace_options o = {.keep = 1};
    int status;

    (void)state;
    heddle_workload *a = kit_trace(&kit, kit.dir);
    heddle_workload *b =
        trace_open(kit.dir, &o, &status, kit.text, 1024);
    assert_non_null(b);
    char *ops = ops_of(a);
    assert_string_equal(kit_ops(&kit, b), ops);
    same_facts(a, b);
    heddle_workload_free(a);
    heddle_workload_free(b);
    free(ops);
    /* a directory that does not take it */
    char old[256], bad[160];
    snprintf(old, sizeof old, "%s", getenv("TMPDIR") ? getenv("TMPDIR") : "");
    snprintf(bad, sizeof bad, "%s/none", kit.dir);
    setenv("TMPDIR", bad, 1);
    b = trace_open(kit.dir, &o, &status, kit.text, 1024);
    assert_null(b);
    assert_int_equal(status, HEDDLE_ECREATE);
    assert_text(kit.text, "convert");
    if (old[0] != '\0')
        setenv("TMPDIR", old, 1);
    else
        unsetenv("TMPDIR");
}

static void limits(void **state)
{
    struct heddle_trace_options o = {.resident = 100};
    struct hd_arena arena;
    struct heddle_error err = {0};
    struct hd_env env = {.arena = &arena, .err = &err, .apps = 1};
    struct hd_launch l;
    uint32_t ctx;
    int status;

    (void)state;
    heddle_workload *w =
        trace_open(kit.dir, &o, &status, kit.text, 1024);
    assert_non_null(w);
    struct hd_source *s = hd_workload_source(w);
    assert_int_equal(hd_arena_open(&arena, 1 << 26), 0);
    assert_int_equal(s->ops->bind(s->self, &env, 0, 32, 64), 0);
    assert_int_equal(s->ops->launch(s->self, &l), 1);
    assert_int_equal(s->ops->block_start(s->self, 0, &ctx), HEDDLE_EDATA);
    assert_text(err.text, "take more than 100 bytes");
    assert_text(err.text, "raise the limit `resident'");
    assert_null(strstr(err.text, "corrupt"));
    s->ops->unbind(s->self);
    hd_arena_close(&arena);
    heddle_workload_free(w);
    o = (struct heddle_trace_options){.context = 3};
    assert_null(trace_open(kit.dir, &o, &status, kit.text, 1024));
    assert_int_equal(status, HEDDLE_EINVAL);
}

/* The trace in text and as a container, opened with the same options. */
static void open_both(const struct heddle_trace_options *o,
                      heddle_workload *w[2])
{
    char out[160];
    int status;

    snprintf(out, sizeof out, "%s/both.hdt", kit.dir);
    assert_int_equal(heddle_trace_convert(kit.dir, out, kit.text, 1024), 0);
    w[0] = trace_open(kit.dir, o, &status, kit.text, 1024);
    w[1] = trace_open(out, o, &status, kit.text, 1024);
}

static void close_both(heddle_workload *w[2])
{
    heddle_workload_free(w[0]);
    heddle_workload_free(w[1]);
}

static void expect_headers(heddle_workload *w[2], uint32_t registers,
                           uint32_t shared, uint32_t binary)
{
    assert_int_equal(heddle_workload_hash(w[0]), heddle_workload_hash(w[1]));
    for (int i = 0; i < 2; i++) {
        struct heddle_trace_kernel k;
        for (uint32_t n = 0; heddle_trace_kernel(w[i], n, &k) == 0; n++) {
            assert_int_equal(k.registers, registers);
            assert_int_equal(k.shared_bytes, shared);
            assert_int_equal(k.binary, binary);
        }
    }
}

/* Options replace what headers say, of text and container alike: another
 * workload, which records as one that always said so.  Bad ones are refused. */
static void repairs(void **state)
{
    static const struct {
        struct heddle_trace_options o;
        const char *text;
    } bad[] = {
        {{.registers = 256}, "registers: a number from 1 to 255"},
        {{.binary_version = 34}, "binary_version: a number from 35 to 999"},
        {{.binary_version = 1000}, "not 1000"},
        {{.repair_shared = 1, .shared_bytes = (1 << 24) + 1},
         "shared_bytes: a number from 0 to 16777216"},
    };
    struct heddle_trace_options o = {0};
    heddle_workload *w[2];
    char out[160];
    int status;

    (void)state;
    open_both(&o, w);
    expect_headers(w, 16, 128, 0);
    uint64_t hash = heddle_workload_hash(w[0]);
    close_both(w);
    o.registers = 16; /* what it says */
    open_both(&o, w);
    expect_headers(w, 16, 128, 0);
    assert_int_equal(heddle_workload_hash(w[0]), hash);
    close_both(w);
    o = (struct heddle_trace_options){
        .registers = 255, .binary_version = 90, .repair_shared = 1};
    open_both(&o, w);
    expect_headers(w, 255, 0, 90);
    hash ^= heddle_workload_hash(w[0]);
    assert_true(hash != 0);
    snprintf(out, sizeof out, "%s/repaired.hdt", kit.dir);
    assert_int_equal(heddle_trace_record(w[1], out, 0, kit.text, 1024), 0);
    heddle_workload_free(w[1]);
    w[1] = kit_trace(&kit, out);
    expect_headers(w, 255, 0, 90);
    close_both(w);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_null(
            trace_open(kit.dir, &bad[i].o, &status, kit.text, 1024));
        assert_int_equal(status, HEDDLE_EINVAL);
        assert_text(kit.text, bad[i].text);
    }
}

/* Where strict, what is most likely wrong is an error that names the first
 * place in the text; a repaired header is not wrong any more. */
static void strict(void **state)
{
    static const char *const list = "%s/kernelslist.g";
    struct heddle_trace_options o = {.strict = 1};
    heddle_workload *w[2];
    char path[160], was[1024], text[64];

    (void)state;
    open_both(&o, w);
    expect_headers(w, 16, 128, 0);
    close_both(w);
    snprintf(path, sizeof path, list, kit.dir);
    size_t n;
    unsigned char *p = kit_read(path, &n);
    assert_true(n < sizeof was);
    memcpy(was, p, n);
    free(p);
    kit_write(&kit, "kernel-9.traceg",
              "-grid dim = (1,1,1)\n-block dim = (32,1,1)\n-nregs = 256\n"
              "-shmem = 128\n-binary version = 0\n#BEGIN_TB\n"
              "thread block = 0,0,0\nwarp = 0\ninsts = 1\n"
              "0000 ffffffff 0 EXIT 0 0\n#END_TB\n");
    kit_write(&kit, "kernelslist.g", "kernel-9.traceg\n");
    for (int i = 0; i < 3; i++) {
        o.registers = i > 0 ? 32 : 0;
        o.binary_version = i > 1 ? 35 : 0;
        open_both(&o, w);
        if (i == 2)
            break;
        assert_true(w[0] == NULL && w[1] == NULL);
        snprintf(text, sizeof text, "kernel-9.traceg:%d: kernels of %s",
                 i == 0 ? 3 : 5, i == 0 ? "more than 255" : "a binary version");
        assert_text(kit.text, text);
    }
    expect_headers(w, 32, 128, 35);
    assert_int_equal(kit_note(w[1], "BAD_REGISTERS"), 0);
    assert_int_equal(kit_note(w[1], "BAD_BINARY"), 0);
    close_both(w);
    kit_write_n(&kit, "kernelslist.g", was, n);
}

/* Opens and unpacks; what fails must fail in words. */
static int try_file(const char *path)
{
    int status = 0;

    kit.text[0] = '\0';
    heddle_workload *w = trace_open(path, NULL, &status, kit.text, 1024);
    if (w != NULL) {
        status = heddle_trace_verify(w, kit.text, 1024);
        heddle_workload_free(w);
    }
    if (status != 0) {
        assert_int_equal(status, HEDDLE_EDATA);
        assert_text(kit.text, "cut.hdt: ");
    }
    return status;
}

static void truncation(void **state)
{
    size_t n;
    char path[160];

    (void)state;
    snprintf(path, sizeof path, "%s/a.hdt", kit.dir);
    unsigned char *p = kit_read(path, &n);
    for (size_t i = 8; i < n; i += i < 300 || i > n - 300 ? 1 : 13) {
        kit_write_n(&kit, "cut.hdt", p, i);
        assert_int_equal(try_file(kit.path), HEDDLE_EDATA);
    }
    /* and with something behind it */
    p[n] = 'x';
    kit_write_n(&kit, "cut.hdt", p, n + 1);
    assert_int_equal(try_file(kit.path), HEDDLE_EDATA);
    free(p);
}

static void flips(void **state)
{
    struct hd_rng r = hd_rng_make(5, 5);
    size_t n;
    char path[160];

    (void)state;
    snprintf(path, sizeof path, "%s/a.hdt", kit.dir);
    unsigned char *p = kit_read(path, &n);
    unsigned harmless = 0;
    heddle_workload *w = kit_trace(&kit, path);
    uint64_t hash = heddle_workload_hash(w);
    heddle_workload_free(w);
    for (unsigned i = 0; i < 1500; i++) {
        size_t at = 8 + hd_rng_below(&r, (uint32_t)n - 8);
        p[at] ^= (unsigned char)(1u << i % 8);
        kit_write_n(&kit, "cut.hdt", p, n);
        /* a compressed frame has bits that mean nothing; else all is hashed */
        if (try_file(kit.path) == 0) {
            w = kit_trace(&kit, kit.path);
            assert_int_equal(heddle_workload_hash(w), hash);
            heddle_workload_free(w);
            harmless++;
        }
        p[at] ^= (unsigned char)(1u << i % 8);
    }
    assert_true(harmless < 10);
    free(p);
}

static void versions(void **state)
{
    char path[160], out[160];
    size_t n;

    (void)state;
    snprintf(path, sizeof path, "%s/a.hdt", kit.dir);
    snprintf(out, sizeof out, "%s/c.hdt", kit.dir);
    unsigned char *p = kit_read(path, &n);
    p[8] = 1;
    hd_store64(p + 56, XXH3_64bits(p, 56));
    kit_write_n(&kit, "cut.hdt", p, n);
    assert_int_equal(try_file(kit.path), HEDDLE_EDATA);
    assert_text(kit.text, "version 1 of the container; this heddle reads "
                          "versions 3 to 6: convert or record the trace "
                          "again");
    assert_int_equal(heddle_trace_convert(kit.path, out, kit.text, 1024),
                     HEDDLE_EDATA);
    assert_text(kit.text, "version 1");
    free(p);
}

static int files_like(const char *dir, const char *word)
{
    DIR *d = opendir(dir);
    struct dirent *e;
    int n = 0;

    while ((e = readdir(d)) != NULL)
        n += strstr(e->d_name, word) != NULL;
    closedir(d);
    return n;
}

static void nothing_left_behind(void **state)
{
    char out[160];

    (void)state;
    kit_write(&kit, "bad.traceg", "-grid dim = (1,1,1)\n");
    snprintf(out, sizeof out, "%s/new.hdt", kit.dir);
    assert_int_equal(heddle_trace_convert(kit.path, out, kit.text, 1024),
                     HEDDLE_EDATA);
    assert_int_equal(files_like(kit.dir, "new.hdt"), 0);
    snprintf(out, sizeof out, "%s/none/new.hdt", kit.dir);
    assert_int_equal(heddle_trace_convert(kit.dir, out, kit.text, 1024),
                     HEDDLE_ECREATE);
    snprintf(out, sizeof out, "%s/none", kit.dir);
    assert_int_equal(kit_fails(&kit, out), HEDDLE_ENOINPUT);
    assert_int_equal(heddle_trace_contexts(out, kit.text, 1024),
                     HEDDLE_ENOINPUT);
}

static int open_kit(void **state)
{
    kit_setup(state);
    write_trace(kit.dir);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip), cmocka_unit_test(spill),
        cmocka_unit_test(limits),     cmocka_unit_test(truncation),
        cmocka_unit_test(flips),      cmocka_unit_test(nothing_left_behind),
        cmocka_unit_test(versions),   cmocka_unit_test(repairs),
        cmocka_unit_test(strict),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, open_kit, kit_teardown);
}
