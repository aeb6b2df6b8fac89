#include "cli/request/weights_request.h"

#include <assert.h>
#include <string.h>

#include "cli/request/request_words.h"

/* A domain that has left may join again: it counts as one that the mix has not. */
static bool
is_mixed(const struct ledger *last, const char *domain)
{
	const struct ledger_domain *d = ledger_domain_named(last, domain);

	return d != NULL && d->state != LEDGER_LEFT;
}

/* A weight of a domain that the configuration has and the mix has not means that it joins. */
static enum fail_code
find_joining(
    struct control *r, const struct ledger *last, const struct config *c, struct failure *f)
{
	for (size_t i = 0; last != NULL && i < r->weights_n; i++) {
		const char *name = r->weight[i].domain;

		if (config_domain_index(c, name) < 0 || is_mixed(last, name) ||
		    (r->kind == LEDGER_JOIN && strcmp(r->domain, name) == 0))
			continue;
		if (r->kind != LEDGER_WEIGHTS)
			return fail(f, FAIL_USAGE,
			    "domain %s would join by the same request as %s does something: one "
			    "domain joins or leaves at a time",
			    name, r->domain);
		r->kind = LEDGER_JOIN;
		r->domain = strdup(name);
		if (r->domain == NULL)
			return fail_memory(f);
	}
	return FAIL_NONE;
}

/* What joins by --join may be new to both: the mix looks for its topic. */
static enum fail_code
check_names(
    const struct control *r, const struct ledger *last, const struct config *c, struct failure *f)
{
	for (size_t i = 0; i < r->weights_n; i++)
		if ((r->kind != LEDGER_JOIN || strcmp(r->weight[i].domain, r->domain) != 0) &&
		    request_words_known(r->weight[i].domain, last, c, f) != FAIL_NONE)
			return f->code;
	return r->kind == LEDGER_LEAVE ? request_words_known(r->domain, last, c, f) : FAIL_NONE;
}

/* Whether the request gives the domain no weight: it takes it out, or names it with 0. */
static bool
takes_out(const struct control *r, const char *domain)
{
	if (r->kind == LEDGER_LEAVE && strcmp(r->domain, domain) == 0)
		return true;
	for (size_t i = 0; i < r->weights_n; i++)
		if (strcmp(r->weight[i].domain, domain) == 0)
			return r->weight[i].weight == 0;
	return false;
}

/*
 * A request that gives every domain the weight 0 is refused whatever its step: phases before that
 * step do not matter. Only a domain that is about to join could keep a weight, so accepted requests
 * that still wait are left to the mixer.
 */
static enum fail_code
check_some_weight(
    const struct control *r, const struct ledger *last, const struct config *c, struct failure *f)
{
	size_t n = last == NULL ? c->domains_n : last->domains_n;

	if (r->weights_n == 0 && r->kind == LEDGER_WEIGHTS)
		return FAIL_NONE;
	if (n == 0 || (last != NULL && last->pending_n > 0))
		return FAIL_NONE;
	for (size_t i = 0; i < r->weights_n; i++)
		if (r->weight[i].weight > 0)
			return FAIL_NONE;
	for (size_t i = 0; i < n; i++)
		if (last == NULL ? !takes_out(r, c->domains[i].name)
				 : last->domain[i].state == LEDGER_ACTIVE &&
				       !takes_out(r, last->domain[i].name))
			return FAIL_NONE;
	return fail(f, FAIL_DATA, "no domain would have a weight: at least one must be positive");
}

enum fail_code
weights_request(struct control *out, const struct weights_request_change *change,
    const struct ledger *last, const struct config *c, struct failure *f)
{
	char *join = (char *)(uintptr_t)change->join; /* only read */

	assert(change->join == NULL || change->leave == NULL);
	assert(out->weight == NULL); /* zeroed */
	assert(out->domain == NULL);
	out->kind = LEDGER_WEIGHTS;
	out->at_step = change->at_step;
	out->partition = -1;
	out->temperature = change->temperature;
	out->lr_scale = change->lr_scale;
	out->global_batch = change->global_batch;
	if (request_words_name(out, change->id, "weights", f) != FAIL_NONE ||
	    request_words_weights(out, change->word, change->words_n, f) != FAIL_NONE)
		return f->code;
	if (change->leave != NULL) {
		out->kind = LEDGER_LEAVE;
		out->domain = strdup(change->leave);
	}
	if (change->join != NULL) {
		out->kind = LEDGER_JOIN;
		if (request_words_weights(out, &join, 1, f) != FAIL_NONE)
			return f->code;
		out->domain = strdup(out->weight[out->weights_n - 1].domain);
	}
	if ((change->leave != NULL || change->join != NULL) && out->domain == NULL)
		return fail_memory(f);
	if (check_names(out, last, c, f) != FAIL_NONE || find_joining(out, last, c, f) != FAIL_NONE)
		return f->code;
	return check_some_weight(out, last, c, f);
}
