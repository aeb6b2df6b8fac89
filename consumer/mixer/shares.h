/*
 * shares.h -- the weights in force: which domain is drawn next, what a draw costs, and why the
 * weights are what they are.
 *
 * Four numbers stand for one weight:
 *
 *   base      as the configuration has it: what phases that do not name the domain fall back to
 *   raw       as somebody wrote it: the configuration, a phase, a request
 *   weight    tempered and quantised over all domains that take part: they sum to 2^32, or with
 *             rounds to epoch_size (greedy: the bits of a double that is a share of 1)
 *   schedule  what the draws go by: `weight`, or in an open round what of it is still to be drawn
 *
 * shares_weigh() goes from raw to weight to schedule. It runs when something changes and never in
 * between: the ledger keeps the quantised integers, and a resumed mix draws with those.
 *
 * A domain takes part while its state is LEDGER_ACTIVE. shares_drop() takes one out at its end: its
 * quantised weight goes to the others by weight, without another tempering.
 *
 * Rounds. With epoch_size N a round is N draws. The weights sum to N, so that each domain is drawn
 * exactly `weight` times in a round, and the credits are 0 when it is over. A change inside a round
 * deals out the N - round_draws draws that remain by the new weights, from credits of 0.
 *
 * Lending (schedule.h has the arithmetic). A live domain under on_dry: lend that is picked while it
 * is dry pays as though it were drawn; another is drawn in its place. It is then `owed` one draw.
 * While it is owed and has sequences, `repay` grows at each draw by (catch_up - 1) times its
 * weight; once it has reached WEIGHT_ONE, the next draw that falls to somebody else is given to it.
 * Example, weight 1/4 and catch_up 2: `repay` is full after 4 draws, so that the domain is drawn
 * twice in four draws and not once, until nothing is owed.
 *
 * Invariants: share[i] and schedule weight i are domain i; a domain that does not take part has
 * weight 0; those of schedule.h; lenders_n counts on_dry: lend; owed > 0 only for domains that
 * lend, or did.
 *
 * Owns its memory. No I/O. One thread.
 */
#ifndef CONSUMER_MIXER_SHARES_H
#define CONSUMER_MIXER_SHARES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/base/names.h"
#include "common/record/ledger.h"
#include "common/schedule/schedule.h"
#include "consumer/mixer/mixer_plan.h"
#include "consumer/mixer/request_ids.h"

/* Of one domain: a value. */
struct share {
	enum ledger_domain_state state;
	double raw;  /* weight as written that is in force, were the domain to take part */
	double base; /* weight as the configuration has it: what a phase falls back to */
	uint64_t weight;
	uint64_t owed;  /* draws lent and not paid back */
	uint64_t lent;  /* all draws lent since opening or resuming: a figure, in no record */
	uint64_t repay; /* progress to the next that is paid back, of WEIGHT_ONE */
	enum mix_on_dry on_dry;
	uint64_t catch_up; /* thousandths of its weight that `repay` grows by */
};

/* One version of the weights and what goes with them: since when they are in force, and why. */
struct shares_version {
	uint64_t number; /* from 1 */
	uint64_t step;   /* the first that is drawn by it */
	enum ledger_reason reason;
	char reason_id[MIXER_ID_BYTES_MAX + 1]; /* of the phase or request; else "" */
	char phase[NAME_MAX_BYTES + 1];         /* the last one that began; else "" */
	double temperature, lr_scale;
	uint32_t global_batch; /* sequences of a step under it */
};

struct shares {
	uint64_t epoch_size;  /* draws of a round; 0: no rounds */
	uint64_t round;       /* rounds that are complete */
	uint64_t round_draws; /* draws of the open one, below epoch_size; 0 without rounds */
	struct shares_version version;
	struct share *share; /* [n] */
	size_t n, lenders_n;
	struct schedule schedule;
};

/* Who is drawn, and how the draw is paid for: by shares_choose() for shares_charge(). */
struct shares_choice {
	size_t picked; /* by the schedule */
	size_t drawn;  /* another one: lent by `picked`, or paid back by it */
	bool lent;
};

/* Fills *s: no domains, version 1. `unit` and `seed` as in schedule.h. */
void shares_init(struct shares *s, enum schedule_kind kind, uint64_t unit, uint64_t seed);
void shares_close(struct shares *s);

/* Adds a domain that is active and has weight 0. FAIL_MEMORY: nothing was added. */
enum fail_code shares_add(struct shares *s, struct failure *f);

/* Makes *to, which holds as many domains, equal to *from. */
void shares_copy(struct shares *to, const struct shares *from);

/* Gives an independent copy (shares_close). FAIL_MEMORY: *to is closed. */
enum fail_code shares_clone(struct shares *to, const struct shares *from, struct failure *f);

/* Takes a plan's on_dry and catch_up; catch_up 0 stands for 2. Only live domains lend. */
void shares_set_rules(struct shares *s, size_t i, enum mix_on_dry on_dry, double catch_up);

/* Begins the next version, in force from `step` on. `id` is of at most MIXER_ID_BYTES_MAX bytes. */
void shares_begin_version(
    struct shares *s, uint64_t step, enum ledger_reason reason, const char *id);

/*
 * Puts the raw weights of the active domains in force. False: none of them is positive, and nothing
 * was changed. Weights and temperature were checked when they came; epoch_size is at least n.
 */
bool shares_weigh(struct shares *s);

/* Domain i has reached its end: the others share its weight. False: no other has a weight. */
bool shares_drop(struct shares *s, size_t i);

/*
 * Who is drawn next. dry[i]: domain i has nothing at the moment; read only where lenders_n > 0.
 * Where all that could be drawn are dry, one that is dry is chosen, and taking from it says so.
 */
struct shares_choice shares_choose(const struct shares *s, const bool *dry);

/*
 * Taking from the chosen domain showed that it is dry after all: what stands there is excluded.
 * True: another domain may be chosen, for this one lends, or was only to be paid back; dry[] has it
 * marked. False: the step has to wait for it.
 */
bool shares_choose_again(const struct shares *s, const struct shares_choice *c, bool *dry);

/* The draw has happened. `units`: 1, or the tokens of the sequence where weights count tokens. */
void shares_charge(
    struct shares *s, const struct shares_choice *c, const bool *dry, uint64_t units);

/* After a draw: who is owed draws and is not dry comes nearer to the next that is paid back. */
void shares_ripen(struct shares *s, const bool *dry);

/* The share of domain i under the weights in force, of 1. */
double shares_of(const struct shares *s, size_t i);

/* How many draws domain i is behind its share; below 0: ahead. 0 for the schedule random. */
double shares_credit(const struct shares *s, size_t i);

#endif
