/*
 * agenda.h -- what is to come: phases of the plan, and accepted requests that wait for their step.
 *
 * Both say what is in force from a step on. Who wins:
 *
 *   - the later start, whole: a phase replaces what a request had changed, and falls back to the
 *     configuration's weights where it names none;
 *   - at one step the request, because it comes into force after the phase;
 *   - among requests of one step the one accepted last, because they take effect in the order of
 *     acceptance.
 *
 *     step   0        100            200        300
 *            config   phase warm     request    phase anneal
 *                     warm           warm + request         anneal (the request is over)
 *
 * Phases are the plan's and stay. Requests leave once they have taken effect: first they are only
 * counted as done, because the step may be undone; agenda_forget_done() frees them.
 *
 * Invariants: phases' start_step increases; pending changes stand by step, then in the order of
 * acceptance; the first `done` of them are in force, and have steps of at most the current one.
 *
 * This module keeps order; mixer.c puts in force what is due. Owns its memory. No I/O. One thread.
 */
#ifndef CONSUMER_MIXER_AGENDA_H
#define CONSUMER_MIXER_AGENDA_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/base/names.h"
#include "common/record/ledger.h"
#include "consumer/mixer/mixer_plan.h"

struct agenda_phase {
	char name[NAME_MAX_BYTES + 1];
	uint64_t start_step;
	double temperature, lr_scale; /* both set */
	uint32_t global_batch;        /* 0: the plan's */
	struct ledger_raw_weight *weight;
	size_t weights_n;
};

/* A zeroed struct is a valid empty one. */
struct agenda {
	struct agenda_phase *phase;
	size_t phases_n;
	struct ledger_change *pending;
	size_t pending_n;
	size_t done, done_kept; /* done_kept: as it was before the last step */
};

void agenda_close(struct agenda *a);

/* Makes *to, which is empty, equal to *from. FAIL_MEMORY: agenda_close(to) frees the part. */
enum fail_code agenda_copy(struct agenda *to, const struct agenda *from, struct failure *f);

/*
 * Takes the phases of a plan that was checked, in place of those that are there. Copies. A phase
 * without a temperature has `temperature`. FAIL_MEMORY: some phases are missing.
 */
enum fail_code agenda_set_phases(struct agenda *a, const struct mixer_phase *phase, size_t phases_n,
    double temperature, struct failure *f);

/* The first phase with start_step >= step; phases_n: there is none. */
size_t agenda_phase_from(const struct agenda *a, uint64_t step);

/* The phase that starts exactly at `step`; NULL: none does. */
const struct agenda_phase *agenda_phase_at(const struct agenda *a, uint64_t step);

/* The largest global_batch that a phase or a waiting request gives; 0: none gives one. */
uint32_t agenda_batch_most(const struct agenda *a);

/* Accepted requests that have not taken effect. */
size_t agenda_waiting(const struct agenda *a);

/* Keeps a change until its step, behind all others of the same step. Copies. */
enum fail_code agenda_insert(struct agenda *a, const struct ledger_change *c, struct failure *f);

/* The accepted request of that id that waits for its step; NULL: none does. */
const struct ledger_change *agenda_find(const struct agenda *a, const char *id);

/* Takes out and frees a change that agenda_find() gave. */
void agenda_remove(struct agenda *a, const struct ledger_change *c);

/*
 * The next change that takes effect at `step` or before, which the caller puts in force and counts
 * by agenda_count_done(). NULL: there is none. Borrowed until the agenda changes.
 */
const struct ledger_change *agenda_due(const struct agenda *a, uint64_t step);
void agenda_count_done(struct agenda *a);

/* Notes what is done before a step; goes back to it. */
void agenda_keep(struct agenda *a);
void agenda_undo(struct agenda *a);

/* Frees the changes that are done; no undo after it. */
void agenda_forget_done(struct agenda *a);

/* A change as a value that owns its texts. FAIL_MEMORY: *to is not changed. */
enum fail_code agenda_change_copy(
    struct ledger_change *to, const struct ledger_change *from, struct failure *f);
void agenda_change_close(struct ledger_change *c);

#endif
