/*
 * topology.c - fabric.topology: from its words to the links that there are, and
 * from these to the way of a message.
 *
 * Messages take the fewest links.  Of ways that are as short they take the one
 * whose next node has the lowest number, so that each pair has one way,
 * whatever else is under way: a fixed route keeps messages in order and needs
 * no state.
 *
 * Left out: links of different kinds in one machine; switches (a switch that
 * never blocks is topology=all, whose links have the bandwidth of a pair);
 * routes that depend on the load.
 *
 * SPDX-License-Identifier: MIT
 */
#include "topology.h"

#include <string.h>

enum { NOWHERE = 0xff };

static int topology_join(struct hd_topology *t, uint32_t a, uint32_t b,
                         struct heddle_error *err)
{
    if (a >= t->nodes || b >= t->nodes)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "fabric.topology: %u-%u, but the nodes are 0 to %u "
                          "(fabric.nodes)",
                          a, b, t->nodes - 1);
    if (a == b)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "fabric.topology: %u-%u joins a node to itself", a,
                          b);
    if (t->away[a][b] == 1)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "fabric.topology: %u-%u is there twice; one link "
                          "between two nodes is expected, with the bandwidth "
                          "of all (fabric.bandwidth)",
                          a, b);
    t->from[t->hops] = t->to[t->hops + 1] = (uint8_t)a;
    t->to[t->hops] = t->from[t->hops + 1] = (uint8_t)b;
    t->away[a][b] = t->away[b][a] = 1;
    t->hops += 2;
    return 0;
}

/* Reads a number, below 1000; false: there is none. */
static bool topology_number(const char **at, uint32_t *n)
{
    const char *from = *at;

    for (*n = 0; **at >= '0' && **at <= '9' && *at - from < 3; ++*at)
        *n = *n * 10 + (uint32_t)(**at - '0');
    return *at != from;
}

static int topology_pairs(struct hd_topology *t, const char *text,
                          struct heddle_error *err)
{
    for (const char *at = text;;) {
        uint32_t a, b;

        while (*at == ' ')
            at++;
        if (*at == '\0')
            return 0;
        if (!topology_number(&at, &a) || *at++ != '-' ||
            !topology_number(&at, &b) || (*at != ' ' && *at != '\0'))
            return hd_err_set(err, HEDDLE_ECONFIG,
                              "fabric.topology: '%s' is none of all, ring, "
                              "line or pairs of nodes as in 0-1 1-2",
                              text);
        if (topology_join(t, a, b, err) != 0)
            return err->code;
    }
}

static int topology_links(struct hd_topology *t, const char *text,
                          struct heddle_error *err)
{
    bool all = strcmp(text, "all") == 0, ring = strcmp(text, "ring") == 0;

    if (!all && !ring && strcmp(text, "line") != 0)
        return topology_pairs(t, text, err);
    for (uint32_t a = 0; a < t->nodes; a++)
        for (uint32_t b = a + 1; b < t->nodes; b++) {
            bool ends = ring && a == 0 && b == t->nodes - 1;
            if ((all || b == a + 1 || ends) && topology_join(t, a, b, err) != 0)
                return err->code;
        }
    return 0;
}

/* The hop from a node to a neighbour. */
static uint8_t topology_hop(const struct hd_topology *t, uint32_t a, uint32_t b)
{
    uint8_t h = 0;

    while (t->from[h] != a || t->to[h] != b)
        h++;
    return h;
}

/* Distances, by as many rounds as a way can have hops; then the ways. */
static void topology_route(struct hd_topology *t)
{
    uint32_t n = t->nodes;

    for (uint32_t far = 2; far < n; far++)
        for (uint32_t a = 0; a < n; a++)
            for (uint32_t h = 0; h < t->hops; h++)
                if (t->away[a][t->from[h]] == far - 1 &&
                    t->away[a][t->to[h]] == NOWHERE)
                    t->away[a][t->to[h]] = (uint8_t)far;
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = 0; b < n; b++)
            for (uint32_t by = n; by-- > 0 && a != b;)
                if (t->away[a][by] == 1 && t->away[by][b] + 1u == t->away[a][b])
                    t->next[a][b] = topology_hop(t, a, by);
}

int hd_topology_read(struct hd_topology *t, uint32_t nodes, const char *text,
                     struct heddle_error *err)
{
    memset(t, 0, sizeof *t);
    memset(t->away, NOWHERE, sizeof t->away);
    t->nodes = nodes;
    for (uint32_t i = 0; i < nodes; i++)
        t->away[i][i] = 0;
    if (topology_links(t, text, err) != 0)
        return err->code;
    topology_route(t);
    for (uint32_t b = 1; b < nodes; b++)
        if (t->away[0][b] == NOWHERE)
            return hd_err_set(err, HEDDLE_ECONFIG,
                              "fabric.topology: '%s' has no way from node 0 to "
                              "node %u",
                              text, b);
    return 0;
}
