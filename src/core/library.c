/*
 * library.c - shared objects that a user names: plug-ins.
 *
 * A plug-in exports one function, which returns a const struct; what kind of
 * struct, and whether it is right, is the business of who asked.  A library
 * stays loaded for good, because a policy, a workload or a snapshot may still
 * refer to it.
 *
 * SPDX-License-Identifier: MIT
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "library.h"

/* A data pointer to a function, as POSIX allows for dlsym. */
static hd_entry_fn *find(void *library, const char *name)
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
    fn = find(library, entry);
    if (fn == NULL) {
        dlclose(library);
        snprintf(out, room,
                 "%s is not a plug-in of that kind: it does not export %s()",
                 path, entry);
    }
    return fn;
}
