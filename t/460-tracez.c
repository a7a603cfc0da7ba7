/*
 * 460-tracez.c - .tracez, the default form of Accel-Sim 2.0's traces.
 *
 * Pinned: a file written from a text gives what the text gives (operations,
 * counts, notes, contents), whatever the chunks, with a dictionary and
 * without; alone and in a list, and converted; a file cut at any byte or with
 * any byte changed is read as something or is an error that names it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "tracekit.h"

#include "kit/rng.h"
#include "texts.h"
#include "tracez.h"

/* Three blocks of two warps: a loop, a list, no instruction at all. */
static char *text(void)
{
    size_t room = 1 << 20, n = 0;
    char *s = malloc(room);
    struct hd_rng r = hd_rng_make(4, 4);

    n += (size_t)snprintf(s, room,
                          "# what it is\n-kernel name = z\n-kernel id = 3\n"
                          "-grid dim = (3,1,1)\n-block dim = (64,1,1)\n"
                          "-shmem = 0\n-nregs = 16\n"
                          "-accelsim tracer version = 6\n\n"
                          "#traces format = x\n\n");
    for (unsigned b = 0; b < 3; b++) {
        n += (size_t)snprintf(s + n, room - n,
                              "#BEGIN_TB\n\nthread block = %u,0,0\n\n"
                              "warp = 0\ninsts = %u\n",
                              b, 1 + 20 * (b + 1));
        for (unsigned i = 0; i < 20 * (b + 1); i++)
            n += (size_t)snprintf(
                s + n, room - n,
                "0010 00000003 1 R4 LDG.E 1 R2 4 0 0x7f20%08x 0x7f20%08x 0\n",
                hd_rng_below(&r, 1 << 20), hd_rng_below(&r, 1 << 20));
        n += (size_t)snprintf(s + n, room - n,
                              "0020 ffffffff 0 EXIT 0 0 0\n\n"
                              "warp = 1\ninsts = 0\n\n#END_TB\n\n");
    }
    return s;
}

static void same_as_text(void **state)
{
    struct heddle_trace_info a, b;
    char *s = text(), *ops;
    heddle_workload *w = kit_trace(&kit, kit_write(&kit, "plain.traceg", s));

    (void)state;
    ops = strdup(kit_ops(&kit, w));
    assert_int_equal(heddle_trace_info(w, &a), 0);
    assert_int_equal(a.instructions, 123);
    heddle_workload_free(w);
    for (uint32_t chunk = 1; chunk <= 2048; chunk *= chunk < 64 ? 8 : 32)
        for (int d = 0; d < 2; d++) {
            struct hd_bytes z = {0};
            tracez_make(s, strlen(s), chunk, d, &z);
            w = kit_trace(&kit, kit_write_n(&kit, "plain.tracez", z.p, z.n));
            assert_string_equal(kit_ops(&kit, w), ops);
            assert_int_equal(heddle_trace_info(w, &b), 0);
            assert_int_equal(a.hash, b.hash);
            assert_int_equal(a.instructions, b.instructions);
            assert_int_equal(kit_note(w, "EMPTY_WARP"), 3);
            assert_int_equal(kit_note(w, "BODY_LINE"), 0);
            heddle_workload_free(w);
            hd_bytes_free(&z);
        }
    /* in a list, and on to a container */
    char out[160], list[160];
    snprintf(list, sizeof list, "%s/kernelslist.g", kit.dir);
    snprintf(out, sizeof out, "%s/z.hdt", kit.dir);
    char from[160], to[160];
    snprintf(from, sizeof from, "%s/plain.tracez", kit.dir);
    snprintf(to, sizeof to, "%s/kernel-1.tracez", kit.dir);
    assert_int_equal(rename(from, to), 0);
    kit_write(&kit, "kernelslist.g", "kernel-1.tracez\n");
    assert_int_equal(heddle_trace_convert(list, out, kit.text, 1024), 0);
    w = kit_trace(&kit, out);
    assert_string_equal(kit_ops(&kit, w), ops);
    heddle_workload_free(w);
    free(ops);
    free(s);
}

static bool opens(const unsigned char *p, size_t n)
{
    int status = 0;

    kit.text[0] = '\0';
    kit_write_n(&kit, "bad.tracez", p, n);
    heddle_workload *w =
        trace_open(kit.path, NULL, &status, kit.text, 1024);
    if (w == NULL) {
        assert_int_equal(status, HEDDLE_EDATA);
        assert_text(kit.text, "bad.tracez");
    }
    heddle_workload_free(w);
    return w != NULL;
}

static void damage(void **state)
{
    struct hd_rng r = hd_rng_make(9, 9);
    struct hd_bytes z = {0};
    unsigned opened = 0;
    char *s = text();

    (void)state;
    tracez_make(s, strlen(s), 16, true, &z);
    for (size_t n = 0; n < z.n; n += n < 64 || n > z.n - 64 ? 1 : 37)
        assert_false(opens(z.p, n));
    for (unsigned i = 0; i < 2000; i++) {
        size_t at = hd_rng_below(&r, (uint32_t)z.n);
        unsigned char old = z.p[at];
        z.p[at] ^= (unsigned char)(1u << i % 8);
        opened += opens(z.p, z.n);
        z.p[at] = old;
    }
    assert_true(opened > 0 && opened < 1500); /* numbers may be others */
    assert_true(opens(z.p, z.n));
    z.p[z.n - 1] = 0x40;
    assert_false(opens(z.p, z.n));
    assert_text(kit.text, "is not inside the file");
    hd_bytes_free(&z);
    free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_as_text),
        cmocka_unit_test(damage),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, kit_setup, kit_teardown);
}
