/*
 * sass.c - the class of an opcode of a trace.
 *
 * The part of the mnemonic before the first dot decides, by the longest prefix
 * in the table (sass.def), from which paper and measurement that says.  Looked
 * up once for each static instruction, and only where a trace is read with
 * classes (H.trace(path, { classes = true })).
 *
 * Left out: what a modifier changes, as IMAD.WIDE, which takes two passes, or
 * MUFU.RCP64H.
 *
 * SPDX-License-Identifier: MIT
 */
#include "text.h"

static const struct sass_row {
    char prefix[15];
    uint8_t klass;
} sass[] = {
#define HD_SASS(prefix, CLASS) {prefix, HEDDLE_CLASS_##CLASS},
#include "sass.def"
#undef HD_SASS
};

uint8_t hd_opcode_class(const char *name, size_t n)
{
    const struct sass_row *best = NULL;
    size_t length = 0, base = 0;

    while (base < n && name[base] != '.')
        base++;
    for (size_t i = 0; i < HD_LEN(sass); i++) {
        size_t of = strlen(sass[i].prefix);

        if (of > length && of <= base &&
            memcmp(name, sass[i].prefix, of) == 0) {
            best = &sass[i];
            length = of;
        }
    }
    if (best == NULL && base > 1 && name[0] == 'U')
        return hd_opcode_class(name + 1, n - 1);
    return best != NULL ? best->klass : HEDDLE_CLASS_UNKNOWN;
}
