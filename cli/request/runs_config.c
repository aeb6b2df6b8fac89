#include "cli/request/runs_config.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/names.h"
#include "common/kafka/kafka.h"
#include "consumer/ledger/ledger_log.h"
#include "consumer/plan/ledger_plan.h"

enum { ANSWER_MS = 10000 };

static enum fail_code
copy_plan(struct config *c, const struct ledger_plan *p, struct failure *f)
{
	struct config_mix *m = &c->mix;

	c->sequence_length = p->plan.sequence_length;
	m->global_batch = p->plan.global_batch;
	m->lanes = p->plan.lanes;
	m->batches = p->batches;
	m->max_lead_steps = (uint32_t)p->max_lead_steps;
	c->corpus = strdup(p->corpus);
	m->runs.text = calloc(p->runs_n + 1, sizeof(*m->runs.text));
	if (c->corpus == NULL || m->runs.text == NULL)
		return fail_memory(f);
	for (size_t i = 0; i < p->runs_n; i++) {
		m->runs.text[i] = strdup(p->run[i]);
		if (m->runs.text[i] == NULL)
			return fail_memory(f);
		m->runs.n++;
	}
	return FAIL_NONE;
}

/* A batch topic that is missing is planned with a partition for each lane, and reported later. */
static enum fail_code
ask_partitions(struct config *c, struct failure *f)
{
	struct kafka_options k = {.role = KAFKA_READER, .properties = &c->kafka, .client = "runs"};
	char topic[TOPIC_MAX_BYTES + 1];
	enum fail_code code;
	rd_kafka_t *rk = NULL;
	int n = 0;

	if (c->mix.batches == MIX_BATCHES_DERIVED)
		return FAIL_NONE;
	names_topic(topic, c->mix.name, "batches");
	if (kafka_open(&rk, &k, f) != FAIL_NONE)
		return f->code;
	code = kafka_partitions(rk, topic, &n, ANSWER_MS, f);
	kafka_close(rk);
	c->mix.partitions = n > 0 && (uint32_t)n < c->mix.lanes ? (uint32_t)n : c->mix.lanes;
	return code;
}

static enum fail_code
fill_from_ledger(struct config *c, struct failure *f)
{
	struct ledger last = {0};
	struct ledger_plan plan = {0};
	bool any = false;
	enum fail_code code = ledger_log_ask(&last, &any, c->mix.name, &c->kafka, ANSWER_MS, f);

	if (code == FAIL_NONE && !any)
		code = fail(f, FAIL_CONFIG,
		    "no mixer has written to mix %s yet, so its runs are only in its "
		    "configuration: add -c FILE",
		    c->mix.name);
	if (code == FAIL_NONE)
		code = ledger_plan_open(&plan, &last, f);
	if (code == FAIL_NONE)
		code = copy_plan(c, &plan, f);
	if (code == FAIL_NONE)
		code = ask_partitions(c, f);
	ledger_plan_close(&plan);
	ledger_clear(&last);
	return code;
}

enum fail_code
runs_config_open(struct config **out, const char *mix, const struct options *o, struct failure *f)
{
	enum fail_code code;

	if (o->config != NULL) {
		code = options_config_named(out, mix, o, f);
		if (code == FAIL_NONE)
			code = config_need_mix(*out, f);
	} else {
		code = options_mix_config(out, &mix, o, f);
		if (code == FAIL_NONE)
			code = fill_from_ledger(*out, f);
	}
	if (code == FAIL_NONE)
		return FAIL_NONE;
	config_close(*out);
	*out = NULL;
	return code;
}
