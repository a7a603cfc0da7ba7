/*
 * text.h - reading text traces: lines, words, kernels, lists of kernels.
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_TRACE_TEXT_H
#define HD_TRACE_TEXT_H

#include "choose.h"
#include "trace.h"

/* ---- whole lines of a file (in.c) ---------------------------------- */

struct hd_trace_in;

/* Opens a file; `path` is copied.  NULL on error. */
struct hd_trace_in *hd_trace_in_open(const char *path,
                                     struct heddle_error *err);
void hd_trace_in_close(struct hd_trace_in *in);

/*
 * Gives the next stretch of whole lines: [*p, *end), where end[-1] is '\n' and
 * at least 64 bytes past *end can be read.  What lay before is gone.  1, 2
 * where the last line had no end and was given one, 0 at the end of the file,
 * or an error.
 */
int hd_trace_in_more(struct hd_trace_in *in, const char **p, const char **end,
                     struct heddle_error *err);

/* The text of a .tracez, of which fd and path are borrowed (z.c). */
struct hd_tracez;
struct hd_tracez *hd_tracez_open(int fd, const char *path,
                                 struct heddle_error *err);
void hd_tracez_close(struct hd_tracez *z);
/* Appends about so many bytes of text.  1, 0 at the end, or an error. */
int hd_tracez_more(struct hd_tracez *z, struct hd_bytes *out, size_t least,
                   struct heddle_error *err);

/* ---- the words of a line --------------------------------------------------
 *
 * All functions take a position and return the one behind what they read, or
 * NULL when it is not there.  They stop at the end of a line by themselves: the
 * text ends with '\n', which is part of no word.
 */

/* The value of a hexadecimal digit, 16 or more for anything else. */
static inline unsigned hd_hex_digit(unsigned char c)
{
    unsigned d = c - '0', a = (c | 0x20u) - 'a';

    return d < 10 ? d : a < 6 ? a + 10 : 16;
}

/*
 * The hexadecimal digits at p, at most eight, all at once: their number, and
 * their value in *out.  A byte b below 0x80 is at least c iff b + 0x80 - c has
 * bit 7; no sum carries into the next byte.
 */
static inline unsigned hd_scan_nibbles(const char *p, uint64_t *out)
{
    const uint64_t one = 0x0101010101010101ull, top = one * 0x80;
    uint64_t v = hd_load64(p), b = v & ~top, l = b | one * 0x20;
    uint64_t digit = (b + one * 0x50) & ~(b + one * 0x46);
    uint64_t letter = (l + one * 0x1f) & ~(l + one * 0x19) & top;
    uint64_t none = ~((digit | letter) & ~v) & top;
    uint64_t x = (v & one * 0x0f) + (letter >> 7) * 9;
    unsigned n = none != 0 ? (unsigned)__builtin_ctzll(none) / 8 : 8;

    if (n == 0) {
        *out = 0;
        return 0;
    }
    /* the first digit is the highest: gather pairs, then fours */
    x <<= 64 - 8 * n;
    x = (x << 4 | x >> 8) & 0x00ff00ff00ff00ffull;
    x = (x << 8 | x >> 16) & 0x0000ffff0000ffffull;
    *out = (x << 16 | x >> 32) & 0x00000000ffffffffull;
    return n;
}

/* A hexadecimal number of at most 16 digits, with or without 0x. */
static inline const char *hd_scan_hex(const char *p, uint64_t *out)
{
    uint64_t low;

    if (p[0] == '0' && p[1] == 'x')
        p += 2;
    unsigned n = hd_scan_nibbles(p, out);
    p += n;
    if (n != 8)
        return n != 0 ? p : NULL;
    n = hd_scan_nibbles(p, &low);
    *out = *out << 4 * n | low;
    p += n;
    return n == 8 && hd_hex_digit((unsigned char)*p) < 16 ? NULL : p;
}

static inline const char *hd_scan_dec(const char *p, uint64_t *out)
{
    uint64_t v = 0;
    unsigned n = 0;

    for (; *p >= '0' && *p <= '9'; p++, n++) {
        v = v * 10 + (uint64_t)(*p - '0');
        if (n >= 18)
            return NULL;
    }
    *out = v;
    return n != 0 ? p : NULL;
}

static inline const char *hd_scan_signed(const char *p, int64_t *out)
{
    bool minus = *p == '-';
    uint64_t v;

    p = hd_scan_dec(p + minus, &v);
    if (p != NULL)
        *out = minus ? -(int64_t)v : (int64_t)v;
    return p;
}

/* One blank or more. */
static inline const char *hd_scan_blank(const char *p)
{
    if (*p != ' ' && *p != '\t')
        return NULL;
    do
        p++;
    while (*p == ' ' || *p == '\t');
    return p;
}

static inline const char *hd_skip_blank(const char *p)
{
    while (*p == ' ' || *p == '\t' || *p == '\r')
        p++;
    return p;
}

/* What follows the block's x, y, z and the warp that a raw trace, and one of
 * tracers before version 3, has before an instruction. */
static inline const char *hd_scan_prefix(const char *p)
{
    uint64_t v;

    for (unsigned i = 0; i < 4 && p != NULL; i++) {
        p = hd_scan_dec(p, &v);
        p = p != NULL ? hd_scan_blank(p) : NULL;
    }
    return p;
}

/* The end of a word. */
static inline const char *hd_scan_word(const char *p)
{
    const char *from = p;

    while (*p != ' ' && *p != '\t' && *p != '\n' && *p != '\r')
        p++;
    return p != from ? p : NULL;
}

/* Is `word` here?  Returns what follows it.  64 bytes can be read. */
static inline const char *hd_scan_is(const char *p, const char *word)
{
    size_t n = strlen(word);

    return memcmp(p, word, n) == 0 ? p + n : NULL;
}

/* n bytes are the same; both may be read 8 bytes past n. */
static inline bool hd_scan_same(const char *a, const char *b, unsigned n)
{
    uint64_t x, y;

    for (; n > 8; n -= 8, a += 8, b += 8) {
        memcpy(&x, a, 8);
        memcpy(&y, b, 8);
        if (x != y)
            return false;
    }
    x = hd_load64(a);
    y = hd_load64(b);
    return n == 0 || (x ^ y) << (64 - 8 * n) == 0;
}

/* Where the line ends. */
static inline const char *hd_scan_line_end(const char *p)
{
    while (*p != '\n')
        p++;
    return p;
}

/* ---- opcodes (line.c) ---------------------------------------------- */

enum hd_opcode_where {
    HD_OW_NONE,    /* no memory that a GPU's virtual memory sees */
    HD_OW_UNKNOWN, /* an opcode that is not known: as NONE */
    HD_OW_GLOBAL,
    HD_OW_GENERIC, /* the address decides */
    HD_OW_LOCAL,
    HD_OW_SHARED,
    HD_OW_STAGED, /* LDGSTS: global to shared */
    HD_OW_TMA     /* bulk copies with a list of addresses */
};

struct hd_opcode {
    uint8_t where; /* enum hd_opcode_where */
    uint8_t kind;  /* enum heddle_op */
    uint8_t bytes; /* a lane, from the name; 0: the width field tells */
    bool exit, replay;
    bool gmma;    /* has a commit flag before the width (version 6) */
    bool collect; /* waits for asynchronous copies */
    bool async;   /* nothing but `collect` waits for it */
    uint8_t klass; /* enum heddle_class, where the container has classes */
};

/* Reads an opcode of n characters, for example "LDG.E.128.SYS". */
void hd_opcode_read(const char *name, size_t n, struct hd_opcode *out);
/* Its class, enum heddle_class (sass.c). */
uint8_t hd_opcode_class(const char *name, size_t n);

/* ---- instructions -------------------------------------------------------- */

enum {
    HD_TREG_UNIFORM = 256, /* UR0 */
    HD_TREG_PRED = 512,    /* P0 */
    HD_TREG_UPRED = 528,   /* UP0 */
    HD_TREGS = 544,
    HD_TINST_REGS = 24
};

/* What the lines of one static instruction have in common. */
struct hd_trace_inst {
    struct hd_opcode op;
    uint8_t bytes;
    uint8_t dsts, regs; /* reg[0 .. dsts) are written, the rest read */
    uint8_t each;       /* registers that a written one stands for: of 64 bits
                           and more a lane, all that hold them */
    uint16_t reg[HD_TINST_REGS];
    uint32_t pc;
    uint32_t opcode; /* string of the container */
};

struct hd_lines; /* what was learnt from the lines of a kernel so far */

/* An instruction as executed. */
struct hd_line {
    const struct hd_trace_inst *inst; /* until the next line */
    uint64_t mask;
    bool addressed; /* the fields below hold */
    bool bulk;      /* a list of any length, not by lane (TMA) */
    bool affine;    /* lane addresses first + (lane - f) * stride */
    bool odd;       /* the address mode does not fit the mask */
    uint64_t first;
    int64_t stride;
    uint32_t n;
    const uint64_t *addr; /* [n], one for each set lane; until the next line */
    uint64_t bytes;       /* bulk: of the whole transfer */
};

/* A scanner whose opcodes become strings of `container`. */
struct hd_lines *hd_lines_new(struct hd_container *container);
void hd_lines_free(struct hd_lines *c);
/* A new kernel: tracer version, and whether lines begin with a line number. */
void hd_lines_kernel(struct hd_lines *c, uint32_t version, bool lineinfo);
/* A new warp begins. */
void hd_lines_warp(struct hd_lines *c);
/* What is read next follows the instruction at pc. */
void hd_lines_after(struct hd_lines *c, uint32_t pc);

/*
 * Reads the line at p, which ends with '\n' and has 64 bytes of anything
 * behind it.  Returns what follows the line, or NULL: hd_lines_error says
 * what was expected.
 */
const char *hd_lines_read(struct hd_lines *c, const char *p,
                          struct hd_line *out);
/* How many registers the kernel's instructions name, so far. */
uint32_t hd_lines_registers(const struct hd_lines *c);
/* A list that is affine after all becomes so: one form for one access. */
void hd_line_affine(struct hd_line *l);
/* What was expected. */
const struct heddle_error *hd_lines_error(const struct hd_lines *c);

/* ---- kernels (text.c) ---------------------------------------------- */

struct hd_trace_text;

/* A reader that adds kernels to `container`, of which it reads the blocks that
 * `choice` has.  NULL: out of memory. */
struct hd_trace_text *hd_trace_text_new(struct hd_container *container,
                                        const struct hd_choice *choice);
void hd_trace_text_free(struct hd_trace_text *t);

/*
 * Reads the kernel in `path` (.traceg, .traceg.xz, .tracez) as the next of the
 * last address space of the container; what it touches is added to `pages`.
 */
int hd_trace_text_kernel(struct hd_trace_text *t, const char *path,
                         struct hd_pages *pages, struct heddle_error *err);

/* The name in the header of the kernel in `path`, for free(); NULL: an error.  */
char *hd_trace_text_name(const char *path, struct heddle_error *err);

/* Threads of an address space touch words [least, most) of their windows, which
 * the trace saw at `base`. */
void hd_trace_local(struct hd_trace_context *x, uint64_t least, uint64_t most,
                    uint64_t base);

/* Counts a note of an address space; `line` 0: the file as a whole. */
void hd_trace_note(struct hd_trace_context *x, enum hd_trace_note n,
                   const char *path, uint64_t line);

/* ---- lists and paths (list.c) -------------------------------------- */

enum hd_trace_form {
    HD_TF_CONTAINER, /* heddle's container */
    HD_TF_KERNEL,    /* one .traceg, .traceg.xz or .tracez */
    HD_TF_LISTS      /* kernelslist.g, or a directory of such */
};

struct hd_trace_input {
    enum hd_trace_form form;
    char **path; /* the file, or the lists: one an address space */
    size_t n, room;
};

/* Finds out what `path` is. */
int hd_trace_input_open(const char *path, struct hd_trace_input *in,
                        struct heddle_error *err);
void hd_trace_input_free(struct hd_trace_input *in);

/* Reads what is chosen of the text of address space `context`, or of all of them
 * if it is HD_NONE, into an empty container and finishes that. */
int hd_trace_load(const struct hd_trace_input *in, uint32_t context,
                  struct hd_choice *choice, struct hd_container *container,
                  struct heddle_error *err);

#endif
