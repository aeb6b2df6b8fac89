/*
 * mixer.h -- decides which sequences each step holds, and in which order. No I/O, no clock.
 *
 * Files of this room:
 *     mixer          composes the others: opening, what takes effect at a step, a draw, a step,
 *                    undoing it, a changed plan, what a caller may ask
 *     mixer_plan     what a mixer is made from: domains, rules, phases
 *     mixer_draw     one draw: which sequence of which domain
 *     cursor         where the mix stands in one domain, and which sequence comes next
 *     shares         the weights in force: who is drawn next, what it costs, rounds, lending
 *     agenda         what is to come: phases, and accepted requests that wait for their step
 *     exclusions     sequences that no draw may take: skipped, quarantined
 *     mixer_request  requests: judged on copies, kept, answered
 *     mixer_effect   what an accepted change does, in numbers
 *     mixer_answer   the same as the text of an answer
 *     request_ids    the ids that were answered
 *     mixer_ledger   the state as a ledger record, both ways; a replay's snapshot
 *
 * Calls go downwards only. The four mixer files are the mixer, which knows all nouns; of the nouns
 * only the cursor knows another, the exclusions:
 *
 *     mixer_request, mixer_ledger, mixer_effect, mixer_answer
 *                  mixer
 *       shares  agenda  cursor  request_ids
 *                       exclusions
 *
 * A step is B draws. For each draw the shares choose a domain, its cursor gives the next sequence
 * of its epoch and passes over what is excluded, and the shares are charged. The draws of a step
 * are then put in the order of the batch: a permutation keyed by (seed, step), or none; draw number
 * k of that order goes to lane floor(k * L / B), slot k mod B/L, or, strided, to lane k mod L, slot
 * floor(k / L).
 *
 *                 mixer_step(): MIXER_DRAWN, a whole step
 *     READY ----------------------------------> READY     step_next + 1
 *       |         MIXER_DRY: a live domain has nothing at the moment  \   state as before the
 *       |         MIXER_UNKNOWN: a sequence's tokens are not known     >  call; call again
 *       |         MIXER_ENDED: the mix is over                        /   (ENDED: never)
 *
 * B may change between steps, by a phase or a request, like the weights; L never does. So a step's
 * number says nothing of how many draws came before it: the state counts them.
 *
 * What takes effect at step s (a phase that starts there, accepted requests) does so at the start
 * of mixer_step() for s: phases first, then requests in the order of acceptance. Until then it is
 * on the agenda.
 *
 * One step can be undone (mixer_undo), because only reading a sequence shows that it is bad: the
 * caller undoes the step, quarantines the ordinal, and steps again.
 *
 * The end of a domain, seen when a draw finds no position left after max_epochs passes (0: one for
 * stop and drop, no limit for repeat): `stop` ends the mix; `drop`, and `repeat` with max_epochs,
 * give the domain's weight and positive credit to the others and draw again.
 *
 * Live domains. What can be drawn changes only by mixer_set_lengths(), which the caller calls
 * between transactions, so that every decision to wait or to lend is a function of the ledger. A
 * picked domain that is dry: `wait` undoes the step and reports MIXER_DRY; `lend` draws another in
 * its place; the domain is owed the draw, and gets it back once it has something again.
 *
 * State has one record, the ledger: mixer_save() writes all of it, mixer_resume() is its inverse.
 *
 * Invariants:
 *   The state is a function of the plan, the seed and the ledger: integers decide, except that the
 *   schedule greedy compares doubles that are never contracted; no clock, no hash order.
 *   Credits and shares, see shares.h; positions, see cursor.h.
 *   Memory does not grow with steps. Thread: one at a time.
 */
#ifndef CONSUMER_MIXER_MIXER_H
#define CONSUMER_MIXER_MIXER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/record/control.h"
#include "common/record/ledger.h"
#include "consumer/mixer/mixer_draw.h"
#include "consumer/mixer/mixer_plan.h"

enum { MIXER_ANSWER_DOMAINS_MAX = 64 }; /* domains that an answer speaks of */

struct mixer;

enum mixer_result { MIXER_DRAWN, MIXER_ENDED, MIXER_DRY, MIXER_UNKNOWN };

/* ---- opening and closing ---- */

/*
 * Gives *out, to be ended with mixer_close(): a fresh mix before step 0. Copies the plan, phases
 * and all. FAIL_CONFIG: weights that cannot be, a domain with a weight and no sequence, phases that
 * do not increase or name what is no domain, a combination that the plan's comments exclude.
 */
enum fail_code mixer_open(struct mixer **out, const struct mixer_plan *p, struct failure *f);

/*
 * The same from the last ledger record. Domains, lengths, weights, positions, the epoch size and
 * pending changes are the ledger's; phases, on_end, max_epochs, on_dry, catch_up, short_ones and
 * shuffle are the plan's (a domain that it does not name: repeat, wait, short ones, plan.shuffle).
 * FAIL_DATA: the ledger contradicts itself. FAIL_CONFIG as above.
 */
enum fail_code mixer_resume(
    struct mixer **out, const struct mixer_plan *p, const struct ledger *l, struct failure *f);

/*
 * Gives *out, an independent mixer in the same state, without the callback for tokens; it can be
 * stepped ahead, and a request on it is a dry run.
 */
enum fail_code mixer_copy(struct mixer **out, const struct mixer *m, struct failure *f);
void mixer_close(struct mixer *m); /* NULL is accepted */

/*
 * By tokens: asked for each draw of a domain with short_ones, in the order of the draws. Returns
 * the tokens of the sequence without padding, 1..S+1, or 0: not known yet. NULL: S + 1 is taken.
 */
typedef uint32_t mixer_tokens(void *opaque, const struct mixer_draw *draw);
void mixer_set_tokens(struct mixer *m, mixer_tokens *tokens, void *opaque);

/* ---- stepping ---- */

/*
 * Draws one step into draws[], lane after lane in slot order: mixer_global_batch() of them, in room
 * for mixer_global_batch_most(). For any result but MIXER_DRAWN it is not filled. FAIL_DATA: every
 * sequence of a domain is kept out.
 */
enum fail_code mixer_step(
    struct mixer *m, struct mixer_draw *draws, enum mixer_result *result, struct failure *f);

/*
 * After MIXER_DRY: the domain and partition that are dry, and the ordinal that is missed. After
 * MIXER_UNKNOWN: the draw whose tokens are not known. Borrowed until the next call.
 */
const struct mixer_draw *mixer_blocked(const struct mixer *m);

/* Takes the last MIXER_DRAWN back; only once after each, and before any other change. */
void mixer_undo(struct mixer *m);

/* Keeps an ordinal out of all later draws; FAIL_DATA beyond LEDGER_QUARANTINED_MAX. */
enum fail_code mixer_quarantine(struct mixer *m, uint32_t domain, uint32_t partition,
    uint64_t ordinal, const char *reason, struct failure *f);

/*
 * Where weights count sequences: a sequence of the last step has `tokens`, not S + 1. Changes what
 * is reported, no decision.
 */
void mixer_correct_tokens(struct mixer *m, uint32_t domain, uint32_t tokens);

/* ---- changes between transactions ---- */

/*
 * What is in a domain's topic now: sequences[i] of partition i, and whether an End closes it. For a
 * live domain in its epoch 0 this is what can be drawn from now on; longer lengths of a sealed
 * partition count from the domain's next epoch; of a sealed partition that is open again (it is
 * being extended) nothing is taken. FAIL_DATA: a partition became shorter; nothing is changed then.
 */
enum fail_code mixer_set_lengths(struct mixer *m, uint32_t domain, const uint64_t *sequences,
    const bool *sealed, struct failure *f);

/*
 * What a replay of the transaction of record `l` needs beside the state before it: the lengths and
 * the quarantined sequences that it was drawn with. `m` is the state of the record before.
 */
enum fail_code mixer_take_snapshot(struct mixer *m, const struct ledger *l, struct failure *f);

/*
 * Judges a request and keeps what it changes until its step, max(at_step, step_next).
 * `joining`: JOIN: the domain as its topic has it, NULL where it is in the mix already or cannot
 * be read. *answer is filled for ledger_answer_clear(): accepted with the step and, a line each,
 * what becomes of shares, epochs and exhaustion, and the next phase that will override it; or
 * refused with the reason. The answer and what mixer_save() then gives go into a record of their
 * own, committed before the next step: a change is in the ledger before anything it governs, and a
 * replay finds each record's steps in the state of the record before. An id that was answered
 * before: *duplicate is true, *answer empty, and nothing changes. UNDO takes back what is skipped
 * of a range. CANCEL takes an accepted request back that has not taken effect, where what waits
 * behind it stays possible. Not of kind RESET, which does not concern the mixer. FAIL_MEMORY only.
 */
enum fail_code mixer_request(struct mixer *m, const struct control *c,
    const struct mixer_source *joining, struct ledger_answer *answer, bool *duplicate,
    struct failure *f);

struct mixer_effect; /* mixer_effect.h */

/*
 * The same, and where a change was accepted *effect says what it does, to be ended with
 * mixer_effect_clear(); it is empty for CANCEL, a refusal and a duplicate.
 */
enum fail_code mixer_request_with_effect(struct mixer *m, const struct control *c,
    const struct mixer_source *joining, struct ledger_answer *answer, bool *duplicate,
    struct mixer_effect *effect, struct failure *f);

bool mixer_has_answered(const struct mixer *m, const char *id);

/*
 * Answers with an acceptance of the caller's: a request that changes nothing that the mixer decides
 * by (RESET). Its id is 1 to MIXER_ID_BYTES_MAX bytes, and was not answered before.
 */
enum fail_code mixer_accept(struct mixer *m, const struct control *c, const char *text,
    struct ledger_answer *answer, struct failure *f);

/* Answers a request with a refusal of the caller's, as one that the mixer had refused. */
enum fail_code mixer_refuse(struct mixer *m, const struct control *c, const char *reason,
    struct ledger_answer *answer, bool *duplicate, struct failure *f);

/* Control records below this offset are answered. Kept in the ledger; 0 at first. */
void mixer_set_control_next(struct mixer *m, int64_t offset);
int64_t mixer_control_next(const struct mixer *m);

/*
 * Takes a changed plan before the next step. Where base weights, temperature, phases or the set of
 * domains differ, a new version begins. In it what `p` says of this step otherwise than `was`, the
 * plan until now, comes into force: a weight, the temperature, lr_scale, global_batch of a phase,
 * that a domain is there.
 * What both say alike stays as it is, also where a request had changed it; pending requests stay.
 * `was` NULL: all that `p` says comes into force, and a request that was is over, as mixers did it
 * first: a replay of their ledgers needs it. A new domain gets the next index and credit 0;
 * one that the plan had and lacks leaves; one that joined by request stays. FAIL_CONFIG: weights
 * that cannot be, or `live` or `shuffle` of a domain changed that has its order; *m is then of no
 * more use.
 */
enum fail_code mixer_replan(
    struct mixer *m, const struct mixer_plan *p, const struct mixer_plan *was, struct failure *f);

/* ---- what a caller may ask; after a step these are what governed it ---- */

uint64_t mixer_step_next(const struct mixer *m);
uint64_t mixer_version(const struct mixer *m);
uint64_t mixer_version_step(const struct mixer *m);
enum ledger_reason mixer_reason(const struct mixer *m);
const char *mixer_reason_id(const struct mixer *m);  /* phase or request; else "" */
const char *mixer_phase_name(const struct mixer *m); /* the last one that began; else "" */
double mixer_lr_scale(const struct mixer *m);
double mixer_temperature(const struct mixer *m);
uint32_t mixer_global_batch(const struct mixer *m);
/* No step has more draws until a request or a changed plan comes. */
uint32_t mixer_global_batch_most(const struct mixer *m);
size_t mixer_pending(const struct mixer *m); /* accepted requests that have not taken effect */

size_t mixer_domains(const struct mixer *m);
const char *mixer_domain_name(const struct mixer *m, uint32_t domain);
int mixer_domain_named(const struct mixer *m, const char *name); /* its index; -1: there is none */

struct mixer_standing { /* where the mix stands in one domain */
	enum ledger_domain_state state;
	bool live;                        /* its epoch 0 is not over: no length yet */
	double share;                     /* of the draws (or tokens) under the weights in force */
	double weight;                    /* as written */
	uint64_t taken, tokens;           /* since step 0 */
	uint64_t epoch, position, length; /* length: of this epoch; live: what is there */
	uint64_t passes;                  /* that it may make; 0: no limit */
	double credit;                    /* in draws: how far it is behind its share */
	int64_t owed;                     /* draws lent to others, not yet given back */
	uint64_t lent;                    /* all draws lent since mixer_open() or mixer_resume() */
};

void mixer_stand(const struct mixer *m, uint32_t domain, struct mixer_standing *out);

/* Sequences drawn of a partition in the current epoch: what the mixer's group commits. */
uint64_t mixer_partition_taken(const struct mixer *m, uint32_t domain, uint32_t partition);
size_t mixer_partitions(const struct mixer *m, uint32_t domain);
/* Sequences of a partition that the mix counts with. */
uint64_t mixer_partition_sequences(const struct mixer *m, uint32_t domain, uint32_t partition);

/*
 * Where a sequence comes in the epoch in which a ledger record's domain stands: *there: the epoch
 * has it, and `position` of it is its place, of which the record's position have been used up. `p`
 * is the plan of the record. FAIL_DATA: the record contradicts itself.
 */
enum fail_code mixer_position_of(const struct mixer_plan *p, const struct ledger_domain *l,
    uint32_t partition, uint64_t ordinal, bool *there, uint64_t *position, struct failure *f);

/* Rounds of epoch_size draws that are complete, and draws of the open one; 0 without. */
uint64_t mixer_round(const struct mixer *m, uint64_t *draws);

/*
 * Fills the fields of *l that are the mixer's state (all but kind, mix, mixer, schedule, config,
 * tokenizer, step_first, answers and runs). *l is zeroed or was filled by its owner with other
 * fields; its owner calls ledger_clear().
 */
enum fail_code mixer_save(const struct mixer *m, struct ledger *l, struct failure *f);

#endif
