/*
 * heddle.h - the public interface of the simulator.
 *
 * Everything hangs from a heddle_sim; there are no globals, and two
 * simulations in one process give the same results as apart.  A simulation is
 * built from a configuration (settings, checked and then frozen) and one or
 * more workloads (heddle_work.h), each of which becomes an application with
 * an address space of its own.  Policies (policy.h) answer the engine's
 * questions.
 *
 *     heddle_config *c = heddle_config_new();
 *     heddle_config_set(c, "core.count", "30");
 *     heddle_sim *s = heddle_new(c, NULL, workloads, 2, &error);
 *     while (heddle_run(s, 100000) == HEDDLE_OK)
 *         ;
 *     heddle_free(s);
 *
 * Calls return 0 or a negative HEDDLE_E code, unless they say otherwise; what
 * went wrong is in a struct heddle_error, of the object or of the caller.  The
 * library never prints, exits or aborts on input.
 * Ownership words: a call *borrows* an argument for its duration, *takes* it
 * for good, or *returns owned* what the caller must free.
 *
 * A structure heddle_..._info begins with its size, which the caller sets:
 *
 *     struct heddle_app_info a = {.size = sizeof a};
 *     heddle_app(s, 0, &a);
 *
 * A later library may have more members after these, and fills a smaller
 * structure as far as it goes; of a larger one the rest is 0.  A size that was
 * not set is HEDDLE_EINVAL.
 *
 * Cycles are core cycles.  A simulation must be used by one thread at a time.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HEDDLE_H
#define HEDDLE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HEDDLE_VERSION "0.1.0"
/* major * 1000000 + minor * 1000 + patch: the header's, for #if; the library's
 * is heddle_version_number(). */
#define HEDDLE_VERSION_NUMBER 1000

#if defined(__GNUC__)
#define HEDDLE_API __attribute__((visibility("default")))
#else
#define HEDDLE_API
#endif

/* Results.  The command line maps the errors to sysexits (in brackets). */
enum heddle_status {
    HEDDLE_OK = 0,
    HEDDLE_DONE = 1,       /* every application has finished */
    HEDDLE_STOPPED = 2,    /* a stop condition or heddle_stop() */
    HEDDLE_ENOMEM = -1,    /* not enough memory [71] */
    HEDDLE_EINVAL = -2,    /* a call's argument is off [64] */
    HEDDLE_ECONFIG = -3,   /* a setting is unknown or contradictory [78] */
    HEDDLE_EDATA = -4,     /* bad input data: a trace, a snapshot [65] */
    HEDDLE_ENOINPUT = -5,  /* an input file cannot be opened [66] */
    HEDDLE_EIO = -6,       /* reading or writing failed [74] */
    HEDDLE_EPOLICY = -7,   /* a policy broke a rule [70] */
    HEDDLE_ESTUCK = -8,    /* no progress; see heddle_stuck() [70] */
    HEDDLE_ECHECK = -9,    /* an invariant is broken (--check) [70] */
    HEDDLE_EPROGRAM = -10, /* a kernel program is wrong [65] */
    HEDDLE_ECREATE = -11,  /* an output file cannot be created [73] */
};

/*
 * An error: what went wrong, and what was expected; code 0 and no text if
 * nothing did.  Calls that make, load or write something fill one of the
 * caller's, which may be NULL; the last one of an object is heddle_error(),
 * heddle_config_error() or heddle_program_error(), which are never NULL.
 */
struct heddle_error {
    int code; /* a negative HEDDLE_E code */
    char text[1024];
};

/* The text of every HEDDLE_ENOMEM, wherever it is noticed, and of nothing else:
 * Lua has it for its own. */
#define HEDDLE_NO_MEMORY "not enough memory"

/* "HEDDLE_ECONFIG" for -3, and so on; never NULL. */
HEDDLE_API const char *heddle_status_name(int status);
HEDDLE_API const char *heddle_version(void);
HEDDLE_API uint32_t heddle_version_number(void);

typedef struct heddle_config heddle_config;
typedef struct heddle_sim heddle_sim;
typedef struct heddle_workload heddle_workload;
typedef struct heddle_snapshot heddle_snapshot;

/* ---- memory ---------------------------------------------------------- */

/* An allocator in the manner of lua_Alloc, for a simulation itself.  What its
 * parts, workloads and readers take comes from malloc, the arena from mmap. */
struct heddle_alloc {
    void *(*fn)(void *ud, void *ptr, size_t osize, size_t nsize);
    void *ud;
};

/* ---- settings -------------------------------------------------------- */

/* Their names, types and defaults: heddle list settings. */
HEDDLE_API heddle_config *heddle_config_new(void); /* returns owned */
HEDDLE_API void heddle_config_free(heddle_config *c);
/* Sets one setting from text.  HEDDLE_ECONFIG names the nearest known one. */
HEDDLE_API int heddle_config_set(heddle_config *c, const char *name,
                                 const char *value);
/* Checks what one setting alone cannot show. */
HEDDLE_API int heddle_config_check(heddle_config *c);
HEDDLE_API const struct heddle_error *
heddle_config_error(const heddle_config *c);

/* ---- workloads --------------------------------------------------------
 *
 * A workload is given to heddle_new(), which shares it until heddle_free().  It
 * serves one simulation at a time.
 *
 * In Lua it is a userdata with the metatable "heddle.workload" whose block
 * begins with a heddle_workload *.
 */

/* Frees a workload; one that a simulation uses is freed with that.  NULL is
 * allowed. */
HEDDLE_API void heddle_workload_free(heddle_workload *w);
HEDDLE_API const char *heddle_workload_name(const heddle_workload *w);
/* xxh3 of everything that defines it. */
HEDDLE_API uint64_t heddle_workload_hash(const heddle_workload *w);

/* What an instruction of a warp is. */
enum heddle_op {
    HEDDLE_OP_ALU, /* a run of instructions without an access */
    HEDDLE_OP_LOAD,
    HEDDLE_OP_STORE,
    HEDDLE_OP_ATOMIC,
    HEDDLE_OP_BARRIER, /* waits for all live warps of the block */
    HEDDLE_OP_EXIT,    /* the warp is done */
    HEDDLE_OPS
};

/* Classes of instructions, where a machine has them (core.classes). */
enum heddle_class {
    HEDDLE_CLASS_INT,
    HEDDLE_CLASS_FP32,
    HEDDLE_CLASS_FP64,
    HEDDLE_CLASS_SFU,
    HEDDLE_CLASS_TENSOR,
    HEDDLE_CLASS_MEMORY,
    HEDDLE_CLASS_SHARED,
    HEDDLE_CLASS_CONTROL,
    HEDDLE_CLASS_UNKNOWN,
    HEDDLE_CLASSES
};

/* "alu", "load", ... */
HEDDLE_API const char *heddle_op_name(unsigned op);

/* What a program's host may say of a buffer, and do to its pages, before a
 * launch. */
enum heddle_advice {
    HEDDLE_ADVICE_READ_MOSTLY = 1, /* the host keeps a copy */
    HEDDLE_ADVICE_GPU = 2,         /* its place is the GPU's memory, */
    HEDDLE_ADVICE_HOST = 4,        /* or the host's */
    HEDDLE_ADVICE_ACCESSED_BY = 8  /* the GPU has it mapped wherever it is */
};
enum heddle_move {
    HEDDLE_MOVE_TO_GPU,  /* prefetched */
    HEDDLE_MOVE_TO_HOST, /* prefetched there */
    HEDDLE_MOVE_READ,    /* the host reads all of it, */
    HEDDLE_MOVE_WRITTEN  /* or writes it */
};

/* ---- life of a simulation -------------------------------------------- */

/*
 * Builds a simulation.  Borrows c and alloc (NULL: malloc); shares the
 * workloads until heddle_free, so that their owner may free them before.
 * Workload i becomes application i.  NULL on error, which is
 * heddle_config_error(c), too.
 */
HEDDLE_API heddle_sim *heddle_new(heddle_config *c,
                                  const struct heddle_alloc *alloc,
                                  heddle_workload *const *workloads, uint32_t n,
                                  struct heddle_error *error);
HEDDLE_API void heddle_free(heddle_sim *s);
/* The last error of a simulation: of a run, else of a call that
 * binds a policy or steers.  Asked for after that call, not in one expression
 * with it. */
HEDDLE_API const struct heddle_error *heddle_error(const heddle_sim *s);

/*
 * Runs at most `cycles` core cycles (UINT64_MAX: to the end).  HEDDLE_OK: the
 * cycles have passed; HEDDLE_DONE, HEDDLE_STOPPED, or an error.
 */
HEDDLE_API int heddle_run(heddle_sim *s, uint64_t cycles);
/* Makes heddle_run return HEDDLE_STOPPED soon; may be called from a signal
 * handler or a policy. */
HEDDLE_API void heddle_stop(heddle_sim *s);
/* Core cycles passed since the start. */
HEDDLE_API uint64_t heddle_now(const heddle_sim *s);
/* Core cycles that the counters of all cover: since the end of the warm-up, the
 * first application's own start (heddle_set_start), or the last
 * heddle_reset_counters(). */
HEDDLE_API uint64_t heddle_counted(const heddle_sim *s);
/* Warp instructions issued so far, all applications. */
HEDDLE_API uint64_t heddle_instructions(const heddle_sim *s);
/*
 * Gives an application a budget of its own instead of sim.budget, before the
 * first run: it finishes after so many warp instructions, and starts again
 * until it has issued them.  For equal work in runs that are compared.
 */
HEDDLE_API int heddle_set_budget(heddle_sim *s, uint32_t app,
                                 uint64_t instructions);
/*
 * Has an application's instructions, cycles, budget and counters count from its
 * instruction of that number on (0: from the end of the warm-up), before the
 * first run.  A warm-up of so many cycles leaves faster machines further in the
 * program; this lets runs be compared over the same instructions, and what is
 * counted is of that work alone.  What belongs to no application counts from
 * the first of them on.
 */
HEDDLE_API int heddle_set_start(heddle_sim *s, uint32_t app,
                                uint64_t instructions);
/* Sets counters to 0, but for those of applications with a start of their own;
 * the state of the machine stays, and what policies count. */
HEDDLE_API void heddle_reset_counters(heddle_sim *s);

/* ---- applications ---------------------------------------------------- */

struct heddle_app_info {
    size_t size;
    const char *name;
    uint64_t footprint;    /* bytes allocated */
    uint64_t pages;        /* base pages mapped */
    uint64_t instructions; /* warp instructions, frozen at completion */
    uint64_t before;       /* those before it, in the warm-up */
    uint64_t thread_instructions;
    uint64_t cycles;      /* core cycles to first completion, or so far; its
                             counters cover them */
    uint64_t completions; /* times it has finished */
    uint32_t kernel;      /* launch in progress, 1, 2, ... */
    uint64_t blocks_done, blocks; /* of that launch */
    int finished;                 /* frozen: finished, or its budget is used */
    int truncated;                /* the budget ended it */
    uint64_t hash;                /* of the workload */
};

struct heddle_kernel_info {
    size_t size;
    const char *name;
    uint32_t app, id, run; /* run: 0 first execution, 1 relaunch, ... */
    uint64_t start, end;   /* core cycles; end 0 while running */
    uint64_t instructions, thread_instructions, blocks;
    uint64_t launches; /* 1, or more once the list of launches is full and
                          later ones are added to the last of their name */
    uint64_t cycles;   /* in all launches */
    /* sample.launches: launches that ran without time and for which this one
     * stands, their instructions, and those whose instruction mix differs. */
    uint64_t stands_for, stands_for_instructions, unlike;
    /* Its stream, 0 being the default one, and core cycles in which other
     * launches of its application ran, too. */
    uint32_t stream;
    uint64_t overlap;
};

HEDDLE_API uint32_t heddle_apps(const heddle_sim *s);
HEDDLE_API int heddle_app(const heddle_sim *s, uint32_t app,
                          struct heddle_app_info *out);
HEDDLE_API uint32_t heddle_kernels(const heddle_sim *s);
HEDDLE_API int heddle_kernel(const heddle_sim *s, uint32_t i,
                             struct heddle_kernel_info *out);

/* ---- counters -------------------------------------------------------- */

struct heddle_counter_info {
    size_t size;
    const char *component; /* "l2tlb" */
    const char *name;      /* "hits" */
    const char *unit;
    const char *meaning;
    uint32_t instances; /* copies of the component */
    int peak;           /* a maximum, not a sum */
    int level;          /* a value as it is, not what was added over time */
};

/* The i-th counter of a simulation; HEDDLE_EINVAL past the last. */
HEDDLE_API int heddle_counter(const heddle_sim *s, uint32_t i,
                              struct heddle_counter_info *out);
/* A counter by its name, "l2tlb.hits": of one application, or of all and none
 * with UINT32_MAX, over all copies of the component.  HEDDLE_EINVAL: there is
 * no such counter. */
HEDDLE_API int heddle_counter_total(const heddle_sim *s, const char *name,
                                    uint32_t app, uint64_t *out);
/* The i-th one's value for one instance and application; app == heddle_apps(s):
 * what belongs to no application. */
HEDDLE_API uint64_t heddle_counter_value(const heddle_sim *s, uint32_t i,
                                         uint32_t instance, uint32_t app);
struct heddle_hist_info {
    size_t size;
    const char *component, *name, *unit, *meaning;
};

/* The i-th histogram of a simulation; HEDDLE_EINVAL past the last. */
HEDDLE_API int heddle_hist(const heddle_sim *s, uint32_t i,
                           struct heddle_hist_info *out);
/* A histogram for one application; percentiles are upper bounds of buckets. */
struct heddle_hist_summary {
    uint64_t n, sum, min, max;
    uint64_t p50, p90, p95, p99;
};

struct heddle_hist_bucket {
    uint64_t from, to, n; /* values in [from, to], and how many there were */
};

HEDDLE_API int heddle_hist_summary(const heddle_sim *s, uint32_t i,
                                   uint32_t app,
                                   struct heddle_hist_summary *out);
/* Bucket b; HEDDLE_EINVAL past the last. */
HEDDLE_API int heddle_hist_bucket(const heddle_sim *s, uint32_t i, uint32_t app,
                                  uint32_t b, struct heddle_hist_bucket *out);

/* ---- sampling ------------------------------------------------------- */

/*
 * With sample.every or sample.launches a part of a run is simulated in detail.
 * The counters are that part's; these say how large it was and what was
 * measured, for estimates of the whole.
 */
struct heddle_sample_info {
    size_t size;
    uint64_t windows;      /* that were measured */
    uint64_t instructions; /* in them */
    uint64_t launches;     /* that ran without time (sample.launches) */
    uint64_t skipped;      /* instructions that did */
};

struct heddle_window_info {
    size_t size;
    uint64_t first;        /* instruction, of all that were issued or skipped */
    uint64_t instructions; /* warp instructions in it */
    double cycles;         /* core cycles */
};

/* HEDDLE_EINVAL: nothing is sampled. */
HEDDLE_API int heddle_sample(const heddle_sim *s,
                             struct heddle_sample_info *out);
/* The i-th window; HEDDLE_EINVAL past the last. */
HEDDLE_API int heddle_sample_window(const heddle_sim *s, uint32_t i,
                                    struct heddle_window_info *out);
/* The i-th counter (heddle_counter) of the application, as it was before cycle
 * 0, and what it gained in all windows. */
HEDDLE_API int heddle_sample_counter(const heddle_sim *s, uint32_t i,
                                     uint64_t *before, uint64_t *windows);

/* ---- looking inside -------------------------------------------------- */

/* A row is what one entry, request or waiting part looks like. */
struct heddle_visitor {
    void (*row)(void *ud, const char *kind); /* a new row begins */
    void (*number)(void *ud, const char *field, uint64_t value);
    void (*text)(void *ud, const char *field, const char *value);
    void *ud;
};

struct heddle_object_info {
    size_t size;
    const char *name;   /* "l1tlb", "dram", "pagetable" */
    uint32_t instances; /* l1tlb: one a core */
};

HEDDLE_API int heddle_object(const heddle_sim *s, uint32_t i,
                             struct heddle_object_info *out);
/* Shows all entries of one instance. */
HEDDLE_API int heddle_look(heddle_sim *s, const char *object, uint32_t instance,
                           struct heddle_visitor *v);
/* Shows what waits for what: the wait-for graph, a row "wait" an edge, with
 * who, instance and for; and with what there is of why, n (how many), app, vpn,
 * channel. */
HEDDLE_API int heddle_stuck(heddle_sim *s, struct heddle_visitor *v);
/* Verifies every invariant now; HEDDLE_ECHECK names the one that fails. */
HEDDLE_API int heddle_check(heddle_sim *s);
/* Translates as the page table does; HEDDLE_EINVAL if nothing is mapped. */
HEDDLE_API int heddle_translate(heddle_sim *s, uint32_t app, uint64_t va,
                                uint64_t *pa, uint64_t *page_bytes);

/* ---- snapshots ------------------------------------------------------- */

/*
 * A snapshot owns all that it needs.  It, the simulation that it was taken
 * from, those that it was restored into, their configurations, workloads and
 * policies may be freed in any order, and it can be restored as long as it
 * lives.  Written pages of buffers are shared and counted: a snapshot and the
 * simulations that it was taken from or restored into are used by one thread
 * at a time, all together.
 */

/* Copies the state into *k: NULL, and then it is made (returns owned), or a
 * snapshot of any simulation, whose memory is used again.  On an error *k is
 * freed and NULL; without memory (HEDDLE_ENOMEM) the simulation stays as it
 * was. */
HEDDLE_API int heddle_snapshot_take(heddle_sim *s, heddle_snapshot **k);
/* Puts the state back.  The simulation must have the configuration, the
 * workloads and the policies of the one that was copied, and have found room
 * for its state (ulimit -v); HEDDLE_EINVAL if not, and then it stays as it was.
 * Where memory ends on the way, it has failed until a snapshot is restored. */
HEDDLE_API int heddle_snapshot_restore(heddle_sim *s, const heddle_snapshot *k);
HEDDLE_API void heddle_snapshot_free(heddle_snapshot *k);

/* What is in the file of a snapshot beside it. */
struct heddle_checkpoint {
    const char *build; /* a line that tells programs apart, and */
    const char *note;  /* one of the caller's, 200 bytes at most: lines 2 and 3
                          of the file begin with "build " and "note " */
    const void *more;  /* bytes of the caller's; those read are the snapshot's */
    size_t bytes;
};

/* Writes a file that is there whole or not at all: settings, hashes of
 * workloads and policies, and the state, compressed and with a checksum. */
HEDDLE_API int heddle_snapshot_write(const heddle_snapshot *k, const char *path,
                                     const struct heddle_checkpoint *c,
                                     struct heddle_error *error);
/* Reads one into *k (returns owned), for a simulation of the same settings,
 * workloads and policies in a program of the same build.  Else HEDDLE_EINVAL,
 * and heddle_error(s) says what differs; HEDDLE_EDATA: it is damaged.  The
 * simulation stays as it is.  The checksum is against damage, not against
 * malice: a state is believed as a program is. */
HEDDLE_API int heddle_snapshot_read(heddle_sim *s, const char *path,
                                    heddle_snapshot **k,
                                    struct heddle_checkpoint *c);
#ifdef __cplusplus
}
#endif

#endif
