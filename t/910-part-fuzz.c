/*
 * 910-part-fuzz - pins that the readers of the parts' files (requests of a DRAM
 * system, accesses of a TLB or a cache) answer broken files with an error that
 * names file and line, or read them, and never crash: lines with bytes changed,
 * cut, doubled, and noise.
 *
 * SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/rng.h"
#include "heddle_part.h"

static size_t write_lines(char *out, struct hd_rng *r)
{
    size_t n = 0;

    for (uint32_t i = 0; i < 6; i++)
        n += (size_t)sprintf(out + n, "0x%x %s %u\n", hd_rng_below(r, 1u << 31),
                             hd_rng_below(r, 2) ? "READ" : "WRITE",
                             hd_rng_below(r, 500));
    return n;
}

static size_t break_it(char *s, size_t n, struct hd_rng *r)
{
    static const char often[] = "0x \n\t-#RW9\r\0";

    for (uint32_t k = hd_rng_below(r, 4) + 1; k > 0 && n > 1; k--) {
        uint32_t at = hd_rng_below(r, (uint32_t)n);
        switch (hd_rng_below(r, 4)) {
        case 0:
            s[at] = (char)hd_rng_below(r, 256);
            break;
        case 1:
            s[at] = often[hd_rng_below(r, sizeof often - 1)];
            break;
        case 2:
            n = at;
            break;
        default:
            memmove(s + at, s + at / 2, n - at);
        }
    }
    return n;
}

/* A file that is written anew for each try. */
struct scratch {
    char path[32];
    int fd;
};

static struct scratch scratch_open(void)
{
    struct scratch f = {.path = "/tmp/heddle-fuzz-XXXXXX"};

    f.fd = mkstemp(f.path);
    assert_true(f.fd >= 0);
    return f;
}

static void scratch_put(const struct scratch *f, const char *text, size_t n)
{
    assert_int_equal(ftruncate(f->fd, 0), 0);
    assert_int_equal(pwrite(f->fd, text, n, 0), (ssize_t)n);
}

static void scratch_close(const struct scratch *f)
{
    close(f->fd);
    unlink(f->path);
}

/* "path:number: words" */
static void names_line(const char *error, const char *path)
{
    size_t n = strlen(path);

    assert_int_equal(strncmp(error, path, n), 0);
    assert_true(error[n] == ':' && error[n + 1] >= '1' && error[n + 1] <= '9');
    assert_true(strlen(error) > n + 10);
}

static void broken_files(void **state)
{
    struct hd_rng r = hd_rng_make(42, 0);
    struct scratch f = scratch_open();
    char text[1024];
    uint32_t bad = 0, good = 0;

    (void)state;
    for (uint32_t i = 0; i < 3000; i++) {
        heddle_part_dram *d = heddle_part_dram_new();
        struct heddle_part_dram_result result;
        size_t n = break_it(text, write_lines(text, &r), &r);
        int rc;
        scratch_put(&f, text, n);
        rc = heddle_part_dram_load(d, f.path);
        if (rc == 0) {
            good++;
            if (i % 16 == 0)
                assert_int_equal(heddle_part_dram_run(d, &result), 0);
        } else {
            bad++;
            assert_true(rc == HEDDLE_EDATA || rc == HEDDLE_EINVAL);
            names_line(heddle_part_dram_error(d), f.path);
        }
        heddle_part_dram_free(d);
    }
    assert_true(bad > 500 && good > 100);
    scratch_close(&f);
}

/* Lines "number" for a TLB, "address [R|W]" for a cache. */
static size_t write_accesses(char *out, struct hd_rng *r, bool cache)
{
    size_t n = 0;

    for (uint32_t i = 0; i < 6; i++) {
        uint32_t v = hd_rng_below(r, 1u << 20);
        n += (size_t)sprintf(out + n,
                             hd_rng_below(r, 2) ? "0x%x%s\n" : "%u%s\n", v,
                             !cache               ? ""
                             : hd_rng_below(r, 2) ? " W"
                                                  : " R");
    }
    return n;
}

static void broken_accesses(void **state)
{
    struct hd_rng r = hd_rng_make(43, 0);
    struct scratch f = scratch_open();
    char text[1024];
    uint32_t bad = 0, good = 0;

    (void)state;
    for (uint32_t i = 0; i < 3000; i++) {
        bool cache = i % 2 != 0;
        heddle_part_tags *t =
            cache ? heddle_part_cache_new() : heddle_part_tlb_new();
        struct heddle_part_tags_result result;
        size_t n = break_it(text, write_accesses(text, &r, cache), &r);
        int rc;
        scratch_put(&f, text, n);
        rc = heddle_part_tags_load(t, f.path);
        heddle_part_tags_result(t, &result);
        assert_int_equal(result.hits + result.misses, result.accesses);
        if (rc == 0) {
            good++;
        } else {
            bad++;
            assert_int_equal(rc, HEDDLE_EDATA);
            names_line(heddle_part_tags_error(t), f.path);
        }
        heddle_part_tags_free(t);
    }
    assert_true(bad > 500 && good > 100);
    scratch_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(broken_files),
                                       cmocka_unit_test(broken_accesses)};

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
