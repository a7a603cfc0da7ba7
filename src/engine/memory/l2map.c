/*
 * l2map.c - which slice of the L2, and which set there, has a line.
 *
 * Where slices are a multiple of the DRAM channels, every slice belongs to one
 * channel and holds lines of that channel alone, as in the partitions of a GPU:
 * a miss never crosses the chip.  Among the slices of a channel the lowest bits
 * of the line's index in the channel decide, so neighbouring lines are in
 * different slices.  How the channel
 * depends on the address is found by asking the DRAM once for a range of
 * addresses, without dram.channel_hash: a channel that repeats every `channels`
 * pieces of equal length gives the index in closed form; under any other map
 * (channel bits high up) slice and set are hashed from the line number, and
 * l2cache.slice_hash and set_hash change nothing.
 *
 * With a hash (addrhash.c) the channel is the DRAM's answer, and slice and set
 * are digits of the index that are hashed with those above them.  Each step can
 * be undone, so no two lines of a set are one line, and all sets have equally
 * many.
 *
 * Any other number of slices (a GPU whose channels are the pseudo-channels of
 * HBM: 32 slices and 64 of them, 96 and 160) is a digit of its own, the lowest
 * of the line's number, which l2cache.slice_hash hashes with all above it: a
 * miss goes to the channel that its line has.  Cards have a crossbar there;
 * here it costs no time.  Slice and channel are then two hashes of one address,
 * and a stride is spread by both if neither follows from the other: where they
 * would have the same polynomial, slices have its reciprocal.
 *
 * SPDX-License-Identifier: MIT
 */
#include "kit/bits.h"
#include "kit/rng.h"
#include "l2slice.h"

static uint32_t l2_channel_of(const struct hd_l2 *l2, uint64_t line)
{
    hd_pa pa = {line << l2->line_shift};

    if (l2->w.dram != NULL)
        return hd_dram_channel(l2->w.dram, pa);
    return (uint32_t)(pa.v / l2->w.interleave % l2->channels);
}

/* The channel before it is hashed. */
static uint32_t l2_plain_channel_of(const struct hd_l2 *l2, uint64_t line)
{
    hd_pa pa = {line << l2->line_shift};

    return l2->w.dram != NULL ? hd_dram_plain_channel(l2->w.dram, pa)
                              : l2_channel_of(l2, line);
}

uint32_t hd_l2_channel(const struct hd_l2 *l2, uint32_t app, hd_pa pa)
{
    if (l2->w.dram != NULL)
        return hd_dram_lane(l2->w.dram, app, pa);
    return l2_channel_of(l2, pa.v >> l2->line_shift);
}

/* A line with this index in its plain slice, hashed. */
static uint64_t l2_hash(const struct hd_l2 *l2, uint64_t line, uint64_t index,
                        uint64_t *channel, uint64_t *bank)
{
    const struct hd_l2_hash *h = &l2->hash;
    uint32_t set = (uint32_t)(index % h->sets);

    *channel = l2->apart ? 0 : l2_channel_of(l2, line);
    *bank = hd_addrhash(&h->slice, (uint32_t)*bank, index);
    return index - set + hd_addrhash(&h->set, set, index / h->sets);
}

HD_APART uint64_t hd_l2_divide(const struct hd_l2 *l2, uint64_t line,
                               uint64_t *channel, uint64_t *bank)
{
    const struct hd_l2_spread *s = &l2->spread;
    uint64_t index, piece, row;

    if (s->granule == 0) {
        index = hd_mix64(line);
        *channel = l2_channel_of(l2, line);
        *bank = (index >> 32) % s->banks;
        return index;
    }
    if (s->powers) {
        index = hd_l2_shift(s, line, channel, bank);
    } else {
        piece = hd_recip_div(s->per_granule, line);
        row = hd_recip_div(s->per_channels, piece);
        *channel = piece - row * s->channels;
        *bank = line - (piece - row) * s->granule; /* the index so far */
        index = hd_recip_div(s->per_banks, *bank);
        *bank -= index * s->banks;
    }
    return l2->hash.on ? l2_hash(l2, line, index, channel, bank) : index;
}

HD_APART uint32_t hd_l2_home(const struct hd_l2 *l2, uint32_t app,
                             uint64_t *line)
{
    uint64_t pa = *line << l2->line_shift;
    uint32_t node;

    if (l2->env->nodes == NULL)
        return app * l2->own;
    node = hd_nodes_local(l2->env->nodes, &pa);
    *line = pa >> l2->line_shift;
    return node * (uint32_t)l2->spread.channels;
}

uint32_t hd_l2_slice(const struct hd_l2 *l2, hd_pa pa)
{
    uint32_t set;

    return hd_l2_slice_of(l2, 0, pa.v >> l2->line_shift, &set);
}

static int l2_make_hashes(struct hd_l2 *l2)
{
    const struct hd_l2_spread *s = &l2->spread;
    const struct hd_cache_cfg *c = &l2->cfg;
    struct hd_l2_hash *h = &l2->hash;
    bool alike =
        l2->apart && hd_bit_first(c->slices) == hd_bit_first(l2->channels);
    const struct hd_addrhash_of slice = {.kind = c->slice_hash,
                                         .size = (uint32_t)s->banks,
                                         .neighbour = l2->apart ? 1 : l2->own,
                                         .reciprocal = alike};
    struct hd_addrhash_of set = {.kind = c->set_hash, .reciprocal = true};

    h->sets = hd_cache_sets(c, c->bytes / c->slices);
    h->sets += h->sets == 0; /* which hd_cache_open refuses */
    set.size = h->sets;
    h->on = c->slice_hash != HD_HASH_NONE || c->set_hash != HD_HASH_NONE ||
            (l2->w.dram != NULL && hd_dram_hashes(l2->w.dram));
    if (hd_addrhash_init(&h->slice, &slice, "l2cache.slice_hash",
                         "l2cache.slices", c->slices, l2->env->err) != 0)
        return l2->env->err->code;
    return hd_addrhash_init(&h->set, &set, "l2cache.set_hash",
                            "the number of sets in a slice", h->sets,
                            l2->env->err);
}

/* Finds after how many lines the channel changes, if that is a rule. */
static uint64_t l2_granule(const struct hd_l2 *l2)
{
    enum { LONGEST = 1 << 16, SAMPLES = 4096 };
    uint64_t g = 1;

    if (l2->own > 1)
        while (g < LONGEST &&
               l2_plain_channel_of(l2, g) == l2_plain_channel_of(l2, 0))
            g++;
    for (uint64_t i = 0; g < LONGEST && i < 2 * SAMPLES; i++) {
        uint64_t line = i < SAMPLES ? i : hd_mix64(i) >> 37;
        if (l2_plain_channel_of(l2, line) != line / g % l2->own)
            return 0;
    }
    return g < LONGEST ? g : 0;
}

int hd_l2_find_spread(struct hd_l2 *l2)
{
    struct hd_l2_spread *s = &l2->spread;
    uint32_t nodes = l2->env->nodes != NULL ? l2->env->nodes->n : 1;

    s->channels = l2->apart ? 1 : l2->own;
    s->banks = l2->cfg.slices / (l2->apart ? nodes : l2->channels);
    s->granule = l2->apart ? 1 : l2_granule(l2);
    s->per_granule = hd_recip_of(s->granule + (s->granule == 0));
    s->per_channels = hd_recip_of(s->channels);
    s->per_banks = hd_recip_of(s->banks);
    s->powers = hd_is_pow2(s->granule) && hd_is_pow2(s->channels) &&
                hd_is_pow2(s->banks);
    if (s->powers) {
        s->granule_shift = (uint8_t)hd_log2(s->granule);
        s->high_shift = (uint8_t)hd_log2(s->granule * s->channels);
        s->bank_shift = (uint8_t)hd_log2(s->banks);
    }
    if (l2_make_hashes(l2) != 0)
        return l2->env->err->code;
    s->shifts = s->powers && !l2->hash.on && hd_is_pow2(l2->hash.sets);
    return 0;
}
