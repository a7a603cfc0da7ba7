/*
 * ptframes.c - which frames a page gets, and that it has them no more.
 *
 * The point frame_place is asked; its default is the lowest free aligned frame, or
 * where there are several nodes what fabric/home.c says.
 * Where there is none memory is compacted and it is asked once more.  For a
 * page that faults that is its caller's affair (HD_PT_WANTS_COMPACT), because
 * mappings cannot change in the middle of a run's event (manage.c); where
 * compaction does not help, pages have to be evicted (HD_PT_WANTS_EVICT).  A
 * page of a coalesced region gets the place that is kept for it, without a
 * question.
 *
 * Where pages are compressed (memory/compress.c) a page needs memory next to a
 * frame, which then is only its name: see hd_compress_fits.
 *
 * SPDX-License-Identifier: MIT
 */
#include "memory/nodes.h"
#include "ptstate.h"

uint64_t hd_ptables_free(const struct hd_ptables *t)
{
    return t->compress != NULL
               ? hd_compress_free(t->compress)
               : t->frames.frames - hd_frames_used(&t->frames) - t->s->spare;
}

uint64_t hd_ptables_total(const struct hd_ptables *t)
{
    return t->compress != NULL ? hd_compress_total(t->compress)
                               : t->frames.frames;
}

uint64_t hd_ptables_capacity(const struct hd_ptables *t)
{
    return t->compress != NULL
               ? hd_compress_pages(t->compress) + hd_compress_free(t->compress)
               : t->frames.frames;
}

uint64_t hd_ptables_allocated(const struct hd_ptables *t)
{
    return t->s->allocated;
}

uint64_t *hd_ptables_dirty(const struct hd_ptables *t)
{
    return t->frames.dirty;
}

int hd_pt_fail(const struct hd_ptables *t, const struct hd_pt_job *j,
               const char *what, uint32_t pages)
{
    return hd_err_set(
        j->err, HEDDLE_ECONFIG,
        "application %u, allocation %u (%llu bytes at 0x%llx): %s for a page "
        "of %u KB; %llu of %llu data frames and %u of %u table frames are in "
        "use: raise vm.memory_bytes or vm.table_frames, or use smaller inputs",
        j->app, j->index, (unsigned long long)j->bytes,
        (unsigned long long)j->base.v, what, pages * 4,
        (unsigned long long)(hd_ptables_total(t) - hd_ptables_free(t)),
        (unsigned long long)hd_ptables_total(t), t->s->tables_live,
        t->table_frames);
}

bool hd_pt_whole(const struct hd_pt_job *j, uint64_t vpn)
{
    uint64_t first = j->base.v >> HD_PAGE_SHIFT;
    uint64_t end = ((j->base.v + j->bytes - 1) >> HD_PAGE_SHIFT) + 1;
    uint64_t at = vpn & ~(uint64_t)(HD_LARGE_PAGES - 1);

    return at >= first && at + HD_LARGE_PAGES <= end;
}

int hd_ptables_home(struct hd_ptables *t,
                    uint64_t (*fn)(void *self, hd_vpn vpn, uint32_t pages),
                    void *self)
{
    t->home = fn;
    t->home_self = self;
    return hd_frames_divide(&t->frames, t->env->nodes->n);
}

uint64_t hd_ptables_next_of(struct hd_ptables *t, uint32_t node, uint32_t pages)
{
    return hd_frames_next_of(&t->frames, node, pages);
}

/* The frame that a page gets by default, or HD_NO_FRAME. */
static HD_INLINE uint64_t next_frame(struct hd_ptables *t, uint64_t vpn,
                                     uint32_t pages)
{
    if (HD_UNLIKELY(t->home != NULL))
        return t->home(t->home_self, (hd_vpn){vpn}, pages);
    return hd_frames_next(&t->frames, pages);
}

static struct heddle_q_frame_place frame_question(struct hd_ptables *t,
                                                  const struct hd_pt_job *j,
                                                  uint64_t vpn, uint32_t pages,
                                                  bool again)
{
    uint64_t frames = t->frames.frames;

    return (struct heddle_q_frame_place){
        .app = j->app,
        .vpn = vpn,
        .pages = pages,
        .frames = frames,
        .next = hd_min_u64(next_frame(t, vpn, pages), frames),
        .whole = hd_pt_whole(j, vpn),
        .again = again,
    };
}

/* A free frame, or as many as there are; the next one where the answer is no
 * such frame, which is an error. */
static uint64_t ask_frame(struct hd_ptables *t, const struct hd_pt_job *j,
                          const struct heddle_q_frame_place *q)
{
    uint64_t f = (uint64_t)hd_ask_frame_place(&t->place, q);

    if (HD_LIKELY(f == q->frames ||
                  (f % q->pages == 0 &&
                   hd_frames_free(&t->frames, f, (uint32_t)q->pages))))
        return f;
    hd_slots_refuse(&t->place, HEDDLE_POINT_frame_place, q, (int64_t)f,
                    "a free frame, aligned to its pages", j->err);
    return q->next;
}

/* The frame that a page gets where frame_place is asked, HD_PT_WANTS_ or
 * HD_NO_FRAME with an error recorded. */
static uint64_t asked_frame(struct hd_ptables *t, const struct hd_pt_job *j,
                            uint64_t vpn, uint32_t pages)
{
    uint64_t frames = t->frames.frames, f;
    bool later = j->nonresident && !j->again && t->compacts != NULL &&
                 t->compacts(t->compact_self);
    bool last = j->nonresident && !later;
    struct heddle_q_frame_place q = frame_question(t, j, vpn, pages, last);

    f = ask_frame(t, j, &q);
    if (HD_UNLIKELY(f == frames && later)) {
        if (t->wants_room(t->compact_self, j->app))
            return HD_PT_WANTS_COMPACT;
        last = true;
        q = frame_question(t, j, vpn, pages, last);
        f = ask_frame(t, j, &q);
    }
    if (HD_UNLIKELY(f == frames && j->nonresident && t->gone != NULL))
        return HD_PT_WANTS_EVICT;
    if (HD_UNLIKELY(f == frames && !last && t->compact != NULL) &&
        (t->compact(t->compact_self, j->app) || t->place.bound)) {
        q = frame_question(t, j, vpn, pages, true);
        f = ask_frame(t, j, &q);
    }
    if (f == frames) {
        hd_pt_fail(t, j, "out of frames: no free aligned one", pages);
        return HD_NO_FRAME;
    }
    return f;
}

/* The frame that a page gets: the default's answer, where there is one, without
 * a question. */
static HD_INLINE uint64_t choose_frame(struct hd_ptables *t,
                                       const struct hd_pt_job *j, uint64_t vpn,
                                       uint32_t pages)
{
    uint64_t f = HD_LIKELY(!t->place.bound) ? next_frame(t, vpn, pages)
                                            : HD_NO_FRAME;

    return HD_LIKELY(f != HD_NO_FRAME) ? f : asked_frame(t, j, vpn, pages);
}

void hd_pt_tell(struct hd_ptables *t, enum heddle_note note, uint32_t app,
                uint64_t vpn, uint64_t frame)
{
    struct heddle_n_page_freed n = {
        .app = app, .vpn = vpn, .frame = frame, .to = frame};

    if (t->env->slots != NULL && t->env->slots->watched[note] != 0)
        hd_slots_note(t->env->slots, note, &n);
}

uint64_t hd_ptables_bytes(const struct hd_ptables *t, uint32_t app,
                          const struct hd_xlate *x)
{
    if (HD_LIKELY(t->compress == NULL))
        return (uint64_t)x->pages * HD_PAGE_BYTES;
    return hd_compress_bytes(
        t->compress, hd_pt_number_of(hd_pt_slot_of(t, app, x->vpn.v), x->vpn.v),
        x->pages);
}

uint64_t hd_pt_frame_for(struct hd_ptables *t, const struct hd_pt_job *j,
                         const struct hd_pt_slot *h, uint64_t vpn,
                         uint32_t pages)
{
    if (HD_UNLIKELY(t->compress != NULL) &&
        !hd_compress_fits(t->compress, j->app, (hd_vpn){vpn},
                          hd_pt_number_of(h, vpn), pages)) {
        if (j->nonresident && t->gone != NULL)
            return HD_PT_WANTS_EVICT;
        hd_pt_fail(t, j, "out of memory, compressed", pages);
        return HD_NO_FRAME;
    }
    if (HD_LIKELY(!(h->region_bits & HD_PT_JOINED)))
        return choose_frame(t, j, vpn, pages);
    return hd_pt_region_of(t, hd_pt_region_number(h))->frame + (vpn & 511);
}

void hd_pt_settle(struct hd_ptables *t, uint64_t f, uint32_t app,
                  uint32_t pages)
{
    hd_bigframes_add(&t->big, f, app, pages);
    if (hd_bigframe_of(&t->big, f)->owners > 1 && app < HD_MAX_APPS)
        t->s->mixed[app] += pages;
}

int hd_pt_occupy(struct hd_ptables *t, const struct hd_pt_slot *h, uint32_t app,
                 uint64_t vpn, uint64_t f, uint32_t pages,
                 struct heddle_error *err)
{
    uint32_t owner = hd_pt_number_of(h, vpn) + 1;

    if (h->region_bits & HD_PT_JOINED) {
        t->s->kept--;
        hd_pt_tell(t, HEDDLE_NOTE_page_back, app, vpn, f);
    } else if (hd_frames_take(&t->frames, f, pages, owner) < 0) {
        return hd_err_memory(err);
    }
    if (HD_UNLIKELY(t->compress != NULL)) {
        uint64_t *e = hd_pt_leaf(t, h, vpn);
        *e = hd_compress_take(t->compress, app, owner - 1, pages)
                 ? *e | HD_PT_PACKED
                 : *e & ~HD_PT_PACKED;
    }
    hd_pt_settle(t, f, app, pages);
    return 0;
}

void hd_pt_give_memory(struct hd_ptables *t, const struct hd_pt_slot *h,
                       const struct hd_xlate *x)
{
    if (HD_UNLIKELY(t->compress != NULL))
        hd_compress_give(t->compress, hd_pt_number_of(h, x->vpn.v), x->pages);
}

void hd_pt_give_frame(struct hd_ptables *t, uint32_t app,
                      const struct hd_xlate *x)
{
    hd_frames_give(&t->frames, x->pfn.v, x->pages);
    hd_pt_hold_on(t, hd_pt_slot_of(t, app, x->vpn.v), -(int32_t)x->pages);
    hd_bigframes_drop(&t->big, x->pfn.v, app, x->pages);
    if (x->pages == 1)
        hd_pt_tell(t, HEDDLE_NOTE_page_freed, app, x->vpn.v, x->pfn.v);
}
