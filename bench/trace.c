/*
 * bench/trace - how fast traces are read: text in MB/s, and replay from text
 * and from the container in warp instructions a second, without a machine.
 *
 *     bench/trace [TRACE...]      kernelslist.g, .traceg[.xz] or .hdt
 *
 * Without one it writes two of its own: a streaming kernel, whose lines are
 * short and alike, and random gathers of 32 addresses a line.
 * Times are of the processor, so a busy machine disturbs little.
 * "text" is decompression, parsing and packing together; "replay" asks the
 * source for every instruction and every address.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/rng.h"
#include "heddle_trace.h"
#include "heddle_walk.h"
#include "load/trace-in.h"
#include "load/trace-list.h"

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int touch(void *ud, const struct heddle_walk_op *op)
{
    uint64_t *sum = ud;

    *sum += op->count;
    return 0;
}

/* Seconds of the best of five runs to load the text. */
static double load_text(const char *path, uint64_t *bytes)
{
    double best = 1e9;

    for (int i = 0; i < 5; i++) {
        struct hd_trace_input in;
        struct hd_err err = {0};
        double from = now();
        struct hd_box *box = hd_box_memory(1ull << 30, &err);
        if (hd_trace_input_open(path, &in, &err) != 0 ||
            hd_trace_load(&in, HD_NONE, box, bytes, &err) != 0) {
            fprintf(stderr, "%s\n", err.text);
            exit(1);
        }
        double took = now() - from;
        best = took < best ? took : best;
        hd_trace_input_free(&in);
        hd_box_free(box);
    }
    return best;
}

/* Seconds to read and decompress alone. */
static double read_only(const char *path)
{
    struct hd_err err = {0};
    const char *p, *end;
    double from = now();
    struct hd_trace_in *in = hd_trace_in_open(path, &err);

    while (hd_trace_in_more(in, &p, &end, &err) > 0)
        ;
    hd_trace_in_close(in);
    return now() - from;
}

static void replay(const char *what, const char *path)
{
    char text[1024];
    int status;
    double from = now();
    heddle_workload *w =
        heddle_trace_open(path, NULL, &status, text, sizeof text);
    uint64_t n = 0;

    if (w == NULL || heddle_walk(w, NULL, touch, &n, text, sizeof text) != 0) {
        fprintf(stderr, "%s\n", text);
        exit(1);
    }
    double took = now() - from;
    heddle_workload_free(w);
    printf("  replay %-9s %8.2f M warp instructions/s (%llu in %.1f ms)\n",
           what, (double)n / took * 1e-6, (unsigned long long)n, took * 1e3);
}

static void one(const char *path)
{
    struct hd_trace_input in;
    struct hd_err err = {0};
    char out[64], text[1024];
    uint64_t bytes = 0;

    if (hd_trace_input_open(path, &in, &err) != 0) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    printf("%s\n", path);
    if (in.form == HD_TF_BOX) {
        replay("container", path);
        hd_trace_input_free(&in);
        return;
    }
    double took = load_text(path, &bytes);
    double mb = (double)bytes * 1e-6;
    printf("  text             %8.0f MB/s (%.1f MB in %.1f ms)\n", mb / took,
           mb, took * 1e3);
    if (in.form == HD_TF_KERNEL) {
        double read = read_only(path);
        printf("  parsing alone    %8.0f MB/s (reading takes %.1f ms)\n",
               mb / (took - read), read * 1e3);
    }
    hd_trace_input_free(&in);
    replay("text", path);
    snprintf(out, sizeof out, "/tmp/heddle-bench-%ld.hdt", (long)getpid());
    double from = now();
    if (heddle_trace_convert(path, out, text, sizeof text) != 0) {
        fprintf(stderr, "%s\n", text);
        exit(1);
    }
    FILE *f = fopen(out, "rb");
    fseek(f, 0, SEEK_END);
    printf("  container        %8ld bytes, written in %.1f ms\n", ftell(f),
           (now() - from) * 1e3);
    fclose(f);
    replay("container", out);
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
    one(path);
    unlink(path);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        one(argv[i]);
    if (argc > 1)
        return 0;
    own("stream", 8000, false);
    own("gather", 1000, true);
    return 0;
}
