/* Lengths that grow: of live domains at once, of sealed ones from their next epoch. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "consumer/mixer/mixer_state.h"

static enum fail_code
reopen(struct mixer *m, struct domain *d, struct order **order, const uint64_t *sequences,
    struct failure *f)
{
	struct order *fresh;

	if (order_open(&fresh, sequences, d->partitions_n, m->block, m->window_blocks, d->key, f) !=
	    FAIL_NONE)
		return f->code;
	order_close(*order);
	*order = fresh;
	return FAIL_NONE;
}

enum fail_code
mixer_reorder(struct mixer *m, struct domain *d, struct failure *f)
{
	d->all_sealed = true;
	d->grows = false;
	for (size_t p = 0; p < d->partitions_n; p++) {
		d->all_sealed = d->all_sealed && d->sealed[p];
		d->grows = d->grows || d->sequences_next[p] != d->sequences[p];
	}
	d->window_order = NULL;
	d->deal.known = false;
	if (!d->all_sealed)
		return FAIL_NONE;
	if (reopen(m, d, &d->order, d->sequences, f) != FAIL_NONE)
		return f->code;
	if (d->grows)
		return reopen(m, d, &d->order_next, d->sequences_next, f);
	order_close(d->order_next);
	d->order_next = NULL;
	return FAIL_NONE;
}

void
mixer_settle(struct mixer *m)
{
	for (size_t i = 0; i < m->domains_n; i++) {
		struct domain *d = &m->domain[i];

		if (!m->now.cursor[i].extended)
			continue;
		m->now.cursor[i].extended = false;
		memcpy(d->sequences, d->sequences_next, d->partitions_n * sizeof(*d->sequences));
		order_close(d->order);
		d->order = d->order_next;
		d->order_next = NULL;
		d->grows = false;
		/* The window stays: it is of the order that is now the first. */
	}
}

/* What partition p counts with from now on, and from the next epoch on. */
static enum fail_code
check_length(
    const struct mixer *m, size_t i, size_t p, uint64_t sequences, bool sealed, struct failure *f)
{
	const struct domain *d = &m->domain[i];
	uint64_t least = d->sealed[p] ? d->sequences_next[p] : d->sequences[p];

	if (sequences >= least || (d->sealed[p] && !sealed))
		return FAIL_NONE;
	return fail(f, FAIL_DATA,
	    "domain %s partition %zu: the mix counts with %llu sequences, the topic holds %llu",
	    d->name, p, (unsigned long long)least, (unsigned long long)sequences);
}

enum fail_code
mixer_set_lengths(struct mixer *m, uint32_t domain, const uint64_t *sequences, const bool *sealed,
    struct failure *f)
{
	struct domain *d = &m->domain[domain];
	bool changed = false;

	assert(domain < m->domains_n);
	for (size_t p = 0; p < d->partitions_n; p++)
		if (check_length(m, domain, p, sequences[p], sealed[p], f) != FAIL_NONE)
			return f->code;
	mixer_settle(m);
	m->undoable = false;
	for (size_t p = 0; p < d->partitions_n; p++) {
		bool was = d->sealed[p];

		if ((was && !sealed[p]) ||
		    (was == sealed[p] && sequences[p] == d->sequences_next[p]))
			continue;
		changed = true;
		d->sequences_next[p] = sequences[p];
		if (!was)
			d->sequences[p] = sequences[p];
		d->sealed[p] = sealed[p];
	}
	return changed ? mixer_reorder(m, d, f) : FAIL_NONE;
}
