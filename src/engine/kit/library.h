/*
 * library.h - shared objects that a user names: plug-ins.
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_LIBRARY_H
#define HD_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef const void *hd_entry_fn(void);

/* Loads "./x.so", for good, and finds its function `entry`.  NULL, with a text
 * in out[room], where there is no such file or function. */
hd_entry_fn *hd_library_entry(const char *path, const char *entry, char *out,
                              size_t room);

/* Whether an interface `abi`, which a plug-in states, is one of those from
 * `oldest` to `newest`, heddle's own; if not, out[room] says why: "it was built
 * for interface 5 of policy.h, ...". */
bool hd_library_takes(uint32_t abi, uint32_t oldest, uint32_t newest,
                      const char *header, char *out, size_t room);

/* Hash of the file of the shared object in which something is; 0: heddle's own,
 * or one that cannot be read. */
uint64_t hd_library_code(const void *in);

#endif
