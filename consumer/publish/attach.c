#include "consumer/publish/attach.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/text.h"
#include "common/kafka/kafka.h"
#include "consumer/batches/lane_ends.h"
#include "consumer/ledger/batch_topic.h"
#include "consumer/ledger/ledger_log.h"
#include "consumer/ledger/mix_loss.h"
#include "consumer/plan/bound_config.h"
#include "consumer/plan/ledger_plan.h"
#include "consumer/publish/lengths.h"
#include "consumer/publish/transactions.h"

enum {
	ASK_TIMEOUT_MS = 30000,
	VISIBLE_MS = 10000,
	VISIBLE_PAUSE_MS = 5,
	LOOK_PAUSE_MS = 200,
};

/* ---- opening and closing ---- */

/*
 * This handle reads single records: the last one of the ledger, the first or last one of a domain.
 * What else a fetch brings stays in memory for as long as the handle is open. With librdkafka's
 * default of 1 MB a partition that was up to 150 MB for 200 domains. However small the limit is, a
 * fetch brings at least one batch.
 */
static enum fail_code
open_reader(rd_kafka_t **out, const struct config *c, struct failure *f)
{
	struct property tune[] = {{(char[]){"fetch.message.max.bytes"}, (char[]){"65536"}}};
	struct kafka_options k = {.role = KAFKA_READER,
	    .properties = &c->kafka,
	    .client = "mix-ledger",
	    .tune = tune,
	    .tune_n = sizeof(tune) / sizeof(tune[0])};

	return kafka_open(out, &k, f);
}

enum fail_code
attach_open(
    struct attach *a, const struct config *c, const struct attach_accept *accept, struct failure *f)
{
	uint64_t id;

	assert(c->mix.name != NULL);
	*a = (struct attach){.config = c, .accept = *accept};
	names_topic(a->ledger_topic, c->mix.name, "ledger");
	if (getrandom(&id, sizeof(id), 0) != sizeof(id))
		return fail_errno(f, FAIL_IO, "cannot draw a random number for this mixer's id");
	claim_init(&a->claim, id);
	return open_reader(&a->reader, c, f);
}

void
attach_close(struct attach *a)
{
	kafka_close(a->reader);
	config_plan_close(&a->plan);
	free(a->config_text);
	last_drawn_close(&a->drawn);
	*a = (struct attach){0};
}

enum fail_code
attach_renew_reader(struct attach *a, struct failure *f)
{
	rd_kafka_t *reader;

	if (open_reader(&reader, a->config, f) != FAIL_NONE)
		return f->code;
	kafka_close(a->reader);
	a->reader = reader;
	return FAIL_NONE;
}

/* ---- the last record ---- */

static enum fail_code
read_last(struct attach *a, struct ledger *last, bool *found, struct failure *f)
{
	rd_kafka_message_t *msg;

	*found = false;
	last_drawn_close(&a->drawn);
	claim_read(&a->claim, -1);
	if (kafka_last_record(a->reader, a->ledger_topic, 0, &msg, ASK_TIMEOUT_MS, f) != FAIL_NONE)
		return f->code;
	if (msg == NULL)
		return FAIL_NONE;
	claim_read(&a->claim, msg->offset);
	if (ledger_decode(last, msg->payload, msg->len, f) != FAIL_NONE)
		fail_within(f, "topic %s offset %" PRId64, a->ledger_topic, msg->offset);
	else
		*found = last_drawn_read(&a->drawn, msg, f) == FAIL_NONE;
	rd_kafka_message_destroy(msg);
	return *found ? FAIL_NONE : f->code;
}

static enum fail_code
fail_fenced(const struct attach *a, const struct ledger *last, struct failure *f)
{
	return fail(f, FAIL_FENCED,
	    "another mixer has taken over mix %s: the start of mixer %016" PRIx64
	    " stands in %s since step %" PRId64
	    ". `riffle mix --standby` waits for its turn instead",
	    a->config->mix.name, last->mixer, a->ledger_topic, last->step_next);
}

/* Reads the last record while transactions may be undecided. */
static enum fail_code
read_yet(struct attach *a, struct ledger *last, bool *found, struct failure *f)
{
	if (read_last(a, last, found, f) != FAIL_NONE)
		return f->code;
	if (*found && claim_lost_yet(&a->claim, last->mixer))
		return fail_fenced(a, last, f);
	return FAIL_NONE;
}

enum fail_code
attach_still_ours(struct attach *a, struct failure *f)
{
	struct ledger last = {0};
	bool found;
	enum fail_code code = read_yet(a, &last, &found, f);

	ledger_clear(&last);
	return code;
}

/* Whether the ledger had records, which were deleted, as a second look shows, too. */
static enum fail_code
ask_emptied(struct attach *a, bool *emptied, struct failure *f)
{
	rd_kafka_message_t *m;
	int64_t since_ms = 0;

	do
		if (kafka_last_or_emptied(
			a->reader, a->ledger_topic, 0, &m, emptied, ASK_TIMEOUT_MS, f) != FAIL_NONE)
			return f->code;
	while (kafka_look_again(&since_ms, *emptied));
	if (m != NULL)
		rd_kafka_message_destroy(m);
	return FAIL_NONE;
}

enum fail_code
attach_wait_visible(struct attach *a, uint64_t step, struct failure *f)
{
	int wait_ms = transactions_patience_ms(a->config->mix.partitions);
	int64_t deadline_ms = clock_ms() + wait_ms;
	bool visible = false;

	while (!visible) {
		struct ledger last = {0};
		bool found, emptied = false;
		struct failure ignored;

		if (read_last(a, &last, &found, f) != FAIL_NONE)
			return f->code;
		visible = found && last.step_next >= (int64_t)step;
		ledger_clear(&last);
		if (!found)
			(void)ask_emptied(a, &emptied, &ignored);
		if (emptied)
			return fail(f, FAIL_DATA,
			    "topic %s holds no record any more: its records were deleted while "
			    "this mixer ran (DeleteRecords, or retention). All steps below %" PRIu64
			    " are published, and without the ledger no mixer can continue: "
			    "start a mix of another name",
			    a->ledger_topic, step);
		if (!visible && clock_ms() >= deadline_ms)
			return fail(f, FAIL_TIMEOUT,
			    "the last transaction is committed but topic %s does not show it "
			    "after %d s: the broker has not written its markers yet",
			    a->ledger_topic, wait_ms / 1000);
		if (!visible)
			clock_pause_ms(VISIBLE_PAUSE_MS);
	}
	return FAIL_NONE;
}

/* ---- what the mix is bound to ---- */

static enum fail_code
make_plan(struct attach *a, struct failure *f)
{
	size_t n = a->config->domains_n;
	struct config_plan_length *length = calloc(n, sizeof(*length));
	enum fail_code code;

	if (length == NULL)
		return fail_memory(f);
	for (size_t i = 0; i < n; i++)
		length[i] = (struct config_plan_length){
		    .partitions_n = a->domains->facts[i].partitions_n,
		    .sequences = a->domains->facts[i].sequences,
		    .sealed = a->domains->facts[i].sealed,
		};
	code = config_plan_open(&a->plan, a->config, length, f);
	free(length);
	return code;
}

/* Weights by size stay those of the first start, unless a changed configuration is to be taken. */
static enum fail_code
keep_sizes(struct attach *a, struct failure *f)
{
	struct ledger last = {0};
	bool found;
	enum fail_code code;

	if (a->config->mix.weights_kind != CONFIG_WEIGHTS_SIZE || a->accept.accept)
		return FAIL_NONE;
	code = read_last(a, &last, &found, f);
	if (code == FAIL_NONE && found)
		code = bound_config_keep_sizes(&a->plan, a->config, last.config, f);
	ledger_clear(&last);
	return code;
}

enum fail_code
attach_bind(struct attach *a, struct domains *d, struct failure *f)
{
	assert(a->config_text == NULL);
	assert(d->n == a->config->domains_n);
	a->domains = d;
	if (make_plan(a, f) != FAIL_NONE || keep_sizes(a, f) != FAIL_NONE ||
	    bound_config_text(&a->config_text, a->config, &a->plan, a->domains->tokenizer, f) !=
		FAIL_NONE)
		return f->code;
	return bound_config_schedule(&a->schedule, a->config_text, f);
}

/* No mixer writes a record of which the parts contradict each other. */
static enum fail_code
check_record(const struct attach *a, const struct ledger *last, struct failure *f)
{
	const char *mix = last->mix == NULL ? "" : last->mix;
	uint64_t schedule;

	if (strcmp(mix, a->config->mix.name) != 0)
		return fail(
		    f, FAIL_DATA, "is of mix \"%.100s\", not of %s", mix, a->config->mix.name);
	if (bound_config_schedule(&schedule, last->config, f) != FAIL_NONE)
		return f->code;
	if (schedule != last->schedule)
		return fail(f, FAIL_DATA,
		    "has the schedule hash %016" PRIx64 ", the configuration in it has %016" PRIx64,
		    last->schedule, schedule);
	return FAIL_NONE;
}

/*
 * Once started, a mixer takes the configuration that it started with whatever the ledger's last
 * record has: that record is its own.
 */
static enum fail_code
compare_config(const struct attach *a, const struct ledger *last, bool *changed, struct failure *f)
{
	enum fail_code code;

	if (check_record(a, last, f) != FAIL_NONE)
		return fail_within(f, "topic %s: the last record", a->ledger_topic);
	code = bound_config_compare(
	    last->config, a->config_text, a->accept.accept || a->claim.started, changed, f);
	if (code == FAIL_CONFIG)
		fail_more(f, " (mix %s has begun, and is at step %" PRId64 ")", a->config->mix.name,
		    last->step_next);
	return code;
}

/* ---- a changed configuration ---- */

/* Puts the changed plan in force in a mixer that stands where `last` does. */
static enum fail_code
replan(struct attach *a, struct mixer *m, const struct ledger *last, struct failure *f)
{
	struct ledger_plan was = {0};
	enum fail_code code = ledger_plan_open(&was, last, f);

	if (code == FAIL_NONE)
		code = mixer_replan(m, &a->plan.plan, &was.plan, f);
	ledger_plan_close(&was);
	return code;
}

static const char *
state_text(enum ledger_domain_state state)
{
	switch (state) {
	case LEDGER_ACTIVE: break;
	case LEDGER_DROPPED: return " (dropped at its end)";
	case LEDGER_LEFT: return " (not in the mix)";
	case LEDGER_JOINING: return " (to join)";
	}
	return "";
}

/* One domain, where it changes: in force -> will be. A new one has no `was`. */
static void
add_domain(struct text *t, const char *name, const struct mixer_standing *was,
    const struct mixer_standing *will)
{
	if (was != NULL && was->weight == will->weight && was->state == will->state &&
	    was->share == will->share)
		return;
	text_add(t, "\n  %s: ", name);
	if (was == NULL)
		text_add(t, "not in the mix");
	else
		text_add(t, "weight %g, share %.4f %%%s", was->weight, 100 * was->share,
		    state_text(was->state));
	text_add(t, " -> weight %g, share %.4f %%%s", will->weight, 100 * will->share,
	    state_text(will->state));
}

/* All that is drawn or given to trainers otherwise from the next step on. */
static char *
describe(const struct mixer *was, const struct mixer *will, const char *differences)
{
	struct text t = {0};

	text_add(&t, "%s\nfrom step %" PRIu64 " on, in force -> will be:", differences,
	    mixer_step_next(will));
	for (uint32_t i = 0; i < mixer_domains(will); i++) {
		struct mixer_standing before, after;
		bool known = i < mixer_domains(was);

		if (known)
			mixer_stand(was, i, &before);
		mixer_stand(will, i, &after);
		add_domain(&t, mixer_domain_name(will, i), known ? &before : NULL, &after);
	}
	if (mixer_temperature(was) != mixer_temperature(will))
		text_add(&t, "\n  temperature: %g -> %g", mixer_temperature(was),
		    mixer_temperature(will));
	if (mixer_lr_scale(was) != mixer_lr_scale(will))
		text_add(&t, "\n  lr_scale: %g -> %g", mixer_lr_scale(was), mixer_lr_scale(will));
	if (mixer_global_batch(was) != mixer_global_batch(will))
		text_add(&t, "\n  global_batch: %" PRIu32 " -> %" PRIu32, mixer_global_batch(was),
		    mixer_global_batch(will));
	if (mixer_version(was) == mixer_version(will))
		text_add(&t, "\n  no weight, temperature, lr_scale or global_batch changes");
	if (mixer_pending(will) > 0)
		text_add(
		    &t, "\n%zu accepted requests still wait for their steps", mixer_pending(will));
	return text_take(&t);
}

/* Asks for the consent to what changes, worked out on a copy of the mixer before any write. */
static enum fail_code
confirm(struct attach *a, const struct ledger *last, const char *differences, struct failure *f)
{
	struct mixer *was = NULL, *will = NULL;
	char *changes = NULL;
	enum fail_code code = mixer_resume(&was, &a->plan.plan, last, f);

	if (code == FAIL_NONE)
		code = mixer_copy(&will, was, f);
	if (code == FAIL_NONE)
		code = replan(a, will, last, f);
	if (code == FAIL_NONE) {
		changes = describe(was, will, differences);
		code = changes == NULL ? fail_memory(f)
				       : a->accept.confirm(a->accept.opaque, changes, f);
	}
	free(changes);
	mixer_close(was);
	mixer_close(will);
	a->confirmed = code == FAIL_NONE;
	return code;
}

/* Whether a changed configuration may be accepted: a step must follow, and somebody want it. */
static enum fail_code
check_accept(struct attach *a, const struct ledger *last, struct failure *f)
{
	struct failure differs;
	bool changed;
	char *advice;

	if (!a->accept.accept || a->claim.started || a->confirmed)
		return FAIL_NONE;
	if (bound_config_compare(last->config, a->config_text, false, &changed, &differs) ==
	    FAIL_NONE)
		return FAIL_NONE;
	if (last->kind == LEDGER_END)
		return fail(f, FAIL_CONFIG,
		    "mix %s ended before step %" PRId64
		    ": no step follows, and the changed configuration is not accepted",
		    a->config->mix.name, last->step_next);
	if ((uint64_t)last->step_next >= a->accept.until_step)
		return fail(f, FAIL_CONFIG,
		    "mix %s is at step %" PRId64 ", and --%s-step %" PRIu64
		    " is reached: no step follows, and the changed configuration is not accepted: "
		    "give "
		    "--%s-step %" PRId64 " or more",
		    a->config->mix.name, last->step_next, a->accept.ends ? "end-at" : "until",
		    a->accept.until_step, a->accept.ends ? "end-at" : "until", last->step_next + 1);
	advice = strstr(differs.text, "; --accept-config"); /* which is given */
	if (advice != NULL)
		*advice = '\0';
	return a->accept.confirm == NULL ? FAIL_NONE : confirm(a, last, differs.text, f);
}

/* Whether the mix can end where it is to: not below what is published, and not twice. */
static enum fail_code
check_end(const struct attach *a, const struct ledger *last, struct failure *f)
{
	const char *name = a->config->mix.name;
	int64_t next = last->step_next;

	if (!a->accept.ends || (uint64_t)next == a->accept.until_step)
		return FAIL_NONE;
	if (last->kind == LEDGER_END)
		return fail(
		    f, FAIL_CONFIG, "mix %s ended before step %" PRId64 " already", name, next);
	if ((uint64_t)next < a->accept.until_step)
		return FAIL_NONE;
	return fail(f, FAIL_CONFIG,
	    "mix %s cannot end before step %" PRIu64 ": the steps below %" PRId64
	    " are published. Name that one or a later one: --end-at-step %" PRId64,
	    name, a->accept.until_step, next, next);
}

/* ---- attaching ---- */

enum fail_code
attach_reached(struct attach *a, bool *reached, int64_t *step, struct failure *f)
{
	struct ledger last = {0};
	bool found;
	enum fail_code code = read_yet(a, &last, &found, f);

	*step = last.step_next;
	*reached = code == FAIL_NONE && found && last.kind != LEDGER_END &&
		   (uint64_t)last.step_next >= a->accept.until_step;
	ledger_clear(&last);
	return code;
}

enum fail_code
attach_last(struct attach *a, struct ledger *last, struct failure *f)
{
	bool found;

	return read_yet(a, last, &found, f);
}

enum fail_code
attach_check(struct attach *a, struct ledger *last, bool *found, struct failure *f)
{
	bool changed;

	if (read_yet(a, last, found, f) != FAIL_NONE)
		return f->code;
	if (!*found)
		return FAIL_NONE;
	if (compare_config(a, last, &changed, f) != FAIL_NONE || check_end(a, last, f) != FAIL_NONE)
		return f->code;
	return changed ? check_accept(a, last, f) : FAIL_NONE;
}

/* Its records may have answered requests that would now be answered otherwise. */
static enum fail_code
fail_emptied(const struct attach *a, struct failure *f)
{
	return fail(f, FAIL_DATA,
	    "topic %s holds no record any more: its records were deleted (DeleteRecords, or "
	    "retention), or it was recreated, with all answers to requests. Where no step was "
	    "published: delete the topic, `riffle topics --create` creates it, and ask again for "
	    "what was asked; else start a mix of another name",
	    a->ledger_topic);
}

enum fail_code
attach_look(struct attach *a, struct ledger *last, bool *found, struct failure *f)
{
	int64_t deadline_ms = clock_ms() + VISIBLE_MS;

	if (read_last(a, last, found, f) != FAIL_NONE)
		return f->code;
	/* A marker that was just written may not be on every replica yet. */
	while (*found ? claim_cut(&a->claim, last->mixer) : a->claim.started) {
		if (clock_ms() >= deadline_ms && !*found)
			return fail_emptied(a, f);
		if (clock_ms() >= deadline_ms)
			return fail(f, FAIL_DATA,
			    "topic %s has lost its end: it ends before step %" PRId64
			    " and before what this mixer had found or written there: a broker has "
			    "not kept what it acknowledged. `riffle repair` completes what can be "
			    "derived again",
			    a->ledger_topic, last->step_next);
		ledger_clear(last);
		clock_pause_ms(LOOK_PAUSE_MS);
		if (read_last(a, last, found, f) != FAIL_NONE)
			return f->code;
	}
	if (*found && claim_lost(&a->claim, last->mixer))
		return fail_fenced(a, last, f);
	claim_look(&a->claim, *found ? last->mixer : 0);
	return *found ? check_end(a, last, f) : FAIL_NONE;
}

/* ---- the lanes ---- */

enum fail_code
attach_settle(struct attach *a, struct transactions *t, bool *settled, struct failure *f)
{
	struct lane_ends_ledger l = {0};
	struct lane_end *end = NULL;
	struct lane_map map = {0};
	const char *mix = a->config->mix.name;
	uint32_t open = 0;
	bool fits;
	enum fail_code code =
	    lane_ends_query_decided(&end, &map, &l, mix, &a->config->kafka, ASK_TIMEOUT_MS, 0, f);

	*settled = false;
	/* Partitions that were added are what attach_compare() has found; the handle has none. */
	fits = map.lanes == a->config->mix.lanes && map.partitions == a->config->mix.partitions;
	for (uint32_t i = 0; code == FAIL_NONE && fits && i < lane_map_lying(&map); i++)
		open += end[i].open;
	if (code == FAIL_NONE && fits && (open > 0 || l.open)) {
		code = transactions_end_open(t, end, lane_map_lying(&map), l.open, f);
		*settled = code == FAIL_NONE;
	}
	free(end);
	if (*settled)
		log_warning("mix: MIX-HANGING mix=%s lanes=%" PRIu32 " ledger=%s: aborted a "
			    "transaction that nobody ended: a broker has lost its markers, or "
			    "never wrote them",
		    mix, open, l.open ? "yes" : "no");
	return code;
}

enum fail_code
attach_compare(struct attach *a, const struct ledger *last, struct lane_end **out, uint32_t *lanes,
    struct failure *f)
{
	struct lane_ends_ledger l = {
	    .next = (uint64_t)last->step_next, .ended = last->kind == LEDGER_END};
	const char *mix = a->config->mix.name;
	struct lane_ends_report report;
	struct lane_map map = {0};
	enum fail_code code;

	*out = NULL;
	code = lane_ends_query_decided(
	    out, &map, &l, mix, &a->config->kafka, ASK_TIMEOUT_MS, LANE_ENDS_PATIENCE_MS, f);
	/*
	 * Partitions that were added while a mixer ran are no lanes that lost something, and where
	 * lanes share them records do not fit their lanes any more.
	 */
	if ((code == FAIL_NONE || code == FAIL_DATA) && map.lanes > 0 &&
	    batch_topic_judge(mix, last, &map, 0, NULL, 0, f) != FAIL_NONE)
		goto failed;
	if (code != FAIL_NONE)
		goto failed;
	*lanes = lane_map_lying(&map);
	/* Between the two looks it may have lost its end. */
	a->ledger_end = l.high > a->claim.read ? l.high : a->claim.read + 1;
	if (lane_ends_empty(*out, *lanes) && ledger_log_begins(&l.first, &l.cut, mix,
						 &a->config->kafka, ASK_TIMEOUT_MS, f) != FAIL_NONE)
		goto failed;
	lane_ends_compare(&report, *out, *lanes, &l);
	if (lane_ends_judge(&report, *out, &l, mix, f) == FAIL_NONE)
		return FAIL_NONE;
	return fail_more(f, ". `riffle repair` completes what can be derived again");
failed:
	free(*out);
	*out = NULL;
	return f->code;
}

enum fail_code
attach_ends(struct attach *a, int64_t **end, struct failure *f)
{
	size_t n = a->config->mix.partitions;
	char topic[TOPIC_MAX_BYTES + 1];

	*end = calloc(n + 1, sizeof(**end));
	if (*end == NULL)
		return fail_memory(f);
	names_topic(topic, a->config->mix.name, "batches");
	return kafka_watermarks_many(a->reader, topic, 0, n, NULL, *end, ASK_TIMEOUT_MS, f);
}

/* Each START is committed before any batch: batches without a ledger had one that was deleted. */
static enum fail_code
check_no_batches(struct attach *a, rd_kafka_t *all, struct failure *f)
{
	bool there, held;

	if (a->config->mix.partitions == 0)
		return FAIL_NONE;
	if (mix_loss_ask_batches(all, a->config->mix.name, &there, &held, ASK_TIMEOUT_MS, f) !=
	    FAIL_NONE)
		return f->code;
	return held ? mix_loss_fail(MIX_LOSS_LEDGER_EMPTY, a->config->mix.name, 0, f) : FAIL_NONE;
}

/* Every transaction is decided: what the ledger holds and does not show, nobody ends any more. */
static enum fail_code
check_no_records(struct attach *a, rd_kafka_t *all, struct failure *f)
{
	int64_t deadline_ms = clock_ms() + VISIBLE_MS, low, shown, end;

	for (;;) {
		if (kafka_watermarks(a->reader, a->ledger_topic, 0, &low, &shown, ASK_TIMEOUT_MS,
			f) != FAIL_NONE ||
		    kafka_watermarks(all, a->ledger_topic, 0, &low, &end, ASK_TIMEOUT_MS, f) !=
			FAIL_NONE)
			return f->code;
		if (end <= shown)
			return FAIL_NONE;
		if (clock_ms() >= deadline_ms)
			return fail(f, FAIL_DATA,
			    "topic %s has lost its end: it shows no record, and holds some of a "
			    "transaction that nobody ends any more: a broker has not kept what it "
			    "acknowledged. Start a mix of another name, or delete this one and "
			    "start it from step 0: `riffle topics --delete --mix --create`",
			    a->ledger_topic);
		clock_pause_ms(LOOK_PAUSE_MS);
	}
}

/* Also what no reader sees: it may have lost its marker, and ours would end it. */
static enum fail_code
check_nothing_hidden(struct attach *a, struct failure *f)
{
	struct kafka_options k = {.role = KAFKA_READER,
	    .properties = &a->config->kafka,
	    .client = "mix-new",
	    .uncommitted = true};
	rd_kafka_t *all = NULL;
	enum fail_code code = kafka_open(&all, &k, f);

	if (code == FAIL_NONE)
		code = check_no_batches(a, all, f);
	if (code == FAIL_NONE)
		code = check_no_records(a, all, f);
	kafka_close(all);
	return code;
}

static enum fail_code
check_not_emptied(struct attach *a, struct failure *f)
{
	bool emptied;

	if (ask_emptied(a, &emptied, f) != FAIL_NONE)
		return f->code;
	return emptied ? fail_emptied(a, f) : FAIL_NONE;
}

/* A new mix. Batches that are there can be of another mixer, which has begun it since we looked. */
static enum fail_code
open_new(struct attach *a, struct mixer **out, struct failure *f)
{
	struct ledger last = {0};
	struct failure why;
	bool found = false;

	if (check_nothing_hidden(a, f) == FAIL_NONE && check_not_emptied(a, f) == FAIL_NONE)
		return mixer_open(out, &a->plan.plan, f);
	if (f->code == FAIL_DATA && read_last(a, &last, &found, &why) != FAIL_NONE)
		*f = why; /* nobody knows yet */
	else if (f->code == FAIL_DATA && found)
		fail(f, FAIL_FENCED,
		    "another mixer has begun mix %s meanwhile: its start stands in %s",
		    a->config->mix.name, a->ledger_topic);
	ledger_clear(&last);
	return f->code;
}

/* Those that joined by request are known to the ledger alone. */
static enum fail_code
add_joined(struct attach *a, const struct ledger *last, struct failure *f)
{
	for (size_t i = 0; i < last->domains_n; i++) {
		const struct ledger_domain *d = &last->domain[i];

		if (d->state == LEDGER_LEFT || !d->joined ||
		    domains_named(a->domains, d->name) >= 0)
			continue;
		if (domains_add(a->domains, a->reader, d->name, d->live, f) != FAIL_NONE)
			return fail_within(f, "domain %s, which joined by request", d->name);
	}
	return FAIL_NONE;
}

/* Partitions are part of the order of a domain. */
static enum fail_code
check_partitions(const struct attach *a, const struct ledger *last, struct failure *f)
{
	for (size_t i = 0; i < last->domains_n; i++) {
		const struct ledger_domain *d = &last->domain[i];
		int k = domains_named(a->domains, d->name);

		if (k >= 0 && d->partitions_n != a->domains->facts[k].partitions_n)
			return fail(f, FAIL_CONFIG,
			    "domain %s: the mix was begun with %zu partitions, now there are %zu",
			    d->name, d->partitions_n, a->domains->facts[k].partitions_n);
	}
	return FAIL_NONE;
}

enum fail_code
attach_take(struct attach *a, struct lead *lead, const struct ledger *last, bool found,
    struct mixer **out, bool *over, struct failure *f)
{
	bool changed;

	assert(a->claim.looked);
	*over = false;
	if (!found)
		return open_new(a, out, f);
	if (compare_config(a, last, &changed, f) != FAIL_NONE ||
	    check_partitions(a, last, f) != FAIL_NONE ||
	    /* Asked again: a standby has waited, perhaps since before the first commit. */
	    lead_ask(lead, f) != FAIL_NONE || lead_attach(lead, last, f) != FAIL_NONE)
		return f->code;
	if (mixer_resume(out, &a->plan.plan, last, f) != FAIL_NONE)
		return f->code == FAIL_DATA ? fail_within(f, "topic %s", a->ledger_topic) : f->code;
	*over = last->kind == LEDGER_END;
	if (*over)
		return FAIL_NONE;
	/* Asked after the ledger was read: another mixer may have counted with more until now. */
	if (add_joined(a, last, f) != FAIL_NONE ||
	    last_drawn_check(&a->drawn, a->domains, *out, NULL, f) != FAIL_NONE ||
	    domains_ask(a->domains, a->reader, false, f) != FAIL_NONE ||
	    lengths_set(a->domains, *out, f) != FAIL_NONE)
		return f->code;
	if (!changed)
		return FAIL_NONE;
	if (replan(a, *out, last, f) != FAIL_NONE)
		return f->code;
	log_info("mix: the changed configuration is version %" PRIu64 " from step %" PRIu64 " on",
	    mixer_version(*out), mixer_step_next(*out));
	return FAIL_NONE;
}

void
attach_started(struct attach *a)
{
	claim_start(&a->claim);
}
