/*
 * machine.c - all parts in a table, and the checks across their settings.
 *
 * Each part has a list of its settings and of what it counts (kit/rows.h) and a
 * row in parts.def; here are the lists of no part: the simulation's and the
 * clocks'.  A setting's own range is checked when it is set (kit/config.c).
 * What only two settings together can get wrong is checked once they are all
 * known, before anything is built, with words that name both: by the part, or
 * here for those of two parts.  What sizes come to where they are no whole
 * number of sets is told by hd_machine_shape; t/601 holds it against what parts
 * have built.
 *
 * SPDX-License-Identifier: MIT
 */
#include "machine.h"
#include "tool.h"

#include "kit/bits.h"
#include "kit/event.h"
#include "memory/dram.h"
#include "points/classify.h"
#include "points/slots.h"
#include "pages/mover.h"

#define HD_PART    sim
#define HD_CFG     struct hd_sim_cfg
#define HD_PART_OF "sim.def"
#include "kit/rows.h"

#define HD_PART    clock
#define HD_CFG     struct hd_clock_cfg
#define HD_PART_OF "clock.def"
#include "kit/rows.h"

#define HD_PART    sample
#define HD_CFG     struct hd_sample_cfg
#define HD_PART_OF "sample.def"
#include "kit/rows.h"

static int machine_check_sim(const void *cfg, const char *name,
                             struct heddle_error *err)
{
    const struct hd_sim_cfg *s = cfg;

    (void)name;
    if (s->last_kernel != 0 && s->last_kernel < s->first_kernel)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "sim.last_kernel: %u is before sim.first_kernel "
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

#define PART(name, member, check)                                              \
    {&hd_rows_##name, offsetof(struct hd_machine, member), check},
const struct hd_part_info hd_parts[] = {
#include "parts.def"
};
#undef PART
const uint32_t hd_part_count = HD_LEN(hd_parts);
/* ---- what one setting alone cannot show -------------------------------- */

/* What a setting of faults is to be where the driver serves them, or NULL. */
static const char *against_driver(const struct hd_fault_cfg *f)
{
    return f->batch != 1                     ? "fault.batch=1"
           : f->serial                       ? "fault.serial=false"
           : f->transfer != HD_TRANSFER_PAGE ? "fault.transfer=page"
           : f->replay != HD_REPLAY_BATCH    ? "fault.replay=batch"
                                             : NULL;
}

static int check_translation(const struct hd_machine *m,
                             struct heddle_error *err)
{
    uint32_t k = m->sim.translation.kind;

    if (k != HD_OFF && k != HD_FULL)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "sim.translation: off or full is expected; for an "
                          "ideal TLB set l1tlb.mode=ideal");
    if (m->l1tlb.mode.kind == HD_OFF && k == HD_FULL &&
        m->l2tlb.mode.kind == HD_IDEAL)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "l2tlb.mode: ideal without an L1 TLB is the same as "
                          "l1tlb.mode=fixed:N; use that instead");
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
    if (m->uvm.mode == HD_DRIVER_DRIVER && m->uvm.batch_count > m->uvm.buffer)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "uvm.perf_fault_batch_count: a batch of %u faults is "
                          "more than uvm.fault_buffer holds (%u)",
                          m->uvm.batch_count, m->uvm.buffer);
    if (m->l1tlb.overlap == HD_OVERLAP_OFF && m->core.parked < HD_MAX_LINES)
        return hd_err_set(
            err, HEDDLE_ECONFIG,
            "core.parked: %u; with l1tlb.overlap=off all lines of "
            "an instruction wait together, so at least %d are "
            "expected",
            m->core.parked, HD_MAX_LINES);
    return 0;
}

/* What takes part in events: a core and its way to the MMU, the three stations
 * of an MMU, an L2 slice, and few others. */
static uint32_t components_of(const struct hd_machine *m, uint32_t levels)
{
    enum { OTHERS = 64 };
    uint32_t units = hd_machine_units(m), nodes = m->fabric.nodes;

    return 2 * m->core.count + 3 * units + m->l2cache.slices + levels +
           nodes * (nodes - 1) + OTHERS;
}

/* Levels of uTLBs; *n: their instances. */
static int check_levels(const struct hd_machine *m, uint32_t *n,
                        struct heddle_error *err)
{
    const struct hd_level_cfg *levels[HD_LEVELS] = {&m->utlb1, &m->utlb2,
                                                    &m->utlb3};

    if (hd_levels_check(levels, m->core.count, m->fabric.nodes, n, err) != 0)
        return err->code;
    if (*n != 0 && m->walk.per_core)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "walk.per_core: true; levels that cores share "
                          "(utlb1.entries and others) are above walkers that "
                          "all share: false is expected");
    return 0;
}

static int check_sectors(const struct hd_machine *m, struct heddle_error *err)
{
    uint32_t most = (1u << 14) - m->core.queue * HD_MAX_LINES;

    if (m->l1cache.sector_bytes != m->l2cache.sector_bytes)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "l1cache.sector_bytes: %u differs from "
                          "l2cache.sector_bytes (%u); one size is expected",
                          m->l1cache.sector_bytes, m->l2cache.sector_bytes);
    if (m->l1cache.sector_bytes == 0)
        return 0;
    if (m->compress.enable)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "l2cache.sector_bytes: lines of compressed pages "
                          "(compress.enable) are moved whole; only one of the "
                          "two is expected");
    if (m->core.parked > most)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "core.parked: %u; with l1cache.sector_bytes and "
                          "core.queue=%u at most %u lines can wait",
                          m->core.parked, m->core.queue, most);
    return 0;
}

static int check_virtual(const struct hd_machine *m, struct heddle_error *err)
{
    if (m->l1cache.order != HD_L1_VIRTUAL)
        return 0;
    if (m->l1cache.write == HD_WRITE_BACK)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "l1cache.write: back; evictions of a virtual L1 "
                          "(l1cache.order) would need translations: through or "
                          "evict is expected");
    if (m->l1tlb.overlap != HD_OVERLAP_LINE)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "l1tlb.overlap: pages are looked up after the lines of "
                          "a virtual L1 (l1cache.order) have missed: line is "
                          "expected");
    return 0;
}

/* What several nodes share out has to be shared equally. */
static int check_parts(const struct hd_machine *m, struct heddle_error *err)
{
    const struct {
        const char *name, *unit;
        uint64_t n;
    } of[] = {
        {"core.count", "cores", m->core.count},
        {"l2cache.slices", "slices", m->l2cache.slices},
        {"dram.channels", "channels", m->dram.channels},
        {"vm.memory_bytes", "frames", m->vm.memory_bytes / HD_PAGE_BYTES}};
    struct hd_nodes nodes;
    uint32_t n = m->fabric.nodes;

    for (uint32_t i = 0; i < HD_LEN(of); i++)
        if (of[i].n % n != 0)
            return hd_err_set(err, HEDDLE_ECONFIG,
                              "fabric.nodes: %s, %llu %s, is of all %u nodes, "
                              "and cannot be shared equally",
                              of[i].name, (unsigned long long)of[i].n,
                              of[i].unit, n);
    if (hd_nodes_split(&nodes, n, m->vm.memory_bytes,
                       hd_vm_table_frames(&m->vm)) == 0)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "fabric.nodes: %u nodes; of vm.memory_bytes, %llu, "
                          "each has an equal part, which is to hold "
                          "vm.table_frames, %u, and 2 MB of data at least",
                          n, (unsigned long long)m->vm.memory_bytes,
                          hd_vm_table_frames(&m->vm));
    return 0;
}

static int check_fabric(const struct hd_machine *m, struct heddle_error *err)
{
    const struct {
        bool wrong;
        const char *what;
    } alone[] = {
        {m->vm.paging != HD_PAGING_NONE,
         "vm.paging: pages come from the host to one node alone; none"},
        {m->vm.page == HD_VM_PAGE_512M,
         "vm.page: a page of 512 MB is in one node alone; 4K, 64K or 2M"},
        {m->compress.enable,
         "compress.enable: memory of one node alone is compressed; false"},
        {m->dram.partition,
         "dram.partition: channels are a node's, and no application's; false"},
        {m->sample.every != 0 || m->sample.launches != 0,
         "sample: one node alone is sampled; 0"},
    };

    if (m->fabric.nodes == 1)
        return 0;
    for (uint32_t i = 0; i < HD_LEN(alone); i++)
        if (alone[i].wrong)
            return hd_err_set(err, HEDDLE_ECONFIG,
                              "%s is expected with fabric.nodes = %u",
                              alone[i].what, m->fabric.nodes);
    return check_parts(m, err);
}

int hd_machine_check(const struct hd_machine *m, struct heddle_error *err)
{
    struct hd_dram_cfg dram = m->dram;
    uint32_t levels;

    for (const struct hd_part_info *p = hd_parts, *end = p + hd_part_count;
         p < end; p++)
        if (p->check != NULL &&
            p->check((const char *)m + p->offset, p->rows->name, err) != 0)
            return err->code;
    if (check_translation(m, err) != 0 || check_fabric(m, err) != 0 ||
        check_levels(m, &levels, err) != 0)
        return err->code;
    if (levels != 0 && components_of(m, levels) > HD_MAX_COMPONENTS)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "core.count: %u cores and %u instances of utlb1 to "
                          "utlb3 are too many; larger utlb1.share is expected",
                          m->core.count, levels);
    if (components_of(m, levels) > HD_MAX_COMPONENTS)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "core.count: %u cores, each with an L2 TLB and "
                          "walkers of its own (walk.per_core), are too many; "
                          "700 are expected at most",
                          m->core.count);
    if (m->l1cache.line != m->l2cache.line)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "l1cache.line: %u differs from l2cache.line (%u); "
                          "one line size is expected",
                          m->l1cache.line, m->l2cache.line);
    if (check_sectors(m, err) != 0 || check_virtual(m, err) != 0)
        return err->code;
    if (m->vm.entry_bytes != 8 && m->l2tlb.sub_ways != 0)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "vm.entry_bytes: %u; entries of subregions "
                          "(l2tlb.sub_ways = %u) need those of 8 bytes",
                          m->vm.entry_bytes, m->l2tlb.sub_ways);
    if (m->vm.format != HD_FORMAT_X86_64 && m->l2tlb.sub_ways != 0)
        return hd_err_set(
            err, HEDDLE_ECONFIG,
            "l2tlb.sub_ways: %u; entries of vm.format = %s have no "
            "contiguity bits; 0 is expected",
            m->l2tlb.sub_ways, hd_format_of(m->vm.format)->name);
    if (hd_dram_kind_give(&dram, m->clock.dram, err) != 0 ||
        hd_dram_cfg_check(&dram, m->l2cache.line, err) != 0)
        return err->code;
    if (hd_compress_check(&m->compress, m->l2cache.line, err) != 0)
        return err->code;
    if (m->compress.enable && (m->memory.fragment_index != 0 ||
                               m->memory.hog != 0 || m->memory.hog_torn != 0))
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "memory.%s: pages of no application take frames, and "
                          "with compress.enable there are more frames than "
                          "memory; only one of the two is expected",
                          m->memory.fragment_index != 0 ? "fragment_index"
                          : m->memory.hog != 0          ? "hog"
                                                        : "hog_torn");
    return 0;
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
    out->ways = hd_assoc_ways(n, ways);
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
    out->sets = hd_cache_sets(cfg, cfg->bytes / parts);
    out->set_to = cfg->bytes;
    out->size = out->sets * set * parts;
    return true;
}

/* A level of uTLBs, whose instances hd_levels_check has counted. */
static bool of_level(struct heddle_shape_info *out, const struct hd_machine *m,
                     const struct hd_level_cfg *cfg)
{
    uint16_t instance[HD_MAX_CORES];
    struct heddle_error err;

    return of_entries(out, cfg->entries != 0, cfg->entries, cfg->ways,
                      hd_level_groups(cfg, out->name, m->core.count,
                                      m->fabric.nodes, instance, &err));
}

/* The k-th of those that there may be. */
static bool shape(const struct hd_machine *m, uint32_t k,
                  struct heddle_shape_info *out)
{
    bool l1 = m->l1tlb.mode.kind == HD_FULL, l2 = m->l2tlb.mode.kind == HD_FULL;
    uint32_t cores = m->core.count, units = hd_machine_units(m);

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
        return of_entries(out, m->pwc.mode.kind != HD_OFF,
                          hd_pwc_entries(&m->pwc), m->pwc.ways, units);
    case 6:
        return of_entries(out, l1, m->l1side.entries, 0, cores);
    case 7:
        return of_level(out, m, &m->utlb1);
    case 8:
        return of_level(out, m, &m->utlb2);
    case 9:
        return of_level(out, m, &m->utlb3);
    case 10:
        return of_bytes(out, &m->l1cache, cores, 1);
    default:
        return of_bytes(out, &m->l2cache, m->l2cache.slices, m->l2cache.slices);
    }
}

int hd_machine_shape(const struct hd_machine *m, uint32_t i,
                     struct heddle_shape_info *out)
{
    static const char *const name[] = {
        "l1tlb",  "l1tlb.large", "l2tlb", "l2tlb.large", "bypass",  "pwc",
        "l1side", "utlb1",       "utlb2", "utlb3",       "l1cache", "l2cache"};

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
