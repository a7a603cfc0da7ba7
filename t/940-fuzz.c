/*
 * 940-fuzz.c - whatever is read, damaged at random, for some seconds.
 *
 * Pinned: each reader of t/fuzz/ takes its own seeds, and whatever else it is
 * given it takes or refuses in words, and what that target asserts holds.
 * Seeded: HEDDLE_FUZZ_SEED=N, HEDDLE_FUZZ_SECONDS=N for each target.
 *
 *     940-fuzz names          the targets
 *     940-fuzz seeds NAME DIR writes the seeds of one to files in DIR
 *     940-fuzz run NAME FILE  runs a file, as libFuzzer kept it
 *
 * Built with HD_LIBFUZZER (make fuzz) it is a fuzzer of the target that
 * HEDDLE_FUZZ names, with no main of its own.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fuzz/kernels.h"
#include "fuzz/parts.h"
#include "fuzz/scripts.h"
#include "fuzz/traces.h"

#include <time.h>

static const struct fuzz_target targets[] = {
    {"trace", trace_run, NULL, trace_seeds, trace_words, true},
    {"xz", xz_run, NULL, xz_seeds, trace_words, true},
    {"tracez", tracez_run, NULL, tracez_seeds, NULL, true},
    {"list", list_run, NULL, list_seeds, list_words, true},
    {"choice", choice_run, NULL, choice_seeds, choice_words, true},
    {"container", container_run, NULL, container_seeds, NULL, true},
    {"frame", frame_run, NULL, frame_seeds, NULL, true},
    {"index", index_run, NULL, index_seeds, NULL, true},
    {"kernel", kernel_run, kernel_change, kernel_seeds, NULL, true},
    {"program", program_run, NULL, program_seeds, NULL, false},
    {"dram", parts_dram, NULL, parts_dram_seeds, parts_words, true},
    {"tags", parts_tags, NULL, parts_tags_seeds, parts_words, true},
    {"settings", settings_run, NULL, settings_seeds, settings_words, true},
    {"json", json_run, NULL, json_seeds, json_words, true},
    {"words", words_run, NULL, words_seeds, words_words, true},
};

enum { TARGETS = sizeof targets / sizeof *targets };

/* In memory where that is a place: files are written for every input. */
static void open_kit(void)
{
    if (access("/dev/shm", W_OK) == 0)
        setenv("TMPDIR", "/dev/shm", 0);
    kit = kit_open();
}

static const struct fuzz_target *target_named(const char *name)
{
    for (int i = 0; name != NULL && i < TARGETS; i++)
        if (strcmp(targets[i].name, name) == 0)
            return &targets[i];
    fprintf(stderr, "940-fuzz: no target '%s'\n", name ? name : "");
    exit(64);
}

static size_t change(const struct fuzz_target *t, uint8_t *p, size_t n,
                     size_t room, struct hd_rng *r)
{
    return t->change ? t->change(p, n, room, r)
                     : fuzz_change(p, n, room, t->words, r);
}

#ifdef HD_LIBFUZZER

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);
size_t LLVMFuzzerCustomMutator(uint8_t *p, size_t n, size_t room,
                               unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *p, size_t n, size_t room);

static const struct fuzz_target *target;
static unsigned long tried, taken;

static void tell(void)
{
    fprintf(stderr, "%s: %lu inputs, %lu of them read\n", target->name, tried,
            taken);
    kit_close(&kit);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    target = target_named(getenv("HEDDLE_FUZZ"));
    setenv("CMOCKA_TEST_ABORT", "1", 1); /* assertions leave the input */
    open_kit();
    atexit(tell);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    tried++;
    taken += target->run(p, n);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *p, size_t n, size_t room, unsigned seed)
{
    struct hd_rng r = hd_rng_make(seed, n);

    if (hd_rng_below(&r, 4) < (target->change ? 3 : 2))
        return change(target, p, n, room, &r);
    return LLVMFuzzerMutate(p, n, room);
}

#else

static uint64_t fuzz_seed(void)
{
    const char *s = getenv("HEDDLE_FUZZ_SEED");

    return s != NULL ? strtoull(s, NULL, 10) : 1;
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The seeds of the target at hand. */
static struct {
    size_t n;
    struct {
        unsigned char *p;
        size_t n;
    } v[64];
} seeds;

static void keep(const void *p, size_t n)
{
    assert_true(seeds.n < 64 && n <= FUZZ_ROOM);
    seeds.v[seeds.n].p = fuzz_copy(p, n);
    seeds.v[seeds.n++].n = n;
}

static void take_seeds(const struct fuzz_target *t)
{
    while (seeds.n != 0)
        free(seeds.v[--seeds.n].p);
    if (t != NULL)
        t->seeds(keep);
}

static void soak(void **state)
{
    const struct fuzz_target *t = *state;
    const char *s = getenv("HEDDLE_FUZZ_SECONDS");
    double end = now() + (s != NULL ? atof(s) : 0.4);
    static uint8_t p[FUZZ_ROOM];
    unsigned n = 0, read = 0;

    take_seeds(t);
    assert_true(seeds.n > 0);
    for (size_t i = 0; i < seeds.n; i++)
        read += t->run(seeds.v[i].p, seeds.v[i].n);
    assert_true(read > 0);
    /* on a busy machine longer: both must be seen */
    for (read = 0; n < 20 || now() < end ||
                   ((read == 0 || (read == n && t->refuses)) && n < 5000);
         n++) {
        struct hd_rng r = hd_rng_make(fuzz_seed(), n);
        uint32_t i = hd_rng_below(&r, (uint32_t)seeds.n);
        size_t len = seeds.v[i].n;
        memcpy(p, seeds.v[i].p, len);
        for (uint32_t k = 1 + hd_rng_below(&r, 4); k != 0; k--)
            len = change(t, p, len, sizeof p, &r);
        unsigned char *exact = fuzz_copy(p, len);
        read += t->run(exact, len);
        free(exact);
    }
    print_message("# %s: %u inputs, %u of them read\n", t->name, n, read);
    assert_true(read > 0 && (read < n || !t->refuses));
    take_seeds(NULL);
}

static void write_seeds(const struct fuzz_target *t, const char *dir)
{
    char path[512];

    open_kit();
    take_seeds(t);
    for (size_t i = 0; i < seeds.n; i++) {
        snprintf(path, sizeof path, "%s/seed-%zu", dir, i);
        FILE *f = fopen(path, "wb");
        assert_non_null(f);
        assert_int_equal(fwrite(seeds.v[i].p, 1, seeds.v[i].n, f),
                         seeds.v[i].n);
        assert_int_equal(fclose(f), 0);
    }
    kit_close(&kit);
}

static void run_file(const struct fuzz_target *t, const char *path)
{
    size_t n;
    unsigned char *p = kit_read(path, &n);

    open_kit();
    printf("%s: %s\n", path, t->run(p, n) ? "read" : "refused");
    kit_close(&kit);
    free(p);
}

static int setup(void **state)
{
    (void)state;
    open_kit();
    return 0;
}

int main(int argc, char **argv)
{
    struct CMUnitTest tests[TARGETS];
    const char *verb = argc > 1 ? argv[1] : "";

    if (strcmp(verb, "names") == 0) {
        for (int i = 0; i < TARGETS; i++)
            puts(targets[i].name);
        return 0;
    }
    if (argc == 4) {
        const struct fuzz_target *t = target_named(argv[2]);
        strcmp(verb, "seeds") == 0 ? write_seeds(t, argv[3])
                                   : run_file(t, argv[3]);
        return 0;
    }
    for (int i = 0; i < TARGETS; i++)
        tests[i] = (struct CMUnitTest){targets[i].name, soak, NULL, NULL,
                                       (void *)(size_t)&targets[i]};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, setup, kit_teardown);
}

#endif
