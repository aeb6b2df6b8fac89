/*
 * mixer_state.h -- what a mixer is inside: shared by mixer*.c, and nobody else includes it.
 *
 *     mixer.c           opening, copying, what a caller may ask
 *     mixer_step.c      a step, and taking it back
 *     mixer_take.c      the next sequence of a domain; what is dry
 *     mixer_deal.c      a live domain's partitions, round robin
 *     mixer_lengths.c   lengths that grow
 *     mixer_weigh.c     weights in force, rounds, domains that drop out
 *     mixer_change.c    phases and accepted requests, at their step
 *     mixer_request.c   requests; mixer_judge.c: whether one may be; mixer_answer.c: the answer's
 * text mixer_accept.c    a changed configuration mixer_save.c, mixer_resume.c   to and from the
 * ledger
 *
 * Derived state (orders, windows, the set of exclusions) is not saved and follows the rest.
 */
#ifndef CONSUMER_MIXER_MIXER_STATE_H
#define CONSUMER_MIXER_MIXER_STATE_H

#include "common/base/names.h"
#include "common/schedule/order.h"
#include "common/schedule/schedule.h"
#include "consumer/mixer/mixer.h"
#include "consumer/mixer/mixer_exclude.h"

/* Where the mix stands in one domain: a value, saved before each step for mixer_undo(). */
struct cursor {
	enum ledger_domain_state state;
	bool extended; /* this epoch counts with sequences_next */
	double raw_weight, base_weight;
	uint64_t weight; /* quantised: of 2^32 or a whole round; greedy: bits */
	uint64_t epoch, position;
	uint64_t taken, tokens;
	uint64_t owed, repay; /* lent draws; progress to the next that is paid back, of `one` */
};

/* Where a live domain stands in its rounds over the partitions. */
struct deal {
	bool known;
	uint64_t position; /* that this is the place of */
	uint64_t round;    /* = ordinal */
	size_t partition;
};

struct domain {
	char name[NAME_MAX_BYTES + 1];
	enum config_on_end on_end;
	uint64_t max_epochs; /* 0: not set */
	bool live, joined, short_ones;
	enum mixer_on_dry on_dry;
	uint64_t catch_up; /* thousandths of its share that it is paid back beside its share */
	uint64_t key;      /* of its permutations */
	size_t partitions_n;
	size_t partition_first;               /* in the mixer's taken_in_epoch */
	uint64_t *sequences, *sequences_next; /* [partitions_n]: of this epoch, of the next */
	bool *sealed;                         /* [partitions_n] */
	bool all_sealed, grows;               /* grows: sequences_next differs */
	bool excludes;                        /* derived: some ordinals are excluded */
	struct order *order, *order_next;     /* derived; next: NULL unless `grows` */
	struct order_window window;           /* derived: valid for positions inside it, */
	const struct order *window_order;     /* in this order, */
	uint64_t window_epoch;                /* of this epoch */
	struct deal deal;                     /* derived */
};

/* Why the weights in force are what they are. */
struct force {
	uint64_t version, version_step;
	enum ledger_reason reason;
	double temperature, lr_scale;
	char reason_id[MIXER_ID_BYTES_MAX + 1];
	char phase[NAME_MAX_BYTES + 1];
};

/* All that a step changes. */
struct progress {
	uint64_t step_next, draws, choices;
	uint64_t round, round_draws;
	size_t pending_done; /* of m->pending: in force, and only there for mixer_undo() */
	size_t skips_n;      /* of m->skip */
	struct force force;
	struct schedule schedule;
	struct cursor *cursor;    /* [domains] */
	uint64_t *taken_in_epoch; /* [partitions of all domains] */
};

struct phase {
	char name[NAME_MAX_BYTES + 1];
	uint64_t start_step;
	double temperature, lr_scale;
	struct ledger_raw_weight *weight;
	size_t weights_n;
};

struct mixer {
	uint64_t seed;
	uint32_t sequence_length, global_batch, lanes, block, window_blocks;
	bool permute;
	enum config_lane_order lane_order;
	enum schedule_kind schedule;
	enum mixer_weights_unit weights_unit;
	uint64_t epoch_size; /* 0: no rounds */
	double temperature;  /* of the plan */
	uint64_t base;       /* hash of the plan's weights, temperature and phases */
	struct phase *phase;
	size_t phases_n;
	struct domain *domain;
	size_t domains_n, partitions_n;
	size_t lenders_n;            /* domains with MIXER_DRY_LEND */
	struct progress now, before; /* before: as it was before the last step */
	bool undoable;
	struct mixer_draw blocked;
	mixer_tokens *tokens;
	void *tokens_opaque;
	struct ledger_change *pending; /* by step, then in the order of acceptance */
	size_t pending_n;
	struct ledger_skip *skip; /* in force: the first now.skips_n */
	size_t skips_n;
	struct ledger_quarantined *quarantined;
	size_t quarantined_n;
	struct exclusions excluded; /* derived: quarantined ones and skips; a skip that was undone
				     * stays, for it is in force again before the next draw */
	char **request_id;          /* oldest first */
	size_t request_ids_n;
	int64_t control_next;
	bool *dry; /* [domains_n]: of one draw, where domains lend */
};

/* ---- mixer.c ---- */

/* A mixer of the plan's shape, with its phases, without domains; NULL: no memory. */
struct mixer *mixer_from_plan(const struct mixer_plan *p);

/* Appends a domain with the next index, at the start of epoch 0, weightless. */
enum fail_code mixer_add_domain(
    struct mixer *m, const struct mixer_source *s, struct domain **out, struct failure *f);

/* The plan's domain of that name; NULL: it has none. */
const struct mixer_source *mixer_source_named(const struct mixer_plan *p, const char *name);

/* The rules of a domain that no plan names: no configuration says more of it than its topic. */
struct mixer_source mixer_joined_rules(void);

/* Takes what a plan says about the end and the drought of a domain. */
void mixer_set_rules(struct mixer *m, struct domain *d, const struct mixer_source *s);

/* ---- mixer_plan.c: whether a plan can be mixed, apart from its domains' weights ---- */

enum fail_code mixer_check_plan(const struct mixer_plan *p, struct failure *f);
enum fail_code mixer_check_source(
    const struct mixer_plan *p, const struct mixer_source *s, struct failure *f);
enum fail_code mixer_copy_phases(
    struct mixer *m, const struct mixer_phase *phase, size_t phases_n, struct failure *f);
void mixer_close_phases(struct mixer *m);
uint64_t mixer_plan_hash(const struct mixer_plan *p);

/* ---- mixer_take.c ---- */

enum take { TAKE_DONE, TAKE_EXHAUSTED, TAKE_NOTHING_LEFT, TAKE_DRY };

/* Takes the next sequence of domain i that is not excluded; TAKE_DRY fills *draw as blocked. */
enum take mixer_take(struct mixer *m, size_t i, struct mixer_draw *draw);

/*
 * Whether nothing stands at domain i's cursor at the moment. What is excluded stands there too: a
 * sequence that a later step of a transaction finds to be bad must not change an earlier one when
 * the transaction is replayed. Taking from a domain that has nothing else is TAKE_DRY all the same.
 */
bool mixer_is_dry(struct mixer *m, size_t i);

/* Epoch 0 of a live domain: no permutation. */
bool mixer_is_dealing(const struct mixer *m, size_t i);

/* Passes over its sequences that a domain may make; UINT64_MAX: no bound. */
uint64_t mixer_passes(const struct domain *d);

/* Sequences of the epoch that the domain is in. */
uint64_t mixer_length(const struct mixer *m, size_t i);

/* ---- mixer_deal.c ---- */

enum deal_place { DEAL_THERE, DEAL_DRY, DEAL_END };

/* The place of `position` in the rounds over the partitions: d->deal, or that it is not there. */
enum deal_place mixer_deal(struct domain *d, uint64_t position);

/* ---- mixer_lengths.c ---- */

/* Makes sequences_next of domains that are in a longer epoch their lengths; no undo after it. */
void mixer_settle(struct mixer *m);

/* Derives the orders and all_sealed, grows from the lengths. */
enum fail_code mixer_reorder(struct mixer *m, struct domain *d, struct failure *f);

/* ---- mixer_weigh.c ---- */

/* Puts the raw weights of the active domains in force. False: none of them is positive. */
bool mixer_weigh(struct mixer *m);

/* Domain i is out: its weight goes to the others. False: there are no others. */
bool mixer_drop(struct mixer *m, size_t i);

/* Counts a draw of the open round; a full one begins the next. */
void mixer_count_round(struct mixer *m);

/* ---- mixer_change.c ---- */

/* What starts at step_next comes into force. *over: no domain is left to draw from. */
enum fail_code mixer_change_due(struct mixer *m, bool *over, struct failure *f);

/* The phase's weights in force, or, NULL, the base weights; neither version nor reason. */
void mixer_put_phase(struct mixer *m, const struct phase *phase);

/* First phase with start_step >= step. */
size_t mixer_phase_from(const struct mixer *m, uint64_t step);

/* A request's change in force. FAIL_MEMORY only. */
enum fail_code mixer_put_change(struct mixer *m, const struct ledger_change *c, struct failure *f);

/* Frees the changes that mixer_undo() cannot take back any more. */
void mixer_forget_done(struct mixer *m);

void mixer_change_clear(struct ledger_change *c);
enum fail_code mixer_change_copy(
    struct ledger_change *to, const struct ledger_change *from, struct failure *f);

/* Keeps a change until its step: behind all of the same step. Copies. */
enum fail_code mixer_insert_change(
    struct mixer *m, const struct ledger_change *c, struct failure *f);

/* ---- mixer_skip.c ---- */

enum fail_code mixer_put_skip(struct mixer *m, const struct ledger_skip *s, struct failure *f);

/* ---- mixer_request.c ---- */

enum fail_code mixer_remember_id(struct mixer *m, const char *id, struct failure *f);

/* ---- mixer_judge.c ---- */

/*
 * FAIL_DATA: why the change cannot be. Gives *before and *after (mixer_close), also on failure
 * where they are not NULL: the state at its step without and with it.
 */
enum fail_code mixer_judge(const struct mixer *m, const struct ledger_change *c,
    struct mixer **before, struct mixer **after, struct failure *f);

/* ---- mixer_answer.c ---- */

/* What an accepted change does: `before` has all that precedes it in force, `after` it as well. */
char *mixer_describe(const struct mixer *now, const struct mixer *before, const struct mixer *after,
    const struct ledger_change *c, int64_t asked_step);

#endif
