/*
 * 721-interrupts.c - pins that a series broken off at any instant leaves
 * nothing: no process that goes on, also none that a job has started, no half
 * file, and no child that runs on with its parent's script.  And that it ends
 * soon, with 130, 143 or 129.
 *
 * Random instants, in a loop: series of functions (which write files that they
 * share, nest a series, start a program) and of simulations with their results
 * on disk; Ctrl-C to the process group and to the parent alone, once and twice,
 * SIGTERM and SIGHUP, and the parent killed.  Then SIGTERM twice, as timeout(1)
 * sends it, once a series has a result and once a simulation is under way: what
 * is kept or known is said, and a SIGHUP is not heard below nohup(1).
 * HEDDLE_SEED=n repeats a run, HEDDLE_ROUNDS=n makes it
 * longer.  This process adopts what loses its parent, and so sees all.
 *
 * SPDX-License-Identifier: MIT
 */
#define _XOPEN_SOURCE 700

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "../src/engine/kit/rng.h"
#include "folder.h"

/* What a series may take to end: more than the 4 s that children have who do
 * not listen; and what is lost with it. */
enum { PATIENCE_MS = 15000, ROUNDS = 6, WAYS = 8, LONGEST_MS = 300 };

static const struct way {
    const char *name;
    int sig, times, group;
} ways[WAYS] = {
    {"Ctrl-C", SIGINT, 1, 1},
    {"Ctrl-C twice", SIGINT, 2, 1},
    {"SIGINT to the parent", SIGINT, 1, 0},
    {"SIGINT to the parent twice", SIGINT, 2, 0},
    {"SIGTERM", SIGTERM, 1, 0},
    {"SIGTERM twice", SIGTERM, 2, 1},
    {"SIGHUP", SIGHUP, 1, 1},
    {"the parent killed", SIGKILL, 1, 0},
};

/* arg.round makes the jobs of a round its own; a job that stays is one that
 * waits for a program. */
static const char functions[] =
    "local H = require 'heddle'\n"
    "local A = H.args { round = 0 }\n"
    "local jobs = {}\n"
    "for i = 1, 3000 do\n"
    "    jobs[i] = function()\n"
    "        if i == 5 then os.execute 'sleep 60' end\n"
    "        if i % 40 == 0 then\n"
    "            H.run({ function() end, function() end }, { jobs = 2 })\n"
    "        end\n"
    "        H.report.emit(('x'):rep(20000), 'shared' .. i % 3)\n"
    "        return ('x'):rep(i % 7 == 0 and 1 << 20 or 10)\n"
    "    end\n"
    "end\n"
    "H.run(jobs, { jobs = 6, progress = false })\n"
    "io.open('after', 'a'):write 'x'\n";

static const char simulations[] =
    "local H = require 'heddle'\n"
    "local A = H.args { round = 0 }\n"
    "local jobs = {}\n"
    "for i = 1, 400 do\n"
    "    jobs[i] = { machine = H.machine('maxwell') {\n"
    "            ['l2tlb.entries'] = 16 * i }, seed = A.round,\n"
    "        apps = { H.app('GUP', { size = 'T' }) },\n"
    "        settings = { ['sim.stop_cycles'] = 2000 } }\n"
    "end\n"
    "require('heddle.store').run(jobs, { jobs = 4, dir = '.', quiet = true })\n"
    "io.open('after', 'a'):write 'x'\n";

/* The first 3 of 40 end soon, the others do not. */
static const char forty[] =
    "local H = require 'heddle'\n"
    "local jobs = {}\n"
    "for i = 1, 40 do\n"
    "    jobs[i] = { machine = 'maxwell', seed = i,\n"
    "        apps = { H.app('GUP', { size = i <= 3 and 'T' or 'L' }) } }\n"
    "end\n"
    "require('heddle.store').run(jobs, { jobs = 4, dir = 'store' })\n";

static const char alone[] =
    "local H = require 'heddle'\n"
    "local sim = H.sim { machine = 'maxwell',\n"
    "    apps = { H.app('GUP', { size = 'L' }) } }\n"
    "sim:run(1000)\n"
    "H.report.emit('', 'begun')\n"
    "sim:run()\n";

/* Prints the files that are not whole. */
static const char verify[] =
    "local H = require 'heddle'\n"
    "local core = require 'heddle.core'\n"
    "for name in io.popen 'find . -type f':lines() do\n"
    "    local f = io.open(name, 'rb')\n"
    "    local sum, text = f:read 'l', f:read 'a'\n"
    "    f:close()\n"
    "    if name:find 'shared' and sum ~= ('x'):rep(20000)\n"
    "        or name:find '%.run$' and sum ~= core.fingerprint(text) then\n"
    "        print(name)\n"
    "    end\n"
    "end\n";

static char dir[FOLDER];

static uint64_t number(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text ? strtoull(text, NULL, 10) : otherwise;
}

static void rest(int ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000l};

    while (nanosleep(&t, &t) != 0 && errno == EINTR)
        ;
}

/* The command, with a file of the folder, in a process group of its own. */
static pid_t start(const char *file, unsigned round)
{
    const char *path = getenv("HEDDLE");
    char word[32];
    pid_t pid;
    int fd;

    snprintf(word, sizeof word, "round=%u", round);
    fflush(NULL);
    pid = fork();
    assert_true(pid >= 0);
    if (pid > 0) {
        setpgid(pid, pid);
        return pid;
    }
    setpgid(0, 0);
    signal(SIGINT, SIG_DFL); /* a shell may have it ignored in the background */
    fd = open("said", O_WRONLY | O_CREAT | O_TRUNC, 0666);
    dup2(fd, 1);
    dup2(fd, 2);
    execl(path ? path : "build/release/heddle", "heddle", "run", file,
          round ? word : (char *)NULL, (char *)NULL);
    _exit(98);
}

/* Its status, or -1 where it does not end. */
static int end_of(pid_t pid)
{
    int status;

    for (int ms = 0; ms < PATIENCE_MS; ms += 5) {
        pid_t got = waitpid(pid, &status, WNOHANG);
        assert_true(got >= 0);
        if (got == pid)
            return status;
        rest(5);
    }
    return -1;
}

/* Ends children of this process that nobody waited for, and says if there were
 * any that went on by themselves. */
static int left_over(void)
{
    char path[64], line[4096];

    for (int ms = 0; ms < PATIENCE_MS; ms += 5) {
        pid_t got;
        while ((got = waitpid(-1, NULL, WNOHANG)) > 0)
            ;
        if (got < 0)
            return 0;
        rest(5);
    }
    snprintf(path, sizeof path, "/proc/self/task/%ld/children", (long)getpid());
    FILE *f = fopen(path, "r");
    if (f && fgets(line, sizeof line, f)) {
        char *p = line;
        for (long pid; (pid = strtol(p, &p, 10)) > 0;)
            kill((pid_t)pid, SIGKILL);
    }
    if (f)
        fclose(f);
    while (waitpid(-1, NULL, 0) > 0)
        ;
    return 1;
}

static void put(const char *name, const char *text)
{
    FILE *f = fopen(name, "w");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

/* A file that is no more than begun. */
static int half_file(void)
{
    DIR *d = opendir(".");
    struct dirent *e;
    int found = 0;

    while ((e = readdir(d)) != NULL)
        found |= strstr(e->d_name, ".part") != NULL;
    closedir(d);
    return found;
}

static void press(pid_t pid, const struct way *w, struct hd_rng *r)
{
    for (int i = 0; i < w->times; i++) {
        if (i > 0)
            rest((int)hd_rng_below(r, 30));
        kill(w->group ? -pid : pid, w->sig);
    }
}

/* What the command has printed. */
static const char *said(char *text, size_t room)
{
    FILE *f = fopen("said", "r");

    assert_non_null(f);
    text[fread(text, 1, room - 1, f)] = '\0';
    fclose(f);
    return text;
}

static void all_ways(const char *file, uint64_t stream)
{
    uint64_t seed = number("HEDDLE_SEED", 1);
    unsigned rounds = (unsigned)number("HEDDLE_ROUNDS", ROUNDS);
    struct hd_rng r = hd_rng_make(seed, stream);

    for (unsigned i = 0; i < rounds * WAYS; i++) {
        const struct way *w = &ways[i % WAYS];
        pid_t pid = start(file, i + 1);
        int ms = 5 + (int)hd_rng_below(&r, LONGEST_MS), status;

        rest(ms);
        press(pid, w, &r);
        status = end_of(pid);
        if (status == -1)
            kill(pid, SIGKILL);
        int left = left_over();
        /* before the command listens, a signal ends it as any program */
        int good = WIFSIGNALED(status) ? WTERMSIG(status) == w->sig
                                       : WEXITSTATUS(status) == 128 + w->sig;
        if (status == -1 || left || !good || access("after", F_OK) == 0 ||
            half_file())
            fail_msg("HEDDLE_SEED=%llu, round %u, %s after %d ms: status %d%s%s"
                     "%s%s",
                     (unsigned long long)seed, i, w->name, ms, status,
                     status == -1 ? ", it hangs" : "",
                     left ? ", a process goes on" : "",
                     access("after", F_OK) == 0 ? ", the script went on" : "",
                     half_file() ? ", a half file" : "");
    }
    pid_t pid = start("verify.lua", 0);
    assert_int_equal(end_of(pid), 0);
    char text[256];
    assert_string_equal(said(text, sizeof text), "");
}

static void of_functions(void **state)
{
    (void)state;
    put("functions.lua", functions);
    all_ways("functions.lua", 1);
}

static void of_simulations(void **state)
{
    (void)state;
    put("simulations.lua", simulations);
    all_ways("simulations.lua", 2);
}

/* Files of results in the store. */
static int kept(void)
{
    DIR *d = opendir("store");
    struct dirent *e;
    int n = 0;

    while (d && (e = readdir(d)) != NULL)
        n += strstr(e->d_name, ".run") != NULL;
    if (d)
        closedir(d);
    return n;
}

static int begun(void)
{
    return access("begun", F_OK) == 0;
}

/* Starts a script, sends two signals once `there` is true, and waits for the end:
 * that it has this status, and leaves nothing. */
static void end_by(const char *file, int (*there)(void), int first, int second,
                   int status)
{
    pid_t pid = start(file, 0);

    for (int ms = 0; ms < 10 * PATIENCE_MS && !there(); ms += 5)
        rest(5);
    assert_true(there());
    kill(pid, first);
    rest(2);
    kill(pid, second);
    int got = end_of(pid);
    assert_true(got != -1 && WIFEXITED(got));
    assert_int_equal(WEXITSTATUS(got), status);
    assert_false(left_over());
    assert_false(half_file());
}

static void in_a_series(void **state)
{
    char text[4096], want[64];

    (void)state;
    put("forty.lua", forty);
    end_by("forty.lua", kept, SIGTERM, SIGTERM, 143);
    int n = kept();
    assert_in_range(n, 1, 3);
    snprintf(want, sizeof want, "%d of 40 results are kept in store", n);
    assert_non_null(strstr(said(text, sizeof text), want));
    pid_t pid = start("verify.lua", 0);
    assert_int_equal(end_of(pid), 0);
    assert_string_equal(said(text, sizeof text), "");
}

static void simulation_by(int first, int second, int status)
{
    char text[65536];

    put("alone.lua", alone);
    unlink("begun");
    end_by("alone.lua", begun, first, second, status);
    assert_non_null(strstr(said(text, sizeof text), "interrupted at cycle"));
    assert_non_null(strstr(text, "alone.lua:6: interrupted"));
}

static void in_a_simulation(void **state)
{
    (void)state;
    simulation_by(SIGTERM, SIGTERM, 143);
    simulation_by(SIGHUP, SIGHUP, 129);
}

static void below_nohup(void **state)
{
    (void)state;
    signal(SIGHUP, SIG_IGN);
    simulation_by(SIGHUP, SIGTERM, 143);
    signal(SIGHUP, SIG_DFL);
}

static int make_dir(void **state)
{
    (void)state;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    signal(SIGHUP, SIG_DFL); /* this may run below nohup itself */
    if (!folder_make(dir) || chdir(dir) != 0)
        return -1;
    put("verify.lua", verify);
    return 0;
}

static int remove_dir(void **state)
{
    (void)state;
    return system("rm -r ./*") != 0 || rmdir(dir) != 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_functions),
        cmocka_unit_test(of_simulations),
        cmocka_unit_test(in_a_series),
        cmocka_unit_test(in_a_simulation),
        cmocka_unit_test(below_nohup),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
