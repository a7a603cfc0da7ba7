/*
 * 457-trace-samples.c - the sample traces vecadd and gather.
 *
 * Pinned: exact counts of warp instructions and memory instructions; the sizes
 * of the containers (a quarter and 0.7 of the .xz files they come from); that
 * every frame of a conversion is near 64 KB.  The containers are shipped; with
 * HEDDLE_TRACES=DIR (DIR/vecadd/kernelslist.g, ...) the text is compared too.
 *
 * SPDX-License-Identifier: MIT
 */
#include "tracekit.h"

#include "trace/trace.h"

static const struct sample {
    const char *name;
    uint64_t insts, memory, limit;
} samples[] = {
    {"vecadd", 1003520, 215040, 241244 / 4},
    {"gather", 194560, 46080, 3441712 * 8ull / 10},
};

static void check(heddle_workload *w, const struct sample *s)
{
    struct heddle_trace_info i;

    assert_int_equal(heddle_trace_info(w, &i), 0);
    assert_string_equal(i.name, s->name);
    assert_int_equal(i.instructions, s->insts);
    assert_int_equal(i.memory_instructions, s->memory);
    assert_int_equal(i.thread_instructions, s->insts * 32);
}

static void containers(void **state)
{
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        struct heddle_trace_info i;
        char path[128], text[1024];
        int status;
        uint32_t context;
        snprintf(path, sizeof path, "scenarios/data/%s.hdt", samples[k].name);
        heddle_workload *w =
            trace_open(path, NULL, &status, text, sizeof text);
        if (w == NULL)
            fail_msg("%s", text);
        check(w, &samples[k]);
        assert_int_equal(heddle_trace_info(w, &i), 0);
        assert_true(i.file_bytes <= samples[k].limit);
        assert_int_equal(heddle_trace_verify(w, text, sizeof text), 0);
        struct hd_container *b =
            hd_trace_source_container(hd_workload_source(w), &context);
        for (size_t f = 0; f + 1 < b->frames; f++)
            assert_true(b->frame[f].raw > 40 << 10 &&
                        b->frame[f].raw < 80 << 10);
        heddle_workload_free(w);
    }
}

static void from_text(void **state)
{
    const char *dir = getenv("HEDDLE_TRACES");

    (void)state;
    if (dir == NULL) {
        print_message("# HEDDLE_TRACES is not set: the text is not read\n");
        return;
    }
    for (size_t k = 0; k < 2; k++) {
        char path[512], text[1024];
        int status;
        snprintf(path, sizeof path, "%s/%s", dir, samples[k].name);
        heddle_workload *w =
            trace_open(path, NULL, &status, text, sizeof text);
        if (w == NULL)
            fail_msg("%s", text);
        check(w, &samples[k]);
        snprintf(path, sizeof path, "scenarios/data/%s.hdt", samples[k].name);
        heddle_workload *box =
            trace_open(path, NULL, &status, text, sizeof text);
        assert_non_null(box);
        assert_int_equal(heddle_workload_hash(w), heddle_workload_hash(box));
        heddle_workload_free(w);
        heddle_workload_free(box);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(containers),
        cmocka_unit_test(from_text),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
