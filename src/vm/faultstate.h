/*
 * faultstate.h - the inside of the far-fault unit: fault.c (what happens) and
 * faultlook.c (showing and checking); nobody else includes it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_FAULTSTATE_H
#define HD_FAULTSTATE_H

#include "../mem/mshr.h"
#include "../policy/slots.h"
#include "fault.h"

enum hd_fault_state {
    HD_FAULT_WAITS,
    HD_FAULT_HOST,
    HD_FAULT_LINK,
    HD_FAULT_HERE
};

/* A page that faulted, or the 2 MB around it: entry of the MSHRs with the same
 * index, whose list holds its requests. */
struct hd_fault {
    hd_vpn vpn; /* first of its page, or of the 2 MB */
    hd_time born, began, sent, here;
    hd_time crosses, ends; /* its transfer is on the link between these */
    hd_time due;           /* its next page will be mapped */
    uint32_t pages;
    uint32_t total;  /* base pages of its transfer */
    uint32_t mapped; /* of those: have crossed */
    uint32_t at;     /* those before this one have */
    uint32_t
        requesters; /* of its requests, those that went on before its end */
    uint32_t next;  /* of the buffer, or of its batch */
    uint32_t head;  /* first fault of its batch */
    uint32_t left;  /* of a batch's first: pages that have not come */
    uint8_t app, state;
};

/* What a request has waited for faults; by its number in the pool. */
struct hd_fault_wait {
    hd_time since; /* the beginning of the wait under way, or HD_NEVER */
    hd_time total; /* the waits that are over */
};

struct hd_fault_unit {
    uint32_t first, last, waiting; /* the buffer */
    uint32_t serving;              /* batches under way */
    hd_time next;                  /* hd_faults_next */
};

struct hd_faults {
    struct hd_env *env;
    struct hd_fault_wiring w;
    struct hd_fault_cfg cfg;
    struct hd_fault_client user;
    struct hd_fault_unit *s;    /* arena */
    struct hd_mshr open;        /* by page */
    struct hd_fault *v;         /* arena: [entry] */
    struct hd_fault_wait *wait; /* arena: [treqs->room] */
    struct hd_slot batch;
    struct hd_stat stat;
    struct hd_hist *latency, *requesters;
    uint64_t *ask; /* scratch for questions */
    hd_time cycle;
    uint32_t rank, client;
};

static inline uint64_t hd_fault_cycles(const struct hd_faults *f, hd_time span)
{
    return span / f->cycle;
}

/* faultlook.c: for struct hd_part. */
void hd_faults_look(void *self, uint32_t instance, struct heddle_visitor *v);
void hd_faults_stuck(void *self, uint32_t instance, struct heddle_visitor *v);
void hd_faults_check(void *self, uint32_t instance, struct hd_err *err);

#endif
