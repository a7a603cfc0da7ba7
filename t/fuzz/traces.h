/*
 * traces.h - fuzz targets: traces, from their text down to a frame's bytes.
 *
 * trace: the text of one kernel.
 * xz: the same behind a decoder: run() packs it, into streams, blocks and
 * checks that the first byte chooses, and it must read as the text does; or
 * damages what it has packed, where the first bit is set.
 * tracez: the bytes of a .tracez.
 * list: kernelslist.g, with a kernel beside it.
 * container: index and frames; run() puts right what the index says of
 * their hashes, and the header, as a hostile writer would.
 * frame, index: the bytes alone.
 *
 * choice: a choice of kernels, a line, and one of blocks, of a text and of its
 * container, which come to the same.
 *
 * Whatever opens is verified and replayed, and opened with a choice, too.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef T_FUZZ_TRACES_H
#define T_FUZZ_TRACES_H

#include "fuzz.h"

#include <lzma.h>
#include <xxhash.h>

#include "trace/trace.h"
#include "../tracez.h"

static const char trace_text[] =
    "-kernel name = k\n-kernel id = 1\n-grid dim = (4,2,1)\n"
    "-block dim = (64,1,1)\n-shmem = 0\n-nregs = 16\n-binary version = 90\n"
    "-cuda stream id = 0\n-shmem base_addr = 0x00007f0000000000\n"
    "-local mem base_addr = 0x00007f1000000000\n-nvbit version = 1.5.5\n"
    "-accelsim tracer version = 6\n-enable lineinfo = 0\n\n"
    "#traces format = x\n\n#BEGIN_TB\n\nthread block = 1,0,0\n"
    "cluster id = 0,0,0\n\nwarp = 0\ninsts = 8\n"
    "0000 ffffffff 1 R1 IMAD.MOV.U32 2 R255 R255 0 0 NoVal\n"
    "0010 0000ffff 1 R2 LDG.E.128.SYS 1 R2 16 1 0x7f2000000000 16 0\n"
    "0020 000000f1 1 R5 LD.E 1 R4 4 0 0x7f2000000000 0x7f0000000010 "
    "0x7f1000000010 0x10 0x20 0\n"
    "0030 00000007 0 STL 2 R8 R9 4 2 0x7f1000000000 4 -4 0 0 Val 1 0 1 5\n"
    "0040 00000001 0 UTMALDG.2D 2 UR4 UR8 0 0x400 0 256 0 4 0x1000 2 64 0\n"
    "0050 ffffffff 0 LDGSTS.E 2 R8 R9 4 1 0x7f0000000000 4 0\n"
    "0050 ffffffff 0 LDGSTS.E 2 R8 R9 4 1 0x7f2000000000 4 0\n"
    "0060 ffffffff 0 EXIT 0 0 0\n\nwarp = 1\ninsts = 2\n"
    "0000 0000000f 0 BAR.SYNC 0 0 0\n0060 0000000f 0 EXIT 0 0 0\n\n#END_TB\n";

static const char *const trace_words[] = {" ",
                                          "\n",
                                          "0",
                                          "-1",
                                          "4294967296",
                                          "99999999999999999999",
                                          "0x",
                                          "ffffffff",
                                          "R300",
                                          "UR",
                                          "1 ",
                                          "#END_TB\n",
                                          "warp = 63\n",
                                          "insts = 1\n",
                                          "#BEGIN_TB\n",
                                          "LDG.E.",
                                          "0xffffffffffff ",
                                          "Val",
                                          "REPLAY_START",
                                          "thread block = 0,0,0\n",
                                          "",
                                          "\r",
                                          "UTMAPF",
                                          " # a comment\n",
                                          "0 0 0 0 0010 ffffffff",
                                          "-nregs = 300\n",
                                          ".256",
                                          "\x1f\x8b",
                                          NULL};

/* Local memory may find no place beside addresses up to 2^48: in words. */
static bool trace_binds(heddle_workload *w)
{
    struct hd_source *s = hd_workload_source(w);
    struct hd_arena arena;
    struct heddle_error err = {0};
    struct hd_env env = {.arena = &arena, .err = &err, .apps = 1};

    assert_int_equal(hd_arena_open(&arena, 1 << 26), 0);
    int r = s->ops->bind(s->self, &env, 0, 32, 64);
    if (r == 0)
        s->ops->unbind(s->self);
    else
        assert_true(r == HEDDLE_EDATA && strstr(err.text, "no place") != NULL);
    hd_arena_close(&arena);
    return r == 0;
}

/* Some of a file that opens whole: it may have none of it. */
static void trace_try_some(const char *path)
{
    static const struct heddle_trace_options some = {
        .kernels = "1,k", .blocks = "0-3", .times = 2, .repair = 1};
    int status = 0;
    heddle_workload *w = trace_open(path, &some, &status, kit.text, 1024);

    assert_true(w != NULL || (status < 0 && kit.text[0] != '\0'));
    if (w != NULL && heddle_trace_verify(w, kit.text, 1024) == 0 &&
        trace_binds(w))
        kit_ops(&kit, w);
    heddle_workload_free(w);
}

/* Opens a file and replays what opens; its hash, or 0. */
static uint64_t trace_try(const char *path)
{
    struct heddle_trace_info info;
    int status = 0;

    kit.text[0] = '\0';
    heddle_workload *w = trace_open(path, NULL, &status, kit.text, 1024);
    if (w == NULL) {
        assert_true(status < 0);
        assert_true(kit.text[0] != '\0');
        return 0;
    }
    assert_int_equal(heddle_trace_info(w, &info), 0);
    if (heddle_trace_verify(w, kit.text, 1024) == 0 && trace_binds(w))
        kit_ops(&kit, w);
    heddle_workload_free(w);
    trace_try_some(path);
    return info.hash + (info.hash == 0);
}

static bool trace_run(const uint8_t *p, size_t n)
{
    return trace_try(kit_write_n(&kit, "fuzz.traceg", p, n)) != 0;
}

static void trace_seeds(fuzz_put *put)
{
    char *old = kit_kernel(3, 64,
                           "warp = 0\ninsts = 2\n"
                           "0000 0000000f 1 R2 LDG.E 1 R4 4 1 0x1000 4\n"
                           "0020 ffffffff 0 EXIT 0 0\nwarp = 1\ninsts = 0\n");

    put(trace_text, sizeof trace_text - 1);
    put(old, strlen(old));
    free(old);
}

/* ---- behind the .xz decoder ---------------------------------------------- */

static size_t xz_stream(const uint8_t *p, size_t n, lzma_check check,
                        size_t block, uint8_t *out, size_t room)
{
    lzma_options_lzma o;
    lzma_filter filter[] = {{LZMA_FILTER_LZMA2, &o}, {LZMA_VLI_UNKNOWN, NULL}};
    lzma_stream z = LZMA_STREAM_INIT;

    lzma_lzma_preset(&o, 0);
    o.dict_size = 4096;
    assert_int_equal(lzma_stream_encoder(&z, filter, check), LZMA_OK);
    z.next_out = out;
    z.avail_out = room;
    for (size_t at = 0; at < n; at += block) {
        z.next_in = p + at;
        z.avail_in = n - at < block ? n - at : block;
        while (lzma_code(&z, LZMA_FULL_FLUSH) == LZMA_OK)
            ;
    }
    z.avail_in = 0;
    assert_int_equal(lzma_code(&z, LZMA_FINISH), LZMA_STREAM_END);
    lzma_end(&z);
    return room - z.avail_out;
}

static bool xz_run(const uint8_t *p, size_t n)
{
    static const lzma_check checks[] = {LZMA_CHECK_NONE, LZMA_CHECK_CRC32,
                                        LZMA_CHECK_CRC64, LZMA_CHECK_SHA256};
    static uint8_t out[8 * FUZZ_ROOM];
    uint8_t how = n != 0 ? p[0] : 0;
    size_t first, did;
    uint64_t plain, packed;

    if (n < 2 || n > FUZZ_ROOM)
        return false;
    p++;
    n--;
    plain = trace_try(kit_write_n(&kit, "fuzz.traceg", p, n));
    first = how & 4 ? n / 2 : n;
    did =
        xz_stream(p, first, checks[how & 3], how & 8 ? 97 : n, out, sizeof out);
    if (how & 4)
        did += xz_stream(p + first, n - first, checks[how >> 4 & 3], n,
                         out + did, sizeof out - did);
    if (how & 0x80) {
        struct hd_rng r = hd_rng_make(n, how);
        for (uint32_t k = 1 + (how >> 4 & 3); k != 0; k--)
            did = fuzz_change(out, did, sizeof out, NULL, &r);
    }
    packed = trace_try(kit_write_n(&kit, "fuzz.traceg.xz", out, did));
    if (!(how & 0x80) && memcmp(p,
                                "\xfd"
                                "7zX",
                                n < 4 ? n : 4) != 0)
        assert_true(plain == packed);
    return packed != 0;
}

static void xz_seeds(fuzz_put *put)
{
    char text[sizeof trace_text + 1];

    memcpy(text + 1, trace_text, sizeof trace_text - 1);
    for (int how = 0; how < 256; how += 37) {
        text[0] = (char)how;
        put(text, sizeof trace_text);
    }
}

/* ---- .tracez ------------------------------------------------------------- */

static bool tracez_run(const uint8_t *p, size_t n)
{
    return trace_try(kit_write_n(&kit, "fuzz.tracez", p, n)) != 0;
}

static void tracez_seeds(fuzz_put *put)
{
    for (uint32_t chunk = 1; chunk < 10; chunk += 7) {
        struct hd_bytes z = {0};
        tracez_make(trace_text, sizeof trace_text - 1, chunk, chunk > 1, &z);
        put(z.p, z.n);
        hd_bytes_free(&z);
    }
}

/* ---- kernelslist.g ------------------------------------------------------- */

static bool list_run(const uint8_t *p, size_t n)
{
    kit_write_n(&kit, "kernel-1.traceg", trace_text, sizeof trace_text - 1);
    return trace_try(kit_write_n(&kit, "kernelslist.g", p, n)) != 0;
}

static void list_seeds(fuzz_put *put)
{
    static const char text[] =
        "MemcpyHtoD,0x0000000000001000,4096\n"
        "cudaMalloc,0x0000000000200000,65536\nkernel-1.traceg\n"
        "MemcpyHtoD,0x0000000000200000,4096\nkernel-1.traceg\n";

    put(text, sizeof text - 1);
}

static const char *const list_words[] = {
    "MemcpyHtoD,",     "cudaMalloc,",          "0x", ",4096\n", "\n",
    "kernel-1.traceg", "0xffffffffffffffff",   "/",  "..",      "kernel-2",
    "cudaFree,",       "18446744073709551615", NULL};

/* ---- containers ---------------------------------------------------------- */

/* The container of trace_text, opened. */
static struct hd_container *container_of_text(void)
{
    struct heddle_error err = {0};
    char out[160];
    struct hd_container *b;

    kit_write_n(&kit, "seed.traceg", trace_text, sizeof trace_text - 1);
    snprintf(out, sizeof out, "%s/seed.hdt", kit.dir);
    assert_int_equal(heddle_trace_convert(kit.path, out, kit.text, 1024), 0);
    b = hd_container_open(out, &err);
    assert_non_null(b);
    return b;
}

/* Input: what kernels= and blocks= say, two lines. */
static bool choice_run(const uint8_t *p, size_t n)
{
    struct heddle_trace_options o = {0};
    char *text = malloc(n + 1), path[160];
    heddle_workload *w[2];
    int status[2] = {0};

    assert_non_null(text);
    memcpy(text, p, n);
    text[n] = '\0';
    for (char *q = text; *q != '\0'; q++) /* repeats take what they are given */
        *q = *q == '{' ? '[' : *q;
    o.kernels = text;
    char *line = strchr(text, '\n');
    if (line != NULL) {
        *line = '\0';
        o.blocks = line + 1;
    }
    hd_container_free(container_of_text());
    snprintf(path, sizeof path, "%s/seed.hdt", kit.dir);
    w[0] = trace_open(path, &o, &status[0], kit.text, 1024);
    w[1] = trace_open(kit_file(&kit, "seed.traceg"), &o, &status[1], kit.text,
                      1024);
    bool good = w[0] != NULL;
    assert_true(good == (w[1] != NULL) && status[0] == status[1]);
    assert_true(good || kit.text[0] != '\0');
    for (int i = 0; i < 2; i++)
        heddle_workload_free(w[i]);
    free(text);
    return good;
}

static void choice_seeds(fuzz_put *put)
{
    put("1\n1-2", 5);
    put("1-,k|[a-z]+,^k$\n4", 17);
}

static const char *const choice_words[] = {",", "-", "\n", "1-", "(",  ")", "[",
                                           "]", "*", "|",  ".",  "\\", NULL};

/* Input: bytes of the index, 4; the index; plain frames. */
static bool container_run(const uint8_t *p, size_t n)
{
    static const unsigned char begin[16] = {
        0x89, 'h', 'd', 't', '\r', '\n', 0x1a, '\n', HD_CONTAINER_VERSION};
    struct hd_bytes index = {0}, file = {0};
    struct heddle_error err = {0};
    unsigned char head[64] = {0};
    struct hd_container *b = hd_container_memory(1, &err);

    assert_non_null(b);
    b->version = HD_CONTAINER_VERSION;
    if (n < 4)
        p = (const uint8_t *)"\0\0\0", n = 4;
    size_t bytes = (p[0] | (size_t)p[1] << 8) % (n - 3);
    const uint8_t *frames = p + 4 + bytes;
    size_t rest = n - 4 - bytes;
    unsigned char *q = fuzz_copy(p + 4, bytes);

    if (hd_index_read(b, q, bytes, 64, 64 + rest) == NULL) {
        for (size_t i = 0; i < b->frames; i++) {
            struct hd_container_frame *f = &b->frame[i];
            if (f->stored == f->raw)
                f->hash = XXH3_64bits(frames + (f->at - 64), f->raw);
        }
        hd_index_write(b, &index);
    } else {
        hd_bytes_add(&index, q, bytes);
    }
    memcpy(head, begin, sizeof begin);
    hd_store64(head + 16, 64 + rest);
    hd_store64(head + 24, index.n);
    hd_store64(head + 32, index.n);
    hd_store64(head + 40, XXH3_64bits(index.p, index.n));
    hd_store64(head + 56, XXH3_64bits(head, 56));
    hd_bytes_add(&file, head, sizeof head);
    hd_bytes_add(&file, frames, rest);
    hd_bytes_add(&file, index.p, index.n);
    bool opened = trace_try(kit_write_n(&kit, "fuzz.hdt", file.p, file.n)) != 0;
    hd_bytes_free(&file);
    hd_bytes_free(&index);
    free(q);
    hd_container_free(b);
    return opened;
}

/* Calls of a host at the last kernel, of memory that there is. */
static void fuzz_calls(struct hd_container *b)
{
    struct hd_trace_call c = {.hint = {.what = HEDDLE_MOVE_TO_GPU}};
    struct heddle_error err = {0};

    if (b->context[0].allocs == 0)
        hd_container_alloc(b, 0, "x", 0x7f0000000000, 1 << 20, &err);
    c.hint.offset = c.hint.bytes = 4096;
    hd_container_call(b, &c, &err);
    c = (struct hd_trace_call){.hint = {.what = HD_HINT_ADVICE, .set = 4},
                               .beside = true};
    hd_container_call(b, &c, &err);
    for (c.hint.what = HD_HINT_GONE; c.hint.what <= HD_HINT_WAIT; c.hint.what++)
        hd_container_call(b, &c, &err);
    assert_int_equal(err.code, 0);
}

static void container_seeds(fuzz_put *put)
{
    struct hd_container *b = container_of_text();
    struct hd_bytes index = {0}, out = {0};
    struct heddle_error err = {0};
    unsigned char head[4];

    for (size_t i = 0; i < b->frames; i++)
        b->frame[i].stored = b->frame[i].raw;
    fuzz_calls(b);
    hd_index_write(b, &index);
    head[0] = (unsigned char)index.n;
    head[1] = (unsigned char)(index.n >> 8);
    head[2] = head[3] = 0;
    hd_bytes_add(&out, head, 4);
    hd_bytes_add(&out, index.p, index.n);
    hd_container_free(b);
    b = container_of_text();
    for (size_t i = 0; i < b->frames; i++) {
        const unsigned char *p = hd_container_get(b, i, 1 << 20, &err);
        assert_non_null(p);
        hd_bytes_add(&out, p, b->frame[i].raw);
    }
    put(out.p, out.n);
    hd_bytes_free(&out);
    hd_bytes_free(&index);
    hd_container_free(b);
}

/* All addresses of a frame. */
static void frame_addresses(const struct hd_frame *f)
{
    hd_va lane[HD_MAX_LANES];
    struct hd_access a;

    for (uint32_t w = 0; w < f->blocks * f->warps; w++)
        for (const struct hd_frame_op *o = f->op + f->start[w];; o++) {
            const struct hd_trace_op *t = hd_frame_record(f, o);
            if (t->kind == HEDDLE_OP_EXIT)
                break;
            if (!hd_trace_op_memory(t))
                continue;
            hd_frame_addr(f, o, &a, lane);
            for (uint64_t m = t->mask; m != 0; m &= m - 1)
                assert_true(hd_access_lane(&a, hd_bit_first(m)) <
                            HD_TRACE_VA_END);
        }
}

/* The first byte: lanes and warps. */
static bool frame_run(const uint8_t *p, size_t n)
{
    const char *what = NULL;
    uint8_t how = n != 0 ? p[0] : 0;
    unsigned char *q = fuzz_copy(p + (n != 0), n - (n != 0));
    struct hd_unpack *u = hd_unpack_new();
    struct hd_frame *f =
        hd_frame_unpack(u, q, n - (n != 0), how & 1 ? 64 : 32,
                        1 + (how >> 1 & 31), 64, 1 << 20, &what);
    bool good = f != NULL;

    assert_true(good || what != NULL);
    if (good)
        frame_addresses(f);
    hd_frame_free(f);
    hd_unpack_free(u);
    free(q);
    return good;
}

static void frame_seeds(fuzz_put *put)
{
    struct hd_container *b = container_of_text();
    struct hd_bytes out = {0};
    struct heddle_error err = {0};
    const unsigned char *p = hd_container_get(b, 0, 1 << 20, &err);

    assert_non_null(p);
    hd_bytes_add(&out, "\2", 1);
    hd_bytes_add(&out, p, b->frame[0].raw);
    put(out.p, out.n);
    hd_bytes_free(&out);
    hd_container_free(b);
}

static bool index_run(const uint8_t *p, size_t n)
{
    struct heddle_error err = {0};
    struct hd_container *b = hd_container_memory(1, &err);
    unsigned char *q = fuzz_copy(p, n);
    b->version = HD_CONTAINER_VERSION;
    bool good = hd_index_read(b, q, n, 64, 1 << 20) == NULL;

    hd_container_free(b);
    free(q);
    return good;
}

static void index_seeds(fuzz_put *put)
{
    struct hd_container *b = container_of_text();
    struct hd_bytes index = {0};

    /* all of the space between header and index */
    b->frame[0].raw = b->frame[0].stored = (1 << 20) - 64;
    fuzz_calls(b);
    hd_index_write(b, &index);
    put(index.p, index.n);
    hd_bytes_free(&index);
    hd_container_free(b);
}

#endif
