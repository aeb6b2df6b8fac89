#include "consumer/reader/watchdog.h"

#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/json_field.h"
#include "common/base/names.h"
#include "common/kafka/kafka.h"
#include "consumer/batches/lanes.h"
#include "consumer/ledger/batch_topic.h"
#include "consumer/ledger/mix_loss.h"

struct watchdog {
	const char *mix;
	const struct properties *properties;
	char topic[TOPIC_MAX_BYTES + 1];
	rd_kafka_t *rk; /* NULL: not connected yet */
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
	return w;
}

void
watchdog_close(struct watchdog *w)
{
	if (w == NULL)
		return;
	kafka_close(w->rk);
	free(w);
}

static int64_t
age_ms(int64_t timestamp_ms)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now); /* as the broker's timestamps are */
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 - timestamp_ms;
}

/* What a record's configuration says of how far ahead the mixer may be. */
struct limit {
	uint64_t lead; /* steps; 0: without a limit */
	char *runs;    /* (free) the text of mix.runs: a record knows runs that only report, or were
	                  taken out, too. NULL: it cannot be read, and every run may be meant */
};

static struct limit
limit_of(const struct ledger *l)
{
	static const char *const path[] = {"changeable.max_lead_steps", "changeable.runs"};
	struct json_field_value value[2] = {0};
	struct json_field_paths *paths = NULL;
	struct json_field_scratch *scratch = NULL;
	struct limit limit = {0};
	struct failure f;

	if (l->config != NULL && json_field_paths_open(&paths, path, 2, &f) == FAIL_NONE &&
	    json_field_scratch_open(&scratch, &f) == FAIL_NONE &&
	    json_field_read(paths, scratch, l->config, strlen(l->config), value, &f) == FAIL_NONE) {
		if (value[0].found == JSON_FIELD_OTHER)
			limit.lead = strtoull(value[0].raw, NULL, 10); /* as canonical JSON */
		if (value[1].found == JSON_FIELD_OTHER)
			limit.runs = strndup(value[1].raw, value[1].raw_n);
	}
	json_field_scratch_close(scratch);
	json_field_paths_close(paths);
	return limit;
}

static bool
is_in_force(const char *runs, const char *name)
{
	char quoted[NAME_MAX_BYTES + 3];

	snprintf(quoted, sizeof(quoted), "\"%s\"", name);
	return runs == NULL || strstr(runs, quoted) != NULL;
}

/*
 * The lowest of the runs that the mixer may not go further ahead of, and in names[room] all that
 * are at its step: the record is as old as the last step, and one of them may have moved since.
 * NULL: none.
 */
static const struct ledger_run *
blocking_runs(
    const struct ledger *l, const struct limit *limit, char *names, size_t room, size_t *n)
{
	const struct ledger_run *lowest = NULL;
	size_t used = 0;

	*n = 0;
	for (size_t i = 0; i < l->runs_n; i++)
		if (is_in_force(limit->runs, l->run[i].name) &&
		    (lowest == NULL || l->run[i].step < lowest->step))
			lowest = &l->run[i];
	if (limit->lead == 0 ||
	    (lowest != NULL && (uint64_t)l->step_next < (uint64_t)lowest->step + limit->lead))
		lowest = NULL;
	for (size_t i = 0; lowest != NULL && i < l->runs_n; i++)
		if (l->run[i].step == lowest->step && is_in_force(limit->runs, l->run[i].name) &&
		    used < room)
			used += (size_t)snprintf(names + used, room - used, "%s%s",
			    (*n)++ == 0 ? "" : ", ", l->run[i].name);
	return lowest;
}

void
watchdog_judge(const struct ledger *l, int64_t age, uint64_t step, char *reason, size_t room)
{
	char names[3 * NAME_MAX_BYTES];
	size_t n;
	struct limit limit = limit_of(l);
	const struct ledger_run *run = blocking_runs(l, &limit, names, sizeof(names), &n);
	int64_t seconds = age < 0 ? 0 : age / 1000; /* clocks of two machines: it may be negative */

	assert(room > 0);
	if ((uint64_t)l->step_next > step)
		snprintf(reason, room,
		    "the mixer has published it (all steps below %" PRId64
		    "), but it has not arrived from the broker",
		    l->step_next);
	else if (l->kind == LEDGER_END)
		snprintf(reason, room, "the mix has ended before step %" PRId64, l->step_next);
	else if (run != NULL)
		snprintf(reason, room,
		    "step %" PRId64 " is next: the mixer may be at most %" PRIu64
		    " steps ahead and waits for %s %s, which %s committed step %" PRId64
		    " as far as it knows. Where it has committed more, no mixer runs: start "
		    "`riffle mix`%s",
		    l->step_next, limit.lead, n == 1 ? "run" : "runs", names,
		    n == 1 ? "has" : "have", run->step,
		    step > (uint64_t)l->step_next
			? ". Is the checkpoint that named this step of this mix?"
			: "");
	else if (age >= WATCHDOG_STOPPED_MS)
		snprintf(reason, room,
		    "the mixer has stopped, or waits for its domains: it has written nothing for "
		    "%" PRId64 " s, step %" PRId64 " is next; start `riffle mix`",
		    seconds, l->step_next);
	else
		snprintf(reason, room,
		    "it is not published yet: step %" PRId64
		    " is next, and the mixer wrote last %" PRId64 " s ago",
		    l->step_next, seconds);
	free(limit.runs);
}

/* The step is published and does not come: is the topic the one that it was published to? */
static bool
judge_topic(struct watchdog *w, const struct ledger *l, int64_t age, char *reason, size_t room)
{
	struct ledger settled = *l; /* borrows */
	char topic[TOPIC_MAX_BYTES + 1];
	int32_t *partition = NULL;
	int64_t *low = NULL, *high = NULL;
	struct failure f = {0};
	struct lane_map map;
	int n = 0;

	if (age >= MIX_LOSS_SETTLED_MS) /* the record's own steps show on the lanes, too */
		settled.step_first = settled.step_next;
	names_topic(topic, w->mix, "batches");
	if (kafka_partitions(w->rk, topic, &n, WATCHDOG_ANSWER_MS, &f) == FAIL_NONE && n > 0 &&
	    lanes_query_map(&map, w->rk, w->mix, n, WATCHDOG_ANSWER_MS, &f) == FAIL_NONE) {
		partition = calloc((size_t)n, sizeof(*partition));
		low = calloc((size_t)n, sizeof(*low));
		high = calloc(map.lanes, sizeof(*high));
	}
	for (int i = 0; partition != NULL && i < n; i++)
		partition[i] = i;
	if (partition != NULL && low != NULL && high != NULL &&
	    kafka_watermarks_many(w->rk, topic, partition, (size_t)n, low, high, WATCHDOG_ANSWER_MS,
		&f) == FAIL_NONE) {
		lane_map_spread(&map, 0, map.lanes, high);
		batch_topic_judge(w->mix, &settled, &map, 0, high, map.lanes, &f);
	}
	free(partition);
	free(low);
	free(high);
	if (f.code == FAIL_DATA)
		snprintf(reason, room, "%s", f.text);
	return f.code == FAIL_DATA;
}

static void
judge_record(
    struct watchdog *w, const rd_kafka_message_t *m, uint64_t step, char *reason, size_t room)
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
	if ((uint64_t)ledger.step_next <= step || !judge_topic(w, &ledger, age, reason, room))
		watchdog_judge(&ledger, age, step, reason, room);
	ledger_clear(&ledger);
}

void
watchdog_why(struct watchdog *w, uint64_t step, char *reason, size_t room)
{
	struct kafka_options o = {
	    .role = KAFKA_READER, .properties = w->properties, .client = "watch"};
	rd_kafka_message_t *m = NULL;
	int64_t low = 0, high = 0;
	struct failure f;
	int partitions;

	if ((w->rk == NULL && kafka_open(&w->rk, &o, &f) != FAIL_NONE) ||
	    kafka_partitions(w->rk, w->topic, &partitions, WATCHDOG_ANSWER_MS, &f) != FAIL_NONE ||
	    (partitions > 0 &&
		kafka_last_record(w->rk, w->topic, 0, &m, WATCHDOG_ANSWER_MS, &f) != FAIL_NONE)) {
		snprintf(reason, room, "the broker does not answer: %.384s", f.text);
		return;
	}
	if (m == NULL &&
	    kafka_watermarks(w->rk, w->topic, 0, &low, &high, WATCHDOG_ANSWER_MS, &f) ==
		FAIL_NONE &&
	    high > 0 && low == high)
		snprintf(reason, room,
		    "topic %s holds no record any more: its records were deleted. `riffle status` "
		    "says what to do",
		    w->topic);
	else if (m == NULL && mix_loss_check_ledger(w->rk, w->mix, partitions > 0, NULL,
				  WATCHDOG_ANSWER_MS, &f) == FAIL_DATA)
		snprintf(reason, room, "%s", f.text);
	else if (m == NULL)
		snprintf(
		    reason, room, "no mixer has written to mix %s yet; start `riffle mix`", w->mix);
	else
		judge_record(w, m, step, reason, room);
	if (m != NULL)
		rd_kafka_message_destroy(m);
}
