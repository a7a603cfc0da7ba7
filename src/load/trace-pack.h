/*
 * trace-pack.h - the inside of what packs a frame: trace-frame.c, which
 * collects blocks, and trace-pack.c, which writes them, share it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_TRACE_PACK_H
#define HD_TRACE_PACK_H

#include "trace-frame.h"
#include "trace-predict.h"

struct hd_pack_entry {
    uint64_t mask;
    uint32_t top;
    uint32_t zero; /* so that entries compare and hash as bytes */
};

struct hd_pack_mem {
    uint64_t first;
    int64_t stride;
    size_t list; /* first of its values, or HD_PACK_NO_LIST */
};

#define HD_PACK_NO_LIST SIZE_MAX

struct hd_pack_warp { /* of the block being collected */
    struct hd_pack_entry *e;
    struct hd_pack_mem *m;
    size_t n, room, nm, room_m;
};

struct hd_pack_path {
    uint64_t hash;
    size_t at;
    uint32_t n;
};

struct hd_pack_block {
    uint64_t number;
    size_t warp; /* first of its path numbers */
};

struct hd_pack_stream {
    uint64_t min, bits; /* lists: smallest, OR of differences to it */
    uint64_t max;
    uint32_t lists;
    uint8_t shift, width;
};

struct hd_pack_predict {
    struct hd_predict at;
    int64_t stride;
};

struct hd_pack {
    uint32_t lanes, warps;
    bool oom;
    struct hd_pack_warp w[HD_TRACE_MAX_WARPS];
    uint64_t number; /* of the block being collected */
    /* the frame */
    struct hd_top *top;
    size_t tops, room_tops;
    uint32_t top_slot[4096];    /* hash: row + 1; a late comer overwrites */
    uint32_t stream_slot[4096]; /* the same for memory operations by pc */
    struct hd_pack_entry *e;    /* of all paths */
    size_t n, room;
    struct hd_pack_path *path;
    size_t paths, room_paths;
    uint32_t *path_slot;
    size_t path_slots;
    struct hd_pack_block *block;
    size_t blocks, room_blocks;
    uint32_t *use; /* path of each warp */
    size_t uses, room_uses;
    struct hd_pack_mem *m;
    size_t nm, room_m;
    uint64_t *value;
    size_t values, room_values;
    size_t cost; /* bytes the frame will take, about */
    struct hd_pack_stream *stream;
    size_t room_streams;
    struct hd_pack_predict *predict;
    size_t room_predicts;
    struct hd_bytes part[6];
};

enum {
    HD_PACK_TOP,
    HD_PACK_PATH,
    HD_PACK_BLOCK,
    HD_PACK_DESC,
    HD_PACK_STREAM,
    HD_PACK_BITS
};

#endif
