/*
 * buddy.c - frames from a buddy allocator, as Linux has one, and what others
 * have left of memory.
 *
 * Free memory is in blocks of 1 to 1024 frames (orders 0 to 10), aligned to
 * their size.  A page gets the first frame of the smallest block there is, of
 * equal ones of the lowest, and the rest of the block goes back as the blocks
 * that it halves into: pages that come one after the other get frames in order
 * until the block ends.  A frame that is freed joins its buddy, the other half
 * of the block of the next order, as long as that is free.  So what is torn is
 * used up first, and the more a program needs the more of it is together
 * (MESC, figure 4).
 *
 * Who tore memory: memory.hog and memory.hog_torn (manage.c).  With `defrag`
 * memory is compacted before the first page is placed and whenever an
 * allocation goes (Linux: compact_memory), by the engine's compaction: of the
 * frames of 2 MB that hold pages which may move, the emptiest is emptied into
 * the fullest others, as long as they have room for it.  What the hog has moves
 * at no cost to the GPU.  Pages of programs stay, as those that a driver has
 * pinned for a device do, or they move too (defrag 2, with memory.move=any),
 * over the channels.
 *
 * Left out: lists by mobility, free lists of each processor, and the order of
 * equal blocks, where Linux takes the one freed last.  Bound before cycle 0.
 * policies/buddy.lua is the twin.
 *
 * Invariant: the blocks are what frames are free, each once, and no two of them
 * are buddies.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdbool.h>

#include "policy.h"

enum { DEFRAG };
enum { OFF, HOG, ALL };
enum { TOP = 10, LARGE = 512 };

struct buddy {
    uint64_t apps, defrag, compacted;
    uint64_t blocks[TOP + 1]; /* free ones of each order */
    uint64_t low[TOP + 1];    /* none has its bit in a word below */
    uint64_t at[TOP + 1];     /* first word of an order in bits */
    uint64_t bits[];
};

/* The word with the bit of block b of an order. */
static uint64_t *buddy_word(struct buddy *s, uint32_t o, uint64_t b)
{
    return &s->bits[s->at[o] + b / 64];
}

static bool test(struct buddy *s, uint32_t o, uint64_t b)
{
    return *buddy_word(s, o, b) >> b % 64 & 1;
}

static void flip(struct buddy *s, uint32_t o, uint64_t b)
{
    *buddy_word(s, o, b) ^= 1ull << b % 64;
    if (test(s, o, b)) {
        s->blocks[o]++;
        if (b / 64 < s->low[o])
            s->low[o] = b / 64;
    } else {
        s->blocks[o]--;
    }
}

static void buddy_give(struct buddy *s, uint64_t frame)
{
    uint64_t b = frame;
    uint32_t o = 0;

    for (; o < TOP && test(s, o, b ^ 1); o++, b >>= 1)
        flip(s, o, b ^ 1);
    flip(s, o, b);
}

/* Takes a frame out of its block, which is halved until it is alone. */
static void buddy_take(struct buddy *s, uint64_t frame)
{
    uint32_t o = 0;

    while (o <= TOP && !test(s, o, frame >> o))
        o++;
    if (o > TOP)
        return; /* it was not free */
    flip(s, o, frame >> o);
    while (o-- > 0)
        flip(s, o, frame >> o ^ 1);
}

static int64_t buddy_frame_place(void *self, const void *question)
{
    const struct heddle_q_frame_place *q = question;
    struct buddy *s = self;
    uint64_t b;
    uint32_t o = 0;

    if (q->pages != 1)
        return HEDDLE_PASS;
    if (s->defrag && !s->compacted && !q->again) {
        s->compacted = 1;
        return (int64_t)q->frames;
    }
    while (o <= TOP && s->blocks[o] == 0)
        o++;
    if (o > TOP)
        return (int64_t)q->frames;
    while (s->bits[s->at[o] + s->low[o]] == 0)
        s->low[o]++;
    for (b = s->low[o] * 64; !test(s, o, b);)
        b++;
    buddy_take(s, b << o);
    return (int64_t)(b << o);
}

static int64_t buddy_page_size(void *self, const void *question)
{
    (void)self, (void)question;
    return 0; /* base pages */
}

/* ---- compaction ---------------------------------------------------------- */

static int64_t source(void *self, const void *question)
{
    const struct heddle_q_compact_source *q = question;
    const struct buddy *s = self;
    uint64_t best = 0, room = 0;

    for (uint64_t i = 0; s->defrag && i < q->n; i++) {
        if ((s->defrag == HOG && q->owner[i] != s->apps) || q->joined[i] ||
            q->used[i] == LARGE)
            continue;
        room += LARGE - q->used[i];
        if (best == 0 || q->used[i] < q->used[best - 1])
            best = i + 1;
    }
    return best != 0 && room - (LARGE - q->used[best - 1]) >= q->used[best - 1]
               ? (int64_t)best
               : 0;
}

static int64_t target(void *self, const void *question)
{
    const struct heddle_q_compact_target *q = question;
    uint64_t best = 0;

    (void)self;
    for (uint64_t i = 0; i < q->n; i++)
        if (best == 0 || q->used[i] > q->used[best - 1])
            best = i + 1;
    return (int64_t)best;
}

static int64_t buddy_copy(void *self, const void *question)
{
    const struct heddle_q_compact_copy *q = question;

    return q->owner == ((const struct buddy *)self)->apps
               ? HEDDLE_COMPACT_COPY_FREE
               : HEDDLE_COMPACT_COPY_COPY;
}

/* ---- what happens to frames ---------------------------------------------- */

static void buddy_page_freed(void *self, const void *note)
{
    buddy_give(self, ((const struct heddle_n_page_freed *)note)->frame);
}

static void buddy_page_moved(void *self, const void *note)
{
    const struct heddle_n_page_moved *x = note;

    buddy_give(self, x->frame);
    buddy_take(self, x->to);
}

static void buddy_frames_taken(void *self, const void *note)
{
    const struct heddle_n_frames_taken *x = note;

    for (uint64_t f = x->frame; f < x->frame + x->frames; f++)
        buddy_take(self, f);
}

/* ---- the policy ---------------------------------------------------------- */

static size_t buddy_bytes(const struct heddle_place *p, const uint64_t *params)
{
    uint64_t words = 0;

    (void)params;
    for (uint32_t o = 0; o <= TOP; o++)
        words += (p->frames >> o) / 64 + 1;
    return sizeof(struct buddy) + words * sizeof(uint64_t);
}

static int buddy_init(void *state, const struct heddle_place *p,
                      const uint64_t *params)
{
    struct buddy *s = state;
    uint64_t words = 0, f = 0;

    s->apps = p->apps;
    s->defrag = params[DEFRAG];
    for (uint32_t o = 0; o <= TOP; o++) {
        s->at[o] = words;
        words += (p->frames >> o) / 64 + 1;
        s->low[o] = (p->frames >> o) / 64;
    }
    for (uint32_t o = TOP; f < p->frames; f += 1ull << o) {
        while (f + (1ull << o) > p->frames)
            o--;
        flip(s, o, f >> o);
    }
    return 0;
}

static const struct heddle_param params[] = {
    {"defrag", "off|hog|all", OFF, OFF, ALL,
     "pages that move when memory is compacted, before the first page is "
     "placed and when an allocation is freed; all: with memory.move=any",
     "MESC table II: on and off"},
    {0},
};

const struct heddle_policy hd_policy_buddy = {
    .abi = HEDDLE_POLICY_ABI,
    .name = "buddy",
    .summary = "frames from a buddy allocator of orders 0 to 10",
    .source = "Linux, mm/page_alloc.c; MESC VI.A",
    .params = params,
    .state_bytes = buddy_bytes,
    .init = buddy_init,
    .answer = {[HEDDLE_POINT_page_size] = buddy_page_size,
               [HEDDLE_POINT_frame_place] = buddy_frame_place,
               [HEDDLE_POINT_compact_source] = source,
               [HEDDLE_POINT_compact_target] = target,
               [HEDDLE_POINT_compact_copy] = buddy_copy},
    .watch = {[HEDDLE_NOTE_page_freed] = buddy_page_freed,
              [HEDDLE_NOTE_page_moved] = buddy_page_moved,
              [HEDDLE_NOTE_frames_taken] = buddy_frames_taken},
};
