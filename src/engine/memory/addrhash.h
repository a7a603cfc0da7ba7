/*
 * addrhash.h - a digit of an address, hashed with the digits above it: which
 * DRAM channel, L2 slice or set of a slice has a line (addrhash.c).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_ADDRHASH_H
#define HD_ADDRHASH_H

#include "kit/bits.h"
#include "kit/config.h"
#include "kit/recip.h"

/* The settings' choices, in their order. */
enum { HD_HASH_NONE, HD_HASH_XOR, HD_HASH_IPOLY };

/* What a hash is made of. */
struct hd_addrhash_of {
    uint32_t kind; /* HD_HASH_ */
    uint32_t size; /* values of the digit */
    /* Values of a neighbouring digit that the bits above decide, too, by a hash
     * of its own; 0 or 1: there is none. */
    uint32_t neighbour;
    bool reciprocal; /* ipoly: with the reciprocal polynomial */
};

struct hd_addrhash {
    uint32_t size; /* values of the digit; 0: there is nothing to do */
    uint32_t bits; /* of the digit, if sizes are powers of two; else 0 */
    uint32_t base; /* otherwise: digits above are summed in this base ... */
    uint32_t neighbour; /* ... and the sum divided by this */
    /* ipoly of a size that is 2^low times an odd number */
    uint32_t low, odd;
    /* as many digits at once as have 256 values together: of each such piece
     * their sum, and the sum of the digits, each times its place in the piece,
     * from 0 */
    struct hd_recip per_piece, per_base;
    uint32_t digits;
    uint8_t sum[256], placed[256];
    uint32_t of[16][16]; /* the hash of four bits above, by their place */
};

/* Makes a hash; 0, or HEDDLE_ECONFIG: `setting` has a kind that needs an even
 * number, and `what`, of which there are n, is none. */
int hd_addrhash_init(struct hd_addrhash *h, const struct hd_addrhash_of *of,
                     const char *setting, const char *what, uint32_t n,
                     struct heddle_error *err);

/* The hashed digit.  For a given `above` its values are a permutation of the
 * digit's. */
uint32_t hd_addrhash(const struct hd_addrhash *h, uint32_t digit,
                     uint64_t above);

/* The least irreducible polynomial over GF(2) of a degree from 1 to 31, as the
 * bits of its coefficients. */
uint64_t hd_addrhash_polynomial(uint32_t degree);

#endif
