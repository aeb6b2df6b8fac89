/*
 * The orders `none` and `full`, by their definitions and not by the code that is tested: which
 * sequence is the k-th that a domain gives, where none of them is left out.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/schedule/permutation.h"
#include "tests/sim/world.h"

static char found[512];

/* Lengths of the partitions; returns how many there are. */
static size_t
lengths_of(const struct world *w, const char *domain, uint64_t *length)
{
	size_t n = 0;

	for (size_t i = 0; i < w->logs_n; i++)
		if (strcmp(w->log[i].domain, domain) == 0) {
			length[w->log[i].partition] = w->log[i].records_n - 1; /* its End */
			n++;
		}
	return n;
}

/* Partitions give one each in turn, as long as they have some. */
static void
turn(const uint64_t *length, size_t n, uint64_t t, struct batch_drawn *out)
{
	for (uint64_t round = 0;; round++)
		for (size_t p = 0; p < n; p++)
			if (round < length[p] && t-- == 0) {
				out->partition = (uint32_t)p;
				out->ordinal = round;
				return;
			}
}

bool
world_ordered(const struct world *w, const char *domain, size_t k, struct batch_drawn *out)
{
	int known = config_domain_index(w->config, domain);
	enum mix_shuffle shuffle =
	    known < 0 ? w->config->mix.shuffle : w->config->domains[known].shuffle;
	uint64_t length[WORLD_LOGS_MAX], all = 0;
	size_t n = lengths_of(w, domain, length);
	struct permutation p;

	for (size_t i = 0; i < n; i++)
		all += length[i];
	if (shuffle == MIX_SHUFFLE_BLOCK || all == 0)
		return false;
	*out = (struct batch_drawn){.epoch = k / all};
	if (shuffle == MIX_SHUFFLE_NONE) {
		turn(length, n, k % all, out);
		return true;
	}
	permutation_init(&p, all, permutation_key(domain, w->config->mix.seed), out->epoch);
	out->ordinal = permutation_at(&p, k % all);
	for (; out->ordinal >= length[out->partition]; out->partition++)
		out->ordinal -= length[out->partition];
	return true;
}

/* What a run has drawn so far of each domain, and in the step at hand. */
struct tally {
	char name[WORLD_DOMAINS_MAX][64];
	size_t before[WORLD_DOMAINS_MAX];
	struct batch_drawn draw[64];
	size_t n;
};

static bool
add_lane(struct tally *t, const struct world_bytes *b)
{
	struct batch_domain domain[WORLD_DOMAINS_MAX];
	struct sequence_payload_view payload;
	struct batch_view v;
	struct failure f;

	if (batch_decode(&v, b->bytes, b->n, &f) != FAIL_NONE || v.domains_n > WORLD_DOMAINS_MAX)
		return false;
	batch_domains(&v, domain);
	for (size_t i = 0; i < v.domains_n; i++)
		snprintf(t->name[domain[i].index], sizeof(t->name[0]), "%.*s",
		    (int)domain[i].name.n, domain[i].name.bytes);
	for (size_t i = 0; i < v.sequences_n; i++)
		if (batch_next(&v, &t->draw[t->n++], &payload, &f) != FAIL_NONE)
			return false;
	return true;
}

/* The draws of a step come in any order: together they are the next ones of their domain. */
static const char *
check_draw(const struct world *w, const struct tally *t, const struct batch_drawn *d)
{
	struct batch_drawn want;
	size_t count = 0;

	for (size_t i = 0; i < t->n; i++)
		count += t->draw[i].domain == d->domain;
	for (size_t k = t->before[d->domain]; k < t->before[d->domain] + count; k++)
		if (!world_ordered(w, t->name[d->domain], k, &want) ||
		    (want.partition == d->partition && want.ordinal == d->ordinal &&
			want.epoch == d->epoch))
			return NULL;
	snprintf(found, sizeof(found),
	    "order: sequence %" PRIu32 "/%" PRIu64 " (epoch %" PRIu64
	    ") of domain %s is none of its draws from %zu on",
	    d->partition, d->ordinal, d->epoch, t->name[d->domain], t->before[d->domain]);
	return found;
}

const char *
world_check_orders(const struct world *w)
{
	struct tally t = {.n = 0};

	for (size_t s = 0; s < w->steps_n; s++) {
		t.n = 0;
		for (uint32_t lane = 0; lane < w->lanes; lane++)
			if (!add_lane(&t, &w->batch[lane][s]))
				return "a batch of the run without faults cannot be read";
		for (size_t i = 0; i < t.n; i++) {
			const char *bad = check_draw(w, &t, &t.draw[i]);

			if (bad != NULL)
				return bad;
		}
		for (size_t i = 0; i < t.n; i++)
			t.before[t.draw[i].domain]++;
	}
	return NULL;
}
