#include "cli/plan/plan_lengths.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/scalar.h"
#include "consumer/domain/domains.h"
#include "consumer/status/status_query.h"

void
plan_lengths_close(struct plan_lengths *p)
{
	for (size_t i = 0; p->length != NULL && i < p->n; i++)
		free((void *)(uintptr_t)p->length[i].sequences);
	free(p->length);
	*p = (struct plan_lengths){0};
}

/* Domain i has `total` sequences, dealt to its partitions as evenly as can be. */
static enum fail_code
set_total(
    struct plan_lengths *p, const struct config *c, size_t i, uint64_t total, struct failure *f)
{
	size_t n = c->domains[i].partitions;
	uint64_t *sequences = calloc(n, sizeof(*sequences));

	assert(i < p->n);
	assert(n > 0);
	assert(p->length[i].sequences == NULL);
	if (sequences == NULL)
		return fail_memory(f);
	for (size_t k = 0; k < n; k++)
		sequences[k] = total / n + (k < total % n);
	p->length[i] = (struct config_plan_length){.partitions_n = n, .sequences = sequences};
	return FAIL_NONE;
}

static enum fail_code
open_lengths(struct plan_lengths *out, const struct config *c, struct failure *f)
{
	*out = (struct plan_lengths){.n = c->domains_n};
	out->length = calloc(c->domains_n + 1, sizeof(*out->length));
	return out->length == NULL ? fail_memory(f) : FAIL_NONE;
}

/* ---- as the command line says ---- */

/* One "web=7000" of --sizes. A name may be given once. */
static enum fail_code
parse_item(struct plan_lengths *p, const struct config *c, const char *item, struct failure *f)
{
	const char *equals = strchr(item, '=');
	char name[NAME_MAX_BYTES + 1];
	uint64_t total;
	size_t i;

	if (equals == NULL || equals - item > NAME_MAX_BYTES ||
	    scalar_count(equals + 1, 0, PLAN_LENGTHS_ENDLESS, &total) != SCALAR_OK)
		return fail(f, FAIL_USAGE,
		    "--sizes: not a domain and its sequences: %s (as web=7000, at most %" PRIu64
		    ")",
		    item, PLAN_LENGTHS_ENDLESS);
	memcpy(name, item, (size_t)(equals - item));
	name[equals - item] = '\0';
	if (config_find_domain(&i, c, name, f) != FAIL_NONE)
		return fail_within(f, "--sizes");
	if (p->length[i].sequences != NULL)
		return fail(f, FAIL_USAGE, "--sizes: domain %s is named twice", name);
	return set_total(p, c, i, total, f);
}

enum fail_code
plan_lengths_parse(
    struct plan_lengths *out, const struct config *c, const char *text, struct failure *f)
{
	char *copy = strdup(text), *rest = copy, *item;
	enum fail_code code = copy == NULL ? fail_memory(f) : open_lengths(out, c, f);

	while (code == FAIL_NONE && (item = strsep(&rest, ",")) != NULL)
		code = parse_item(out, c, item + strspn(item, " "), f);
	for (size_t i = 0; code == FAIL_NONE && i < c->domains_n; i++)
		if (out->length[i].sequences == NULL)
			code = fail(
			    f, FAIL_USAGE, "--sizes: domain %s is missing", c->domains[i].name);
	free(copy);
	if (code != FAIL_NONE)
		plan_lengths_close(out);
	return code;
}

enum fail_code
plan_lengths_endless(struct plan_lengths *out, const struct config *c, struct failure *f)
{
	enum fail_code code = open_lengths(out, c, f);

	for (size_t i = 0; code == FAIL_NONE && i < c->domains_n; i++)
		code = set_total(out, c, i, PLAN_LENGTHS_ENDLESS, f);
	if (code != FAIL_NONE)
		plan_lengths_close(out);
	return code;
}

/* ---- as the broker knows it ---- */

/* The lengths of a live domain are not final: it is planned with what is there. */
static enum fail_code
take_domain(struct plan_lengths *p, const struct config *c, const struct status_domain *d,
    struct failure *f)
{
	size_t i = (size_t)d->configured;
	uint64_t *sequences;

	assert(d->configured >= 0);
	assert(i < p->n);
	if (d->partitions_n == 0) {
		domains_fail_missing(c, NULL, d->name, f);
		return fail_more(f, "; or give --sizes");
	}
	if (d->partitions_n != c->domains[i].partitions)
		return fail(f, FAIL_CONFIG,
		    "domain %s has %zu partitions, the configuration wants %" PRIu32
		    ": see `riffle topics`, or give --sizes",
		    d->name, d->partitions_n, c->domains[i].partitions);
	if (d->partitions_late > 0)
		return fail(f, FAIL_TIMEOUT,
		    "domain %s: the broker has not returned the last record of %zu of %zu "
		    "partitions within %d s, so its length is not known: run it again, or give "
		    "--sizes",
		    d->name, d->partitions_late, d->partitions_n, STATUS_QUERY_MS / 1000);
	if (!d->live && d->partitions_sealed < d->partitions_n)
		return fail(f, FAIL_CONFIG,
		    "domain %s is not sealed, so that its length is not known: `riffle %s %s` "
		    "closes it; or give --sizes",
		    d->name, config_publisher(c, d->name), d->name);
	sequences = calloc(d->partitions_n, sizeof(*sequences));
	if (sequences == NULL)
		return fail_memory(f);
	for (size_t k = 0; k < d->partitions_n; k++)
		sequences[k] = d->partition[k].sequences;
	p->length[i] =
	    (struct config_plan_length){.partitions_n = d->partitions_n, .sequences = sequences};
	return FAIL_NONE;
}

/* A plan of what `riffle mix` would refuse is none of the mix that is there. */
static bool
warn_refused(const struct status *st)
{
	static const char *const codes[] = {"STATUS-CONFIG", "STATUS-DOMAIN-CHANGED"};
	bool any = false;

	for (size_t i = 0; i < st->problems_n; i++)
		for (size_t k = 0; k < sizeof(codes) / sizeof(codes[0]); k++)
			if (strcmp(st->problem[i].code, codes[k]) == 0) {
				any = true;
				log_warning("plan: PLAN-CONFIG this is the plan of the file%s: %s",
				    st->state == STATUS_NOT_STARTED ? ""
								    : ", not of what has begun",
				    st->problem[i].text);
			}
	return any;
}

/* Weights and the batch that were requested while the mix ran, in place of the file's. */
static void
take_weights(struct config *c, const struct status *st)
{
	const struct ledger *l = &st->ledger;
	bool differs = c->mix.temperature != l->temperature;

	if (st->state != STATUS_STARTED || l->reason != LEDGER_BY_REQUEST)
		return;
	c->mix.temperature = l->temperature;
	if (l->global_batch > 0) {
		differs = differs || c->mix.global_batch != l->global_batch;
		c->mix.global_batch = l->global_batch;
	}
	c->mix.weights_kind = CONFIG_WEIGHTS_MAP;
	for (size_t i = 0; i < st->domains_n; i++) {
		const struct status_domain *d = &st->domain[i];

		if (d->configured < 0 || d->mixed < 0)
			continue;
		differs = differs || c->mix.weight[d->configured] != d->weight;
		c->mix.weight[d->configured] = d->weight;
	}
	if (differs)
		log_warning("plan: PLAN-VERSION planned from step 0 with the weights in force, "
			    "version %" PRId64 " since step %" PRId64
			    " by request %s, not with those of the file; `riffle weights` shows "
			    "all versions",
		    l->version, l->version_step, l->reason_id == NULL ? "" : l->reason_id);
}

enum fail_code
plan_lengths_take(
    struct plan_lengths *out, const struct config *c, const struct status *st, struct failure *f)
{
	enum fail_code code = open_lengths(out, c, f);

	for (size_t i = 0; code == FAIL_NONE && i < st->domains_n; i++)
		if (st->domain[i].configured >= 0)
			code = take_domain(out, c, &st->domain[i], f);
	if (code != FAIL_NONE)
		plan_lengths_close(out);
	return code;
}

void
plan_lengths_take_weights(struct config *c, const struct status *st)
{
	if (!warn_refused(st))
		take_weights(c, st);
}

enum fail_code
plan_lengths_ask(struct plan_lengths *out, struct config *c, struct failure *f)
{
	struct status_query *query;
	struct status *st = NULL;
	enum fail_code code = status_query_open(&query, c, f);

	*out = (struct plan_lengths){0};
	if (code == FAIL_NONE) {
		code = status_query_lengths(query, &st, f);
		status_query_close(query);
	}
	if (code == FAIL_NONE)
		code = plan_lengths_take(out, c, st, f);
	if (code == FAIL_NONE && status_derive(st, f) == FAIL_NONE)
		plan_lengths_take_weights(c, st);
	status_free(st);
	return code;
}

uint64_t
plan_lengths_steps(const struct plan_lengths *lengths, const struct config *c)
{
	uint64_t total = 0, steps = 0, drawn = 0;
	uint32_t batch = c->mix.global_batch;

	assert(batch > 0);
	for (size_t i = 0; i < lengths->n; i++)
		for (size_t p = 0; p < lengths->length[i].partitions_n; p++)
			total += lengths->length[i].sequences[p];
	for (size_t i = 0; i < c->mix.phases_n; i++) {
		const struct config_phase *phase = &c->mix.phases[i];

		if (phase->start_step >= PLAN_LENGTHS_STEPS_MAX)
			return PLAN_LENGTHS_STEPS_MAX;
		drawn += (phase->start_step - steps) * batch;
		steps = phase->start_step;
		batch = phase->global_batch > 0 ? phase->global_batch : c->mix.global_batch;
	}
	total = total > drawn ? total - drawn : c->mix.phases_n > 0; /* that step at least */
	steps += total / batch + (total % batch != 0);
	return steps > PLAN_LENGTHS_STEPS_MAX ? PLAN_LENGTHS_STEPS_MAX : steps;
}
