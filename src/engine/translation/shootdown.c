/*
 * shootdown.c - what leaves a TLB because its mapping changes.
 *
 * An entry goes if it covers one of the pages: a 2 MB entry with any of them, a
 * run as a whole.  Few pages are looked up, each class of entry that is present
 * in turn; for many, all entries are compared.
 *
 * Invariant: afterwards no entry covers one of the pages, of the classes named.
 *
 * SPDX-License-Identifier: MIT
 */
#include "tlbstate.h"

static void shootdown_drop(struct hd_tlb *t, uint32_t e)
{
    if (hd_tlb_is_prefetched(t, e))
        hd_tlb_settled(t, e, hd_tlb_app_of(hd_tlb_key_at(t, e)),
                       HD_PREFETCH_UNUSED);
    hd_tlb_less(t, hd_tlb_counted(t, hd_tlb_class_of(hd_tlb_key_at(t, e))));
    if (hd_tlb_is_large(t, e))
        hd_assoc_drop(&t->large, e - t->base_n);
    else
        hd_assoc_drop(&t->base, e);
}

uint32_t hd_tlb_sweep(struct hd_tlb *t, uint32_t app, uint64_t vpn,
                      uint64_t pages, uint32_t classes)
{
    uint32_t n = 0;

    classes &= t->live[HD_TLB_PRESENT] & ~(1u << HD_TLB_PREFETCHED);
    if (classes != 0 && pages > hd_tlb_entries(t) / 32) {
        for (uint32_t e = 0; e < hd_tlb_entries(t); e++) {
            uint64_t key = hd_tlb_key_at(t, e);
            struct hd_xlate x;
            if (key == HD_KEY_NONE || hd_tlb_app_of(key) != app ||
                (classes >> hd_tlb_counted(t, hd_tlb_class_of(key)) & 1) == 0)
                continue;
            x = hd_tlb_x_of(t, e);
            if (x.vpn.v < vpn + pages && vpn < x.vpn.v + x.pages) {
                shootdown_drop(t, e);
                n++;
            }
        }
        return n;
    }
    for (uint32_t k = 0; classes >> k != 0; k++) {
        uint64_t step = k < HD_TLB_LARGE ? hd_tlb_step[k] : HD_LARGE_PAGES;
        for (uint64_t v = vpn & ~(step - 1);
             (classes >> k & 1) != 0 && v < vpn + pages; v += step) {
            uint32_t e = k < HD_TLB_LARGE ? hd_tlb_find_base(t, k, app, v)
                                          : hd_tlb_find_large(t, app, v);
            if (e != HD_NONE) {
                shootdown_drop(t, e);
                n++;
            }
        }
    }
    return n;
}

void hd_tlb_drop(struct hd_tlb *t, uint32_t app, hd_vpn vpn, uint64_t pages)
{
    hd_tlb_sweep(t, app, vpn.v, pages, UINT32_MAX);
}

static uint32_t shootdown_invalidate(struct hd_tlb *t, uint32_t app, hd_vpn vpn,
                                     uint64_t pages, uint32_t classes)
{
    uint32_t subs = t->live[HD_TLB_SUBS];
    uint32_t n = hd_tlb_sweep(t, app, vpn.v, pages, classes);

    subs -= t->live[HD_TLB_SUBS];
    if (t->stat.v != NULL)
        *hd_count(&t->stat, t->instance, app, HD_TLB_INVALIDATIONS) += n;
    if (t->stat.v != NULL && subs != 0) /* then it is an L2 TLB, which has it */
        *hd_count(&t->stat, t->instance, app, HD_TLB_SUB_INVALIDATIONS) += subs;
    return n;
}

uint32_t hd_tlb_invalidate(struct hd_tlb *t, uint32_t app, hd_vpn vpn,
                           uint64_t pages)
{
    return shootdown_invalidate(t, app, vpn, pages, UINT32_MAX);
}

uint32_t hd_tlb_shoot(struct hd_tlb *t, uint32_t app, hd_vpn vpn,
                      uint64_t pages)
{
    uint32_t n = 0;

    if (app != HD_APP_NONE)
        return shootdown_invalidate(
            t, app, vpn, hd_max_u64(pages, 1),
            pages != 0 ? UINT32_MAX : 1u << HD_TLB_2M | 1u << HD_TLB_LARGE);
    for (app = 0; app < HD_MAX_APPS; app++)
        n += hd_tlb_invalidate(t, app, (hd_vpn){0}, HD_EVERY_PAGE);
    return n;
}
