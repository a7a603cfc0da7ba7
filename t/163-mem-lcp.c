/*
 * Pinned: sizes of compressed lines and pages are those of an encoder that
 * writes the bytes, tries every way, and reads its lines back; lines of random
 * values with random differences, of zeros, repeated values and noise.  The
 * table of sizes is the paper's, and so are pages in closed form; the same for
 * the authors' released code.
 *
 * SPDX-License-Identifier: MIT
 */
#include "memenv.h"

#include "kit/rng.h"
#include "memory/lcp.h"

enum { LINES = 100000, PAGES = 4000 };

static uint64_t load(const unsigned char *p, unsigned n)
{
    uint64_t v = 0;

    memcpy(&v, p, n); /* the test runs on little-endian hosts */
    return v;
}

/* Writes v as the magnitude of its difference from base, whose sign is kept
 * elsewhere, if reading it back gives v again. */
static bool put_released(unsigned char *out, uint64_t v, uint64_t base,
                         unsigned d)
{
    bool below = (int64_t)(v - base) < 0;
    uint64_t diff = below ? base - v : v - base, back = 0;

    memcpy(out, &diff, d);
    memcpy(&back, out, d);
    return (below ? base - back : base + back) == v;
}

/* Writes v as a difference of d bytes from base if reading it back, sign
 * extended, gives v again. */
static bool put(unsigned char *out, uint64_t v, uint64_t base, unsigned b,
                unsigned d)
{
    uint64_t diff = v - base, back = 0;
    unsigned char sign;

    memcpy(out, &diff, d);
    sign = out[d - 1] & 0x80 ? 0xff : 0;
    memset(&back, sign, 8);
    memcpy(&back, out, d);
    back += base;
    return load((unsigned char *)&back, b) == v;
}

/* Bytes written, or 0: this way does not do. */
static unsigned encode(const unsigned char *line, unsigned n, unsigned b,
                       unsigned d, bool released, unsigned char *out)
{
    unsigned char *p = out + (released ? 2 * b : b);
    bool have = false;
    uint64_t base = 0;

    memset(out, 0, b);
    for (unsigned i = 0; i < n / b; i++, p += d) {
        uint64_t v = load(line + i * b, b);
        if (released ? put_released(p, v, 0, d) : put(p, v, 0, b, d))
            continue;
        if (!have) {
            have = true;
            base = v;
            memcpy(out, &v, b);
        }
        if (!(released ? put_released(p, v, base, d) : put(p, v, base, b, d)))
            return 0;
    }
    return (unsigned)(p - out);
}

static unsigned naive_line(const unsigned char *line, unsigned n, bool released)
{
    unsigned char out[256];
    unsigned best = n;
    bool zero = true, same = true, same4 = released;

    for (unsigned i = 0; i < n; i++) {
        zero = zero && line[i] == 0;
        same = same && line[i] == line[i % 8];
        same4 = same4 && line[i] == line[i % 4];
    }
    if (zero)
        return 1;
    if (same)
        return same4 ? 4 : 8;
    for (unsigned b = 2; b <= 8; b *= 2)
        for (unsigned d = 1; d < b; d *= 2) {
            unsigned size = encode(line, n, b, d, released, out);
            if (size != 0 && size < best)
                best = size;
        }
    return best;
}

/* Some line: of one of a few kinds. */
static void make(struct hd_rng *r, unsigned char *line, unsigned n)
{
    unsigned kind = hd_rng_below(r, 8), b = 2u << hd_rng_below(r, 3);
    unsigned d = hd_rng_below(r, 8 * b) + 1;
    uint64_t base = hd_rng_next(r), rep = hd_rng_next(r);

    for (unsigned i = 0; i < n; i += b) {
        uint64_t v = hd_rng_next(r);
        if (kind < 6) /* about d bits beside zero or the base */
            v = (v >> (64 - d)) - (d > 1 ? 1ull << (d - 2) : 0) +
                (hd_rng_below(r, 3) != 0 && kind != 0 ? base : 0);
        else if (kind == 6)
            v = rep * hd_rng_below(r, 200 * (unsigned)(rep & 1) + 1);
        memcpy(line + i, &v, b);
    }
    for (unsigned i = 4; kind == 7 && i < n; i++)
        line[i] = rep % 3 == 0 ? line[i] : line[i % (rep % 2 == 0 ? 8 : 4)];
}

static void lines(void **state)
{
    static const unsigned all[2][3][10] = {
        {{1, 8, 12, 16, 18, 20, 24, 32},
         {1, 8, 16, 20, 24, 34, 36, 40, 64},
         {1, 8, 24, 36, 40, 66, 68, 72, 128}},
        {{1, 4, 8, 16, 20, 24, 32},
         {1, 4, 8, 24, 32, 36, 40, 48, 64},
         {1, 4, 8, 32, 40, 48, 68, 72, 80, 128}}};
    struct hd_rng r = hd_rng_make(1, 7);
    unsigned char line[128];

    (void)state;
    for (unsigned form = 0; form < 2; form++)
        for (unsigned n = 32, k = 0; n <= 128; n *= 2, k++) {
            unsigned seen[129] = {0};
            for (unsigned i = 0; i < LINES; i++) {
                unsigned size;
                make(&r, line, n);
                size = hd_bdi_size(line, n, form);
                assert_int_equal(size, naive_line(line, n, form != 0));
                seen[size]++;
            }
            for (unsigned i = 0; i < 10 && all[form][k][i] != 0; i++)
                assert_true(seen[all[form][k][i]] > 20); /* none is left out */
        }
}

/* A page by the definition: every size of a slot up to a line's. */
static struct hd_lcp naive_page(const uint8_t *size, unsigned line,
                                unsigned form)
{
    static const uint8_t slots[2][3][8] = {{{1, 8, 12, 16, 18, 20, 24},
                                            {1, 8, 16, 20, 24, 34, 36, 40},
                                            {1, 8, 24, 36, 40, 66, 68, 72}},
                                           {{1, 4, 8, 16, 20, 24},
                                            {1, 4, 8, 24, 32, 36, 40, 48},
                                            {1, 4, 8, 32, 40, 48, 68, 72}}};
    unsigned n = 4096 / line, meta = line == 32 ? 192 : 64, best = 4096,
             slot = 0;

    for (unsigned i = 0; i < 8; i++) {
        unsigned s = slots[form][line / 64][i], bytes = n * s + meta;
        for (unsigned k = 0; k < n; k++)
            bytes += size[k] > s ? line : 0;
        if (s != 0 && bytes < best) {
            best = bytes;
            slot = s;
        }
    }
    return best > 2048   ? (struct hd_lcp){0, 8}
           : best > 1024 ? (struct hd_lcp){(uint8_t)slot, 4}
           : best > 512  ? (struct hd_lcp){(uint8_t)slot, 2}
                         : (struct hd_lcp){(uint8_t)slot, 1};
}

static void pages(void **state)
{
    struct hd_rng r = hd_rng_make(2, 7);
    unsigned seen[9] = {0};

    (void)state;
    for (unsigned i = 0; i < 3 * PAGES; i++) {
        unsigned line = 32u << i % 3, n = 4096 / line, form = i / 3 % 2;
        unsigned odd = hd_rng_below(&r, 12), most = hd_rng_below(&r, line) + 1;
        uint8_t size[HD_LCP_MOST_LINES];
        struct hd_lcp p, q;

        for (unsigned k = 0; k < n; k++)
            size[k] = (uint8_t)(hd_rng_below(&r, 40) < odd
                                    ? line
                                    : hd_rng_below(&r, most) + 1);
        p = hd_lcp_page(size, line, form);
        q = naive_page(size, line, form);
        assert_int_equal(p.granules, q.granules);
        assert_int_equal(p.slot, q.slot);
        seen[p.granules]++;
        if (p.slot != 0) {
            unsigned bad = 0;
            for (unsigned k = 0; k < n; k++)
                bad += size[k] > p.slot;
            assert_true(bad <= hd_lcp_room(p, line));
        }
    }
    for (unsigned g = 1; g <= 8; g *= 2)
        assert_true(seen[g] > 100);
}

/* Pages of one kind of line. */
static void closed(void **state)
{
    static const struct {
        uint8_t size, line, slot, granules, room;
    } of[] = {
        {1, 64, 1, 1, 6},                       /* 64 + 64; (512 - 128) / 64 */
        {8, 64, 8, 2, 7},                       /* 512 + 64 > 512 */
        {16, 64, 16, 4, 15},                    /* 1024 + 64 > 1024 */
        {24, 64, 24, 4, 7},  {34, 64, 0, 8, 0}, /* 2176 + 64 > 2048 */
        {1, 128, 1, 1, 3},   {8, 128, 8, 1, 1}, /* 256 + 64 */
        {24, 128, 24, 2, 1},                    /* 768 + 64 */
        {40, 128, 40, 4, 5},                    /* 1280 + 64 */
        {66, 128, 0, 8, 0},  {8, 32, 8, 4, 26}, /* 1024 + 192 */
        {12, 32, 12, 4, 10},
    };

    (void)state;
    for (unsigned i = 0; i < HD_LEN(of); i++) {
        uint8_t size[HD_LCP_MOST_LINES];
        struct hd_lcp p;

        memset(size, of[i].size, sizeof size);
        p = hd_lcp_page(size, of[i].line, HD_BDI_PAPER);
        assert_int_equal(p.slot, of[i].slot);
        assert_int_equal(p.granules, of[i].granules);
        if (p.slot != 0)
            assert_int_equal(hd_lcp_room(p, of[i].line), of[i].room);
    }
    for (unsigned line = 32; line <= 128; line *= 2)
        for (unsigned g = 1; g <= 8; g *= 2) {
            struct hd_lcp p = hd_lcp_of(g, line, HD_BDI_PAPER);
            assert_int_equal(p.granules, g);
            assert_true((p.slot == 0) == (g == 8));
        }
    assert_int_equal(hd_lcp_of(4, 128, HD_BDI_PAPER).slot, 40);
    assert_int_equal(hd_lcp_of(2, 64, HD_BDI_PAPER).slot, 8);
    assert_int_equal(hd_lcp_of(4, 128, HD_BDI_RELEASED).slot, 48);
    assert_int_equal(hd_lcp_of(1, 128, HD_BDI_RELEASED).slot, 8);
}

/* Lines of which there are layouts. */
static void allowed(void **state)
{
    (void)state;
    for (unsigned line = 0; line <= 256; line++)
        assert_int_equal(hd_lcp_line(line),
                         line == 32 || line == 64 || line == 128);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines),
        cmocka_unit_test(pages),
        cmocka_unit_test(closed),
        cmocka_unit_test(allowed),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
