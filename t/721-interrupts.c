/*
 * 721-interrupts.c - pins that a series broken off at any instant leaves
 * nothing: no process that goes on, also none that a job has started, no half
 * file, and no child that runs on with its parent's script.  And that it ends
 * soon, with 130.
 *
 * Random instants, in a loop: series of functions (which write files that they
 * share, nest a series, start a program) and of simulations with their results
 * on disk; Ctrl-C to the process group and to the parent alone, once and twice,
 * and the parent killed.  HEDDLE_SEED=n repeats a run, HEDDLE_ROUNDS=n makes it
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

#include "../src/base/rng.h"

/* What a series may take to end: more than the 4 s that children have who do
 * not listen; and what is lost with it. */
enum { PATIENCE_MS = 15000, ROUNDS = 6, WAYS = 5, LONGEST_MS = 300 };

static const struct way {
    const char *name;
    int sig, times, group;
} ways[WAYS] = {
    {"Ctrl-C", SIGINT, 1, 1},
    {"Ctrl-C twice", SIGINT, 2, 1},
    {"SIGINT to the parent", SIGINT, 1, 0},
    {"SIGINT to the parent twice", SIGINT, 2, 0},
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

/* Prints the files that are not whole. */
static const char verify[] =
    "local H = require 'heddle'\n"
    "local core = require 'heddle.core'\n"
    "for _, name in ipairs(require('heddle.process').list '.') do\n"
    "    local f = io.open(name, 'rb')\n"
    "    local sum, text = f:read 'l', f:read 'a'\n"
    "    f:close()\n"
    "    if name:find 'shared' and sum ~= ('x'):rep(20000)\n"
    "        or name:find '%.run$' and sum ~= core.fingerprint(text) then\n"
    "        print(name)\n"
    "    end\n"
    "end\n";

static char dir[] = "/tmp/heddle-721-XXXXXX";

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
                                       : WEXITSTATUS(status) == 130;
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
    char text[256] = "";
    FILE *f = fopen("said", "r");
    assert_non_null(f);
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = '\0';
    assert_string_equal(text, "");
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

static int make_dir(void **state)
{
    (void)state;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (!mkdtemp(dir) || chdir(dir) != 0)
        return -1;
    put("verify.lua", verify);
    return 0;
}

static int remove_dir(void **state)
{
    DIR *d = opendir(".");
    struct dirent *e;

    (void)state;
    while ((e = readdir(d)) != NULL)
        unlink(e->d_name);
    closedir(d);
    return rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_functions),
        cmocka_unit_test(of_simulations),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
