/*
 * dramcheck.h - verifies a stream of DRAM commands against every constraint.
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_DRAMCHECK_H
#define HD_DRAMCHECK_H

#include "dram.h"
#include "dramspec.h"

struct hd_dramcheck;

/* Its memory lies in the arena.  NULL when that is exhausted. */
struct hd_dramcheck *hd_dramcheck_open(const struct hd_dram_cfg *cfg,
                                       struct hd_arena *arena);
void hd_dramcheck_close(struct hd_dramcheck *k);

/* Checks one command; commands of a channel come in order.  Records an error
 * that names the constraint. */
void hd_dramcheck_command(struct hd_dramcheck *k, const struct hd_dramcmd *cmd,
                          struct hd_err *err);

#endif
