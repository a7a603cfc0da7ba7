/*
 * home.h - in which node's memory a page is (home.c).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_HOME_H
#define HD_HOME_H

#include "fabric.h"
#include "pages/manage.h"
#include "translation/translate.h"

struct hd_home;

struct hd_home_wiring {
    const struct hd_fabric_cfg *cfg;
    const struct hd_fabric *fabric;
    struct hd_ptables *tables;
    struct hd_manage *manager;
    uint32_t cores;
};

/* From now on it says which frames pages get; NULL: there is no memory. */
struct hd_home *hd_home_open(struct hd_env *env,
                             const struct hd_home_wiring *w);

/* A core of `node` needs a page that has no translation: x is the one that it
 * has now, if it waited for this; false: it did not, or an error is recorded.
 * `core`: the node of a core. */
bool hd_home_touch(struct hd_home *h, uint32_t node, uint32_t app, hd_vpn vpn,
                   struct hd_xlate *x);
uint32_t hd_home_of_core(const struct hd_home *h, uint32_t core);

#endif
