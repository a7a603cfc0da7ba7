/*
 * overlap.c - look-ups of pages ahead of lines (l1tlb.overlap), after Pichai,
 * Hsu, Bhattacharjee (ASPLOS 2014), sections 6.1 and 6.2.
 *
 * "line", the default, is lsu.c and l1tlb.c alone: the first line of each page
 * looks it up.  "ahead": the pages of the instruction at the head are looked up
 * as fast as the ports allow, ahead of its lines, and a line proceeds as soon
 * as its page is translated.  "off": no line of an instruction proceeds before
 * all its pages are translated (their naive TLB); its lines are set aside until
 * the last translation has come, and then replayed together.
 *
 * Invariant (off): of an instruction that is set aside, `missing' lines wait
 * for translations and the others are in the list of the instruction.
 *
 * SPDX-License-Identifier: MIT
 */
#include "l1tlbstate.h"

/* A line waits until all pages of its instruction have come. */
static void overlap_hold(struct hd_core *c, uint32_t p)
{
    struct hd_held *h = &c->held[c->parked[p].memop];

    c->parked[p].next = HD_NONE;
    if (h->first == HD_NONE)
        h->first = p;
    else
        c->parked[h->last].next = p;
    h->last = p;
}

void hd_overlap_release(struct hd_core *c, uint32_t first)
{
    for (uint32_t p = first, next; p != HD_NONE; p = next) {
        struct hd_held *h = &c->held[c->parked[p].memop];
        next = c->parked[p].next;
        overlap_hold(c, p);
        if (--h->missing == 0)
            hd_l1tlb_replay(c, h->first, h->last);
    }
}

/* Parks the lines of an instruction until all of its pages, some of which are
 * missing, have come, but for a page's word to it.  False: blocked. */
static HD_APART bool overlap_set_aside(struct hd_core *c, struct hd_lines *op)
{
    struct hd_held *h = &c->held[op->memop];
    uint32_t shift = HD_PAGE_SHIFT - c->gpu->line_shift;

    if (hd_places_left(&c->parked_places) < op->n) {
        hd_lsu_block(c, HD_BLOCK_PARKED, &c->tlb_count[HD_L1TLB_PARKED_FULL]);
        return false;
    }
    *h = (struct hd_held){HD_NONE, HD_NONE, 0};
    for (; op->at < op->n; op->at++) {
        const struct hd_lsu_line *x = hd_lines_at(op, op->at);
        uint64_t frame = op->page[x->page].frame;
        uint32_t p;
        if (frame >= HD_PAGE_MISSING) {
            h->missing += hd_l1tlb_park(c, op, x);
            continue;
        }
        p = hd_places_take(&c->parked_places);
        c->parked[p].what =
            (uint64_t)x->bytes << HD_PARKED_BYTES | frame << shift | x->place;
        c->parked[p].memop = op->memop;
        overlap_hold(c, p);
    }
    return true;
}

bool hd_overlap_pages(struct hd_core *c, struct hd_lines *op, hd_time t)
{
    bool missing = false;

    for (; op->looked < op->pages && c->s->tlb_free <= t; op->looked++)
        if (!hd_l1tlb_take(c, op, op->looked, t,
                           &c->guess[op->warp].page[op->looked]))
            return false;
    if (!c->whole)
        return op->page[hd_lines_at(op, op->at)->page].frame != HD_PAGE_UNKNOWN;
    for (uint32_t i = 0; i < op->looked; i++)
        missing |= op->page[i].frame >= HD_PAGE_MISSING;
    return op->looked == op->pages && (!missing || overlap_set_aside(c, op));
}
