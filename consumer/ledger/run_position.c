#include "consumer/ledger/run_position.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/limits.h"
#include "common/base/names.h"
#include "common/kafka/kafka.h"
#include "common/kafka/kafka_commits.h"

static const char prefix[] = "step=", by[] = " by=";
enum { SHOWN_MAX = 64 }; /* bytes of strange metadata that a message quotes */
enum { APART_ITEMS_MAX = 3 };

/* ---- pure ---- */

/* At most `n` bytes, all printable and none a space. */
static bool
is_owner(const char *text, size_t n)
{
	size_t i = 0;

	while (text[i] > ' ' && text[i] <= '~')
		i++;
	return text[i] == '\0' && i > 0 && i <= n;
}

void
run_position_format(char out[static RUN_POSITION_TEXT_MAX], uint64_t step, const char *owner)
{
	assert(step < LIMIT_STEP);
	assert(owner == NULL || is_owner(owner, RUN_POSITION_OWNER_MAX - 1));
	snprintf(out, RUN_POSITION_TEXT_MAX, "%s%" PRIu64 "%s%s", prefix, step,
	    owner == NULL ? "" : by, owner == NULL ? "" : owner);
}

/* Of n bytes. False: not a plain decimal number below the limit. */
static bool
parse_number(uint64_t *out, const char *text, size_t n)
{
	uint64_t value = 0;

	if (n == 0 || (text[0] == '0' && n > 1))
		return false;
	for (; n > 0; n--, text++) {
		if (*text < '0' || *text > '9')
			return false;
		if (value >= LIMIT_STEP / 10 + 1)
			return false; /* the product below would leave the range of 64 bits */
		value = value * 10 + (uint64_t)(*text - '0');
		if (value >= LIMIT_STEP)
			return false;
	}
	*out = value;
	return true;
}

/* The owner, "" where nothing stands behind the step; NULL: it is neither. */
static const char *
owner_in(const char *text)
{
	size_t skip = sizeof(by) - 1;

	if (*text == '\0')
		return text;
	if (strncmp(text, by, skip) != 0 || !is_owner(text + skip, RUN_POSITION_OWNER_MAX - 1))
		return NULL;
	return text + skip;
}

enum fail_code
run_position_parse(
    uint64_t *step, char owner[RUN_POSITION_OWNER_MAX], const char *text, struct failure *f)
{
	size_t skip = sizeof(prefix) - 1, digits;
	const char *number = "", *who;

	if (text == NULL)
		text = "";
	if (strncmp(text, prefix, skip) == 0)
		number = text + skip;
	digits = strcspn(number, " ");
	who = owner_in(number + digits);
	if (who != NULL && parse_number(step, number, digits)) {
		if (owner != NULL)
			snprintf(owner, RUN_POSITION_OWNER_MAX, "%s", who);
		return FAIL_NONE;
	}
	return fail(f, FAIL_DATA, "the commit's metadata is \"%.*s\", not step=N", SHOWN_MAX, text);
}

/*
 * Appends to the text of `used` bytes, cuts what has no room, and returns how many there are now.
 */
static size_t __attribute__((format(printf, 3, 4)))
append(char out[static RUN_POSITION_APART_MAX], size_t used, const char *format, ...)
{
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(out + used, RUN_POSITION_APART_MAX - used, format, ap);
	va_end(ap);
	if (n > 0)
		used += (size_t)n;
	return used < RUN_POSITION_APART_MAX ? used : RUN_POSITION_APART_MAX - 1;
}

/* Appends "lanes 0, 4 to 7 and 2 more": those that stand `at` that step. A pair is two items. */
static size_t
append_lanes(char *out, size_t used, const uint64_t *step, size_t n, uint64_t at)
{
	size_t first[APART_ITEMS_MAX], last[APART_ITEMS_MAX], items = 0, more = 0;

	for (size_t i = 0; i < n; i++) {
		size_t end = i;

		if (step[i] != at)
			continue;
		while (end + 1 < n && step[end + 1] == at)
			end++;
		if (end < i + 2)
			end = i;
		if (items == APART_ITEMS_MAX) {
			more += end - i + 1;
		} else {
			first[items] = i;
			last[items++] = end;
		}
		i = end;
	}
	assert(items > 0);
	used = append(out, used, items == 1 && first[0] == last[0] ? "lane" : "lanes");
	for (size_t k = 0; k < items; k++) {
		used = append(out, used, "%s%zu",
		    k == 0                        ? " "
		    : k + 1 == items && more == 0 ? " and "
						  : ", ",
		    first[k]);
		if (last[k] > first[k])
			used = append(out, used, " to %zu", last[k]);
	}
	return more == 0 ? used : append(out, used, " and %zu more", more);
}

void
run_position_apart(char out[static RUN_POSITION_APART_MAX], const uint64_t *step, size_t n)
{
	uint64_t lowest = step[0], highest = step[0];
	size_t used;

	assert(n > 0);
	for (size_t i = 1; i < n; i++) {
		lowest = step[i] < lowest ? step[i] : lowest;
		highest = step[i] > highest ? step[i] : highest;
	}
	out[0] = '\0';
	if (lowest == highest)
		return;
	used = append_lanes(out, 0, step, n, highest);
	used = append(out, used, " up to step %" PRIu64 ", and %s", highest,
	    lowest == 0 ? "nothing on " : "");
	used = append_lanes(out, used, step, n, lowest);
	if (lowest > 0)
		append(out, used, " only up to step %" PRIu64, lowest);
}

enum fail_code
run_position_lowest(struct run_position *out, uint64_t *step, const int64_t *offset_next,
    char *const *metadata, size_t n, struct failure *f)
{
	assert(n > 0);

	*out = (struct run_position){.all = true, .step = UINT64_MAX};
	for (size_t i = 0; i < n; i++) {
		step[i] = 0;
		if (offset_next[i] < 0)
			out->all = false;
		else if (run_position_parse(&step[i], NULL, metadata[i], f) != FAIL_NONE)
			return fail_within(f, "lane %zu", i);
		else
			out->any = true;
		if (step[i] < out->step) {
			out->step = step[i];
			out->lane = i;
		}
		if (step[i] > out->step_ahead)
			out->step_ahead = step[i];
	}
	run_position_apart(out->apart, step, n);
	assert(out->step <= out->step_ahead);
	assert((out->apart[0] == '\0') == (out->step == out->step_ahead));
	assert(out->all || out->step == 0);
	return FAIL_NONE;
}

bool
run_position_is_at(const struct run_position *at, uint64_t step)
{
	assert(at->step <= at->step_ahead);
	return at->all && at->step == step && at->step_ahead == step;
}

/* ---- asking the broker ---- */

struct run_position_query {
	rd_kafka_t *rk;
	char group[TOPIC_MAX_BYTES + 1], topic[TOPIC_MAX_BYTES + 1];
	int64_t *offset_next; /* [room] */
	char **metadata;      /* [room]; all NULL between two calls */
	uint64_t *step;       /* [room] */
	size_t room;
};

enum fail_code
run_position_open(struct run_position_query **out, const char *mix, const char *run, bool shared,
    const char *client, const struct properties *kafka, struct failure *f)
{
	struct run_position_query *q = calloc(1, sizeof(*q));
	struct kafka_options k = {.role = KAFKA_READER,
	    .properties = kafka,
	    .client = client,
	    .asks_only = true,
	    .quiet = true};

	if (q == NULL)
		return fail_memory(f);
	names_topic(q->group, mix, run);
	names_topic(q->topic, mix, shared ? "lanes" : "batches");
	k.group = q->group;
	if (kafka_open(&q->rk, &k, f) != FAIL_NONE) {
		run_position_close(q);
		return f->code;
	}
	*out = q;
	return FAIL_NONE;
}

void
run_position_close(struct run_position_query *q)
{
	if (q == NULL)
		return;
	kafka_close(q->rk);
	free(q->offset_next);
	free(q->metadata);
	free(q->step);
	free(q);
}

const char *
run_position_group(const struct run_position_query *q)
{
	return q->group;
}

/* The arrays keep nothing from call to call: they grow by being replaced. */
static enum fail_code
make_room(struct run_position_query *q, size_t lanes, struct failure *f)
{
	if (lanes <= q->room)
		return FAIL_NONE;
	free(q->offset_next);
	free(q->metadata);
	free(q->step);
	q->offset_next = calloc(lanes, sizeof(*q->offset_next));
	q->metadata = calloc(lanes, sizeof(*q->metadata));
	q->step = calloc(lanes, sizeof(*q->step));
	q->room = lanes;
	if (q->offset_next != NULL && q->metadata != NULL && q->step != NULL)
		return FAIL_NONE;
	q->room = 0;
	return fail_memory(f);
}

enum fail_code
run_position_ask(struct run_position_query *q, size_t lanes, int timeout_ms,
    struct run_position *at, struct failure *f)
{
	struct run_position found;
	enum fail_code code;

	assert(lanes > 0);
	if (make_room(q, lanes, f) != FAIL_NONE ||
	    kafka_commits_of_topic(
		q->rk, q->topic, lanes, q->offset_next, q->metadata, timeout_ms, f) != FAIL_NONE)
		return f->code;
	code = run_position_lowest(&found, q->step, q->offset_next, q->metadata, lanes, f);
	for (size_t i = 0; i < lanes; i++) {
		free(q->metadata[i]);
		q->metadata[i] = NULL;
	}
	if (code == FAIL_NONE)
		*at = found;
	return code;
}
