/* Opens what a mix holds for as long as it runs, and closes it. */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "common/kafka/kafka.h"
#include "common/config/topic_plan.h"
#include "common/kafka/topics.h"
#include "consumer/plan/bound_config.h"
#include "consumer/publish/mix_state.h"

enum { ASK_TIMEOUT_MS = 30000, FIRST_ANSWER_MS = 10000 };

static enum fail_code
open_reader(rd_kafka_t **out, const struct mix *m, struct failure *f)
{
	struct kafka_options k = {
	    .role = KAFKA_READER, .properties = &m->config->kafka, .client = "mix-ledger"};

	return kafka_open(out, &k, f);
}

enum fail_code
mix_renew_reader(struct mix *m, struct failure *f)
{
	rd_kafka_t *reader;

	if (open_reader(&reader, m, f) != FAIL_NONE)
		return f->code;
	kafka_close(m->reader);
	m->reader = reader;
	return FAIL_NONE;
}

static enum fail_code
open_handles(struct mix *m, struct failure *f)
{
	struct kafka_options k = {
	    .role = KAFKA_ADMIN, .properties = &m->config->kafka, .client = "mix-admin"};
	struct topics_use use = {.read = 1U << TOPIC_DOMAIN | 1U << TOPIC_CONTROL,
	    .written = 1U << TOPIC_REJECTS | 1U << TOPIC_BATCHES | 1U << TOPIC_LEDGER};

	if (kafka_open(&m->admin, &k, f) != FAIL_NONE ||
	    kafka_wait_broker(m->admin, FIRST_ANSWER_MS, f) != FAIL_NONE ||
	    topics_check(m->admin, m->config, use, ASK_TIMEOUT_MS, f) != FAIL_NONE)
		return f->code;
	return open_reader(&m->reader, m, f);
}

static enum fail_code
make_plan(struct mix *m, struct failure *f)
{
	size_t n = m->config->domains_n;
	struct config_plan_length *length = calloc(n, sizeof(*length));
	enum fail_code code;

	if (length == NULL)
		return fail_memory(f);
	for (size_t i = 0; i < n; i++)
		length[i] = (struct config_plan_length){
		    .partitions_n = m->domains->facts[i].partitions_n,
		    .sequences = m->domains->facts[i].sequences,
		    .sealed = m->domains->facts[i].sealed,
		};
	code = config_plan_open(&m->by_config, m->config, length, f);
	free(length);
	m->plan = m->by_config.plan;
	return code;
}

/* Weights by size stay those of the first start, unless a changed configuration is to be taken. */
static enum fail_code
keep_sizes(struct mix *m, struct failure *f)
{
	struct ledger last = {0};
	bool found;
	enum fail_code code;

	if (m->config->mix.weights_kind != CONFIG_WEIGHTS_SIZE || m->o->accept_config)
		return FAIL_NONE;
	code = mix_read_ledger(m, &last, &found, f);
	if (code == FAIL_NONE && found)
		code = bound_config_keep_sizes(&m->by_config, m->config, last.config, f);
	ledger_clear(&last);
	return code;
}

static enum fail_code
bind_config(struct mix *m, struct failure *f)
{
	if (make_plan(m, f) != FAIL_NONE || keep_sizes(m, f) != FAIL_NONE ||
	    bound_config_text(
		&m->config_text, m->config, &m->by_config, m->domains->tokenizer, f) != FAIL_NONE)
		return f->code;
	return bound_config_schedule(&m->schedule, m->config_text, f);
}

enum fail_code
mix_open(struct mix *m, const struct mix_options *o, struct failure *f)
{
	memset(m, 0, sizeof(*m));
	m->o = o;
	m->config = o->config;
	names_topic(m->ledger_topic, m->config->mix.name, "ledger");
	names_topic(m->rejects_topic, m->config->corpus, "rejects");
	if (getrandom(&m->mixer_id, sizeof(m->mixer_id), 0) != sizeof(m->mixer_id))
		return fail_errno(f, FAIL_IO, "cannot draw a random number for this mixer's id");
	election_init(&m->election, o->standby);
	if (open_handles(m, f) != FAIL_NONE ||
	    election_group_join(&m->group, m->config->mix.name, &m->config->kafka, o->standby, f) !=
		FAIL_NONE ||
	    domains_open(&m->domains, m->reader, m->config, mix_stopped, m, f) != FAIL_NONE ||
	    bind_config(m, f) != FAIL_NONE || mix_open_feed(m, f) != FAIL_NONE ||
	    control_feed_open(&m->control, m->config->mix.name, &m->config->kafka, f) !=
		FAIL_NONE ||
	    lead_open(&m->lead, m->config, f) != FAIL_NONE)
		return f->code;
	return lead_ask(m->lead, f);
}

void
mix_close(struct mix *m)
{
	mix_detach(m);
	election_group_close(m->group); /* hands over to a standby: all is committed */
	control_feed_close(m->control);
	lead_close(m->lead);
	feed_close(m->feed);
	domains_close(m->domains);
	kafka_close(m->reader);
	kafka_close(m->admin);
	config_plan_close(&m->by_config);
	free(m->config_text);
}
