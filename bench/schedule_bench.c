/*
 * schedule_bench -- what the schedules cost and how true they are: the table of
 * docs/design/schedule.md.
 *
 * Three sets of weights (7 domains, 35 of Zipf's law, 200 log-normal with a smallest of 3e-7); for
 * each schedule: domains that were never drawn, the worst lead and lag in draws at the end of any
 * batch of 2,048, the worst relative error of a share that is owed at least 100 draws, and the time
 * of a draw. `blocks` is Levanter's rule with its default: each block of 2,048 draws has
 * floor(w * 2048) of every domain, and what is left goes to the largest.
 *
 *     usage: schedule_bench [DRAWS]
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/now.h"
#include "common/schedule/schedule.h"

enum { BLOCK = 2048, DOMAINS_MAX = 200, OWED_MIN = 100 };

struct mix {
	const char *name;
	size_t n;
	double raw[DOMAINS_MAX];
};

struct result {
	size_t never;
	double lead, lag, error, ns;
};

static const char *name_of[DOMAINS_MAX];

/* Log-normal by sums of twelve uniform numbers of a fixed generator (xorshift64). */
static void
make_lognormal(struct mix *m)
{
	uint64_t x = 88172645463325252U;
	double total = 0;

	for (size_t i = 0; i < m->n; i++) {
		double sum = 0;

		for (int k = 0; k < 12; k++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			sum += (double)(x >> 11) / 9007199254740992.0;
		}
		m->raw[i] = exp(2.5 * (sum - 6));
		total += m->raw[i];
	}
	m->raw[17] = 3e-7 * total;
}

static void
make_mixes(struct mix *m)
{
	static const double seven[] = {0.3, 0.25, 0.15, 0.1, 0.1, 0.07, 0.03};

	m[0] = (struct mix){.name = "7 domains", .n = 7};
	memcpy(m[0].raw, seven, sizeof(seven));
	m[1] = (struct mix){.name = "35, Zipf", .n = 35};
	for (size_t i = 0; i < 35; i++)
		m[1].raw[i] = 1 / (double)(i + 1);
	m[2] = (struct mix){.name = "200, log-normal", .n = 200};
	make_lognormal(&m[2]);
	for (size_t i = 0; i < DOMAINS_MAX; i++)
		name_of[i] = "x";
}

/* ---- counting ---- */

struct tally {
	size_t n;
	double share[DOMAINS_MAX];
	uint64_t count[DOMAINS_MAX];
	uint64_t draws;
	struct result r;
};

static void
open_tally(struct tally *t, const struct mix *m)
{
	double sum = 0;

	memset(t, 0, sizeof(*t));
	t->n = m->n;
	for (size_t i = 0; i < m->n; i++)
		sum += m->raw[i];
	for (size_t i = 0; i < m->n; i++)
		t->share[i] = m->raw[i] / sum;
}

static void
end_block(struct tally *t)
{
	for (size_t i = 0; i < t->n; i++) {
		double lag = t->share[i] * (double)t->draws - (double)t->count[i];

		t->r.lag = lag > t->r.lag ? lag : t->r.lag;
		t->r.lead = -lag > t->r.lead ? -lag : t->r.lead;
	}
}

static void
close_tally(struct tally *t)
{
	for (size_t i = 0; i < t->n; i++) {
		double owed = t->share[i] * (double)t->draws;
		double error = fabs((double)t->count[i] / owed - 1);

		t->r.never += t->count[i] == 0;
		if (owed >= OWED_MIN && error > t->r.error)
			t->r.error = error;
	}
}

/* ---- the rules ---- */

static struct result
run_schedule(const struct mix *m, enum schedule_kind kind, uint64_t draws)
{
	static struct schedule s;
	static struct tally t;
	uint64_t weight[DOMAINS_MAX];
	struct failure f = {0};
	double begun, spent = 0;

	if ((kind == SCHEDULE_GREEDY ? weights_share : weights_quantise)(
		weight, m->raw, name_of, m->n, 1, &f) != FAIL_NONE) {
		fprintf(stderr, "schedule_bench: %s\n", f.text);
		exit(1);
	}
	open_tally(&t, m);
	schedule_init(&s, kind, 1, 1234);
	schedule_set_weights(&s, weight, m->n);
	while (t.draws < draws) {
		begun = now();
		for (int k = 0; k < BLOCK; k++)
			t.count[schedule_draw(&s)]++;
		spent += (now() - begun) * 1e9;
		t.draws += BLOCK;
		end_block(&t);
	}
	close_tally(&t);
	t.r.ns = spent / (double)t.draws;
	return t.r;
}

static struct result
run_blocks(const struct mix *m, uint64_t draws)
{
	static struct tally t;
	uint64_t count[DOMAINS_MAX] = {0}, left = BLOCK;
	size_t largest = 0;

	open_tally(&t, m);
	for (size_t i = 0; i < m->n; i++) {
		count[i] = (uint64_t)(t.share[i] * BLOCK);
		left -= count[i];
		largest = t.share[i] > t.share[largest] ? i : largest;
	}
	count[largest] += left;
	while (t.draws < draws) {
		for (size_t i = 0; i < m->n; i++)
			t.count[i] += count[i];
		t.draws += BLOCK;
		end_block(&t);
	}
	close_tally(&t);
	t.r.ns = NAN;
	return t.r;
}

static void
print_row(const struct mix *m, const char *schedule, const struct result *r)
{
	char ns[32] = "";

	if (!isnan(r->ns))
		snprintf(ns, sizeof(ns), "%.0f", r->ns);
	printf("| %s | %s | %zu | %.2f | %.2f | %.2g %% | %s |\n", m->name, schedule, r->never,
	    r->lead, r->lag, r->error * 100, ns);
	fflush(stdout);
}

int
main(int argc, char **argv)
{
	static struct mix mix[3];
	uint64_t draws = argc > 1 ? strtoull(argv[1], NULL, 10) : 8000000;

	if (draws == 0) {
		fprintf(stderr, "usage: schedule_bench [DRAWS]\n");
		return 2;
	}
	make_mixes(mix);
	printf("| weights | schedule | never drawn | worst lead | worst lag | worst share error | "
	       "ns a draw |\n|---|---|---|---|---|---|---|\n");
	for (size_t i = 0; i < 3; i++) {
		struct result r = run_schedule(&mix[i], SCHEDULE_DEFICIT, draws);

		print_row(&mix[i], "deficit", &r);
		r = run_schedule(&mix[i], SCHEDULE_GREEDY, draws);
		print_row(&mix[i], "greedy", &r);
		r = run_blocks(&mix[i], draws);
		print_row(&mix[i], "blocks of 2048", &r);
		r = run_schedule(&mix[i], SCHEDULE_RANDOM, draws);
		print_row(&mix[i], "random", &r);
	}
	return 0;
}
