/*
 * list.c - kernelslist.g, directories of traces, and what a path is.
 *
 * A list is text, one command a line, in the order of the program:
 *
 *   MemcpyHtoD,0xADDR,BYTES    a copy to the device
 *   cudaMalloc,0xADDR,BYTES    an allocation (written by forks of the tracer)
 *   kernel...                  a kernel's file, next to the list
 *
 * Blank lines are passed over; others too, but counted for the lint.  A kernel
 * may be listed in another form than its file has: .traceg, .traceg.xz,
 * .tracez. Accel-Sim's tracer writes no events and no waits; lines of those
 * that others do are counted apart, because kernels of different streams that
 * overlap would need them (source.c).  A raw list, whose kernels were not
 * post-processed, a directory with no other, and files that are no list get
 * words of their own.
 *
 * Since 2025 a process with several CUDA contexts writes a list for each
 * (kernelslist_ctx_0x...); a context is an address space.  In a directory
 * kernelslist.g comes first and the others follow by name, because the order
 * in which a directory is read means nothing.
 *
 * Allocations: each cudaMalloc, and each copy that is in none of those or of
 * the other copies.  What kernels touch beyond them becomes the page list.
 *
 * SPDX-License-Identifier: MIT
 */
#include "text.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- paths --------------------------------------------------------------- */

static bool ends(const char *s, const char *tail)
{
    size_t n = strlen(s), m = strlen(tail);

    return n >= m && strcmp(s + n - m, tail) == 0;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

/* dir/name; dir is what precedes `dir_len`.  Owned, or NULL. */
static char *path_join(const char *dir, size_t dir_len, const char *name,
                       size_t name_len, const char *tail)
{
    size_t n = dir_len + name_len + strlen(tail) + 1;
    char *s = malloc(n);

    if (s == NULL)
        return NULL;
    memcpy(s, dir, dir_len);
    memcpy(s + dir_len, name, name_len);
    strcpy(s + dir_len + name_len, tail);
    return s;
}

static int add_path(struct hd_trace_input *in, char *path,
                    struct heddle_error *err)
{
    char **p = hd_grow(&in->path, in->n, &in->room, sizeof *p);

    if (p == NULL || path == NULL) {
        free(path);
        return hd_err_memory(err);
    }
    p[in->n++] = path;
    return 0;
}

void hd_trace_input_free(struct hd_trace_input *in)
{
    for (size_t i = 0; i < in->n; i++)
        free(in->path[i]);
    free(in->path);
    *in = (struct hd_trace_input){0};
}

static int by_list(const void *a, const void *b)
{
    const char *x = base_name(*(char *const *)a);
    const char *y = base_name(*(char *const *)b);
    int fx = strcmp(x, "kernelslist.g"), fy = strcmp(y, "kernelslist.g");

    return fx == 0 || fy == 0 ? (fy == 0) - (fx == 0) : strcmp(x, y);
}

/* What a directory without a list has instead. */
struct instead {
    char raw[64]; /* the tracer's own list; "": none */
    size_t kernels;
    bool traces; /* a directory, as the tracer makes it */
};

static void see_instead(struct instead *n, const char *name)
{
    if (strncmp(name, "kernelslist", 11) == 0)
        snprintf(n->raw, sizeof n->raw, "%.63s", name);
    n->kernels += strncmp(name, "kernel-", 7) == 0 &&
                  (strstr(name, ".traceg") != NULL || ends(name, ".tracez"));
    n->traces |= strcmp(name, "traces") == 0;
}

static int no_list(const char *path, const struct instead *n,
                   struct heddle_error *err)
{
    if (n->raw[0] != '\0')
        return hd_err_set(err, HEDDLE_ENOINPUT,
                          "%s: no kernelslist.g in this directory, only the "
                          "tracer's own %s, of raw traces; run the tracer's "
                          "post-processing on it first "
                          "(post-traces-processing %s, older ones %s/%s)",
                          path, n->raw, path, path, n->raw);
    if (n->kernels != 0)
        return hd_err_set(err, HEDDLE_ENOINPUT,
                          "%s: no kernelslist.g in this directory for its %zu "
                          "kernels; write their names to it, one a line, in "
                          "the order in which they ran",
                          path, n->kernels);
    return hd_err_set(err, HEDDLE_ENOINPUT,
                      "%s: no kernelslist.g in this directory%s", path,
                      n->traces ? "; its folder traces may have one" : "");
}

static int read_dir(const char *path, struct hd_trace_input *in,
                    struct heddle_error *err)
{
    struct instead instead = {0};
    DIR *d = opendir(path);
    struct dirent *e;
    char *dir = path_join(path, strlen(path), "/", 1, "");

    if (d == NULL)
        hd_err_set(err, hd_err_errno(HEDDLE_ENOINPUT), "%s: cannot open: %s",
                   path, strerror(errno));
    else if (dir == NULL)
        hd_err_memory(err);
    while (err->code == 0 && (e = readdir(d)) != NULL) {
        const char *s = e->d_name;
        if (strncmp(s, "kernelslist", 11) == 0 && ends(s, ".g"))
            add_path(in, path_join(dir, strlen(dir), s, strlen(s), ""), err);
        else
            see_instead(&instead, s);
    }
    if (err->code == 0 && in->n == 0)
        no_list(path, &instead, err);
    if (in->n != 0)
        qsort(in->path, in->n, sizeof *in->path, by_list);
    if (d != NULL)
        closedir(d);
    free(dir);
    in->form = HD_TF_LISTS;
    return err->code;
}

/* A kernel's text begins with its header, or it is compressed; or it has the
 * name of one, because its header may begin with a comment. */
static int is_kernel(const char *path, struct heddle_error *err)
{
    static const char *const names[] = {".traceg", ".traceg.xz", ".tracez",
                                        ".trace", ".trace.xz"};
    char head[8] = {0};
    FILE *f = fopen(path, "rb");

    if (f == NULL)
        return hd_err_set(err, hd_err_errno(HEDDLE_ENOINPUT),
                          "%s: cannot open: %s", path, strerror(errno));
    size_t n = fread(head, 1, sizeof head, f);
    fclose(f);
    for (size_t i = 0; i < HD_LEN(names); i++) {
        if (ends(path, names[i]))
            return 1;
    }
    return (n >= 6 && memcmp(head,
                             "\xfd"
                             "7zXZ",
                             6) == 0) ||
           (n >= 1 && head[0] == '-');
}

int hd_trace_input_open(const char *path, struct hd_trace_input *in,
                        struct heddle_error *err)
{
    struct stat st;
    int r;

    *in = (struct hd_trace_input){0};
    if (stat(path, &st) != 0)
        return hd_err_set(err, HEDDLE_ENOINPUT, "%s: cannot open: %s", path,
                          strerror(errno));
    if (S_ISDIR(st.st_mode)) {
        r = read_dir(path, in, err);
        if (r != 0)
            hd_trace_input_free(in);
        return r;
    }
    if ((r = hd_container_is(path, err)) < 0)
        return r;
    in->form = HD_TF_CONTAINER;
    if (r == 0) {
        if ((r = is_kernel(path, err)) < 0)
            return r;
        in->form = r ? HD_TF_KERNEL : HD_TF_LISTS;
    }
    r = add_path(in, path_join(path, strlen(path), "", 0, ""), err);
    if (r != 0)
        hd_trace_input_free(in);
    return r;
}

#define LARGEST (1ull << 44) /* bytes of an allocation */

/* ---- allocations --------------------------------------------------------- */

struct span {
    uint64_t base, end;
    size_t i;
};

static int by_base(const void *a, const void *b)
{
    const struct span *x = a, *y = b;

    if (x->base != y->base)
        return x->base < y->base ? -1 : 1;
    if (x->end != y->end)
        return x->end > y->end ? -1 : 1;
    return (x->i > y->i) - (x->i < y->i);
}

/* Removes allocations that are inside another; the order stays. */
static int merge_allocs(struct hd_trace_context *x, struct heddle_error *err)
{
    struct span *s = malloc((x->allocs + 1) * sizeof *s);
    uint64_t reach = 0;
    size_t n = 0;

    if (s == NULL)
        return hd_err_memory(err);
    for (size_t i = 0; i < x->allocs; i++)
        s[i] = (struct span){x->alloc[i].base,
                             x->alloc[i].base + x->alloc[i].bytes, i};
    if (x->allocs != 0)
        qsort(s, x->allocs, sizeof *s, by_base);
    for (size_t i = 0; i < x->allocs; i++) {
        if (s[i].end <= reach)
            x->alloc[s[i].i].bytes = 0;
        reach = hd_max_u64(reach, s[i].end);
    }
    for (size_t i = 0; i < x->allocs; i++) {
        if (x->alloc[i].bytes != 0)
            x->alloc[n++] = x->alloc[i];
    }
    x->allocs = n;
    free(s);
    return 0;
}

/* ---- lists --------------------------------------------------------------- */

struct list {
    const char *path;
    struct hd_container *container;
    struct hd_trace_text *text;
    struct hd_choice *choice;
    struct hd_pages pages;
    struct heddle_error *err;
    uint64_t line;
    bool named;        /* it has a kernel */
    uint64_t odd_line; /* the first that says nothing known, and its text */
    char odd[64];
};

static int list_bad_line(struct list *l, const char *p, const char *what)
{
    size_t n = strcspn(p, "\n");

    return hd_err_set(l->err, HEDDLE_EDATA, "%s:%llu: %s: `%.*s'", l->path,
                      (unsigned long long)l->line, what, (int)(n < 60 ? n : 60),
                      p);
}

/* ",0xADDR,BYTES" */
static int alloc_line(struct list *l, const char *line, const char *p,
                      const char *name)
{
    uint64_t base, bytes;

    p = *p == ',' ? hd_scan_hex(p + 1, &base) : NULL;
    p = p != NULL && *p == ',' ? hd_scan_dec(p + 1, &bytes) : NULL;
    if (p == NULL || *hd_skip_blank(p) != '\n')
        return list_bad_line(l, line, "expected an address and a size");
    if (base >= HD_TRACE_VA_END || bytes > HD_TRACE_VA_END - base)
        return list_bad_line(l, line, "this is not below 2^48");
    if (bytes > LARGEST)
        return list_bad_line(l, line, "an allocation of more than 16 TB");
    if (bytes == 0)
        return 0;
    return hd_container_alloc(l->container,
                              (uint32_t)l->container->contexts - 1, name, base,
                              bytes, l->err);
}

/* Reads a kernel, if it is chosen; its file is not opened where the choice is
 * by number and does not have it. */
static int list_kernel(struct list *l, const char *path)
{
    bool there = access(path, F_OK) == 0, names = hd_choice_names(l->choice);
    char *name = NULL;

    if (there && names && (name = hd_trace_text_name(path, l->err)) == NULL)
        return l->err->code;
    bool chosen = hd_choice_kernel(l->choice, name);
    free(name);
    l->named = true;
    if (!there && (chosen || names))
        return hd_err_set(l->err, HEDDLE_ENOINPUT, "%s:%llu: %s: %s", l->path,
                          (unsigned long long)l->line, path, strerror(ENOENT));
    if (!chosen)
        return 0;
    return hd_trace_text_kernel(l->text, path, &l->pages, l->err);
}

/* How many characters of a kernel's path are not its form. */
static size_t list_stem(const char *path)
{
    const char *dot = strstr(base_name(path), ".trace");

    return dot != NULL ? (size_t)(dot - path) : strlen(path);
}

/* The file of a kernel in one of so many forms; NULL if there is none, or no
 * memory. */
static char *list_form(const char *path, const char *const *forms, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char *other = path_join(path, list_stem(path), "", 0, forms[i]);
        if (other == NULL || access(other, F_OK) == 0)
            return other;
        free(other);
    }
    return NULL;
}

static int kernel_line(struct list *l, const char *p)
{
    static const char *const forms[] = {".traceg", ".traceg.xz", ".tracez"};
    static const char *const raws[] = {".trace", ".trace.xz"};
    size_t n = strcspn(p, " \t\r\n");
    size_t dir = (size_t)(base_name(l->path) - l->path);
    char *path = path_join(l->path, dir, p, n, ""), *other = NULL;
    bool raw =
        path != NULL && (ends(path, ".trace") || ends(path, ".trace.xz"));
    int r = 0;

    if (path == NULL)
        return hd_err_memory(l->err);
    bool there = access(path, F_OK) == 0;
    if (raw || !there)
        other = list_form(path, forms, HD_LEN(forms));
    if (raw && other != NULL) {
        r = list_bad_line(l, p,
                          "a raw trace; post-processing has grouped it in "
                          "another file, which a kernelslist.g lists");
    } else if (!there && other != NULL) {
        free(path);
        path = other;
        other = NULL;
    } else if (!there && !raw &&
               (other = list_form(path, raws, HD_LEN(raws))) != NULL) {
        r = list_bad_line(l, p,
                          "not there, only its raw trace; run the "
                          "tracer's post-processing again");
    }
    r = r != 0 ? r : list_kernel(l, path);
    free(other);
    free(path);
    return r;
}

/* A line that orders streams. */
static bool list_event(const char *p)
{
    static const char *const calls[] = {
        "EventRecord",       "StreamWaitEvent",   "EventSynchronize",
        "StreamSynchronize", "DeviceSynchronize", "CtxSynchronize"};
    const char *q = hd_scan_is(p, "cuda");

    q = q != NULL ? q : hd_scan_is(p, "cu");
    for (size_t i = 0; q != NULL && i < HD_LEN(calls); i++)
        if (hd_scan_is(q, calls[i]) != NULL)
            return true;
    return false;
}

static int list_line(struct list *l, const char *p)
{
    struct hd_trace_context *x =
        &l->container->context[l->container->contexts - 1];
    const char *q;

    if (*hd_skip_blank(p) == '\n')
        return 0;
    if (hd_scan_is(p, "kernel id,") != NULL)
        return list_bad_line(l, p,
                             "the tracer's table of kernels, not a list; "
                             "open the directory that it is in");
    if (hd_scan_is(p, "MEMTRACE:") != NULL)
        return list_bad_line(l, p,
                             "the output of NVBit's mem_trace, which has "
                             "no instructions; use Accel-Sim's tracer");
    if (list_event(p)) {
        hd_trace_note(x, HD_TN_EVENT_LINE, l->path, l->line);
        return 0;
    }
    if ((q = hd_scan_is(p, "MemcpyHtoD")) != NULL)
        return alloc_line(l, p, q, "copy");
    if ((q = hd_scan_is(p, "cudaMalloc")) != NULL)
        return alloc_line(l, p, q, "malloc");
    if (hd_scan_is(p, "kernel") != NULL)
        return kernel_line(l, p);
    for (q = p; *q != '\n'; q++) {
        if (*q == '\0')
            return list_bad_line(l, p, "this is not a list of kernels");
    }
    if (l->odd_line == 0) {
        l->odd_line = l->line;
        snprintf(l->odd, sizeof l->odd, "%.*s", (int)(q - p), p);
    }
    hd_trace_note(x, HD_TN_LIST_LINE, l->path, l->line);
    return 0;
}

/* The list names no kernel, perhaps because it is something else. */
static int no_kernel(struct list *l)
{
    if (l->odd_line == 0)
        return hd_err_set(l->err, HEDDLE_EDATA, "%s: no kernel in this list",
                          l->path);
    return hd_err_set(l->err, HEDDLE_EDATA,
                      "%s:%llu: no kernel in this list; expected kernel..., "
                      "MemcpyHtoD or cudaMalloc, not `%s'",
                      l->path, (unsigned long long)l->odd_line, l->odd);
}

static int list_read(struct list *l)
{
    struct hd_trace_in *in = hd_trace_in_open(l->path, l->err);
    const char *p, *end;
    int r;

    if (in == NULL)
        return l->err->code;
    while ((r = hd_trace_in_more(in, &p, &end, l->err)) > 0) {
        for (r = 0; p < end && r == 0;) {
            l->line++;
            r = list_line(l, p);
            while (*p++ != '\n')
                ;
        }
        if (r != 0)
            break;
    }
    if (r == 0 && !l->named)
        r = no_kernel(l);
    hd_trace_in_close(in);
    return r;
}

/*
 * What an address space is called: the directory of its list (a trace of
 * `app` is in app/kernelslist.g), and the context if it is another one's
 * list; a kernel alone has its file's name.
 */
static void name_context(const char *path, bool kernel, char *out, size_t room)
{
    const char *file = base_name(path), *end = file, *dir;
    char here[512];

    if (kernel) {
        snprintf(out, room, "%.*s", (int)strcspn(file, "."), file);
        return;
    }
    while (end > path && end[-1] == '/')
        end--;
    for (dir = end; dir > path && dir[-1] != '/'; dir--)
        ;
    size_t n = (size_t)(end - dir);
    if (n == 0 || (n == 1 && *dir == '.')) {
        dir = getcwd(here, sizeof here) != NULL ? base_name(here) : "trace";
        n = strlen(dir);
    }
    const char *rest = strncmp(file, "kernelslist", 11) == 0 ? file + 11 : "";
    snprintf(out, room, "%.*s%.*s", (int)(n < 40 ? n : 40), dir,
             (int)strcspn(rest, "."), rest);
}

/* One address space. */
static int load_one(const struct hd_trace_input *in, size_t i,
                    struct hd_trace_text *text, struct hd_choice *choice,
                    struct hd_container *container, struct heddle_error *err)
{
    struct list l = {.path = in->path[i],
                     .container = container,
                     .text = text,
                     .choice = choice,
                     .err = err};
    bool kernel = in->form == HD_TF_KERNEL;
    char name[64];

    name_context(l.path, kernel, name, sizeof name);
    int r = hd_container_context(container, name, err);
    if (r != 0)
        return r;
    hd_pages_init(&l.pages);
    r = kernel ? list_kernel(&l, l.path) : list_read(&l);
    if (r == 0)
        r = hd_choice_end(choice, l.path, err);
    struct hd_trace_context *x = &container->context[container->contexts - 1];
    if (r == 0)
        r = merge_allocs(x, err);
    if (r == 0 && hd_pages_ranges(&l.pages, x) != 0)
        r = hd_err_memory(err);
    hd_pages_free(&l.pages);
    return r;
}

int hd_trace_load(const struct hd_trace_input *in, uint32_t context,
                  struct hd_choice *choice, struct hd_container *container,
                  struct heddle_error *err)
{
    struct hd_trace_text *text = hd_trace_text_new(container, choice);
    int r = text != NULL ? 0 : hd_err_memory(err);

    for (size_t i = 0; i < in->n && r == 0; i++) {
        if (context == HD_NONE || context == i)
            r = load_one(in, i, text, choice, container, err);
    }
    hd_trace_text_free(text);
    return r == 0 ? hd_container_finish(container, err) : r;
}
