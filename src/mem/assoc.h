/*
 * assoc.h - the set-associative array of tags under every TLB and cache.
 *
 * It maps a 64-bit key in a given set to an entry (set * ways + way) and asks
 * the replacement policy; what an entry holds is the owner's business, in
 * arrays of its own indexed by entry.  Fully associative is one set with many
 * ways; the look-up is then by hash, and LRU costs the same for any size.
 * Sets need not be a power of two.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_ASSOC_H
#define HD_ASSOC_H

#include "../core/env.h"
#include "../policy/slots.h"

#define HD_KEY_NONE UINT64_MAX /* no entry has this key */

/* Who caused an access; passed on to replacement policies. */
struct hd_who {
    uint32_t app;
    uint32_t warp; /* HD_NO_WARP if unknown */
};

struct hd_assoc {
    uint32_t sets, ways, instance;
    uint64_t *key;   /* arena: key of each entry, HD_KEY_NONE: invalid */
    uint32_t *lru;   /* arena: state of the default replacement, LRU */
    uint32_t *count; /* arena: [set] valid entries */
    /* up to 32 ways: eight bits of each key, to compare a set at once */
    uint64_t *part;  /* arena: [set][words] */
    uint32_t words;  /* of 8 ways (part) or 64 (valid), a set */
    uint32_t *clock; /* arena: [0] stamp of the latest use */
    /* more ways: a hash of the keys and bit sets of the valid ways */
    uint32_t *head;  /* arena: first entry of a bucket + 1; 0: none */
    uint32_t *chain; /* arena: next entry of its bucket + 1 */
    uint64_t *valid; /* arena: [set][words] */
    uint32_t shift;  /* of the hash */
    struct hd_slot touch, fill, victim, gone;
};

/*
 * Takes the array from the arena and offers its four replacement slots as
 * those of `at` ("l1tlb").  0 or -1 (out of memory).
 */
int hd_assoc_open(struct hd_assoc *a, struct hd_env *env, const char *at,
                  uint32_t instance, uint32_t sets, uint32_t ways);

/* The entry of a key, or HD_NONE.  Changes nothing. */
uint32_t hd_assoc_find(const struct hd_assoc *a, uint32_t set, uint64_t key);

/* Tells the replacement policy that an entry was hit. */
void hd_assoc_touch(struct hd_assoc *a, uint32_t entry, struct hd_who who);

/*
 * Makes room for a key that is not present and enters it: an invalid way if
 * there is one (the lowest), else the policy's victim.  *evicted is the key
 * that left, or HD_KEY_NONE.  Returns the entry.
 */
uint32_t hd_assoc_place(struct hd_assoc *a, uint32_t set, uint64_t key,
                        struct hd_who who, uint64_t *evicted);

/* As hd_assoc_place, but the newcomer is the next victim (LRU position). */
uint32_t hd_assoc_place_last(struct hd_assoc *a, uint32_t set, uint64_t key,
                             struct hd_who who, uint64_t *evicted);

/* Invalidates an entry. */
void hd_assoc_drop(struct hd_assoc *a, uint32_t entry);

/* How many valid entries of its set were used more recently (LRU depth). */
uint32_t hd_assoc_depth(const struct hd_assoc *a, uint32_t entry);

#endif
