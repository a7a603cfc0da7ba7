/*
 * l2map.c - which slice of the L2, and which set there, has a line.
 *
 * Every slice belongs to one DRAM channel and holds lines of that channel
 * alone, as in the partitions of a GPU: a miss never crosses the chip.  Among
 * the slices of a channel the lowest bits of the line's index in the channel
 * decide, so neighbouring lines are in different slices.  How the channel
 * depends on the address is found by asking the DRAM once for a range of
 * addresses: a channel that repeats every `channels` pieces of equal length
 * gives the index in closed form; under any other map (a hash, channel bits
 * high up) slice and set are hashed from the line number.
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

HD_APART uint64_t hd_l2_divide(const struct hd_l2 *l2, uint64_t line,
                               uint64_t *channel, uint64_t *bank)
{
    const struct hd_l2_spread *s = &l2->spread;
    uint64_t index;

    if (s->granule == 0) {
        index = hd_mix64(line);
        *channel = l2_channel_of(l2, line);
        *bank = (index >> 32) % s->banks;
        return index;
    }
    *channel = line / s->granule % s->channels;
    index = line / (s->granule * s->channels) * s->granule + line % s->granule;
    *bank = index % s->banks;
    return index / s->banks;
}

uint32_t hd_l2_slice(const struct hd_l2 *l2, hd_pa pa)
{
    uint32_t set;

    return hd_l2_slice_of(l2, 0, pa.v >> l2->line_shift, &set);
}

void hd_l2_find_spread(struct hd_l2 *l2)
{
    enum { LONGEST = 1 << 16, SAMPLES = 4096 };
    struct hd_l2_spread *s = &l2->spread;
    uint64_t g = 1;

    s->channels = l2->own;
    s->banks = l2->cfg.slices / l2->channels;
    if (l2->own > 1)
        while (g < LONGEST && l2_channel_of(l2, g) == l2_channel_of(l2, 0))
            g++;
    s->granule = g < LONGEST ? g : 0;
    for (uint64_t i = 0; s->granule != 0 && i < 2 * SAMPLES; i++) {
        uint64_t line = i < SAMPLES ? i : hd_mix64(i) >> 37;
        if (l2_channel_of(l2, line) != line / g % l2->own)
            s->granule = 0;
    }
    s->shifts = hd_is_pow2(s->granule) && hd_is_pow2(s->channels) &&
                hd_is_pow2(s->banks);
    if (!s->shifts)
        return;
    s->granule_shift = (uint8_t)hd_log2(s->granule);
    s->high_shift = (uint8_t)hd_log2(s->granule * s->channels);
    s->bank_shift = (uint8_t)hd_log2(s->banks);
}
