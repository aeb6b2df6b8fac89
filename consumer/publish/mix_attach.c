/* Takes the state from the ledger, at the start and after every doubt, and lets go of it again. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/kafka/kafka.h"
#include "common/base/log.h"
#include "common/config/topic_plan.h"
#include "consumer/plan/bound_config.h"
#include "consumer/publish/mix_state.h"

enum {
	ASK_TIMEOUT_MS = 30000,
	VISIBLE_MS = 10000,
	VISIBLE_PAUSE_MS = 5,
};

enum fail_code
mix_read_ledger(struct mix *m, struct ledger *last, bool *found, struct failure *f)
{
	rd_kafka_message_t *msg;

	*found = false;
	m->ledger_read = -1;
	if (kafka_last_record(m->reader, m->ledger_topic, 0, &msg, ASK_TIMEOUT_MS, f) != FAIL_NONE)
		return f->code;
	if (msg == NULL)
		return FAIL_NONE;
	m->ledger_read = msg->offset;
	if (ledger_decode(last, msg->payload, msg->len, f) != FAIL_NONE) {
		fail_within(f, "topic %s offset %" PRId64, m->ledger_topic, msg->offset);
		rd_kafka_message_destroy(msg);
		return f->code;
	}
	rd_kafka_message_destroy(msg);
	*found = true;
	return FAIL_NONE;
}

/* Another mixer's START is in the ledger behind ours, or came since we looked. */
static enum fail_code
check_not_fenced(const struct mix *m, const struct ledger *last, struct failure *f)
{
	bool others = m->started || (m->looked && last->mixer != m->seen);

	if (!others || last->mixer == m->mixer_id)
		return FAIL_NONE;
	return fail(f, FAIL_FENCED,
	    "another mixer has taken over mix %s: its start stands in %s since step %" PRId64,
	    m->config->mix.name, m->ledger_topic, last->step_next);
}

/*
 * While transactions may be undecided. What stood there before our START says nothing: that one is
 * committed, and its markers can be on their way.
 */
static enum fail_code
check_no_newer(const struct mix *m, const struct ledger *last, struct failure *f)
{
	if (m->ledger_read <= m->ledger_before)
		return FAIL_NONE;
	return check_not_fenced(m, last, f);
}

/* Those that joined by request are known to the ledger alone. */
static enum fail_code
add_joined(struct mix *m, const struct ledger *last, struct failure *f)
{
	for (size_t i = 0; i < last->domains_n; i++) {
		const struct ledger_domain *d = &last->domain[i];

		if (d->state == LEDGER_LEFT || !d->joined ||
		    domains_named(m->domains, d->name) >= 0)
			continue;
		if (domains_add(m->domains, m->reader, d->name, d->live, f) != FAIL_NONE)
			return fail_within(f, "domain %s, which joined by request", d->name);
	}
	return FAIL_NONE;
}

/* Partitions are part of the order of a domain. */
static enum fail_code
check_partitions(const struct mix *m, const struct ledger *last, struct failure *f)
{
	for (size_t i = 0; i < last->domains_n; i++) {
		const struct ledger_domain *d = &last->domain[i];
		int k = domains_named(m->domains, d->name);

		if (k >= 0 && d->partitions_n != m->domains->facts[k].partitions_n)
			return fail(f, FAIL_CONFIG,
			    "domain %s: the mix was begun with %zu partitions, now there are %zu",
			    d->name, d->partitions_n, m->domains->facts[k].partitions_n);
	}
	return FAIL_NONE;
}

/* The feed numbers domains as the mixer does. One that has left has no facts: it is not drawn. */
enum fail_code
mix_tell_feed(struct mix *m, const struct mixer *mixer, struct failure *f)
{
	for (uint32_t d = (uint32_t)feed_domains(m->feed); d < mixer_domains(mixer); d++) {
		const char *name = mixer_domain_name(mixer, d);
		int i = domains_named(m->domains, name);
		char topic[TOPIC_MAX_BYTES + 1];

		names_domain_topic(topic, m->config->corpus, name, SET_TRAIN);
		if (feed_add_domain(m->feed, topic, mixer_partitions(mixer, d),
			i < 0 ? 1 : m->domains->facts[i].record_bytes, f) != FAIL_NONE)
			return f->code;
	}
	return FAIL_NONE;
}

/* Each START is committed before any batch: batches without a ledger had one that was deleted. */
static enum fail_code
check_no_batches(struct mix *m, struct failure *f)
{
	size_t n = m->config->mix.lanes;
	int32_t *lane = calloc(n, sizeof(*lane));
	int64_t *low = calloc(n, sizeof(*low)), *high = calloc(n, sizeof(*high));
	char topic[TOPIC_MAX_BYTES + 1];
	enum fail_code code = FAIL_NONE;

	names_topic(topic, m->config->mix.name, "batches");
	if (lane == NULL || low == NULL || high == NULL)
		code = fail_memory(f);
	for (size_t i = 0; code == FAIL_NONE && i < n; i++)
		lane[i] = (int32_t)i;
	if (code == FAIL_NONE)
		code =
		    kafka_watermarks_many(m->reader, topic, lane, n, low, high, ASK_TIMEOUT_MS, f);
	for (size_t i = 0; code == FAIL_NONE && i < n; i++)
		if (high[i] > 0)
			code = fail(f, FAIL_DATA,
			    "topic %s is empty and topic %s is not: the ledger was deleted, and "
			    "steps would come a second time; delete both topics, or start a mix "
			    "of another name",
			    m->ledger_topic, topic);
	free(lane);
	free(low);
	free(high);
	return code;
}

/* No mixer writes a record of which the parts contradict each other. */
static enum fail_code
check_record(const struct mix *m, const struct ledger *last, struct failure *f)
{
	const char *mix = last->mix == NULL ? "" : last->mix;
	uint64_t schedule;

	if (strcmp(mix, m->config->mix.name) != 0)
		return fail(
		    f, FAIL_DATA, "is of mix \"%.100s\", not of %s", mix, m->config->mix.name);
	if (bound_config_schedule(&schedule, last->config, f) != FAIL_NONE)
		return f->code;
	if (schedule != last->schedule)
		return fail(f, FAIL_DATA,
		    "has the schedule hash %016" PRIx64 ", the configuration in it has %016" PRIx64,
		    last->schedule, schedule);
	return FAIL_NONE;
}

static enum fail_code
compare_config(const struct mix *m, const struct ledger *last, bool *changed, struct failure *f)
{
	if (check_record(m, last, f) != FAIL_NONE)
		return fail_within(f, "topic %s: the last record", m->ledger_topic);
	return bound_config_compare(
	    last->config, m->config_text, m->o->accept_config || m->started, changed, f);
}

/* A new mixer. Batches that are there can be of another one, which has begun since we looked. */
static enum fail_code
begin_anew(struct mix *m, struct mixer **out, struct failure *f)
{
	struct ledger last = {0};
	struct failure why;
	bool found = false;

	if (check_no_batches(m, f) == FAIL_NONE)
		return mixer_open(out, &m->plan, f);
	if (f->code == FAIL_DATA && mix_read_ledger(m, &last, &found, &why) == FAIL_NONE && found)
		fail(f, FAIL_FENCED,
		    "another mixer has begun mix %s meanwhile: its start stands in %s",
		    m->config->mix.name, m->ledger_topic);
	ledger_clear(&last);
	return f->code;
}

/*
 * The mixer as the ledger has it; a new one where the ledger is empty. Gives *out, also on failure
 * where it is not NULL.
 */
static enum fail_code
take_state(
    struct mix *m, struct mixer **out, const struct ledger *last, bool found, struct failure *f)
{
	bool changed;

	if (!found)
		return begin_anew(m, out, f);
	if (compare_config(m, last, &changed, f) != FAIL_NONE ||
	    check_partitions(m, last, f) != FAIL_NONE ||
	    /* Asked anew: a standby has waited, perhaps since before the first commit. */
	    lead_ask(m->lead, f) != FAIL_NONE || lead_check(m->lead, last, f) != FAIL_NONE)
		return f->code;
	if (mixer_resume(out, &m->plan, last, f) != FAIL_NONE)
		return f->code == FAIL_DATA ? fail_within(f, "topic %s", m->ledger_topic) : f->code;
	m->over = last->kind == LEDGER_END;
	if (m->over)
		return FAIL_NONE;
	/* Asked after the ledger was read: another mixer may have counted with more until now. */
	if (add_joined(m, last, f) != FAIL_NONE ||
	    domains_ask(m->domains, m->reader, false, f) != FAIL_NONE ||
	    mix_set_lengths(m, *out, f) != FAIL_NONE)
		return f->code;
	if (!changed)
		return FAIL_NONE;
	if (mixer_replan(*out, &m->plan, f) != FAIL_NONE)
		return f->code;
	log_info("mix: the changed configuration is version %" PRIu64 " from step %" PRIu64 " on",
	    mixer_version(*out), mixer_step_next(*out));
	return FAIL_NONE;
}

enum fail_code
mix_still_ours(struct mix *m, struct failure *f)
{
	struct ledger last = {0};
	bool found;
	enum fail_code code = mix_read_ledger(m, &last, &found, f);

	if (code == FAIL_NONE && found)
		code = check_no_newer(m, &last, f);
	ledger_clear(&last);
	return code;
}

/*
 * A newer mixer's START means that we are the older one, and a configuration that does not fit must
 * not end a mixer that works.
 */
enum fail_code
mix_check_before(struct mix *m, struct ledger *last, bool *found, struct failure *f)
{
	bool changed;

	enum fail_code code = mix_read_ledger(m, last, found, f);

	if (code == FAIL_NONE && *found)
		code = check_no_newer(m, last, f);
	if (code == FAIL_NONE && *found)
		code = compare_config(m, last, &changed, f);
	return code;
}

enum fail_code
mix_wait_visible(struct mix *m, struct failure *f)
{
	int64_t step = (int64_t)mixer_step_next(assembler_mixer(m->assembler));
	int64_t deadline_ms = clock_ms() + VISIBLE_MS;
	bool visible = false;

	while (!visible) {
		struct ledger last = {0};
		bool found;

		if (mix_read_ledger(m, &last, &found, f) != FAIL_NONE)
			return f->code;
		visible = found && last.step_next >= step;
		ledger_clear(&last);
		if (!visible && clock_ms() >= deadline_ms)
			return fail(f, FAIL_TIMEOUT,
			    "the last transaction is committed but topic %s does not show it "
			    "after %d s: the broker has not written its markers yet",
			    m->ledger_topic, VISIBLE_MS / 1000);
		if (!visible)
			clock_pause_ms(VISIBLE_PAUSE_MS);
	}
	return FAIL_NONE;
}

static enum fail_code
open_transactions(struct mix *m, struct failure *f)
{
	struct transactions_options o = {
	    .properties = &m->config->kafka,
	    .mix = m->config->mix.name,
	    .rejects_topic = m->rejects_topic,
	    .message_bytes_max = topic_plan_lane_bytes(m->config, 3),
	    .transaction_bytes = m->config->mix.transaction_bytes,
	};

	return transactions_open(&m->transactions, &o, f);
}

static enum fail_code
take_over(struct mix *m, struct failure *f)
{
	struct ledger last = {0};
	struct mixer *mixer = NULL;
	bool found;
	enum fail_code code;

	code = mix_check_before(m, &last, &found, f);
	ledger_clear(&last);
	if (code == FAIL_NONE)
		code = open_transactions(m, f);
	/* Only now is every earlier transaction decided, and the ledger's end final. */
	if (code == FAIL_NONE)
		code = mix_read_ledger(m, &last, &found, f);
	if (code == FAIL_NONE && found)
		code = check_not_fenced(m, &last, f);
	if (code == FAIL_NONE && !m->started)
		m->ledger_before = m->ledger_read;
	if (code == FAIL_NONE) {
		m->looked = true;
		m->seen = found ? last.mixer : 0;
		code = take_state(m, &mixer, &last, found, f);
	}
	ledger_clear(&last);
	if (code == FAIL_NONE)
		code = mix_tell_feed(m, mixer, f);
	if (code == FAIL_NONE)
		code = assembler_open(&m->assembler, mixer, m->feed, m->plan.global_batch,
		    mix_keep_dead_letter, m, f);
	if (code != FAIL_NONE)
		mixer_close(mixer);
	return code;
}

enum fail_code
mix_attach(struct mix *m, struct failure *f)
{
	uint64_t step;

	m->open = false;
	if (take_over(m, f) != FAIL_NONE)
		return f->code;
	step = mixer_step_next(assembler_mixer(m->assembler));
	if (m->over) {
		log_info("mix: mix=%s ended before step=%" PRIu64, m->config->mix.name, step);
		return FAIL_NONE;
	}
	if (control_feed_seek(m->control, mixer_control_next(assembler_mixer(m->assembler)), f) !=
		FAIL_NONE ||
	    (!m->started && mix_commit(m, LEDGER_START, f) != FAIL_NONE))
		return f->code;
	m->started = true;
	election_attached(&m->election, clock_ms());
	log_info("mix: mix=%s step=%" PRIu64 " version=%" PRIu64 " mixer=%016" PRIx64,
	    m->config->mix.name, step, mixer_version(assembler_mixer(m->assembler)), m->mixer_id);
	return mix_answer_old(m, f);
}

void
mix_detach(struct mix *m)
{
	transactions_close(m->transactions);
	m->transactions = NULL;
	assembler_close(m->assembler);
	m->assembler = NULL;
	mix_clear_dead_letters(m);
	mix_clear_answers(m);
}
