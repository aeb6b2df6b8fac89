/* Opens what a mix needs, takes the state from the ledger, and lets go of it again. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "common/clock.h"
#include "common/kafka.h"
#include "common/log.h"
#include "common/order.h"
#include "common/topics.h"
#include "consumer/mix_config.h"
#include "consumer/mix_state.h"

enum {
	ASK_TIMEOUT_MS = 30000,
	FIRST_ANSWER_MS = 10000,
	VISIBLE_MS = 10000,
	VISIBLE_PAUSE_MS = 5,
};

/* ---- once ---- */

static enum fail_code
open_handles(struct mix *m, struct failure *f)
{
	struct kafka_options k = {
	    .role = KAFKA_ADMIN, .properties = &m->config->kafka, .client = "mix-admin"};
	unsigned kinds = 1U << TOPIC_DOMAIN | 1U << TOPIC_REJECTS | 1U << TOPIC_BATCHES |
			 1U << TOPIC_LEDGER | 1U << TOPIC_CONTROL;

	if (kafka_open(&m->admin, &k, f) != FAIL_NONE ||
	    kafka_wait_broker(m->admin, FIRST_ANSWER_MS, f) != FAIL_NONE ||
	    topics_check(m->admin, m->config, kinds, ASK_TIMEOUT_MS, f) != FAIL_NONE)
		return f->code;
	k.role = KAFKA_READER;
	k.client = "mix-ledger";
	k.group = NULL;
	return kafka_open(&m->reader, &k, f);
}

static enum fail_code
make_plan(struct mix *m, struct failure *f)
{
	const struct config *c = m->config;

	m->source = calloc(c->domains_n, sizeof(*m->source));
	if (m->source == NULL)
		return fail_memory(f);
	for (size_t i = 0; i < c->domains_n; i++)
		m->source[i] = (struct mixer_source){
		    .name = c->domains[i].name,
		    .weight = c->mix.weight[i],
		    .on_end = c->domains[i].on_end,
		    .partitions_n = m->domains->facts[i].partitions_n,
		    .sequences = m->domains->facts[i].sequences,
		};
	m->plan = (struct mixer_plan){
	    .seed = c->mix.seed,
	    .sequence_length = c->sequence_length,
	    .global_batch = c->mix.global_batch,
	    .lanes = c->mix.lanes,
	    .block = order_block_sequences(c->sequence_length),
	    .window = c->mix.window,
	    .permute = c->mix.permute,
	    .lane_order = c->mix.lane_order,
	    .temperature = c->mix.temperature,
	    .source = m->source,
	    .sources_n = c->domains_n,
	};
	return FAIL_NONE;
}

/*
 * The worst case: every block that one step can touch is in memory, with a fetch for each load, and
 * two transactions in the producer's queue. Blocks beyond those are kept only within the budget.
 */
static enum fail_code
check_memory(const struct mix *m, uint64_t *blocks_bytes, struct failure *f)
{
	const struct config_mix *c = &m->config->mix;
	uint64_t largest = 0, fetches, queue, step, touched;

	for (size_t i = 0; i < m->domains->n; i++) {
		const struct domain_facts *d = &m->domains->facts[i];
		uint64_t block =
		    m->plan.block < d->sequences_total ? m->plan.block : d->sequences_total;

		if (block * d->record_bytes_max > largest)
			largest = block * d->record_bytes_max;
	}
	/* k draws of a domain fall into at most k / block + 2 windows. */
	touched = c->window * (c->global_batch / m->plan.block + 2 * m->domains->n);
	if (touched > c->global_batch)
		touched = c->global_batch;
	fetches = FEED_LOADS_MAX * (largest + largest / 4);
	queue = 2 * c->transaction_bytes + topics_lane_bytes(m->config, 3);
	step = touched * largest;
	if (fetches + queue + step > c->memory_bytes)
		return fail(f, FAIL_CONFIG,
		    "mix.memory: %" PRIu64 " MB are not enough: one step may touch %" PRIu64
		    " blocks of %" PRIu64 " KB, with %" PRIu64
		    " MB of fetches and transactions beside them; allow %" PRIu64 " MB, or make "
		    "mix.global_batch or mix.transaction_bytes smaller",
		    c->memory_bytes / 1000000, touched, largest / 1000, (fetches + queue) / 1000000,
		    (fetches + queue + step) / 1000000 + 1);
	*blocks_bytes = c->memory_bytes - fetches - queue;
	return FAIL_NONE;
}

static enum fail_code
open_feed(struct mix *m, uint64_t blocks_bytes, struct failure *f)
{
	uint64_t block_bytes = 0;
	struct feed_options o = {
	    .properties = &m->config->kafka,
	    .memory_bytes = blocks_bytes,
	    .tokenizer = m->domains->tokenizer,
	};

	for (size_t i = 0; i < m->domains->n; i++) {
		uint64_t bytes = m->plan.block * m->domains->facts[i].record_bytes;

		block_bytes = bytes > block_bytes ? bytes : block_bytes;
	}
	o.block_bytes = block_bytes;
	return feed_open(&m->feed, &o, f);
}

/* The order of an epoch needs lengths, and a live domain has none. */
static enum fail_code
check_sealable(const struct config *c, struct failure *f)
{
	for (size_t i = 0; i < c->domains_n; i++)
		if (c->domains[i].live)
			return fail(f, FAIL_CONFIG,
			    "%s:%d: domains.%s.live: this version of riffle mixes only domains "
			    "that end; "
			    "take the key out, and `riffle produce %s` closes the domain",
			    c->path, c->domains[i].line, c->domains[i].name, c->domains[i].name);
	return FAIL_NONE;
}

enum fail_code
mix_open(struct mix *m, const struct mix_options *o, struct failure *f)
{
	uint64_t blocks_bytes = 0;

	memset(m, 0, sizeof(*m));
	m->o = o;
	m->config = o->config;
	names_topic(m->ledger_topic, m->config->mix.name, "ledger");
	names_topic(m->rejects_topic, m->config->corpus, "rejects");
	if (getrandom(&m->mixer_id, sizeof(m->mixer_id), 0) != sizeof(m->mixer_id))
		return fail_errno(f, FAIL_IO, "cannot draw a random number for this mixer's id");
	if (check_sealable(m->config, f) != FAIL_NONE || open_handles(m, f) != FAIL_NONE ||
	    domains_open(&m->domains, m->reader, m->config, o->stop, f) != FAIL_NONE ||
	    mix_config_text(&m->config_text, m->config, m->domains->tokenizer, f) != FAIL_NONE ||
	    mix_config_schedule(&m->schedule, m->config_text, f) != FAIL_NONE ||
	    make_plan(m, f) != FAIL_NONE || check_memory(m, &blocks_bytes, f) != FAIL_NONE ||
	    open_feed(m, blocks_bytes, f) != FAIL_NONE ||
	    lead_open(&m->lead, m->reader, m->config, f) != FAIL_NONE)
		return f->code;
	return lead_ask(m->lead, f);
}

void
mix_close(struct mix *m)
{
	mix_detach(m);
	lead_close(m->lead);
	feed_close(m->feed);
	domains_close(m->domains);
	kafka_close(m->reader);
	kafka_close(m->admin);
	free(m->source);
	free(m->config_text);
}

/* ---- at the start, and after every doubt ---- */

/* *found: the ledger holds a record, now in *last. */
static enum fail_code
read_ledger(struct mix *m, struct ledger *last, bool *found, struct failure *f)
{
	rd_kafka_message_t *msg;

	*found = false;
	if (kafka_last_record(m->reader, m->ledger_topic, 0, &msg, ASK_TIMEOUT_MS, f) != FAIL_NONE)
		return f->code;
	if (msg == NULL)
		return FAIL_NONE;
	if (ledger_decode(last, msg->payload, msg->len, f) != FAIL_NONE) {
		fail_within(f, "topic %s offset %" PRId64, m->ledger_topic, msg->offset);
		rd_kafka_message_destroy(msg);
		return f->code;
	}
	rd_kafka_message_destroy(msg);
	*found = true;
	return FAIL_NONE;
}

/* Another mixer's START is in the ledger behind ours. */
static enum fail_code
check_not_fenced(const struct mix *m, const struct ledger *last, struct failure *f)
{
	if (!m->started || last->mixer == m->mixer_id)
		return FAIL_NONE;
	return fail(f, FAIL_FENCED,
	    "another mixer has taken over mix %s: its start stands in %s since step %" PRId64,
	    m->config->mix.name, m->ledger_topic, last->step_next);
}

/* Lengths of sealed domains never change under a mix that counts with them. */
static enum fail_code
check_lengths(const struct mix *m, const struct ledger *last, struct failure *f)
{
	for (size_t i = 0; i < last->domains_n; i++) {
		const struct ledger_domain *d = &last->domain[i];
		int k = config_domain_index(m->config, d->name);
		const struct domain_facts *now = k < 0 ? NULL : &m->domains->facts[k];

		if (now == NULL)
			continue;
		if (d->partitions_n != now->partitions_n)
			return fail(f, FAIL_CONFIG,
			    "domain %s: the mix was begun with %zu partitions, now there are %zu",
			    d->name, d->partitions_n, now->partitions_n);
		for (size_t p = 0; p < d->partitions_n; p++)
			if ((uint64_t)d->partition[p].sequences != now->sequences[p])
				return fail(f, FAIL_CONFIG,
				    "topic %s partition %zu: the mix counts with %" PRId64
				    " sequences, the topic ends after %" PRIu64,
				    now->topic, p, d->partition[p].sequences, now->sequences[p]);
	}
	return FAIL_NONE;
}

/* The feed numbers domains as the mixer does. One that has left has no facts: it is not drawn. */
static enum fail_code
tell_feed(struct mix *m, const struct mixer *mixer, struct failure *f)
{
	for (uint32_t d = (uint32_t)feed_domains(m->feed); d < mixer_domains(mixer); d++) {
		const char *name = mixer_domain_name(mixer, d);
		int i = config_domain_index(m->config, name);
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
		return check_no_batches(m, f) == FAIL_NONE ? mixer_open(out, &m->plan, f) : f->code;
	if (mix_config_compare(last->config, m->config_text, m->o->accept_config || m->started,
		&changed, f) != FAIL_NONE ||
	    check_lengths(m, last, f) != FAIL_NONE || lead_check(m->lead, last, f) != FAIL_NONE ||
	    mixer_resume(out, &m->plan, last, f) != FAIL_NONE)
		return f->code;
	m->over = last->kind == LEDGER_END;
	if (!changed || m->over)
		return FAIL_NONE;
	if (mixer_accept(*out, &m->plan, f) != FAIL_NONE)
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
	enum fail_code code = read_ledger(m, &last, &found, f);

	if (code == FAIL_NONE && found)
		code = check_not_fenced(m, &last, f);
	ledger_clear(&last);
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

		if (read_ledger(m, &last, &found, f) != FAIL_NONE)
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
open_publisher(struct mix *m, struct failure *f)
{
	struct publisher_options o = {
	    .properties = &m->config->kafka,
	    .mix = m->config->mix.name,
	    .rejects_topic = m->rejects_topic,
	    .message_bytes_max = topics_lane_bytes(m->config, 3),
	    .transaction_bytes = m->config->mix.transaction_bytes,
	};

	return publisher_open(&m->publisher, &o, f);
}

static enum fail_code
take_over(struct mix *m, struct failure *f)
{
	struct ledger last = {0};
	struct mixer *mixer = NULL;
	bool found;
	enum fail_code code;

	/* Before fencing anyone: a newer mixer's START means that we are the older one. */
	code = mix_still_ours(m, f);
	if (code == FAIL_NONE)
		code = open_publisher(m, f);
	/* Only now is every earlier transaction decided, and the ledger's end final. */
	if (code == FAIL_NONE)
		code = read_ledger(m, &last, &found, f);
	if (code == FAIL_NONE && found)
		code = check_not_fenced(m, &last, f);
	if (code == FAIL_NONE)
		code = take_state(m, &mixer, &last, found, f);
	ledger_clear(&last);
	if (code == FAIL_NONE)
		code = tell_feed(m, mixer, f);
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
	if (!m->started && mix_commit(m, LEDGER_START, f) != FAIL_NONE)
		return f->code;
	m->started = true;
	log_info("mix: mix=%s step=%" PRIu64 " version=%" PRIu64 " mixer=%016" PRIx64,
	    m->config->mix.name, step, mixer_version(assembler_mixer(m->assembler)), m->mixer_id);
	return FAIL_NONE;
}

void
mix_detach(struct mix *m)
{
	publisher_close(m->publisher);
	m->publisher = NULL;
	assembler_close(m->assembler);
	m->assembler = NULL;
	mix_clear_dead_letters(m);
}
