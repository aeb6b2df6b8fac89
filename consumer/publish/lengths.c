#include "consumer/publish/lengths.h"

#include "common/base/clock.h"

enum {
	ALL_ASK_MS = 5000, /* between two questions how long all domains are */
	LIVE_ASK_MS = 20,  /* the same of live ones */
};

/* One domain of the mixer's; one that has left the mix has no facts, and is not drawn from. */
static enum fail_code
set_domain(struct domains_facts *d, struct mixer *m, uint32_t domain, struct failure *f)
{
	if (mixer_partitions(m, domain) != d->partitions_n)
		return fail(f, FAIL_CONFIG,
		    "domain %s: the mix counts with %zu partitions, topic %s has %zu",
		    mixer_domain_name(m, domain), mixer_partitions(m, domain), d->topic,
		    d->partitions_n);
	if (mixer_set_lengths(m, domain, d->sequences, d->sealed, f) != FAIL_NONE) {
		if (d->unheard) /* what is known of it is old */
			return fail(f, FAIL_TIMEOUT,
			    "topic %s: its last record did not come in time", d->topic);
		if (f->code == FAIL_DATA)
			fail_more(f, ": it was recreated or cut. " DOMAINS_WAY_BACK);
		return fail_within(f, "topic %s", d->topic);
	}
	d->changed = false;
	return FAIL_NONE;
}

enum fail_code
lengths_set(struct domains *d, struct mixer *m, struct failure *f)
{
	for (uint32_t k = 0; k < mixer_domains(m); k++) {
		int i = domains_named(d, mixer_domain_name(m, k));

		if (i >= 0 && set_domain(&d->facts[i], m, k, f) != FAIL_NONE)
			return f->code;
	}
	return FAIL_NONE;
}

static bool
any_live(const struct domains *d)
{
	for (size_t i = 0; i < d->n; i++)
		if (d->facts[i].live)
			return true;
	return false;
}

enum fail_code
lengths_ask(struct lengths *l, struct domains *d, rd_kafka_t *reader, struct assembler *a,
    struct failure *f)
{
	const struct mixer *m = assembler_mixer(a);
	int64_t now = clock_ms();
	bool all = now - l->all_ms >= ALL_ASK_MS;

	if (!all && (now - l->live_ms < LIVE_ASK_MS || !any_live(d)))
		return FAIL_NONE;
	if (domains_ask(d, reader, !all, f) != FAIL_NONE)
		return f->code;
	l->live_ms = now;
	if (all)
		l->all_ms = now;
	for (uint32_t k = 0; k < mixer_domains(m); k++) {
		int i = domains_named(d, mixer_domain_name(m, k));

		/* assembler_change() restarts reading ahead: not without a reason. */
		if (i >= 0 && d->facts[i].changed &&
		    set_domain(&d->facts[i], assembler_change(a), k, f) != FAIL_NONE)
			return f->code;
	}
	return FAIL_NONE;
}
