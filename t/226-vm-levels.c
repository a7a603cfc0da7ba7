/*
 * Pinned: levels of uTLBs, tick by tick: a hit in level k takes the look-ups of
 * levels 1 to k; ports; misses that join; a level without a free MSHR, blocked
 * at clk-1 and ready at clk; sub-entries, and those of a line of the page
 * table; a shootdown of one page clears one sub-entry in each level; random
 * accesses through three levels hit as often in each as in a few lines of C;
 * the same after a snapshot; groups of cores, and those that are refused, with
 * the level's name.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>

#include "vmenv.h"
#include "texts.h"

enum hd_level_stat {
#define HD_COUNTERS_OF "translation/level.def"
#include "kit/rows.h"
    HD_LEVEL_STATS
};

enum {
    ONE = 3, /* look-ups of the levels */
    TWO = 5,
    THREE = 11,
    WAY = 10,       /* from the last level to the walkers: 5 L2 cycles */
    WALK = 4 * 107, /* memory and the way back */
    A = 0x1000,     /* pages, all mapped */
    B = 0x2000,
    SOON = 100000
};

static struct hd_level_cfg level(uint32_t entries, uint32_t share,
                                 uint32_t latency)
{
    return (struct hd_level_cfg){.entries = entries,
                                 .share = share,
                                 .sub_4k = 1,
                                 .sub_64k = 1,
                                 .sub_2m = 1,
                                 .latency = latency,
                                 .ports = 1,
                                 .mshrs = 8};
}

/* Three levels, of two cores, of all, of all; walkers below. */
static struct vm *chain(void)
{
    struct vm *v = vm_new();

    v->l2tlb.mode.kind = HD_OFF;
    v->level[0] = level(2, 2, ONE);
    v->level[1] = level(4, 0, TWO);
    v->level[2] = level(64, 0, THREE);
    return v;
}

static struct vm *start(struct vm *v)
{
    vm_open(v, 2);
    for (uint32_t app = 0; app < 2; app++)
        for (uint64_t p = A; p <= B; p += 0x1000)
            vm_map(v, app, p, 256);
    return v;
}

/* A counter of a level, of all instances and applications. */
static uint64_t count(const struct vm *v, const char *name, uint32_t counter)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < v->m.stats.groups; i++) {
        const struct hd_stat_group *g = &v->m.stats.group[i];
        if (strcmp(g->component, name) != 0)
            continue;
        for (uint32_t k = 0; k < g->stat.instances; k++)
            for (uint32_t app = 0; app < v->m.stats.apps; app++)
                sum += *hd_count(&g->stat, k, app, counter);
    }
    return sum;
}

static void a_hit_takes_the_look_ups(void **state)
{
    struct vm *v = start(chain());

    (void)state;
    vm_ask(v, 0, 0, 0, 0, A);
    vm_due(v, 0, ONE + TWO + THREE + WAY + WALK);
    assert_int_equal(v->answer[0].hit, HD_TREQ_WALKED);
    assert_int_equal(v->answer[0].references, 4);
    vm_ask(v, SOON, 1, 0, 0, A); /* the other core of the pair */
    vm_due(v, 1, SOON + ONE);
    assert_int_equal(v->answer[1].hit, HD_TREQ_HIT_L2);
    vm_ask(v, 2 * SOON, 2, 0, 0, A);
    vm_due(v, 2, 2 * SOON + ONE + TWO);
    for (uint32_t i = 1; i <= 4; i++) /* the first leaves level 2, of 4 */
        vm_ask(v, 3 * SOON + i * 10000, 0, 0, 0, A + i);
    vm_ask(v, 4 * SOON, 3, 0, 0, A + 20); /* and level 1 of 2 */
    vm_ask(v, 5 * SOON, 3, 0, 0, A + 21);
    vm_ask(v, 6 * SOON, 3, 0, 0, A);
    vm_due(v, 9, 6 * SOON + ONE + TWO + THREE);
    vm_ask(v, 7 * SOON, 3, 0, 1, A); /* of another application */
    vm_due(v, 10, 7 * SOON + ONE + TWO + THREE + WAY + WALK);
    assert_int_equal(count(v, "utlb1", HD_LEVEL_HITS), 1);
    assert_int_equal(count(v, "utlb2", HD_LEVEL_HITS), 1);
    assert_int_equal(count(v, "utlb3", HD_LEVEL_HITS), 1);
    vm_true(v);
    vm_finish(v);
    vm_close(v);
}

static void stages_sum(void **state)
{
    struct vm *v = start(chain());
    uint64_t sum = 0, all = 0;

    (void)state;
    for (uint32_t i = 0; i < 40; i++)
        vm_ask(v, i / 3, i % 4, i, 0, A + i * 7 % 12);
    vm_finish(v);
    for (uint32_t c = HD_LEVEL_INPUT_CYCLES; c <= HD_LEVEL_BELOW_CYCLES; c++)
        sum += count(v, "utlb1", c);
    for (uint32_t i = 0; i < v->answers; i++)
        all += v->answer[i].at - v->answer[i].tag / 3;
    assert_int_equal(sum, all);
    assert_int_equal(count(v, "utlb1", HD_LEVEL_REQUESTS), 40);
    assert_int_equal(count(v, "utlb1", HD_LEVEL_HITS) +
                         count(v, "utlb1", HD_LEVEL_MISSES),
                     40);
    assert_int_equal(count(v, "utlb1", HD_LEVEL_MISSES) -
                         count(v, "utlb1", HD_LEVEL_MERGES),
                     count(v, "utlb2", HD_LEVEL_REQUESTS));
    vm_close(v);
}

static void ports_and_joining(void **state)
{
    struct vm *v = start(chain());

    (void)state;
    vm_ask(v, 0, 0, 0, 0, A);
    vm_ask(v, 0, 1, 0, 0, A); /* the port a cycle later, and joins */
    vm_ask(v, 9, 2, 0, 0, A); /* joins in level 2, which it reaches later */
    vm_due(v, 0, ONE + TWO + THREE + WAY + WALK);
    vm_due(v, 1, ONE + TWO + THREE + WAY + WALK);
    vm_due(v, 2, ONE + TWO + THREE + WAY + WALK);
    assert_int_equal(vm_walks(v, 0, HD_WALK_WALKS), 1);
    assert_int_equal(count(v, "utlb1", HD_LEVEL_MERGES), 1);
    assert_int_equal(count(v, "utlb2", HD_LEVEL_MERGES), 1);
    assert_int_equal(vm_walks(v, 0, HD_WALK_WARPS), 3);
    vm_ask(v, SOON, 0, 0, 0, A);
    vm_ask(v, SOON, 1, 0, 0, A);
    vm_due(v, 3, SOON + ONE);
    vm_due(v, 4, SOON + ONE + 1);
    vm_finish(v);
    vm_close(v);
}

static void mshr_full(void **state)
{
    struct vm *v = chain();
    const uint64_t first = ONE + TWO + THREE + WAY + WALK;

    (void)state;
    v->level[0].mshrs = 1;
    start(v);
    vm_ask(v, 0, 0, 0, 0, A);
    vm_ask(v, 10, 1, 0, 0, A + 1); /* blocked until the first is answered */
    vm_ask(v, 20, 0, 0, 0, A);     /* behind it, though it could join */
    vm_ask(v, first - 1, 2, 0, 0, A + 2); /* of another instance */
    vm_due(v, 0, first);
    assert_int_equal(count(v, "utlb1", HD_LEVEL_MSHR_BLOCKS), 1);
    vm_due(v, 2, first + ONE);
    vm_due(v, 1, first + TWO + THREE + WAY + WALK);
    assert_int_equal(count(v, "utlb1", HD_LEVEL_FULL_CYCLES), first - 13);
    vm_due(v, 3, first - 1 + ONE + TWO + THREE + WAY + WALK);
    vm_finish(v);
    vm_close(v);
}

static void sub_entries(void **state)
{
    (void)state;
    for (uint32_t line = 0; line < 2; line++) {
        struct vm *v = chain();
        uint64_t full = ONE + WAY + WALK;

        v->level[0].entries = 1;
        v->level[0].sub_4k = 8;
        v->level[0].fill = line;
        v->level[1].entries = v->level[2].entries = 0;
        start(v);
        vm_ask(v, 0, 0, 0, 0, A + 3);
        vm_due(v, 0, full);
        vm_ask(v, SOON, 0, 0, 0, A + 3);
        vm_due(v, 1, SOON + ONE);
        vm_ask(v, 2 * SOON, 0, 0, 0, A + 4); /* the tag is there */
        vm_due(v, 2, 2 * SOON + (line ? ONE : full));
        vm_ask(v, 3 * SOON, 0, 0, 0, A + 3);
        vm_due(v, 3, 3 * SOON + ONE);
        assert_int_equal(count(v, "utlb1", HD_LEVEL_SUB_MISSES), !line);
        assert_int_equal(count(v, "utlb1", HD_LEVEL_EVICTIONS), 0);
        assert_int_equal(count(v, "utlb1", HD_LEVEL_FILLS), line ? 8 : 2);
        hd_mmu_shoot(v->mmu, 0, (hd_vpn){A + 3}, 1, 0);
        assert_int_equal(count(v, "utlb1", HD_LEVEL_INVALIDATIONS), 1);
        vm_ask(v, 4 * SOON, 0, 0, 0, A + 4);
        vm_due(v, 4, 4 * SOON + ONE);
        vm_ask(v, 5 * SOON, 0, 0, 0, A + 8); /* the next tag */
        vm_due(v, 5, 5 * SOON + full);
        assert_int_equal(count(v, "utlb1", HD_LEVEL_EVICTIONS), 1);
        vm_ask(v, 6 * SOON, 0, 0, 0, A + 4);
        vm_due(v, 6, 6 * SOON + full);
        vm_true(v);
        vm_finish(v);
        vm_close(v);
    }
}

/* A shootdown of everything reaches all levels, which pause. */
static void all_shot(void **state)
{
    struct vm *v = start(chain());
    uint64_t full = ONE + TWO + THREE + WAY + WALK;

    (void)state;
    vm_ask(v, 0, 0, 0, 0, A);
    vm_ask(v, 5000, 2, 0, 1, A);
    vm_run(v, SOON - 1);
    hd_mmu_shoot(v->mmu, HD_APP_NONE, (hd_vpn){0}, HD_EVERY_PAGE, SOON + 30);
    vm_ask(v, SOON, 0, 0, 0, A);
    vm_due(v, 2, SOON + 30 + full);
    vm_ask(v, 2 * SOON, 2, 0, 1, A);
    vm_due(v, 3, 2 * SOON + full);
    vm_finish(v);
    vm_close(v);
}

/* ---- a model ------------------------------------------------------------- */

/* A level of an instance: tags with 8 sub-entries at most, by their use. */
struct model {
    struct {
        uint64_t tag, stamp;
        uint32_t valid;
    } e[64];
    uint64_t now;
};

static uint32_t model_set(const struct hd_level_cfg *c, uint64_t tag)
{
    uint32_t sets = c->entries / c->ways, set = 0;

    if (c->hash_bits == 0)
        return (uint32_t)(tag & 0xffffff) % sets;
    for (uint64_t va = (tag & 0xffffff) * c->sub_4k << 12 >> c->hash_from;
         va != 0; va >>= c->hash_bits)
        set ^= (uint32_t)va & ((1u << c->hash_bits) - 1);
    return set;
}

/* Looks a page up, and (fill) enters it. */
static bool model(struct model *m, const struct hd_level_cfg *c, uint32_t app,
                  uint64_t vpn, bool fill)
{
    uint64_t tag = (uint64_t)app << 24 | vpn / c->sub_4k;
    uint32_t bit = 1u << vpn % c->sub_4k, first, victim;

    first = victim = model_set(c, tag) * c->ways;
    m->now++;
    for (uint32_t e = first; e < first + c->ways; e++) {
        if (m->e[e].valid != 0 && m->e[e].tag == tag) {
            bool hit = (m->e[e].valid & bit) != 0;

            if ((hit || fill) && c->replace == HD_LEVEL_LRU)
                m->e[e].stamp = m->now;
            m->e[e].valid |= fill ? bit : 0;
            return hit;
        }
        if (m->e[e].stamp < m->e[victim].stamp)
            victim = e;
    }
    if (fill) {
        m->e[victim].tag = tag;
        m->e[victim].valid = bit;
        m->e[victim].stamp = m->now;
    }
    return false;
}

static void as_a_model(void **state)
{
    enum { N = 6000 };
    static const char *const NAME[] = {"utlb1", "utlb2", "utlb3"};

    (void)state;
    for (uint32_t replace = HD_LEVEL_LRU; replace <= HD_LEVEL_FIFO; replace++) {
        struct model *m = calloc(3 * VM_CORES, sizeof *m);
        uint64_t hits[HD_LEVELS] = {0}, walks = 0, x = 88172645463325252ull;
        struct vm *v = chain();

        v->level[0] = level(4, 1, ONE);
        v->level[1] = level(16, 2, TWO);
        v->level[2] = level(32, 0, THREE);
        for (uint32_t k = 0; k < HD_LEVELS; k++) {
            v->level[k].ways = 4;
            v->level[k].sub_4k = 1u << k;
            v->level[k].replace = replace;
        }
        v->level[1].hash_bits = 2;
        v->level[1].hash_from = 13;
        v->level[2].hash_bits = 3;
        v->level[2].hash_from = 12;
        start(v);
        for (uint32_t i = 0; i < N; i++) {
            uint32_t core, app, k = 0, of[HD_LEVELS];
            uint64_t vpn;

            x ^= x << 13, x ^= x >> 7, x ^= x << 17;
            core = x >> 40 & 3;
            app = x >> 50 & 1;
            vpn = A + (x & (x >> 20 & 1 ? 15 : 127));
            vm_ask(v, 1000ull * i, core, 0, app, vpn);
            of[0] = core, of[1] = core / 2, of[2] = 0;
            for (; k < HD_LEVELS; k++)
                if (model(&m[3 * of[k] + k], &v->level[k], app, vpn, false))
                    break;
            if (k < HD_LEVELS)
                hits[k]++;
            else
                walks++;
            while (k-- > 0)
                model(&m[3 * of[k] + k], &v->level[k], app, vpn, true);
        }
        vm_finish(v);
        vm_true(v);
        for (uint32_t k = 0; k < HD_LEVELS; k++) {
            assert_true(hits[k] > N / 50);
            assert_int_equal(count(v, NAME[k], HD_LEVEL_HITS), hits[k]);
        }
        assert_int_equal(vm_walks(v, 0, HD_WALK_WALKS) +
                             vm_walks(v, 1, HD_WALK_WALKS),
                         walks);
        vm_close(v);
        free(m);
    }
}

/* All at once, with few MSHRs: it ends, is right, and is the same again. */
static void soak(void **state)
{
    (void)state;
    for (uint32_t replace = HD_LEVEL_LRU; replace <= HD_LEVEL_RANDOM;
         replace++) {
        struct vm *v = chain();
        uint64_t x = 88172645463325252ull;

        for (uint32_t k = 0; k < HD_LEVELS; k++) {
            v->level[k].mshrs = 1 + k;
            v->level[k].replace = replace;
            v->level[k].sub_4k = 1u << k;
        }
        v->level[1].fill = HD_LEVEL_FILL_LINE;
        v->level[2].entries = 4;
        start(v);
        for (uint32_t i = 0; i < 2000; i++) {
            x ^= x << 13, x ^= x >> 7, x ^= x << 17;
            vm_ask(v, x >> 30 & 0xffff, x & 3, 0, x >> 2 & 1,
                   (x >> 3 & 1 ? A : B) + (x >> 4 & 63));
        }
        vm_replay(v, 30000);
        vm_true(v);
        vm_close(v);
    }
}

/* ---- groups -------------------------------------------------------------- */

/* The groups of a text, as one letter a core, or what is wrong. */
static const char *grouped(const char *text, uint32_t share, uint32_t cores,
                           char *out)
{
    struct hd_level_cfg c = {.entries = 1, .share = share};
    struct heddle_error err = {0};
    uint16_t of[64];

    snprintf(c.groups, sizeof c.groups, "%s", text);
    if (hd_level_groups(&c, "utlb2", cores, 1, of, &err) == 0) {
        snprintf(out, 256, "%.200s", err.text);
        return out;
    }
    for (uint32_t i = 0; i < cores; i++)
        out[i] = (char)('a' + of[i]);
    out[cores] = '\0';
    return out;
}

static void groups(void **state)
{
    static const struct {
        const char *text;
        uint32_t share, cores;
        const char *is;
    } g[] = {
        {"", 1, 4, "abcd"},
        {"", 3, 8, "aaabbbcc"},
        {"", 0, 5, "aaaaa"},
        {"2x3 2x2", 1, 10, "aaabbbccdd"},
        {"0-2,7 3-6", 1, 8, "aaabbbba"},
        {"0-7/3 1-7/3 2-7/3", 1, 8, "abcabcab"},
        {"1x2 1x2", 1, 4, "aabb"},
        {"2x3", 1, 7, "utlb2.groups: core 6 of 7 (core.count) is in no group"},
        {"0-3 3-6", 1, 7,
         "utlb2.groups: core 3 is in two groups, or twice in one"},
        {"4x2", 1, 7,
         "utlb2.groups: core 7 is in a group, and there are 7 cores "
         "(core.count)"},
        {"3y2", 1, 6,
         "utlb2.groups: `3y2' is not a group; 4x10 (four of ten cores), 0-9,50 "
         "or 0-83/12 is expected"},
    };
    char out[256];

    (void)state;
    for (size_t i = 0; i < HD_LEN(g); i++)
        assert_string_equal(grouped(g[i].text, g[i].share, g[i].cores, out),
                            g[i].is);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hit_takes_the_look_ups),
        cmocka_unit_test(stages_sum),
        cmocka_unit_test(ports_and_joining),
        cmocka_unit_test(mshr_full),
        cmocka_unit_test(sub_entries),
        cmocka_unit_test(all_shot),
        cmocka_unit_test(as_a_model),
        cmocka_unit_test(soak),
        cmocka_unit_test(groups),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("vm levels", tests, NULL, NULL);
}
