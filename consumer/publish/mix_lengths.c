/* Domains that grow: what the mixer may count with, from one transaction to the next. */
#include <stdlib.h>

#include "common/base/clock.h"
#include "consumer/publish/mix_state.h"

enum {
	ALL_ASK_MS = 5000, /* between two questions how long all domains are */
	LIVE_ASK_MS = 20,  /* the same of live ones */
};

static enum fail_code
set_length(struct mix *m, struct mixer *mixer, uint32_t domain, struct failure *f)
{
	const char *name = mixer_domain_name(mixer, domain);
	int i = domains_named(m->domains, name);
	struct domain_facts *d = i < 0 ? NULL : &m->domains->facts[i];

	if (d == NULL)
		return FAIL_NONE;
	if (mixer_partitions(mixer, domain) != d->partitions_n)
		return fail(f, FAIL_CONFIG,
		    "domain %s: the mix counts with %zu partitions, topic %s has %zu", name,
		    mixer_partitions(mixer, domain), d->topic, d->partitions_n);
	if (mixer_set_lengths(mixer, domain, d->sequences, d->sealed, f) != FAIL_NONE)
		return fail_within(f, "topic %s", d->topic);
	d->changed = false;
	return FAIL_NONE;
}

enum fail_code
mix_set_lengths(struct mix *m, struct mixer *mixer, struct failure *f)
{
	for (uint32_t d = 0; d < mixer_domains(mixer); d++)
		if (set_length(m, mixer, d, f) != FAIL_NONE)
			return f->code;
	return FAIL_NONE;
}

static bool
any_live(const struct mix *m)
{
	for (size_t i = 0; i < m->domains->n; i++)
		if (m->domains->facts[i].live)
			return true;
	return false;
}

enum fail_code
mix_ask_lengths(struct mix *m, struct failure *f)
{
	int64_t now = clock_ms();
	bool all = now - m->lengths_ms >= ALL_ASK_MS;

	if (!all && (now - m->live_ms < LIVE_ASK_MS || !any_live(m)))
		return FAIL_NONE;
	if (domains_ask(m->domains, m->reader, !all, f) != FAIL_NONE)
		return f->code;
	m->live_ms = now;
	if (all)
		m->lengths_ms = now;
	for (uint32_t d = 0; d < mixer_domains(assembler_mixer(m->assembler)); d++) {
		int i =
		    domains_named(m->domains, mixer_domain_name(assembler_mixer(m->assembler), d));

		if (i >= 0 && m->domains->facts[i].changed &&
		    set_length(m, assembler_change(m->assembler), d, f) != FAIL_NONE)
			return f->code;
	}
	return FAIL_NONE;
}
