#include "cli/reweight/reweight_print.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/json_print.h"
#include "cli/reweight/reweight_state.h"

/* What the learner remembers of a domain: its last excess, or its smoothed loss. */
static double
remembered(const struct reweight_job *job, size_t i)
{
	const struct reweight *r = job->learner;

	return r->method == REWEIGHT_DOREMI ? r->of.doremi.excess[i]
					    : r->of.odm.reward[i] / r->of.odm.scale;
}

/* How far the result is from the reference's weights: the largest difference. */
static double
distance(const struct reweight_job *job, const double *weight)
{
	double most = 0;

	assert(job->reference != NULL);
	for (size_t i = 0; i < job->domains_n; i++)
		most = fmax(most, fabs(weight[i] - job->reference[i]));
	return most;
}

static void
print_counts(const struct losses_counts *c, FILE *to)
{
	fprintf(to,
	    "reports  %" PRIu64 " used; dropped: %" PRIu64 " duplicate, %" PRIu64 " late, %" PRIu64
	    " of an unknown step, %" PRIu64 " malformed, %" PRIu64 " of other runs, %" PRIu64
	    " replaced; steps given up: %" PRIu64 "\n",
	    c->reports, c->duplicate, c->late, c->unknown_step, c->malformed, c->other_run,
	    c->replaced, c->incomplete);
	if (c->not_a_number + c->unknown_domain > 0)
		fprintf(to,
		    "losses   dropped: %" PRIu64 " that are no finite numbers, %" PRIu64
		    " of domains that are not learned\n",
		    c->not_a_number, c->unknown_domain);
}

void
reweight_print_table(const struct reweight_job *job, FILE *to)
{
	double *result = calloc(job->domains_n, 2 * sizeof(*result));
	double *now = result == NULL ? NULL : result + job->domains_n;
	bool doremi = job->a->method == REWEIGHT_DOREMI;
	int width = 6;

	assert(job->learner != NULL);
	if (result == NULL)
		return;
	reweight_result(job->learner, result);
	reweight_weights(job->learner, now);
	fprintf(to, "learned  %s, %" PRIu64 " steps below step %" PRId64 " of mix %s, run %s\n",
	    reweight_method_name[job->a->method], reweight_steps(job->learner), job->step_next,
	    job->a->mix, job->a->run);
	if (job->a->live)
		fprintf(to, "asked    %" PRIu64 " times, %" PRIu64 " refused\n", job->asked,
		    job->refused);
	print_counts(&job->counts, to);
	if (job->last_step >= 0)
		fprintf(to,
		    "step     %" PRId64 ": loss %.4f, excess %.4f nats a token over all domains\n",
		    job->last_step, job->last.loss, job->last.excess);
	if (job->reference != NULL)
		fprintf(to,
		    "moved    %.6f at most from %s (a round that moves less than 0.001 is the "
		    "last)\n",
		    distance(job, result), job->a->reference);
	for (size_t i = 0; i < job->domains_n; i++)
		if ((int)strlen(job->domain[i]) > width)
			width = (int)strlen(job->domain[i]);
	fprintf(to, "\n%-*s %10s %10s %10s\n", width, "DOMAIN", "RESULT", "LAST",
	    doremi ? "EXCESS" : "LOSS");
	for (size_t i = 0; i < job->domains_n; i++)
		fprintf(to, "%-*s %10.6f %10.6f %10.4f\n", width, job->domain[i], result[i], now[i],
		    remembered(job, i));
	free(result);
}

static json_t *
list(const struct reweight_job *job, const double *value)
{
	json_t *o = json_object();

	for (size_t i = 0; i < job->domains_n; i++)
		json_object_set_new(o, job->domain[i], json_real(value[i]));
	return o;
}

static json_t *
all_json(const struct reweight_job *job)
{
	if (job->last_step < 0)
		return json_null();
	return json_pack("{s:I, s:f, s:f}", "step", (json_int_t)job->last_step, "loss",
	    job->last.loss, "excess", job->last.excess);
}

enum fail_code
reweight_print_json(const struct reweight_job *job, FILE *to, struct failure *f)
{
	double *now = calloc(job->domains_n, sizeof(*now));
	json_t *o = NULL;

	if (now != NULL) {
		reweight_weights(job->learner, now);
		o = json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o}", "mix",
		    job->a->mix, "run", job->a->run, "method", reweight_method_name[job->a->method],
		    "steps", (json_int_t)reweight_steps(job->learner), "step_next",
		    (json_int_t)job->step_next, "asked", (json_int_t)job->asked, "refused",
		    (json_int_t)job->refused, "weights", reweight_state_weights(job), "last",
		    list(job, now), "all", all_json(job), "dropped",
		    reweight_state_counts(&job->counts));
	}
	free(now);
	return json_print(o, JSON_INDENT(2), to, f);
}
