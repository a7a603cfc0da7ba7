/*
 * work.h - a source whose instructions functions make (heddle_work.h).
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_WORK_H
#define HD_WORK_H

#include "../core/env.h"
#include "../heddle_work.h"
#include "source.h"

/* A buffer where it lies. */
struct hd_work_buffer {
    char name[32];
    uint64_t base, bytes;
};

/* State of the whole, in the arena. */
struct hd_work_state {
    uint32_t launch; /* in progress, 1, 2, ...; 0: none yet */
    uint32_t warps;  /* of a block */
    uint32_t contexts, frees;
    uint64_t last; /* lanes of a block's last warp that have a thread */
    struct heddle_work_launch kernel;
};

/* State of a warp, in the arena; the work's own follows. */
struct hd_work_warp {
    uint64_t count; /* instructions given */
    uint64_t mask;  /* of the one given last */
    uint32_t bytes; /* of a lane of it */
    uint32_t fault; /* it was stopped by an error */
};

struct hd_work {
    struct hd_source source;
    const struct heddle_work *work;
    void *self; /* of open() */
    bool opened;
    struct hd_work_buffer *buffer;
    uint32_t buffers;
    size_t shared_bytes, state_bytes;
    size_t stride; /* from warp to warp in the arena */
    uint64_t params[HEDDLE_MAX_PARAMS];
    void *xxh; /* while the hash is being made */
    struct hd_err *opening;
    /* while bound */
    struct hd_env *env;
    uint32_t lanes, slots;
    struct hd_work_state *s; /* arena */
    unsigned char *shared;   /* arena [shared_bytes] */
    unsigned char *warp;     /* arena [slots * stride] */
    uint64_t *block;         /* arena [slots]: of each context */
    uint32_t *free_ctx;      /* arena [slots] */
    uint8_t *gone;           /* arena [buffers] */
    uint64_t byte[HEDDLE_WORK_LANES];
    hd_va lane[HEDDLE_WORK_LANES];
};

/* A code that a work gave: one of heddle.h; else HEDDLE_EPROGRAM. */
int hd_work_code(int code);

/* The functions by which the engine knows a work (work-run.c). */
extern const struct hd_source_ops hd_work_ops;

#endif
