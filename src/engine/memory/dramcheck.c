/*
 * dramcheck.c - an independent check of the controller's command stream.
 *
 * The controller computes when a command becomes legal; this file knows
 * nothing of that.  It keeps, for each kind of command, when the last one went
 * to each bank, each bank group and the channel, and compares every new
 * command with every earlier one that a row of the table below names.  A least
 * distance that holds towards the last command of a kind holds towards all
 * earlier ones, so the whole history is covered.
 *
 * Golden requests go before all others: that is checked too, against the same
 * distances.  While a copy inside DRAM holds a bank (hd_dram_block) no command
 * goes there, so that a golden request of that bank delays no other; a column
 * of a row that stays open is legal afterwards, the slower direction by the
 * difference of the two tRCD later.
 *
 * Besides distances it checks what the banks must be (open, closed, the right
 * row), that the data of two bursts never share a cycle of the bus, that there
 * is one command a cycle, the window of four activates, and that refreshes
 * come when they are due and nothing else does.
 *
 * An automatic precharge takes effect at the first cycle, of a pseudo-channel
 * the first of its turns, at which a precharge would be legal.
 *
 * SPDX-License-Identifier: MIT
 */
#include "dramchan.h"

/* Kinds of command as constraints speak of them. */
enum { ACT = 1, PRE = 2, RD = 4, WR = 8, REF = 16, REFB = 32, KINDS = 6 };
enum scope { BANK, GROUP, CHANNEL };

struct rule {
    const char *name;
    uint32_t from, to; /* sets of kinds */
    enum scope scope;
    uint64_t distance;
};

enum { MAX_RULES = 24 };

/* When the last command of each kind was issued, plus 1; 0: never. */
struct last {
    uint64_t at[KINDS];
};

struct history {
    struct last all;
    struct last group[HD_DRAM_MAX_BANKS];
    struct last bank[HD_DRAM_MAX_BANKS];
    uint64_t row[HD_DRAM_MAX_BANKS];
    uint8_t open[HD_DRAM_MAX_BANKS];
    uint64_t held[HD_DRAM_MAX_BANKS]; /* a copy's: no command before this */
    uint64_t activates[4];            /* plus 1 */
    uint64_t count;                   /* activates so far */
    uint64_t command[2]; /* by bus: from where the next one may go */
    uint64_t data_end;   /* first free cycle of the data bus */
    uint64_t refreshes;
};

struct hd_dramcheck {
    struct hd_dram_cfg cfg;
    struct rule rule[MAX_RULES];
    uint32_t rules;
    struct history *h; /* arena: one a channel */
};

static void dramcheck_add(struct hd_dramcheck *k, const char *name,
                          uint32_t from, uint32_t to, enum scope scope,
                          uint64_t distance)
{
    k->rule[k->rules++] = (struct rule){name, from, to, scope, distance};
}

static void make_rules(struct hd_dramcheck *k)
{
    const struct hd_dram_cfg *c = &k->cfg;
    const uint32_t col = RD | WR;

    dramcheck_add(k, "tCCD_S", col, col, CHANNEL, c->tccd_s);
    dramcheck_add(k, "tCCD_L", col, col, GROUP, c->tccd_l);
    dramcheck_add(k, "tRRD", ACT, ACT, CHANNEL, c->trrd);
    dramcheck_add(k, "tRC", ACT, ACT, BANK, c->trc);
    dramcheck_add(k, "tRCDRD", ACT, RD, BANK, c->trcdrd);
    dramcheck_add(k, "tRCDWR", ACT, WR, BANK, c->trcdwr);
    dramcheck_add(k, "tRAS", ACT, PRE, BANK, c->tras);
    dramcheck_add(k, "tRP", PRE, ACT, BANK, c->trp);
    dramcheck_add(k, "tRP", PRE, REF, CHANNEL, c->trp);
    dramcheck_add(k, "tRTP", RD, PRE, BANK, c->trtp);
    dramcheck_add(k, "tWR", WR, PRE, BANK, (uint64_t)c->wl + c->bl + c->twr);
    dramcheck_add(k, "tWTR", WR, RD, CHANNEL,
                  (uint64_t)c->wl + c->bl + c->twtr);
    dramcheck_add(k, "tRTW", RD, WR, CHANNEL, hd_dram_trtw(c));
    dramcheck_add(k, "tRFC", REF, ACT | REF, CHANNEL, c->trfc);
    dramcheck_add(k, "tWTR_L", WR, RD, GROUP,
                  (uint64_t)c->wl + c->bl + hd_dram_twtr_l(c));
    dramcheck_add(k, "tRP", PRE, REFB, BANK, c->trp);
    dramcheck_add(k, "tRC", ACT, REFB, BANK, c->trc);
    dramcheck_add(k, "tRRD", ACT, REFB, CHANNEL, c->trrd);
    dramcheck_add(k, "tRFCpb", REFB, ACT | REFB, BANK, c->trfcpb);
    dramcheck_add(k, "tRREFD", REFB, ACT | REFB, CHANNEL, c->trrefd);
}

struct hd_dramcheck *hd_dramcheck_open(struct hd_env *env,
                                       const struct hd_dram_cfg *cfg)
{
    struct hd_dramcheck *k = hd_env_take(env, 1, sizeof *k);

    if (k == NULL)
        return NULL;
    k->cfg = *cfg;
    k->h = hd_arena_take(env->arena, cfg->channels, sizeof *k->h);
    if (k->h == NULL)
        return NULL;
    make_rules(k);
    return k;
}

static const char *name_of(uint32_t kind)
{
    static const char *const name[KINDS] = {"ACT", "PRE", "RD",
                                            "WR",  "REF", "REFpb"};

    for (uint32_t i = 0; i < KINDS; i++)
        if (kind & 1u << i)
            return name[i];
    return "a command";
}

static void broken(const struct hd_dramcmd *cmd, uint32_t kind, uint32_t bank,
                   const char *what, struct heddle_error *err)
{
    hd_err_set(err, HEDDLE_ECHECK,
               "dram: channel %u, cycle %llu: %s of bank %u breaks %s",
               cmd->channel, (unsigned long long)cmd->cycle, name_of(kind),
               bank, what);
}

/* The first cycle at which a copy allows a kind of command in the bank. */
static uint64_t free_of_copy(const struct hd_dramcheck *k,
                             const struct history *h, uint32_t kind,
                             uint32_t bank)
{
    const struct hd_dram_cfg *c = &k->cfg;
    uint64_t rcd = kind == WR ? c->trcdwr : c->trcdrd;
    uint64_t beyond = rcd - hd_min_u64(c->trcdrd, c->trcdwr);

    return h->held[bank] + (kind & (RD | WR) ? beyond : 0);
}

/* Whether a command would come too early under a rule, after all earlier
 * ones. */
static bool breaks(const struct hd_dramcheck *k, const struct history *h,
                   const struct rule *r, uint32_t kind, uint32_t bank,
                   uint64_t cycle)
{
    const struct last *l =
        r->scope == BANK    ? &h->bank[bank]
        : r->scope == GROUP ? &h->group[bank / (k->cfg.banks / k->cfg.groups)]
                            : &h->all;

    for (uint32_t f = 0; f < KINDS && (r->to & kind); f++)
        if ((r->from & 1u << f) && l->at[f] != 0 &&
            cycle < l->at[f] - 1 + r->distance)
            return true;
    return false;
}

static void check_copy(const struct hd_dramcheck *k, const struct history *h,
                       const struct hd_dramcmd *cmd, uint32_t kind,
                       uint32_t bank, uint64_t cycle, struct heddle_error *err)
{
    if (cycle < free_of_copy(k, h, kind, bank))
        broken(cmd, kind, bank, "the rule that a copy has its bank", err);
}

/* Compares a command with all earlier ones. */
static void check_rules(const struct hd_dramcheck *k, const struct history *h,
                        const struct hd_dramcmd *cmd, uint32_t kind,
                        uint32_t bank, uint64_t cycle, struct heddle_error *err)
{
    for (uint32_t i = 0; i < k->rules; i++)
        if (breaks(k, h, &k->rule[i], kind, bank, cycle))
            broken(cmd, kind, bank, k->rule[i].name, err);
    check_copy(k, h, cmd, kind, bank, cycle, err);
}

static void dramcheck_remember(struct hd_dramcheck *k, struct history *h,
                               uint32_t kind, uint32_t bank, uint64_t cycle)
{
    uint32_t group = bank / (k->cfg.banks / k->cfg.groups);

    for (uint32_t f = 0; f < KINDS; f++) {
        if (!(kind & 1u << f))
            continue;
        h->all.at[f] = hd_max_u64(h->all.at[f], cycle + 1);
        h->group[group].at[f] = hd_max_u64(h->group[group].at[f], cycle + 1);
        h->bank[bank].at[f] = cycle + 1;
    }
}

static void activate(struct hd_dramcheck *k, struct history *h,
                     const struct hd_dramcmd *cmd, struct heddle_error *err)
{
    uint64_t fourth = h->activates[h->count % 4];

    if (h->open[cmd->bank])
        broken(cmd, ACT, cmd->bank, "the rule that its row is closed", err);
    check_rules(k, h, cmd, ACT, cmd->bank, cmd->cycle, err);
    if (fourth != 0 && cmd->cycle < fourth - 1 + k->cfg.tfaw)
        broken(cmd, ACT, cmd->bank, "tFAW", err);
    h->activates[h->count++ % 4] = cmd->cycle + 1;
    h->open[cmd->bank] = 1;
    h->row[cmd->bank] = cmd->row;
    dramcheck_remember(k, h, ACT, cmd->bank, cmd->cycle);
}

static void precharge(struct hd_dramcheck *k, struct history *h,
                      const struct hd_dramcmd *cmd, uint32_t bank,
                      struct heddle_error *err)
{
    if (!h->open[bank])
        broken(cmd, PRE, bank, "the rule that a row is open", err);
    check_rules(k, h, cmd, PRE, bank, cmd->cycle, err);
    h->open[bank] = 0;
    dramcheck_remember(k, h, PRE, bank, cmd->cycle);
}

/* When a precharge of the bank is legal. */
static uint64_t precharge_from(const struct hd_dramcheck *k,
                               const struct history *h, uint32_t bank)
{
    uint64_t at = 0;

    for (uint32_t i = 0; i < k->rules; i++)
        for (uint32_t f = 0; f < KINDS; f++)
            if ((k->rule[i].to & PRE) && (k->rule[i].from & 1u << f) &&
                h->bank[bank].at[f] != 0)
                at = hd_max_u64(at,
                                h->bank[bank].at[f] - 1 + k->rule[i].distance);
    return at;
}

static void column(struct hd_dramcheck *k, struct history *h,
                   const struct hd_dramcmd *cmd, uint32_t kind,
                   struct heddle_error *err)
{
    uint64_t wait = kind == RD ? k->cfg.cl : k->cfg.wl;

    if (!h->open[cmd->bank] || h->row[cmd->bank] != cmd->row)
        broken(cmd, kind, cmd->bank, "the rule that its row is open", err);
    check_rules(k, h, cmd, kind, cmd->bank, cmd->cycle, err);
    if (cmd->data != cmd->cycle + wait)
        broken(cmd, kind, cmd->bank, kind == RD ? "CL" : "WL", err);
    if (cmd->data < h->data_end)
        broken(cmd, kind, cmd->bank, "BL (the data bus is taken)", err);
    h->data_end = cmd->data + k->cfg.bl;
    dramcheck_remember(k, h, kind, cmd->bank, cmd->cycle);
    if (cmd->close) {
        uint64_t at = precharge_from(k, h, cmd->bank);
        at += (at ^ cmd->channel) & (k->cfg.pseudo == HD_DRAM_PSEUDO_PAIR);
        dramcheck_remember(k, h, PRE, cmd->bank, at);
        h->open[cmd->bank] = 0;
    }
}

static void dramcheck_refresh(struct hd_dramcheck *k, struct history *h,
                              const struct hd_dramcmd *cmd,
                              struct heddle_error *err)
{
    uint64_t due = (h->refreshes + 1) * k->cfg.trefi;

    for (uint32_t b = 0; b < k->cfg.banks; b++) {
        if (h->open[b])
            broken(cmd, REF, b, "the rule that all rows are closed", err);
        check_copy(k, h, cmd, REF, b, cmd->cycle, err);
    }
    if (cmd->cycle < due)
        broken(cmd, REF, 0, "tREFI (too early)", err);
    check_rules(k, h, cmd, REF, 0, cmd->cycle, err);
    h->refreshes++;
    dramcheck_remember(k, h, REF, 0, cmd->cycle);
}

/* Whether the refresh of a bank is due in a cycle. */
static bool due_in(const struct hd_dramcheck *k, const struct history *h,
                   uint32_t bank, uint64_t cycle)
{
    return k->cfg.refresh && k->cfg.refresh_by == HD_DRAM_REFRESH_BANK &&
           bank == h->refreshes % k->cfg.banks &&
           cycle >= (h->refreshes + 1) * hd_dram_trefi(&k->cfg);
}

static void refresh_bank(struct hd_dramcheck *k, struct history *h,
                         const struct hd_dramcmd *cmd, struct heddle_error *err)
{
    uint64_t fourth = h->activates[h->count % 4];
    uint32_t b = cmd->bank;

    if (h->open[b])
        broken(cmd, REFB, b, "the rule that its row is closed", err);
    if (!due_in(k, h, b, cmd->cycle))
        broken(cmd, REFB, b, "tREFI (it is not due)", err);
    check_rules(k, h, cmd, REFB, b, cmd->cycle, err);
    if (fourth != 0 && cmd->cycle < fourth - 1 + k->cfg.tfaw)
        broken(cmd, REFB, b, "tFAW", err);
    h->refreshes++;
    dramcheck_remember(k, h, REFB, b, cmd->cycle);
}

/* One command a cycle, or one on each bus, an activate longer; in turn. */
static void check_buses(const struct hd_dramcheck *k, struct history *h,
                        const struct hd_dramcmd *cmd, struct heddle_error *err)
{
    const struct hd_dram_cfg *c = &k->cfg;
    bool split = c->buses == HD_DRAM_BUSES_SPLIT;
    bool pair = c->pseudo == HD_DRAM_PSEUDO_PAIR;
    bool column = cmd->kind == HD_DRAM_RD || cmd->kind == HD_DRAM_WR;
    uint64_t *from = &h->command[split && column], held = 1;

    if (cmd->cycle < *from)
        broken(cmd, 0, cmd->bank, "the rule of one command a cycle", err);
    if (pair && (cmd->cycle & 1) != (cmd->channel & 1))
        broken(cmd, 0, cmd->bank, "the turns of pseudo-channels", err);
    if (split && cmd->kind == HD_DRAM_ACT)
        held = c->tact;
    *from = cmd->cycle + (pair ? 2 * held : held);
}

/* Whether a command would be legal in a cycle. */
static bool legal(const struct hd_dramcheck *k, const struct history *h,
                  uint32_t kind, uint32_t bank, uint64_t cycle)
{
    uint64_t fourth = h->activates[h->count % 4];

    for (uint32_t i = 0; i < k->rules; i++)
        if (breaks(k, h, &k->rule[i], kind, bank, cycle))
            return false;
    if (cycle < free_of_copy(k, h, kind, bank) || due_in(k, h, bank, cycle))
        return false;
    if (cycle < h->command[k->cfg.buses == HD_DRAM_BUSES_SPLIT &&
                           (kind & (RD | WR)) != 0])
        return false;
    if (kind == ACT)
        return fourth == 0 || cycle >= fourth - 1 + k->cfg.tfaw;
    return kind == PRE ||
           cycle + (kind == RD ? k->cfg.cl : k->cfg.wl) >= h->data_end;
}

/* No silver or normal command goes to the bank of the oldest golden request,
 * nor in a cycle in which that one's next command is legal. */
static void golden_first(const struct hd_dramcheck *k, const struct history *h,
                         const struct hd_dramcmd *cmd, struct heddle_error *err)
{
    uint32_t b = cmd->golden_bank, next = ACT;

    if (!cmd->golden || cmd->klass == 2)
        return;
    if (h->open[b])
        next = h->row[b] != cmd->golden_row ? PRE : cmd->golden_write ? WR : RD;
    if (cmd->bank == b)
        broken(cmd, 0, b, "the rule that a golden request has its bank", err);
    else if (legal(k, h, next, b, cmd->cycle))
        broken(cmd, 0, cmd->bank, "the rule that a golden request goes first",
               err);
}

void hd_dramcheck_block(struct hd_dramcheck *k, uint32_t channel, uint32_t bank,
                        uint64_t until)
{
    uint64_t *held = &k->h[channel].held[bank];

    *held = hd_max_u64(*held, until);
}

void hd_dramcheck_command(struct hd_dramcheck *k, const struct hd_dramcmd *cmd,
                          struct heddle_error *err)
{
    struct history *h = &k->h[cmd->channel];
    bool by_bank = k->cfg.refresh_by == HD_DRAM_REFRESH_BANK;
    bool late = k->cfg.refresh && !by_bank &&
                cmd->cycle >= (h->refreshes + 1) * k->cfg.trefi;

    golden_first(k, h, cmd, err);
    check_buses(k, h, cmd, err);
    if (cmd->kind <= HD_DRAM_WR && due_in(k, h, cmd->bank, cmd->cycle))
        broken(cmd, 0, cmd->bank, "tREFI (its refresh is due)", err);
    if (late && cmd->kind != HD_DRAM_PREA && cmd->kind != HD_DRAM_REF)
        broken(cmd, 0, cmd->bank, "tREFI (a refresh is due)", err);
    switch (cmd->kind) {
    case HD_DRAM_ACT:
        activate(k, h, cmd, err);
        break;
    case HD_DRAM_PRE:
        precharge(k, h, cmd, cmd->bank, err);
        break;
    case HD_DRAM_PREA:
        for (uint32_t b = 0; b < k->cfg.banks; b++)
            if (h->open[b])
                precharge(k, h, cmd, b, err);
        break;
    case HD_DRAM_PREB:
        precharge(k, h, cmd, cmd->bank, err);
        break;
    case HD_DRAM_REFB:
        refresh_bank(k, h, cmd, err);
        break;
    case HD_DRAM_RD:
        column(k, h, cmd, RD, err);
        break;
    case HD_DRAM_WR:
        column(k, h, cmd, WR, err);
        break;
    default:
        dramcheck_refresh(k, h, cmd, err);
    }
}
