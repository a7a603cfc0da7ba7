/*
 * 455-trace-list.c - kernelslist.g, directories, contexts and .xz files.
 *
 * Pinned: what a list may hold; allocations (copies inside a cudaMalloc or
 * inside another copy are none of their own) and the pages outside of them;
 * one address space a list; a kernel listed without its .xz; .xz files of
 * several blocks and several streams, which a thread unpacks ahead or, where
 * none is to be had, the reader's own; which text belongs to which mistake;
 * gzip, zstd and raw traces are refused by name.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "tracekit.h"

#include <lzma.h>
#include <pthread.h>

#include "heddle_survey.h"
#include "texts.h"

static char *kernel(uint64_t addr)
{
    char body[256];

    snprintf(body, sizeof body,
             "warp = 0\ninsts = 2\n"
             "0000 ffffffff 1 R2 LDG.E 1 R4 4 1 0x%llx 4096 0\n"
             "0010 ffffffff 0 EXIT 0 0 0\n",
             (unsigned long long)addr);
    return kit_kernel(4, 32, body);
}

static void write_kernel(const char *name, uint64_t addr)
{
    char *text = kernel(addr);

    kit_write(&kit, name, text);
    free(text);
}

/* Threads get a stack that is there, or one that no machine has. */
static void give_threads(bool any)
{
    static size_t size;
    pthread_attr_t a;

    pthread_getattr_default_np(&a);
    if (size == 0)
        pthread_attr_getstacksize(&a, &size);
    pthread_attr_setstacksize(&a, any ? size : (size_t)1 << 47);
    assert_int_equal(pthread_setattr_default_np(&a), 0);
    pthread_attr_destroy(&a);
}

/* Compressed in blocks of so many bytes, the text in halves if `streams` is
 * 2. */
static void write_xz(const char *name, const char *text, int streams,
                     uint64_t block)
{
    size_t n = strlen(text), half = n / 2, used = 0, room = n + 8192;
    unsigned char *out = malloc(room);
    lzma_mt mt = {.threads = 1,
                  .block_size = block,
                  .preset = 1,
                  .check = LZMA_CHECK_CRC64};

    give_threads(true); /* the encoder has one */
    for (int i = 0; i < streams; i++) {
        lzma_stream z = LZMA_STREAM_INIT;
        assert_int_equal(lzma_stream_encoder_mt(&z, &mt), LZMA_OK);
        z.next_in = (unsigned char *)text + (i == 0 ? 0 : half);
        z.avail_in = streams == 1 ? n : i == 0 ? half : n - half;
        z.next_out = out + used;
        z.avail_out = room - used;
        while (lzma_code(&z, LZMA_FINISH) == LZMA_OK)
            ;
        assert_int_equal(z.avail_in, 0);
        used = room - z.avail_out;
        lzma_end(&z);
    }
    kit_write_n(&kit, name, out, used);
    free(out);
}

static void expect_allocs(heddle_workload *w, const char *want)
{
    struct heddle_workload_alloc a;
    char got[1024] = "";

    for (uint32_t i = 0; heddle_workload_alloc(w, i, &a) == 0; i++)
        sprintf(got + strlen(got), "%s %llx+%llx\n", a.name,
                (unsigned long long)a.base, (unsigned long long)a.bytes);
    assert_string_equal(got, want);
}

static void lists(void **state)
{
    struct heddle_trace_info i;

    (void)state;
    write_kernel("kernel-1.traceg", 0x10000);
    write_kernel("kernel-2.traceg", 0x28000);
    kit_write(&kit, "kernelslist.g",
              "MemcpyHtoD,0x0000000000010000,16384\n"
              "\n"
              "MemcpyHtoD,0x0000000000010000,4096\n"
              "MemcpyDtoH,0x0000000000010000,4096\n"
              "cudaMalloc,0x20000,40000\n"
              "MemcpyHtoD,0x0000000000020010,100\n"
              "kernel-1.traceg\r\n"
              "cudaMalloc,0x500000,0\n"
              "kernel-2.traceg  \n"
              "kernel-1.traceg");
    heddle_workload *w = kit_trace(&kit, kit.path);
    /* kernel 1 touches 16..47, kernel 2 40..71; known are 16..19, 32..41 */
    expect_allocs(w, "copy 10000+4000\nmalloc 20000+9c40\n"
                     "pages 14000+c000\npages 2a000+1e000\n");
    assert_int_equal(kit_note(w, "LIST_LINE"), 1);
    assert_int_equal(heddle_trace_info(w, &i), 0);
    assert_int_equal(i.kernels, 3);
    assert_int_equal(i.instructions, 6);
    assert_string_equal(kit_ops(&kit, w),
                        "k 1\n0.0 load 0 s0 /4 10000+4096\n0.0 exit 10\n"
                        "k 2\n0.0 load 0 s0 /4 28000+4096\n0.0 exit 10\n"
                        "k 3\n0.0 load 0 s0 /4 10000+4096\n0.0 exit 10\n");
    heddle_workload_free(w);
}

static void contexts(void **state)
{
    struct heddle_trace_options o = {.context = 2};
    char out[160], list[160];
    int status;

    (void)state;
    write_kernel("kernel-1-ctx_0xa.traceg", 0x30000);
    write_kernel("kernel-1-ctx_0xb.traceg", 0x40000);
    kit_write(&kit, "kernelslist_ctx_0xb.g", "kernel-1-ctx_0xb.traceg\n");
    snprintf(list, sizeof list, "%s", kit.path);
    kit_write(&kit, "kernelslist_ctx_0xa.g",
              "kernel-1-ctx_0xa.traceg\nMemset\n");
    kit_write(&kit, "kernelslist.g", "kernel-1.traceg\n");
    assert_int_equal(heddle_trace_contexts(kit.path, kit.text, 1024), 1);
    assert_int_equal(heddle_trace_contexts(kit.dir, kit.text, 1024), 3);
    heddle_workload *w =
        trace_open(kit.dir, &o, &status, kit.text, 1024);
    assert_non_null(w);
    expect_allocs(w, "pages 40000+20000\n");
    assert_int_equal(kit_note(w, "LIST_LINE"), 0);
    assert_text(heddle_workload_name(w), "_ctx_0xb");
    heddle_workload_free(w);
    w = kit_trace(&kit, list);
    expect_allocs(w, "pages 40000+20000\n");
    heddle_workload_free(w);
    /* all of them in one container, and one of those by itself */
    snprintf(out, sizeof out, "%s/all.hdt", kit.dir);
    assert_int_equal(heddle_trace_convert(kit.dir, out, kit.text, 1024), 0);
    assert_int_equal(heddle_trace_contexts(out, kit.text, 1024), 3);
    o.context = 1;
    w = trace_open(out, &o, &status, kit.text, 1024);
    assert_non_null(w);
    expect_allocs(w, "pages 30000+20000\n");
    assert_string_equal(kit_ops(&kit, w),
                        "k 1\n0.0 load 0 s0 /4 30000+4096\n0.0 exit 10\n");
    heddle_workload *other = trace_open(out, NULL, &status, NULL, 0);
    assert_true(heddle_workload_hash(w) != heddle_workload_hash(other));
    /* each has the notes of its own list */
    assert_int_equal(kit_note(w, "LIST_LINE"), 1);
    assert_int_equal(kit_note(other, "LIST_LINE"), 0);
    heddle_workload_free(other);
    snprintf(out, sizeof out, "%s/one.hdt", kit.dir);
    assert_int_equal(heddle_trace_record(w, out, 0, kit.text, 1024), 0);
    heddle_workload_free(w);
    w = kit_trace(&kit, out);
    expect_allocs(w, "pages 30000+20000\n");
    assert_int_equal(kit_note(w, "LIST_LINE"), 1);
    heddle_workload_free(w);
}

static void compressed(void **state)
{
    char *text = kernel(0x70000);

    (void)state;
    for (int streams = 1; streams <= 2; streams++) {
        write_xz("kernel-7.traceg.xz", text, streams, 256);
        heddle_workload *w = kit_trace(&kit, kit.path);
        expect_allocs(w, "pages 70000+20000\n");
        heddle_workload_free(w);
        kit_write(&kit, "kernelslist.g", "kernel-7.traceg\n");
        w = kit_trace(&kit, kit.path);
        expect_allocs(w, "pages 70000+20000\n");
        heddle_workload_free(w);
    }
    /* cut at every byte, and damaged at every eighth */
    size_t n;
    unsigned char *p = kit_read(kit_file(&kit, "kernel-7.traceg.xz"), &n);
    for (size_t i = 6; i < n; i++) {
        kit_write_n(&kit, "cut.traceg.xz", p, i);
        assert_int_equal(kit_fails(&kit, kit.path), HEDDLE_EDATA);
        assert_text(kit.text, "cut.traceg.xz");
    }
    for (size_t i = 6; i < n; i += 8) {
        p[i] ^= 0x20;
        kit_write_n(&kit, "cut.traceg.xz", p, n);
        assert_int_equal(kit_fails(&kit, kit.path), HEDDLE_EDATA);
        p[i] ^= 0x20;
    }
    free(p);
    free(text);
}

/* A text of 3 MB gives the same plain and compressed, and a mistake in it or in
 * the compressed bytes is found, wherever it stands, with or without the thread
 * that unpacks ahead. */
static void ahead(void **state)
{
    enum { LINES = 30000 };
    char *body = malloc(64 * LINES + 64), *at = body;
    size_t n;

    (void)state;
    at += sprintf(at, "warp = 0\ninsts = %d\n", LINES + 1);
    for (int i = 0; i < LINES; i++)
        at += sprintf(at, "0000 ffffffff 1 R2 LDG.E 1 R4 4 1 0x%x %d 0\n",
                      (i * 7919 % 65536 + 1) * 64, i % 9);
    sprintf(at, "0010 ffffffff 0 EXIT 0 0 0\n");
    char *text = kit_kernel(4, 32, body);
    heddle_workload *plain =
        kit_trace(&kit, kit_write(&kit, "long.traceg", text));
    for (int threads = 0; threads < 2; threads++) {
        for (int streams = 1; streams <= 2; streams++) {
            write_xz("long.traceg", text, streams, 1 << 20);
            give_threads(threads);
            heddle_workload *w = kit_trace(&kit, kit.path);
            struct heddle_trace_info a, b;
            assert_int_equal(heddle_trace_info(plain, &a), 0);
            assert_int_equal(heddle_trace_info(w, &b), 0);
            assert_int_equal(a.hash, b.hash);
            heddle_workload_free(w);
        }
        unsigned char *p = kit_read(kit.path, &n);
        for (size_t i = n / 9; i < n; i += n / 9) {
            kit_write_n(&kit, "cut.traceg.xz", p, i);
            assert_int_equal(kit_fails(&kit, kit.path), HEDDLE_EDATA);
            assert_text(kit.text, " of the .xz: the file is cut off");
        }
        free(p);
        for (int line = 30; line < LINES; line += 9999) {
            char want[64], *bad = strdup(text), *q = bad;
            for (int i = 1; i < line; i++)
                q = strchr(q, '\n') + 1;
            *q = 'x';
            write_xz("bad.traceg", bad, 1, 1 << 20);
            give_threads(threads);
            assert_int_equal(kit_fails(&kit, kit.path), HEDDLE_EDATA);
            snprintf(want, sizeof want, "bad.traceg:%d: ", line);
            assert_text(kit.text, want);
            free(bad);
        }
    }
    heddle_workload_free(plain);
    free(text);
    free(body);
}

static void errors(void **state)
{
    static const struct {
        const char *list, *text;
        int code;
    } row[] = {
        {"kernel-1.traceg\nkernel-8.traceg\n", ".g:2: ", HEDDLE_ENOINPUT},
        {"MemcpyHtoD,12345\nkernel-1.traceg\n", ".g:1: expected an address",
         HEDDLE_EDATA},
        {"cudaMalloc,0xfffffffffff0,256\nkernel-1.traceg\n", "not below 2^48",
         HEDDLE_EDATA},
        {"\n\n", "no kernel in this list", HEDDLE_EDATA},
        {"", "no kernel in this list", HEDDLE_EDATA},
        {"\nhello, world\nmore\n",
         ":2: no kernel in this list; expected "
         "kernel..., MemcpyHtoD or cudaMalloc, not `hello, world'",
         HEDDLE_EDATA},
        {"kernelx.tracez\n", ".g:1: ", HEDDLE_ENOINPUT},
    };
    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        kit_write(&kit, "bad.g", row[i].list);
        assert_int_equal(kit_fails(&kit, kit.path), row[i].code);
        if (strstr(kit.text, row[i].text) == NULL)
            fail_msg("row %zu: %s", i, kit.text);
    }
    kit_write(&kit, "kernel-1.tracez", "-kernel\n");
    assert_int_equal(kit_fails(&kit, kit.path), HEDDLE_EDATA);
    assert_text(kit.text, "expected header lines");
    char empty[160];
    snprintf(empty, sizeof empty, "%s/empty", kit.dir);
    mkdir(empty, 0777);
    assert_int_equal(kit_fails(&kit, empty), HEDDLE_ENOINPUT);
    assert_text(kit.text, "no kernelslist.g");
}

static void refused(const char *text)
{
    assert_int_equal(kit_fails(&kit, kit.path), HEDDLE_EDATA);
    if (strstr(kit.text, text) == NULL)
        fail_msg("%s", kit.text);
}

/* A kernel alone, of any name, and in a list. */
static void refused_twice(const char *file, const void *p, size_t n,
                          const char *text)
{
    char list[64];

    kit_write_n(&kit, file, p, n);
    refused(text);
    snprintf(list, sizeof list, "%s\n", file);
    kit_write(&kit, "kernelslist.g", list);
    refused(text);
}

/* Forms that are not read are refused by their names. */
static void other_forms(void **state)
{
    static const char gzip[] = "\x1f\x8b\b\0\0\0\0\0\0\3";
    static const char zstd[] = "\x28\xb5\x2f\xfd\4";
    static const char *const raw =
        "-grid dim = (1,1,1)\n-block dim = (32,1,1)\n#traces format = x\n\n"
        "0 0 0 0 0010 ffffffff 1 R2 LDG.E 1 R4 4 1 0x7f0000000000 4 0\n";

    (void)state;
    refused_twice("kernel-1.traceg.gz", gzip, sizeof gzip,
                  "kernel-1.traceg.gz: compressed with gzip");
    refused_twice("kernel-1.traceg", gzip, sizeof gzip, "(gzip -d)");
    refused_twice("kernel-1.traceg.zst", zstd, sizeof zstd, "(zstd -d)");
    kit_write_n(&kit, "kernelslist.g", gzip, sizeof gzip);
    refused("kernelslist.g: compressed with gzip");
    unlink(kit_file(&kit, "kernel-1.traceg")); /* of the tests before */
    unlink(kit_file(&kit, "kernel-1.tracez"));
    refused_twice("kernel-1.trace", raw, strlen(raw),
                  "kernel-1.trace:5: a raw trace");
    refused_twice("kernel-1.traceg", raw, strlen(raw),
                  "run the tracer's post-processing");
    write_xz("kernel-1.trace.xz", raw, 1, 64);
    refused("kernel-1.trace.xz:5: a raw trace");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists),      cmocka_unit_test(contexts),
        cmocka_unit_test(compressed), cmocka_unit_test(ahead),
        cmocka_unit_test(errors),     cmocka_unit_test(other_forms),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, kit_setup, kit_teardown);
}
