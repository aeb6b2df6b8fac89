#include "cli/reweight/reweight_ask.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/reweight/reweight_loop.h"
#include "common/base/log.h"
#include "consumer/admin/request.h"

enum { ID_BYTES = 64 };

static const struct ledger_domain *
domain_of(const struct ledger *l, const char *name)
{
	for (size_t i = 0; i < l->domains_n; i++)
		if (l->domain[i].name != NULL && strcmp(l->domain[i].name, name) == 0)
			return &l->domain[i];
	return NULL;
}

static bool
is_drawn(const struct ledger *l, const char *name)
{
	const struct ledger_domain *d = domain_of(l, name);

	return d != NULL && (d->state == LEDGER_ACTIVE || d->state == LEDGER_JOINING);
}

/* The weights are scaled to the sum that these domains have: the others keep their share. */
static enum fail_code
fill_weights(
    struct reweight_job *job, const struct ledger *last, struct control *c, struct failure *f)
{
	double *weight = calloc(job->domains_n, sizeof(*weight)), sum = 0, learned = 0;

	c->weight = calloc(job->domains_n, sizeof(*c->weight));
	if (weight == NULL || c->weight == NULL) {
		free(weight);
		return fail_memory(f);
	}
	reweight_weights(job->learner, weight);
	for (size_t i = 0; i < job->domains_n; i++) {
		if (!is_drawn(last, job->domain[i]))
			continue;
		sum += domain_of(last, job->domain[i])->raw_weight;
		learned += weight[i];
		c->weight[c->weights_n++] =
		    (struct ledger_raw_weight){strdup(job->domain[i]), weight[i]};
		if (c->weight[c->weights_n - 1].domain == NULL)
			break;
	}
	free(weight);
	if (c->weights_n > 0 && c->weight[c->weights_n - 1].domain == NULL)
		return fail_memory(f);
	for (size_t i = 0; i < c->weights_n && sum > 0 && learned > 0; i++)
		c->weight[i].weight *= sum / learned;
	return FAIL_NONE;
}

static enum fail_code
fill_request(
    struct reweight_job *job, const struct ledger *last, struct control *c, struct failure *f)
{
	char id[ID_BYTES], who[REQUEST_WHO_BYTES];

	snprintf(id, sizeof(id), "reweight-%s-%" PRIu64, job->id, reweight_steps(job->learner));
	request_who(who);
	*c = (struct control){.kind = LEDGER_WEIGHTS,
	    .at_step = -1,
	    .partition = -1,
	    .id = strdup(id),
	    .who = strdup(who)};
	if (c->id == NULL || c->who == NULL)
		return fail_memory(f);
	return fill_weights(job, last, c, f);
}

static enum fail_code
send_and_wait(
    struct request *r, const struct control *c, struct ledger_answer *answer, struct failure *f)
{
	bool found = false;

	if (request_earlier(r, c->id, answer, &found, f) != FAIL_NONE)
		return f->code;
	if (found)
		return FAIL_NONE;
	if (request_send(r, c, 1, f) != FAIL_NONE)
		return f->code;
	return request_wait(r, c, 1, answer, REWEIGHT_ANSWER_MS, f);
}

enum fail_code
reweight_ask(struct reweight_job *job, const struct stop *stop, bool *refused, struct failure *f)
{
	struct request_options with = {
	    .mix = job->a->mix, .properties = &job->config->kafka, .stop = stop};
	struct ledger_answer answer = {0};
	struct control c = {0};
	struct request *r = NULL;
	enum fail_code code;

	*refused = false;
	code = request_open(&r, &with, f);
	if (code == FAIL_NONE)
		code = fill_request(job, request_ledger(r), &c, f);
	if (code == FAIL_NONE)
		code = send_and_wait(r, &c, &answer, f);
	if (code == FAIL_NONE) {
		job->asked++;
		*refused = !answer.accepted;
		if (answer.accepted)
			log_info("reweight: mix=%s learned_steps=%" PRIu64
				 " id=%s effective_step=%" PRId64,
			    job->a->mix, reweight_steps(job->learner), c.id, answer.step);
		else
			fail(f, FAIL_DATA, "request %s was refused: %s", c.id,
			    answer.text == NULL ? "" : answer.text);
	}
	ledger_answer_clear(&answer);
	control_clear(&c);
	request_close(r);
	return code;
}
