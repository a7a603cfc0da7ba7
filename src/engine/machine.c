/*
 * machine.c - the list of all parts, and the checks across their settings.
 *
 * Each part declares its settings beside its struct, with their ranges, and
 * what it counts; here is a row for each, in the order in which they are
 * listed, and here are the settings of no part: the simulation's and the
 * clocks'.  A setting's own range is
 * checked when it is set (kit/config.c).  What only two settings together can
 * get wrong is checked once they are all known, before anything is built, with
 * words that name both.  What sizes come to where they are no whole number of
 * sets is told by hd_machine_shape; t/601 holds it against what parts have
 * built.
 *
 * SPDX-License-Identifier: MIT
 */
#include "machine.h"
#include "tool.h"

#include "kit/bits.h"
#include "memory/dram.h"
#include "points/classify.h"
#include "points/slots.h"
#include "pages/mover.h"

#define AT(f) (uint32_t) offsetof(struct hd_sim_cfg, f)

static const struct hd_setting hd_sim_settings[] = {
    {"seed", HD_T_U64, AT(seed), "", "1", 0, UINT64_MAX, "",
     "seed of every random stream", "heddle"},
    {"translation", HD_T_MODE, AT(translation), "", "full", 0, 0, "off|full",
     "off: addresses are translated for free; full: by TLBs and walkers as "
     "their own modes say",
     "heddle"},
    {"budget", HD_T_U64, AT(budget), "warp instructions", "0", 0, UINT64_MAX,
     "", "instructions after which an application counts as finished; 0: all",
     "MASK 6 (equal work)"},
    {"warmup", HD_T_U64, AT(warmup), "core cycles", "0", 0, UINT64_MAX, "",
     "cycles before counters and budgets start", "heddle"},
    {"stop_cycles", HD_T_U64, AT(stop_cycles), "core cycles", "0", 0,
     UINT64_MAX, "", "the run stops after this many cycles; 0: no limit",
     "heddle"},
    {"stuck_cycles", HD_T_U64, AT(stuck_cycles), "core cycles", "5000000", 1000,
     UINT64_MAX, "",
     "the run stops with the wait-for graph after this long without an "
     "instruction, a line of a moving page or a transfer over the link; one "
     "transfer may take longer",
     "guess"},
    {"relaunch", HD_T_BOOL, AT(relaunch), "", "true", 0, 1, "",
     "an application that finishes first starts again until all have "
     "finished once",
     "MASK 6"},
    {"check", HD_T_BOOL, AT(check), "", "false", 0, 1, "",
     "verify invariants while running", "heddle"},
    {"first_kernel", HD_T_U32, AT(first_kernel), "", "1", 1, UINT32_MAX, "",
     "first launch that is simulated; earlier ones only run functionally",
     "heddle"},
    {"last_kernel", HD_T_U32, AT(last_kernel), "", "0", 0, UINT32_MAX, "",
     "last launch that is simulated; 0: all", "heddle"},
};
static const uint32_t hd_sim_setting_count = HD_LEN(hd_sim_settings);

#define SAMPLE(f) (uint32_t) offsetof(struct hd_sample_cfg, f)

static const struct hd_setting hd_sample_settings[] = {
    {"every", HD_T_U64, SAMPLE(every), "warp instructions", "0", 0, 1ull << 62,
     "",
     "systematic sampling: of every so many instructions, sample.warm and then "
     "sample.window are simulated in detail, the rest skipped with functional "
     "warming; 0: all are simulated",
     "SMARTS (ISCA 2003)"},
    {"window", HD_T_U64, SAMPLE(window), "warp instructions", "10000", 1,
     1ull << 62, "", "instructions measured in each sample.every",
     "guess: some of each warp of 30 cores"},
    {"warm", HD_T_U64, SAMPLE(warm), "warp instructions", "10000", 0,
     1ull << 62, "",
     "detailed warm-up before a window, and at the start: queues, MSHRs and DRAM "
     "rows, which are not warmed functionally",
     "guess: some of each warp of 30 cores"},
    {"launches", HD_T_BOOL, SAMPLE(launches), "", "false", 0, 1, "",
     "kernel sampling: one launch of each cluster and the first on each grid "
     "are simulated, the others run functionally; a cluster is launches of one "
     "kernel with equal grids and instruction mix",
     "Principal Kernel Analysis (MICRO 2021), Sieve (ISPASS 2023)"},
    {"mix", HD_T_U32, SAMPLE(mix), "permille", "10", 0, 1000, "",
     "largest difference of instruction mix between a cluster's launches: "
     "instructions, loads, stores, atomics, active lanes",
     "guess"},
    {"timed", HD_T_BOOL, SAMPLE(timed), "", "false", 0, 1, "",
     "allow policies and mechanisms with time-dependent state, which skipped "
     "instructions do not advance",
     "heddle"},
};
static const uint32_t hd_sample_setting_count = HD_LEN(hd_sample_settings);

static const struct hd_setting hd_clock_settings[] = {
    {"core", HD_T_U64, AT(core_hz), "Hz", "1020000000", 1000000, 100000000000u,
     "", "clock of cores and L1", "MASK table 1"},
    {"l2", HD_T_U64, AT(l2_hz), "Hz", "1020000000", 1000000, 100000000000u, "",
     "clock of interconnect, L2 cache, L2 TLB and walkers",
     "guess: the core's"},
    {"dram", HD_T_U64, AT(dram_hz), "Hz", "1674000000", 1000000, 100000000000u,
     "", "DRAM command clock", "MASK table 1"},
    {"link", HD_T_U64, AT(link_hz), "Hz", "1020000000", 1000000, 100000000000u,
     "", "clock of the host link's model", "guess: the core's"},
};
static const uint32_t hd_clock_setting_count = HD_LEN(hd_clock_settings);

#define SETTINGS(table, member)                                                \
    hd_##table##_settings, &hd_##table##_setting_count,                        \
        offsetof(struct hd_machine, member)
#define NO_SETTINGS     NULL, &none, 0
#define COUNTERS(table) hd_##table##s, &hd_##table##_count
#define NONE            NULL, &none

static const uint32_t none;

const struct hd_part_info hd_parts[] = {
    {"sim", SETTINGS(sim, sim), NONE, NONE},
    {"clock", SETTINGS(clock, sim), NONE, NONE},
    {"sample", SETTINGS(sample, sample), NONE, NONE},
    {"core", SETTINGS(core, core), COUNTERS(core_counter), COUNTERS(core_hist)},
    {"throttle", SETTINGS(throttle, throttle), COUNTERS(throttle_stat), NONE},
    {"l1tlb", SETTINGS(l1tlb, l1tlb), COUNTERS(l1tlb_counter), NONE},
    {"l1side", SETTINGS(l1side, l1side), COUNTERS(bypass_stat), NONE},
    {"l1cache", SETTINGS(l1cache, l1cache), COUNTERS(l1cache_counter), NONE},
    {"xbar", SETTINGS(xbar, xbar), NONE, NONE},
    {"l2tlb", SETTINGS(l2tlb, l2tlb), COUNTERS(tlb_stat), NONE},
    {"bypass", SETTINGS(bypass, bypass), COUNTERS(bypass_stat), NONE},
    {"mmu", NO_SETTINGS, COUNTERS(mmu_stat), COUNTERS(mmu_hist)},
    {"walk", SETTINGS(walk, walk), COUNTERS(walk_stat), NONE},
    {"prefetch", SETTINGS(prefetch, prefetch), COUNTERS(prefetch_stat), NONE},
    {"pwc", SETTINGS(pwc, pwc), COUNTERS(pwc_stat), NONE},
    {"msc", SETTINGS(msc, msc), COUNTERS(msc_stat), NONE},
    {"l2cache", SETTINGS(l2cache, l2cache), COUNTERS(l2_stat),
     COUNTERS(l2_hist)},
    {"dram", SETTINGS(dram, dram), COUNTERS(dram_stat), COUNTERS(dram_hist)},
    {"compress", SETTINGS(compress, compress), COUNTERS(compress_stat), NONE},
    {"vm", SETTINGS(vm, vm), NONE, NONE},
    {"memory", SETTINGS(manage, memory), COUNTERS(manage_stat),
     COUNTERS(manage_hist)},
    {"mover", NO_SETTINGS, COUNTERS(mover_stat), NONE},
    {"fault", SETTINGS(fault, fault), COUNTERS(fault_stat),
     COUNTERS(fault_hist)},
    {"uvm", SETTINGS(driver, uvm), COUNTERS(driver_stat), NONE},
    {"thrash", NO_SETTINGS, COUNTERS(thrash_stat), NONE},
    {"evict", SETTINGS(evict, evict), COUNTERS(evict_stat), NONE},
    {"remote", SETTINGS(remote, remote), COUNTERS(remote_stat), NONE},
    {"link", SETTINGS(link, link), COUNTERS(link_stat), COUNTERS(link_hist)},
    {"classify", NO_SETTINGS, COUNTERS(classify_stat), NONE},
    {"policy", NO_SETTINGS, COUNTERS(slots_stat), NONE},
};
const uint32_t hd_part_count = HD_LEN(hd_parts);

/* ---- what one setting alone cannot show -------------------------------- */

static int check_core(const struct hd_machine *m, struct hd_err *err)
{
    const struct hd_core_cfg *c = &m->core;

    if (c->lanes != 32 && c->lanes != 64)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "core.lanes: %u is neither 32 nor 64", c->lanes);
    if (c->width == 0 || c->lanes % c->width != 0)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "core.width: %u does not divide core.lanes (%u)",
                          c->width, c->lanes);
    if (c->threads < c->lanes)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "core.threads: %u is less than one warp of %u",
                          c->threads, c->lanes);
    return 0;
}

static int check_cache(const struct hd_cache_cfg *c, const char *name,
                       uint64_t bytes, struct hd_err *err)
{
    if (c->mode.kind != HD_FULL)
        return 0;
    if (!hd_is_pow2(c->line) || c->line < 32)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "%s.line: %u is not a power of two of at least 32 "
                          "bytes",
                          name, c->line);
    if (c->ways == 0 || bytes / c->line < c->ways)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "%s.bytes: %llu bytes do not hold one set of %u "
                          "ways with lines of %u bytes",
                          name, (unsigned long long)bytes, c->ways, c->line);
    return 0;
}

static int check_tlb(const struct hd_tlb_cfg *t, const char *name,
                     struct hd_err *err)
{
    if (t->mode.kind != HD_FULL)
        return 0;
    if (t->entries == 0 || (t->ways != 0 && t->entries % t->ways != 0))
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "%s.entries: %u is not a multiple of %s.ways (%u)",
                          name, t->entries, name, t->ways);
    if (t->large_ways != 0 && t->large_entries % t->large_ways != 0)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "%s.large_entries: %u is not a multiple of "
                          "%s.large_ways (%u)",
                          name, t->large_entries, name, t->large_ways);
    return 0;
}

/* What a setting of faults is to be where the driver serves them, or NULL. */
static const char *against_driver(const struct hd_fault_cfg *f)
{
    return f->batch != 1                     ? "fault.batch=1"
           : f->serial                       ? "fault.serial=false"
           : f->transfer != HD_TRANSFER_PAGE ? "fault.transfer=page"
           : f->replay != HD_REPLAY_BATCH    ? "fault.replay=batch"
                                             : NULL;
}

static int check_translation(const struct hd_machine *m, struct hd_err *err)
{
    uint32_t k = m->sim.translation.kind;

    if (k != HD_OFF && k != HD_FULL)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "sim.translation: off or full is expected; for an "
                          "ideal TLB set l1tlb.mode=ideal");
    if (m->l1tlb.mode.kind == HD_OFF && k == HD_FULL &&
        m->l2tlb.mode.kind == HD_IDEAL)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "l2tlb.mode: ideal without an L1 TLB is the same "
                          "as l1tlb.mode=fixed:N; say that instead");
    if (m->walk.mode.kind == HD_OFF)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "walk.mode: off leaves misses unanswered; "
                          "sim.translation=off switches translation off");
    if (m->vm.paging == HD_PAGING_FAULT && k == HD_OFF)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "vm.paging: faults are found by translation, which "
                          "sim.translation=off leaves out; for an ideal TLB "
                          "set l1tlb.mode=ideal");
    if (m->uvm.mode == HD_DRIVER_DRIVER && against_driver(&m->fault) != NULL)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "uvm.mode: the driver has batches, transfers and "
                          "replays of its own; %s is expected with it",
                          against_driver(&m->fault));
    if (m->l1tlb.overlap == HD_OVERLAP_OFF && m->core.parked < HD_MAX_LINES)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "core.parked: %u; with l1tlb.overlap=off all lines of "
                          "an instruction wait together, so at least %d are "
                          "expected",
                          m->core.parked, HD_MAX_LINES);
    if (check_tlb(&m->l1tlb, "l1tlb", err) != 0)
        return err->code;
    return check_tlb(&m->l2tlb, "l2tlb", err);
}

static int check_span(const struct hd_sim_cfg *s, struct hd_err *err)
{
    if (s->last_kernel != 0 && s->last_kernel < s->first_kernel)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "sim.last_kernel: %u lies before sim.first_kernel "
                          "(%u)",
                          s->last_kernel, s->first_kernel);
    if (s->stop_cycles != 0 && s->stop_cycles <= s->warmup)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "sim.stop_cycles: %llu is not after the warm-up "
                          "(sim.warmup, %llu): nothing would be counted",
                          (unsigned long long)s->stop_cycles,
                          (unsigned long long)s->warmup);
    return 0;
}

int hd_machine_check(const struct hd_machine *m, struct hd_err *err)
{
    uint32_t channels = m->dram.channels, slices = m->l2cache.slices;

    if (check_core(m, err) != 0 || check_translation(m, err) != 0)
        return err->code;
    if (check_cache(&m->l1cache, "l1cache", m->l1cache.bytes, err) != 0)
        return err->code;
    if (slices == 0 || channels == 0 || slices % channels != 0)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "l2cache.slices: %u is not a multiple of "
                          "dram.channels (%u)",
                          slices, channels);
    if (check_cache(&m->l2cache, "l2cache", m->l2cache.bytes / slices, err))
        return err->code;
    if (m->l1cache.line != m->l2cache.line)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "l1cache.line: %u differs from l2cache.line (%u); "
                          "one line size is expected",
                          m->l1cache.line, m->l2cache.line);
    if (hd_dram_cfg_check(&m->dram, m->l2cache.line, err) != 0)
        return err->code;
    if (hd_compress_check(&m->compress, m->l2cache.line, err) != 0)
        return err->code;
    if (m->compress.enable && (m->memory.fragment_index != 0 ||
                               m->memory.hog != 0 || m->memory.hog_torn != 0))
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "memory.%s: pages of nobody's take frames, which "
                          "compress.enable has more of than memory; one of "
                          "both is expected",
                          m->memory.fragment_index != 0 ? "fragment_index"
                          : m->memory.hog != 0          ? "hog"
                                                        : "hog_torn");
    return check_span(&m->sim, err);
}

/* ---- what sizes come to -------------------------------------------------- */

/* The sums of hd_tlb_open and hd_pwc_open.  Whether there is such a one. */
static bool of_entries(struct heddle_shape_info *out, bool there, uint32_t n,
                       uint32_t ways, uint32_t copies)
{
    if (!there || n == 0)
        return false;
    out->unit = "entries";
    out->copies = copies;
    out->ways_set_to = ways;
    out->ways = ways == 0 || ways > n ? n : ways;
    out->sets = n / out->ways;
    out->set_to = n;
    out->size = (uint64_t)out->sets * out->ways;
    return true;
}

/* Those of hd_cache_open; `parts` of the bytes are in one copy. */
static bool of_bytes(struct heddle_shape_info *out,
                     const struct hd_cache_cfg *cfg, uint32_t copies,
                     uint32_t parts)
{
    uint64_t set = (uint64_t)cfg->ways * cfg->line;

    if (cfg->mode.kind != HD_FULL || set == 0 || parts == 0)
        return false;
    out->unit = "bytes";
    out->copies = copies;
    out->ways_set_to = out->ways = cfg->ways;
    out->sets = (uint32_t)(cfg->bytes / parts / set);
    out->set_to = cfg->bytes;
    out->size = out->sets * set * parts;
    return true;
}

/* The k-th of those that there may be. */
static bool shape(const struct hd_machine *m, uint32_t k,
                  struct heddle_shape_info *out)
{
    bool l1 = m->l1tlb.mode.kind == HD_FULL, l2 = m->l2tlb.mode.kind == HD_FULL;
    uint32_t cores = m->core.count, units = m->walk.per_core ? cores : 1;

    switch (k) {
    case 0:
        return of_entries(out, l1, m->l1tlb.entries, m->l1tlb.ways, cores);
    case 1:
        return of_entries(out, l1, m->l1tlb.large_entries, m->l1tlb.large_ways,
                          cores);
    case 2:
        return of_entries(out, l2, m->l2tlb.entries, m->l2tlb.ways, units);
    case 3:
        return of_entries(out, l2, m->l2tlb.large_entries, m->l2tlb.large_ways,
                          units);
    case 4:
        return of_entries(out, l2, m->bypass.entries, 0, units);
    case 5:
        return of_entries(out, m->pwc.mode.kind != HD_OFF, m->pwc.entries,
                          m->pwc.ways, units);
    case 6:
        return of_entries(out, l1, m->l1side.entries, 0, cores);
    case 7:
        return of_bytes(out, &m->l1cache, cores, 1);
    default:
        return of_bytes(out, &m->l2cache, m->l2cache.slices, m->l2cache.slices);
    }
}

int hd_machine_shape(const struct hd_machine *m, uint32_t i,
                     struct heddle_shape_info *out)
{
    static const char *const name[] = {"l1tlb",       "l1tlb.large", "l2tlb",
                                       "l2tlb.large", "bypass",      "pwc",
                                       "l1side",      "l1cache",     "l2cache"};

    for (uint32_t k = 0; k < HD_LEN(name); k++) {
        *out = (struct heddle_shape_info){.name = name[k]};
        if (!shape(m, k, out) || i-- != 0)
            continue;
        out->rounded = out->size != out->set_to ||
                       (out->ways_set_to != 0 && out->ways != out->ways_set_to);
        return HEDDLE_OK;
    }
    return HEDDLE_EINVAL;
}
