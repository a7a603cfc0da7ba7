/*
 * library.c - shared objects that a user names: plug-ins.
 *
 * A plug-in exports one function, which returns a const struct; what kind of
 * struct, and whether it is right, is the business of who asked.  A library
 * stays loaded for good, because a policy, a workload or a snapshot may still
 * refer to it.
 *
 * What a plug-in is, its file says: a snapshot tells plug-ins of one name apart
 * by its hash.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE /* dladdr, POSIX since 2024 */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <xxhash.h>

#include "library.h"

/* A data pointer to a function, as POSIX allows for dlsym. */
static hd_entry_fn *library_symbol(void *library, const char *name)
{
    void *symbol = dlsym(library, name);
    hd_entry_fn *entry = NULL;

    memcpy(&entry, &symbol, sizeof entry);
    return entry;
}

hd_entry_fn *hd_library_entry(const char *path, const char *entry, char *out,
                              size_t room)
{
    hd_entry_fn *fn;
    void *library;

    if (strchr(path, '/') == NULL) {
        snprintf(out, room,
                 "\"%s\" is not a path; write \"./%s\" for a plug-in in this "
                 "directory",
                 path, path);
        return NULL;
    }
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        snprintf(out, room, "cannot load plug-in %s: %s", path, dlerror());
        return NULL;
    }
    fn = library_symbol(library, entry);
    if (fn == NULL) {
        dlclose(library);
        snprintf(out, room,
                 "%s is not a plug-in of that kind: it does not export %s()",
                 path, entry);
    }
    return fn;
}

bool hd_library_takes(uint32_t abi, uint32_t oldest, uint32_t newest,
                      const char *header, char *out, size_t room)
{
    if (abi > newest)
        snprintf(out, room,
                 "it was built for interface %" PRIu32
                 " of %s, and this heddle "
                 "has %" PRIu32 ": it needs a later heddle",
                 abi, header, newest);
    else if (abi < oldest)
        snprintf(out, room,
                 "it was built for interface %" PRIu32
                 " of %s, and this heddle "
                 "takes none before %" PRIu32 ": build it again",
                 abi, header, oldest);
    return abi >= oldest && abi <= newest;
}

uint64_t hd_library_code(const void *in)
{
    static const char own = 0;
    uint64_t hash = 0, part[2] = {0, 0};
    Dl_info here, there;
    char bytes[4096];
    size_t n;
    FILE *f;

    if (dladdr(in, &there) == 0 || there.dli_fname == NULL ||
        dladdr(&own, &here) == 0 || here.dli_fbase == there.dli_fbase)
        return 0;
    f = fopen(there.dli_fname, "rb");
    if (f == NULL)
        return 0;
    while ((n = fread(bytes, 1, sizeof bytes, f)) > 0) {
        part[0] = hash;
        part[1] = XXH3_64bits(bytes, n);
        hash = XXH3_64bits(part, sizeof part);
    }
    fclose(f);
    return hash;
}
