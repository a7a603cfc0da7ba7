/*
 * border.h - a check that the sides of the machine pass messages, and reach
 * into one another only where src/engine/kit/borders.def says so.
 *
 * An event belongs to the side of its receiver, which follows from the name of
 * the component.  A function that is called across a border, or touches what is
 * the other side's, begins with hd_cross.  It asserts that the event that is
 * being served belongs to the row's `from`, or to the other side itself, which
 * is at home there; and until it returns, what it calls counts as called by
 * `into`.  A station's verb that only its own side may call begins with
 * hd_at_home.
 *
 * Outside of events (building, looking, checking) and in those of no side
 * (policies) nothing is asserted.  In builds without assertions both are
 * nothing.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_BORDER_H
#define HD_BORDER_H

#include "base.h"

/* A set of bits. */
enum hd_side {
    HD_SIDE_ALL = 0,
    HD_SIDE_CORE = 1,
    HD_SIDE_MMU = 2,
    HD_SIDE_MEMORY = 4,
    HD_SIDE_LINK = 8,
    HD_SIDE_MANAGER = 16,
    HD_SIDE_DISPATCH = 32
};

#define HD_BORDER(name, ...) HD_BORDER_##name,
enum hd_border {
#include "borders.def"
    HD_BORDERS
};
#undef HD_BORDER

#if defined(HD_DEBUG) && defined(__GNUC__)
#define HD_BORDERS_WATCHED 1

/* In struct hd_events; wiring. */
struct hd_borders {
    uint8_t now;                 /* the side that counts as served */
    uint8_t crossed[HD_BORDERS]; /* from which sides each was */
};

struct hd_crossing {
    struct hd_borders *of;
    uint8_t from;
};

/* The side of a component. */
uint8_t hd_border_side(const char *component);
/* The sides from which a border may be crossed. */
uint8_t hd_border_from(enum hd_border b);
/* Whether code on this side of a border, or at home behind it, is served. */
bool hd_border_may(const struct hd_borders *of, enum hd_border b);
bool hd_border_home(const struct hd_borders *of, enum hd_side side);
struct hd_crossing hd_border_cross(struct hd_borders *of, enum hd_border b);
void hd_border_back(const struct hd_crossing *c);

#define hd_cross(env, b)                                                       \
    __attribute__((cleanup(hd_border_back), unused))                           \
    const struct hd_crossing hd_crossing_here =                                \
        (hd_assert(hd_border_may(&(env)->ev->borders, b)),                     \
         hd_border_cross(&(env)->ev->borders, b))
#define hd_at_home(env, side)                                                  \
    hd_assert(hd_border_home(&(env)->ev->borders, side))

#else
#define HD_BORDERS_WATCHED    0
#define hd_cross(env, b)      ((void)0)
#define hd_at_home(env, side) ((void)0)
#endif

#endif
