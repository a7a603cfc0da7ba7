/*
 * ptable.h - page tables in real frames, four-level x86-64 ones or in another
 * format (format.c), and the frames.
 *
 * Each application has a root; tables are 4 KB frames of 512 eight-byte
 * entries (vm.entry_bytes: of 64 or 32 larger ones), taken from a pool of
 * frames of their own so that they do not break up the data's contiguity.  A
 * walk reads the physical addresses that this file gives.  A 64 KB page is 16
 * aligned leaf entries marked contiguous; a 2 MB page is a leaf in the third
 * level.
 *
 * Level numbers: 1 root, 2, 3, 4 leaf.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_PTABLE_H
#define HD_PTABLE_H

#include "kit/config.h"
#include "kit/env.h"
#include "pages/format.h"
#include "points/slots.h"
#include "translation/translate.h"

struct hd_compress; /* memory/compress.h */

struct hd_vm_cfg {
#define HD_FIELDS_OF "pages/vm.def"
#include "kit/rows.h"
    /* No settings: */
    uint32_t names;  /* frames for each that memory has, as where pages are
                        compressed; 0: one */
    uint32_t chunks; /* 1: whole 2 MB take all at once */
    uint32_t touch;  /* 1: pages are reserved, and placed by hd_home_touch */
};

/* vm.page, where it is not 4K, 64K or 2M. */
enum { HD_VM_PAGE_512M = 3 };

/* Frames of page tables: vm.table_frames, or what memory_bytes come to. */
uint32_t hd_vm_table_frames(const struct hd_vm_cfg *cfg);

/* When pages come from the host: they are there before cycle 0; they are
 * copied before an application's first launch; each is when it is touched. */
enum hd_paging { HD_PAGING_NONE, HD_PAGING_LAUNCH, HD_PAGING_FAULT };

/* Whether settings of page tables go together: 0, or an error. */
int hd_ptables_cfg_check(const void *settings, const char *name,
                         struct heddle_error *err);

struct hd_ptables; /* all applications' tables and the frame table */

struct hd_ptables *hd_ptables_open(struct hd_env *env,
                                   const struct hd_vm_cfg *cfg);

/*
 * Maps an allocation (asks alloc and frame_place).  Pages that an earlier
 * allocation of the application already mapped are left as they are (small
 * arrays share border pages).  0, or an error (out of frames) in `err`, where a
 * policy's wrong answer is recorded, too: its page has the next free frame.
 */
int hd_ptables_map(struct hd_ptables *t, uint32_t app, uint32_t index,
                   hd_va base, uint64_t bytes, struct heddle_error *err);

/* hd_ptables_map where pages are not resident: asks alloc, and remembers which
 * pages there are and their sizes.  A walk finds their entries. */
int hd_ptables_reserve(struct hd_ptables *t, uint32_t app, uint32_t index,
                       hd_va base, uint64_t bytes, struct heddle_error *err);

/* Whether vpn is of a reserved page that is not mapped yet; x: which pages it
 * spans (x->vpn, x->pages). */
bool hd_ptables_nonresident(const struct hd_ptables *t, uint32_t app,
                            hd_vpn vpn, struct hd_xlate *x);

/* What hd_ptables_place needs first: memory is compacted, or pages are evicted.
 */
enum hd_place { HD_PLACED, HD_PLACE_COMPACT, HD_PLACE_EVICT };

/* A page that is not resident gets its frame (asks frame_place); enum hd_place,
 * or an error in `err`.  `again`: memory has been compacted for it.  Its data
 * have come: it is mapped; false: its allocation has gone meanwhile.
 * `prefetched`: no access has asked for it.  vpn is its first. */
int hd_ptables_place(struct hd_ptables *t, uint32_t app, hd_vpn vpn, bool again,
                     struct heddle_error *err);
bool hd_ptables_arrive(struct hd_ptables *t, uint32_t app, hd_vpn vpn,
                       bool prefetched);

/* Where there are several nodes: who says which frame a page gets, if no policy
 * of frame_place does, or HD_NO_FRAME; the lowest that a node has for one.  0, or
 * -1 (out of memory). */
int hd_ptables_home(struct hd_ptables *t,
                    uint64_t (*fn)(void *self, hd_vpn vpn, uint32_t pages),
                    void *self);
uint64_t hd_ptables_next_of(struct hd_ptables *t, uint32_t node,
                            uint32_t pages);

/* Whether vpn is of a page of 512 MB; *first is its first frame. */
bool hd_ptables_huge(const struct hd_ptables *t, uint32_t app, hd_vpn vpn,
                     hd_pfn *first);

/* A walk has found a present page.  Its base pages if it was prefetched and
 * this is the first, else 0. */
uint32_t hd_ptables_used(struct hd_ptables *t, uint32_t app, hd_vpn vpn);

/* Pages of the aligned 2 MB around vpn that have come for faults; n more do. */
uint32_t hd_ptables_faulted(struct hd_ptables *t, uint32_t app, hd_vpn vpn,
                            uint32_t n);

/* The pages of the aligned 2 MB around vpn that are present or in flight, a
 * bit each. */
void hd_ptables_populated(const struct hd_ptables *t, uint32_t app, hd_vpn vpn,
                          uint64_t set[HD_LARGE_PAGES / 64]);

/* Whether vpn is of a page that is not resident and has its frame: its data are
 * in flight. */
bool hd_ptables_in_flight(const struct hd_ptables *t, uint32_t app, hd_vpn vpn);

/* The page that holds vpn as its entry says it, coalesced or not, if it is
 * present: x->pages base pages from x->vpn on. */
bool hd_ptables_page(const struct hd_ptables *t, uint32_t app, hd_vpn vpn,
                     struct hd_xlate *x);

/* A present page of a region that is not coalesced is evicted: it is not
 * resident from now on, and keeps its frame until its data have gone, too.
 * Base pages whose frames are free by that, 0: its allocation has gone
 * meanwhile. */
void hd_ptables_evict(struct hd_ptables *t, uint32_t app,
                      const struct hd_xlate *x);
uint32_t hd_ptables_evicted(struct hd_ptables *t, uint32_t app, hd_vpn vpn);

/* Frames of the host's memory: a page's follows from its region's number and
 * its place there.  The page of such a frame. */
#define HD_HOST_FRAME (1ull << 31)
hd_pfn hd_ptables_host_frame(const struct hd_ptables *t, uint32_t app,
                             hd_vpn vpn);
hd_vpn hd_ptables_host_page(const struct hd_ptables *t, hd_pfn pfn,
                            uint32_t *app);

/* Whether a page that is not resident can be mapped where it is: not while it
 * is being evicted, and never in a coalesced region. */
enum hd_map_host { HD_MAP_HOST_CAN, HD_MAP_HOST_LATER, HD_MAP_HOST_NEVER };
enum hd_map_host hd_ptables_can_map_host(const struct hd_ptables *t,
                                         uint32_t app, hd_vpn vpn);

/* Maps one that can be so; undoes that. */
void hd_ptables_map_host(struct hd_ptables *t, uint32_t app,
                         const struct hd_xlate *x);
void hd_ptables_unmap_host(struct hd_ptables *t, uint32_t app,
                           const struct hd_xlate *x);

/* Base pages mapped so; lost: that were, and went with their allocation. */
uint64_t hd_ptables_host_mapped(const struct hd_ptables *t, uint64_t *lost);

/* The allocation that a page is of: its first base page, and *end behind it. */
hd_vpn hd_ptables_range(const struct hd_ptables *t, uint32_t app, hd_vpn vpn,
                        hd_vpn *end);

/* Pages may be written, or only read; those that another allocation has, too,
 * stay as they are. */
void hd_ptables_protect(struct hd_ptables *t, uint32_t app, hd_vpn vpn,
                        uint64_t pages, bool write);

/* What the application's host has said of an allocation, HEDDLE_ADVICE_; what
 * stands for a page; whether it has said anything of any. */
void hd_ptables_advise(struct hd_ptables *t, uint32_t app, uint32_t index,
                       uint32_t advice);
uint32_t hd_ptables_advice(const struct hd_ptables *t, uint32_t app,
                           hd_vpn vpn);
/* Sets some of these bits, and takes others back, for pages of an allocation.
 */
struct hd_advice_change {
    uint32_t set, unset;
};
void hd_ptables_advise_pages(struct hd_ptables *t, uint32_t app, uint32_t index,
                             hd_vpn vpn, uint64_t pages,
                             struct hd_advice_change c);
bool hd_ptables_advised(const struct hd_ptables *t);

/* The preferred location of a page's allocation: enum heddle_processor. */
uint32_t hd_ptables_preferred(const struct hd_ptables *t, uint32_t app,
                              hd_vpn vpn);

/* Whether a page that is not resident was resident earlier. */
bool hd_ptables_evicted_before(const struct hd_ptables *t, uint32_t app,
                               hd_vpn vpn);

/* The program's host touches so many pages from vpn on: it has those mapped
 * that are not in the GPU's memory; whether it has one, until that migrates. */
void hd_ptables_touch(struct hd_ptables *t, uint32_t app, hd_vpn vpn,
                      uint64_t pages);
bool hd_ptables_touched(const struct hd_ptables *t, uint32_t app, hd_vpn vpn);

/* Whether no page of the aligned 2 MB around vpn was resident earlier, on the
 * GPU or as the host touched it, and none but those of a set, a bit each, is
 * mapped or in flight. */
bool hd_ptables_untouched(const struct hd_ptables *t, uint32_t app, hd_vpn vpn,
                          const uint64_t set[HD_LARGE_PAGES / 64]);

/* Base frames that a page which is not resident takes: of all of its chunk, if
 * it is the first there. */
uint32_t hd_ptables_takes(const struct hd_ptables *t, uint32_t app, hd_vpn vpn);

/* The host maps the 2 MB that hold a page for DMA, once.  True: now. */
bool hd_ptables_dma(struct hd_ptables *t, uint32_t app, hd_vpn vpn);

/* Whether a base page is mapped, and with vm.paging=fault its data have come.
 * An entry for 2 MB may be made before all of its pages have. */
bool hd_ptables_resident(const struct hd_ptables *t, uint32_t app, hd_vpn vpn);

/* Removes the mapping of an allocation (asks free). */
void hd_ptables_unmap(struct hd_ptables *t, uint32_t app, uint32_t index,
                      hd_va base, uint64_t bytes);

/* The translation of a page, as the page table holds it; false: unmapped.
 * x->pages = x->page_pages = 1, 16 or 512. */
bool hd_ptables_find(const struct hd_ptables *t, uint32_t app, hd_vpn vpn,
                     struct hd_xlate *x);

/* Bytes of an entry, which is a power of two. */
uint32_t hd_ptables_entry_bytes(const struct hd_ptables *t);
/* Frames of data, more than there are where pages are compressed. */
uint64_t hd_ptables_frames(const struct hd_ptables *t);
/* Keeps the last frames of the page tables' for another use, before there are
 * tables; *at: where they begin.  0, or an error. */
int hd_ptables_keep(struct hd_ptables *t, uint64_t bytes, hd_pa *at,
                    struct heddle_error *err);
/* Base pages of pages of so many whose entries are in `bytes` of their table. */
uint64_t hd_ptables_together(const struct hd_ptables *t, uint32_t pages,
                           uint32_t bytes);
/* Whether an entry can stand for 2 MB: 0, or an error. */
int hd_ptables_may_join(const struct hd_ptables *t, struct heddle_error *err);

/* Physical addresses of the entries that a walk of vpn reads, pte[0] the
 * root's, HD_WALK_STEPS at most.  Returns how many: in x86-64 4, or 3 for a 2
 * MB page; 0: unmapped. */
uint32_t hd_ptables_walk(const struct hd_ptables *t, uint32_t app, hd_vpn vpn,
                         hd_pa *pte);

/* hd_ptables_walk without a look at the leaf entry, which is only prefetched
 * into the simulator's cache: a walker finds out at the end whether the page is
 * mapped. 0: there are no tables for it. */
uint32_t hd_ptables_path(const struct hd_ptables *t, uint32_t app, hd_vpn vpn,
                         hd_pa *pte);

/* What a read of a walk is, by its number, the root's 1: the level that it
 * reads, which the two reads of a region's leaf tables share (format.c); the
 * level that memory sees, of 4 as in x86-64, 1 being all above the last three;
 * and its bytes.  Number 0: of no level. */
struct hd_walk_step {
    uint8_t level, memory, bytes;
};
void hd_ptables_step(const struct hd_ptables *t, uint32_t step,
                     struct hd_walk_step *s);

/* The level whose entries stand for 2 MB; how many bits of a virtual page
 * number are below the index of a level. */
uint32_t hd_ptables_dir(const struct hd_ptables *t);
uint32_t hd_ptables_level_shift(const struct hd_ptables *t, uint32_t level);

/* Base pages for which there is memory now, and would be if none were there:
 * those of free frames, or where pages are compressed that many whole ones. */
uint64_t hd_ptables_free(const struct hd_ptables *t);

/* hd_ptables_free for pages of these 2 MB: what is left of their chunk, too. */
uint64_t hd_ptables_room(const struct hd_ptables *t, uint32_t app, hd_vpn vpn);

/* Bytes that cross the link for a page that has memory. */
uint64_t hd_ptables_bytes(const struct hd_ptables *t, uint32_t app,
                          const struct hd_xlate *x);

/* Whether a page's memory is no chunk of 2 MB, where there are such. */
bool hd_ptables_small(const struct hd_ptables *t, uint32_t app, hd_vpn vpn);
uint64_t hd_ptables_total(const struct hd_ptables *t);

/* Base pages of the live allocations, each with all of the aligned 64 KB in
 * which it begins and ends.  Base pages that memory holds: hd_ptables_total, or
 * where pages are compressed those that have memory and as many more as the
 * rest holds uncompressed. */
uint64_t hd_ptables_allocated(const struct hd_ptables *t);
uint64_t hd_ptables_capacity(const struct hd_ptables *t);

/* From now on pages are compressed by c, and take what it says. */
void hd_ptables_compress(struct hd_ptables *t, struct hd_compress *c);

/* In the arena: a bit for each frame that was written since it was taken, for
 * hd_frame_write; NULL where pages stay for good. */
uint64_t *hd_ptables_dirty(const struct hd_ptables *t);

/* In the arena: mappings that were taken away or changed so far. */
const uint32_t *hd_ptables_changes(const struct hd_ptables *t);

/* First base page of the page that holds vpn, or of its coalesced region; vpn
 * itself where nothing is mapped.  Where a region has 4 KB pages only, no entry
 * is read. */
hd_vpn hd_ptables_first(const struct hd_ptables *t, uint32_t app, hd_vpn vpn);

/* ---- regions that are used as one page of 2 MB --------------- */

/* Present 4 KB pages of the region that holds vpn; 0 where it has others. */
uint32_t hd_ptables_present(const struct hd_ptables *t, uint32_t app,
                            hd_vpn vpn);

/* The region's 512 pages are of 4 KB and are in order in one frame of 2 MB,
 * whose first base frame is *frame; not yet coalesced.  Returns how many of
 * them are present, 0 where that is not so.  With vm.paging=fault others may be
 * on the host, if at least one has its frame and their places are free. */
uint32_t hd_ptables_whole(const struct hd_ptables *t, uint32_t app, hd_vpn vpn,
                          hd_pfn *frame);

/* Pages of the region that only compression keeps from that, or 0. */
uint32_t hd_ptables_kept_apart(const struct hd_ptables *t, uint32_t app,
                               hd_vpn vpn);

/* The translation of a coalesced region, whether the page that is asked for has
 * come or not; false: it is not coalesced. */
bool hd_ptables_large(const struct hd_ptables *t, uint32_t app, hd_vpn vpn,
                      struct hd_xlate *x);

/* Pages of a coalesced region that its application has, come or not. */
uint32_t hd_ptables_remaining(const struct hd_ptables *t, uint32_t app,
                              hd_vpn vpn);

/* Coalesces a whole region, and keeps the places of pages that are on the
 * host; undoes it.  No page moves. */
void hd_ptables_join(struct hd_ptables *t, uint32_t app, hd_vpn vpn);
void hd_ptables_split(struct hd_ptables *t, uint32_t app, hd_vpn vpn);

/* Address of the entry of vpn in a table, which must exist: level 3 is that
 * whose entries stand for 2 MB, level 4 that of 4 KB pages. */
hd_pa hd_ptables_table(const struct hd_ptables *t, uint32_t app, hd_vpn vpn,
                       uint32_t level);

/* Moves the 4 KB page in data frame `from`, of a region that is not
 * coalesced, to the free frame `to`; a foreign page too. */
void hd_ptables_move(struct hd_ptables *t, hd_pfn from, hd_pfn to);

/* Takes frames before anything is mapped: `index` percent of the frames of
 * 2 MB, chosen at random, get pages of no application, `occupancy` percent of
 * their places, at random.  0 or -1 (out of memory). */
int hd_ptables_fragment(struct hd_ptables *t, uint32_t index,
                        uint32_t occupancy, uint64_t seed);

/* Takes frames for a hog that was there before: `torn` blocks of 4 MB of which
 * it has kept `kept` percent of the pages, at random places, and whole ones
 * until `percent` percent of all frames are taken. */
enum { HD_HOG_PAGES = 1024 };
int hd_ptables_hog(struct hd_ptables *t, uint32_t percent, uint32_t torn,
                   uint32_t kept, uint64_t seed);

/* Shows an application's runs of contiguous pages. */
void hd_ptables_look(void *tables, uint32_t app, struct heddle_visitor *v);

/* The entry at a physical address inside a table, as a walk would read it. */
uint64_t hd_ptables_entry(const struct hd_ptables *t, hd_pa pte);

/* The longest run of pages around vpn that is contiguous in virtual and
 * physical memory inside the aligned group of `group` pages (a line of PTEs
 * holds 16).  For tlb_merge. */
void hd_ptables_run(const struct hd_ptables *t, uint32_t app, hd_vpn vpn,
                    uint32_t group, struct hd_xlate *run);

/* The page that is in a data frame; false: the frame is free. */
bool hd_ptables_owner(const struct hd_ptables *t, hd_pfn pfn, uint32_t *app,
                      hd_vpn *vpn);

/* Base pages mapped of an application. */
uint64_t hd_ptables_pages(const struct hd_ptables *t, uint32_t app);

#endif
