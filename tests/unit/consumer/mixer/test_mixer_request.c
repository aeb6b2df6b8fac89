/* Phases and requests: what takes effect when, what is refused and why. */
#include <math.h>

#include "consumer/mixer/request_ids.h"
#include "tests/unit/mixes.h"

static const uint64_t size[] = {100000}, nothing[] = {0}, few[] = {10};

static const struct mixer_source three[] = {
    {.name = "code", .weight = 1, .partitions_n = 1, .sequences = size},
    {.name = "empty", .weight = 0, .partitions_n = 1, .sequences = nothing},
    {.name = "web", .weight = 3, .partitions_n = 1, .sequences = size},
};

enum { CODE, EMPTY, WEB };

static struct ledger_raw_weight web_nine = {"web", 9}, code_zero = {"code", 0};

/* web at a half from step 10 on, base weights and a lower rate from step 20 on. */
static struct ledger_raw_weight web_one = {"web", 1};
static const struct mixer_phase phases[] = {
    {.name = "half", .start_step = 10, .weight = &web_one, .weights_n = 1, .lr_scale = 0.5},
    {.name = "cool", .start_step = 20, .temperature = 2, .lr_scale = 0.25},
};

static struct mixer_plan
phased_plan(void)
{
	struct mixer_plan p = mixes_plan(three, 3);

	p.phase = phases;
	p.phases_n = 2;
	return p;
}

static void
run_to(struct mixer *m, const struct mixer_plan *p, uint64_t step)
{
	while (mixer_step_next(m) < step)
		assert_int_equal(mixes_step(m, p, NULL), MIXER_DRAWN);
}

/* What governed the last step. */
static void
assert_in_force(const struct mixer *m, double share, double lr_scale, uint64_t version,
    uint64_t since, enum ledger_reason reason, const char *id, const char *phase)
{
	assert_true(fabs(mixes_stand(m, WEB).share - share) < 1e-6);
	assert_true(mixer_lr_scale(m) == lr_scale);
	assert_int_equal(mixer_version(m), version);
	assert_int_equal(mixer_version_step(m), since);
	assert_int_equal(mixer_reason(m), reason);
	assert_string_equal(mixer_reason_id(m), id);
	assert_string_equal(mixer_phase_name(m), phase);
}

static void
accept(struct mixer *m, struct control c, int64_t step)
{
	struct ledger_answer a = mixes_ask(m, c, NULL);

	if (!a.accepted)
		print_error("%s\n", a.text);
	assert_true(a.accepted);
	assert_int_equal(a.step, step);
	ledger_answer_clear(&a);
}

static void
test_phases_begin_at_their_step_and_fall_back_to_base_weights(void **state)
{
	struct mixer_plan p = phased_plan();
	struct mixer *m = mixes_open(&p);

	(void)state;
	run_to(m, &p, 10);
	assert_in_force(m, 0.75, 1, 1, 0, LEDGER_BY_CONFIG, "", "");
	run_to(m, &p, 11);
	assert_in_force(m, 0.5, 0.5, 2, 10, LEDGER_BY_PHASE, "half", "half");
	run_to(m, &p, 21); /* w^(1/2): 1 to sqrt 3 */
	assert_in_force(m, sqrt(3) / (1 + sqrt(3)), 0.25, 3, 20, LEDGER_BY_PHASE, "cool", "cool");
	mixer_close(m);
}

static void
test_a_request_takes_effect_at_its_step_until_a_phase_begins(void **state)
{
	struct mixer_plan p = phased_plan();
	struct mixer *m = mixes_open(&p);
	struct ledger_answer a;

	(void)state;
	run_to(m, &p, 5);
	a = mixes_ask(m, mixes_weight("r1", 2, &web_nine, 1), NULL); /* drawn already: the next */
	assert_true(a.accepted && a.step == 5);
	assert_non_null(strstr(a.text, "takes effect at step 5, for step 2 is drawn already\n"));
	assert_non_null(strstr(a.text, "\ncode: 10% (was 25%); epoch 0 ends about step "));
	assert_non_null(strstr(a.text, "\nphase half at step 10 will replace these weights"));
	ledger_answer_clear(&a);
	assert_int_equal(mixer_pending(m), 1);
	run_to(m, &p, 6);
	assert_int_equal(mixer_pending(m), 0);
	assert_in_force(m, 0.9, 1, 2, 5, LEDGER_BY_REQUEST, "r1", "");
	run_to(m, &p, 11);
	assert_in_force(m, 0.5, 0.5, 3, 10, LEDGER_BY_PHASE, "half", "half");
	mixer_close(m);
}

static void
test_at_one_step_a_request_wins_over_a_phase_and_the_later_one_over_the_earlier(void **state)
{
	struct mixer_plan p = phased_plan();
	struct mixer *m = mixes_open(&p);
	struct control rate = {.id = "r3", .at_step = 10, .lr_scale = 2};

	(void)state;
	accept(m, mixes_weight("r1", 10, &code_zero, 1), 10);
	accept(m, mixes_weight("r2", 10, &web_nine, 1), 10);
	accept(m, rate, 10);
	run_to(m, &p, 10);
	assert_in_force(m, 0.75, 1, 1, 0, LEDGER_BY_CONFIG, "", "");
	run_to(m, &p, 11); /* half, code=0, web=9, lr_scale 2 */
	assert_in_force(m, 1, 2, 5, 10, LEDGER_BY_REQUEST, "r3", "half");
	mixer_undo(m);
	assert_in_force(m, 0.75, 1, 1, 0, LEDGER_BY_CONFIG, "", "");
	assert_int_equal(mixer_pending(m), 3);
	mixer_close(m);
}

static void
test_an_id_is_answered_once(void **state)
{
	struct mixer_plan p = phased_plan();
	struct mixer *m = mixes_open(&p);
	struct control c = mixes_weight("r1", -1, &web_nine, 1);
	struct ledger_answer a;
	bool duplicate;
	struct failure f;

	(void)state;
	accept(m, c, 0);
	assert_int_equal(mixer_request(m, &c, NULL, &a, &duplicate, &f), FAIL_NONE);
	assert_true(duplicate);
	assert_null(a.id);
	assert_int_equal(mixer_pending(m), 1);
	/* 4,096 ids later it is forgotten. */
	for (int i = 0; i < LEDGER_REQUEST_IDS_MAX; i++) {
		char id[16];

		snprintf(id, sizeof(id), "n%d", i);
		c.id = id;
		assert_int_equal(mixer_refuse(m, &c, "no", &a, &duplicate, &f), FAIL_NONE);
		assert_false(duplicate);
		assert_false(a.accepted);
		assert_string_equal(a.text, "no");
		ledger_answer_clear(&a);
	}
	c.id = (char *)(uintptr_t) "n0";
	assert_int_equal(mixer_refuse(m, &c, "no", &a, &duplicate, &f), FAIL_NONE);
	assert_true(duplicate);
	accept(m, mixes_weight("r1", -1, &web_nine, 1), 0);
	mixer_close(m);
}

static struct ledger_raw_weight bad_name = {"books", 1}, negative = {"web", -1}, nan_weight,
				twice[] = {{"web", 1}, {"web", 2}},
				no_weight[] = {{"code", 0}, {"web", 0}},
				second_unknown[] = {{"web", 1}, {"books", 1}},
				second_negative[] = {{"code", 1}, {"web", -1}},
				of_empty = {"empty", 1};

static char long_id[MIXER_ID_BYTES_MAX + 2];

static const struct {
	struct control c;
	const char *text;
} refused[] = {
    {{.id = "", .weight = &web_nine, .weights_n = 1},
	"a request needs an id of 1 to 128 bytes, not 0"},
    {{.id = long_id, .weight = &web_nine, .weights_n = 1},
	"a request needs an id of 1 to 128 bytes, not 129"},
    {{.id = "x"}, "asks for nothing: no weight, temperature, lr_scale or global_batch"},
    {{.id = "x", .at_step = -2, .lr_scale = 1},
	"at_step must be a step, or -1 for the next, not -2"},
    {{.id = "x", .weight = &bad_name, .weights_n = 1}, "the mix has no domain books"},
    {{.id = "x", .weight = second_unknown, .weights_n = 2}, "the mix has no domain books"},
    {{.id = "x", .weight = second_negative, .weights_n = 2},
	"the weight of domain web must be a finite number of at least 0, not -1"},
    {{.id = "x", .weight = &negative, .weights_n = 1},
	"the weight of domain web must be a finite number of at least 0, not -1"},
    {{.id = "x", .weight = &nan_weight, .weights_n = 1},
	"the weight of domain web must be a finite number of at least 0, not nan"},
    {{.id = "x", .weight = twice, .weights_n = 2}, "domain web has two weights"},
    {{.id = "x", .weight = no_weight, .weights_n = 2},
	"no domain would have a weight: at least one must be positive"},
    {{.id = "x", .weight = &of_empty, .weights_n = 1},
	"domain empty has weight 1 and not one sequence: this mix took it in empty, and never "
	"draws "
	"what is appended to it; start another mix to use it"},
    {{.id = "x", .temperature = -1}, "temperature must be a positive number, not -1"},
    {{.id = "x", .temperature = NAN}, "temperature must be a positive number, not nan"},
    {{.id = "x", .temperature = INFINITY}, "temperature must be a positive number, not inf"},
    {{.id = "x", .lr_scale = -0.5}, "lr_scale must be a positive number, not -0.5"},
    {{.id = "x", .lr_scale = NAN}, "lr_scale must be a positive number, not nan"},
    {{.id = "x", .lr_scale = INFINITY}, "lr_scale must be a positive number, not inf"},
    {{.id = "x", .kind = LEDGER_JOIN, .domain = "code", .weight = &web_nine, .weights_n = 1},
	"domain code is in the mix already"},
    {{.id = "x", .kind = LEDGER_SKIP}, "names no domain"},
    {{.id = "x", .kind = LEDGER_SKIP, .domain = "books", .end = 1}, "the mix has no domain books"},
    {{.id = "x", .kind = LEDGER_SKIP, .domain = "web", .partition = 1, .end = 1},
	"domain web has no partition 1 (0 to 0)"},
    {{.id = "x", .kind = LEDGER_SKIP, .domain = "web", .first = 7, .end = 7},
	"7..7 is no range of ordinals: a..b has 0 <= a < b"},
    {{.id = "x", .kind = LEDGER_SKIP, .domain = "web", .end = 100000},
	"not one sequence of domain web would be left; take it out with weight 0, or let it leave"},
    {{.id = "x", .kind = LEDGER_SKIP, .domain = "web", .first = 99990, .end = 100001},
	"web/0 has the ordinals 0..100000, and no more: 99990..100001 is beyond them"},
    {{.id = "x", .kind = LEDGER_SKIP, .domain = "empty", .end = 1},
	"empty/0 is sealed and has no sequence"},
    {{.id = "x", .kind = LEDGER_LEAVE, .domain = "books"}, "the mix has no domain books"},
    {{.id = "x", .kind = LEDGER_JOIN, .domain = "web", .weight = &web_nine, .weights_n = 1},
	"domain web is in the mix already"},
    {{.id = "x", .kind = LEDGER_JOIN, .domain = "books"},
	"the topic of domain books cannot be read"},
};

static void
test_bad_requests_are_refused_with_the_reason_and_change_nothing(void **state)
{
	struct mixer_plan p = phased_plan();
	struct mixer *m = mixes_open(&p), *plain = mixes_open(&p);

	(void)state;
	memset(long_id, 'i', MIXER_ID_BYTES_MAX + 1);
	nan_weight = (struct ledger_raw_weight){"web", NAN};
	EACH_NAMED_ROW(i, refused, text) {
		struct mixer *copy = NULL;
		struct ledger_answer a;
		struct failure f;

		assert_int_equal(mixer_copy(&copy, m, &f), FAIL_NONE);
		a = mixes_ask(copy, refused[i].c, NULL);
		assert_false(a.accepted);
		assert_int_equal(a.step, -1);
		assert_string_equal(a.text, refused[i].text);
		assert_true(strlen(a.id) <= MIXER_ID_BYTES_MAX);
		assert_int_equal(mixer_pending(copy), 0);
		assert_int_equal(mixer_domains(copy), 3);
		ledger_answer_clear(&a);
		mixer_close(copy);
	}
	mixer_close(m);
	mixer_close(plain);
}

static void
test_a_request_that_breaks_what_was_accepted_or_planned_is_refused(void **state)
{
	struct mixer_plan p = phased_plan();
	struct mixer *m = mixes_open(&p);
	struct control leave = {.id = "r2", .at_step = 3, .kind = LEDGER_LEAVE, .domain = "web"};
	struct ledger_answer a;

	(void)state;
	accept(m, mixes_weight("r1", 5, &web_nine, 1), 5);
	a = mixes_ask(m, leave, NULL);
	assert_string_equal(a.text,
	    "it would make the accepted request r1 at step 5 impossible: domain web has left the "
	    "mix");
	ledger_answer_clear(&a);
	leave.id = (char *)(uintptr_t) "r3";
	leave.at_step = 7; /* behind it, it can leave: code goes on alone */
	accept(m, leave, 7);
	a = mixes_ask(m, mixes_weight("r4", 8, &web_nine, 1), NULL);
	assert_string_equal(a.text, "domain web has left the mix");
	ledger_answer_clear(&a);
	leave.id = (char *)(uintptr_t) "r5";
	leave.domain = (char *)(uintptr_t) "code";
	a = mixes_ask(m, leave, NULL);
	assert_string_equal(a.text, "no domain would have a weight: at least one must be positive");
	ledger_answer_clear(&a);
	run_to(m, &p, 30);
	assert_int_equal(mixes_stand(m, WEB).state, LEDGER_LEFT);
	assert_true(mixes_stand(m, CODE).share == 1);
	mixer_close(m);
}

/* Phases that are still to come are played through, the last one too, whatever is pending. */
static void
test_a_request_that_leaves_a_later_phase_without_a_domain_is_refused(void **state)
{
	static struct ledger_raw_weight alone[] = {{"code", 0}, {"web", 1}};
	static const struct mixer_phase later[] = {
	    {.name = "both", .start_step = 10, .lr_scale = 0.5},
	    {.name = "alone", .start_step = 20, .weight = alone, .weights_n = 2},
	};
	struct control leave = {.id = "r1", .at_step = 3, .kind = LEDGER_LEAVE, .domain = "web"};
	struct mixer_plan p = mixes_plan(three, 3);
	struct ledger_answer a;
	struct mixer *m;

	(void)state;
	p.phase = later;
	p.phases_n = 2;
	m = mixes_open(&p);
	a = mixes_ask(m, leave, NULL);
	assert_false(a.accepted);
	assert_string_equal(a.text, "phase alone at step 20 would have no domain with a weight");
	ledger_answer_clear(&a);
	leave.id = (char *)(uintptr_t) "r2"; /* behind the phase it is no better */
	leave.at_step = 25;
	a = mixes_ask(m, leave, NULL);
	assert_string_equal(a.text, "no domain would have a weight: at least one must be positive");
	ledger_answer_clear(&a);
	leave.id = (char *)(uintptr_t) "r3";
	leave.domain = (char *)(uintptr_t) "code";
	accept(m, leave, 25);
	run_to(m, &p, 30); /* the mix goes on */
	assert_true(mixes_stand(m, WEB).share == 1);
	mixer_close(m);
}

/* Takes m. Gives m, or a mixer that resumes from its record. */
static struct mixer *
go_on(struct mixer *m, const struct mixer_plan *p, bool restart)
{
	struct ledger l = {0};
	struct mixer *other = NULL;
	struct failure f;

	if (!restart)
		return m;
	assert_int_equal(mixer_save(m, &l, &f), FAIL_NONE);
	assert_int_equal(mixer_resume(&other, p, &l, &f), FAIL_NONE);
	ledger_clear(&l);
	mixer_close(m);
	return other;
}

/*
 * A phase that does not name a domain gives it its base weight: the file's, or the weight with
 * which it joined. Later requests for weights do not change a base weight. This also holds if the
 * mixer restarts before every step.
 */
static void
test_what_a_domain_joined_with_is_what_phases_return_to(void **state)
{
	static struct ledger_raw_weight joining[] = {{"books", 4}, {"web", 9}},
					later[] = {{"books", 1}};
	static const struct mixer_source books = {
	    .name = "books", .partitions_n = 1, .sequences = size};
	static const struct {
		int64_t join, later; /* steps; later -1: there is no such request */
		struct {
			uint64_t step; /* the step with these raw weights */
			double code, web, books;
		} in_force[4];
	} rows[] = {
	    {3, -1, {{2, 1, 3, 0}, {3, 1, 9, 4}, {10, 1, 1, 4}, {20, 1, 3, 4}}},
	    {3, 6, {{5, 1, 9, 4}, {6, 1, 9, 1}, {10, 1, 1, 4}, {20, 1, 3, 4}}},
	    {10, -1, {{9, 1, 3, 0}, {10, 1, 9, 4}, {19, 1, 9, 4}, {20, 1, 3, 4}}},
	    {12, 13, {{11, 1, 1, 0}, {12, 1, 9, 4}, {13, 1, 9, 1}, {20, 1, 3, 4}}},
	    {25, 30, {{24, 1, 3, 0}, {25, 1, 9, 4}, {30, 1, 9, 1}, {31, 1, 9, 1}}},
	};
	struct mixer_plan p = phased_plan();

	(void)state;
	EACH_ROW(i, rows)
		for (int restart = 0; restart < 2; restart++) {
			struct mixer *m = mixes_open(&p);
			struct control join = {.id = "j",
			    .kind = LEDGER_JOIN,
			    .at_step = rows[i].join,
			    .domain = "books",
			    .weight = joining,
			    .weights_n = 2};
			struct ledger_answer a = mixes_ask(m, join, &books);

			assert_true(a.accepted && a.step == rows[i].join);
			ledger_answer_clear(&a);
			if (rows[i].later >= 0)
				accept(
				    m, mixes_weight("l", rows[i].later, later, 1), rows[i].later);
			for (size_t k = 0; k < 4; k++) {
				uint64_t count[4] = {0};

				while (mixer_step_next(m) <= rows[i].in_force[k].step) {
					m = go_on(m, &p, restart != 0);
					memset(count, 0, sizeof(count));
					assert_int_equal(mixes_step(m, &p, count), MIXER_DRAWN);
				}
				assert_true(
				    mixes_stand(m, CODE).weight == rows[i].in_force[k].code);
				assert_true(mixes_stand(m, WEB).weight == rows[i].in_force[k].web);
				assert_true(mixes_stand(m, 3).weight == rows[i].in_force[k].books);
				assert_int_equal(count[3] > 0, rows[i].in_force[k].books > 0);
			}
			mixer_close(m);
		}
}

static void
test_a_domain_joins_with_the_next_index_and_credit_0(void **state)
{
	static struct ledger_raw_weight weights[] = {{"books", 4}};
	const struct mixer_source books = {
	    .name = "books", .weight = 0, .partitions_n = 1, .sequences = size};
	struct mixer_plan p = mixes_plan(three, 3);
	struct mixer *m = mixes_open(&p);
	uint64_t count[4] = {0};
	struct control join = {.id = "j",
	    .kind = LEDGER_JOIN,
	    .at_step = 3,
	    .domain = "books",
	    .weight = weights,
	    .weights_n = 1};
	struct ledger_answer a;

	(void)state;
	run_to(m, &p, 2);
	a = mixes_ask(m, join, &books);
	assert_true(a.accepted && a.step == 3);
	assert_non_null(strstr(a.text, "\nbooks: 50% (was 0%)"));
	ledger_answer_clear(&a);
	assert_int_equal(mixer_domain_named(m, "books"), 3);
	assert_int_equal(mixes_stand(m, 3).state, LEDGER_JOINING);
	mixes_step(m, &p, count);
	assert_int_equal(count[3], 0);
	mixes_step(m, &p, count);
	assert_true(count[3] >= 7 && count[3] <= 9);
	assert_int_equal(mixes_stand(m, 3).state, LEDGER_ACTIVE);
	join.id = (char *)(uintptr_t) "j2";
	weights[0].domain = (char *)(uintptr_t) "code";
	join.domain = (char *)(uintptr_t) "more";
	a = mixes_ask(
	    m, join, &(struct mixer_source){.name = "more", .partitions_n = 1, .sequences = size});
	assert_string_equal(a.text, "domain more would join without a weight");
	ledger_answer_clear(&a);
	assert_int_equal(mixer_domains(m), 4);
	weights[0].domain = (char *)(uintptr_t) "books";
	mixer_close(m);
}

static void
test_skipped_ranges_are_not_drawn_again(void **state)
{
	const struct mixer_source source[] = {
	    {.name = "a", .weight = 1, .partitions_n = 1, .sequences = few}};
	struct mixer_plan p = mixes_plan(source, 1);
	struct mixer *m = mixes_open(&p);
	struct mixer_draw draw[16];
	enum mixer_result result;
	struct control skip = {
	    .id = "s", .kind = LEDGER_SKIP, .at_step = 1, .domain = "a", .first = 2, .end = 9};
	struct ledger_answer a = mixes_ask(m, skip, NULL);
	struct failure f;
	bool seen = false;

	(void)state;
	assert_string_equal(a.text,
	    "takes effect at step 1\na/0: 2..9 are not drawn again; 7 of 10 sequences are kept "
	    "out");
	ledger_answer_clear(&a);
	for (int s = 0; s < 20; s++) {
		assert_int_equal(mixer_step(m, draw, &result, &f), FAIL_NONE);
		for (int i = 0; i < 16; i++) {
			bool inside = draw[i].ordinal >= 2 && draw[i].ordinal < 9;

			assert_true(s == 0 || !inside);
			seen = seen || inside;
		}
	}
	assert_true(seen);
	skip.id = (char *)(uintptr_t) "s2"; /* what is left: 0, 1 and 9 */
	skip.first = 0;
	skip.end = 10;
	a = mixes_ask(m, skip, NULL);
	assert_false(a.accepted);
	ledger_answer_clear(&a);
	mixer_close(m);
}

static struct ledger_answer
cancel(struct mixer *m, const char *id, const char *request)
{
	return mixes_ask(m,
	    (struct control){.id = (char *)(uintptr_t)id,
		.kind = LEDGER_CANCEL,
		.at_step = -1,
		.partition = -1,
		.who = (char *)(uintptr_t) "ann@box",
		.request = (char *)(uintptr_t)request},
	    NULL);
}

static struct ledger_answer
ask_range(struct mixer *m, const char *id, enum ledger_change_kind kind, int64_t at_step,
    int64_t first, int64_t end)
{
	return mixes_ask(m,
	    (struct control){.id = (char *)(uintptr_t)id,
		.kind = kind,
		.at_step = at_step,
		.domain = (char *)(uintptr_t) "a",
		.first = first,
		.end = end},
	    NULL);
}

static void
check_refused(struct ledger_answer a, const char *text)
{
	assert_false(a.accepted);
	assert_string_equal(a.text, text);
	ledger_answer_clear(&a);
}

/* What the ledger says is what is drawn: a mixer that resumes from the state draws the same. */
static struct mixer *
resumed(const struct mixer_plan *p, const struct mixer *m)
{
	struct mixer *other = NULL;
	struct ledger l = {0};
	struct failure f;

	assert_int_equal(mixer_save(m, &l, &f), FAIL_NONE);
	assert_int_equal(mixer_resume(&other, p, &l, &f), FAIL_NONE);
	ledger_clear(&l);
	return other;
}

static void
test_a_skip_is_taken_back_whole_or_in_part_at_its_step(void **state)
{
	const struct mixer_source source[] = {
	    {.name = "a", .weight = 1, .partitions_n = 1, .sequences = few}};
	struct mixer_plan p = mixes_plan(source, 1);
	struct mixer *m = mixes_open(&p), *other;
	struct mixer_draw draw[16], same[16];
	enum mixer_result result;
	struct failure f;
	uint64_t drawn[10] = {0};
	struct ledger_answer a = ask_range(m, "s", LEDGER_SKIP, 1, 2, 9);

	(void)state;
	assert_true(a.accepted);
	ledger_answer_clear(&a);
	check_refused(ask_range(m, "u0", LEDGER_UNDO, 0, 2, 3),
	    "a/0 2..3 is not skipped yet: request s will do so at step 1; `riffle requests "
	    "--cancel` withdraws it");
	a = ask_range(m, "u", LEDGER_UNDO, 3, 4, 6);
	assert_true(a.accepted && a.step == 3);
	assert_string_equal(a.text,
	    "takes effect at step 3\na/0: of 4..6 2 are drawn again, in this epoch where their "
	    "place is still to come, else from the next one on; of 10 sequences 5 are still kept "
	    "out");
	ledger_answer_clear(&a);
	check_refused(cancel(m, "c", "s"),
	    "it would make the accepted request u at step 3 impossible: no sequence of a/0 in "
	    "4..6 is skipped: `riffle skip --list` shows which are");
	other = resumed(&p, m); /* with both to come */
	for (int s = 0; s < 20; s++) {
		if (s == 8) {
			mixer_close(other);
			other = resumed(&p, m);
		}
		assert_int_equal(mixer_step(m, draw, &result, &f), FAIL_NONE);
		assert_int_equal(mixer_step(other, same, &result, &f), FAIL_NONE);
		for (int i = 0; i < 16; i++) {
			uint64_t o = draw[i].ordinal;

			assert_int_equal(o, same[i].ordinal);
			assert_false(s >= 1 && s < 3 && o >= 2 && o < 9);
			assert_false(s >= 3 && ((o >= 2 && o < 4) || (o >= 6 && o < 9)));
			drawn[o] += s >= 3;
		}
	}
	assert_true(drawn[4] > 0 && drawn[5] > 0);
	check_refused(ask_range(m, "u2", LEDGER_UNDO, -1, 4, 6),
	    "no sequence of a/0 in 4..6 is skipped: `riffle skip --list` shows which are");
	assert_int_equal(mixer_quarantine(m, 0, 0, 5, "broken", &f), FAIL_NONE);
	check_refused(ask_range(m, "u3", LEDGER_UNDO, -1, 4, 6),
	    "a/0 4..6 is not skipped: 1 of these sequences are quarantined, and a damaged sequence "
	    "stays out");
	check_refused(ask_range(m, "u4", LEDGER_UNDO, -1, 7, 7),
	    "7..7 is no range of ordinals: a..b has 0 <= a < b");
	a = ask_range(m, "u5", LEDGER_UNDO, -1, 0, 1000); /* all of it, whatever is skipped */
	assert_true(a.accepted && strstr(a.text, "a/0: of 0..1000 5 are drawn again") != NULL);
	assert_true(strstr(a.text, "of 10 sequences 1 are still kept out; 1 of the range "
				   "are quarantined and stay out") != NULL);
	ledger_answer_clear(&a);
	mixer_close(other);
	mixer_close(m);
}

/* Where a live domain is dry, the step of a skip is tried and undone, and the skip waits. */
static void
test_a_skip_cancelled_while_its_step_is_dry_leaves_nothing_behind(void **state)
{
	static const uint64_t short_of[] = {8}, enough[] = {1000};
	static const bool open[] = {false};
	const struct mixer_source source[] = {
	    {.name = "a", .weight = 1, .partitions_n = 1, .sequences = few},
	    {.name = "feed", .weight = 1, .partitions_n = 1, .sequences = short_of, .live = true},
	};
	struct mixer_plan p = mixes_plan(source, 2);
	struct mixer *m = mixes_open(&p), *plain;
	struct mixer_draw draw[16], same[16];
	enum mixer_result result;
	struct failure f;
	struct ledger_answer a;

	(void)state;
	assert_int_equal(mixes_step(m, &p, NULL), MIXER_DRAWN);
	a = ask_range(m, "s", LEDGER_SKIP, -1, 2, 9);
	assert_true(a.accepted);
	ledger_answer_clear(&a);
	assert_int_equal(mixes_step(m, &p, NULL), MIXER_DRY);
	a = cancel(m, "c", "s");
	assert_true(a.accepted);
	ledger_answer_clear(&a);
	plain = resumed(&p, m);
	assert_int_equal(mixer_set_lengths(m, 1, enough, open, &f), FAIL_NONE);
	assert_int_equal(mixer_set_lengths(plain, 1, enough, open, &f), FAIL_NONE);
	for (int s = 0; s < 8; s++) {
		assert_int_equal(mixer_step(m, draw, &result, &f), FAIL_NONE);
		assert_int_equal(mixer_step(plain, same, &result, &f), FAIL_NONE);
		for (int i = 0; i < 16; i++)
			assert_true(
			    draw[i].domain == same[i].domain && draw[i].ordinal == same[i].ordinal);
	}
	mixer_close(m);
	mixer_close(plain);
}

static void
test_a_cancelled_request_leaves_the_draws_of_a_mix_that_never_had_it(void **state)
{
	struct mixer_plan p = phased_plan();
	struct mixer *m = mixes_open(&p), *plain = mixes_open(&p);
	struct ledger_raw_weight nine = {(char *)(uintptr_t) "web", 9};
	struct mixer_draw draw[16], same[16];
	enum mixer_result result;
	struct failure f;

	(void)state;
	accept(m, (struct control){.id = "w", .at_step = 3, .weight = &nine, .weights_n = 1}, 3);
	accept(m, (struct control){.id = "x", .at_step = 4, .lr_scale = 0.5}, 4);
	for (int s = 0; s < 6; s++) {
		if (s == 2) {
			struct ledger_answer a = cancel(m, "c", "w");

			assert_true(a.accepted && a.step == 2);
			assert_string_equal(a.text,
			    "request w is cancelled: it would have taken effect at step 3 (by "
			    "ann@box)");
			ledger_answer_clear(&a);
			assert_int_equal(mixer_pending(m), 1); /* x alone */
			a = cancel(m, "c2", "w");
			assert_false(a.accepted);
			assert_string_equal(a.text,
			    "request w does not wait any more: it has taken effect, or was refused "
			    "or cancelled");
			ledger_answer_clear(&a);
			a = cancel(m, "c3", "nobody");
			assert_string_equal(a.text, "the mix knows no request nobody");
			ledger_answer_clear(&a);
		}
		assert_int_equal(mixer_step(m, draw, &result, &f), FAIL_NONE);
		assert_int_equal(mixer_step(plain, same, &result, &f), FAIL_NONE);
		for (int i = 0; i < 16; i++)
			assert_true(
			    draw[i].domain == same[i].domain && draw[i].ordinal == same[i].ordinal);
	}
	assert_true(mixer_lr_scale(m) == 0.5);
	mixer_close(m);
	mixer_close(plain);
}

static void
test_a_request_that_others_wait_behind_cannot_be_cancelled(void **state)
{
	static const uint64_t n[] = {100};
	const struct mixer_source papers = {
	    .name = "papers", .partitions_n = 1, .sequences = n, .weight = 0};
	struct mixer_plan p = mixes_plan(three, 3);
	struct mixer *m = mixes_open(&p);
	struct ledger_raw_weight one = {(char *)(uintptr_t) "papers", 1};
	struct control join = {.id = "j",
	    .kind = LEDGER_JOIN,
	    .at_step = 5,
	    .domain = "papers",
	    .weight = &one,
	    .weights_n = 1};
	struct ledger_answer a = mixes_ask(m, join, &papers);

	(void)state;
	assert_true(a.accepted);
	ledger_answer_clear(&a);
	accept(m, (struct control){.id = "w", .at_step = 6, .weight = &one, .weights_n = 1}, 6);
	a = cancel(m, "c", "j");
	assert_false(a.accepted);
	assert_string_equal(a.text,
	    "it would make the accepted request w at step 6 impossible: domain papers has not "
	    "joined yet");
	ledger_answer_clear(&a);
	a = cancel(m, "c2", "w");
	assert_true(a.accepted);
	ledger_answer_clear(&a);
	a = cancel(m, "c3", "j");
	assert_true(a.accepted);
	ledger_answer_clear(&a);
	join.id = (char *)(uintptr_t) "j2"; /* and it may join after all */
	a = mixes_ask(m, join, &papers);
	assert_true(a.accepted && a.step == 5);
	ledger_answer_clear(&a);
	mixer_close(m);
}

/* A mixer whose ledger has `pending` changes of the rate and `skips` ranges. */
static struct mixer *
open_full(const struct mixer_plan *p, size_t pending, size_t skips)
{
	struct mixer *m = mixes_open(p), *full = NULL;
	struct ledger l = {0};
	struct failure f;

	assert_int_equal(mixer_save(m, &l, &f), FAIL_NONE);
	l.pending = calloc(pending + 1, sizeof(*l.pending));
	l.skip = calloc(skips + 1, sizeof(*l.skip));
	assert_true(l.pending != NULL && l.skip != NULL);
	for (; l.pending_n < pending; l.pending_n++)
		l.pending[l.pending_n] = (struct ledger_change){.step = 100, .lr_scale = 1};
	for (; l.skips_n < skips; l.skips_n++)
		l.skip[l.skips_n] = (struct ledger_skip){.domain = WEB,
		    .first = 2 * (int64_t)l.skips_n,
		    .end = 2 * (int64_t)l.skips_n + 1};
	assert_int_equal(mixer_resume(&full, p, &l, &f), FAIL_NONE);
	ledger_clear(&l);
	mixer_close(m);
	return full;
}

static void
test_lists_are_taken_up_to_their_limits(void **state)
{
	struct mixer_plan p = mixes_plan(three, 3);
	struct mixer *m = open_full(&p, LEDGER_PENDING_MAX - 1, LEDGER_SKIPS_MAX - 1);
	struct control skip = {
	    .id = "s1", .kind = LEDGER_SKIP, .at_step = -1, .domain = "web", .end = 9};
	struct control rate = {.id = "r1", .at_step = 100, .lr_scale = 2};
	struct ledger_answer a;

	(void)state;
	accept(m, skip, 0);
	a = mixes_ask(m, rate, NULL);
	assert_string_equal(a.text,
	    "4096 accepted requests wait for their steps: no more are taken before one of them "
	    "takes effect");
	ledger_answer_clear(&a);
	mixes_step(m, &p, NULL);
	rate.id = (char *)(uintptr_t) "r2";
	accept(m, rate, 100);
	mixer_close(m);
	m = open_full(&p, 0, LEDGER_SKIPS_MAX);
	a = mixes_ask(m, skip, NULL);
	assert_string_equal(a.text, "4096 ranges are skipped already: no more can be kept");
	ledger_answer_clear(&a);
	mixer_close(m);
}

static const struct {
	struct mixer_phase phase[2];
	size_t n;
	const char *text;
} bad_phases[] = {
    {{{.name = "a", .start_step = 5}, {.name = "b", .start_step = 5}}, 2,
	"phase b starts at step 5, and the one before it at step 5: start_step must increase"},
    {{{.name = "a", .lr_scale = -1}}, 1, "phase a: lr_scale must be a positive number, not -1"},
    {{{.name = "a", .temperature = -1}}, 1,
	"phase a: temperature must be a positive number, not -1"},
    {{{.name = "a", .weight = &bad_name, .weights_n = 1}}, 1,
	"phase a gives a weight to domain books, which the mix does not have"},
    {{{.name = "a", .weight = no_weight, .weights_n = 2}}, 1,
	"phase a: all weights are zero: at least one must be positive"},
    {{{.name = "a", .weight = twice, .weights_n = 2}}, 1,
	"phase a gives two weights to domain web"},
    {{{.name = "a", .weight = &of_empty, .weights_n = 1}}, 1,
	"phase a gives weight 1 to domain empty, which has not one sequence"},
};

static void
test_phases_that_cannot_be_are_refused(void **state)
{
	(void)state;
	EACH_NAMED_ROW(i, bad_phases, text) {
		struct mixer_plan p = mixes_plan(three, 3);
		struct mixer *m = NULL;
		struct failure f;

		p.phase = bad_phases[i].phase;
		p.phases_n = bad_phases[i].n;
		assert_int_equal(mixer_open(&m, &p, &f), FAIL_CONFIG);
		assert_string_equal(f.text, bad_phases[i].text);
	}
}

static void
test_an_accepted_configuration_with_the_same_weights_leaves_a_request_in_force(void **state)
{
	struct mixer_plan p = phased_plan();
	struct mixer *m = mixes_open(&p);
	struct failure f;

	(void)state;
	accept(m, mixes_weight("r1", 2, &web_nine, 1), 2);
	run_to(m, &p, 4);
	assert_int_equal(mixer_replan(m, &p, NULL, &f), FAIL_NONE);
	assert_in_force(m, 0.9, 1, 2, 2, LEDGER_BY_REQUEST, "r1", "");
	run_to(m, &p, 12);
	p.temperature = 1.5; /* the phase in force comes back, whole */
	assert_int_equal(mixer_replan(m, &p, NULL, &f), FAIL_NONE);
	assert_in_force(m, 0.5, 0.5, 4, 12, LEDGER_BY_PHASE, "half", "half");
	assert_true(mixer_temperature(m) == 1.5);
	mixer_close(m);
}

static void
test_fractions_of_temperature_and_lr_scale_come_into_force(void **state)
{
	struct mixer_plan p = mixes_plan(three, 3);
	struct mixer *m = mixes_open(&p);

	(void)state;
	accept(
	    m, (struct control){.id = "x", .at_step = 1, .temperature = 0.5, .lr_scale = 0.25}, 1);
	run_to(m, &p, 1);
	assert_in_force(m, 0.75, 1, 1, 0, LEDGER_BY_CONFIG, "", "");
	run_to(m, &p, 2); /* w^2: 1 to 9 */
	assert_in_force(m, 0.9, 0.25, 2, 1, LEDGER_BY_REQUEST, "x", "");
	mixer_close(m);
}

static void
test_the_last_sequence_of_a_domain_that_is_drawn_cannot_be_skipped(void **state)
{
	static const uint64_t one[] = {1};
	static const struct mixer_source two[] = {
	    {.name = "code", .weight = 1, .partitions_n = 1, .sequences = size},
	    {.name = "one", .weight = 1, .partitions_n = 1, .sequences = one},
	};
	struct control skip = {.id = "x", .kind = LEDGER_SKIP, .domain = "one", .end = 1};
	struct mixer_plan p = mixes_plan(two, 2);
	struct mixer *m = mixes_open(&p);
	struct ledger_answer a = mixes_ask(m, skip, NULL);

	(void)state;
	assert_false(a.accepted);
	ledger_answer_clear(&a);
	mixer_close(m);
}

/* A domain whose data keep arriving may join before it has any. */
/* A file names the domain before its join takes effect, and another file takes it out again. */
static void
test_a_join_does_not_bring_back_a_domain_that_the_file_took_out(void **state)
{
	static struct ledger_raw_weight weight[] = {{"books", 4}};
	const struct mixer_source books = {
	    .name = "books", .weight = 1, .partitions_n = 1, .sequences = size};
	const struct mixer_source four[] = {books, three[CODE], three[EMPTY], three[WEB]};
	struct mixer_plan p = mixes_plan(three, 3), with = mixes_plan(four, 4);
	struct control join = {.id = "j",
	    .kind = LEDGER_JOIN,
	    .at_step = 10,
	    .domain = "books",
	    .weight = weight,
	    .weights_n = 1};
	struct mixer *m = mixes_open(&p);
	struct ledger_answer a = mixes_ask(m, join, &books);
	uint64_t count[4] = {0};
	struct failure f;

	(void)state;
	assert_true(a.accepted);
	ledger_answer_clear(&a);
	run_to(m, &p, 2);
	assert_int_equal(mixer_replan(m, &with, &p, &f), FAIL_NONE);
	assert_int_equal(mixes_stand(m, 3).state, LEDGER_ACTIVE);
	run_to(m, &p, 4);
	assert_int_equal(mixer_replan(m, &p, &with, &f), FAIL_NONE);
	while (mixer_step_next(m) < 15)
		assert_int_equal(mixes_step(m, &p, count), MIXER_DRAWN);
	assert_int_equal(mixes_stand(m, 3).state, LEDGER_LEFT);
	assert_int_equal(count[3], 0);
	mixer_close(m);
}

static void
test_a_live_domain_joins_before_it_has_a_sequence(void **state)
{
	static struct ledger_raw_weight weight[] = {{"feed", 4}};
	const struct mixer_source feed = {
	    .name = "feed", .partitions_n = 1, .sequences = nothing, .live = true};
	struct mixer_source closed = feed;
	struct control join = {.id = "j",
	    .kind = LEDGER_JOIN,
	    .at_step = -1,
	    .domain = "feed",
	    .weight = weight,
	    .weights_n = 1};
	struct mixer_plan p = mixes_plan(three, 3);
	struct mixer *m = mixes_open(&p);
	struct ledger_answer a;
	struct failure f;

	(void)state;
	closed.live = false;
	a = mixes_ask(m, join, &closed);
	assert_false(a.accepted);
	ledger_answer_clear(&a);
	join.id = (char *)(uintptr_t) "k";
	a = mixes_ask(m, join, &feed);
	assert_true(a.accepted);
	ledger_answer_clear(&a);
	assert_true(mixes_stand(m, 3).live);
	/* The configuration does not name it: it joined by a request, and stays. */
	assert_int_equal(mixer_replan(m, &p, NULL, &f), FAIL_NONE);
	assert_int_not_equal(mixes_stand(m, 3).state, LEDGER_LEFT);
	assert_int_equal(mixes_step(m, &p, NULL), MIXER_DRY);
	mixer_close(m);
}

/* Nothing is drawn from it: nothing of it need be left. */
static void
test_all_of_a_domain_without_weight_can_be_skipped(void **state)
{
	struct mixer_plan p = mixes_plan(three, 3);
	struct mixer *m = mixes_open(&p);

	(void)state;
	accept(m, mixes_weight("w", -1, &code_zero, 1), 0);
	accept(m,
	    (struct control){
		.id = "s", .kind = LEDGER_SKIP, .at_step = -1, .domain = "code", .end = 100000},
	    0);
	run_to(m, &p, 2);
	mixer_close(m);
}

static void
test_no_more_domains_join_than_a_round_has_draws(void **state)
{
	static struct ledger_raw_weight weight[] = {{"books", 4}};
	static const struct mixer_source two[] = {
	    {.name = "code", .weight = 1, .partitions_n = 1, .sequences = size},
	    {.name = "web", .weight = 1, .partitions_n = 1, .sequences = size},
	};
	const struct mixer_source books = {.name = "books", .partitions_n = 1, .sequences = size};
	struct control join = {.id = "j",
	    .kind = LEDGER_JOIN,
	    .at_step = -1,
	    .domain = "books",
	    .weight = weight,
	    .weights_n = 1};
	struct mixer_plan p = mixes_plan(two, 2);

	(void)state;
	for (p.epoch_size = 2; p.epoch_size < 5; p.epoch_size++) {
		struct mixer *m = mixes_open(&p);
		struct ledger_answer a = mixes_ask(m, join, &books);

		assert_true(a.accepted == (p.epoch_size > 2));
		ledger_answer_clear(&a);
		mixer_close(m);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_phases_begin_at_their_step_and_fall_back_to_base_weights),
	    cmocka_unit_test(test_a_request_takes_effect_at_its_step_until_a_phase_begins),
	    cmocka_unit_test(
		test_at_one_step_a_request_wins_over_a_phase_and_the_later_one_over_the_earlier),
	    cmocka_unit_test(test_an_id_is_answered_once),
	    cmocka_unit_test(test_bad_requests_are_refused_with_the_reason_and_change_nothing),
	    cmocka_unit_test(test_a_request_that_breaks_what_was_accepted_or_planned_is_refused),
	    cmocka_unit_test(test_a_request_that_leaves_a_later_phase_without_a_domain_is_refused),
	    cmocka_unit_test(test_what_a_domain_joined_with_is_what_phases_return_to),
	    cmocka_unit_test(test_a_domain_joins_with_the_next_index_and_credit_0),
	    cmocka_unit_test(test_skipped_ranges_are_not_drawn_again),
	    cmocka_unit_test(test_a_skip_is_taken_back_whole_or_in_part_at_its_step),
	    cmocka_unit_test(test_a_skip_cancelled_while_its_step_is_dry_leaves_nothing_behind),
	    cmocka_unit_test(test_a_cancelled_request_leaves_the_draws_of_a_mix_that_never_had_it),
	    cmocka_unit_test(test_a_request_that_others_wait_behind_cannot_be_cancelled),
	    cmocka_unit_test(test_lists_are_taken_up_to_their_limits),
	    cmocka_unit_test(test_phases_that_cannot_be_are_refused),
	    cmocka_unit_test(
		test_an_accepted_configuration_with_the_same_weights_leaves_a_request_in_force),
	    cmocka_unit_test(test_fractions_of_temperature_and_lr_scale_come_into_force),
	    cmocka_unit_test(test_the_last_sequence_of_a_domain_that_is_drawn_cannot_be_skipped),
	    cmocka_unit_test(test_a_join_does_not_bring_back_a_domain_that_the_file_took_out),
	    cmocka_unit_test(test_a_live_domain_joins_before_it_has_a_sequence),
	    cmocka_unit_test(test_all_of_a_domain_without_weight_can_be_skipped),
	    cmocka_unit_test(test_no_more_domains_join_than_a_round_has_draws),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
