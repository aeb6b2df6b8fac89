#include "consumer/status/status_config.h"

#include <stdlib.h>

#include "consumer/plan/bound_config.h"

/* The lengths of the configuration's domains, as their topics have them. */
struct lengths {
	struct config_plan_length *domain; /* [domains_n] */
	uint64_t *sequences;               /* of all partitions, one domain after the other */
	bool *sealed;                      /* the same */
	bool whole;                        /* each domain has a topic */
};

static size_t
count_partitions(const struct status *st)
{
	size_t n = 0;

	for (size_t i = 0; i < st->domains_n; i++)
		n += st->domain[i].partitions_n;
	return n;
}

static enum fail_code
lengths_open(struct lengths *l, const struct status *st, struct failure *f)
{
	size_t n = count_partitions(st), at = 0, found = 0;

	l->domain = calloc(st->config->domains_n, sizeof(*l->domain));
	l->sequences = calloc(n + 1, sizeof(*l->sequences));
	l->sealed = calloc(n + 1, sizeof(*l->sealed));
	if (l->domain == NULL || l->sequences == NULL || l->sealed == NULL)
		return fail_memory(f);
	for (size_t i = 0; i < st->domains_n; i++) {
		const struct status_domain *d = &st->domain[i];

		if (d->configured < 0 || d->partitions_n == 0)
			continue;
		for (size_t p = 0; p < d->partitions_n; p++) {
			l->sequences[at + p] = d->partition[p].sequences;
			l->sealed[at + p] = d->partition[p].sealed;
		}
		l->domain[d->configured] = (struct config_plan_length){
		    .partitions_n = d->partitions_n,
		    .sequences = l->sequences + at,
		    .sealed = d->live ? l->sealed + at : NULL,
		};
		at += d->partitions_n;
		found++;
	}
	l->whole = found == st->config->domains_n;
	return FAIL_NONE;
}

static void
lengths_close(struct lengths *l)
{
	free(l->domain);
	free(l->sequences);
	free(l->sealed);
}

/* As a mixer that starts now. FAIL_CONFIG: why it would not. */
static enum fail_code
compare(const struct status *st, const struct lengths *l, struct failure *f)
{
	const struct ledger *last = &st->ledger;
	const struct config *c = st->config;
	struct config_plan p = {0};
	char *text = NULL;
	bool changed;
	enum fail_code code = config_plan_open(&p, c, l->domain, f);

	if (code == FAIL_NONE && c->mix.weights_kind == CONFIG_WEIGHTS_SIZE)
		code = bound_config_keep_sizes(&p, c, last->config, f);
	if (code == FAIL_NONE)
		code = bound_config_text(&text, c, &p, last->tokenizer, f);
	if (code == FAIL_NONE)
		code = bound_config_compare(last->config, text, false, &changed, f);
	free(text);
	config_plan_close(&p);
	return code;
}

enum fail_code
status_compare_config(const struct status *st, struct failure *f)
{
	struct lengths l = {0};
	enum fail_code code = lengths_open(&l, st, f);

	if (code == FAIL_NONE && l.whole)
		code = compare(st, &l, f);
	lengths_close(&l);
	return code;
}
