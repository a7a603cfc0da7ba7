/*
 * Pinned: hashed interleaving.  Hashes are what their definitions say (a fold,
 * a remainder of polynomials); on small machines, every line has a place of its
 * own, in the slices of its channel, and every set has equally many, whatever
 * is hashed; strides of powers of two, which stay in one channel, slice or set,
 * are spread evenly; each hash has strides that it does not spread; a hash that
 * needs a power of two says so.
 *
 * SPDX-License-Identifier: MIT
 */
#include "memenv.h"

#include <stdio.h>
#include <stdlib.h>

#include "kit/rng.h"
#include "machine.h"
#include "memory/l2slice.h"
#include "texts.h"

struct machine {
    struct memenv m;
    struct hd_machine set;
    struct hd_reqs reqs;
    struct hd_client client[1];
    struct hd_dram *dram;
    struct hd_l2 *l2;
};

/* Settings as "name=value name=value"; what cannot be built has no l2. */
static struct machine *build(const char *settings, uint32_t apps)
{
    struct machine *w = calloc(1, sizeof *w);
    struct hd_env *env = memenv_open(&w->m, apps);
    char text[400], *at = text, *value;
    struct hd_l2_wiring l2 = {0};

    hd_machine_defaults(&w->set);
    snprintf(text, sizeof text, "%s", settings);
    while (*at != '\0') {
        char *name = at;
        at += strcspn(at, " ");
        at += *at == ' ' ? (*at = '\0', 1) : 0;
        value = strchr(name, '=');
        *value++ = '\0';
        if (hd_machine_set(&w->set, name, value, &w->m.err) != 0)
            fail_msg("%s", w->m.err.text);
    }
    hd_reqs_open(&w->reqs, &w->m.arena, 64);
    w->dram = hd_dram_open(env, &w->set.dram, &w->reqs, w->client);
    if (w->dram == NULL)
        return w;
    l2.cache = &w->set.l2cache;
    l2.xbar = &w->set.xbar;
    l2.reqs = &w->reqs;
    l2.dram = w->dram;
    l2.clients = w->client;
    w->l2 = hd_l2_open(env, &l2);
    return w;
}

static void unbuild(struct machine *w)
{
    hd_env_free(&w->m.env);
    hd_arena_close(&w->m.arena);
    free(w);
}

static struct hd_addrhash make(uint32_t kind, uint32_t size, uint32_t beside,
                               bool reciprocal)
{
    struct hd_addrhash_of of = {kind, size, beside, reciprocal};
    struct heddle_error err = {0, ""};
    struct hd_addrhash h;

    assert_int_equal(hd_addrhash_init(&h, &of, "a", "b", size, &err), 0);
    return h;
}

/* ---- hashes by themselves ---------------------------------------------- */

static uint64_t product(uint64_t a, uint64_t b)
{
    uint64_t p = 0;

    for (; b != 0; b >>= 1, a <<= 1)
        p ^= b & 1 ? a : 0;
    return p;
}

/* Nothing of a lower degree divides them, and those of 16, 32 and 64 places are
 * x^4+x+1, x^5+x^2+1 and x^6+x+1. */
static void polynomials(void **state)
{
    (void)state;
    assert_int_equal(hd_addrhash_polynomial(4), 0x13);
    assert_int_equal(hd_addrhash_polynomial(5), 0x25);
    assert_int_equal(hd_addrhash_polynomial(6), 0x43);
    for (uint32_t d = 1; d <= 9; d++) {
        uint64_t p = hd_addrhash_polynomial(d);
        assert_int_equal(hd_log2(p), d);
        for (uint64_t a = 2; a < 1u << d; a++)
            for (uint64_t b = 2; b < 1u << d; b++)
                assert_int_not_equal(product(a, b), p);
    }
}

/* The remainder of x^width * above + digit, by long division. */
static uint64_t divided(uint64_t above, uint64_t digit, uint32_t width,
                        uint64_t p)
{
    uint64_t r = 0;

    for (int i = 63; i >= 0; i--) {
        r = r << 1 | (above >> i & 1);
        r ^= r >> width & 1 ? p : 0;
    }
    for (uint32_t i = width; i-- > 0;) {
        r = r << 1 | (digit >> i & 1);
        r ^= r >> width & 1 ? p : 0;
    }
    return r;
}

static void definitions(void **state)
{
    struct hd_rng r = hd_rng_make(1, 2);

    (void)state;
    for (uint32_t i = 0; i < 20000; i++) {
        uint32_t bits = 1 + i % 8, beside = i / 8 % 4, width = bits + beside;
        uint64_t above = hd_rng_next(&r) >> i % 64, fold = 0;
        uint32_t digit = (uint32_t)(hd_rng_next(&r) & hd_ones(bits));
        uint32_t size = 1u << bits, sum = 0, odd = 3 + 2 * (i % 9);
        uint64_t p = hd_addrhash_polynomial(width), back = 0;
        struct hd_addrhash h = make(HD_HASH_IPOLY, size, 1u << beside, false);

        assert_int_equal(hd_addrhash(&h, digit, above),
                         divided(above, (uint64_t)digit << beside, width, p) >>
                             beside);
        h = make(HD_HASH_IPOLY, size, 1u << beside, true);
        for (uint32_t k = 0; k <= width; k++)
            back |= (p >> k & 1) << (width - k);
        assert_int_equal(
            hd_addrhash(&h, digit, above),
            divided(above, (uint64_t)digit << beside, width, back) >> beside);
        for (uint64_t v = above; v != 0; v >>= width)
            fold ^= v & hd_ones(width);
        h = make(HD_HASH_XOR, size, 1u << beside, false);
        assert_int_equal(hd_addrhash(&h, digit, above), digit ^ fold >> beside);
        for (uint64_t v = above; v != 0; v /= odd)
            sum = (sum + v % odd) % odd;
        h = make(HD_HASH_XOR, odd, 1, false);
        assert_int_equal(hd_addrhash(&h, digit % odd, above),
                         (digit % odd + sum) % odd);
        h = make(HD_HASH_NONE, size, 1, false);
        assert_int_equal(hd_addrhash(&h, digit, above), digit);
    }
}

/* ---- every line has its place ------------------------------------------ */

/* What is left of a line: the digits above its slice and set. */
static uint64_t tag_of(const struct machine *w, uint64_t line)
{
    const struct hd_l2_spread *s = &w->l2->spread;
    uint64_t g = s->granule, index = line / (g * s->channels) * g + line % g;

    return index / (s->banks * w->l2->slice[0].tags.tags.sets);
}

/* All lines of `tags` tags: slice, set and tag are those of one line, which is
 * in one place of DRAM. */
static void one_to_one(const char *settings, uint32_t tags)
{
    struct machine *w = build(settings, 1);
    uint32_t sets, slices = w->set.l2cache.slices, shift = 7, set, s;
    uint32_t columns, banks = w->set.dram.banks;
    uint64_t lines, rows;
    uint8_t *seen, *held;

    if (w->l2 == NULL)
        fail_msg("%s: %s", settings, w->m.err.text);
    sets = w->l2->slice[0].tags.tags.sets;
    lines = (uint64_t)slices * sets * tags;
    columns = w->set.dram.row_bytes / hd_dram_burst(&w->set.dram);
    rows = (lines << shift) / w->set.dram.row_bytes / banks /
               w->set.dram.channels +
           1;
    held = calloc(lines, 1);
    seen = calloc(rows * columns * banks * w->set.dram.channels, 1);
    for (uint64_t line = 0; line < lines; line++) {
        uint64_t pa = line << shift;
        s = hd_l2_slice_of(w->l2, 0, line, &set);
        assert_true(s < slices && set < sets);
        assert_int_equal(w->l2->slice[s].channel,
                         hd_dram_channel(w->dram, (hd_pa){pa}));
        assert_true(tag_of(w, line) < tags);
        assert_int_equal(held[(tag_of(w, line) * slices + s) * sets + set]++,
                         0);
        for (; pa < (line + 1) << shift; pa += hd_dram_burst(&w->set.dram)) {
            struct hd_drammap map;
            struct hd_dramaddr a;
            uint64_t k;
            hd_drammap_init(&map, &w->set.dram, &w->m.err);
            a = hd_drammap_locate(&map, pa);
            assert_int_equal(a.channel, w->l2->slice[s].channel);
            k = ((a.row * w->set.dram.channels + a.channel) * banks + a.bank) *
                    columns +
                a.column;
            assert_true(a.row < rows);
            assert_int_equal(seen[k]++, 0);
        }
    }
    free(seen);
    free(held);
    unbuild(w);
}

static void every_line(void **state)
{
    static const char *const shape[] = {
        "dram.channels=4 l2cache.slices=8 l2cache.bytes=16384 l2cache.ways=2",
        "dram.channels=8 l2cache.slices=8 l2cache.bytes=32768 l2cache.ways=4",
        "dram.channels=1 l2cache.slices=4 l2cache.bytes=8192 l2cache.ways=1",
        "dram.channels=2 l2cache.slices=8 l2cache.bytes=32768 l2cache.ways=2 "
        "dram.interleave=512 dram.map=row:channel:bank:column:group",
        /* numbers that are no powers of two */
        "dram.channels=6 l2cache.slices=12 l2cache.bytes=21504 l2cache.ways=1",
        "dram.channels=3 l2cache.slices=6 l2cache.bytes=15360 l2cache.ways=2",
    };
    static const char *const kind[] = {"none", "xor", "ipoly"};
    char text[400];

    (void)state;
    for (uint32_t i = 0; i < HD_LEN(shape); i++)
        for (uint32_t k = 0; k < 27; k++) {
            if (i >= 4 && (k / 9 == 2 || (i == 5 && k % 3 == 2)))
                continue; /* ipoly of an odd number */
            snprintf(text, sizeof text,
                     "%s dram.channel_hash=%s l2cache.slice_hash=%s "
                     "l2cache.set_hash=%s dram.bank_hash=%s",
                     shape[i], kind[k % 3], kind[k / 3 % 3], kind[k / 9],
                     kind[k / 3 % 3]);
            one_to_one(text, 12);
        }
}

/* ---- slices that belong to no channel ----------------------------------- */

/* All lines of 12 tags have a place of their own; a request's channel is the
 * DRAM's, whatever its slice. */
static void no_multiple(void **state)
{
    static const char *const shape[] = {
        "dram.channels=8 l2cache.slices=4 l2cache.bytes=16384 l2cache.ways=2",
        "dram.channels=4 l2cache.slices=6 l2cache.bytes=12288 l2cache.ways=4",
        "dram.channels=10 l2cache.slices=6 l2cache.bytes=36864 l2cache.ways=2",
        "dram.channels=2 l2cache.slices=5 l2cache.bytes=15360 l2cache.ways=1",
        "dram.channels=10 l2cache.slices=4 l2cache.bytes=16384 l2cache.ways=1 "
        "dram.interleave=512 dram.map=row:channel:bank:column:group",
    };
    static const char *const kind[] = {"none", "xor", "ipoly"};
    char text[400];

    (void)state;
    for (uint32_t i = 0; i < HD_LEN(shape); i++)
        for (uint32_t k = 0; k < 27; k++) {
            uint32_t slices, sets, set, s;
            struct machine *w;
            uint8_t *held;

            if ((k / 3 % 3 == 2 && i == 3) || (k / 9 == 2 && i % 2 == 1))
                continue; /* ipoly of an odd number, or of one way's sets */
            snprintf(text, sizeof text,
                     "%s dram.channel_hash=%s l2cache.slice_hash=%s "
                     "l2cache.set_hash=%s",
                     shape[i], kind[k % 3], kind[k / 3 % 3], kind[k / 9]);
            w = build(text, 1);
            if (w->l2 == NULL)
                fail_msg("%s: %s", text, w->m.err.text);
            slices = w->set.l2cache.slices;
            sets = w->l2->slice[0].tags.tags.sets;
            held = calloc(slices * sets * 12, 1);
            for (uint64_t line = 0; line < slices * sets * 12; line++) {
                hd_pa pa = {line << 7};
                s = hd_l2_slice_of(w->l2, 0, line, &set);
                assert_true(s < slices && set < sets);
                assert_int_equal(
                    held[(line / (slices * sets) * slices + s) * sets + set]++,
                    0);
                assert_int_equal(w->l2->slice[s].channel, HD_NONE);
                assert_int_equal(hd_l2_channel(w->l2, 0, pa),
                                 hd_dram_channel(w->dram, pa));
            }
            free(held);
            unbuild(w);
        }
}

/* Hashed slices and channels of today's cards: strides of a power of two and of
 * so many times all slices load each slice and each channel with at most twice
 * its share, and the lines of a slice are in most channels. */
static void independent(void **state)
{
    static const struct {
        uint32_t slices, channels;
    } card[] = {{32, 64}, {80, 160}, {96, 160}, {48, 64}, {80, 32}};

    (void)state;
    for (uint32_t i = 0; i < HD_LEN(card); i++) {
        uint32_t n = card[i].slices, c = card[i].channels;
        struct machine *w;
        char text[300];

        snprintf(text, sizeof text,
                 "l2cache.slices=%u dram.channels=%u l2cache.bytes=%u "
                 "l2cache.slice_hash=ipoly dram.channel_hash=ipoly",
                 n, c, n << 17);
        w = build(text, 1);
        if (w->l2 == NULL)
            fail_msg("%s: %s", text, w->m.err.text);
        for (uint32_t k = 1; k < 36; k++) {
            uint64_t step = (k % 2 ? n : 1ull) << k / 2;
            uint32_t slice[96] = {0}, channel[160] = {0}, lines = 8 * n * c;
            static uint8_t both[96][160];

            if (step < 2 * c) /* less than a piece a channel */
                continue;
            memset(both, 0, sizeof both);
            for (uint64_t at = 0; at < lines; at++) {
                hd_pa pa = {(at * step) << 7};
                uint32_t set, s = hd_l2_slice_of(w->l2, 0, at * step, &set);
                slice[s]++;
                channel[hd_dram_channel(w->dram, pa)]++;
                both[s][hd_dram_channel(w->dram, pa)] = 1;
            }
            for (uint32_t s = 0; s < n; s++) {
                uint32_t reached = 0;
                for (uint32_t a = 0; a < c; a++)
                    reached += both[s][a];
                assert_in_range(slice[s], 0, 2 * lines / n);
                assert_in_range(reached, c / 2, c);
            }
            for (uint32_t a = 0; a < c; a++)
                assert_in_range(channel[a], 0, 2 * lines / c);
        }
        unbuild(w);
    }
}

/* Where channels are shared out, an application's are hashed among its own. */
static void shares(void **state)
{
    struct machine *w =
        build("dram.channels=8 l2cache.slices=16 dram.partition=true "
              "dram.channel_hash=ipoly l2cache.slice_hash=xor",
              2);

    (void)state;
    for (uint64_t line = 0; line < 5000; line++)
        for (uint32_t app = 0; app < 2; app++) {
            hd_pa pa = {line << 7};
            uint32_t set, s = hd_l2_slice_of(w->l2, app, line, &set);
            assert_int_equal(s / 8, app);
            assert_int_equal(w->l2->slice[s].channel,
                             hd_dram_lane(w->dram, app, pa));
        }
    unbuild(w);
}

/* ---- strides ------------------------------------------------------------ */

/* Lines 0, step, 2 * step, ...: the most that a channel, a slice, a set has. */
struct most {
    uint32_t channel, slice, set;
};

static struct most walk(const struct machine *w, uint64_t step, uint32_t lines)
{
    uint32_t channel[64] = {0}, slice[64] = {0}, *held;
    uint32_t sets = w->l2->slice[0].tags.tags.sets;
    struct most most = {0, 0, 0};

    held = calloc(64u * sets, sizeof *held);
    for (uint64_t i = 0; i < lines; i++) {
        uint32_t set, s = hd_l2_slice_of(w->l2, 0, i * step, &set);
        uint32_t c = ++channel[w->l2->slice[s].channel], n = ++slice[s];
        uint32_t k = ++held[s * sets + set];
        most.channel = c > most.channel ? c : most.channel;
        most.slice = n > most.slice ? n : most.slice;
        most.set = k > most.set ? k : most.set;
    }
    free(held);
    return most;
}

/* 8 channels, two slices each, 64 sets a slice; the channel is bits 1 to 3 of
 * the line, the slice bit 0, the set bits 4 to 9. */
#define SIXTEEN "dram.channels=8 l2cache.slices=16 "

static void powers_of_two(void **state)
{
    struct machine *none = build(SIXTEEN, 1);
    struct machine * xor
        = build(SIXTEEN "dram.channel_hash=xor l2cache.slice_hash=xor "
                        "l2cache.set_hash=xor",
                1);
    struct machine *ipoly =
        build(SIXTEEN "dram.channel_hash=ipoly l2cache.slice_hash=ipoly "
                      "l2cache.set_hash=ipoly",
              1);

    (void)state;
    for (uint32_t k = 4; k <= 20; k++) {
        uint64_t step = 1ull << k;
        struct most m = walk(none, step, 1024);
        assert_int_equal(m.channel, 1024);
        assert_int_equal(m.slice, 1024);
        assert_int_equal(m.set, 1024 >> (k < 10 ? 10 - k : 0));
        /* eight lines are in eight channels, and so on */
        assert_int_equal(walk(xor, step, 8).channel, 1);
        assert_int_equal(walk(ipoly, step, 8).channel, 1);
        assert_int_equal(walk(xor, step, 1024).channel, 128);
        assert_int_equal(walk(ipoly, step, 1024).channel, 128);
        /* degrees 3 and 4 have no common factor: 128 lines are everywhere */
        assert_int_equal(walk(ipoly, step, 128).slice, 8);
        /* degrees 3, 4 and 6: 8192 lines are in all sets */
        assert_int_equal(walk(ipoly, step, 8192).set, 8);
        assert_in_range(walk(xor, step, 1024).slice, 64, 128);
        assert_in_range(walk(xor, step, 8192).set, 8, 64);
    }
    unbuild(none);
    unbuild(xor);
    unbuild(ipoly);
}

/* 8 channels of pieces of 2 lines: of 9 * 8 pieces the first eight multiples
 * come back to one channel by the fold, of the polynomial's by the remainder
 * (x^3+x+1: 11). */
static void weak_strides(void **state)
{
    struct machine * xor = build(SIXTEEN "dram.channel_hash=xor", 1);
    struct machine *ipoly = build(SIXTEEN "dram.channel_hash=ipoly", 1);

    (void)state;
    assert_int_equal(walk(xor, 2 * 8 * 9, 8).channel, 8);
    assert_in_range(walk(ipoly, 2 * 8 * 9, 64).channel, 8, 16);
    for (uint32_t i = 0; i < 64; i++) {
        hd_pa multiple = {product(i, 11) * 256};
        assert_int_equal(hd_dram_channel(ipoly->dram, multiple), 0);
    }
    unbuild(xor);
    unbuild(ipoly);
}

/* Powers of six, of six channels. */
static void six(void **state)
{
    struct machine *none =
        build("dram.channels=6 l2cache.slices=12 l2cache.bytes=3145728", 1);
    struct machine * xor
        = build("dram.channels=6 l2cache.slices=12 l2cache.bytes=3145728 "
                "dram.channel_hash=xor l2cache.slice_hash=xor",
                1);

    (void)state;
    for (uint64_t step = 12; step < 1ull << 24; step *= 6) {
        assert_int_equal(walk(none, step, 216).channel, 216);
        assert_int_equal(walk(xor, step, 216).channel, 36);
        assert_in_range(walk(xor, step, 1296).slice, 108, 216);
    }
    unbuild(none);
    unbuild(xor);
}

/* Channels of today's cards: strides of a power of two, and of so many times all
 * channels, load each with at most twice its share. */
static void even_counts(void **state)
{
    static const uint32_t size[] = {12, 24, 48, 80, 96, 160};

    (void)state;
    for (uint32_t s = 0; s < HD_LEN(size); s++) {
        uint32_t n = size[s];
        struct hd_addrhash h = make(HD_HASH_IPOLY, n, 1, false);
        for (uint32_t k = 0; k < 2 * 18; k++) {
            uint64_t step = (k % 2 ? n : 1ull) << k / 2;
            uint32_t held[160] = {0};
            for (uint64_t i = 0; i < 64 * n; i++) {
                uint64_t at = i * step;
                held[hd_addrhash(&h, (uint32_t)(at % n), at / n)]++;
            }
            for (uint32_t c = 0; c < n; c++)
                assert_in_range(held[c], 32, 128);
        }
    }
}

/* ---- what is refused ----------------------------------------------------- */

static void refuse(const char *settings, const char *text)
{
    struct machine *w = build(settings, 1);

    assert_true(w->l2 == NULL);
    assert_int_equal(w->m.err.code, HEDDLE_ECONFIG);
    assert_text(w->m.err.text, text);
    unbuild(w);
}

static void refused(void **state)
{
    (void)state;
    refuse("dram.channels=5 l2cache.slices=10 dram.channel_hash=ipoly",
           "dram.channel_hash: ipoly has polynomials for even numbers, and "
           "dram.channels is 5; xor takes any number");
    refuse("dram.channels=4 l2cache.slices=12 l2cache.slice_hash=ipoly",
           "l2cache.slice_hash: ipoly has polynomials for even numbers, and "
           "l2cache.slices is 12, an odd number of each channel's; xor takes "
           "any number");
    refuse("dram.channels=6 l2cache.slices=12 l2cache.set_hash=ipoly",
           "l2cache.set_hash: ipoly has polynomials for even numbers, and the "
           "number of sets in a slice is 85; xor takes any number");
    refuse("dram.banks=15 dram.groups=5 dram.bank_hash=ipoly",
           "dram.bank_hash: ipoly has polynomials for even numbers, and "
           "dram.banks is 15; xor takes any number");
    /* where a channel has one slice there is nothing to choose */
    unbuild(
        build("dram.channels=6 l2cache.slices=6 l2cache.slice_hash=ipoly", 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(polynomials),   cmocka_unit_test(definitions),
        cmocka_unit_test(every_line),    cmocka_unit_test(no_multiple),
        cmocka_unit_test(independent),   cmocka_unit_test(shares),
        cmocka_unit_test(powers_of_two), cmocka_unit_test(weak_strides),
        cmocka_unit_test(six),           cmocka_unit_test(even_counts),
        cmocka_unit_test(refused),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
