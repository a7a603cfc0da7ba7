/*
 * trace.c - how fast traces are read, without a machine.
 *
 *     build/release/bench/trace [TRACE ...]      .traceg[.xz] or .hdt
 *
 * Without one it writes two of its own: a streaming kernel, whose lines are
 * short and alike, and random gathers of 32 addresses a line.  A trace is named
 * by the directory that it is in.
 *
 *   parse.NAME        text from a plain file, parsed and packed
 *   text.NAME         the same with decompression
 *   replay.text.NAME  and every instruction and every address asked for
 *   replay.box.NAME   the same from heddle's container
 *
 * The best of several runs, by the clock: text is unpacked by a thread of its
 * own.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "kit/rng.h"
#include "heddle_trace.h"
#include "heddle_survey.h"
#include "trace/text.h"

static int touch(void *ud, const struct heddle_each_op *op)
{
    uint64_t *sum = ud;

    *sum += op->count;
    return 0;
}

static void fail(const char *text)
{
    fprintf(stderr, "%s\n", text);
    exit(1);
}

static void row(const char *what, const char *name, double value,
                const char *unit, double took)
{
    char id[64];

    snprintf(id, sizeof id, "%s.%s", what, name);
    printf("%-22s %10.3f  %-18s %.1f ms\n", id, value, unit, took * 1e3);
}

/* Seconds of the best of seven runs to load the text. */
static double load_text(const char *path)
{
    double best = 1e9;

    for (int i = 0; i < 7; i++) {
        struct hd_trace_input in;
        struct heddle_error err = {0};
        double from = wall_seconds();
        struct hd_container *box = hd_container_memory(1ull << 30, &err);
        if (hd_trace_input_open(path, &in, &err) != 0 ||
            hd_trace_load(&in, HD_NONE, box, &err) != 0)
            fail(err.text);
        double took = wall_seconds() - from;
        best = took < best ? took : best;
        hd_trace_input_free(&in);
        hd_container_free(box);
    }
    return best;
}

/* Copies a text, decompressed, to a file; its bytes. */
static uint64_t plain(const char *path, const char *to)
{
    uint64_t bytes = 0;
    struct heddle_error err = {0};
    const char *p, *end;
    struct hd_trace_in *in = hd_trace_in_open(path, &err);
    FILE *f = fopen(to, "wb");
    int more = -1;

    while (in != NULL && f != NULL &&
           (more = hd_trace_in_more(in, &p, &end, &err)) > 0) {
        if (fwrite(p, (size_t)(end - p), 1, f) != 1)
            break;
        bytes += (size_t)(end - p);
    }
    if (more != 0 || fclose(f) != 0)
        fail(err.code != 0 ? err.text : to);
    hd_trace_in_close(in);
    return bytes;
}

static void replay(const char *what, const char *name, const char *path)
{
    char text[1024];
    double best = 1e9;
    uint64_t n = 0;

    for (int i = 0; i < 3; i++) {
        struct heddle_error error;
        double from = wall_seconds();
        heddle_workload *w =
            heddle_trace_open(path, NULL, &error);
        n = 0;
        if (w == NULL)
            fail(error.text);
        if (heddle_each(w, NULL, touch, &n, text, sizeof text))
            fail(text);
        double took = wall_seconds() - from;
        best = took < best ? took : best;
        heddle_workload_free(w);
    }
    row(what, name, (double)n / best * 1e-6, "M warp instr/s", best);
}

/* The directory that a file is in, without what is above. */
static void name_of(const char *path, char *name, size_t room)
{
    const char *end = strrchr(path, '/'), *from = end;

    while (from != NULL && from > path && from[-1] != '/')
        from--;
    snprintf(name, room, "%.*s", from != NULL ? (int)(end - from) : 0,
             from != NULL ? from : "");
}

static void one(const char *path, const char *name)
{
    struct hd_trace_input in;
    struct heddle_error err = {0};
    char out[64], text[1024];
    uint64_t bytes;

    if (hd_trace_input_open(path, &in, &err) != 0)
        fail(err.text);
    bool box = in.form == HD_TF_CONTAINER;
    hd_trace_input_free(&in);
    if (box) {
        replay("replay.box", name, path);
        return;
    }
    snprintf(out, sizeof out, "/tmp/heddle-bench-%ld", (long)getpid());
    bytes = plain(path, out);
    double took = load_text(out);
    row("parse", name, (double)bytes * 1e-6 / took, "MB/s", took);
    unlink(out);
    took = load_text(path);
    row("text", name, (double)bytes * 1e-6 / took, "MB/s", took);
    replay("replay.text", name, path);
    if (heddle_trace_convert(path, out, text, sizeof text) != 0)
        fail(text);
    replay("replay.box", name, out);
    unlink(out);
}

static void header(FILE *f, const char *name, unsigned blocks)
{
    fprintf(f,
            "-kernel name = %s\n-kernel id = 1\n-grid dim = (%u,1,1)\n"
            "-block dim = (256,1,1)\n-nregs = 16\n"
            "-shmem base_addr = 0x00007f0000000000\n"
            "-local mem base_addr = 0x00007f1000000000\n"
            "-accelsim tracer version = 4\n\n#traces format = x\n\n",
            name, blocks);
}

static void alu(FILE *f, unsigned from, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        fprintf(f, "%04x ffffffff 1 R%u IMAD.WIDE 3 R6 R7 R255 0 0\n",
                from + i * 16, 20 + i);
}

static void stream(FILE *f, uint64_t warp)
{
    alu(f, 0, 8);
    fprintf(f,
            "0090 ffffffff 1 R2 LDG.E.SYS 1 R2 4 1 0x%llx 4 0\n"
            "00a0 ffffffff 1 R5 LDG.E.SYS 1 R4 4 1 0x%llx 4 0\n"
            "00c0 ffffffff 1 R9 FADD 2 R2 R5 0 0\n"
            "00d0 ffffffff 0 STG.E.SYS 2 R8 R9 4 1 0x%llx 4 0\n"
            "00e0 ffffffff 0 EXIT 0 0 0\n\n",
            0x7f2000000000ull + warp * 128, 0x7f2010000000ull + warp * 128,
            0x7f2020000000ull + warp * 128);
}

static void gather(FILE *f, struct hd_rng *r)
{
    alu(f, 0, 3);
    for (unsigned i = 0; i < 4; i++) {
        fprintf(f, "0090 ffffffff 1 R11 LDG.E.SYS 1 R12 4 0");
        for (unsigned l = 0; l < 32; l++)
            fprintf(f, " 0x%llx",
                    0x7f2000400000 +
                        (unsigned long long)(hd_rng_next(r) >> 38) * 4);
        fprintf(f, " 0\n00c0 ffffffff 1 R9 FADD 2 R11 R9 0 0\n");
    }
    fprintf(f, "00e0 ffffffff 0 EXIT 0 0 0\n\n");
}

/* Writes and measures a trace of `blocks` blocks. */
static void own(const char *name, unsigned blocks, bool random)
{
    struct hd_rng r = hd_rng_make(1, 1);
    char path[64];

    snprintf(path, sizeof path, "/tmp/heddle-%s-%ld.traceg", name,
             (long)getpid());
    FILE *f = fopen(path, "w");
    if (f == NULL) {
        perror(path);
        exit(1);
    }
    header(f, name, blocks);
    for (unsigned b = 0; b < blocks; b++) {
        fprintf(f, "#BEGIN_TB\n\nthread block = %u,0,0\n\n", b);
        for (unsigned w = 0; w < 8; w++) {
            fprintf(f, "warp = %u\ninsts = %d\n", w, random ? 12 : 13);
            if (random)
                gather(f, &r);
            else
                stream(f, b * 8 + w);
        }
        fprintf(f, "#END_TB\n\n");
    }
    fclose(f);
    one(path, name);
    unlink(path);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        char name[64];
        name_of(argv[i], name, sizeof name);
        one(argv[i], name);
    }
    if (argc > 1)
        return 0;
    own("stream", 8000, false);
    own("gather", 1000, true);
    return 0;
}
