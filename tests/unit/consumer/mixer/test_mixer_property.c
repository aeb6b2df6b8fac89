/*
 * Random mixes: configurations, phases, requests, skips, quarantines, joins, leaves, extensions and
 * live snapshots. A run that is cut, resumed, copied, undone and replayed anywhere must equal the
 * straight run: every draw, every answer, every byte of its ledger.
 *
 * A case is a function of its number and the seed, which a failure prints; RIFFLE_TEST_SEED=n runs
 * one seed again, RIFFLE_TEST_CASES=n more or fewer cases.
 */
#include <time.h>

#include "tests/unit/test.h"

#include "common/schedule/order.h"
#include "consumer/mixer/mixer.h"

enum {
	CASES = 1500,
	NAMES = 9, /* the first ones are in the plan, the others may join */
	PARTITIONS = 3,
	BATCH_MAX = 32,
	PHASES = 4,
	TRANSACTIONS = 12,
	TOPIC_MAX = 400,
};

static const char *const names[NAMES] = {
    "alpha", "beta", "code", "delta", "eps", "web", "x1", "x2", "x3"};

/* ---- chance ---- */

struct chance {
	uint64_t x;
};

static uint64_t
roll(struct chance *c)
{
	uint64_t z = c->x += 0x9e3779b97f4a7c15U; /* SplitMix64 */

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
	z = (z ^ z >> 27) * 0x94d049bb133111ebU;
	return z ^ z >> 31;
}

static uint64_t
below(struct chance *c, uint64_t n)
{
	return roll(c) % n;
}

static bool
one_in(struct chance *c, uint64_t n)
{
	return below(c, n) == 0;
}

/* Weights over many orders of magnitude; some are 0. */
static double
some_weight(struct chance *c)
{
	static const double weight[] = {0, 1, 0.5, 0.25, 3, 1e-6, 0.1, 7, 0.01, 100};

	return weight[below(c, 10)] * (1 + (double)below(c, 8) / 8);
}

/* A multiple of the lanes; at times 0: no change. */
static uint32_t
some_batch(uint32_t lanes, struct chance *c)
{
	return one_in(c, 2) ? 0 : lanes * (1 + (uint32_t)below(c, BATCH_MAX / lanes));
}

/* ---- a world: a plan and what is in its topics ---- */

struct world {
	struct mixer_plan plan;
	struct mixer_source source[NAMES]; /* of all names: plan.sources_n are in the plan */
	struct mixer_phase phase[PHASES];
	struct ledger_raw_weight phase_weight[PHASES][NAMES];
	uint64_t length[NAMES][PARTITIONS]; /* now, in the topics */
	bool sealed[NAMES][PARTITIONS];
	uint64_t first_length[NAMES][PARTITIONS]; /* when the mix was begun */
	bool first_sealed[NAMES][PARTITIONS];
	uint64_t salt; /* of token counts and bad sequences */
	bool lending;  /* most domains are live, lend, and run dry again and again */
};

static void
make_domain(struct world *w, size_t i, struct chance *c)
{
	struct mixer_source *s = &w->source[i];
	bool lend = w->plan.schedule == SCHEDULE_DEFICIT && w->plan.epoch_size == 0 &&
		    w->plan.weights_unit == MIX_BY_SEQUENCES;

	*s = (struct mixer_source){
	    .name = names[i],
	    .weight = some_weight(c),
	    .on_end = one_in(c, 12)  ? MIX_END_STOP
		      : one_in(c, 4) ? MIX_END_DROP
				     : MIX_END_REPEAT,
	    .partitions_n = 1 + below(c, PARTITIONS),
	    .sequences = w->first_length[i],
	    .max_epochs = one_in(c, 6) ? 1 + below(c, 3) : 0,
	    .live =
		w->plan.epoch_size != MIXER_EPOCH_LARGEST && (w->lending ? i > 0 : one_in(c, 4)),
	    .sealed = w->first_sealed[i],
	    .on_dry = lend && (w->lending || one_in(c, 2)) ? MIX_DRY_LEND : MIX_DRY_WAIT,
	    .catch_up = one_in(c, 3) ? 0 : 1 + (double)below(c, 30) / 10,
	    .short_ones = one_in(c, 2),
	};
	for (size_t p = 0; p < s->partitions_n; p++) {
		w->length[i][p] = one_in(c, 8) ? 0 : below(c, one_in(c, 2) ? 30 : TOPIC_MAX);
		w->sealed[i][p] = !s->live || one_in(c, w->lending ? 50 : 5);
		if (w->lending && i > 0)
			w->length[i][p] = below(c, 6);
	}
	if (w->lending)
		w->length[0][0] += 1000;
	if (!s->live)
		w->length[i][0] += 3;
	memcpy(w->first_length[i], w->length[i], sizeof(w->length[i]));
	memcpy(w->first_sealed[i], w->sealed[i], sizeof(w->sealed[i]));
}

static void
make_phases(struct world *w, struct chance *c)
{
	uint64_t step = below(c, 3);

	w->plan.phase = w->phase;
	w->plan.phases_n = one_in(c, 2) ? 0 : 1 + below(c, PHASES);
	for (size_t i = 0; i < w->plan.phases_n; i++) {
		struct mixer_phase *h = &w->phase[i];

		*h = (struct mixer_phase){.name = i == 0 ? "warm" : "cool",
		    .start_step = step,
		    .weight = w->phase_weight[i],
		    .temperature = one_in(c, 2) ? 0 : 0.5 + (double)below(c, 4),
		    .lr_scale = one_in(c, 2) ? 0 : 0.25 * (double)(1 + below(c, 4)),
		    .global_batch = some_batch(w->plan.lanes, c)};
		for (size_t k = 0; k < w->plan.sources_n; k++)
			if (one_in(c, 2))
				w->phase_weight[i][h->weights_n++] = (struct ledger_raw_weight){
				    (char *)(uintptr_t)names[k], some_weight(c)};
		step += 1 + below(c, 8);
	}
}

static void
make_world(struct world *w, struct chance *c)
{
	static const uint32_t batch[] = {1, 4, 8, 16}, lanes[] = {1, 2, 4, 4};
	size_t size = below(c, 4);

	memset(w, 0, sizeof(*w));
	w->salt = roll(c);
	w->plan = (struct mixer_plan){
	    .seed = roll(c),
	    .sequence_length = 1 + (uint32_t)below(c, 64),
	    .global_batch = batch[size],
	    .lanes = size == 0 ? 1 : lanes[below(c, size + 1)],
	    .block = 1U << below(c, 6),
	    .window = 1 + (uint32_t)below(c, 3),
	    .permute = !one_in(c, 4),
	    .lane_order = one_in(c, 2) ? MIX_LANES_STRIDED : MIX_LANES_CONTIGUOUS,
	    .temperature = one_in(c, 2) ? 1 : 0.5 + (double)below(c, 5) / 2,
	    .source = w->source,
	    .sources_n = 1 + below(c, 6),
	    .schedule = one_in(c, 5)   ? SCHEDULE_GREEDY
			: one_in(c, 5) ? SCHEDULE_RANDOM
				       : SCHEDULE_DEFICIT,
	};
	w->lending = w->plan.schedule == SCHEDULE_DEFICIT && one_in(c, 3);
	if (w->lending)
		w->plan.sources_n += w->plan.sources_n == 1;
	else if (w->plan.schedule == SCHEDULE_DEFICIT && one_in(c, 3))
		w->plan.weights_unit = MIX_BY_TOKENS;
	else if (w->plan.schedule == SCHEDULE_DEFICIT && one_in(c, 3))
		w->plan.epoch_size = one_in(c, 3) ? MIXER_EPOCH_LARGEST : NAMES + below(c, 90);
	for (size_t i = 0; i < NAMES; i++)
		make_domain(w, i, c);
	w->source[0].weight += 0.125;
	make_phases(w, c);
}

/* Topics grow: live partitions at their end, sealed ones by an extension. */
static void
grow_topics(struct world *w, struct chance *c)
{
	for (size_t i = 0; i < NAMES; i++)
		for (size_t p = 0; p < w->source[i].partitions_n; p++) {
			if (w->sealed[i][p] && !one_in(c, 12))
				continue;
			w->length[i][p] += below(c, w->lending && one_in(c, 2) ? 3 : 40);
			w->sealed[i][p] = w->sealed[i][p] || one_in(c, w->lending ? 50 : 6);
		}
}

/* ---- what is in a sequence ---- */

static uint64_t
mark_of(const struct world *w, const struct mixer_draw *d)
{
	struct chance c = {
	    w->salt ^ (uint64_t)d->domain << 50 ^ (uint64_t)d->partition << 40 ^ d->ordinal};

	return roll(&c);
}

static bool
is_bad(const struct world *w, const struct mixer_draw *d)
{
	return mark_of(w, d) % 61 == 0;
}

static bool
same_draw(const struct mixer_draw *a, const struct mixer_draw *b)
{
	return a->domain == b->domain && a->partition == b->partition && a->ordinal == b->ordinal &&
	       a->epoch == b->epoch && a->block_first == b->block_first &&
	       a->block_count == b->block_count;
}

/* A run: the mixer, and how it is treated. */
struct run {
	struct world *w;
	struct mixer *m;
	struct chance *rough; /* NULL: the straight run */
	uint8_t *bytes;       /* the last ledger record */
	size_t n;
	uint64_t steps_from; /* step_next of the record */
	bool over;
	struct mixer_draw unknown; /* that was not known a moment ago */
};

static uint32_t
tokens_of(void *opaque, const struct mixer_draw *d)
{
	struct run *r = opaque;
	uint32_t full = r->w->plan.sequence_length + 1;

	if (r->rough != NULL && one_in(r->rough, 20) && !same_draw(&r->unknown, d)) {
		r->unknown = *d;
		return 0;
	}
	return 1 + (uint32_t)(mark_of(r->w, d) >> 20) % full;
}

/* ---- ledgers ---- */

static void
save(struct run *r, const struct ledger_answer *answer)
{
	struct ledger l = {.kind = LEDGER_STEPS};
	struct failure f;

	assert_int_equal(mixer_save(r->m, &l, &f), FAIL_NONE);
	if (answer != NULL) {
		l.answer = calloc(1, sizeof(*l.answer));
		assert_non_null(l.answer);
		*l.answer = *answer;
		l.answers_n = 1;
	}
	free(r->bytes);
	assert_int_equal(ledger_encode(&l, &r->bytes, &r->n, &f), FAIL_NONE);
	r->steps_from = mixer_step_next(r->m);
	ledger_clear(&l);
}

static struct mixer *
resume(const struct run *r, const uint8_t *bytes, size_t n)
{
	struct mixer *m = NULL;
	struct ledger l;
	struct failure f;

	assert_int_equal(ledger_decode(&l, bytes, n, &f), FAIL_NONE);
	if (mixer_resume(&m, &r->w->plan, &l, &f) != FAIL_NONE)
		print_error("resume: %s\n", f.text);
	assert_non_null(m);
	ledger_clear(&l);
	mixer_set_tokens(m, tokens_of, (void *)(uintptr_t)r);
	return m;
}

/* Between transactions: cut off and resumed, or replaced by a copy. */
static void
disturb(struct run *r)
{
	struct mixer *other = NULL;
	struct failure f;

	if (r->rough == NULL || one_in(r->rough, 3))
		return;
	if (one_in(r->rough, 3))
		assert_int_equal(mixer_copy(&other, r->m, &f), FAIL_NONE);
	else
		other = resume(r, r->bytes, r->n);
	mixer_set_tokens(other, tokens_of, r);
	mixer_close(r->m);
	r->m = other;
}

/* ---- steps ---- */

/* Takes bad sequences back; true: there were some, and the step is undone. */
static bool
quarantine(struct run *r, const struct mixer_draw *draws)
{
	uint32_t batch = mixer_global_batch(r->m);
	bool undone = false;
	struct failure f;

	for (uint32_t i = 0; i < batch; i++) {
		if (!is_bad(r->w, &draws[i]))
			continue;
		if (!undone)
			mixer_undo(r->m);
		undone = true;
		assert_int_equal(mixer_quarantine(r->m, draws[i].domain, draws[i].partition,
				     draws[i].ordinal, "bad", &f),
		    FAIL_NONE);
	}
	return undone;
}

static void
check_step(const struct run *r, const struct mixer_draw *draws)
{
	size_t n = mixer_domains(r->m);
	double credits = 0;

	assert_true(mixer_global_batch(r->m) <= mixer_global_batch_most(r->m));
	assert_int_equal(mixer_global_batch(r->m) % r->w->plan.lanes, 0);
	for (uint32_t i = 0; i < mixer_global_batch(r->m); i++) {
		assert_true(draws[i].domain < n);
		assert_true(draws[i].ordinal - draws[i].block_first < draws[i].block_count);
	}
	for (uint32_t d = 0; d < n; d++) {
		struct mixer_standing s;

		mixer_stand(r->m, d, &s);
		credits += s.credit;
		if (r->w->plan.schedule == SCHEDULE_DEFICIT)
			assert_true(s.credit > -1.0 || s.owed > 0 || r->w->source[d].on_dry != 0);
	}
	if (r->w->plan.schedule == SCHEDULE_DEFICIT)
		assert_true(credits < 1e-6 && credits > -1e-6);
}

/* Draws a step, whatever is in its way; false: the transaction ends here. */
static bool
take_step(struct run *r, struct mixer_draw *draws)
{
	enum mixer_result result = MIXER_UNKNOWN;
	struct failure f;

	for (;;) {
		enum fail_code code = mixer_step(r->m, draws, &result, &f);

		if (code == FAIL_DATA) { /* a small domain that is bad as a whole */
			r->over = true;
			return false;
		}
		assert_int_equal(code, FAIL_NONE);
		if (result == MIXER_UNKNOWN)
			continue;
		if (result != MIXER_DRAWN)
			break;
		if (quarantine(r, draws))
			continue;
		check_step(r, draws);
		if (r->rough == NULL || !one_in(r->rough, 4))
			return true;
		mixer_undo(r->m); /* and drawn again */
	}
	r->over = result == MIXER_ENDED;
	return false;
}

/* ---- requests ---- */

static struct control
make_request(struct world *w, struct chance *c, char *id, struct ledger_raw_weight *weight)
{
	struct control r = {.id = id, .weight = weight, .at_step = (int64_t)below(c, 40) - 1};
	size_t domain = below(c, NAMES);

	id[0] = (char)('a' + below(c, 26)); /* at times one that was there */
	id[1] = one_in(c, 40) ? '\0' : (char)('a' + below(c, 26));
	id[2] = '\0';
	if (one_in(c, 2))
		r.at_step = -1;
	r.kind = one_in(c, 2) ? LEDGER_WEIGHTS : (enum ledger_change_kind)below(c, 4);
	r.domain = (char *)(uintptr_t)names[domain];
	if (r.kind == LEDGER_JOIN)
		r.domain = (char *)(uintptr_t)
		    names[domain = w->plan.sources_n + below(c, NAMES - w->plan.sources_n)];
	for (size_t k = 0; k < NAMES; k++)
		if (one_in(c, k < w->plan.sources_n ? 2 : 12) ||
		    (r.kind == LEDGER_JOIN && k == domain))
			weight[r.weights_n++] =
			    (struct ledger_raw_weight){(char *)(uintptr_t)names[k], some_weight(c)};
	r.temperature = one_in(c, 3) ? 0.5 + (double)below(c, 3) : 0;
	r.lr_scale = one_in(c, 3) ? 0.5 : 0;
	r.global_batch =
	    one_in(c, 8) ? (uint32_t)below(c, BATCH_MAX) : some_batch(w->plan.lanes, c);
	r.partition = (int32_t)below(c, PARTITIONS);
	r.first = (int64_t)below(c, 40);
	r.end = r.first + (int64_t)below(c, 60);
	r.who = (char *)(uintptr_t) "test";
	return r;
}

static void
ask(struct run *r, struct chance c)
{
	struct ledger_raw_weight weight[NAMES];
	char id[4];
	struct control request = make_request(r->w, &c, id, weight);
	struct mixer_source joining = {0};
	struct ledger_answer answer;
	bool duplicate;
	struct failure f;

	for (size_t i = 0; i < NAMES; i++)
		if (strcmp(names[i], request.domain) == 0) {
			joining = r->w->source[i];
			joining.sequences = r->w->length[i];
			joining.sealed = r->w->sealed[i];
		}
	assert_int_equal(
	    mixer_request(r->m, &request, &joining, &answer, &duplicate, &f), FAIL_NONE);
	mixer_set_control_next(r->m, mixer_control_next(r->m) + 1);
	if (!duplicate) {
		assert_true(answer.accepted == (answer.step >= 0));
		assert_true(!answer.accepted || answer.step >= (int64_t)mixer_step_next(r->m));
	}
	save(r, &answer);
}

/* ---- transactions ---- */

static void
take_snapshot(struct run *r)
{
	struct failure f;

	for (uint32_t d = 0; d < mixer_domains(r->m); d++)
		for (size_t i = 0; i < NAMES; i++)
			if (strcmp(names[i], mixer_domain_name(r->m, d)) == 0)
				assert_int_equal(mixer_set_lengths(
						     r->m, d, r->w->length[i], r->w->sealed[i], &f),
				    FAIL_NONE);
}

/* Record k again, from record k - 1 and the snapshot of record k. */
static void
replay(struct run *r, const uint8_t *before, size_t before_n)
{
	struct run again = {.w = r->w, .rough = r->rough, .m = NULL};
	struct mixer_draw draws[BATCH_MAX];
	enum mixer_result result;
	struct ledger l;
	struct failure f;

	again.m = resume(&again, before, before_n);
	assert_int_equal(ledger_decode(&l, r->bytes, r->n, &f), FAIL_NONE);
	assert_int_equal(mixer_take_snapshot(again.m, &l, &f), FAIL_NONE);
	while (mixer_step_next(again.m) < (uint64_t)l.step_next) {
		assert_int_equal(mixer_step(again.m, draws, &result, &f), FAIL_NONE);
		assert_true(result == MIXER_DRAWN || result == MIXER_UNKNOWN);
	}
	ledger_clear(&l);
	save(&again, NULL);
	assert_int_equal(again.n, r->n);
	assert_memory_equal(again.bytes, r->bytes, r->n);
	free(again.bytes);
	mixer_close(again.m);
}

/* One transaction; draws[] gets its steps, lane after lane. */
static size_t
transact(struct run *r, size_t steps, struct mixer_draw *draws)
{
	size_t drawn = 0;
	uint8_t *before = malloc(r->n);
	size_t before_n = r->n;

	assert_non_null(before);
	memcpy(before, r->bytes, r->n);
	take_snapshot(r);
	for (size_t i = 0; i < steps && !r->over && take_step(r, draws + drawn); i++)
		drawn += mixer_global_batch(r->m);
	save(r, NULL);
	if (r->rough != NULL && one_in(r->rough, 2))
		replay(r, before, before_n);
	free(before);
	return drawn;
}

static void
open_run(struct run *r, struct world *w, struct chance *rough)
{
	struct failure f;

	*r = (struct run){.w = w, .rough = rough};
	r->m = NULL;
	if (mixer_open(&r->m, &w->plan, &f) != FAIL_NONE)
		return; /* weights that cannot be: the other run has none either */
	mixer_set_tokens(r->m, tokens_of, r);
	save(r, NULL);
}

static void
assert_same_record(const struct run *a, const struct run *b)
{
	assert_int_equal(a->n, b->n);
	assert_memory_equal(a->bytes, b->bytes, a->n);
	assert_int_equal(a->over, b->over);
}

/* Steps that both runs took. */
static uint64_t
run_case(uint64_t seed)
{
	enum { STEPS_MAX = 5 };
	static struct mixer_draw a_draws[STEPS_MAX * BATCH_MAX], b_draws[STEPS_MAX * BATCH_MAX];
	struct chance c = {seed}, rough = {seed ^ 0x5eed};
	static struct world w;
	struct run a, b;
	uint64_t steps = 0;

	make_world(&w, &c);
	open_run(&a, &w, NULL);
	open_run(&b, &w, &rough);
	assert_true((a.m == NULL) == (b.m == NULL));
	for (int t = 0; a.m != NULL && t < TRANSACTIONS && !a.over; t++) {
		size_t n = 1 + below(&c, STEPS_MAX), drawn;
		uint64_t from = mixer_step_next(a.m);

		if (one_in(&c, 3)) {
			struct chance request = {roll(&c)};

			disturb(&b);
			ask(&a, request);
			ask(&b, request);
			assert_same_record(&a, &b);
		}
		disturb(&b);
		drawn = transact(&a, n, a_draws);
		assert_int_equal(transact(&b, n, b_draws), drawn);
		for (size_t i = 0; i < drawn; i++)
			assert_true(same_draw(&a_draws[i], &b_draws[i]));
		assert_same_record(&a, &b);
		steps += mixer_step_next(a.m) - from;
		grow_topics(&w, &c);
	}
	mixer_close(a.m);
	mixer_close(b.m);
	free(a.bytes);
	free(b.bytes);
	return steps;
}

static uint64_t
number_of(const char *variable, uint64_t unset)
{
	const char *text = getenv(variable);

	return text == NULL ? unset : strtoull(text, NULL, 0);
}

static void
test_cut_undone_copied_and_replayed_runs_equal_the_straight_one(void **state)
{
	uint64_t base = number_of("RIFFLE_TEST_SEED", 0), steps = 0;
	uint64_t cases = number_of("RIFFLE_TEST_CASES", base == 0 ? CASES : 1);

	(void)state;
	if (base == 0) {
		struct timespec now;

		clock_gettime(CLOCK_REALTIME, &now);
		base = (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
	}
	for (uint64_t i = 0; i < cases; i++) {
		print_message("\rRIFFLE_TEST_SEED=%llu ", (unsigned long long)(base + i));
		steps += run_case(base + i);
	}
	print_message(
	    "%llu cases, %llu steps\n", (unsigned long long)cases, (unsigned long long)steps);
	assert_true(cases < 100 || steps > 5 * cases);
}

/* ---- ledgers from outside ---- */

/* Bytes of a record, some of them others: refused, or a mixer that can be asked, saved, stepped. */
static bool
try_damaged(struct run *r, struct chance *c)
{
	struct mixer_draw draws[BATCH_MAX];
	struct mixer *m = NULL;
	enum mixer_result result;
	struct ledger l, again = {0};
	struct failure f;
	bool taken = false;
	uint64_t at = 10 + below(c, r->n - 10);
	uint8_t was = r->bytes[at];

	r->bytes[at] = (uint8_t)roll(c);
	if (ledger_decode(&l, r->bytes, r->n, &f) == FAIL_NONE) {
		if (mixer_resume(&m, &r->w->plan, &l, &f) == FAIL_NONE) {
			taken = true;
			mixer_set_tokens(m, tokens_of, r);
			for (int i = 0; i < 3 && mixer_global_batch_most(m) <= BATCH_MAX; i++)
				(void)mixer_step(m, draws, &result, &f);
			assert_int_equal(mixer_save(m, &again, &f), FAIL_NONE);
			ledger_clear(&again);
			mixer_close(m);
		} else
			assert_true(f.text[0] != '\0');
		ledger_clear(&l);
	}
	r->bytes[at] = was;
	return taken;
}

static void
test_damaged_ledgers_are_refused_or_drawn_from(void **state)
{
	static struct world w;
	uint64_t base = number_of("RIFFLE_TEST_SEED", 7), taken = 0, refused = 0;

	(void)state;
	for (uint64_t i = 0; i < 150; i++) {
		static struct mixer_draw draws[5 * BATCH_MAX];
		struct chance c = {base + i};
		struct run r;

		make_world(&w, &c);
		open_run(&r, &w, NULL);
		if (r.m != NULL) {
			ask(&r, (struct chance){roll(&c)});
			transact(&r, 1 + below(&c, 5), draws);
			for (int k = 0; k < 40; k++)
				if (try_damaged(&r, &c))
					taken++;
				else
					refused++;
		}
		mixer_close(r.m);
		free(r.bytes);
	}
	assert_true(taken > 300 && refused > 300);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_cut_undone_copied_and_replayed_runs_equal_the_straight_one),
	    cmocka_unit_test(test_damaged_ledgers_are_refused_or_drawn_from),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
