/*
 * dramkind.c - the memories of today's cards by name (dram.kind): HBM2, HBM2E,
 * HBM3, GDDR6, GDDR6X.
 *
 * A kind has its timings in ps (dramkind.def), and they become cycles of
 * clock.dram when a machine is built: rounded up, but tREFI, which is rounded
 * down, so that no rule of the standard is broken at any clock.  A channel is
 * what has rows and a data bus of its own: a pseudo-channel of HBM, 16 bits of
 * GDDR6.  A burst is 32 bytes and 2 CK in all of them, so a channel moves
 * 16 bytes a CK at most; channels and clock are the card's and set apart.
 *
 * A timing that is set beside a kind is refused, unless it is what the kind
 * has anyway, and so are other rows and bursts.  A timing in cycles is true at
 * one clock; cycles of one clock beside another, which come from a copied set
 * of settings, are the commonest error of published configurations.  For other
 * timings set dram.kind=none and all of them.  Banks, groups and buses that are
 * set stay: they differ among parts of a kind (with the stack), and no timing
 * depends on them.
 *
 * Left out: what differs among parts of a kind, or with temperature and
 * voltage; stack IDs (a column to another stack of HBM3 waits 3 CK, not 2:
 * with dram.banks=32, dram.groups=8 its banks are there, this is not); half
 * cycles; tRRD across bank groups (HBM3); tPPD, of 1 or 2 CK; refreshes as
 * activates of tFAW (GDDR6); management of row hammer.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stddef.h>
#include <stdlib.h>

#include "dramspec.h"

/* dram.kind, as sets: none is 0, so the first kind is bit 0. */
enum { HBM2 = 1, HBM2E = 2, HBM3 = 4, GDDR6 = 8, GDDR6X = 16 };

enum way { IN_PS, IN_CK, AS_IS };

struct fact {
    uint32_t kinds, offset;
    enum way way;
    uint64_t value;
    uint32_t least; /* CK */
};

#define AT(field) (uint32_t) offsetof(struct hd_dram_cfg, field)
#define PS(field, kinds, ps, least, source)                                    \
    {(kinds), AT(field), IN_PS, ps, least},
#define CK(field, kinds, ck, source)    {(kinds), AT(field), IN_CK, ck, 1},
#define IS(field, kinds, value, source) {(kinds), AT(field), AS_IS, value, 0},
static const struct fact facts[] = {
#include "dramkind.def"
};
#undef PS
#undef CK
#undef IS

/* What a fact is in cycles of a clock. */
static uint64_t dramkind_cycles(const struct fact *f, uint64_t hz)
{
    const uint64_t second = 1000000000000u; /* ps */
    uint64_t n;

    if (f->way != IN_PS)
        return f->value;
    n = f->value * hz / second;
    if (f->offset != AT(trefi) && n * second < f->value * hz)
        n++;
    return n > f->least ? n : f->least;
}

static const struct hd_setting *dramkind_row(uint32_t offset)
{
    const struct hd_setting *s = hd_rows_dram.settings;

    while (s->offset != offset)
        s++;
    return s;
}

static int dramkind_give(struct hd_dram_cfg *c, const struct fact *f,
                         uint64_t hz, const char *kind,
                         struct heddle_error *err)
{
    const struct hd_setting *s = dramkind_row(f->offset);
    uint32_t *field = (uint32_t *)((char *)c + f->offset);
    uint64_t n = dramkind_cycles(f, hz);
    bool choice = s->type == HD_T_CHOICE;
    uint32_t plain = choice ? 0 : (uint32_t)strtoul(s->def, NULL, 10);

    if (!choice && (n < s->min || n > s->max))
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "dram.kind: at clock.dram=%llu %s would have "
                          "dram.%s=%llu; %llu to %llu are expected",
                          (unsigned long long)hz, kind, s->name,
                          (unsigned long long)n, (unsigned long long)s->min,
                          (unsigned long long)s->max);
    if (*field == plain)
        *field = (uint32_t)n;
    else if (f->way != AS_IS && *field != n)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "dram.%s: %u is set together with dram.kind=%s, "
                          "which has %llu at clock.dram=%llu; only one of the "
                          "two is expected (dram.kind=none: all timings by "
                          "hand)",
                          s->name, *field, kind, (unsigned long long)n,
                          (unsigned long long)hz);
    return 0;
}

int hd_dram_kind_give(struct hd_dram_cfg *c, uint64_t hz,
                      struct heddle_error *err)
{
    const struct hd_setting *s = dramkind_row(AT(kind));
    char kind[HD_TEXT_ROOM];

    if (c->kind == 0)
        return 0;
    hd_choice_print(s->choices, c->kind, kind, sizeof kind);
    for (uint32_t i = 0; i < HD_LEN(facts); i++)
        if ((facts[i].kinds >> (c->kind - 1) & 1) != 0 &&
            dramkind_give(c, &facts[i], hz, kind, err) != 0)
            return err->code;
    return 0;
}
