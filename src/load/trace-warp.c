/*
 * trace-warp.c - one warp of a text trace: registers become scoreboard slots,
 * and instructions without memory become runs.
 *
 * A load, or an atomic with a result, takes the lowest free slot; its
 * destination registers (two or four of them for 8 or 16 bytes a lane) are
 * pending until an instruction reads or writes one, which then waits for the
 * slot.  From there on the slot counts as free.  Taking the lowest keeps the
 * slots of a loop's iterations the same, so iterations look alike and pack
 * well.  When all 32 are taken the oldest is used again, and the load waits
 * for it.  R255, URZ, PT and UPT hold nothing.
 *
 * A run of arithmetic (shared-memory, constant and texture instructions among
 * it) is one operation with a count; it ends where the mask changes or where
 * an instruction must wait, because an operation waits before its first
 * instruction only.  Of the registers that its instructions write and read one
 * from the other, the run keeps what the core needs of it: the longest chain of
 * c of its n instructions makes it issue in groups of n / c, rounded up, each
 * of which waits for the one before (core.ilp).
 *
 * EXIT ends a warp only as its last instruction: a predicated EXIT takes some
 * lanes and is an instruction like others.  A warp that stops without EXIT
 * gets one that counts as no instruction.
 *
 * SPDX-License-Identifier: MIT
 */
#include "trace-warp.h"

void hd_twarp_begin(struct hd_twarp *w, uint32_t warp)
{
    w->warp = warp;
    w->in_run = w->at_exit = w->ended = false;
    w->busy = w->copies = 0;
}

/* The slots that an instruction must find empty. */
static uint32_t waits(struct hd_twarp *w, const struct hd_tinst *i)
{
    uint32_t wait = i->op.collect ? w->copies : 0;

    for (unsigned k = 0; k < i->regs; k++) {
        uint32_t s = w->reg[i->reg[k]].slot;
        if ((w->busy >> s & 1) && w->reg[i->reg[k]].gen == w->gen[s])
            wait |= 1u << s;
    }
    return wait;
}

static void release(struct hd_twarp *w, uint32_t slots)
{
    w->busy &= ~slots;
    w->copies &= ~slots;
}

/* Takes a slot, the oldest when none is free; adds to *wait then. */
static unsigned take_slot(struct hd_twarp *w, uint32_t *wait)
{
    unsigned s;

    if (w->busy != UINT32_MAX) {
        s = hd_bit_first(~w->busy);
    } else {
        s = 0;
        for (unsigned k = 1; k < 32; k++) {
            if ((int32_t)(w->age[k] - w->age[s]) < 0)
                s = k;
        }
        *wait |= 1u << s;
        release(w, 1u << s);
    }
    w->busy |= 1u << s;
    w->age[s] = w->clock++;
    w->gen[s]++;
    return s;
}

static void pending(struct hd_twarp *w, unsigned reg, unsigned slot)
{
    w->reg[reg].slot = slot;
    w->reg[reg].gen = w->gen[slot];
}

/* The open run has one more instruction: where it stands in its chains. */
static void chain(struct hd_twarp *w, const struct hd_tinst *i)
{
    uint32_t depth = 1;

    for (unsigned k = i->dsts; k < i->regs; k++)
        if (w->reg[i->reg[k]].run == w->number)
            depth = (uint32_t)hd_max_u64(depth, w->reg[i->reg[k]].depth + 1);
    for (unsigned k = 0; k < i->dsts; k++) {
        w->reg[i->reg[k]].run = w->number;
        w->reg[i->reg[k]].depth = depth;
    }
    w->longest = (uint32_t)hd_max_u64(w->longest, depth);
}

/* An instruction begins a run. */
static void open_run(struct hd_twarp *w, uint64_t mask)
{
    w->run_mask = mask;
    w->in_run = true;
    w->longest = 1;
    w->number++;
}

static void close_run(struct hd_twarp *w)
{
    if (w->in_run) {
        w->run.bytes = (uint8_t)hd_min_u64(
            ((uint64_t)w->run.count + w->longest - 1) / w->longest, UINT8_MAX);
        hd_pack_op(w->pack, w->warp, &w->run, w->run_mask);
    }
    w->in_run = false;
}

static void plain_op(struct hd_top *o, const struct hd_tinst *i,
                     enum hd_op_kind kind, uint32_t wait)
{
    *o = (struct hd_top){.kind = (uint8_t)kind,
                         .slot = HD_NO_SLOT,
                         .wait = wait,
                         .count = 1,
                         .pc = i->pc,
                         .opcode = i->opcode};
}

/* Something follows the EXIT that was held back: it is an instruction. */
static void not_last(struct hd_twarp *w)
{
    w->at_exit = false;
    w->run = w->exit;
    w->run.kind = HD_OP_ALU;
    open_run(w, w->exit_mask);
}

void hd_twarp_plain(struct hd_twarp *w, const struct hd_tinst *i, uint64_t mask)
{
    uint32_t wait = w->busy != 0 ? waits(w, i) : 0;

    w->insts++;
    w->thread_insts += hd_bit_count(mask);
    if (HD_UNLIKELY(w->at_exit))
        not_last(w);
    release(w, wait);
    if (i->op.kind == HD_OP_BARRIER) {
        struct hd_top o;
        close_run(w);
        plain_op(&o, i, HD_OP_BARRIER, wait);
        hd_pack_op(w->pack, w->warp, &o, mask);
    } else if (i->op.exit) {
        close_run(w);
        plain_op(&w->exit, i, HD_OP_EXIT, wait);
        w->exit_mask = mask;
        w->at_exit = true;
    } else if (w->in_run && wait == 0 && w->run_mask == mask &&
               w->run.count != UINT32_MAX) {
        w->run.count++;
        chain(w, i);
    } else {
        close_run(w);
        plain_op(&w->run, i, HD_OP_ALU, wait);
        open_run(w, mask);
        chain(w, i);
    }
}

void hd_twarp_memory(struct hd_twarp *w, const struct hd_tinst *i,
                     uint64_t mask, enum hd_op_kind kind, unsigned bytes,
                     enum hd_trace_space space, struct hd_top *o)
{
    uint32_t wait = w->busy != 0 ? waits(w, i) : 0;
    unsigned slot = HD_NO_SLOT;
    unsigned lanes = hd_bit_count(mask);

    w->insts++;
    w->mem_insts++;
    w->thread_insts += lanes;
    w->lane_addrs += lanes;
    if (HD_UNLIKELY(w->at_exit))
        not_last(w);
    release(w, wait);
    close_run(w);
    if (lanes != 0 && kind != HD_OP_STORE && (i->dsts != 0 || i->op.async))
        slot = take_slot(w, &wait);
    *o = (struct hd_top){.kind = (uint8_t)kind,
                         .slot = (uint8_t)slot,
                         .bytes = (uint8_t)bytes,
                         .space = (uint8_t)space,
                         .wait = wait,
                         .count = 1,
                         .pc = i->pc,
                         .opcode = i->opcode};
    if (slot == HD_NO_SLOT)
        return;
    if (i->op.async)
        w->copies |= 1u << slot;
    unsigned each = i->bytes > 4 && i->dsts == 1 ? i->bytes / 4 : 1;
    for (unsigned k = 0; k < i->dsts; k++) {
        for (unsigned r = 0; r < each; r++) {
            unsigned reg = i->reg[k] + r;
            if (reg == 255 || reg == HD_TREGS)
                break;
            pending(w, reg, slot);
        }
    }
}

void hd_twarp_end(struct hd_twarp *w)
{
    struct hd_top o;

    if (w->at_exit) {
        hd_pack_op(w->pack, w->warp, &w->exit, w->exit_mask);
        w->ended = true;
        w->at_exit = false;
        return;
    }
    close_run(w);
    o = (struct hd_top){.kind = HD_OP_EXIT, .slot = HD_NO_SLOT};
    hd_pack_op(w->pack, w->warp, &o, 0);
}
