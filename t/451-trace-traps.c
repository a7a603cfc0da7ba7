/*
 * 451-trace-traps.c - which memory an instruction reaches, and what is wrong
 * with a file, in words.
 *
 * Pinned: the opcode table with its near misses (LDGDEPBAR, REDUX); widths
 * from the opcode; windows of shared and local memory in either order;
 * LDGSTS once; local memory laid out by thread; notes of the lint; the text
 * and place of each error; nothing opens that is cut off.
 *
 * SPDX-License-Identifier: MIT
 */
#include "tracekit.h"

#include "trace/text.h"
#include "texts.h"

#define WARP(v, n, lines) kit_warp(&kit, v, n, lines)

static void opcodes(void **state)
{
    static const struct {
        const char *name;
        int where, kind, bytes;
    } row[] = {
        {"LDG.E.SYS", HD_OW_GLOBAL, HEDDLE_OP_LOAD, 0},
        {"LDG.E.128.SYS", HD_OW_GLOBAL, HEDDLE_OP_LOAD, 16},
        {"LDG.E.U8.CONSTANT", HD_OW_GLOBAL, HEDDLE_OP_LOAD, 1},
        {"LDG.E.S16", HD_OW_GLOBAL, HEDDLE_OP_LOAD, 2},
        {"LDG.E.LTC128B.64", HD_OW_GLOBAL, HEDDLE_OP_LOAD, 8},
        {"LDG.E.ENL2.256", HD_OW_GLOBAL, HEDDLE_OP_LOAD, 32},
        {"LDGMC.E.ADD.F32", HD_OW_GLOBAL, HEDDLE_OP_LOAD, 0},
        {"STG.E", HD_OW_GLOBAL, HEDDLE_OP_STORE, 0},
        {"USTGR.64", HD_OW_GLOBAL, HEDDLE_OP_STORE, 8},
        {"UREDGR.ADD", HD_OW_GLOBAL, HEDDLE_OP_ATOMIC, 0},
        {"ATOMG.E.ADD.STRONG.GPU", HD_OW_GLOBAL, HEDDLE_OP_ATOMIC, 0},
        {"RED.E.ADD.64", HD_OW_GLOBAL, HEDDLE_OP_ATOMIC, 8},
        {"REDUX.SUM", HD_OW_UNKNOWN, HEDDLE_OP_ALU, 0},
        {"LD.E.64", HD_OW_GENERIC, HEDDLE_OP_LOAD, 8},
        {"ATOM.E.CAS", HD_OW_GENERIC, HEDDLE_OP_ATOMIC, 0},
        {"LDL.LU", HD_OW_LOCAL, HEDDLE_OP_LOAD, 0},
        {"STL.128", HD_OW_LOCAL, HEDDLE_OP_STORE, 16},
        {"LDS.U.128", HD_OW_SHARED, HEDDLE_OP_LOAD, 16},
        {"LDSM.16.M88.4", HD_OW_SHARED, HEDDLE_OP_LOAD, 2},
        {"ATOMS.ADD", HD_OW_SHARED, HEDDLE_OP_ATOMIC, 0},
        {"LDGSTS.E.BYPASS.128", HD_OW_STAGED, HEDDLE_OP_LOAD, 16},
        {"LDGDEPBAR", HD_OW_UNKNOWN, HEDDLE_OP_ALU, 0},
        {"LDC.64", HD_OW_NONE, HEDDLE_OP_ALU, 8},
        {"TEX.SCR.LL", HD_OW_NONE, HEDDLE_OP_ALU, 0},
        {"UTMALDG.3D", HD_OW_TMA, HEDDLE_OP_LOAD, 0},
        {"BAR.SYNC.DEFER_BLOCKING", HD_OW_UNKNOWN, HEDDLE_OP_BARRIER, 0},
        {"BAR.ARV", HD_OW_UNKNOWN, HEDDLE_OP_ALU, 0},
        {"FADD", HD_OW_UNKNOWN, HEDDLE_OP_ALU, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct hd_opcode o;
        hd_opcode_read(row[i].name, strlen(row[i].name), &o);
        if (o.where != row[i].where || o.kind != row[i].kind ||
            o.bytes != row[i].bytes)
            fail_msg("%s: where %d kind %d bytes %d", row[i].name, o.where,
                     o.kind, o.bytes);
    }
}

/* The opcode's width beats the tracer's; one that cannot be is rounded. */
static void widths(void **state)
{
    (void)state;
    assert_string_equal(
        WARP(4, 5,
             "0000 00000001 0 STG.E.128 2 R2 R4 4 1 0x1000 0 0\n"
             "0010 00000001 0 STG.E.U8 2 R2 R4 4 1 0x1000 0 0\n"
             "0020 00000001 0 STG.E 2 R2 R4 3 1 0x1000 0 0\n"
             "0030 00000001 0 STG.E.ENL2.256 2 R2 R4 4 1 0x1000 0 0\n"
             "0040 00000001 0 STG.E 2 R2 R4 0 0\n"),
        "0.0 store 0 m1 /16 1000+0\n"
        "0.0 store 10 m1 /1 1000+0\n"
        "0.0 store 20 m1 /4 1000+0\n"
        "0.0 store 30 m1 /32 1000+0\n"
        "0.0 alu 40 m1\n"
        "0.0 exit x0 0 m0\n");
}

/* 256 bits a lane: by name or by width; two written registers stand for four
 * each. */
static void wide(void **state)
{
    (void)state;
    assert_string_equal(
        WARP(4, 4,
             "0000 00000001 2 R12 R8 LDG.E.ENL2.256 1 R2 4 1 0x1000 0 0\n"
             "0010 00000001 1 R20 FADD 1 R11 0 0\n"
             "0020 00000001 0 FADD 1 R16 0 0\n"
             "0030 00000001 1 R24 LDG.E 1 R2 32 1 0x2000 0 0\n"),
        "0.0 load 0 s0 m1 /32 1000+0\n"
        "0.0 alu x2 10 w0 m1\n"
        "0.0 load 30 s0 m1 /32 2000+0\n"
        "0.0 exit x0 0 m0\n");
    assert_string_equal(
        WARP(4, 3,
             "0000 00000001 2 R12 R8 LDG.E.ENL2.256 1 R2 4 1 0x1000 0 0\n"
             "0010 00000001 1 R20 FADD 1 R16 0 0\n"
             "0020 00000001 0 FADD 1 R15 0 0\n"),
        "0.0 load 0 s0 m1 /32 1000+0\n"
        "0.0 alu 10 m1\n"
        "0.0 alu 20 w0 m1\n"
        "0.0 exit x0 0 m0\n");
}

/* The atomic that returns nothing takes no slot. */
static void atomics(void **state)
{
    (void)state;
    assert_string_equal(
        WARP(4, 3,
             "0000 00000003 1 R6 ATOMG.E.ADD 2 R2 R4 4 1 0x1000 0 0\n"
             "0010 00000003 0 RED.E.ADD 2 R2 R4 4 1 0x2000 4 0\n"
             "0020 00000003 1 R7 ATOM.E.ADD 2 R6 R4 4 1 0x3000 4 0\n"),
        "0.0 atomic 0 s0 m3 /4 1000+0\n"
        "0.0 atomic 10 m3 /4 2000+4\n"
        "0.0 atomic 20 w0 s0 m3 /4 3000+4\n"
        "0.0 exit x0 0 m0\n");
}

/* Generic accesses: shared ones take a slot of issue only, whichever window
 * lies higher. */
static void windows(void **state)
{
    static const char *const lines =
        "0000 ffffffff 1 R2 LD.E 1 R4 4 1 0x7f2000000000 4 0\n"
        "0010 ffffffff 1 R2 LD.E 1 R4 4 1 0x7f0000000000 4 0\n"
        "0020 ffffffff 1 R2 LD.E 1 R4 4 1 0x7f0000ffff80 4 0\n"
        "0030 ffffffff 1 R2 LD.E 1 R4 4 1 0x7f0001000000 4 0\n"
        "0040 ffffffff 0 LDS 1 R4 4 1 0x40 4 0\n"
        "0050 ffffffff 0 TEX 1 R4 4 1 0x0 0 0\n"
        "0060 00000003 1 R5 LD.E 1 R4 4 0 0x7f0000000000 0x7f2000000000 0\n"
        "0070 ffffffff 0 EXIT 0 0 0\n";
    static const char *const ops =
        "0.0 load 0 s0 /4 7f2000000000+4\n"
        "0.0 alu x2 10 w0\n" /* they write what is pending */
        "0.0 load 30 s0 /4 7f0001000000+4\n"
        "0.0 alu x2 40\n"
        "0.0 load 60 s1 m2 /4 7f2000000000+0\n"
        "0.0 exit 70\n";
    char body[2048];

    (void)state;
    snprintf(body, sizeof body, "warp = 0\ninsts = 8\n%s", lines);
    char *text = kit_kernel(4, 32, body);
    heddle_workload *w = kit_trace(&kit, kit_write(&kit, "k.traceg", text));
    const char *got = kit_ops(&kit, w) + 4;
    assert_string_equal(got, ops);
    assert_int_equal(kit_note(w, "MIXED_WINDOWS"), 1);
    heddle_workload_free(w);
    /* the same with the local window below the shared one */
    char *local = strstr(text, "0x00007f1000000000");
    memcpy(local, "0x00007e0000000000", 18);
    w = kit_trace(&kit, kit_write(&kit, "k.traceg", text));
    char *first = strdup(got);
    assert_string_equal(kit_ops(&kit, w) + 4, first);
    heddle_workload_free(w);
    free(first);
    free(text);
}

/* Bases of 0: global, and a note. */
static void no_windows(void **state)
{
    char *text = kit_kernel(3, 32,
                            "warp = 0\ninsts = 1\n"
                            "0000 00000001 1 R2 LD.E 1 R4 4 1 0x1000 4 0\n");
    char *p;

    (void)state;
    while ((p = strstr(text, "0x00007f")) != NULL)
        memcpy(p, "0x000000000000000000000", 9);
    p = strstr(text, "shmem base_addr = ");
    memset(p + 20, '0', 16);
    p = strstr(text, "local mem base_addr = ");
    memset(p + 24, '0', 16);
    heddle_workload *w = kit_trace(&kit, kit_write(&kit, "k.traceg", text));
    assert_string_equal(kit_ops(&kit, w),
                        "k 1\n0.0 load 0 s0 m1 /4 1000+0\n0.0 exit x0 0 m0\n");
    assert_int_equal(kit_note(w, "NO_WINDOWS"), 1);
    heddle_workload_free(w);
    free(text);
}

/* Twice in raw traces, once in post-processed ones: one instruction. */
static void ldgsts(void **state)
{
    static const char *const twice =
        "0000 ffffffff 0 LDGSTS.E.128 2 R2 R4 16 1 0x7f0000000000 16 0\n"
        "0000 ffffffff 0 LDGSTS.E.128 2 R2 R4 16 1 0x7f2000000000 16 0\n"
        "0010 ffffffff 0 LDGSTS.E.128 2 R2 R4 16 1 0x7f0000000200 16 0\n"
        "0010 ffffffff 0 LDGSTS.E.128 2 R2 R4 16 0 0x7f2000000400 "
        "0x7f2000000500 0x7f2000000400 0x7f2000000500 0x7f2000000400 "
        "0x7f2000000500 0x7f2000000400 0x7f2000000500 0x7f2000000400 "
        "0x7f2000000500 0x7f2000000400 0x7f2000000500 0x7f2000000400 "
        "0x7f2000000500 0x7f2000000400 0x7f2000000500 0x7f2000000400 "
        "0x7f2000000500 0x7f2000000400 0x7f2000000500 0x7f2000000400 "
        "0x7f2000000500 0x7f2000000400 0x7f2000000500 0x7f2000000400 "
        "0x7f2000000500 0x7f2000000400 0x7f2000000500 0x7f2000000400 "
        "0x7f2000000500 0x7f2000000400 0x7f2000000500 0\n"
        "0020 ffffffff 0 LDGDEPBAR 0 0 0\n"
        "0030 ffffffff 0 DEPBAR.LE 0 0 0\n"
        "0040 ffffffff 0 EXIT 0 0 0\n";
    (void)state;
    const char *ops = WARP(4, 7, twice);
    static const char begin[] = "0.0 load 0 s0 /16 7f2000000000+16\n"
                                "0.0 load 10 s1 /16 7f2000000400 ";
    assert_memory_equal(ops, begin, sizeof begin - 1);
    assert_text(ops, "\n0.0 alu 20\n0.0 alu 30 w0 w1\n"
                     "0.0 exit 40\n");
    assert_string_equal(
        WARP(4, 2,
             "0000 0000000f 0 LDGSTS.E 2 R2 R4 4 1 0x7f2000000000 4 0\n"
             "0010 0000000f 0 EXIT 0 0 0\n"),
        "0.0 load 0 s0 mf /4 7f2000000000+4\n0.0 exit 10 mf\n");
}

/* Word k of thread s at base + 4 ((k - low) T + s), T = 64 warps x 32 here. */
static void local_memory(void **state)
{
    struct heddle_trace_info i;
    char *text = kit_kernel(
        4, 64,
        "warp = 0\ninsts = 2\n"
        "0000 ffffffff 0 STL 2 R1 R4 4 1 0x7f1000fffd00 0 0\n"
        "0010 ffffffff 1 R4 LDL.64 1 R1 8 1 0x7f1000fffd04 0 0\n"
        "warp = 1\ninsts = 2\n"
        "0000 00000003 0 STL 2 R1 R4 4 0 0x7f1000fffd00 0x7f1000fffd08 0\n"
        "0010 00000003 0 STL.U8 2 R1 R4 1 1 0x7f1000fffd03 0 0\n");
    (void)state;
    heddle_workload *w = kit_trace(&kit, kit_write(&kit, "k.traceg", text));
    assert_int_equal(heddle_trace_info(w, &i), 0);
    assert_int_equal(i.pages, 0);
    assert_int_equal(i.local_words, 3);
    const uint64_t base = 0x7f1000000000, stripe = 64 * 32 * 4;
    uint64_t k = 0; /* the first word that any thread touches */
    char want[1024];
    snprintf(want, sizeof want,
             "k 1\n0.0 store 0 /4 local %llx+4\n"
             "0.0 load 10 s0 /4 local %llx+4\n0.0 exit x0 0 m0\n"
             "0.1 store 0 m3 /4 local %llx %llx\n"
             "0.1 store 10 m3 /1 local %llx+4\n0.1 exit x0 0 m0\n",
             (unsigned long long)(base + k * stripe),
             (unsigned long long)(base + (k + 1) * stripe),
             (unsigned long long)(base + k * stripe + 128),
             (unsigned long long)(base + (k + 2) * stripe + 132),
             (unsigned long long)(base + k * stripe + 128 + 3));
    assert_string_equal(kit_ops(&kit, w), want);
    heddle_workload_free(w);
    free(text);
}

/* A tracer that nobody has seen yet is read as the last one, and told. */
static void new_tracers(void **state)
{
    (void)state;
    for (int version = 6; version <= 7; version++) {
        char *text = kit_kernel(version, 32,
                                "warp = 0\ninsts = 1\n"
                                "0000 00000001 0 EXIT 0 0");
        heddle_workload *w = kit_trace(&kit, kit_write(&kit, "k.traceg", text));
        assert_int_equal(kit_note(w, "NEW_TRACER"), version - 6);
        heddle_workload_free(w);
        free(text);
    }
}

static void notes(void **state)
{
    char *text =
        kit_kernel(4, 64,
                   "# a remark\n"
                   "warp = 0\ninsts = 4\n"
                   "0000 00000003 0 STG.E 2 R1 R4 4 1 0x0 4 0\n"
                   "0010 00000003 0 STG.E 2 R1 R4 4 0 0x100 0x0 0\n"
                   "0020 00000003 0 FROB 2 R1 R4 4 1 0x100 4 0\n"
                   "0030 00000005 0 STG.E 2 R1 R4 64 1 0x100 4 0");
    char *cut = strstr(text, "\n#END_TB");
    (void)state;
    strcpy(cut, "\n#END_TB");
    heddle_workload *w = kit_trace(&kit, kit_write(&kit, "k.traceg", text));
    assert_int_equal(kit_note(w, "ZERO_ADDRESS"), 2);
    assert_int_equal(kit_note(w, "UNKNOWN_OPCODE"), 1);
    assert_int_equal(kit_note(w, "ODD_MODE"), 1);
    assert_int_equal(kit_note(w, "WIDE_LANE"), 1);
    assert_int_equal(kit_note(w, "BODY_LINE"), 1);
    assert_int_equal(kit_note(w, "EMPTY_WARP"), 1);
    assert_int_equal(kit_note(w, "NO_EXIT"), 1);
    assert_int_equal(kit_note(w, "NO_NEWLINE"), 1);
    assert_int_equal(kit_note(w, "REPLAY"), 0);
    struct heddle_trace_note n;
    assert_int_equal(heddle_trace_note(w, 0, &n), 0);
    char where[32];
    int line = 1;
    for (const char *c = text; c < strstr(text, "STG.E 2"); c++)
        line += *c == '\n';
    snprintf(where, sizeof where, "k.traceg:%d", line);
    assert_text(n.where, where);
    heddle_workload_free(w);
    free(text);
}

/* Each error names file and line and what was expected. */
static void errors(void **state)
{
    static const struct {
        const char *lines, *text;
        int insts;
    } row[] = {
        {"zzzz\n", "expected `insts = n' before", -1},
        {"0000 fffffffff 0 NOP 0 0\n", "expected a mask of 32 lanes", 1},
        {"0000 ffffffff x NOP 0 0\n", "number of written registers", 1},
        {"0000 ffffffff 1 Q2 NOP 0 0\n", "expected a register, not `Q2'", 1},
        {"0000 ffffffff 1 R256 NOP 0 0\n", "expected a register", 1},
        {"0000 ffffffff 99 R2 NOP 0 0\n", "number of written registers", 1},
        {"0000 ffffffff 1 R2 NOP 2 R3 0\n", "expected a register, not `0'", 1},
        {"0000 ffffffff 0 NOP 0\n", "blank after the registers", 1},
        {"0000 ffffffff 0 NOP 0 z\n", "expected the access width", 1},
        {"0000 ffffffff 0 NOP 0 0 1 2 3\n", "expected the end of the line", 1},
        {"0000 ffffffff 0 NOP 0 0 NoVa\n", "the end of the line, not `NoVa'",
         1},
        {"0000 00000003 0 STG 0 4 7 0x10 0x20\n", "an address mode, not `7'",
         1},
        {"0000 00000003 0 STG 0 4 0 0x10\n", "expected an address", 1},
        {"0000 00000003 0 STG 0 4 0 0x10 0\n", "expected an address, not `0'",
         1},
        {"0000 00000003 0 STG 0 4 1 0x10\n", "expected a stride", 1},
        {"0000 00000003 0 STG 0 4 2 0x10\n", "expected an address delta", 1},
        {"0000 00000003 0 STG 0 4 3 1 0x10\n", "an address for each lane", 1},
        {"0000 00000001 0 STG 0 4 1 0x1000000000000 0\n",
         "address 0x1000000000000 is not below 2^48", 1},
        {"0000 00000003 0 STG 0 4 1 0x10 -32\n", "is not below 2^48", 1},
        {"0000 00000007 0 STG 0 4 2 0x10 -32 64\n", "is not below 2^48", 1},
        {"0000 00000001 0 STG 0 4 1 0x11112222333344445 0\n",
         "expected a base address", 1},
        {"0000 ffffffff 0 NOP 0 0\n", "warp 0 has 1 instructions, not 2", 2},
        {"0000 ffffffff 0 NOP 0 0\nwarp = 0\ninsts = 0\n",
         "the block has this warp twice", 1},
        {"0000 ffffffff 0 NOP 0 0\nwarp = 1\ninsts = 0\n",
         "the block has no such warp", 1},
        {"0000 ffffffff 0 NOP 0 0\n#BEGIN_TB\n", "expected #END_TB first", 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char body[512], name[256];
        if (row[i].insts < 0)
            snprintf(body, sizeof body, "warp = 0\n%s", row[i].lines);
        else
            snprintf(body, sizeof body, "warp = 0\ninsts = %d\n%s",
                     row[i].insts, row[i].lines);
        char *text = kit_kernel(4, 32, body);
        kit_write(&kit, "bad.traceg", text);
        snprintf(name, sizeof name, "%s:", kit.path);
        assert_int_equal(kit_fails(&kit, kit.path), HEDDLE_EDATA);
        if (strstr(kit.text, row[i].text) == NULL ||
            strncmp(kit.text, name, strlen(name)) != 0)
            fail_msg("row %zu: %s", i, kit.text);
        free(text);
    }
}

/* Found by fuzzing: an opcode with a zero byte was compared past the end of
 * the shorter name it began like. */
static void zero_byte(void **state)
{
    char *text = kit_kernel(4, 32,
                            "warp = 0\ninsts = 2\n"
                            "0000 ffffffff 0 BAR 0 0 0\n"
                            "0010 ffffffff 0 BAR.SYNC.LONG 0 0 0\n");
    size_t n = strlen(text);

    (void)state;
    *strstr(text, ".SYNC") = '\0';
    kit_write_n(&kit, "bad.traceg", text, n);
    assert_int_equal(kit_fails(&kit, kit.path), HEDDLE_EDATA);
    assert_text(kit.text, "zero byte");
    free(text);
}

static void header_errors(void **state)
{
    static const struct {
        const char *text, *error;
    } row[] = {
        {"", "the file is empty"},
        {"-grid dim = (1,1,1)\n", "ends inside its header"},
        {"-grid dim = (1,1\n", "expected (x,y,z)"},
        {"-nregs = many\n", "expected a number"},
        {"-nregs = 99999999999\n", "expected a number"},
        {"-grid dim = (1,1,1)\n#traces\n", "no `-block dim"},
        {"-block dim = (1,1,1)\n#traces\n", "no `-grid dim"},
        {"-grid dim = (1,1,1)\n-block dim = (0,1,1)\n#traces\n", "is impossible"},
        {"-grid dim = (1,1,1)\n-block dim = (2048,2,1)\n#traces\n",
         "is impossible"},
        {"-grid dim = (1,1,1)\n-block dim = (32,1,1)\n#traces\n",
         "the file has no thread block"},
        {"-grid dim = (1,1,1)\nhello\n", "expected a header line"},
        {"-grid dim = (1,1,1)\n-block dim = (32,1,1)\n#BEGIN_TB\n"
         "thread block = 1,0,0\n",
         "the grid has no such block"},
        {"-grid dim = (1,1,1)\n-block dim = (32,1,1)\n#traces\n#END_TB\n",
         "expected #BEGIN_TB"},
        {"-grid dim = (1,1,1)\n-block dim = (32,1,1)\n#BEGIN_TB\nwarp = 0\n",
         "expected `thread block"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        kit_write(&kit, "bad.traceg", row[i].text);
        assert_int_equal(kit_fails(&kit, kit.path), HEDDLE_EDATA);
        if (strstr(kit.text, row[i].error) == NULL)
            fail_msg("row %zu: %s", i, kit.text);
    }
}

/* Blocks in any order, each once: a text of blocks 0 .. n-1 in the order that
 * step gives, then block `again`, if it is not n. */
static char *blocks_text(uint32_t n, uint32_t step, uint32_t again)
{
    size_t room = 200 + 100 * (size_t)(n + 1), at;
    char *s = malloc(room);

    at = (size_t)sprintf(
        s, "-grid dim = (%u,1,1)\n-block dim = (32,1,1)\n#traces\n", n);
    for (uint32_t i = 0; i < n + (again < n); i++)
        at +=
            (size_t)sprintf(s + at,
                            "#BEGIN_TB\nthread block = %u,0,0\nwarp = 0\n"
                            "insts = 1\n0000 ffffffff 0 EXIT 0 0 0\n#END_TB\n",
                            i < n ? i * step % n : again);
    return s;
}

static void block_twice(void **state)
{
    static const uint32_t steps[] = {1, 3, 5, 100}; /* prime to 101 */

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        for (uint32_t again = 0; again < 101; again += i == 2 ? 1 : 20) {
            char *text = blocks_text(101, steps[i], again);
            kit_write(&kit, "blocks.traceg", text);
            assert_int_equal(kit_fails(&kit, kit.path), HEDDLE_EDATA);
            assert_text(kit.text, "this block twice");
            free(text);
        }
        char *text = blocks_text(101, steps[i], 101);
        kit_write(&kit, "blocks.traceg", text);
        heddle_workload *w = kit_trace(&kit, kit.path);
        assert_non_null(w);
        assert_int_equal(kit_note(w, "MISSING_BLOCKS"), 0);
        heddle_workload_free(w);
        free(text);
    }
}

/* Cut at every byte: an error, unless all instructions of all warps are there;
 * then it is noted that #END_TB is not. */
static void truncation(void **state)
{
    char *text = kit_kernel(
        6, 64,
        "warp = 1\ninsts = 1\n0020 ffffffff 0 NOP 0 0\n"
        "warp = 0\ninsts = 3\n"
        "0000 0000000f 1 R2 LDG.E 1 R4 4 2 0x1000 4 4 96 0 NoVal\n"
        "0010 ffffffff 1 R2 LDG.E 1 R4 4 1 0x1000 4 0 0 Val 1 0 1 2\n"
        "0020 ffffffff 0 EXIT 0 0\n");
    size_t n = strlen(text);

    (void)state;
    size_t all = (size_t)(strstr(text, "EXIT 0 0") + 8 - text);
    for (size_t i = 0; i < n - 1; i++) {
        kit_write_n(&kit, "cut.traceg", text, i);
        if (i < all) {
            assert_int_equal(kit_fails(&kit, kit.path), HEDDLE_EDATA);
            assert_text(kit.text, "cut.traceg");
            continue;
        }
        heddle_workload *w = kit_trace(&kit, kit.path);
        struct heddle_trace_info info;
        assert_int_equal(heddle_trace_info(w, &info), 0);
        assert_int_equal(info.instructions, 4);
        assert_int_equal(kit_note(w, "UNENDED_BLOCK"), 1);
        heddle_workload_free(w);
    }
    kit_write(&kit, "cut.traceg", text);
    heddle_workload *w = kit_trace(&kit, kit.path);
    assert_int_equal(kit_note(w, "UNENDED_BLOCK"), 0);
    heddle_workload_free(w);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opcodes),     cmocka_unit_test(widths),
        cmocka_unit_test(atomics),     cmocka_unit_test(windows),
        cmocka_unit_test(wide),        cmocka_unit_test(no_windows),
        cmocka_unit_test(ldgsts),      cmocka_unit_test(local_memory),
        cmocka_unit_test(new_tracers), cmocka_unit_test(notes),
        cmocka_unit_test(errors),      cmocka_unit_test(header_errors),
        cmocka_unit_test(block_twice), cmocka_unit_test(zero_byte),
        cmocka_unit_test(truncation),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, kit_setup, kit_teardown);
}
