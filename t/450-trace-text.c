/*
 * 450-trace-text.c - one instruction line of each tracer version and each
 * address mode, and what the core is told of it.
 *
 * Pinned: the counts of runs; slots and waits; versions 1 and 2 with their
 * prefix, 3, 4 with and without line numbers, 5 with immediates, 6 with two
 * immediates, values, commit flags, clusters, bulk copies and REPLAY markers;
 * modes 0 to 4; a header that lies about its version; warps that begin alike,
 * against the same with blanks, which are looked at line by line.
 *
 * SPDX-License-Identifier: MIT
 */
#include "tracekit.h"

#include "kit/rng.h"
#include "texts.h"

#define WARP(v, n, lines) kit_warp(&kit, v, n, lines)

/* A load, what uses it, a store, the end: the dependences. */
static void dependences(void **state)
{
    (void)state;
    assert_string_equal(
        WARP(4, 6,
             "0000 ffffffff 1 R2 S2R 0 0 0\n"
             "0010 ffffffff 1 R4 IMAD.WIDE 2 R2 R255 0 0\n"
             "0020 ffffffff 1 R6 LDG.E.SYS 1 R4 4 1 0x7f2000000000 4 0\n"
             "0030 ffffffff 1 R7 FADD 2 R6 R6 0 0\n"
             "0040 ffffffff 0 STG.E.SYS 2 R4 R7 4 1 0x7f2000001000 4 0\n"
             "0050 ffffffff 0 EXIT 0 0 0\n"),
        "0.0 alu x2 g1 0\n"
        "0.0 load 20 s0 /4 7f2000000000+4\n"
        "0.0 alu 30 w0\n"
        "0.0 store 40 /4 7f2000001000+4\n"
        "0.0 exit 50\n");
    /* two loads in flight; a write to a pending register waits too; the slot
     * that is free again is taken first */
    assert_string_equal(WARP(4, 7,
                             "0000 ffffffff 1 R2 LDG.E 1 R10 4 1 0x1000 4 0\n"
                             "0010 ffffffff 1 R3 LDG.E 1 R10 4 1 0x2000 4 0\n"
                             "0020 ffffffff 1 R5 MOV 1 R9 0 0\n"
                             "0030 ffffffff 1 R2 MOV 1 R9 0 0\n"
                             "0040 ffffffff 1 R4 LDG.E 1 R2 4 1 0x3000 4 0\n"
                             "0050 ffffffff 1 R8 IADD3 3 R3 R4 R255 0 0\n"
                             "0060 ffffffff 0 EXIT 0 0 0\n"),
                        "0.0 load 0 s0 /4 1000+4\n"
                        "0.0 load 10 s1 /4 2000+4\n"
                        "0.0 alu 20\n"
                        "0.0 alu 30 w0\n"
                        "0.0 load 40 s0 /4 3000+4\n"
                        "0.0 alu 50 w0 w1\n"
                        "0.0 exit 60\n");
    /* 16 bytes a lane fill four registers; R255 is never pending */
    assert_string_equal(
        WARP(4, 4,
             "0000 ffffffff 1 R8 LDG.E.128 1 R2 4 1 0x1000 16 0\n"
             "0010 ffffffff 1 R255 LDG.E 1 R2 4 1 0x2000 4 0\n"
             "0020 ffffffff 1 R20 MOV 2 R11 R255 0 0\n"
             "0030 ffffffff 0 EXIT 0 0 0\n"),
        "0.0 load 0 s0 /16 1000+16\n"
        "0.0 load 10 /4 2000+4\n"
        "0.0 alu 20 w0\n"
        "0.0 exit 30\n");
}

/* With 33 loads in flight the oldest slot is used again, and waited for. */
static void out_of_slots(void **state)
{
    char text[8192] = "";
    size_t n = 0;

    (void)state;
    for (int i = 0; i < 33; i++)
        n += (size_t)sprintf(text + n,
                             "%04x ffffffff 1 R%d LDG.E 1 R254 4 1 0x%x 4\n",
                             i * 16, i, 0x1000 + i * 128);
    sprintf(text + n, "0300 ffffffff 0 EXIT 0 0\n");
    const char *ops = WARP(4, 34, text);
    assert_text(ops, "0.0 load 1f0 s31 /4 1f80+4\n"
                     "0.0 load 200 w0 s0 /4 2000+4\n");
}

/* Runs end where the mask changes; EXIT in the middle is an instruction. */
static void runs(void **state)
{
    (void)state;
    assert_string_equal(WARP(4, 7,
                             "0000 ffffffff 0 NOP 0 0 0\n"
                             "0010 ffffffff 0 NOP 0 0 0\n"
                             "0020 0000ffff 0 NOP 0 0 0\n"
                             "0030 0000ffff 0 EXIT 0 0 0\n"
                             "0040 ffff0000 0 BAR.SYNC.DEFER_BLOCKING 0 0 0\n"
                             "0050 ffff0000 0 BAR.ARV 0 0 0\n"
                             "0060 ffff0000 0 EXIT 0 0 0\n"),
                        "0.0 alu x2 0\n"
                        "0.0 alu 20 mffff\n"
                        "0.0 alu 30 mffff\n"
                        "0.0 barrier 40 mffff0000\n"
                        "0.0 alu 50 mffff0000\n"
                        "0.0 exit 60 mffff0000\n");
    /* no EXIT at the end: one that is no instruction */
    assert_string_equal(WARP(4, 1, "0000 ffffffff 0 NOP 0 0 0\n"),
                        "0.0 alu 0\n0.0 exit x0 0 m0\n");
}

/* A run issues in groups of its instructions over those of its longest chain,
 * rounded up: registers that it reads and has written itself. */
static void chains(void **state)
{
    (void)state;
    assert_string_equal(WARP(4, 8,
                             "0000 ffffffff 1 R1 MOV 1 R9 0 0\n"     /* 1 */
                             "0010 ffffffff 1 R2 MOV 1 R9 0 0\n"     /* 1 */
                             "0020 ffffffff 1 R3 FADD 2 R1 R2 0 0\n" /* 2 */
                             "0030 ffffffff 1 R1 MOV 1 R9 0 0\n"     /* 1 */
                             "0040 ffffffff 1 R4 FADD 2 R1 R2 0 0\n" /* 2 */
                             "0050 ffffffff 2 R5 P0 FFMA 3 R4 R4 R3 0 0\n"
                             "0060 ffffffff 1 R6 SEL 2 R9 P0 0 0\n" /* 4 */
                             "0070 ffffffff 0 EXIT 0 0 0\n"),
                        "0.0 alu x7 g2 0\n0.0 exit 70\n");
    /* each reads the one before; a run that follows knows nothing of it, and
     * a register that holds nothing is none */
    assert_string_equal(WARP(4, 7,
                             "0000 ffffffff 1 R1 IADD3 2 R1 R9 0 0\n"
                             "0010 ffffffff 1 R1 IADD3 2 R1 R9 0 0\n"
                             "0020 ffffffff 1 R1 IADD3 2 R1 R9 0 0\n"
                             "0030 0000ffff 1 R255 IADD3 2 R1 R255 0 0\n"
                             "0040 0000ffff 1 R255 IADD3 2 R1 R255 0 0\n"
                             "0050 0000ffff 1 R2 IADD3 2 R1 R255 0 0\n"
                             "0060 ffffffff 0 EXIT 0 0 0\n"),
                        "0.0 alu x3 g1 0\n0.0 alu x3 30 mffff\n"
                        "0.0 exit 60\n");
}

/* Modes 0, 1 and 2 of one access are one access. */
static void modes(void **state)
{
    static const char *const same[] = {
        "0000 000000f0 1 R2 LDG.E 1 R4 4 0 0x1000 0x1004 0x1008 0x100c\n",
        "0000 000000f0 1 R2 LDG.E 1 R4 4 1 0x1000 4\n",
        "0000 000000f0 1 R2 LDG.E 1 R4 4 2 0x1000 4 4 4\n",
        "0000 000000f0 1 R2 LDG.E 1 R4 4 0 0x1000 0x1004 0x1008 0x100c 77\n",
        "0000 000000f0 1 R2 LDG.E 1 R4 4 1 0x1000 4 -8\n",
        "0000 000000f0 1 R2 LDG.E 1 R4 4 2 0x1000 4 4 4 0xff\n",
        "0000  f0 1 R2 LDG.E  1 R4 4 2 1000  4 4 4   \n",
    };
    (void)state;
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        assert_string_equal(WARP(4, 1, same[i]), "0.0 load 0 s0 mf0 /4 ff0+4\n"
                                                 "0.0 exit x0 0 m0\n");
    /* deltas are to the lane before, and may be negative */
    assert_string_equal(
        WARP(3, 1, "0000 00000113 1 R2 LDG.E 1 R4 4 2 0x9000 -16 256 -8192\n"),
        "0.0 load 0 s0 m113 /4 9000 8ff0 90f0 70f0\n0.0 exit x0 0 m0\n");
    /* an affine list over lanes with holes */
    assert_string_equal(
        WARP(3, 1, "0000 80000005 1 R2 LDG.E 1 R4 4 0 0x100 0x110 0x1f8\n"),
        "0.0 load 0 s0 m80000005 /4 100+8\n0.0 exit x0 0 m0\n");
    /* one lane */
    assert_string_equal(
        WARP(3, 2,
             "0000 00000100 1 R2 LDG.E 1 R4 4 2 0xabc\n"
             "0010 00000100 1 R3 LDG.E 1 R4 4 0 0xabc 0\n"),
        "0.0 load 0 s0 m100 /4 abc+0\n0.0 load 10 s1 m100 /4 abc+0\n"
        "0.0 exit x0 0 m0\n");
    /* mode 1 counts set lanes where they are not one run */
    assert_string_equal(
        WARP(3, 1, "0000 00000015 1 R2 LDG.E 1 R4 4 1 0x100 4\n"),
        "0.0 load 0 s0 m15 /4 100+2\n0.0 exit x0 0 m0\n");
    /* mode 3 on lanes */
    assert_string_equal(
        WARP(6, 1, "0000 00000003 1 R2 LDG.E 1 R4 4 3 2 0x100 0x900\n"),
        "0.0 load 0 s0 m3 /4 100+2048\n0.0 exit x0 0 m0\n");
}

/* Nobody active: only an issue slot. */
static void empty_masks(void **state)
{
    (void)state;
    assert_string_equal(
        WARP(4, 4,
             "0000 00000000 1 R2 LDG.E 1 R4 4 1 0x0 0\n"
             "0010 00000000 1 R2 LDG.E 1 R4 4 1 0x0 0 0\n"
             "0020 00000000 1 R2 LDG.E 1 R4 4 2 0x0\n"
             "0030 00000000 1 R2 LDG.E 1 R4 4 0\n"),
        "0.0 load 0 m0 /4\n0.0 load 10 m0 /4\n0.0 load 20 m0 /4\n"
        "0.0 load 30 m0 /4\n0.0 exit x0 0 m0\n");
}

/* Before version 3 block and warp stand before each instruction. */
static void old_versions(void **state)
{
    static const char *const lines =
        "0 0 0 0 0008 ffffffff 1 R1 MOV 0 0\n"
        "0 0 0 0 0010 ffffffff 1 R2 LDG.E.64 1 R4 8 1 0x1000 8\n"
        "0 0 0 0 0018 ffffffff 0 EXIT 0 0\n";
    static const char *const ops = "0.0 alu 8\n0.0 load 10 s0 /8 1000+8\n"
                                   "0.0 exit 18\n";
    (void)state;
    for (int v = 0; v <= 2; v++)
        assert_string_equal(WARP(v, 3, lines), ops);
    /* a version that lies: both are read */
    assert_string_equal(WARP(4, 3, lines), ops);
    assert_string_equal(WARP(1, 1, "0008 ffffffff 1 R1 MOV 0 0\n"),
                        "0.0 alu 8\n0.0 exit x0 0 m0\n");
}

static void line_numbers(void **state)
{
    char *text = kit_kernel(4, 32,
                            "warp = 0\ninsts = 2\n"
                            "17 0000 ffffffff 1 R2 LDG.E 1 R4 4 1 0x1000 4 0\n"
                            "18 0010 ffffffff 0 EXIT 0 0 0\n");
    (void)state;
    *(strstr(text, "lineinfo = 0") + 11) = '1';
    heddle_workload *w = kit_trace(&kit, kit_write(&kit, "k.traceg", text));
    assert_string_equal(kit_ops(&kit, w),
                        "k 1\n0.0 load 0 s0 /4 1000+4\n0.0 exit 10\n");
    heddle_workload_free(w);
    free(text);
}

/* Version 6: tails, registers, tensor cores. */
static void version_6(void **state)
{
    (void)state;
    assert_string_equal(
        WARP(
            6, 7,
            "0000 ffffffff 1 R2 IADD3 2 UR4 P0 0 0 0 Val 1 5 1 6 32 0 1 2 3 4 "
            "5 6 7 8 9 a b c d e f 0 1 2 3 4 5 6 7 8 9 a b c d e f\n"
            "0010 ffffffff 2 R3 UP1 ISETP 1 R2 0 0 NoVal\n"
            "0020 ffffffff 1 R24 HGMMA.64x64x16.F32 2 UR4 R24 1 0 0 0 NoVal\n"
            "0030 ffffffff 1 R6 LDG.E 2 R4 UR8 4 1 0x4000 4 16 0 NoVal\n"
            "0040 ffffffff 1 R6 LDG.E 2 R4 UR8 4 1 0x5000 4 0 Val 1 0 1 0 1 0\n"
            "0050 ffffffff 4 R8 R9 R10 R11 MOV 1 URZ 0\n"
            "0060 ffffffff 0 EXIT 0 0 0 NoVal\n"),
        "0.0 alu x3 g2 0\n"
        "0.0 load 30 s0 /4 4000+4\n"
        "0.0 load 40 w0 s0 /4 5000+4\n"
        "0.0 alu 50\n"
        "0.0 exit 60\n");
}

/* Bulk copies: parts of one instruction, 32 bytes apart. */
static void bulk(void **state)
{
    (void)state;
    assert_string_equal(
        WARP(6, 6,
             "0000 00000001 0 UTMALDG.2D 2 UR4 UR8 0 0x400 0 256 0 3 2 0x1000 "
             "0x2000 0 0 NoVal\n"
             "0010 00000001 0 UBLKCP 2 UR4 UR8 0 0x400 1 0xff 64 0 4 0x3000 2 "
             "4096 0\n"
             "0020 00000001 0 SYNCS.PHASECHK 0 0\n"
             "0030 00000001 0 UTMASTG.1D 2 UR4 UR8 0 0x0 0 32 0 4 0x9000 1\n"
             "0040 00000001 0 UTMALDG.1D 2 UR4 UR8 0 0x0 0 0 0 4 0x0 0\n"
             "0050 00000001 0 EXIT 0 0\n"),
        "0.0 load 0 s0 mff /16 1000 1020 1040 1060 2000 2020 2040 2060\n"
        "0.0 load 10 s1 m3 /16 3000+4096\n"
        "0.0 alu 20 w0 w1 m1\n"
        "0.0 store 30 m1 /16 9000+0\n"
        "0.0 load 40 m0 /4\n"
        "0.0 exit 50 m1\n");
    /* more than 32 addresses go on in parts that count as nothing */
    char line[128];
    sprintf(line, "0000 00000001 0 UTMALDG.2D 0 0 0x0 0 2048 0 4 0x10000 1\n");
    assert_string_equal(WARP(6, 1, line), "0.0 load 0 /16 10000+32\n"
                                          "0.0 load x0 0 s0 /16 10400+32\n"
                                          "0.0 exit x0 0 m0\n");
}

/* Markers may count as instructions or not, and may stand alone. */
static void replay(void **state)
{
    static const char *const ops = "0.0 alu x2 10\n0.0 exit 40\n";

    (void)state;
    assert_string_equal(WARP(6, 5,
                             "0000 ffffffff 0 REPLAY_START 0 0 0\n"
                             "0010 ffffffff 0 NOP 0 0 0\n"
                             "0020 ffffffff 0 NOP 0 0 0\n"
                             "0030 ffffffff 0 REPLAY_END 0 0 0\n"
                             "0040 ffffffff 0 EXIT 0 0 0\n"),
                        ops);
    assert_string_equal(WARP(6, 3,
                             "REPLAY_START 5\n"
                             "0010 ffffffff 0 NOP 0 0 0\n"
                             "0020 ffffffff 0 NOP 0 0 0\n"
                             "REPLAY_END\n"
                             "0040 ffffffff 0 EXIT 0 0 0\n"),
                        ops);
}

/* Several warps and blocks; cluster lines; what is missing ends at once. */
static void blocks(void **state)
{
    static const char *const text =
        "-kernel name = two words\n-kernel id = 9\n-grid dim = (2,2,1)\n"
        "-block dim = (40,1,1)\n-something new = 1\n"
        "-accelsim tracer version = 6\n"
        "#traces format = x\n"
        "#BEGIN_TB\nthread block = 1,1,0\ncluster id = 0,0,0\n"
        "cluster cta = 0,0,0\ncluster rank = 0\n"
        "warp = 1\ninsts = 1\nc0a0 000000ff 0 EXIT 0 0\n"
        "warp = 0\ninsts = 0\n#END_TB\n\n"
        "#BEGIN_TB\nthread block = 0,1,0\n"
        "warp = 0\ninsts = 1\n0000 ffffffff 0 EXIT 0 0\n#END_TB\n";
    struct heddle_trace_kernel k;

    (void)state;
    heddle_workload *w = kit_trace(&kit, kit_write(&kit, "k.traceg", text));
    assert_string_equal(kit_ops(&kit, w), "two words 1\n"
                                          "0.0 exit x0 0 m0\n"
                                          "0.1 exit c0a0 mff\n"
                                          "1.0 exit 0\n"
                                          "1.1 exit x0 0 m0\n");
    assert_int_equal(heddle_trace_kernel(w, 0, &k), 0);
    assert_int_equal(k.id, 9);
    assert_int_equal(k.blocks, 2);
    assert_int_equal(k.instructions, 2);
    assert_int_equal(heddle_trace_kernel(w, 1, &k), HEDDLE_EINVAL);
    assert_int_equal(kit_note(w, "EMPTY_WARP"), 2);
    assert_int_equal(kit_note(w, "HEADER_LINE"), 1);
    assert_int_equal(kit_note(w, "MISSING_BLOCKS"), 1);
    heddle_workload_free(w);
}

/* Comments before, between and behind header lines, whether #traces ends the
 * header or the first block does. */
static void comments(void **state)
{
    static const char *const text =
        "# Basic information\n\n#another\n-kernel name = k#1 a  # mangled\n"
        "  # indented\n-kernel id = 9#\n-grid dim = (1,1,1) # x, y, z\n"
        "#\n-block dim = (32,1,1)\n-binary version = 70  # Volta\n"
        "-local mem base_addr = 0x00007f1000000000 # hex\n"
        "-enable lineinfo = 1 # yes\n-nregs = 16\n# its end\n%s"
        "#BEGIN_TB\nthread block = 0,0,0\n"
        "warp = 0\ninsts = 1\n5 c0a0 ffffffff 0 EXIT 0 0\n#END_TB\n";

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct heddle_trace_kernel k;
        char own[1024];
        snprintf(own, sizeof own, text, i == 0 ? "#traces format = x\n" : "");
        heddle_workload *w = kit_trace(&kit, kit_write(&kit, "k.traceg", own));
        assert_string_equal(kit_ops(&kit, w), "k#1 a 1\n0.0 exit c0a0\n");
        assert_int_equal(heddle_trace_kernel(w, 0, &k), 0);
        assert_int_equal(k.id, 9);
        assert_int_equal(k.binary, 70);
        assert_int_equal(k.registers, 16);
        assert_int_equal(kit_note(w, "HEADER_LINE"), 0);
        assert_int_equal(kit_note(w, "BODY_LINE"), 0);
        heddle_workload_free(w);
    }
}

/* Lines of one of a few warps of arithmetic, which share how they begin; a line
 * may touch memory, be odd, or have another mask.  `blanks` end the first. */
static char *warp_of(char *at, unsigned w, unsigned kind, unsigned blanks)
{
    struct hd_rng r = hd_rng_make(kind / 4, 7); /* alike for a while */
    unsigned n = 1 + kind % 23;

    at += sprintf(at, "warp = %u\ninsts = %u\n", w, n + 2);
    for (unsigned i = 0; i < n; i++) {
        unsigned what = hd_rng_below(&r, 40), pc = i * 16;
        unsigned d = hd_rng_below(&r, 9), s = hd_rng_below(&r, 9);
        if (i == kind % 5 + 3)
            r = hd_rng_make(kind, 8);
        at += what == 0 ? sprintf(at,
                                  "%04x ffffffff 1 R%u LDG.E 1 R%u 4 1 "
                                  "0x%x 4 0",
                                  pc, d, s, (w + 1) * 4096)
              : what == 1
                  ? sprintf(at, "%04x ffffffff 1 R%u LDG.E 1 R%u 0 0", pc, d, s)
              : what == 2
                  ? sprintf(at, "%04x 0000ffff 1 R%u IADD3 1 R%u 0 0", pc, d, s)
              : what == 3
                  ? sprintf(at, "%04x ffffffff 0 BAR.SYNC 0 0 0", pc)
                  : sprintf(at, "%04x ffffffff 1 R%u IADD3 2 R%u R4 0 0", pc, d,
                            s);
        at += sprintf(at, "%*s\n", i == 0 ? (int)blanks : 0, "");
    }
    at += sprintf(at,
                  "0800 ffffffff 1 R1 LDG.E 1 R2 4 1 0x%x 4 0\n"
                  "0810 ffffffff 0 EXIT 0 0 0\n",
                  (w + 1) * 256);
    return at;
}

static void alike(void **state)
{
    struct heddle_trace_info info[2];
    struct heddle_trace_note note[2];
    heddle_workload *w[2];
    char *body = malloc(1 << 20);

    (void)state;
    for (unsigned seed = 0; seed < 60; seed++) {
        for (unsigned blanks = 0; blanks < 2; blanks++) {
            struct hd_rng r = hd_rng_make(seed, 9);
            char *at = body;
            for (unsigned i = 0; i < 32; i++)
                at = warp_of(at, i, seed * 8 + hd_rng_below(&r, 1 + seed % 8),
                             blanks ? 1 + i : 0);
            char *text = kit_kernel(4, 1024, body);
            w[blanks] = kit_trace(&kit, kit_write(&kit, "alike.traceg", text));
            free(text);
            assert_int_equal(heddle_trace_info(w[blanks], &info[blanks]), 0);
        }
        assert_int_equal(info[0].hash, info[1].hash);
        for (uint32_t i = 0; heddle_trace_note(w[0], i, &note[0]) == 0; i++) {
            assert_int_equal(heddle_trace_note(w[1], i, &note[1]), 0);
            assert_int_equal(note[0].count, note[1].count);
            assert_string_equal(note[0].where, note[1].where);
        }
        heddle_workload_free(w[0]);
        heddle_workload_free(w[1]);
    }
    free(body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dependences),  cmocka_unit_test(out_of_slots),
        cmocka_unit_test(runs),         cmocka_unit_test(chains),
        cmocka_unit_test(modes),        cmocka_unit_test(empty_masks),
        cmocka_unit_test(old_versions), cmocka_unit_test(line_numbers),
        cmocka_unit_test(version_6),    cmocka_unit_test(bulk),
        cmocka_unit_test(replay),       cmocka_unit_test(blocks),
        cmocka_unit_test(comments),     cmocka_unit_test(alike),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, kit_setup, kit_teardown);
}
