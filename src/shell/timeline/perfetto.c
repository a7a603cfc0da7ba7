/*
 * perfetto.c - Perfetto's own format: a stream of protobuf TracePackets.
 *
 * A trace is a message of packets.  A packet has an instant, the number of the
 * sequence that it belongs to (there is one, 1), and a TrackDescriptor or a
 * TrackEvent.  The format is public (perfetto/protos); the numbers of the
 * fields that are used are below, and t/perfetto.proto is the same as a schema,
 * by which a test decodes what is written here.
 *
 * Names that come back are interned: the first packet of the sequence has them
 * all with their numbers, and says that there is no state from before; packets
 * that use them say that they need it.
 *
 * A message inside another comes with its length, which takes a varint of a
 * size that is not known before.  Nearly all are shorter than 128 bytes, so one
 * byte is left for it, and what is behind moves where that is not enough.
 *
 * Left out on purpose: clocks (an instant is a number of nanoseconds of the
 * trace's own clock), counters as differences, compressed packets.
 *
 * SPDX-License-Identifier: MIT
 */
#include "tool.h"
#include "perfetto.h"

enum wire { VARINT, FIXED64, BYTES };

/* Numbers of fields, by message. */
enum { TRACE_PACKET = 1 };
enum {
    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE = 10,
    PACKET_EVENT = 11,
    PACKET_INTERNED = 12,
    PACKET_FLAGS = 13,
    PACKET_TRACK = 60
};
enum { FLAG_CLEARED = 1, FLAG_NEEDED = 2 };
enum {
    TRACK_UUID = 1,
    TRACK_NAME = 2,
    TRACK_PARENT = 5,
    TRACK_COUNTER = 8,
    TRACK_ORDERING = 11, /* of its children */
    TRACK_RANK = 12,
    TRACK_DESCRIPTION = 14
};
enum { ORDER_EXPLICIT = 3 };
enum { COUNTER_UNIT_NAME = 6 };
enum {
    EVENT_CATEGORY = 3,
    EVENT_ARGUMENT = 4,
    EVENT_TYPE = 9,
    EVENT_NAME = 10,
    EVENT_TRACK = 11,
    EVENT_OWN_NAME = 23,
    EVENT_VALUE = 30,
    EVENT_REAL = 44,
    EVENT_FLOW = 47,
    EVENT_LAST_FLOW = 48
};
enum { TYPE_BEGIN = 1, TYPE_END, TYPE_INSTANT, TYPE_COUNTER };
enum { ARG_NAME = 1, ARG_NUMBER = 3, ARG_TEXT = 6, ARG_HEX = 7 };
enum { INTERNED_CATEGORY = 1, INTERNED_EVENT = 2, INTERNED_ARGUMENT = 3 };
enum { NAME_NUMBER = 1, NAME_TEXT = 2 };

enum { SEQUENCE = 1 };

/* ---- fields ------------------------------------------------------------- */

static void tag(struct hd_bytes *b, uint32_t field, enum wire wire)
{
    hd_bytes_put(b, field << 3 | wire);
}

static void pf_number(struct hd_bytes *b, uint32_t field, uint64_t v)
{
    tag(b, field, VARINT);
    hd_bytes_put(b, v);
}

static void fixed(struct hd_bytes *b, uint32_t field, uint64_t v)
{
    unsigned char bytes[8];

    tag(b, field, FIXED64);
    hd_store64(bytes, v);
    hd_bytes_add(b, bytes, sizeof bytes);
}

/* Names may come from traces; a field of text is UTF-8. */
static void text(struct hd_bytes *b, uint32_t field, const char *s)
{
    char shown[1024];

    heddle_line_escape(s, strlen(s), "", shown, sizeof shown);
    s = shown;
    tag(b, field, BYTES);
    hd_bytes_put(b, strlen(s));
    hd_bytes_add(b, s, strlen(s));
}

/* Begins a message; what it returns goes to close(). */
static size_t pf_open(struct hd_bytes *b, uint32_t field)
{
    tag(b, field, BYTES);
    hd_bytes_u8(b, 0);
    return b->n;
}

static void close(struct hd_bytes *b, size_t at)
{
    size_t n = b->n - at, more = 0;

    if (b->oom)
        return;
    for (size_t left = n >> 7; left != 0; left >>= 7)
        more++;
    if (more != 0) {
        static const unsigned char none[10];

        hd_bytes_add(b, none, more);
        if (b->oom)
            return;
        memmove(b->p + at + more, b->p + at, n);
    }
    for (size_t i = 0; i <= more; i++)
        b->p[at - 1 + i] =
            (unsigned char)((n >> 7 * i & 0x7f) | (i < more ? 0x80 : 0));
}

static size_t packet(struct hd_bytes *b)
{
    size_t p = pf_open(b, TRACE_PACKET);

    pf_number(b, PACKET_SEQUENCE, SEQUENCE);
    return p;
}

/* ---- the sequence, and its tracks ---------------------------------------- */

static void intern(struct hd_bytes *b, uint32_t field, const char *const *name,
                   uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        size_t m = pf_open(b, field);

        pf_number(b, NAME_NUMBER, i + 1);
        text(b, NAME_TEXT, name[i]);
        close(b, m);
    }
}

void hd_pf_open(struct hd_bytes *b, const struct hd_pf_names *names)
{
    size_t p = packet(b), m;

    pf_number(b, PACKET_FLAGS, FLAG_CLEARED);
    m = pf_open(b, PACKET_INTERNED);
    intern(b, INTERNED_CATEGORY, names->category, names->categories);
    intern(b, INTERNED_EVENT, names->event, names->events);
    intern(b, INTERNED_ARGUMENT, names->argument, names->arguments);
    close(b, m);
    close(b, p);
}

void hd_pf_track(struct hd_bytes *b, const struct hd_pf_track *t)
{
    size_t p = packet(b), m = pf_open(b, PACKET_TRACK);

    pf_number(b, TRACK_UUID, t->track);
    text(b, TRACK_NAME, t->name);
    if (t->parent != 0)
        pf_number(b, TRACK_PARENT, t->parent);
    if (t->unit != NULL) {
        size_t c = pf_open(b, TRACK_COUNTER);

        text(b, COUNTER_UNIT_NAME, t->unit);
        close(b, c);
    } else {
        pf_number(b, TRACK_ORDERING, ORDER_EXPLICIT);
    }
    pf_number(b, TRACK_RANK, (uint64_t)t->rank);
    if (t->about != NULL)
        text(b, TRACK_DESCRIPTION, t->about);
    close(b, m);
    close(b, p);
}

/* ---- events -------------------------------------------------------------- */

static void pf_event(struct hd_bytes *b, const struct hd_pf_event *e,
                     uint32_t type)
{
    size_t p = packet(b), m;

    pf_number(b, PACKET_FLAGS, FLAG_NEEDED);
    pf_number(b, PACKET_TIMESTAMP, e->at);
    m = pf_open(b, PACKET_EVENT);
    pf_number(b, EVENT_TYPE, type);
    pf_number(b, EVENT_TRACK, e->track);
    pf_number(b, EVENT_CATEGORY, e->category);
    if (e->own != NULL)
        text(b, EVENT_OWN_NAME, e->own);
    else
        pf_number(b, EVENT_NAME, e->name);
    for (uint32_t i = 0; i < e->args; i++) {
        const struct hd_pf_arg *x = &e->arg[i];
        size_t a = pf_open(b, EVENT_ARGUMENT);

        pf_number(b, ARG_NAME, x->name);
        if (x->kind == HD_PF_TEXT)
            text(b, ARG_TEXT, x->text);
        else
            pf_number(b, x->kind == HD_PF_HEX ? ARG_HEX : ARG_NUMBER,
                      x->number);
        close(b, a);
    }
    for (uint32_t i = 0; i < e->flows; i++)
        fixed(b, e->ends ? EVENT_LAST_FLOW : EVENT_FLOW, e->flow[i]);
    close(b, m);
    close(b, p);
}

void hd_pf_begin(struct hd_bytes *b, const struct hd_pf_event *e)
{
    pf_event(b, e, TYPE_BEGIN);
}

void hd_pf_instant(struct hd_bytes *b, const struct hd_pf_event *e)
{
    pf_event(b, e, TYPE_INSTANT);
}

/* A packet with an event that has nothing but its type and track so far. */
static size_t bare(struct hd_bytes *b, uint64_t at, uint64_t track,
                   uint32_t type, size_t *m)
{
    size_t p = packet(b);

    pf_number(b, PACKET_TIMESTAMP, at);
    *m = pf_open(b, PACKET_EVENT);
    pf_number(b, EVENT_TYPE, type);
    pf_number(b, EVENT_TRACK, track);
    return p;
}

void hd_pf_end(struct hd_bytes *b, uint64_t at, uint64_t track)
{
    size_t m, p = bare(b, at, track, TYPE_END, &m);

    close(b, m);
    close(b, p);
}

void hd_pf_count(struct hd_bytes *b, uint64_t at, uint64_t track, uint64_t v)
{
    size_t m, p = bare(b, at, track, TYPE_COUNTER, &m);

    pf_number(b, EVENT_VALUE, v);
    close(b, m);
    close(b, p);
}

void hd_pf_rate(struct hd_bytes *b, uint64_t at, uint64_t track, double v)
{
    size_t m, p = bare(b, at, track, TYPE_COUNTER, &m);
    uint64_t bits;

    memcpy(&bits, &v, sizeof bits);
    fixed(b, EVENT_REAL, bits);
    close(b, m);
    close(b, p);
}
