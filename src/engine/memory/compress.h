/*
 * compress.h - pages that are compressed in memory, so that more of them fit.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_COMPRESS_H
#define HD_COMPRESS_H

#include "kit/config.h"
#include "kit/env.h"
#include "lcp.h"

struct hd_compress_cfg {
#define HD_FIELDS_OF "memory/compress.def"
#include "kit/rows.h"
};

struct hd_compress;

struct hd_compress_wiring {
    const struct hd_compress_cfg *cfg;
    uint32_t line;  /* bytes */
    uint64_t bytes; /* memory for pages */
    /* The bytes of the 4 KB at va of an application as the host had them at
     * its start; false: they are not known. */
    bool (*contents)(void *self, uint32_t app, hd_va va, unsigned char *out);
    void *source; /* its self */
};

/* Builds it in the simulation's arena; NULL on error. */
struct hd_compress *hd_compress_open(struct hd_env *env,
                                     const struct hd_compress_wiring *w);

/* Sets what knows the number of the page in a frame, + 1 (0: none), and how
 * many base pages are allocated; and what evicts pages where one of an
 * application has outgrown memory, if anything does. */
void hd_compress_owner(struct hd_compress *c,
                       uint32_t (*owner)(void *self, uint64_t frame),
                       uint64_t (*allocated)(void *self), void *self);
void hd_compress_client(struct hd_compress *c,
                        void (*outgrown)(void *self, hd_time now, uint32_t app),
                        void *self);

/* ---- pages: the manager's side ------------------------------------------- */

/* Pages of an application have numbers one after the other, from `number`,
 * which is that of vpn.  Whether there is memory for them now. */
bool hd_compress_fits(struct hd_compress *c, uint32_t app, hd_vpn vpn,
                      uint32_t number, uint32_t pages);
/* They come to memory (whether one of them is compressed), go from it, or cease
 * to be. */
bool hd_compress_take(struct hd_compress *c, uint32_t app, uint32_t number,
                      uint32_t pages);
void hd_compress_give(struct hd_compress *c, uint32_t number, uint32_t pages);
void hd_compress_forget(struct hd_compress *c, uint32_t number, uint32_t pages);

/* Bytes of pages that have memory, on the link. */
uint64_t hd_compress_bytes(const struct hd_compress *c, uint32_t number,
                           uint32_t pages);

/* Whole pages of 4 KB for which there is memory, and would be if none were
 * there; pages that have memory; whether they have more than there is. */
uint64_t hd_compress_free(const struct hd_compress *c);
uint64_t hd_compress_total(const struct hd_compress *c);
uint64_t hd_compress_pages(const struct hd_compress *c);
bool hd_compress_outgrown(const struct hd_compress *c);

/* ---- lines: the memory's side -------------------------------------------- */

/* A line is read or written at *at or later, which becomes when it can be.
 * false: its page is not compressed.  *miss: its metadata have to be read
 * first. */
bool hd_compress_line(struct hd_compress *c, uint32_t app, hd_pa pa, bool write,
                      hd_time *at, bool *miss);

/* Ticks to decompress a line. */
hd_time hd_compress_unpack(const struct hd_compress *c);

/* What the settings say together with others. */
int hd_compress_check(const struct hd_compress_cfg *cfg, uint32_t line,
                      struct heddle_error *err);

#endif
