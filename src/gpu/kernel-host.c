/*
 * kernel-host.c - what the host function of a kernel program may do between
 * launches.
 *
 * It sees the contents of buffers as the kernels left them.  Its own state is
 * a string of bytes that belongs to the simulation: snapshots copy it, and a
 * relaunch empties it.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "kernel-vm.h"

static struct hd_buffer *find(heddle_host *h, uint32_t buffer, uint64_t i)
{
    struct hd_kvm *vm = h->vm;
    struct hd_buffer *b;

    if (buffer >= vm->buf.n) {
        hd_err_set(vm->env->err, HEDDLE_EPROGRAM,
                   "program %s: the host uses buffer %u of %u", vm->prog->name,
                   buffer, vm->buf.n);
        return NULL;
    }
    b = &vm->buf.v[buffer];
    if (!b->def->contents) {
        hd_err_set(vm->env->err, HEDDLE_EPROGRAM,
                   "program %s: the host uses buffer %s, which has no "
                   "contents",
                   vm->prog->name, b->def->name);
        return NULL;
    }
    if (i >= b->def->count) {
        hd_err_set(vm->env->err, HEDDLE_EPROGRAM,
                   "program %s: the host uses index %lld of buffer %s; "
                   "expected less than %llu",
                   vm->prog->name, (long long)i, b->def->name,
                   (unsigned long long)b->def->count);
        return NULL;
    }
    return b;
}

int heddle_host_read(heddle_host *h, uint32_t buffer, uint64_t i,
                     union heddle_value *v)
{
    struct hd_buffer *b = find(h, buffer, i);

    if (b == NULL)
        return HEDDLE_EPROGRAM;
    *v = hd_buffer_get(b, i);
    return 0;
}

int heddle_host_write(heddle_host *h, uint32_t buffer, uint64_t i,
                      union heddle_value v)
{
    struct hd_buffer *b = find(h, buffer, i);

    if (b == NULL)
        return HEDDLE_EPROGRAM;
    if (hd_buffer_set(&h->vm->buf, b, i, v) != 0)
        return hd_err_memory(h->vm->env->err);
    return 0;
}

int heddle_host_fill(heddle_host *h, uint32_t buffer, union heddle_value v)
{
    struct hd_buffer *b = find(h, buffer, 0);
    int e = b == NULL ? HEDDLE_EPROGRAM : 0;

    for (uint64_t i = 0; e == 0 && i < b->def->count; i++)
        e = heddle_host_write(h, buffer, i, v);
    return e;
}

int heddle_host_release(heddle_host *h, uint32_t buffer)
{
    struct hd_kvm *vm = h->vm;

    if (buffer >= vm->buf.n || vm->buf.v[buffer].def->scratch)
        return hd_err_set(vm->env->err, HEDDLE_EPROGRAM,
                          "program %s: the host frees buffer %u, which is not "
                          "in the memory of the device",
                          vm->prog->name, buffer);
    if (vm->st->gone[buffer])
        return hd_err_set(vm->env->err, HEDDLE_EPROGRAM,
                          "program %s: the host frees buffer %s twice",
                          vm->prog->name, vm->buf.v[buffer].def->name);
    vm->st->gone[buffer] = 1;
    return 0;
}

uint32_t heddle_host_launched(const heddle_host *h)
{
    return h->vm->st->launches;
}

const void *heddle_host_state(const heddle_host *h, size_t *bytes)
{
    *bytes = h->vm->host_bytes;
    return h->vm->host_state;
}

int heddle_host_set_state(heddle_host *h, const void *p, size_t bytes)
{
    unsigned char *copy = NULL;

    if (bytes > 0) {
        copy = malloc(bytes);
        if (copy == NULL)
            return hd_err_memory(h->vm->env->err);
        memcpy(copy, p, bytes);
    }
    free(h->vm->host_state);
    h->vm->host_state = copy;
    h->vm->host_bytes = bytes;
    return 0;
}

int heddle_host_fail(heddle_host *h, int code, const char *text)
{
    return hd_err_set(h->vm->env->err, code < 0 ? code : HEDDLE_EPROGRAM, "%s",
                      text);
}
