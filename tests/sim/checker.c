/*
 * What a trainer and an auditor see, against the run without faults. The classes are those of
 * Jepsen's queue workloads (github.com/jepsen-io/redpanda): aborted read, lost write, duplicate,
 * gap, non-monotonic; and torn step, of a step that is not there on all lanes.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "common/record/batch.h"
#include "common/record/ledger.h"
#include "common/record/schema.h"
#include "tests/sim/world.h"

static char found[1024];

static const char *problem(const char *format, ...) __attribute__((format(printf, 1, 2)));

static const char *
problem(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(found, sizeof(found), format, ap);
	va_end(ap);
	return found;
}

/* ---- the batch topic ---- */

static bool
step_of(const struct cluster_record *r, uint64_t *step)
{
	struct batch_view view;
	struct failure f;

	if (batch_decode(&view, r->bytes, r->n, &f) != FAIL_NONE)
		return false;
	*step = view.head.step;
	return true;
}

/* Steps that the ledger has, as its readers see it; *ended: the mix has, behind them. */
static uint64_t
published(bool *ended)
{
	const struct cluster_partition *p = cluster_partition("m.ledger", 0);
	uint64_t steps = 0;

	*ended = false;
	for (int64_t i = p->end; i-- > p->log_start;) {
		struct ledger l = {0};
		struct failure f;

		if (p->record[i].fate != CLUSTER_COMMITTED)
			continue;
		if (ledger_decode(&l, p->record[i].bytes, p->record[i].n, &f) == FAIL_NONE) {
			steps = (uint64_t)l.step_next;
			*ended = l.kind == LEDGER_END;
		}
		ledger_clear(&l);
		break;
	}
	return steps;
}

/* A record of a lane, where step `want` is due. */
static const char *
check_batch(const struct world *w, uint32_t lane, int64_t offset, const struct cluster_record *r,
    uint64_t want)
{
	const struct world_bytes *expected = &w->batch[lane][want];
	uint64_t step;

	if (r->fate != CLUSTER_COMMITTED)
		return problem("lane %" PRIu32 " offset %" PRId64 ": a record is in no transaction "
			       "that has ended",
		    lane, offset);
	if (!step_of(r, &step))
		return problem(
		    "lane %" PRIu32 " offset %" PRId64 ": no batch record", lane, offset);
	if (step < want)
		return problem("%s: lane %" PRIu32 " offset %" PRId64 ": step %" PRIu64
			       " where %" PRIu64 " is due",
		    step + 1 == want ? "duplicate" : "non-monotonic", lane, offset, step, want);
	if (step > want)
		return problem("gap: lane %" PRIu32 " offset %" PRId64 ": step %" PRIu64
			       " where %" PRIu64 " is due",
		    lane, offset, step, want);
	if (want >= w->steps_n)
		return problem(
		    "lane %" PRIu32 ": step %" PRIu64 " lies behind the mix's end", lane, step);
	if (r->n != expected->n || memcmp(r->bytes, expected->bytes, r->n) != 0)
		return problem("other bytes: lane %" PRIu32 " offset %" PRId64 ", step %" PRIu64
			       ": not those of the run without faults",
		    lane, offset, step);
	return NULL;
}

/* Some of what was published was destroyed, and may have been published again at other offsets. */
static bool
any_destroyed(void)
{
	const uint64_t *count = cluster->chance.count;

	return count[CHANCE_LANE_CUT] > 0 || count[CHANCE_LEDGER_CUT] > 0 ||
	       count[CHANCE_LEDGER_EMPTY] > 0 || count[CHANCE_BATCHES_MADE] > 0 ||
	       count[CHANCE_PARTITIONS] > 0;
}

/*
 * The step that is due first: 0, but where a lane was filled again and neither the ledger nor the
 * other lanes had their beginning any more.
 */
static uint64_t
first_due(const struct world *w, uint32_t lane)
{
	const struct cluster_partition *p = world_lane(w, lane);
	const uint64_t *count = cluster->chance.count;
	uint64_t step;

	if (!any_destroyed() ||
	    count[CHANCE_RECORDS_DELETED] + count[CHANCE_LEDGER_EMPTY] + count[CHANCE_RETENTION] ==
		0)
		return 0;
	for (int64_t i = 0; i < p->end; i++)
		if (p->record[i].fate == CLUSTER_COMMITTED &&
		    world_in_lane(w, lane, &p->record[i]) && step_of(&p->record[i], &step))
			return step;
	return 0;
}

static const char *
check_lane(const struct world *w, uint32_t lane, uint64_t *steps)
{
	const struct cluster_partition *p = world_lane(w, lane);

	*steps = first_due(w, lane);
	for (int64_t i = 0; i < p->end; i++) {
		const struct cluster_record *r = &p->record[i];
		const char *bad;

		if (r->fate == CLUSTER_MARKER || r->fate == CLUSTER_ABORTED ||
		    !world_in_lane(w, lane, r))
			continue;
		bad = check_batch(w, lane, i, r, *steps);
		if (bad != NULL)
			return bad;
		(*steps)++;
	}
	return NULL;
}

/* Where lanes share partitions each record is of a lane that lies there. */
static const char *
check_keys(const struct world *w)
{
	for (int32_t i = 0; i < (int32_t)w->partitions; i++) {
		const struct cluster_partition *p = cluster_partition("m.batches", i);

		for (int64_t k = 0; k < p->end; k++) {
			bool known = p->record[k].fate == CLUSTER_MARKER;

			for (uint32_t lane = 0; !known && lane < w->lanes; lane++)
				known = world_lane(w, lane) == p &&
					world_in_lane(w, lane, &p->record[k]);
			if (!known)
				return problem("partition %" PRId32 " offset %" PRId64
					       ": the key is no lane that lies there",
				    i, k);
		}
	}
	return NULL;
}

static const char *
check_batches(const struct world *w)
{
	uint64_t first = 0, steps;

	for (uint32_t lane = 0; lane < w->lanes; lane++) {
		const char *bad = check_lane(w, lane, &steps);

		if (bad != NULL)
			return bad;
		first = lane == 0 ? steps : first;
		if (steps != first)
			return problem("torn step: lane %" PRIu32 " has %" PRIu64
				       " steps, lane 0 has %" PRIu64,
			    lane, steps, first);
	}
	/* The record of the end is given to nobody. */
	if (first == w->steps_n - world_derived(w))
		return NULL;
	return problem("lost write: %" PRIu64 " steps of %zu are there", first, w->steps_n);
}

/* ---- the ledger ---- */

/* What rests on when transactions and runs were, and who made them; answers are looked at for all
 * records together. */
static const char *const free_fields[] = {"kind", "mixer", "step_first", "runs", "answers", NULL};

static const char *
check_state(const struct world *w, const struct ledger *l, int64_t offset)
{
	const struct world_state *expected = world_state(w, l->step_next, l->control_next);
	struct avro_difference d;
	struct ledger other = {0};
	struct failure f;
	bool differs;

	/* Requests whose answers were lost with the ledger's tail are answered again. */
	if (expected == NULL && cluster->chance.count[CHANCE_LEDGER_CUT] > 0)
		return NULL;
	if (expected == NULL)
		return problem("ledger offset %" PRId64 ": step_next %" PRId64
			       " with control_next %" PRId64
			       " is no state of the run without faults",
		    offset, l->step_next, l->control_next);
	if (ledger_decode(&other, expected->ledger.bytes, expected->ledger.n, &f) != FAIL_NONE)
		return problem("the expected ledger: %.200s", f.text);
	differs = ledger_compare(l, &other, free_fields, &d);
	ledger_clear(&other);
	if (!differs)
		return NULL;
	return problem("ledger offset %" PRId64 ", step_next %" PRId64
		       ": %s is not that of the run without faults",
	    offset, l->step_next, d.path);
}

static const char *
check_order(const struct ledger *l, int64_t offset, int64_t step_next, uint64_t mixer)
{
	if (l->step_first != step_next)
		return problem("%s: ledger offset %" PRId64 " begins at step %" PRId64
			       ", the record before it ends at %" PRId64,
		    l->step_first < step_next ? "duplicate" : "gap", offset, l->step_first,
		    step_next);
	/* Unless the START of a mixer that goes on was lost. */
	if (l->kind != LEDGER_START && l->mixer != mixer &&
	    cluster->chance.count[CHANCE_LEDGER_CUT] == 0)
		return problem("ledger offset %" PRId64 ": a mixer writes that is not the last "
			       "one to have started",
		    offset);
	return NULL;
}

/* What the ledger said last. */
struct ledger_seen {
	int64_t step_next, control_next;
	uint64_t mixer, run;
	bool control_made; /* a mixer has found the control topic recreated */
	char answers[WORLD_ANSWERS_MAX];
};

/* The topic is recreated once all requests are answered: control_next then says nothing more. */
static void
see_control(const struct world *w, struct ledger_seen *seen, struct ledger *l)
{
	seen->control_made |=
	    l->control_next < seen->control_next && cluster->chance.count[CHANCE_CONTROL_MADE] > 0;
	seen->control_next = l->control_next;
	for (size_t i = 0; seen->control_made && i < w->states_n; i++)
		if (w->state[i].control_next > l->control_next)
			l->control_next = w->state[i].control_next;
}

static const char *
check_ledger_record(
    const struct world *w, const struct cluster_record *r, int64_t offset, struct ledger_seen *seen)
{
	struct ledger l = {0};
	struct failure f;
	const char *bad;

	if (r->fate != CLUSTER_COMMITTED)
		return problem(
		    "ledger offset %" PRId64 ": in no transaction that has ended", offset);
	if (ledger_decode(&l, r->bytes, r->n, &f) != FAIL_NONE)
		return problem("ledger offset %" PRId64 ": %.200s", offset, f.text);
	see_control(w, seen, &l);
	bad = check_order(&l, offset, seen->step_next, seen->mixer);
	if (bad == NULL)
		bad = check_state(w, &l, offset);
	if (bad == NULL && !world_add_answers(seen->answers, &l))
		bad = problem("ledger offset %" PRId64 ": more answers than requests", offset);
	if (bad == NULL && ledger_run_step(&l, "trainers") < seen->run)
		bad = problem("ledger offset %" PRId64 ": the run stood at step %" PRIu64
			      ", and now at %" PRIu64,
		    offset, seen->run, ledger_run_step(&l, "trainers"));
	seen->run = ledger_run_step(&l, "trainers");
	seen->step_next = l.step_next;
	seen->mixer = l.mixer;
	ledger_clear(&l);
	return bad;
}

static const char *
check_ledger(const struct world *w)
{
	const struct cluster_partition *p = cluster_partition("m.ledger", 0);
	struct ledger_seen seen = {0};

	for (int64_t i = 0; i < p->end; i++) {
		const struct cluster_record *r = &p->record[i];
		const char *bad;

		if (r->fate == CLUSTER_MARKER || r->fate == CLUSTER_ABORTED)
			continue;
		if (r->undone && i < p->log_start) /* deleted, and shown to nobody */
			continue;
		bad = check_ledger_record(w, r, i, &seen);
		if (bad != NULL)
			return bad;
	}
	if (strcmp(seen.answers, w->answers) != 0)
		return problem("requests are answered \"%s\", without faults \"%s\"", seen.answers,
		    w->answers);
	if (seen.step_next != (int64_t)w->steps_n - 1)
		return problem("lost write: the ledger ends at step %" PRId64 " of %zu",
		    seen.step_next, w->steps_n - 1);
	return NULL;
}

static const char *
check_taken(const struct world *w)
{
	for (size_t i = 0; i < w->logs_n; i++) {
		const struct world_log *s = &w->log[i];
		const struct cluster_commit *c = cluster_commit("m.mixer", s->topic, s->partition);
		int64_t taken = c == NULL ? -1 : c->offset;

		if (taken != w->taken[i])
			return problem("group m.mixer, topic %s: %" PRId64 " taken, %" PRId64
				       " without faults",
			    s->topic, taken, w->taken[i]);
	}
	return NULL;
}

/* ---- dead letters ---- */

static const char *
header(const struct cluster_record *r, const char *name)
{
	for (size_t i = 0; i < r->headers_n; i++)
		if (strcmp(r->header[i].name, name) == 0 && r->header[i].value != NULL)
			return r->header[i].value;
	return "";
}

static bool
same_letter(const struct cluster_record *a, const struct cluster_record *b)
{
	return a->fate == CLUSTER_COMMITTED && b->fate == CLUSTER_COMMITTED &&
	       strcmp(header(a, "riffle.error.topic"), header(b, "riffle.error.topic")) == 0 &&
	       strcmp(header(a, "riffle.error.partition"), header(b, "riffle.error.partition")) ==
		   0 &&
	       strcmp(header(a, "riffle.error.ordinal"), header(b, "riffle.error.ordinal")) == 0;
}

/*
 * What was quarantined is there, each sequence once; unless the ledger has lost that it is
 * quarantined.
 */
static const char *
check_rejects(const struct world *w)
{
	const struct cluster_partition *p = cluster_partition("c.rejects", 0);
	const uint64_t *count = cluster->chance.count;
	bool lost = count[CHANCE_LEDGER_CUT] + count[CHANCE_LEDGER_EMPTY] > 0;
	size_t n = 0;

	for (int64_t i = 0; i < p->end; i++) {
		n += p->record[i].fate == CLUSTER_COMMITTED;
		for (int64_t k = 0; !lost && k < i; k++)
			if (same_letter(&p->record[i], &p->record[k]))
				return problem("duplicate: dead letters %" PRId64 " and %" PRId64
					       " are of one sequence",
				    k, i);
	}
	/* In a world that is free the mix may end before it has come to all of them. */
	if (n == w->rejects_n || (n > w->rejects_n && lost) || (n < w->rejects_n && w->free))
		return NULL;
	return problem("lost write: %zu dead letters of %zu", n, w->rejects_n);
}

/* ---- trainers ---- */

/* The record of a step, at another offset than the one at which it was read. */
static const struct cluster_record *
find_step(const struct world *w, uint32_t lane, uint64_t step)
{
	const struct cluster_partition *p = world_lane(w, lane);

	for (int64_t i = 0; i < p->end; i++) {
		uint64_t of;

		if (p->record[i].fate == CLUSTER_COMMITTED &&
		    world_in_lane(w, lane, &p->record[i]) && step_of(&p->record[i], &of) &&
		    of == step)
			return &p->record[i];
	}
	return NULL;
}

/*
 * Steps were lost on lanes and in the ledger, and drawn again: a live world has more since, or its
 * configuration was changed before them.
 */
static bool
drawn_again(const struct world *w)
{
	const uint64_t *count = cluster->chance.count;

	return (w->free || w->accepted != NULL) &&
	       count[CHANCE_LEDGER_CUT] + count[CHANCE_LEDGER_EMPTY] > 0 &&
	       count[CHANCE_LANE_CUT] + count[CHANCE_BATCHES_MADE] + count[CHANCE_PARTITIONS] > 0;
}

static const char *
check_seen_one(const struct world *w, const struct world_seen *s)
{
	const struct cluster_record *r = any_destroyed()
					     ? find_step(w, s->lane, s->step)
					     : &world_lane(w, s->lane)->record[s->offset];

	if (r == NULL && (s->step < first_due(w, s->lane) || drawn_again(w)))
		return NULL;
	if (r == NULL)
		return problem("lost write: a trainer was given step %" PRIu64 " of lane %" PRIu32
			       ", which is not there any more",
		    s->step, s->lane);
	if (r->fate != CLUSTER_COMMITTED)
		return problem("aborted read: a trainer was given step %" PRIu64 " of lane %" PRIu32
			       ", offset %" PRId64 ", which was never committed",
		    s->step, s->lane, s->offset);
	if (!world_in_lane(w, s->lane, r))
		return problem("torn step: a trainer was given offset %" PRId64 " as step %" PRIu64
			       " of lane %" PRIu32 ", and it is another lane's",
		    s->offset, s->step, s->lane);
	if (s->hash != XXH64(r->bytes, r->n, 0) && !drawn_again(w))
		return problem("other bytes: a trainer was given step %" PRIu64 " of lane %" PRIu32,
		    s->step, s->lane);
	return NULL;
}

static const char *
check_seen(const struct world *w, uint64_t steps)
{
	static bool had[WORLD_LANES_MAX][WORLD_STEPS_MAX];
	const struct world_told *told = world_told();
	/* The END went with the ledger's tail and the lanes: who met it is at its end. */
	bool end_lost = cluster->chance.count[CHANCE_LEDGER_CUT] > 0 &&
			cluster->chance.count[CHANCE_BATCHES_MADE] > 0;

	memset(had, 0, sizeof(had));
	for (size_t i = 0; i < told->seen_n; i++) {
		const char *bad = check_seen_one(w, &told->seen[i]);

		if (bad != NULL)
			return bad;
		if (told->seen[i].step < WORLD_STEPS_MAX)
			had[told->seen[i].lane][told->seen[i].step] = true;
	}
	for (uint32_t i = 0; i < WORLD_TRAINERS; i++)
		if (told->reset[i])
			return problem("reset: trainer %" PRIu32 " began at step 0, and the ledger "
				       "knew where its run stood",
			    i);
	for (uint32_t i = 0; i < WORLD_TRAINERS; i++)
		if (told->skipped[i])
			return problem("gap: trainer %" PRIu32 " began at step %" PRIu64
				       ", behind what it was given",
			    i, told->begun[i]);
	for (uint32_t lane = 0; lane < w->lanes; lane++)
		for (uint64_t step = 0; step < steps; step++)
			if (!had[lane][step] && told->seen_n < WORLD_SEEN_MAX &&
			    (step < told->trained[lane] || !end_lost))
				return problem("lost read: no trainer was given step %" PRIu64
					       " of lane %" PRIu32,
				    step, lane);
	return NULL;
}

/* ---- domain logs ---- */

static bool
ordinal_of(const struct cluster_record *r, uint64_t *ordinal)
{
	enum schema_record which;
	struct sequence_view s;
	struct failure f;

	*ordinal = UINT64_MAX;
	if (schema_which(&which, r->bytes, r->n, &f) != FAIL_NONE)
		return false;
	if (which == SCHEMA_END)
		return true;
	if (which != SCHEMA_SEQUENCE || sequence_decode(&s, r->bytes, r->n, &f) != FAIL_NONE)
		return false;
	*ordinal = s.ordinal;
	return true;
}

/* Every sequence in its place, whatever is there twice; nothing but another End behind the End. */
static const char *
check_domain(const struct world_log *s)
{
	const struct cluster_partition *p = cluster_partition(s->topic, s->partition);
	size_t next = 0;

	for (int64_t i = 0; i < p->end; i++) {
		const struct cluster_record *r = &p->record[i];
		uint64_t ordinal, at;

		if (!ordinal_of(r, &ordinal))
			return problem("topic %s offset %" PRId64 ": no sequence", s->topic, i);
		at = ordinal == UINT64_MAX ? s->records_n - 1 : ordinal;
		if (at > next)
			return problem("gap: topic %s [%" PRId32 "] offset %" PRId64
				       ": record %" PRIu64 " where %zu is due",
			    s->topic, s->partition, i, at, next);
		if (r->n != s->record[at].n || memcmp(r->bytes, s->record[at].bytes, r->n) != 0)
			return problem("other bytes: topic %s [%" PRId32 "] offset %" PRId64
				       ", record %" PRIu64,
			    s->topic, s->partition, i, at);
		next += at == next;
	}
	if (next == s->records_n)
		return NULL;
	return problem("lost write: topic %s [%" PRId32 "] has %zu records of %zu", s->topic,
	    s->partition, next, s->records_n);
}

bool
checker_sealed(const struct world_log *l)
{
	const struct cluster_partition *p = cluster_partition(l->topic, l->partition);
	uint64_t ordinal;

	return p->end > 0 && ordinal_of(&p->record[p->end - 1], &ordinal) && ordinal == UINT64_MAX;
}

/* Steps below it are on every lane. */
static uint64_t
last_step(const struct world *w)
{
	const struct cluster_partition *p = world_lane(w, 0);
	struct batch_view view;
	struct failure f;
	bool ended;

	if (world_derived(w))
		return published(&ended);
	for (int64_t i = p->end; i-- > 0;) {
		if (p->record[i].fate != CLUSTER_COMMITTED || !world_in_lane(w, 0, &p->record[i]))
			continue;
		if (batch_decode(&view, p->record[i].bytes, p->record[i].n, &f) != FAIL_NONE)
			break;
		return view.head.last ? view.head.step : view.head.step + 1;
	}
	return 0;
}

const char *
checker_check(const struct world *w, bool produced)
{
	const char *bad = world_told()->given[0] != '\0' ? world_told()->given : check_keys(w);

	for (size_t i = 0; produced && bad == NULL && i < w->logs_n; i++)
		bad = check_domain(&w->log[i]);
	/* What is counted from the first step on cannot be where nobody has that any more. */
	if (bad == NULL && w->free)
		bad = first_due(w, 0) > 0 ? checker_check_stopped(w) : checker_check_free(w);
	if (bad == NULL && !w->free)
		bad = check_batches(w);
	if (bad == NULL && !w->free)
		bad = check_ledger(w);
	if (bad == NULL && !w->free)
		bad = check_taken(w);
	if (bad == NULL)
		bad = check_rejects(w);
	if (bad == NULL)
		bad = check_seen(w, last_step(w));
	return bad;
}

const char *
checker_check_stopped(const struct world *w)
{
	for (uint32_t lane = 0; lane < w->lanes; lane++) {
		const struct cluster_partition *p = world_lane(w, lane);
		uint64_t next = first_due(w, lane), step;

		for (int64_t i = 0; i < p->end; i++) {
			const char *bad = NULL;

			if (p->record[i].fate != CLUSTER_COMMITTED ||
			    !world_in_lane(w, lane, &p->record[i]))
				continue;
			if (!w->free)
				bad = check_batch(w, lane, i, &p->record[i], next);
			else if (!step_of(&p->record[i], &step) || step != next)
				bad = problem("lane %" PRIu32 " offset %" PRId64 ": step %" PRIu64
					      " is due",
				    lane, i, next);
			if (bad != NULL)
				return bad;
			next++;
		}
	}
	return NULL;
}

/* ---- at any moment ---- */

static const struct world *watched; /* the world that is played */

/* -1: there is no commit. */
static int64_t
committed_step(uint32_t lane, int64_t *offset)
{
	const struct cluster_commit *c =
	    cluster_commit("m.trainers", world_commits(watched), (int32_t)lane);

	if (c == NULL || c->metadata == NULL || strncmp(c->metadata, "step=", 5) != 0)
		return -1;
	*offset = c->offset;
	return (int64_t)strtoull(c->metadata + 5, NULL, 10);
}

void
checker_given(uint32_t lane, uint64_t step, const void *bytes, size_t n)
{
	char *bad = world_told()->given;
	size_t room = sizeof(world_told()->given);
	struct cluster_partition *p;
	struct cluster_record *r;
	bool ended;

	if (!world_derived(watched) || bad[0] != '\0')
		return;
	p = world_lane(watched, lane);
	if (step >= published(&ended))
		snprintf(bad, room,
		    "aborted read: a trainer was given step %" PRIu64 " of lane %" PRIu32
		    ", which was never committed",
		    step, lane);
	else if (step > (uint64_t)p->end)
		snprintf(bad, room,
		    "gap: a trainer was given step %" PRIu64 " of lane %" PRIu32
		    ", and none before had %" PRId64,
		    step, lane, p->end);
	else if (step < (uint64_t)p->end &&
		 (p->record[step].n != n || memcmp(p->record[step].bytes, bytes, n) != 0))
		snprintf(bad, room,
		    "other bytes: step %" PRIu64 " of lane %" PRIu32
		    " was given twice, and is not the same",
		    step, lane);
	if (bad[0] != '\0' || step < (uint64_t)p->end)
		return;
	r = cluster_append(p);
	r->fate = CLUSTER_COMMITTED;
	r->bytes = cluster_allocate(n);
	memcpy(r->bytes, bytes, n);
	r->n = n;
}

void
checker_ended(uint64_t steps)
{
	bool ended;

	if (world_derived(watched) && (published(&ended) != steps || !ended))
		snprintf(world_told()->given, sizeof(world_told()->given),
		    "lost read: a trainer was told that the mix has ended at step %" PRIu64, steps);
}

/* The lowest commit of all lanes is the run's position, and the lead counts from it. */
static void
hear(const struct cluster_commit *c)
{
	struct world_told *told = world_told();
	int64_t lowest = INT64_MAX, offset;

	if (told == NULL || told->ranks == 0 || strcmp(c->group, "m.trainers") != 0)
		return;
	for (uint32_t i = 0; i < watched->lanes; i++) {
		int64_t step = committed_step(i, &offset);

		lowest = step < lowest ? step : lowest;
	}
	if (lowest > (int64_t)told->position)
		told->position = (uint64_t)lowest;
}

static const char *
watch_lead(const struct world *w)
{
	const struct world_told *told = world_told();
	uint32_t lead = w->config->mix.max_lead_steps;
	uint64_t steps = last_step(w);

	/* What the mixer before it had sent can be committed after the change. */
	if (cluster->chance.count[CHANCE_ACCEPT] > 0 && w->accepted->mix.max_lead_steps > lead)
		lead = w->accepted->mix.max_lead_steps;
	if (lead == 0 || steps <= told->position + lead)
		return NULL;
	return problem("lead: step %" PRIu64 " is published, the trainers have committed %" PRIu64
		       " and max_lead_steps is %" PRIu32,
	    steps - 1, told->position, lead);
}

/* A commit names an offset that is not behind the step that it names. */
static const char *
watch_commit(const struct world *w, uint32_t lane)
{
	const struct cluster_partition *p = world_lane(w, lane);
	int64_t offset = 0, step = committed_step(lane, &offset);
	uint64_t before;

	if (step < 0)
		return NULL;
	if (world_derived(w) && offset != step)
		return problem("lane %" PRIu32 " is committed at step %" PRId64
			       " with offset %" PRId64 ", and is derived",
		    lane, step, offset);
	for (int64_t i = offset < p->end ? offset : p->end; i-- > p->log_start;) {
		if (p->record[i].fate != CLUSTER_COMMITTED ||
		    !world_in_lane(w, lane, &p->record[i]) || !step_of(&p->record[i], &before))
			continue;
		if (before < (uint64_t)step)
			return NULL;
		return problem("gap: lane %" PRIu32 " is committed at step %" PRId64
			       " with offset %" PRId64 ", behind step %" PRIu64,
		    lane, step, offset, before);
	}
	return NULL;
}

uint64_t
checker_known_position(void)
{
	const struct cluster_partition *p = cluster_partition("m.ledger", 0);
	uint64_t step = 0;

	for (int64_t i = p == NULL ? 0 : p->end; i-- > (p == NULL ? 0 : p->log_start);) {
		struct ledger l = {0};
		struct failure f;

		if (p->record[i].fate != CLUSTER_COMMITTED)
			continue;
		if (ledger_decode(&l, p->record[i].bytes, p->record[i].n, &f) == FAIL_NONE)
			step = ledger_run_step(&l, "trainers");
		ledger_clear(&l);
		break;
	}
	return step;
}

bool
checker_all_committed(const struct world *w)
{
	int64_t offset;

	for (uint32_t lane = 0; lane < w->lanes; lane++)
		if (committed_step(lane, &offset) < 0)
			return false;
	return true;
}

void
checker_begin(const struct world *w)
{
	watched = w;
	cluster_heard = hear;
}

const char *
checker_watch(const struct world *w)
{
	const char *bad = watch_lead(w);

	if (world_told()->given[0] != '\0')
		return world_told()->given;
	if (world_told()->twice)
		return problem("a trainer says that another one trains its rank, and none does");
	/* A commit on its way names an offset of the log that is gone. */
	for (uint32_t lane = 0; !any_destroyed() && bad == NULL && lane < w->lanes; lane++)
		bad = watch_commit(w, lane);
	return bad;
}

uint64_t
checker_kept(const struct world *w)
{
	uint64_t step = UINT64_MAX;
	int64_t offset;

	for (uint32_t i = 0; i < w->lanes; i++) {
		int64_t at = committed_step(i, &offset);

		if (at < 0)
			return 0;
		if ((uint64_t)at < step) /* a dead process's late commit has taken it back */
			step = (uint64_t)at;
		if (world_told()->committed[i] < step)
			step = world_told()->committed[i];
	}
	return step;
}

void
checker_trim(const struct world *w, uint64_t step)
{
	uint64_t kept = checker_kept(w);

	step = kept < step ? kept : step;
	for (int32_t k = 0; k < (int32_t)w->partitions; k++) {
		struct cluster_partition *p = cluster_partition("m.batches", k);

		for (int64_t i = p->log_start; i < p->end; i++) {
			uint64_t of;

			if (p->record[i].fate != CLUSTER_COMMITTED ||
			    !step_of(&p->record[i], &of) || of < step)
				continue;
			p->log_start = i;
			break;
		}
	}
}
