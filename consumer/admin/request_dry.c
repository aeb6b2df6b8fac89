#include "consumer/admin/request_dry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/kafka/kafka.h"
#include "consumer/domain/domains.h"
#include "consumer/plan/ledger_plan.h"
#include "consumer/mixer/mixer.h"

enum { FIRST_ANSWER_MS = 10000 };

/* Everything that a judgement holds. */
struct dry {
	struct ledger_plan plan;
	struct mixer *mixer;
	rd_kafka_t *reader;
	struct config config;   /* of what domains_add() looks at */
	struct domains domains; /* none, or the one that would join */
};

static void
close_dry(struct dry *d)
{
	while (d->domains.n > 0)
		domains_drop_last(&d->domains);
	free(d->domains.facts);
	kafka_close(d->reader);
	mixer_close(d->mixer);
	ledger_plan_close(&d->plan);
}

/* FAIL_CONFIG: why the domain cannot join. */
static enum fail_code
look_at(struct dry *d, const struct ledger *last, const char *name, const struct config *c,
    struct mixer_source *out, struct failure *f)
{
	struct kafka_options k = {
	    .role = KAFKA_READER, .properties = &c->kafka, .client = "request-dry"};
	const struct domain_facts *facts;

	d->config = (struct config){.corpus = (char *)(uintptr_t)d->plan.corpus,
	    .sequence_length = d->plan.plan.sequence_length};
	d->domains = (struct domains){.tokenizer = last->tokenizer, .config = &d->config};
	if (kafka_open(&d->reader, &k, f) != FAIL_NONE ||
	    kafka_wait_broker(d->reader, FIRST_ANSWER_MS, f) != FAIL_NONE ||
	    domains_add(&d->domains, d->reader, name, false, f) != FAIL_NONE)
		return f->code;
	facts = &d->domains.facts[0];
	*out = (struct mixer_source){
	    .name = facts->name,
	    .partitions_n = facts->partitions_n,
	    .sequences = facts->sequences,
	    .sealed = facts->sealed,
	};
	return FAIL_NONE;
}

static enum fail_code
judge(struct dry *d, const struct ledger *last, const struct control *request,
    const struct config *c, struct ledger_answer *out, struct failure *f)
{
	struct mixer_source joining;
	struct failure why;
	bool duplicate;

	if (request->kind != LEDGER_JOIN)
		return mixer_request(d->mixer, request, NULL, out, &duplicate, f);
	if (look_at(d, last, request->domain, c, &joining, &why) == FAIL_NONE)
		return mixer_request(d->mixer, request, &joining, out, &duplicate, f);
	if (why.code == FAIL_CONFIG || why.code == FAIL_DATA)
		return mixer_refuse(d->mixer, request, why.text, out, &duplicate, f);
	*f = why;
	return f->code;
}

enum fail_code
request_dry(struct ledger_answer *out, const struct ledger *last, const struct control *request,
    const struct config *c, struct failure *f)
{
	struct dry d = {0};
	enum fail_code code;

	*out = (struct ledger_answer){0};
	code = ledger_plan_open(&d.plan, last, f);
	if (code == FAIL_NONE)
		code = mixer_resume(&d.mixer, &d.plan.plan, last, f);
	if (code == FAIL_NONE)
		code = judge(&d, last, request, c, out, f);
	close_dry(&d);
	return code;
}
