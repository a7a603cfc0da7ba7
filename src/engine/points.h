/*
 * points.h - what policies are asked, what is reported to them, and words.
 *
 * Written by src/dev/points-header from points.def, notes.def and words.def;
 * policy.h includes it.
 *
 * A point or a note keeps its number, and a question its fields where they
 * are: what is added comes last (HEDDLE_POLICY_ABI).
 *
 * SPDX-License-Identifier: MIT
 */
/* clang-format off */
#ifndef HEDDLE_POINTS_H
#define HEDDLE_POINTS_H

#include "heddle.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- words: answers that are choices, and fields ---------------------- */

/* answer to page_size */
enum heddle_page_size {
    HEDDLE_PAGE_SIZE_BASE, /* "base" */
    HEDDLE_PAGE_SIZE_MEDIUM, /* "medium" */
    HEDDLE_PAGE_SIZE_LARGE, /* "large" */
};

/* answer to compact_copy */
enum heddle_compact_copy {
    HEDDLE_COMPACT_COPY_COPY, /* "copy" */
    HEDDLE_COMPACT_COPY_BULK, /* "bulk" */
    HEDDLE_COMPACT_COPY_FREE, /* "free" */
};

/* answer to shootdown */
enum heddle_shootdown {
    HEDDLE_SHOOTDOWN_PAGES, /* "pages" */
    HEDDLE_SHOOTDOWN_APP, /* "app" */
    HEDDLE_SHOOTDOWN_ALL, /* "all" */
};

/* answer to tlb_fill */
enum heddle_tlb_fill {
    HEDDLE_TLB_FILL_L2TLB, /* "l2tlb" */
    HEDDLE_TLB_FILL_BYPASS, /* "bypass" */
    HEDDLE_TLB_FILL_NONE, /* "none" */
};

/* answer to walk_step */
enum heddle_walk_step {
    HEDDLE_WALK_STEP_READ, /* "read" */
    HEDDLE_WALK_STEP_SKIP, /* "skip" */
    HEDDLE_WALK_STEP_ANSWER, /* "answer" */
};

/* answer to tlb_insert, answer to cache_insert */
enum heddle_cache_insert {
    HEDDLE_CACHE_INSERT_NORMAL, /* "normal" */
    HEDDLE_CACHE_INSERT_SKIP, /* "skip" */
    HEDDLE_CACHE_INSERT_LAST, /* "last" */
};

/* answer to dram_class */
enum heddle_dram_class {
    HEDDLE_DRAM_CLASS_NORMAL, /* "normal" */
    HEDDLE_DRAM_CLASS_SILVER, /* "silver" */
    HEDDLE_DRAM_CLASS_GOLDEN, /* "golden" */
};

/* core_throttle.is, page_compress.is, answer to app_classify */
enum heddle_app_class {
    HEDDLE_APP_CLASS_UNKNOWN, /* "unknown" */
    HEDDLE_APP_CLASS_REGULAR, /* "regular" */
    HEDDLE_APP_CLASS_SHARING, /* "sharing" */
    HEDDLE_APP_CLASS_IRREGULAR, /* "irregular" */
};

/* answer to thrash */
enum heddle_thrash {
    HEDDLE_THRASH_MIGRATE, /* "migrate" */
    HEDDLE_THRASH_THROTTLE, /* "throttle" */
    HEDDLE_THRASH_GPU, /* "gpu" */
    HEDDLE_THRASH_HOST, /* "host" */
};

/* cache_insert.kind, l2_bypass.kind, dram_class.kind, cache_hit.kind,
 * cache_miss.kind, cache_evict.kind, dram_command.kind */
enum heddle_request {
    HEDDLE_REQUEST_READ, /* "read" */
    HEDDLE_REQUEST_WRITE, /* "write" */
    HEDDLE_REQUEST_ATOMIC, /* "atomic" */
    HEDDLE_REQUEST_WALK, /* "walk" */
};

/* access.kind, access_done.kind */
enum heddle_access {
    HEDDLE_ACCESS_READ, /* "read" */
    HEDDLE_ACCESS_WRITE, /* "write" */
    HEDDLE_ACCESS_ATOMIC, /* "atomic" */
    HEDDLE_ACCESS_SHARED, /* "shared" */
};

/* dram_command.command */
enum heddle_dram_issue {
    HEDDLE_DRAM_ISSUE_ACTIVATE, /* "activate" */
    HEDDLE_DRAM_ISSUE_PRECHARGE, /* "precharge" */
    HEDDLE_DRAM_ISSUE_READ, /* "read" */
    HEDDLE_DRAM_ISSUE_WRITE, /* "write" */
};

/* migrate.cause */
enum heddle_migrate_cause {
    HEDDLE_MIGRATE_CAUSE_FAULT, /* "fault" */
    HEDDLE_MIGRATE_CAUSE_COUNTER, /* "counter" */
};

/* migrate.advice */
enum heddle_migrate_advice {
    HEDDLE_MIGRATE_ADVICE_NONE, /* "none" */
    HEDDLE_MIGRATE_ADVICE_GPU, /* "gpu" */
    HEDDLE_MIGRATE_ADVICE_HOST, /* "host" */
};

/* host_call.what */
enum heddle_host_call {
    HEDDLE_HOST_CALL_TO_GPU, /* "to_gpu" */
    HEDDLE_HOST_CALL_TO_HOST, /* "to_host" */
    HEDDLE_HOST_CALL_READ, /* "read" */
    HEDDLE_HOST_CALL_WRITE, /* "write" */
    HEDDLE_HOST_CALL_ADVICE, /* "advice" */
};

/* page_remote.cause */
enum heddle_map_cause {
    HEDDLE_MAP_CAUSE_POLICY, /* "policy" */
    HEDDLE_MAP_CAUSE_THRASHING, /* "thrashing" */
    HEDDLE_MAP_CAUSE_EVICTION, /* "eviction" */
};

/* page_prefetch.place, thrash.by, thrash.exempt, thrash.pinned,
 * thrash.place, link_transfer.to, page_throttled.by */
enum heddle_processor {
    HEDDLE_PROCESSOR_NONE, /* "none" */
    HEDDLE_PROCESSOR_GPU, /* "gpu" */
    HEDDLE_PROCESSOR_HOST, /* "host" */
};

/* evict_trigger.cause */
enum heddle_evict_cause {
    HEDDLE_EVICT_CAUSE_TAKEN, /* "taken" */
    HEDDLE_EVICT_CAUSE_FREED, /* "freed" */
    HEDDLE_EVICT_CAUSE_WAITING, /* "waiting" */
};

/* compact_source.cause, compact_stall.cause */
enum heddle_compact_cause {
    HEDDLE_COMPACT_CAUSE_FREED, /* "freed" */
    HEDDLE_COMPACT_CAUSE_FULL, /* "full" */
};

/* shootdown.cause */
enum heddle_shootdown_cause {
    HEDDLE_SHOOTDOWN_CAUSE_FREED, /* "freed" */
    HEDDLE_SHOOTDOWN_CAUSE_SPLIT, /* "split" */
    HEDDLE_SHOOTDOWN_CAUSE_MOVED, /* "moved" */
    HEDDLE_SHOOTDOWN_CAUSE_EVICTED, /* "evicted" */
};

/* tlb_merge.cause */
enum heddle_merge_cause {
    HEDDLE_MERGE_CAUSE_WALK, /* "walk" */
    HEDDLE_MERGE_CAUSE_HIT, /* "hit" */
};

/* tlb_insert.cause */
enum heddle_insert_cause {
    HEDDLE_INSERT_CAUSE_WALK, /* "walk" */
    HEDDLE_INSERT_CAUSE_HIT, /* "hit" */
    HEDDLE_INSERT_CAUSE_KEPT, /* "kept" */
    HEDDLE_INSERT_CAUSE_POLICY, /* "policy" */
};

/* heddle_start_translation */
enum heddle_translate_to {
    HEDDLE_TRANSLATE_TO_L2TLB, /* "l2tlb" */
    HEDDLE_TRANSLATE_TO_L1TLB, /* "l1tlb" */
    HEDDLE_TRANSLATE_TO_L1SIDE, /* "l1side" */
};

/* core_throttle.cause */
enum heddle_throttle_cause {
    HEDDLE_THROTTLE_CAUSE_LAUNCH, /* "launch" */
    HEDDLE_THROTTLE_CAUSE_PLACED, /* "placed" */
    HEDDLE_THROTTLE_CAUSE_EPOCH, /* "epoch" */
    HEDDLE_THROTTLE_CAUSE_FAULT, /* "fault" */
    HEDDLE_THROTTLE_CAUSE_SERVED, /* "served" */
};

/* utlb_lookup.found */
enum heddle_utlb_found {
    HEDDLE_UTLB_FOUND_MISS, /* "miss" */
    HEDDLE_UTLB_FOUND_TAG, /* "tag" */
    HEDDLE_UTLB_FOUND_HIT, /* "hit" */
};

/* ---- points: the questions ------------------------------------------- */

enum heddle_point {
    HEDDLE_POINT_page_size,
    HEDDLE_POINT_frame_place,
    HEDDLE_POINT_region_coalesce,
    HEDDLE_POINT_region_split,
    HEDDLE_POINT_compact_source,
    HEDDLE_POINT_compact_target,
    HEDDLE_POINT_compact_copy,
    HEDDLE_POINT_compact_stall,
    HEDDLE_POINT_shootdown,
    HEDDLE_POINT_tlb_fill,
    HEDDLE_POINT_tokens,
    HEDDLE_POINT_tlb_merge,
    HEDDLE_POINT_tlb_insert,
    HEDDLE_POINT_tlb_keep,
    HEDDLE_POINT_walk_step,
    HEDDLE_POINT_walk_pick,
    HEDDLE_POINT_walk_reference,
    HEDDLE_POINT_fault_batch,
    HEDDLE_POINT_repl_victim,
    HEDDLE_POINT_cache_insert,
    HEDDLE_POINT_l2_bypass,
    HEDDLE_POINT_dram_class,
    HEDDLE_POINT_dram_turn,
    HEDDLE_POINT_dram_pick,
    HEDDLE_POINT_warp_pick,
    HEDDLE_POINT_warp_limit,
    HEDDLE_POINT_thread_join,
    HEDDLE_POINT_block_place,
    HEDDLE_POINT_core_throttle,
    HEDDLE_POINT_core_partition,
    HEDDLE_POINT_evict_trigger,
    HEDDLE_POINT_evict_victim,
    HEDDLE_POINT_page_prefetch,
    HEDDLE_POINT_page_compress,
    HEDDLE_POINT_migrate,
    HEDDLE_POINT_app_classify,
    HEDDLE_POINT_thrash,
    HEDDLE_POINT_tlb_peer,
    HEDDLE_POINT_walk_address,
    HEDDLE_POINT_tlb_group,
    HEDDLE_POINT_COUNT
};

/* page_size (cold, memory): asked when an allocation is mapped, before cycle
 * 0 or when a kernel has ended. Answer (CHOICE, of enum heddle_page_size):
 * page size to use where alignment permits: 4 KB, 64 KB or 2 MB. */
struct heddle_q_page_size {
    uint64_t app; /* application */
    uint64_t index; /* allocation, in the application's order */
    uint64_t vpn; /* first virtual page */
    uint64_t pages; /* base pages of 4 KB */
    uint64_t free_frames; /* base frames not in use */
};

/* frame_place (warm, memory): asked when a page needs a frame. Answer
 * (VALUE, 0 to frames): its first base frame, which must be free and
 * aligned; frames: none, compact memory and ask again. */
struct heddle_q_frame_place {
    uint64_t app; /* application */
    uint64_t vpn; /* virtual page to place */
    uint64_t pages; /* base pages of this page: 1, 16 or 512 */
    uint64_t next; /* frame that the default would take */
    uint64_t frames; /* frames in the machine */
    uint64_t whole; /* 1: its allocation contains the aligned 2 MB around it */
    /* 1: this was asked before, and memory has been compacted since; or the
     * page comes from the host, and no policy compacts memory */
    uint64_t again;
};

/* region_coalesce (cold, memory): asked when the 512 pages of an aligned 2
 * MB are in one 2 MB frame; with vm.paging=fault: one of them has arrived,
 * and the others are there or can be placed there. Answer (BOOL, 1 or 0):
 * whether they become one page; those still on the host fault one by one. */
struct heddle_q_region_coalesce {
    uint64_t app; /* application */
    uint64_t vpn; /* first virtual page of 512 */
    uint64_t frame; /* first base frame; the others follow in order */
    uint64_t present; /* resident pages; below 512 only with vm.paging=fault */
};

/* region_split (cold, memory): asked when a coalesced page has lost some of
 * its pages, or some are about to be evicted to the host. Answer (BOOL, 1 or
 * 0): whether it is split into base pages; if not, the places of the lost
 * pages stay empty, or the whole page is evicted. */
struct heddle_q_region_split {
    uint64_t app; /* application */
    uint64_t vpn; /* first virtual page of 512 */
    uint64_t frame; /* first base frame */
    /* pages that the application still has there, resident or not; when
     * pages are evicted, those that would stay */
    uint64_t left;
};

/* compact_source (cold, memory): asked when memory may be compacted. Answer
 * (VALUE, 0 to n): which of these frames to empty next, from 1; 0: stop. */
struct heddle_q_compact_source {
    /* pages were freed, or a page found no frame; enum heddle_compact_cause */
    uint64_t cause;
    uint64_t app; /* application that freed them, or needs the frame */
    uint64_t asked; /* 2 MB frames emptied, or tried, since the cause */
    /* number of applications; as an owner, this value means foreign pages,
     * and one more means several owners */
    uint64_t apps;
    uint64_t n; /* 2 MB frames that hold pages and have not been tried */
    const uint64_t *frame; /* [n]: first base frame of each, ascending */
    const uint64_t *owner; /* [n]: owner of the pages in it */
    const uint64_t *used; /* [n]: pages in it */
    const uint64_t *joined; /* [n]: 1: they are coalesced */
};

/* compact_target (cold, memory): asked when a page has to leave its frame,
 * or the last target has no place left. Answer (VALUE, 0 to n): which of
 * these frames takes it and the pages after it, from 1; 0: none, the rest
 * stay. */
struct heddle_q_compact_target {
    uint64_t owner; /* owner of the page */
    uint64_t from; /* first base frame of the 2 MB frame being emptied */
    uint64_t left; /* pages still in it */
    /* other 2 MB frames of this owner alone, not coalesced, with a free
     * place in the page's channels; memory.move=any: of any owner, with a
     * free place */
    uint64_t n;
    const uint64_t *frame; /* [n]: first base frame of each, ascending */
    const uint64_t *used; /* [n]: pages in it */
};

/* compact_copy (cold, memory): asked when pages begin to move from one 2 MB
 * frame to another. Answer (CHOICE, of enum heddle_compact_copy): copy by
 * reads and writes over the channel, inside DRAM with its banks blocked, or
 * at no cost. */
struct heddle_q_compact_copy {
    uint64_t owner; /* owner of the pages */
    uint64_t from; /* first base frame of the 2 MB frame being emptied */
    uint64_t to; /* first base frame of the 2 MB frame that receives them */
};

/* compact_stall (cold, memory): asked when pages have been moved. Answer
 * (BOOL, 1 or 0): whether no core issues until the copies are done. */
struct heddle_q_compact_stall {
    /* pages were freed, or a page found no frame; enum heddle_compact_cause */
    uint64_t cause;
    uint64_t app; /* application that freed them, or needed the frame */
    uint64_t moved; /* pages moved since the cause */
};

/* shootdown (cold, memory): asked when translations have become stale while
 * applications run. Answer (CHOICE, of enum heddle_shootdown): what to
 * invalidate in the TLBs: those pages, all of the application, or
 * everything. */
struct heddle_q_shootdown {
    uint64_t app; /* application */
    /* what happened to the pages; enum heddle_shootdown_cause */
    uint64_t cause;
    uint64_t vpn; /* first virtual page */
    uint64_t pages; /* base pages */
};

/* tlb_fill (warm, l2tlb): asked when a walk has returned to the L2 TLB.
 * Answer (CHOICE, of enum heddle_tlb_fill): where it goes: the L2 TLB, the
 * bypass cache, or neither. */
struct heddle_q_tlb_fill {
    uint64_t app; /* application */
    uint64_t core; /* core of the (first) requester */
    uint64_t warp; /* warp of the (first) requester, in its core */
    uint64_t vpn; /* virtual page */
    uint64_t pages; /* base pages that the translation covers */
    uint64_t requesters; /* requests that wait for it */
    uint64_t pc; /* program counter of the (first) requester's instruction */
    const uint64_t *who; /* [requesters]: core << 16 | warp of each */
};

/* tokens (cold, l2tlb): asked when an epoch of the policy that answers has
 * ended, for each application. Answer (VALUE, 0 to warps): its tokens: how
 * many of its warps, the lowest-numbered of each core, may fill the L2 TLB. */
struct heddle_q_tokens {
    uint64_t app; /* application */
    uint64_t warps; /* its warps that issued in the epoch, on all its cores */
    uint64_t tokens; /* tokens it holds; at first as many as warps */
    uint64_t lookups; /* its L2 TLB look-ups in the epoch */
    uint64_t misses; /* of these, those that missed, also in the bypass cache */
    uint64_t epoch; /* epochs that have ended: 1, 2, ... */
};

/* tlb_merge (warm): asked when an entry is about to be filled. Answer
 * (VALUE, 0 to run_pages): pages it will cover, from run_first; 0: its own
 * page only; if it is a run of subregions: whole subregions around the page. */
struct heddle_q_tlb_merge {
    uint64_t level; /* 1: L1 TLB, 2: L2 TLB */
    /* a walk, or a hit in the level below; enum heddle_merge_cause */
    uint64_t cause;
    uint64_t app; /* application */
    uint64_t core; /* core of the requester */
    uint64_t vpn; /* virtual page wanted */
    uint64_t page_pages; /* base pages of its page: 1, 16 or 512 */
    uint64_t run_first; /* first page of the run known to be contiguous */
    /* length of that run, within the aligned group (merge_pages); with
     * l2tlb.sub_ways, if it contains the whole subregion, that of the run of
     * subregions */
    uint64_t run_pages;
    uint64_t run_frame; /* frame of its first page */
    uint64_t pc; /* program counter of the instruction that missed first */
};

/* tlb_insert (warm): asked when a translation is about to enter a TLB.
 * Answer (CHOICE, of enum heddle_cache_insert): insert as the newest, do not
 * insert, or insert as the next victim. */
struct heddle_q_tlb_insert {
    /* 1: L1 TLB, 2: L2 TLB or bypass cache, 0: buffer next to an L1 TLB
     * (l1side), 3 to 5: utlb1 to utlb3 */
    uint64_t level;
    /* a walk, a hit in the level below or the buffer, a kept entry
     * (tlb_keep), or a translation that a policy started; enum
     * heddle_insert_cause */
    uint64_t cause;
    uint64_t app; /* application */
    uint64_t core; /* core of the requester */
    uint64_t warp; /* warp of the requester, 0xffff: a policy */
    uint64_t vpn; /* virtual page wanted */
    /* base pages of its page: 1, 16 or 512; 131072 at a level of uTLBs that
     * holds 512 MB */
    uint64_t pages;
    uint64_t pc; /* program counter of the instruction that missed first */
};

/* tlb_keep (warm): asked when an entry is evicted from a TLB that has a
 * buffer next to it (l1side.entries, bypass.entries). Answer (BOOL, 1 or 0):
 * whether it goes to that buffer. */
struct heddle_q_tlb_keep {
    uint64_t level; /* 1: L1 TLB, 2: L2 TLB */
    uint64_t app; /* application of the evicted entry */
    uint64_t core; /* core whose translation takes its place */
    uint64_t vpn; /* first virtual page of the evicted entry */
    uint64_t pages; /* base pages that it covers */
    uint64_t entry; /* set * ways + way */
    uint64_t filler; /* warp that filled it, core << 16 | warp */
    uint64_t filler_pc; /* program counter of the instruction that filled it */
};

/* walk_step (warm, walk): asked when a walker is about to read a page-table
 * entry. Answer (CHOICE, of enum heddle_walk_step): read it; skip to the
 * next level; or answer now without it. */
struct heddle_q_walk_step {
    uint64_t app; /* application */
    uint64_t vpn; /* virtual page to translate */
    /* level about to be read: 1 root .. 4 leaf (vm.format: more) */
    uint64_t level;
    /* level of the leaf entry: 4, or 3 for a 2 MB page (vm.format) */
    uint64_t leaf;
    uint64_t cached; /* deepest level found in the walk cache, 0 none */
    uint64_t pte; /* physical address of the entry */
    /* program counter of the first requester's instruction; 0: a policy
     * started the walk */
    uint64_t pc;
};

/* walk_pick (warm, walk): asked when a walker is free and walks wait; for
 * each free walker in turn, whenever a walk arrives or has ended. Answer
 * (INDEX, 0 to choices - 1): which walk starts; or none, and the walker
 * stays idle until it is asked for again. */
struct heddle_q_walk_pick {
    uint64_t n; /* walks that wait for a walker */
    const uint64_t *app; /* [n]: application of each, oldest first */
    const uint64_t *vpn; /* [n]: virtual page of each */
    const uint64_t *requesters; /* [n]: requests that wait for each */
    const uint64_t *age; /* [n]: core cycles that each has waited */
    const uint64_t *pc; /* [n]: program counter of each one's first requester */
    /* n + 1: the last choice leaves the walker idle; n: it must not stay
     * idle (with walk.batch, and when it is the last free walker and none is
     * in use) */
    uint64_t choices;
    uint64_t walker; /* the free walker; with walk.batch 0 */
    uint64_t walkers; /* walkers of this unit */
    uint64_t instance; /* core whose walker it is; 0 where cores share them */
    const uint64_t *core; /* [n]: core of each one's first requester */
    /* [n]: warp in its core, 0xffff: a policy began the walk */
    const uint64_t *warp;
    /* [n]: walks that wait for the same instruction (same core, warp and
     * program counter), this one included */
    const uint64_t *left;
};

/* walk_reference (warm, walk): asked when a walker with a batch of walks
 * (walk.batch) can read. Answer (INDEX, 0 to n - 1): which entry it reads
 * next. */
struct heddle_q_walk_reference {
    uint64_t level; /* level of the page table, 1 to 4, that the batch reads */
    uint64_t last; /* address of the level's last read, 0: none yet */
    uint64_t n; /* entries of that level still to be read */
    /* [n]: physical address of each, oldest walk first */
    const uint64_t *address;
    const uint64_t *app; /* [n]: application of that walk */
    const uint64_t *vpn; /* [n]: virtual page of that walk */
    const uint64_t *pc; /* [n]: program counter of its first requester */
};

/* fault_batch (warm, fault): asked when a page has faulted, or a batch is
 * done and faults wait. Answer (VALUE, 0 to n): how many of the oldest are
 * served together now; 0: none until the next fault or the end of a batch,
 * allowed only while a batch is being served. */
struct heddle_q_fault_batch {
    uint64_t n; /* waiting faults, each for a different page */
    uint64_t serving; /* batches being served */
    const uint64_t *app; /* [n]: application of each, oldest first */
    const uint64_t *vpn; /* [n]: first virtual page of each */
    const uint64_t *pages; /* [n]: base pages of each: 1, 16 or 512 */
    const uint64_t *age; /* [n]: core cycles that each has waited */
};

/* repl_victim (warm): asked when a set, or the application's share of it, is
 * full and an entry must be evicted. Answer (INDEX, 0 to ways - 1): way to
 * evict, from `from` to `to`. */
struct heddle_q_repl_victim {
    uint64_t instance; /* instance of the structure: core, slice, or 0 */
    uint64_t set; /* set */
    uint64_t ways; /* ways of a set */
    uint64_t key; /* page or line number of the newcomer */
    uint64_t app; /* application */
    uint64_t warp; /* warp in its core, 0xffff if unknown */
    /* first way that the application may fill: 0, unless ways are
     * partitioned (l2cache.partition) */
    uint64_t from;
    uint64_t to; /* last way that it may fill: ways - 1, unless partitioned */
    uint64_t pc; /* program counter of the instruction; 0 where none is known */
};

/* cache_insert (warm): asked when a missing line has arrived. Answer
 * (CHOICE, of enum heddle_cache_insert): insert as the newest, do not
 * insert, or insert as the next victim. */
struct heddle_q_cache_insert {
    uint64_t instance; /* core or slice */
    uint64_t app; /* application */
    uint64_t warp; /* warp in its core, 0xffff if unknown */
    uint64_t kind; /* what it is for; enum heddle_request */
    uint64_t level; /* walks: 1 root .. 4 leaf; else 0 */
    uint64_t line; /* line number */
    uint64_t pc; /* program counter of the instruction; 0 where none is known */
};

/* l2_bypass (hot, l2cache): asked when a request reaches the L2 cache.
 * Answer (BOOL, 1 or 0): whether it goes straight to DRAM and fills nothing. */
struct heddle_q_l2_bypass {
    uint64_t app; /* application */
    uint64_t kind; /* what it is for; enum heddle_request */
    uint64_t level; /* walks: 1 root .. 4 leaf; else 0 */
    uint64_t slice; /* L2 slice */
    uint64_t set; /* set in the slice */
    uint64_t line; /* line number */
    uint64_t pc; /* program counter of the instruction; 0 where none is known */
};

/* dram_class (hot, dram): asked when a request reaches a DRAM channel.
 * Answer (CHOICE, of enum heddle_dram_class): its queue; the more urgent
 * queue is served first. */
struct heddle_q_dram_class {
    uint64_t app; /* application */
    uint64_t kind; /* what it is for; enum heddle_request */
    uint64_t level; /* walks: 1 root .. 4 leaf; else 0 */
    uint64_t channel; /* channel */
};

/* dram_turn (warm, dram): asked when a channel's silver turn has ended, for
 * each application in order until one gets the next. Answer (VALUE, 0 to
 * most): length of its turn in silver requests; 0: it is skipped. */
struct heddle_q_dram_turn {
    uint64_t app; /* application whose turn it would be */
    /* application whose turn has ended; apps if there was none */
    uint64_t last;
    uint64_t apps; /* applications */
    uint64_t channel; /* channel */
    uint64_t most; /* largest answer */
};

/* dram_pick (hot, dram): asked when a channel can issue a command for more
 * than one request. Answer (INDEX, 0 to n - 1): the request whose next
 * command issues. */
struct heddle_q_dram_pick {
    uint64_t channel; /* channel */
    uint64_t cycle; /* DRAM command cycle */
    /* candidates: at most two a bank, its oldest row hit and its oldest
     * other request */
    uint64_t n;
    const uint64_t *bank; /* [n]: bank of each */
    const uint64_t *row; /* [n]: row of each */
    const uint64_t *hit; /* [n]: 1: its row is open */
    /* [n]: command cycle at which its next command is legal */
    const uint64_t *ready;
    const uint64_t *arrived; /* [n]: order of arrival */
    const uint64_t *app; /* [n]: application */
    const uint64_t *klass; /* [n]: 0 normal, 1 silver, 2 golden */
    const uint64_t *write; /* [n]: 1: a write */
};

/* warp_pick (hot, core): asked when the issue port is free and the ready set
 * or the last warp has changed. Answer (MEMBER, a member of the bit set
 * ready): warp that issues; with once (C: HEDDLE_ONCE in the answer, Lua:
 * true as a second result), asked again after one instruction instead of
 * when the warp stalls. */
struct heddle_q_warp_pick {
    uint64_t core; /* core */
    uint64_t last; /* warp that issued last, 64 if none */
    uint64_t ready; /* bit set of warps that can issue */
    uint64_t n; /* warps of the core: the answer is below it */
    uint64_t oldest; /* the ready warp that has been resident longest */
    /* [n]: order of arrival of each warp; lower is older */
    const uint64_t *age;
};

/* warp_limit (warm, core): asked when a block arrives, a warp exits, or the
 * answer expires (holds) or is renewed (heddle_renew_limit, in Lua: renew).
 * Answer (SUBSET, a bit set of n members): warps that may issue loads; Lua:
 * `holds` is a second result. */
struct heddle_q_warp_limit {
    uint64_t core; /* core */
    uint64_t cycle; /* core cycle */
    uint64_t resident; /* bit set of resident warps */
    uint64_t running; /* resident warps that have not exited */
    uint64_t n; /* warps of the core */
    /* [n]: order of arrival of each warp; lower is older */
    const uint64_t *age;
    /* [n]: instructions that each has issued, modulo 2^32 */
    const uint64_t *issued;
    /* 0; C: may be set to the core cycle at which to ask again; all ones:
     * only when renewed; 0: after core.limit_cycles */
    uint64_t holds;
};

/* thread_join (hot, core): asked when core.compact: a warp is being formed,
 * and a lane offers its oldest remaining thread, or after a refusal its next
 * one; not asked for threads that began in the same warp as the first
 * thread. Answer (BOOL, 1 or 0): whether the thread joins the warp. */
struct heddle_q_thread_join {
    uint64_t cycle; /* core cycle */
    uint64_t core; /* core */
    uint64_t app; /* application */
    uint64_t block; /* block of the launch */
    uint64_t pc; /* instruction at which the warp begins */
    uint64_t warp; /* warp of the core in which the thread began */
    uint64_t lane; /* its lane, still empty in the warp being formed */
    /* warps in which the threads that have joined began (bit set) */
    uint64_t members;
    uint64_t n; /* warps of the core */
};

/* block_place (warm, dispatch): asked when a block can start. Answer (INDEX,
 * 0 to n - 1): which of these cores gets it. */
struct heddle_q_block_place {
    uint64_t app; /* application */
    uint64_t block; /* block of the launch */
    uint64_t n; /* cores that have room for it */
    const uint64_t *core; /* [n]: their numbers, ascending */
    const uint64_t *resident; /* [n]: blocks resident on each */
};

/* core_throttle (warm, dispatch): asked when a launch starts, its first
 * blocks have been placed, a request waits for the host or has been served,
 * or throttle.cycles have passed. Answer (SUBSET, a bit set of n members):
 * cores that may run; the others stop, keep their blocks and get no new
 * ones. */
struct heddle_q_core_throttle {
    uint64_t app; /* application */
    uint64_t cause; /* why it is asked now; enum heddle_throttle_cause */
    /* index of the core whose request waits or was served; n: none */
    uint64_t by;
    uint64_t blocks; /* blocks of its launch that have not ended */
    /* class of the application (app_classify); enum heddle_app_class */
    uint64_t is;
    uint64_t n; /* cores of the application */
    uint64_t running; /* bit set of those that run */
    const uint64_t *core; /* [n]: their numbers, ascending */
    const uint64_t *resident; /* [n]: blocks resident on each */
    /* [n]: requests of each that have had to wait for the host */
    const uint64_t *faults;
    /* virtual page for which the request waits or has waited; else 0 */
    uint64_t vpn;
    /* 1: a request was served, and the page for which it waited, or another
     * of its batch with uvm.mode=driver, found no frame until others were
     * evicted */
    uint64_t evicted;
    /* base pages of the live allocations, each rounded to 64 KB */
    uint64_t allocated;
    uint64_t frames; /* base frames of memory */
    uint64_t capacity; /* base pages that memory can hold (evict_trigger) */
};

/* core_partition (cold, dispatch): asked when the cores are assigned before
 * cycle 0, for each of them. Answer (INDEX, 0 to apps - 1): application that
 * owns the core. */
struct heddle_q_core_partition {
    uint64_t apps; /* applications */
    uint64_t core; /* core */
    uint64_t cores; /* cores in the machine */
};

/* evict_trigger (warm, evict): asked when frames were taken or freed, no
 * eviction is under way, and no page waits for frames; or a page waits, and
 * others are in flight from the host. Answer (BOOL, 1 or 0): whether to
 * evict a unit now, before a page waits for frames, or while those pages are
 * in flight. */
struct heddle_q_evict_trigger {
    uint64_t free; /* base frames that are free */
    uint64_t frames; /* base frames of the machine */
    uint64_t resident; /* resident base pages that came from the host */
    uint64_t unit; /* base pages of an eviction unit: 1, 16 or 512 */
    /* 1: a page waits for frames, while others are in flight from the host;
     * 0: none waits */
    uint64_t waiting;
    /* pages of a fault, or of a prefetch, have been given frames; an
     * eviction is over, or an allocation was freed, and none of the pages
     * that waited has taken the frames; or a page waits for frames; enum
     * heddle_evict_cause */
    uint64_t cause;
    /* application of the pages that were given frames, that were evicted or
     * freed, or that wait */
    uint64_t app;
    /* base pages of the live allocations, each rounded to 64 KB */
    uint64_t allocated;
    /* base pages that memory can hold: all frames; with compress.enable the
     * pages that it holds, and as many uncompressed ones as fit in the rest */
    uint64_t capacity;
};

/* evict_victim (warm, evict): asked when a page waits for frames, or an
 * eviction starts before one does. Answer (INDEX, 0 to n - 1): unit to
 * evict; by default the first. */
struct heddle_q_evict_victim {
    uint64_t waiting; /* 1: a page waits for frames; 0: none waits yet */
    /* units with pages that can be evicted, by their latest arrival, oldest
     * first */
    uint64_t n;
    const uint64_t *app; /* [n]: application of each */
    const uint64_t *vpn; /* [n]: first base page of each */
    const uint64_t *pages; /* [n]: base pages that would be evicted */
    const uint64_t *dirty; /* [n]: of these, those of dirty pages */
    const uint64_t *accesses; /* [n]: walks that have found one of its pages */
    /* [n]: core cycles since one of its pages last arrived */
    const uint64_t *migrated;
    /* [n]: core cycles since a walk last found one of its pages, or one
     * arrived */
    const uint64_t *accessed;
};

/* page_prefetch (warm, fault): asked when the pages of a fault have been
 * given frames. Answer (VALUE, 0 to last): which base pages of its
 * allocation to prefetch, if they are on the host and as long as frames are
 * free; n: the next n; 1024 * (k + 1) + n: n pages, from page k of the 2 MB. */
struct heddle_q_page_prefetch {
    uint64_t app; /* application */
    uint64_t vpn; /* first virtual page of the fault */
    uint64_t pages; /* base pages that it migrates */
    uint64_t free; /* base frames that are free */
    uint64_t most; /* base pages after it in its allocation, at most 512 */
    /* first page of its allocation in the aligned 2 MB around it, 0 to 511;
     * the fields below concern these 2 MB */
    uint64_t first;
    uint64_t end; /* the last such page, plus one */
    /* 8: words of a set of pages, 64 pages a word, lowest bit first */
    uint64_t words;
    const uint64_t *there; /* [words]: pages that are resident or in flight */
    /* [words]: of those: pages of faults of the same batch */
    const uint64_t *faulted;
    /* [words]: of those: prefetched for the faults before it, since the last
     * of another 2 MB or batch */
    const uint64_t *sent;
    /* [words]: pages that thrash (fault.thrashing): they are not prefetched */
    const uint64_t *thrashes;
    /* pages of the 2 MB migrated by faults so far, these included */
    uint64_t faults;
    uint64_t last; /* largest answer: 1024 * 512 + 512 */
    /* preferred location of its buffer, as the program's host advised; enum
     * heddle_processor */
    uint64_t place;
    /* 1: before this batch no page of the 2 MB was resident anywhere */
    uint64_t untouched;
};

/* page_compress (warm, compress): asked when a base page arrives in memory
 * for the first time (compress.enable). Answer (BOOL, 1 or 0): whether it is
 * stored compressed. */
struct heddle_q_page_compress {
    uint64_t app; /* application */
    uint64_t vpn; /* base page */
    uint64_t bytes; /* its compressed size: 512, 1024, 2048 or 4096 */
    /* 1: size known from its contents; 0: drawn, by compress.ratio */
    uint64_t known;
    /* class of the application (app_classify); enum heddle_app_class */
    uint64_t is;
    /* base pages of the live allocations, each rounded to 64 KB */
    uint64_t allocated;
    uint64_t frames; /* base frames of memory */
    uint64_t capacity; /* base pages that memory can hold (evict_trigger) */
};

/* migrate (warm, fault): asked when the host serves a fault, or a
 * notification of an access counter. Answer (VALUE, 0 to most): 0: the pages
 * migrate; else they are mapped remotely, on the host, and this is asked
 * again after that many accesses to their granule. */
struct heddle_q_migrate {
    /* a page that is not resident was touched; or a remotely mapped page has
     * had as many accesses as the last answer said; enum
     * heddle_migrate_cause */
    uint64_t cause;
    uint64_t app; /* application */
    uint64_t vpn; /* first virtual page of the fault, or of the granule */
    uint64_t pages; /* base pages that it migrates */
    uint64_t writes; /* 1: a store waits for it */
    /* where its buffer should be used, as the program's host advised; enum
     * heddle_migrate_advice */
    uint64_t advice;
    uint64_t accesses; /* remote accesses to its granule, while counted */
    uint64_t trips; /* times that pages of its granule have been evicted */
    uint64_t free; /* base frames that are free */
    uint64_t frames; /* base frames of memory */
    uint64_t evicted; /* 1: pages have been evicted */
    uint64_t most; /* largest answer, 65536: mapped remotely for good */
};

/* app_classify (cold, core): asked when a policy that answers is bound, and
 * when each of its epochs ends. Answer (CHOICE, of enum heddle_app_class):
 * class of the program, which core_throttle and page_compress are told. */
struct heddle_q_app_classify {
    uint64_t app; /* application */
    uint64_t lanes; /* active lanes of its loads so far */
    uint64_t lines; /* lines that they touched */
};

/* thrash (warm, fault): asked when a page is touched that has moved back and
 * forth (fault.thrashing). Answer (CHOICE, of enum heddle_thrash): it
 * migrates as usual; the touch is throttled, and this is asked again when
 * the period ends; or it is pinned in the GPU's memory, or on the host,
 * where the GPU accesses it over the link. */
struct heddle_q_thrash {
    /* processor that touched it and does not have it; enum heddle_processor */
    uint64_t by;
    uint64_t app; /* application */
    uint64_t vpn; /* first virtual page */
    uint64_t pages; /* base pages for which the answer holds */
    uint64_t writes; /* 1: a store waits for it */
    uint64_t far; /* 1: the GPU can access it on the host */
    /* consecutive moves, each within a lapse of the one before, at most 7 */
    uint64_t events;
    /* 1: events is uvm.perf_thrashing_threshold, and the last was within a
     * lapse; or it is pinned */
    uint64_t thrashes;
    /* times a processor was throttled since it was last pinned */
    uint64_t throttlings;
    /* bit set of processors that moved or touched it since tracking began: 2
     * gpu, 4 host */
    uint64_t users;
    /* processor that is not throttled in this period; enum heddle_processor */
    uint64_t exempt;
    uint64_t pinned; /* where it is pinned; enum heddle_processor */
    /* preferred location of its buffer, as the program's host advised; enum
     * heddle_processor */
    uint64_t place;
    /* times it returned after an eviction, within fault.refault_lapse of the
     * first */
    uint64_t returns;
};

/* tlb_peer (warm): asked when an L1 TLB has missed, and L1 TLBs can ask each
 * other (peers.latency). Answer (VALUE, 0 to cores): core whose L1 TLB is
 * asked first, not this core; cores: none. */
struct heddle_q_tlb_peer {
    uint64_t core; /* core whose L1 TLB missed */
    uint64_t cores; /* cores of the machine */
    uint64_t app; /* application */
    uint64_t warp; /* warp in its core */
    uint64_t vpn; /* virtual page */
    uint64_t pc; /* program counter of the instruction that missed first */
};

/* walk_address (warm, walk): asked when a walker is about to read an entry,
 * after the walk cache and walk_step, and there is memory for a policy's
 * table (walktable.bytes). Answer (VALUE, 0 to entries): 0: read what the
 * page table says; n: the n-th entry of the policy's table; Lua: `ends` is a
 * second result, true or false. */
struct heddle_q_walk_address {
    uint64_t app; /* application */
    uint64_t vpn; /* virtual page to translate */
    uint64_t page; /* first virtual page of its page, as large as that is */
    /* level that the page table would have read: 1 root .. 4 leaf
     * (vm.format: more) */
    uint64_t level;
    /* level of the leaf entry: 4, or 3 for a 2 MB page (vm.format) */
    uint64_t leaf;
    uint64_t made; /* reads that this walk has made */
    uint64_t probes; /* of them, reads of the policy's table */
    uint64_t address; /* physical address of the page table's entry */
    /* of the one that would be read after it; 0: it is the leaf's */
    uint64_t next;
    /* entries of the policy's table; 0: this walk may read it no more
     * (walktable.reads) */
    uint64_t entries;
    uint64_t core; /* core of the first requester, or that a policy named */
    /* program counter of the first requester's instruction; 0: a policy
     * started the walk */
    uint64_t pc;
    /* 0; C: may be set to 1: the walk has its translation with this read;
     * else another follows, unless it is the leaf's */
    uint64_t ends;
};

/* tlb_group (warm): asked when a walk for requests has found a page of 4 KB,
 * and entries may cover groups (groups.most). Answer (VALUE, 0 to most): k:
 * the entry, and the answer, cover the aligned 2^k pages around it, at most
 * `whole'; Lua: `mark` is a second result, an integer or nothing: no change. */
struct heddle_q_tlb_group {
    uint64_t app; /* application */
    uint64_t vpn; /* virtual page that was walked for, of 4 KB */
    uint64_t most; /* largest answer (groups.most) */
    /* largest k for which the aligned 2^k pages around it are contiguous */
    uint64_t whole;
    uint64_t sizes; /* most + 1; below, one for each k from 0 on */
    /* [sizes]: mark of the first of the aligned 2^k pages around it; 0:
     * none, or they are not contiguous */
    const uint64_t *own;
    /* [sizes]: the same of the 2^k pages next to them, with which they would
     * be 2^(k+1); 0 also if not contiguous with them */
    const uint64_t *buddy;
    /* [sizes]: 1: the frames of the first pages of both are as far apart as
     * the pages */
    const uint64_t *joins;
    uint64_t core; /* core of the first requester */
    uint64_t pc; /* program counter of the first requester's instruction */
    /* all ones; C: may be set to the mark, 0 to 255, that the first page of
     * the group answered gets */
    uint64_t mark;
};

/* ---- notes ------------------------------------------------------------ */

enum heddle_note {
    HEDDLE_NOTE_access,
    HEDDLE_NOTE_access_done,
    HEDDLE_NOTE_tlb_hit,
    HEDDLE_NOTE_tlb_miss,
    HEDDLE_NOTE_tlb_evict,
    HEDDLE_NOTE_translated,
    HEDDLE_NOTE_walk_read,
    HEDDLE_NOTE_walk_done,
    HEDDLE_NOTE_page_fault,
    HEDDLE_NOTE_page_arrived,
    HEDDLE_NOTE_page_evicted,
    HEDDLE_NOTE_link_transfer,
    HEDDLE_NOTE_cache_hit,
    HEDDLE_NOTE_cache_miss,
    HEDDLE_NOTE_cache_evict,
    HEDDLE_NOTE_dram_command,
    HEDDLE_NOTE_line_back,
    HEDDLE_NOTE_kernel_start,
    HEDDLE_NOTE_kernel_end,
    HEDDLE_NOTE_epoch,
    HEDDLE_NOTE_page_freed,
    HEDDLE_NOTE_page_back,
    HEDDLE_NOTE_page_moved,
    HEDDLE_NOTE_frames_taken,
    HEDDLE_NOTE_batch_served,
    HEDDLE_NOTE_host_call,
    HEDDLE_NOTE_page_throttled,
    HEDDLE_NOTE_page_remote,
    HEDDLE_NOTE_utlb_lookup,
    HEDDLE_NOTE_walk_start,
    HEDDLE_NOTE_walker_idle,
    HEDDLE_NOTE_free,
    HEDDLE_NOTE_repl_touch,
    HEDDLE_NOTE_repl_fill,
    HEDDLE_NOTE_repl_gone,
    HEDDLE_NOTE_COUNT
};

/* access (core): a warp's memory instruction was issued. */
struct heddle_n_access {
    uint64_t cycle;  /* core cycle at which it happens */
    heddle_sim *sim; /* that tells it, for the calls of policy.h */
    uint64_t core; /* core */
    uint64_t app; /* application */
    uint64_t warp; /* warp in its core */
    uint64_t pc; /* program counter */
    uint64_t kind; /* what it does; enum heddle_access */
    uint64_t lines; /* lines touched */
    uint64_t pages; /* base pages touched */
};

/* access_done (core): a warp's memory instruction has all its data. */
struct heddle_n_access_done {
    uint64_t cycle;  /* core cycle at which it happens */
    heddle_sim *sim; /* that tells it, for the calls of policy.h */
    uint64_t core; /* core */
    uint64_t app; /* application */
    uint64_t warp; /* warp in its core */
    uint64_t kind; /* what it did; enum heddle_access */
    uint64_t cycles; /* core cycles since it was issued */
};

/* tlb_hit (l1tlb, l2tlb): a TLB look-up hit. */
struct heddle_n_tlb_hit {
    uint64_t cycle;  /* core cycle at which it happens */
    heddle_sim *sim; /* that tells it, for the calls of policy.h */
    uint64_t level; /* 1: L1 TLB, 2: L2 TLB */
    uint64_t core; /* core */
    uint64_t app; /* application */
    uint64_t warp; /* warp in its core */
    uint64_t vpn; /* virtual page */
    uint64_t entry; /* entry: set * ways + way; on a miss all ones */
    uint64_t depth; /* LRU depth of the hit */
    uint64_t filler; /* warp that filled the entry, core << 16 | warp */
    /* base pages that the entry covers; from vpn on if it was evicted */
    uint64_t pages;
    uint64_t pc; /* program counter of the instruction */
    /* program counter of the instruction that filled the entry */
    uint64_t filler_pc;
};

/* tlb_miss (l1tlb, l2tlb): a TLB look-up missed; reported once. */
struct heddle_n_tlb_miss {
    uint64_t cycle;  /* core cycle at which it happens */
    heddle_sim *sim; /* that tells it, for the calls of policy.h */
    uint64_t level; /* 1: L1 TLB, 2: L2 TLB */
    uint64_t core; /* core */
    uint64_t app; /* application */
    uint64_t warp; /* warp in its core */
    uint64_t vpn; /* virtual page */
    uint64_t entry; /* entry: set * ways + way; on a miss all ones */
    uint64_t depth; /* LRU depth of the hit */
    uint64_t filler; /* warp that filled the entry, core << 16 | warp */
    /* base pages that the entry covers; from vpn on if it was evicted */
    uint64_t pages;
    uint64_t pc; /* program counter of the instruction */
    /* program counter of the instruction that filled the entry */
    uint64_t filler_pc;
};

/* tlb_evict (l1tlb, l2tlb): a TLB entry was evicted; vpn is its first page. */
struct heddle_n_tlb_evict {
    uint64_t cycle;  /* core cycle at which it happens */
    heddle_sim *sim; /* that tells it, for the calls of policy.h */
    uint64_t level; /* 1: L1 TLB, 2: L2 TLB */
    uint64_t core; /* core */
    uint64_t app; /* application */
    uint64_t warp; /* warp in its core */
    uint64_t vpn; /* virtual page */
    uint64_t entry; /* entry: set * ways + way; on a miss all ones */
    uint64_t depth; /* LRU depth of the hit */
    uint64_t filler; /* warp that filled the entry, core << 16 | warp */
    /* base pages that the entry covers; from vpn on if it was evicted */
    uint64_t pages;
    uint64_t pc; /* program counter of the instruction */
    /* program counter of the instruction that filled the entry */
    uint64_t filler_pc;
};

/* translated (l1tlb): a translation returned to an L1 TLB. */
struct heddle_n_translated {
    uint64_t cycle;  /* core cycle at which it happens */
    heddle_sim *sim; /* that tells it, for the calls of policy.h */
    uint64_t core; /* core */
    uint64_t app; /* application */
    uint64_t warp; /* warp in its core */
    uint64_t vpn; /* virtual page */
    uint64_t frame; /* its base frame */
    uint64_t cycles; /* core cycles since it was requested */
    uint64_t pc; /* program counter of the instruction that missed first */
};

/* walk_read (walk): a walker requests a page-table entry. */
struct heddle_n_walk_read {
    uint64_t cycle;  /* core cycle at which it happens */
    heddle_sim *sim; /* that tells it, for the calls of policy.h */
    uint64_t instance; /* core whose walker it is; 0 where cores share them */
    uint64_t core; /* core of the first waiting request */
    uint64_t app; /* application */
    uint64_t vpn; /* virtual page */
    uint64_t level; /* 1: the root, to 4: the leaf (vm.format: more) */
    uint64_t address; /* physical address of the entry */
    uint64_t pc; /* program counter of the first request's instruction */
};

/* walk_done (walk): a page walk ended. */
struct heddle_n_walk_done {
    uint64_t cycle;  /* core cycle at which it happens */
    heddle_sim *sim; /* that tells it, for the calls of policy.h */
    uint64_t instance; /* core whose walker it is; 0 where cores share them */
    uint64_t app; /* application */
    uint64_t vpn; /* virtual page */
    uint64_t cycles; /* core cycles from the miss to the answer */
    uint64_t queued; /* of those, core cycles until a walker started it */
    uint64_t references; /* memory references made */
    uint64_t requesters; /* requests that waited for it */
    uint64_t pc; /* program counter of the first request's instruction */
    uint64_t core; /* core of the first request, or that a policy named */
};

/* page_fault (fault): a page that is not resident was touched: a new far
 * fault. */
struct heddle_n_page_fault {
    uint64_t cycle;  /* core cycle at which it happens */
    heddle_sim *sim; /* that tells it, for the calls of policy.h */
    uint64_t app; /* application */
    uint64_t vpn; /* first virtual page */
    uint64_t pages; /* base pages: 1, 16 or 512 */
    /* page_arrived: core cycles from the fault to the mapping */
    uint64_t cycles;
};

/* page_arrived (fault): a page arrived over the link and was mapped. */
struct heddle_n_page_arrived {
    uint64_t cycle;  /* core cycle at which it happens */
    heddle_sim *sim; /* that tells it, for the calls of policy.h */
    uint64_t app; /* application */
    uint64_t vpn; /* first virtual page */
    uint64_t pages; /* base pages: 1, 16 or 512 */
    /* page_arrived: core cycles from the fault to the mapping */
    uint64_t cycles;
};

/* page_evicted (evict): a page was unmapped and is being evicted to the
 * host. */
struct heddle_n_page_evicted {
    uint64_t cycle;  /* core cycle at which it happens */
    heddle_sim *sim; /* that tells it, for the calls of policy.h */
    uint64_t app; /* application */
    uint64_t vpn; /* first virtual page */
    uint64_t pages; /* base pages: 1, 16 or 512 */
    uint64_t frame; /* its first base frame */
    uint64_t dirty; /* 1: it was dirty */
};

/* link_transfer (link): a transfer over the host link has ended. */
struct heddle_n_link_transfer {
    uint64_t cycle;  /* core cycle at which it happens */
    heddle_sim *sim; /* that tells it, for the calls of policy.h */
    uint64_t app; /* application */
    uint64_t to; /* where it went; enum heddle_processor */
    uint64_t bytes; /* bytes that it carried */
    uint64_t queued; /* core cycles that it waited for the link */
    uint64_t cycles; /* core cycles that it occupied the link */
};

/* cache_hit (l1cache, l2cache): a cache look-up hit. */
struct heddle_n_cache_hit {
    uint64_t cycle;  /* core cycle at which it happens */
    heddle_sim *sim; /* that tells it, for the calls of policy.h */
    uint64_t level; /* 1: L1 cache, 2: L2 cache */
    uint64_t instance; /* core or slice */
    uint64_t app; /* application */
    uint64_t warp; /* warp in its core */
    uint64_t kind; /* what it is for; enum heddle_request */
    uint64_t line; /* line number */
    uint64_t filler; /* evictions: warp that filled the line */
    /* L1, loads: 1: the line had to wait for its translation */
    uint64_t waited;
    uint64_t pc; /* program counter of the instruction; 0 where none is known */
};

/* cache_miss (l1cache, l2cache): a cache look-up missed; reported once. */
struct heddle_n_cache_miss {
    uint64_t cycle;  /* core cycle at which it happens */
    heddle_sim *sim; /* that tells it, for the calls of policy.h */
    uint64_t level; /* 1: L1 cache, 2: L2 cache */
    uint64_t instance; /* core or slice */
    uint64_t app; /* application */
    uint64_t warp; /* warp in its core */
    uint64_t kind; /* what it is for; enum heddle_request */
    uint64_t line; /* line number */
    uint64_t filler; /* evictions: warp that filled the line */
    /* L1, loads: 1: the line had to wait for its translation */
    uint64_t waited;
    uint64_t pc; /* program counter of the instruction; 0 where none is known */
};

/* cache_evict (l1cache, l2cache): a line was evicted; line is its number. */
struct heddle_n_cache_evict {
    uint64_t cycle;  /* core cycle at which it happens */
    heddle_sim *sim; /* that tells it, for the calls of policy.h */
    uint64_t level; /* 1: L1 cache, 2: L2 cache */
    uint64_t instance; /* core or slice */
    uint64_t app; /* application */
    uint64_t warp; /* warp in its core */
    uint64_t kind; /* what it is for; enum heddle_request */
    uint64_t line; /* line number */
    uint64_t filler; /* evictions: warp that filled the line */
    /* L1, loads: 1: the line had to wait for its translation */
    uint64_t waited;
    uint64_t pc; /* program counter of the instruction; 0 where none is known */
};

/* dram_command (dram): a DRAM channel issues a command for a request. */
struct heddle_n_dram_command {
    uint64_t cycle;  /* core cycle at which it happens */
    heddle_sim *sim; /* that tells it, for the calls of policy.h */
    uint64_t channel; /* DRAM channel */
    uint64_t bank; /* bank of the channel */
    uint64_t app; /* application; the number of applications: none */
    uint64_t kind; /* what the request is for; enum heddle_request */
    uint64_t address; /* physical address requested */
    uint64_t command; /* command issued for it; enum heddle_dram_issue */
    uint64_t row; /* row requested */
    uint64_t burst; /* reads and writes: which of its bursts, 1, 2, ... */
    uint64_t bursts; /* how many bursts it has */
};

/* line_back (l1cache): a missing line returned to a core. */
struct heddle_n_line_back {
    uint64_t cycle;  /* core cycle at which it happens */
    heddle_sim *sim; /* that tells it, for the calls of policy.h */
    uint64_t core; /* core */
    uint64_t app; /* application */
    uint64_t warp; /* warp in its core */
    uint64_t line; /* line number */
    uint64_t cycles; /* core cycles since it was requested */
};

/* kernel_start (dispatch): a launch begins. */
struct heddle_n_kernel_start {
    uint64_t cycle;  /* core cycle at which it happens */
    heddle_sim *sim; /* that tells it, for the calls of policy.h */
    uint64_t app; /* application */
    uint64_t kernel; /* launch, 1, 2, ... */
    uint64_t run; /* 0: first execution, 1: relaunch, ... */
};

/* kernel_end (dispatch): a launch has retired. */
struct heddle_n_kernel_end {
    uint64_t cycle;  /* core cycle at which it happens */
    heddle_sim *sim; /* that tells it, for the calls of policy.h */
    uint64_t app; /* application */
    uint64_t kernel; /* launch, 1, 2, ... */
    uint64_t run; /* 0: first execution, 1: relaunch, ... */
};

/* epoch (policy): an epoch of a policy has ended; reported before it acts. */
struct heddle_n_epoch {
    uint64_t cycle;  /* core cycle at which it happens */
    heddle_sim *sim; /* that tells it, for the calls of policy.h */
    uint64_t policy; /* index of the policy among those bound, from 0 */
};

/* page_freed (memory): a 4 KB page was unmapped. */
struct heddle_n_page_freed {
    uint64_t cycle;  /* core cycle at which it happens */
    heddle_sim *sim; /* that tells it, for the calls of policy.h */
    uint64_t app; /* application; the number of applications: none */
    uint64_t vpn; /* virtual page */
    uint64_t frame; /* base frame it was in */
    uint64_t to; /* page_moved: base frame it is in now */
};

/* page_back (memory): a page was mapped into the place that its coalesced
 * region had kept for it. */
struct heddle_n_page_back {
    uint64_t cycle;  /* core cycle at which it happens */
    heddle_sim *sim; /* that tells it, for the calls of policy.h */
    uint64_t app; /* application; the number of applications: none */
    uint64_t vpn; /* virtual page */
    uint64_t frame; /* base frame it was in */
    uint64_t to; /* page_moved: base frame it is in now */
};

/* page_moved (memory): a page was moved to another frame. */
struct heddle_n_page_moved {
    uint64_t cycle;  /* core cycle at which it happens */
    heddle_sim *sim; /* that tells it, for the calls of policy.h */
    uint64_t app; /* application; the number of applications: none */
    uint64_t vpn; /* virtual page */
    uint64_t frame; /* base frame it was in */
    uint64_t to; /* page_moved: base frame it is in now */
};

/* frames_taken (memory): frames were taken by something that is not
 * simulated. */
struct heddle_n_frames_taken {
    uint64_t cycle;  /* core cycle at which it happens */
    heddle_sim *sim; /* that tells it, for the calls of policy.h */
    uint64_t frame; /* first base frame */
    uint64_t frames; /* how many */
};

/* batch_served (fault): driver mode: a batch of faults has been served. */
struct heddle_n_batch_served {
    uint64_t cycle;  /* core cycle at which it happens */
    heddle_sim *sim; /* that tells it, for the calls of policy.h */
    uint64_t app; /* application of its first fault */
    uint64_t number; /* number of the batch, from 1 */
    uint64_t packets; /* faults taken out of the buffer */
    uint64_t duplicates; /* of those: further faults for a page of the batch */
    uint64_t stale; /* of those: faults whose page was already resident */
    uint64_t faults; /* pages that faulted */
    uint64_t pages; /* base pages that migrated, prefetched ones included */
    uint64_t bytes; /* bytes over the link */
    uint64_t blocks; /* blocks of 2 MB */
    uint64_t evictions; /* units evicted for it */
    /* core cycles from the reading of the buffer to the replay */
    uint64_t cycles;
    uint64_t interrupt; /* core cycles before that, from the interrupt */
    uint64_t base; /* of cycles: uvm.base_latency */
    uint64_t block; /* of cycles: uvm.block_latency */
    uint64_t unmap; /* of cycles: uvm.unmap_latency */
    uint64_t dma; /* of cycles: uvm.dma_map_latency */
    uint64_t room; /* of cycles: its blocks waited for frames */
    uint64_t page; /* of cycles: uvm.page_latency */
    uint64_t evict; /* of cycles: uvm.evict_latency */
    uint64_t copy; /* of cycles: after the last block, for copies */
};

/* host_call (dispatch): vm.paging=fault: advice, a prefetch or a touch by an
 * application's host has ended. */
struct heddle_n_host_call {
    uint64_t cycle;  /* core cycle at which it happens */
    heddle_sim *sim; /* that tells it, for the calls of policy.h */
    uint64_t app; /* application */
    uint64_t kernel; /* launch that it is for, 1, 2, ... */
    uint64_t run; /* 0: first execution, 1: relaunch, ... */
    uint64_t what; /* what it was; enum heddle_host_call */
    uint64_t vpn; /* first virtual page that it touches */
    uint64_t pages; /* base pages that it touches */
    uint64_t beside; /* 1: in parallel with the kernel; 0: before it */
    uint64_t cycles; /* core cycles that it took */
};

/* page_throttled (fault): a page that thrashes has begun to be throttled: it
 * is served at the end of the period. */
struct heddle_n_page_throttled {
    uint64_t cycle;  /* core cycle at which it happens */
    heddle_sim *sim; /* that tells it, for the calls of policy.h */
    uint64_t app; /* application */
    uint64_t vpn; /* virtual page */
    /* processor that has touched it, and waits; enum heddle_processor */
    uint64_t by;
    uint64_t cycles; /* core cycles until the other processor's period ends */
};

/* page_remote (fault): a page was mapped for the GPU where it is, in the
 * host's memory. */
struct heddle_n_page_remote {
    uint64_t cycle;  /* core cycle at which it happens */
    heddle_sim *sim; /* that tells it, for the calls of policy.h */
    uint64_t app; /* application */
    uint64_t vpn; /* first virtual page */
    uint64_t pages; /* base pages */
    uint64_t cause; /* why; enum heddle_map_cause */
};

/* utlb_lookup (utlb1, utlb2, utlb3): a request was looked up in a level of
 * uTLBs; reported once. */
struct heddle_n_utlb_lookup {
    uint64_t cycle;  /* core cycle at which it happens */
    heddle_sim *sim; /* that tells it, for the calls of policy.h */
    uint64_t level; /* 1: utlb1, to 3: utlb3 */
    uint64_t instance; /* instance of the level */
    uint64_t core; /* core */
    uint64_t app; /* application */
    uint64_t warp; /* warp in its core */
    uint64_t vpn; /* virtual page */
    uint64_t found; /* what it found; enum heddle_utlb_found */
    uint64_t pc; /* program counter of the instruction */
};

/* walk_start (walk): a walker begins a page walk. */
struct heddle_n_walk_start {
    uint64_t cycle;  /* core cycle at which it happens */
    heddle_sim *sim; /* that tells it, for the calls of policy.h */
    uint64_t instance; /* core whose walker it is; 0 where cores share them */
    uint64_t walker; /* walker */
    uint64_t app; /* application */
    uint64_t vpn; /* virtual page */
    uint64_t queued; /* core cycles since the miss */
    uint64_t waiting; /* walks that wait for a walker now */
    uint64_t core; /* core of the first request, or that a policy named */
    uint64_t pc; /* program counter of the first request's instruction */
};

/* walker_idle (walk): a walker has ended its walk and has no next one. */
struct heddle_n_walker_idle {
    uint64_t cycle;  /* core cycle at which it happens */
    heddle_sim *sim; /* that tells it, for the calls of policy.h */
    uint64_t instance; /* core whose walker it is; 0 where cores share them */
    uint64_t walker; /* walker */
    uint64_t waiting; /* walks that wait nevertheless (walk_pick, walk_quota) */
};

/* free (memory): an allocation is about to be freed. */
struct heddle_n_free {
    uint64_t cycle;  /* core cycle at which it happens */
    heddle_sim *sim; /* that tells it, for the calls of policy.h */
    uint64_t app; /* application */
    uint64_t index; /* allocation, in the application's order */
    uint64_t vpn; /* first virtual page */
    uint64_t pages; /* base pages */
};

/* repl_touch (): an entry of a TLB or cache was hit. */
struct heddle_n_repl_touch {
    uint64_t cycle;  /* core cycle at which it happens */
    heddle_sim *sim; /* that tells it, for the calls of policy.h */
    uint64_t instance; /* instance of the structure: core, slice, or 0 */
    uint64_t set; /* set */
    uint64_t way; /* way */
    uint64_t ways; /* ways of a set */
    uint64_t key; /* page or line number of the entry */
    uint64_t app; /* application */
    uint64_t warp; /* warp in its core, 0xffff if unknown */
    uint64_t last; /* repl_fill: 1 when the newcomer is to be the next victim */
    uint64_t pc; /* program counter of the instruction; 0 where none is known */
};

/* repl_fill (): an entry of a TLB or cache was filled. */
struct heddle_n_repl_fill {
    uint64_t cycle;  /* core cycle at which it happens */
    heddle_sim *sim; /* that tells it, for the calls of policy.h */
    uint64_t instance; /* instance of the structure: core, slice, or 0 */
    uint64_t set; /* set */
    uint64_t way; /* way */
    uint64_t ways; /* ways of a set */
    uint64_t key; /* page or line number of the entry */
    uint64_t app; /* application */
    uint64_t warp; /* warp in its core, 0xffff if unknown */
    uint64_t last; /* repl_fill: 1 when the newcomer is to be the next victim */
    uint64_t pc; /* program counter of the instruction; 0 where none is known */
};

/* repl_gone (): an entry of a TLB or cache was evicted, before what takes
 * its place is filled, or invalidated. */
struct heddle_n_repl_gone {
    uint64_t cycle;  /* core cycle at which it happens */
    heddle_sim *sim; /* that tells it, for the calls of policy.h */
    uint64_t instance; /* instance of the structure: core, slice, or 0 */
    uint64_t set; /* set */
    uint64_t way; /* way */
    uint64_t ways; /* ways of a set */
    uint64_t key; /* page or line number of the entry */
    uint64_t app; /* application */
    uint64_t warp; /* warp in its core, 0xffff if unknown */
    uint64_t last; /* repl_fill: 1 when the newcomer is to be the next victim */
    uint64_t pc; /* program counter of the instruction; 0 where none is known */
};

#ifdef __cplusplus
}
#endif

#endif
