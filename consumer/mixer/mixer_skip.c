/* Sequences that are kept out of all later draws: quarantined or skipped. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "consumer/mixer/mixer_state.h"

static enum fail_code
exclude(struct mixer *m, const struct excluded *e, struct failure *f)
{
	if (mixer_exclude(&m->excluded, e, f) != FAIL_NONE)
		return f->code;
	m->domain[e->domain].excludes = true;
	return FAIL_NONE;
}

enum fail_code
mixer_put_skip(struct mixer *m, const struct ledger_skip *s, struct failure *f)
{
	struct ledger_skip *grown;
	const struct excluded e = {s->domain, s->partition, (uint64_t)s->first, (uint64_t)s->end};

	assert(m->now.skips_n == m->skips_n && s->domain < m->domains_n);
	grown = realloc(m->skip, (m->skips_n + 1) * sizeof(*grown));
	if (grown == NULL)
		return fail_memory(f);
	m->skip = grown;
	if (exclude(m, &e, f) != FAIL_NONE)
		return f->code;
	m->skip[m->skips_n] = *s;
	m->now.skips_n = ++m->skips_n;
	return FAIL_NONE;
}

static bool
is_quarantined(const struct mixer *m, uint32_t domain, uint32_t partition, uint64_t ordinal)
{
	for (size_t i = 0; i < m->quarantined_n; i++) {
		const struct ledger_quarantined *q = &m->quarantined[i];

		if (q->domain == domain && q->partition == partition &&
		    (uint64_t)q->ordinal == ordinal)
			return true;
	}
	return false;
}

enum fail_code
mixer_quarantine(struct mixer *m, uint32_t domain, uint32_t partition, uint64_t ordinal,
    const char *reason, struct failure *f)
{
	struct ledger_quarantined *grown, *q;
	const struct excluded e = {domain, partition, ordinal, ordinal + 1};

	assert(domain < m->domains_n);
	if (is_quarantined(m, domain, partition, ordinal))
		return FAIL_NONE;
	if (m->quarantined_n == LEDGER_QUARANTINED_MAX)
		return fail(f, FAIL_DATA,
		    "more than %d sequences are quarantined: the domain topics are damaged",
		    LEDGER_QUARANTINED_MAX);
	grown = realloc(m->quarantined, (m->quarantined_n + 1) * sizeof(*grown));
	if (grown == NULL)
		return fail_memory(f);
	m->quarantined = grown;
	q = &grown[m->quarantined_n];
	*q = (struct ledger_quarantined){
	    .domain = domain, .partition = partition, .ordinal = (int64_t)ordinal};
	q->reason = strdup(reason);
	if (q->reason == NULL || exclude(m, &e, f) != FAIL_NONE) {
		free(q->reason);
		return fail_memory(f);
	}
	m->quarantined_n++;
	return FAIL_NONE;
}
