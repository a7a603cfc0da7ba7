/*
 * env.c - memory outside the arena that lives as long as its parts: wiring,
 * and arrays that a question or an event fills and forgets.  Parts take it and
 * never give it back; all goes at once when the simulation is freed, also one
 * that was built halfway.
 *
 * SPDX-License-Identifier: MIT
 */
#include "env.h"

#include <stdlib.h>

/* In front of each block; as long as the alignment. */
struct hd_env_block {
    _Alignas(64) struct hd_env_block *next;
    void *from; /* of calloc */
};

void *hd_env_take(struct hd_env *env, size_t n, size_t size)
{
    size_t room = sizeof(struct hd_env_block), align = room;
    struct hd_env_block *b;
    unsigned char *p;

    if (size != 0 && n > (SIZE_MAX - room - align) / size)
        return NULL;
    p = calloc(1, n * size + room + align);
    if (p == NULL)
        return NULL;
    b = (void *)(p + (align - (uintptr_t)p % align));
    b->from = p;
    b->next = env->taken;
    env->taken = b;
    return b + 1;
}

void hd_env_free(struct hd_env *env)
{
    while (env->taken != NULL) {
        struct hd_env_block *b = env->taken;

        env->taken = b->next;
        free(b->from);
    }
}
