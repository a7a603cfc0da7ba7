/*
 * genome.c - the suffix tree of a random genome, as MUMmerGPU's
 * textures, and reads to look up in it.
 *
 * The text is `bases` bases drawn one by one (C and G are alike likely, and so
 * are A and T), and behind them an end mark $ that sorts last.  The tree is not
 * grown by Ukkonen's algorithm, whose every step is a cache miss, but read off
 * the sorted suffixes:
 *
 *   1. Suffixes are sorted: a counting sort by the first letters, then an
 *      insertion sort in each bucket, by 32 letters at a time (packed in two
 *      bits each, one 64-bit word).  In a random text buckets are small and
 *      common prefixes short.
 *   2. The tree follows from the lengths of the common prefixes of neighbours,
 *      with a stack of the nodes on the path to the last leaf (Kasai et al.,
 *      Linear-time longest-common-prefix computation in suffix arrays and its
 *      applications, CPM 2001).
 *   3. Nodes are numbered as MUMmerGPU does: breadth first from 1 (0 is no
 *      node) while they are less than 16 edges from the root; below, a node
 *      is followed by four generations of its descendants, depth first, and
 *      the fifth goes back into the queue.  Parents come before children, so
 *      the suffix link of a node is found on the way, down from its parent's.
 *
 * Node id i is at texel 4096 y + x with x = (i mod 2^17) / 32 and y = 32 (i /
 * 2^17) + i mod 32.  node[texel] holds {start, end, child by $, suffix link},
 * child[texel] the children by A, C, G, T; links are texels, 0 where there is
 * none.  start and end are places in the reference, which begins with 's', so
 * that base k is at k + 1 and $ at bases + 1; a leaf's edge ends there.
 * Reference place r is at 65536 y + x with x = (r mod 2^18) / 4 and
 * y = 4 (r / 2^18) + r mod 4, 'Z' where there is nothing.
 *
 * Reads are pieces of a genome of which the text is the beginning: those from
 * behind it find only what chance has.  A read is 'q', its bases, and 0.
 *
 * Memory besides the result: about 43 bytes a base.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "kit/arena.h"
#include "kit/base.h"
#include "kit/bits.h"
#include "kit/rng.h"
#include "generate.h"

enum {
    STREAM_GENOME = 0x67656e00,
    STREAM_READS,
    WORD = 32, /* bases in a word */
    WIDTH = 4096,
    REF_WIDTH = 65536,
    BROAD = 16, /* edges from the root: breadth first down to here */
    DEEP = 4,   /* generations that follow a node below */
    MARK = 4,   /* the letter $ */
    AHEAD = 8,  /* queue entries whose nodes are fetched early */
};

#define LEAF UINT32_C(0x80000000) /* | suffix: a reference to a leaf */
#define NONE UINT32_MAX

static const char LETTER[] = "ACGT";

/* A random genome whose first bases are the reference. */
struct genome {
    struct heddle_genome_spec s;
    uint32_t gc; /* chance of C or G, of 65536 */
};

struct node {
    uint32_t suffix; /* one of those below it */
    uint32_t depth;  /* letters from the root */
    uint32_t child[5];
    uint32_t link;
};

struct waiting {
    uint32_t ref, parent;
};

struct tree {
    uint32_t n; /* bases */
    uint64_t *text;
    uint32_t *sorted; /* [n + 1] suffixes */
    struct node *node;
    uint32_t nodes; /* inner ones; 0 is the root */
    uint32_t *id;
    uint32_t count; /* ids given */
    struct waiting *queue;
    uint8_t *level; /* of the queue's entries */
    uint32_t head, tail;
    int32_t *out_node, *out_child;
};

/* ---- text ------------------------------------------------------------- */

/* Word w of a genome's letters, the first in the highest bits: 16 random bits
 * a letter, of which gc in 65536 make a C or a G. */
static uint64_t genome_word(const struct genome *g, uint64_t w)
{
    struct hd_rng r = hd_rng_make(g->s.seed, STREAM_GENOME);
    uint64_t word = 0;

    r.drawn = w * (WORD / 4);
    for (int i = 0; i < WORD / 4; i++) {
        uint64_t x = hd_rng_next(&r);

        for (int k = 0; k < 4; k++, x >>= 16) {
            uint32_t v = (uint32_t)(x & 0xffff), gc = v < g->gc;
            uint32_t high =
                gc ? v >= g->gc / 2 : v - g->gc >= (65536 - g->gc) / 2;

            /* A 0, C 1, G 2, T 3 */
            word = word << 2 | (gc ? 1 + high : 3 * high);
        }
    }
    return word;
}

static uint32_t letter_of(uint64_t word, uint64_t place)
{
    return (uint32_t)(word >> (62 - 2 * (place % WORD))) & 3;
}

static uint32_t letter(const struct tree *m, uint32_t i)
{
    return i >= m->n ? MARK : letter_of(m->text[i / WORD], i);
}

/* 32 letters from i on; T where the text has ended. */
static inline uint64_t key(const struct tree *m, uint32_t i)
{
    uint32_t s = 2 * (i % WORD);
    const uint64_t *w = &m->text[i / WORD];

    return s ? w[0] << s | w[1] >> (64 - s) : w[0];
}

/* Letters that suffixes i and j have in common. */
static uint32_t common(const struct tree *m, uint32_t i, uint32_t j)
{
    uint32_t end = m->n - (i > j ? i : j), l = 0;

    while (l < end) {
        uint64_t x = key(m, i + l) ^ key(m, j + l);

        if (x) {
            l += (uint32_t)__builtin_clzll(x) / 2;
            break;
        }
        l += WORD;
    }
    return l < end ? l : end;
}

/* Suffix i sorts before j; ki and kj are their keys. */
static bool suffix_before(const struct tree *m, uint32_t i, uint64_t ki,
                          uint32_t j, uint64_t kj)
{
    uint32_t l;

    if (ki != kj)
        return ki < kj;
    l = common(m, i, j);
    return letter(m, i + l) < letter(m, j + l);
}

/* ---- sorted suffixes -------------------------------------------------- */

static void sort_bucket(const struct tree *m, uint32_t *s, uint32_t count)
{
    uint32_t i, j;

    for (i = 1; i < count; i++) {
        uint32_t x = s[i];
        uint64_t kx = key(m, x);

        for (j = i;
             j > 0 && suffix_before(m, x, kx, s[j - 1], key(m, s[j - 1])); j--)
            s[j] = s[j - 1];
        s[j] = x;
    }
}

/* Zeroed memory that is going to be used all over. */
static void *genome_alloc(size_t n, size_t size)
{
    void *p = calloc(n, size);

    hd_huge_pages(p, n * size);
    return p;
}

static int sort_suffixes(struct tree *m)
{
    uint32_t letters = 1, shift, i, buckets, *at;

    while (letters < 11 && UINT32_C(1) << (2 * letters + 1) < m->n)
        letters++;
    shift = 64 - 2 * letters;
    buckets = UINT32_C(1) << (2 * letters);
    at = genome_alloc((size_t)buckets + 1, sizeof *at);
    if (!at)
        return HEDDLE_ENOMEM;
    for (i = 0; i <= m->n; i++)
        at[(key(m, i) >> shift) + 1]++;
    for (i = 0; i < buckets; i++)
        at[i + 1] += at[i];
    for (i = 0; i <= m->n; i++)
        m->sorted[at[key(m, i) >> shift]++] = i;
    for (i = 0; i < buckets; i++) { /* at[i]: now the end of bucket i */
        uint32_t first = i ? at[i - 1] : 0;

        sort_bucket(m, m->sorted + first, at[i] - first);
    }
    free(at);
    return 0;
}

/* ---- the tree --------------------------------------------------------- */

static uint32_t suffix_of(const struct tree *m, uint32_t ref)
{
    return ref & LEAF ? ref & ~LEAF : m->node[ref].suffix;
}

static void attach(struct tree *m, uint32_t v, uint32_t ref)
{
    struct node *p = &m->node[v];

    p->child[letter(m, suffix_of(m, ref) + p->depth)] = ref;
}

static uint32_t new_node(struct tree *m, uint32_t suffix, uint32_t depth)
{
    struct node *p = &m->node[m->nodes];

    memset(p->child, 0xff, sizeof p->child); /* NONE */
    p->suffix = suffix;
    p->depth = depth;
    p->link = 0;
    return m->nodes++;
}

/* The queue's memory holds the path, which is never longer than the text. */
static void grow_tree(struct tree *m)
{
    uint32_t *path = (uint32_t *)(void *)m->queue, top = 0, last, k;

    path[0] = new_node(m, 0, 0);
    last = LEAF | m->sorted[0];
    for (k = 1; k <= m->n; k++) {
        uint32_t l = common(m, m->sorted[k - 1], m->sorted[k]);

        while (m->node[path[top]].depth > l) {
            attach(m, path[top], last);
            last = path[top--];
        }
        if (m->node[path[top]].depth < l)
            path[++top] = new_node(m, m->sorted[k - 1], l);
        attach(m, path[top], last);
        last = LEAF | m->sorted[k];
    }
    for (;; top--) {
        attach(m, path[top], last);
        if (top == 0)
            break;
        last = path[top];
    }
}

/* ---- numbers, links and textures -------------------------------------- */

static uint32_t texel(uint32_t id)
{
    uint32_t x = (id & 0x1ffff) >> 5, y = (id >> 17) * 32 + (id & 31);

    return WIDTH * y + x;
}

/* The node whose letters are those of v without the first. */
static uint32_t find_link(const struct tree *m, uint32_t v, uint32_t parent)
{
    const struct node *p = &m->node[v];
    uint32_t u = m->node[parent].link, want = p->depth - 1;

    while (m->node[u].depth < want)
        u = m->node[u].child[letter(m, p->suffix + 1 + m->node[u].depth)];
    return u;
}

/* Gives a node its number, and its parent the link to it. */
static void give_id(struct tree *m, struct waiting w)
{
    uint32_t id = ++m->count, at = texel(id), end, depth = 0;
    int32_t *out = m->out_node + 4 * (size_t)at;

    if (w.ref & LEAF) {
        end = m->n + 1;
    } else {
        struct node *p = &m->node[w.ref];

        m->id[w.ref] = id;
        end = p->suffix + p->depth;
        if (w.ref != 0)
            p->link = find_link(m, w.ref, w.parent);
    }
    if (w.ref != 0) {
        uint32_t slot, from = texel(m->id[w.parent]);

        depth = m->node[w.parent].depth;
        slot = letter(m, suffix_of(m, w.ref) + depth);
        if (slot == MARK)
            m->out_node[4 * (size_t)from + 2] = (int32_t)at;
        else
            m->out_child[4 * (size_t)from + slot] = (int32_t)at;
    }
    out[0] = (int32_t)(suffix_of(m, w.ref) + depth + 1);
    out[1] = (int32_t)end;
}

static void enqueue(struct tree *m, uint32_t ref, uint32_t parent,
                    uint32_t level)
{
    m->level[m->tail] = (uint8_t)level;
    m->queue[m->tail++] = (struct waiting){ref, parent};
}

/* The descendants of v: `deep` generations at once, the next ones later. */
static void tree_follow(struct tree *m, uint32_t v, uint32_t deep,
                        uint32_t level)
{
    for (int i = 0; i < 5; i++) {
        uint32_t ref = m->node[v].child[i];

        if (ref == NONE)
            continue;
        if (deep == 0) {
            enqueue(m, ref, v, level);
            continue;
        }
        give_id(m, (struct waiting){ref, v});
        if (!(ref & LEAF))
            tree_follow(m, ref, deep - 1, level);
    }
}

static void number_nodes(struct tree *m)
{
    uint32_t v;

    enqueue(m, 0, 0, 0);
    while (m->head < m->tail) {
        struct waiting w = m->queue[m->head];
        uint32_t level = m->level[m->head++];

        if (m->head + AHEAD < m->tail &&
            !(m->queue[m->head + AHEAD].ref & LEAF))
            __builtin_prefetch(&m->node[m->queue[m->head + AHEAD].ref]);
        give_id(m, w);
        if (w.ref & LEAF)
            continue;
        if (level < BROAD)
            tree_follow(m, w.ref, 0, level + 1);
        else
            tree_follow(m, w.ref, DEEP, BROAD);
    }
    for (v = 1; v < m->nodes; v++)
        m->out_node[4 * (size_t)texel(m->id[v]) + 3] =
            (int32_t)texel(m->id[m->node[v].link]);
    m->out_node[4 * (size_t)texel(1) + 3] = (int32_t)texel(1);
}

/* ---- reference and reads ---------------------------------------------- */

static void put_reference(const struct tree *m, uint8_t *out, size_t bytes)
{
    uint32_t r;

    memset(out, 'Z', bytes);
    for (r = 0; r <= m->n + 1; r++) {
        size_t x = (r & 0x3ffff) >> 2, y = (size_t)(r >> 18) * 4 + (r & 3);
        uint8_t c = r == 0     ? 's'
                    : r > m->n ? '$'
                               : (uint8_t)LETTER[letter(m, r - 1)];

        out[y * REF_WIDTH + x] = c;
    }
}

static void put_reads(const struct genome *g, uint8_t *out)
{
    struct hd_rng r = hd_rng_make(g->s.seed, STREAM_READS);
    uint32_t i, k;

    for (i = 0; i < g->s.reads; i++, out += g->s.length + 2) {
        uint64_t at = hd_rng_below(&r, g->s.genome - g->s.length + 1);
        uint64_t word = genome_word(g, at / WORD);

        out[0] = 'q';
        for (k = 0; k < g->s.length; k++, at++) {
            if (k > 0 && at % WORD == 0)
                word = genome_word(g, at / WORD);
            out[k + 1] = (uint8_t)LETTER[letter_of(word, at)];
        }
        out[g->s.length + 1] = 0;
    }
}

/* ---- the whole -------------------------------------------------------- */

/* Draws the text and grows its tree.  0 or HEDDLE_ENOMEM. */
static int make_tree(struct tree *m, const struct genome *g)
{
    size_t n = m->n = g->s.bases;

    m->text = genome_alloc(n / WORD + 3, sizeof *m->text);
    m->sorted = genome_alloc(n + 1, sizeof *m->sorted);
    m->node = genome_alloc(n + 1, sizeof *m->node);
    m->queue = genome_alloc((n + 1) * 2, sizeof *m->queue);
    if (!m->text || !m->sorted || !m->node || !m->queue)
        return HEDDLE_ENOMEM;
    for (uint32_t w = 0; w < n / WORD + 3; w++)
        m->text[w] = (uint64_t)w * WORD < n ? genome_word(g, w) : ~0ull;
    if (n % WORD != 0)
        m->text[n / WORD] |= ~0ull >> (2 * (n % WORD));
    if (sort_suffixes(m) != 0)
        return HEDDLE_ENOMEM;
    grow_tree(m);
    free(m->sorted);
    m->sorted = NULL;
    m->id = genome_alloc(m->nodes, sizeof *m->id);
    m->level = genome_alloc(m->nodes + n + 1, sizeof *m->level);
    return m->id && m->level ? 0 : HEDDLE_ENOMEM;
}

/* Makes the textures, from a tree, and the reads. */
static int tree_fill(struct tree *m, const struct genome *g,
                     struct heddle_suffix_tree *t)
{
    /* the bases, 's' and '$', a 0, and four rows to spare */
    uint64_t rows = hd_ceil_div((uint64_t)g->s.bases + 3, REF_WIDTH) + 4;
    uint64_t texels, bytes = rows * REF_WIDTH;

    if (make_tree(m, g) < 0)
        return HEDDLE_ENOMEM;
    t->nodes = m->nodes + m->n + 1; /* leaves and root included */
    t->height = (t->nodes + 1 + WIDTH - 1) / WIDTH + 32;
    texels = (uint64_t)t->height * WIDTH;
    t->node = heddle_data_new(HEDDLE_I32, 4 * texels);
    t->child = heddle_data_new(HEDDLE_I32, 4 * texels);
    t->reference = heddle_data_new(HEDDLE_U8, bytes);
    t->reads =
        heddle_data_new(HEDDLE_U8, (uint64_t)g->s.reads * (g->s.length + 2));
    if (!t->node || !t->child || !t->reference || !t->reads)
        return HEDDLE_ENOMEM;
    m->out_node = t->node->mem;
    m->out_child = t->child->mem;
    number_nodes(m);
    put_reference(m, t->reference->mem, bytes);
    put_reads(g, t->reads->mem);
    return 0;
}

int heddle_generate_suffix_tree(const struct heddle_genome_spec *spec,
                                struct heddle_suffix_tree *t, char *error,
                                size_t room)
{
    struct genome g = {.s = *spec};
    struct tree m = {0};
    struct heddle_error err = {0};
    bool good = spec->gc >= 0 && spec->gc <= 1;
    int rc = 0;

    memset(t, 0, sizeof *t);
    if (g.s.genome == 0)
        g.s.genome = g.s.bases;
    g.gc = good ? (uint32_t)(spec->gc * 65536) : 0;
    if (!good || g.s.bases == 0 || g.s.bases > UINT32_C(1) << 27 ||
        g.s.genome < g.s.bases || g.s.length == 0 || g.s.length > 4096 ||
        g.s.length > g.s.genome || g.s.reads == 0 ||
        (uint64_t)g.s.reads * (g.s.length + 2) >= HD_GENERATE_MOST)
        rc = hd_err_set(&err, HEDDLE_EINVAL,
                        "suffix_tree: %u of %u bases, %u reads of %u, gc %g; "
                        "expected 1 to 2^27 bases, no more than the genome "
                        "has, reads of 1 to 4096 bases that fit into it, and "
                        "gc from 0 to 1",
                        g.s.bases, g.s.genome, g.s.reads, g.s.length, spec->gc);
    else if (tree_fill(&m, &g, t) < 0)
        rc = hd_err_memory(&err);
    free(m.text);
    free(m.sorted);
    free(m.node);
    free(m.id);
    free(m.queue);
    free(m.level);
    if (rc < 0) {
        heddle_suffix_tree_free(t);
        hd_err_tell(&err, error, room);
    }
    return rc;
}

void heddle_suffix_tree_free(struct heddle_suffix_tree *t)
{
    heddle_data_free(t->node);
    heddle_data_free(t->child);
    heddle_data_free(t->reference);
    heddle_data_free(t->reads);
    memset(t, 0, sizeof *t);
}
