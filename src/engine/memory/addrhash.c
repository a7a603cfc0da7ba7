/*
 * addrhash.c - hashed interleaving: strides of a power of two no longer meet in
 * one DRAM channel, one slice of the L2 or one set.
 *
 * Plain interleaving takes a digit of the address: of n channels, that of the
 * lowest bits above a piece.  A stride of a multiple of n pieces then stays in
 * one channel, for instance a column of a matrix whose rows are a power of two.
 * A hash adds to the digit what follows from the digits above it:
 *
 *   xor    their fold: the bits above are cut into digits of the same size,
 *          all of which are XORed (Gonzalez et al., ICS 1997, with one of them;
 *          Zhang et al., MICRO 2000, for DRAM banks).  Where the size is no
 *          power of two the digits are summed modulo the size instead: XOR is
 *          that sum, without carries.
 *   ipoly  the address from the digit on is a polynomial over GF(2), and the
 *          hash its remainder modulo an irreducible polynomial (Rau,
 *          "Pseudo-randomly interleaved memory", ISCA 1991), as Accel-Sim has
 *          it for partitions of the L2 (Khairy et al., ISCA 2020).  Here it is
 *          the least such polynomial of a degree, which for 16, 32 and 64 are
 *          those of Accel-Sim: x^4+x+1, x^5+x^2+1, x^6+x+1.  All bits of the
 *          address take part.  A size that is a power of two times an odd
 *          number (80 = 16 * 5 channels) is taken apart: the power of two has
 *          the remainder, the odd factor the sum of the digits, each times its
 *          place: the plain one of a multiple of 4 is a multiple of 4 in base
 *          5, and so leaves channels out.  Accel-Sim 2.0 hashes to the next
 * power of two and takes that modulo the size
 *          ("IPOLY_Modulo"), which is no permutation.  Odd sizes have no
 *          polynomial and are refused.
 *
 * With either, for n that is a power of two, n successive multiples of any
 * power of two are in n different places, if the first is a multiple of n of
 * them.  They differ in other strides: those of n + 1 times n pieces the fold
 * brings back to one place, the remainder does not; it has its own, the
 * multiples of the polynomial.  Liu et al. (ISCA 2018) show where in addresses
 * of GPU programs bits vary too little for plain interleaving.
 *
 * Where two digits are hashed with the same bits above, as the channel and the
 * slice of the channel are, one must not follow from the other, or a stride
 * uses only some of the slices.  So the slice's hash is one of both digits
 * together, of which it takes its part, and the set's uses the reciprocal
 * polynomial, which is irreducible, too.  Folds are not kept apart as well: in
 * a stride beyond all three digits a slice can see only some of its sets.
 *
 * Invariant: for given digits above, the hash permutes the values of the digit.
 * An address map that is one-to-one stays so, every place has equally many
 * addresses, and a line is still found from its place and the digits above.
 *
 * Left out: hashes of real cards, which are not published; maps that are chosen
 * for a program (Liu et al.).
 *
 * SPDX-License-Identifier: MIT
 */
#include "addrhash.h"

#include <string.h>

/* ---- polynomials over GF(2), a bit a coefficient ------------------------ */

static uint64_t remainder_of(uint64_t a, uint64_t p)
{
    unsigned degree = hd_log2(p);

    while (a >> degree != 0)
        a ^= p << (hd_log2(a) - degree);
    return a;
}

static bool is_irreducible(uint64_t p)
{
    for (uint64_t q = 2; 2 * hd_log2(q) <= hd_log2(p); q++)
        if (remainder_of(p, q) == 0)
            return false;
    return true;
}

uint64_t hd_addrhash_polynomial(uint32_t degree)
{
    uint64_t p = 1ull << degree | 1;

    while (!is_irreducible(p))
        p += 2;
    return p;
}

static uint64_t reciprocal_of(uint64_t p)
{
    uint64_t r = 0;

    for (; p != 0; p >>= 1)
        r = r << 1 | (p & 1);
    return r;
}

/* ---- making a hash ------------------------------------------------------ */

/* The hash is linear: bit i above adds `value` to it, of which the lowest bits
 * are the neighbour's. */
static void add_bit(struct hd_addrhash *h, uint32_t i, uint64_t value)
{
    for (uint32_t v = 0; v < 16; v++)
        if (v >> i % 4 & 1)
            h->of[i / 4][v] ^= (uint32_t)value;
}

/* For a digit of so many bits, beside a neighbour of so many. */
static void make_tables(struct hd_addrhash *h, const struct hd_addrhash_of *of,
                        uint32_t bits, uint32_t beside)
{
    uint32_t width = bits + beside;
    uint64_t p, power = 1ull << width;

    if (of->kind == HD_HASH_XOR) {
        for (uint32_t i = 0; i < 64; i++)
            add_bit(h, i, 1ull << i % width >> beside);
        return;
    }
    p = hd_addrhash_polynomial(width);
    if (of->reciprocal)
        p = reciprocal_of(p);
    for (uint32_t i = 0; i < 64; i++) {
        power = remainder_of(power, p); /* x^(width + i) mod p */
        add_bit(h, i, power >> beside);
        power <<= 1;
    }
}

/* The sums of pieces of digits; a base above 256 has no tables. */
static void make_sums(struct hd_addrhash *h)
{
    uint32_t values = h->base;

    h->digits = 1;
    h->per_base = h->per_piece = hd_recip_of(h->base);
    if (h->base < 2 || h->base > HD_LEN(h->sum))
        return;
    for (; values * h->base <= HD_LEN(h->sum); values *= h->base)
        h->digits++;
    h->per_piece = hd_recip_of(values);
    for (uint32_t v = 0; v < values; v++)
        for (uint32_t rest = v, i = 0; rest != 0; rest /= h->base, i++) {
            h->sum[v] += (uint8_t)(rest % h->base);
            h->placed[v] += (uint8_t)(rest % h->base * i);
        }
}

int hd_addrhash_init(struct hd_addrhash *h, const struct hd_addrhash_of *of,
                     const char *setting, const char *what, uint32_t n,
                     struct heddle_error *err)
{
    memset(h, 0, sizeof *h);
    if (of->kind == HD_HASH_NONE || of->size <= 1)
        return 0;
    h->size = of->size;
    h->neighbour = of->neighbour != 0 ? of->neighbour : 1;
    h->base = h->size * h->neighbour;
    if (hd_is_pow2(h->base)) {
        h->bits = hd_log2(h->size);
        make_tables(h, of, h->bits, hd_log2(h->neighbour));
    } else if (of->kind == HD_HASH_IPOLY) {
        uint32_t beside = hd_bit_first(h->neighbour);
        h->low = hd_bit_first(h->size);
        if (h->low == 0)
            return hd_err_set(err, HEDDLE_ECONFIG,
                              "%s: ipoly has polynomials for even numbers, and "
                              "%s is %u%s; xor takes any number",
                              setting, what, n,
                              n == h->size ? ""
                                           : ", an odd number of each "
                                             "channel's");
        h->odd = h->size >> h->low;
        h->neighbour >>= beside;
        h->base = h->odd * h->neighbour;
        make_tables(h, of, h->low, beside);
        make_sums(h);
    } else {
        make_sums(h);
    }
    return 0;
}

/* ---- hashing ------------------------------------------------------------ */

/* The sum of the digits above, each times its place, from 2, if `placed`. */
static inline uint64_t sum_digits(const struct hd_addrhash *h, uint64_t above,
                                  bool placed)
{
    uint64_t sum = 0, rest, v;

    for (uint64_t place = 2; above != 0; above = rest, place += h->digits) {
        rest = HD_LIKELY(above >> 62 == 0) ? hd_recip_div(h->per_piece, above)
                                           : above / h->per_piece.d;
        v = above - rest * h->per_piece.d;
        if (HD_UNLIKELY(h->base > HD_LEN(h->sum)))
            sum += placed ? v * place : v;
        else
            sum += placed ? h->sum[v] * place + h->placed[v] : h->sum[v];
    }
    return sum;
}

/* x modulo the base. */
static inline uint64_t rest_of(const struct hd_addrhash *h, uint64_t x)
{
    return x - hd_recip_div(h->per_base, x) * h->base;
}

uint32_t hd_addrhash(const struct hd_addrhash *h, uint32_t digit,
                     uint64_t above)
{
    uint32_t mixed = 0;
    uint64_t sum = 0;

    if (HD_LIKELY(h->bits != 0)) {
        for (uint32_t i = 0; above != 0; above >>= 4)
            digit ^= h->of[i++][above & 15];
        return digit;
    }
    if (h->size == 0)
        return digit;
    if (h->low != 0) {
        for (uint64_t v = above, i = 0; v != 0; v >>= 4)
            mixed ^= h->of[i++][v & 15];
        if (h->odd > 1)
            sum = rest_of(h, sum_digits(h, above, true));
        sum = (digit >> h->low) + sum / h->neighbour;
        return (uint32_t)(sum % h->odd) << h->low |
               ((digit ^ mixed) & ((1u << h->low) - 1));
    }
    sum = rest_of(h, sum_digits(h, above, false));
    return (uint32_t)((digit + sum / h->neighbour) % h->size);
}
