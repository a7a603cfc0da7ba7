/*
 * vmfault.h - a unit of translation whose pages come from the host, and the
 * times of its stages at 1020 MHz.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef VMFAULT_H
#define VMFAULT_H

#include "vmenv.h"

enum {
    MHZ = 1020,
    WAY = 5, /* all in cycles, which are ticks */
    LOOK = 10,
    READ = 107,
    WALK = 4 * READ,
    L = 55575,
    SMALL = 525,              /* 4 KB on the link */
    LARGE = 268785,           /* 2 MB */
    A = 0x1000,               /* aligned to 2 MB */
    FAULT = WAY + LOOK + WALK /* a request's page is found absent */
};

static inline struct vm *vm_new_fault(void)
{
    struct vm *v = vm_new();

    v->mhz = MHZ;
    v->vm_cfg.paging = HD_PAGING_FAULT;
    return v;
}

#endif
