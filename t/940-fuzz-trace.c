/*
 * 940-fuzz-trace.c - text and containers damaged at random, for two seconds.
 *
 * Pinned: whatever a file holds, opening it, unpacking it and replaying its
 * first blocks ends with a result or with an error in words.  Text is damaged
 * by bytes, words and lines; frames are damaged behind the hashes, as a
 * hostile writer would.  Seeded: HEDDLE_FUZZ_SEED=N, HEDDLE_FUZZ_SECONDS=N.
 *
 * SPDX-License-Identifier: MIT
 */
#include "tracekit.h"

#include <time.h>

#include "base/rng.h"
#include "load/trace-frame.h"
#include "load/trace-index.h"

static const char seed_text[] =
    "-kernel name = k\n-kernel id = 1\n-grid dim = (4,2,1)\n"
    "-block dim = (64,1,1)\n-shmem = 0\n-nregs = 16\n-binary version = 90\n"
    "-cuda stream id = 0\n-shmem base_addr = 0x00007f0000000000\n"
    "-local mem base_addr = 0x00007f1000000000\n-nvbit version = 1.5.5\n"
    "-accelsim tracer version = 6\n-enable lineinfo = 0\n\n"
    "#traces format = x\n\n#BEGIN_TB\n\nthread block = 1,0,0\n"
    "cluster id = 0,0,0\n\nwarp = 0\ninsts = 8\n"
    "0000 ffffffff 1 R1 IMAD.MOV.U32 2 R255 R255 0 0 NoVal\n"
    "0010 0000ffff 1 R2 LDG.E.128.SYS 1 R2 16 1 0x7f2000000000 16 0\n"
    "0020 000000f1 1 R5 LD.E 1 R4 4 0 0x7f2000000000 0x7f0000000010 "
    "0x7f1000000010 0x10 0x20 0\n"
    "0030 00000007 0 STL 2 R8 R9 4 2 0x7f1000000000 4 -4 0 0 Val 1 0 1 5\n"
    "0040 00000001 0 UTMALDG.2D 2 UR4 UR8 0 0x400 0 256 0 4 0x1000 2 64 0\n"
    "0050 ffffffff 0 LDGSTS.E 2 R8 R9 4 1 0x7f0000000000 4 0\n"
    "0050 ffffffff 0 LDGSTS.E 2 R8 R9 4 1 0x7f2000000000 4 0\n"
    "0060 ffffffff 0 EXIT 0 0 0\n\nwarp = 1\ninsts = 2\n"
    "0000 0000000f 0 BAR.SYNC 0 0 0\n0060 0000000f 0 EXIT 0 0 0\n\n#END_TB\n";

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double seconds(void)
{
    const char *s = getenv("HEDDLE_FUZZ_SECONDS");

    return s != NULL ? atof(s) : 1.0;
}

static struct hd_rng stream(uint64_t n)
{
    const char *s = getenv("HEDDLE_FUZZ_SEED");

    return hd_rng_make(s != NULL ? strtoull(s, NULL, 10) : 1, n);
}

/* Local memory may find no place beside addresses up to 2^48: in words. */
static bool binds(heddle_workload *w)
{
    struct hd_source *s = hd_workload_source(w);
    struct hd_arena arena;
    struct hd_err err = {0};
    struct hd_env env = {.arena = &arena, .err = &err, .apps = 1};

    assert_int_equal(hd_arena_open(&arena, 1 << 26), 0);
    int r = s->ops->bind(s->self, &env, 0, 32, 64);
    if (r == 0)
        s->ops->unbind(s->self);
    else
        assert_true(r == HEDDLE_EDATA && strstr(err.text, "no place") != NULL);
    hd_arena_close(&arena);
    return r == 0;
}

/* Opens a file and replays what opens. */
static bool try_file(const char *path)
{
    int status = 0;

    kit.text[0] = '\0';
    heddle_workload *w = heddle_trace_open(path, NULL, &status, kit.text, 1024);
    if (w == NULL) {
        assert_true(status < 0);
        assert_true(kit.text[0] != '\0');
        return false;
    }
    if (heddle_trace_verify(w, kit.text, 1024) == 0 && binds(w))
        kit_ops(&kit, w);
    heddle_workload_free(w);
    return true;
}

/* A word that is likely to be somewhere else in a trace. */
static size_t splice(struct hd_rng *r, char *p, size_t n, size_t room)
{
    static const char *const words[] = {" ",
                                        "\n",
                                        "0",
                                        "-1",
                                        "4294967296",
                                        "99999999999999999999",
                                        "0x",
                                        "ffffffff",
                                        "R300",
                                        "UR",
                                        "1 ",
                                        "#END_TB\n",
                                        "warp = 63\n",
                                        "insts = 1\n",
                                        "#BEGIN_TB\n",
                                        "LDG.E.",
                                        "0xffffffffffff ",
                                        "Val",
                                        "REPLAY_START",
                                        "thread block = 0,0,0\n",
                                        "\0",
                                        "\r",
                                        "UTMAPF"};
    const char *w = words[hd_rng_below(r, sizeof words / sizeof *words)];
    size_t len = *w == '\0' ? 1 : strlen(w), at = hd_rng_below(r, (uint32_t)n);

    if (n + len >= room)
        return n;
    memmove(p + at + len, p + at, n - at);
    memcpy(p + at, w, len);
    return n + len;
}

static size_t damage_text(struct hd_rng *r, char *p, size_t n, size_t room)
{
    uint32_t from = hd_rng_below(r, (uint32_t)n), len;

    switch (hd_rng_below(r, 5)) {
    case 0:
        p[from] ^= (char)(1u << hd_rng_below(r, 8));
        return n;
    case 1: /* removes a stretch */
        len = hd_rng_below(r, 40);
        len = from + len > n ? (uint32_t)n - from : len;
        memmove(p + from, p + from + len, n - from - len);
        return n - len;
    case 2: /* copies a stretch over another */
        len = hd_rng_below(r, 60);
        if (from + len < n)
            memmove(p + hd_rng_below(r, (uint32_t)n - len), p + from, len);
        return n;
    default:
        return splice(r, p, n, room);
    }
}

static void text(void **state)
{
    struct hd_rng r = stream(1);
    double end = now() + seconds();
    unsigned n = 0, opened = 0;
    char p[4096];

    (void)state;
    while (now() < end) {
        size_t len = sizeof seed_text - 1;
        memcpy(p, seed_text, len);
        for (uint32_t i = 1 + hd_rng_below(&r, 3); i > 0; i--)
            len = damage_text(&r, p, len, sizeof p);
        kit_write_n(&kit, "fuzz.traceg", p, len);
        opened += try_file(kit.path);
        n++;
    }
    print_message("# %u texts, %u of them opened\n", n, opened);
    assert_true(n > 0);
}

/* Frames, and the index, without the hashes in front of them. */
static void containers(void **state)
{
    struct hd_rng r = stream(2);
    struct hd_bytes index = {0};
    struct hd_err err = {0};
    char out[160];
    unsigned n = 0, opened = 0;

    (void)state;
    kit_write_n(&kit, "seed.traceg", seed_text, sizeof seed_text - 1);
    snprintf(out, sizeof out, "%s/seed.hdt", kit.dir);
    assert_int_equal(heddle_trace_convert(kit.path, out, kit.text, 1024), 0);
    struct hd_box *b = hd_box_open(out, &err);
    assert_non_null(b);
    const unsigned char *frame = hd_box_get(b, 0, 1 << 20, &err);
    size_t raw = b->frame[0].raw;
    hd_index_write(b, &index);
    unsigned char *f0 = malloc(raw + 64);
    memcpy(f0, frame, raw);
    for (double end = now() + seconds() / 2; now() < end; n++) {
        const char *what = NULL;
        unsigned char *p = malloc(raw);
        memcpy(p, f0, raw);
        for (uint32_t i = 1 + hd_rng_below(&r, 4); i > 0; i--)
            p[hd_rng_below(&r, (uint32_t)raw)] = (unsigned char)hd_rng_next(&r);
        struct hd_frame *f = hd_frame_unpack(
            p, raw, 32, 2, (uint32_t)b->strings, 1 << 20, &what);
        assert_true(f != NULL || what != NULL);
        opened += f != NULL;
        hd_frame_free(f);
        free(p);

        struct hd_box *x = hd_box_memory(1, &err);
        p = malloc(index.n);
        memcpy(p, index.p, index.n);
        for (uint32_t i = 1 + hd_rng_below(&r, 4); i > 0; i--)
            p[hd_rng_below(&r, (uint32_t)index.n)] =
                (unsigned char)hd_rng_next(&r);
        hd_index_read(x, p, index.n, 64, 64 + b->frame[0].stored);
        hd_box_free(x);
        free(p);
    }
    print_message("# %u frames, %u of them unpacked\n", n, opened);
    free(f0);
    hd_bytes_free(&index);
    hd_box_free(b);
    assert_true(n > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text),
        cmocka_unit_test(containers),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, kit_setup, kit_teardown);
}
