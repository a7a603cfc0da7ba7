/*
 * sector.c - sectored caches: a tag for each line, and of each line what of it
 * is present, by sectors of 32 bytes.
 *
 * NVIDIA's caches since Maxwell have lines of 128 bytes of which they fetch
 * sectors of 32: MT4G (Vanecek et al.) measures both sizes; on a V100, L2 read
 * misses are DRAM sector reads to 0.1 %.  A load, a request to the L2, an
 * answer and a DRAM read carry the sectors that are wanted, in one request for
 * a line, and pay for so many bytes.  core/l1sector.c is the path through the
 * load/store unit and the L1, memory/l2sector.c that through a slice of the L2;
 * here is what both keep of a line:
 *
 *   valid   all bytes of the sector are there: a read hits
 *   part    stores have written some of them, and `written` has which; a read
 *           misses, and what it fetches fills the rest
 *   dirty   bytes of it are to be written back
 *
 * A store allocates and fetches nothing; one that fills its sector, at once or
 * with those before it, makes it valid.  So does Accel-Sim (Khairy et al., ISCA
 * 2020: "lazy fetch on read", the `L` of its cache configurations), by whose
 * kernels that rule was chosen.  A sector of which only a part is dirty is
 * written back with its byte mask, in as many bursts as a whole one.
 *
 * A sector that comes does not change what was written meanwhile, so a line may
 * be present and have sectors in flight.
 *
 * Invariants (--check): valid and part exclude each other; what is dirty is
 * valid or part; a line is dirty if and only if one of its sectors is.
 *
 * Left out: tags of more than one line that share data (the sectored tag arrays
 * of Rothman and Smith); compression of sectors.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sector.h"

#include <string.h>

int hd_sectors_open(struct hd_cache *c)
{
    uint32_t n = c->tags.sets * c->tags.ways;

    c->sector = hd_arena_take(c->env->arena, n, sizeof *c->sector);
    c->written = hd_arena_take(c->env->arena, n, sizeof *c->written);
    c->sector_shift = (uint8_t)hd_log2(c->cfg.sector_bytes);
    return c->sector == NULL || c->written == NULL ? -1 : 0;
}

/* The bits of one sector of a line, and no others. */
static struct hd_bytemask sector_mask(uint32_t i, uint32_t shift)
{
    struct hd_bytemask m = {{0, 0}};

    hd_bytemask_add(&m, i << shift, (i << shift) + (1u << shift) - 1);
    return m;
}

void hd_sectors_add_part(struct hd_cache *c, uint32_t entry, uint32_t sectors,
                         const struct hd_bytemask *bytes)
{
    struct hd_sector_line *x = &c->sector[entry];
    struct hd_bytemask *b = &c->written[entry];
    uint32_t whole;

    for (uint32_t m = sectors; m != 0; m &= m - 1) {
        uint32_t i = hd_bit_first(m);
        struct hd_bytemask in = sector_mask(i, c->sector_shift);
        bool had = (x->part >> i & 1) != 0;
        for (uint32_t k = 0; k < 2; k++)
            b->v[k] = (b->v[k] & (had ? UINT64_MAX : ~in.v[k])) |
                      (bytes->v[k] & in.v[k]);
        x->part |= (uint8_t)(1u << i);
    }
    hd_sectors_of(b, c->sector_shift, &whole);
    x->valid |= (uint8_t)(whole & x->part);
    x->part &= (uint8_t)~x->valid;
}

const char *hd_sectors_check(const struct hd_cache *c)
{
    uint32_t n = c->tags.sets * c->tags.ways;
    uint32_t all = (1u << (c->cfg.line >> c->sector_shift)) - 1;

    for (uint32_t e = 0; e < n; e++) {
        const struct hd_sector_line *x = &c->sector[e];
        uint32_t there = x->valid | x->part;
        if (c->tags.key[e] == HD_KEY_NONE)
            continue;
        if ((x->valid & x->part) != 0)
            return "a sector is valid and written in part";
        if ((there == 0 && c->cfg.allocate == 0) || (there & ~all) != 0)
            return "a line has no sector, or one too many";
        if ((x->dirty & ~there) != 0)
            return "a sector is dirty and not there";
        if ((c->line[e].dirty != 0) != (x->dirty != 0))
            return "a line and its sectors differ in being dirty";
    }
    return NULL;
}

int hd_sectors_cfg_check(const struct hd_cache_cfg *c, const char *name,
                         struct heddle_error *err)
{
    uint32_t sector = c->sector_bytes, fetch = c->fetch_bytes;

    if (c->allocate != 0 && sector == 0)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "%s.allocate: miss is modelled with %s.sector_bytes "
                          "only; fill is expected",
                          name, name);
    if (sector == 0 && fetch == 0)
        return 0;
    if (sector == 0)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "%s.fetch_bytes: %u, but without %s.sector_bytes "
                          "whole lines are fetched",
                          name, fetch, name);
    if (!hd_is_pow2(sector) || sector < HD_SECTOR_LEAST || sector > c->line)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "%s.sector_bytes: %u is not a power of two from %d "
                          "to %s.line (%u)",
                          name, sector, HD_SECTOR_LEAST, name, c->line);
    if (c->line > HD_SECTORED_LINE)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "%s.sector_bytes: lines of %u bytes; those with "
                          "sectors have at most %d",
                          name, c->line, HD_SECTORED_LINE);
    if (fetch != 0 && (!hd_is_pow2(fetch) || fetch < sector || fetch > c->line))
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "%s.fetch_bytes: %u is not a power of two from "
                          "%s.sector_bytes (%u) to %s.line (%u)",
                          name, fetch, name, sector, name, c->line);
    if (c->write == HD_WRITE_BACK && strcmp(name, "l1cache") == 0)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "l1cache.write: back is not modelled for an L1 "
                          "with sectors (l1cache.sector_bytes); through or "
                          "evict is expected");
    return 0;
}
