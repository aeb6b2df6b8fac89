#include "consumer/reader/watchdog.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/names.h"
#include "common/kafka/kafka.h"
#include "common/kafka/kafka_groups.h"
#include "consumer/batches/lanes.h"
#include "consumer/ledger/batch_topic.h"
#include "consumer/ledger/mix_loss.h"

struct watchdog {
	const char *mix;
	const struct properties *properties;
	char topic[TOPIC_MAX_BYTES + 1];
	rd_kafka_t *rk; /* NULL: not connected yet, as below */
	char election_name[TOPIC_MAX_BYTES + 1];
	rd_kafka_t *election;
	char run[NAME_MAX_BYTES + 1]; /* of `position` */
	struct run_position_query *position;
};

struct watchdog *
watchdog_open(const char *mix, const struct properties *properties)
{
	struct watchdog *w = calloc(1, sizeof(*w));

	if (w == NULL)
		return NULL;
	w->mix = mix;
	w->properties = properties;
	names_topic(w->topic, mix, "ledger");
	names_topic(w->election_name, mix, "election");
	return w;
}

void
watchdog_close(struct watchdog *w)
{
	if (w == NULL)
		return;
	run_position_close(w->position);
	kafka_close(w->election);
	kafka_close(w->rk);
	free(w);
}

static int64_t
age_ms(int64_t timestamp_ms)
{
	return clock_wall_ms() - timestamp_ms;
}

const struct ledger_run *
watchdog_lowest(const struct ledger *l, const struct ledger_runs *runs)
{
	const struct ledger_run *lowest = NULL;

	for (size_t i = 0; i < l->runs_n; i++)
		if (ledger_runs_has(runs, l->run[i].name) &&
		    (lowest == NULL || l->run[i].step < lowest->step))
			lowest = &l->run[i];
	if (runs->lead == 0 || lowest == NULL ||
	    (uint64_t)l->step_next < (uint64_t)lowest->step + runs->lead)
		return NULL;
	return lowest;
}

/* Writes the runs in force at `step` as "eval, trainers". Returns how many there are. */
static size_t
list_runs(
    const struct ledger *l, const struct ledger_runs *runs, int64_t step, char *names, size_t room)
{
	size_t n = 0, used = 0;

	names[0] = '\0';
	for (size_t i = 0; i < l->runs_n; i++)
		if (l->run[i].step == step && ledger_runs_has(runs, l->run[i].name) && used < room)
			used += (size_t)snprintf(names + used, room - used, "%s%s",
			    n++ == 0 ? "" : ", ", l->run[i].name);
	return n;
}

/* The run has committed more than the record knows: the mixer may continue. */
static void
judge_free(const struct ledger *l, const struct watchdog_facts *facts, const char *run,
    char *reason, size_t room)
{
	if (facts->mixers == 0)
		snprintf(reason, room,
		    "no mixer runs; run %s has committed step %" PRIu64 ": start `riffle mix`", run,
		    facts->at.step);
	else
		snprintf(reason, room,
		    "step %" PRId64 " is next, and run %s has committed step %" PRIu64
		    ", but the mixer has not published it yet%s",
		    l->step_next, run, facts->at.step,
		    facts->mixers < 0 ? "; if no mixer runs, start `riffle mix`" : "");
}

/* Whether it is the reader's own lanes that lack a commit. */
static bool
is_mine(const struct run_position *at, const char *run, const struct watchdog_reader *r)
{
	return strcmp(run, r->run) == 0 &&
	       (at->step == at->step_ahead ||
		   (at->lane >= r->first && at->lane < r->first + r->count));
}

/* Adds what to do, if it is the reader's own lanes that lack a commit. */
static void
add_remedy(const struct watchdog_facts *facts, const char *run, const struct watchdog_reader *r,
    char *reason, size_t room)
{
	const struct run_position *at = &facts->at;
	uint64_t from = at->step > r->from ? at->step : r->from;
	size_t n = strlen(reason);

	if (is_mine(at, run, r) && from < r->step)
		snprintf(reason + n, room - n,
		    ". This reader was given steps %" PRIu64 " to %" PRIu64
		    ", and none of them is committed: call trained(step) after each step that is "
		    "trained",
		    from, r->step - 1);
}

/* The mixer may go no further before a run commits. */
static void
judge_lead(const struct ledger *l, const struct ledger_runs *runs, const struct ledger_run *run,
    const struct watchdog_facts *facts, const struct watchdog_reader *r, char *reason, size_t room)
{
	char names[3 * NAME_MAX_BYTES];
	size_t n = list_runs(l, runs, run->step, names, sizeof(names));
	bool asked = facts->asked && n == 1;
	uint64_t committed = asked ? facts->at.step : (uint64_t)run->step;
	bool apart = asked && facts->at.apart[0] != '\0';
	bool others = apart && !is_mine(&facts->at, run->name, r);
	char step[64];

	if (asked && (uint64_t)l->step_next < committed + runs->lead) {
		judge_free(l, facts, run->name, reason, room);
		return;
	}
	snprintf(step, sizeof(step), "step %" PRIu64 "%s", committed,
	    asked ? "" : " by the ledger's last record");
	snprintf(reason, room,
	    "step %" PRId64 " is next: %sthe mixer may be at most %" PRIu64
	    " steps ahead and waits for %s %s, which %s committed %s%s%s",
	    l->step_next, facts->mixers == 0 ? "no mixer runs now, and " : "", runs->lead,
	    n == 1 ? "run" : "runs", names, n == 1 ? "has" : "have", apart ? facts->at.apart : step,
	    others ? ": is the rank that reads them running?" : "",
	    r->step <= (uint64_t)l->step_next ? ""
	    : others ? " Is the checkpoint that named this step of this mix?"
		     : ". Is the checkpoint that named this step of this mix?");
	if (asked)
		add_remedy(facts, run->name, r, reason, room);
}

void
watchdog_judge(const struct ledger *l, const struct ledger_runs *runs,
    const struct watchdog_facts *facts, const struct watchdog_reader *r, char *reason, size_t room)
{
	const struct ledger_run *run = watchdog_lowest(l, runs);
	int64_t age = facts->age_ms < 0 ? 0 : facts->age_ms; /* clocks of two machines differ */

	assert(room > 0);
	if ((uint64_t)l->step_next > r->step)
		snprintf(reason, room,
		    "the mixer has published it (all steps below %" PRId64
		    "), but it has not arrived from the broker",
		    l->step_next);
	else if (l->kind == LEDGER_END)
		snprintf(reason, room, "the mix has ended before step %" PRId64, l->step_next);
	else if (run != NULL)
		judge_lead(l, runs, run, facts, r, reason, room);
	else if (facts->mixers == 0)
		snprintf(reason, room,
		    "no mixer runs; step %" PRId64 " is next: start `riffle mix`", l->step_next);
	else if (age >= WATCHDOG_STOPPED_MS)
		snprintf(reason, room,
		    "the mixer %swaits for its domains: it has written nothing for %" PRId64
		    " s, step %" PRId64 " is next; %s",
		    facts->mixers < 0 ? "has stopped, or " : "", age / 1000, l->step_next,
		    facts->mixers < 0 ? "start `riffle mix`" : "`riffle status` names them");
	else
		snprintf(reason, room,
		    "it is not published yet: step %" PRId64
		    " is next, and the mixer wrote last %" PRId64 " s ago",
		    l->step_next, age / 1000);
}

/* Nobody waits here for a second look (kafka_look_again()): the reader asks again. */
static const char once[] = " (seen once: a broker that has just restarted may report it at first)";

/* Asks for the ends of all lanes. *f: whether the topic is the one that `l` speaks of. */
static enum fail_code
compare_topic(struct watchdog *w, const struct ledger *l, struct failure *f)
{
	char topic[TOPIC_MAX_BYTES + 1];
	struct lane_map map;
	enum fail_code code;
	int64_t *high;
	int n = 0;

	names_topic(topic, w->mix, "batches");
	if (kafka_partitions(w->rk, topic, &n, WATCHDOG_ANSWER_MS, f) != FAIL_NONE)
		return f->code;
	if (n == 0)
		return FAIL_NONE;
	if (lanes_query_map(&map, w->rk, w->mix, n, WATCHDOG_ANSWER_MS, f) != FAIL_NONE)
		return f->code;
	high = calloc(map.lanes, sizeof(*high));
	code = high == NULL ? fail_memory(f)
			    : kafka_watermarks_many(
				  w->rk, topic, 0, (size_t)n, NULL, high, WATCHDOG_ANSWER_MS, f);
	if (code == FAIL_NONE) {
		lane_map_spread(&map, 0, map.lanes, high);
		code = batch_topic_judge(w->mix, l, &map, 0, high, map.lanes, f);
	}
	free(high);
	return code;
}

/* The step is published and does not come: is the topic the one that it was published to? */
static bool
judge_topic(struct watchdog *w, const struct ledger *l, int64_t age, char *reason, size_t room)
{
	struct ledger settled = *l; /* borrows */
	struct failure f;

	if (age >= MIX_LOSS_SETTLED_MS) /* the record's own steps show on the lanes, too */
		settled.step_first = settled.step_next;
	if (compare_topic(w, &settled, &f) != FAIL_DATA)
		return false;
	snprintf(reason, room, "%.*s%s", (int)(room - sizeof(once)), f.text, once);
	return true;
}

/* How many mixers run, standbys included; -1: cannot tell. */
static int
count_mixers(struct watchdog *w)
{
	struct kafka_options o = {.role = KAFKA_READER,
	    .properties = w->properties,
	    .client = "watch-election",
	    .group = w->election_name,
	    .asks_only = true,
	    .quiet = true};
	struct kafka_member member;
	enum fail_code code;
	struct failure f;
	size_t n = 0;

	if (w->election == NULL && kafka_open(&w->election, &o, &f) != FAIL_NONE)
		return -1;
	code = kafka_group_members(w->election, &member, 1, &n, WATCHDOG_ANSWER_MS, &f);
	if (code == FAIL_TIMEOUT) { /* see kafka_group_members() */
		kafka_close(w->election);
		w->election = NULL;
	}
	return code == FAIL_NONE ? (int)n : -1;
}

/* Asks what a run has committed; facts->asked stays false if the broker does not say. */
static void
ask_position(struct watchdog *w, const char *run, const struct watchdog_reader *r,
    struct watchdog_facts *facts)
{
	struct failure f;

	if (strcmp(w->run, run) != 0) {
		run_position_close(w->position);
		w->position = NULL;
		snprintf(w->run, sizeof(w->run), "%s", run);
	}
	if (w->position == NULL && run_position_open(&w->position, w->mix, run, r->shared,
				       "watch-run", w->properties, &f) != FAIL_NONE)
		return;
	facts->asked = run_position_ask(
			   w->position, r->lanes, WATCHDOG_ANSWER_MS, &facts->at, &f) == FAIL_NONE;
}

static void
judge_ledger(struct watchdog *w, const struct ledger *l, int64_t age,
    const struct watchdog_reader *r, char *reason, size_t room)
{
	struct watchdog_facts facts = {.age_ms = age};
	const struct ledger_run *run;
	struct ledger_runs runs;

	ledger_runs_read(&runs, l);
	facts.mixers = count_mixers(w);
	run = watchdog_lowest(l, &runs);
	if (run != NULL)
		ask_position(w, run->name, r, &facts);
	watchdog_judge(l, &runs, &facts, r, reason, room);
	ledger_runs_clear(&runs);
}

static void
judge_record(struct watchdog *w, const rd_kafka_message_t *m, const struct watchdog_reader *r,
    char *reason, size_t room)
{
	rd_kafka_timestamp_type_t type;
	int64_t age = age_ms(rd_kafka_message_timestamp(m, &type));
	struct ledger ledger = {0};
	struct failure f;

	if (ledger_decode(&ledger, m->payload, m->len, &f) != FAIL_NONE) {
		snprintf(reason, room, "the last record of topic %s cannot be read: %.256s",
		    w->topic, f.text);
		return;
	}
	if ((uint64_t)ledger.step_next <= r->step || !judge_topic(w, &ledger, age, reason, room))
		judge_ledger(w, &ledger, age, r, reason, room);
	ledger_clear(&ledger);
}

void
watchdog_why(struct watchdog *w, const struct watchdog_reader *r, char *reason, size_t room)
{
	struct kafka_options o = {
	    .role = KAFKA_READER, .properties = w->properties, .client = "watch"};
	rd_kafka_message_t *m = NULL;
	enum mix_loss loss;
	struct failure f;
	enum fail_code code;
	int partitions;

	code = w->rk == NULL ? kafka_open(&w->rk, &o, &f) : FAIL_NONE;
	if (code == FAIL_NONE)
		code = kafka_partitions(w->rk, w->topic, &partitions, WATCHDOG_ANSWER_MS, &f);
	if (code == FAIL_NONE && partitions > 0)
		code = kafka_last_record(w->rk, w->topic, 0, &m, WATCHDOG_ANSWER_MS, &f);
	if (code == FAIL_NONE && m == NULL)
		code = mix_loss_check(w->rk, w->mix, &loss, false, WATCHDOG_ANSWER_MS, &f);
	if (code == FAIL_DATA)
		snprintf(reason, room, "%.*s%s", (int)(room - sizeof(once)), f.text, once);
	else if (code != FAIL_NONE)
		snprintf(reason, room, "the broker does not answer: %.384s", f.text);
	else if (m == NULL)
		snprintf(reason, room,
		    "no mixer has written to mix %s yet: start `riffle mix`; if it is running, its "
		    "log says what it is waiting for",
		    w->mix);
	else
		judge_record(w, m, r, reason, room);
	if (m != NULL)
		rd_kafka_message_destroy(m);
}
