/* What a configuration can say about a mix: schedules, rounds, phases, live domains, packing. */
#include <math.h>

#include "common/base/limits.h"
#include "common/config/config_internal.h"
#include "common/config/topic_plan.h"
#include "tests/unit/config_file.h"

/* One file with all of it; what cannot go together with it stands in other tests. */
static const char whole[] =
    "corpus: demo\n"
    "tokenizer: {file: v}\n"
    "sequence_length: 8\n"
    "domains:\n"
    "  books: {train: b, max_epochs: 3, on_end: drop, packing: best_fit}\n"
    "  chat: {train: c, packing: none, over_long: reject, prompt: m.user, response: m.bot,\n"
    "         keep: [id, m.system]}\n"
    "  news: {train: n, live: true, on_dry: lend, catch_up: 1.5}\n"
    "mix:\n"
    "  name: m\n"
    "  global_batch: 4\n"
    "  lanes: 2\n"
    "  weights: {books: 3, chat: 1, news: 0}\n"
    "  schedule: deficit\n"
    "  weights_unit: sequences\n"
    "  phases:\n"
    "    - {start_step: 0, weights: {news: 1, books: 0}, temperature: 2}\n"
    "    - name: anneal\n"
    "      start_step: 4611686018427387904\n"
    "      lr_scale: 0.3\n";

static void
test_all_that_a_mix_can_say_arrives(void **unused)
{
	struct config *c;
	struct failure f = {0};
	const struct config_phase *p;

	(void)unused;
	folder_text("whole.yml", whole);
	config_open(&c, folder_path("whole.yml"), &f);
	assert_string_equal(f.text, "");
	assert_int_equal(c->domains[0].max_epochs, 3);
	assert_int_equal(c->domains[0].packing, SEQUENCE_BEST_FIT);
	assert_int_equal(c->domains[1].packing, SEQUENCE_NONE);
	assert_int_equal(c->domains[1].over_long, CONFIG_LONG_REJECT);
	assert_string_equal(c->domains[1].prompt, "m.user");
	assert_string_equal(c->domains[1].response, "m.bot");
	assert_int_equal(c->domains[1].keep.n, 2);
	assert_string_equal(c->domains[1].keep.text[1], "m.system");
	assert_int_equal(c->domains[2].on_dry, MIX_DRY_LEND);
	assert_true(c->domains[2].catch_up == 1.5);
	assert_int_equal(c->mix.phases_n, 2);
	p = c->mix.phases;
	assert_string_equal(p[0].name, "phase-1");
	assert_int_equal(p[0].start_step, 0);
	assert_true(p[0].weight[0] == 0 && isnan(p[0].weight[1]) && p[0].weight[2] == 1);
	assert_true(p[0].temperature == 2 && p[0].lr_scale == 1);
	assert_int_equal(p[0].line, 17);
	assert_string_equal(p[1].name, "anneal");
	assert_true(p[1].start_step == UINT64_C(1) << 62);
	assert_true(isnan(p[1].weight[0]) && isnan(p[1].weight[1]) && isnan(p[1].weight[2]));
	assert_true(p[1].temperature == 0 && p[1].lr_scale == 0.3);
	assert_true(config_weights_sum(c, NULL) == 4);
	assert_true(config_weights_sum(c, &p[0]) == 2);
	assert_true(config_weights_sum(c, &p[1]) == 4);
	assert_false(config_never_drawn(c, 0)); /* books: a phase alone has weight 0 */
	assert_false(config_never_drawn(c, 2)); /* news: a phase draws it */
	c->mix.phases[0].weight[2] = 0;
	assert_true(config_never_drawn(c, 2));
	config_close(c);
}

static void
test_what_a_file_does_not_say_has_its_default(void **unused)
{
	struct config *c;
	struct failure f;

	(void)unused;
	assert_int_equal(open_with(&c, 0, "", &f), FAIL_NONE);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(c->domains[i].max_epochs, 0);
		assert_int_equal(c->domains[i].on_dry, MIX_DRY_WAIT);
		assert_true(c->domains[i].catch_up == 2);
		assert_int_equal(c->domains[i].packing, SEQUENCE_CONCAT);
		assert_int_equal(c->domains[i].over_long, CONFIG_LONG_SPLIT);
		assert_null(c->domains[i].prompt);
		assert_null(c->domains[i].response);
		assert_int_equal(c->domains[i].keep.n, 0);
	}
	assert_null(c->domains_from);
	assert_int_equal(c->mix.schedule, SCHEDULE_DEFICIT);
	assert_int_equal(c->mix.weights_unit, MIX_BY_SEQUENCES);
	assert_int_equal(c->mix.epoch_size, 0);
	assert_false(c->mix.epoch_largest);
	assert_int_equal(c->mix.phases_n, 0);
	config_close(c);
}

/* A corpus and a mix of what `lines` say, at least line 4. */
static enum fail_code
open_corpus(struct config **c, const char *lines, struct failure *f)
{
	char text[1024];

	*f = (struct failure){0};
	snprintf(text, sizeof(text), "corpus: demo\ntokenizer: {file: v}\nsequence_length: 8\n%s",
	    lines);
	folder_text("run.yml", text);
	return config_open(c, folder_path("run.yml"), f);
}

/* Opens the base with the line of its name and more, for one more look at the result. */
static struct config *
mix_with(const char *more)
{
	char text[512];
	struct config *c;
	struct failure f = {0};

	snprintf(text, sizeof(text), "  name: m\n%s", more);
	open_with(&c, 10, text, &f);
	assert_string_equal(f.text, "");
	return c;
}

static void
test_every_choice_is_told_from_the_others(void **unused)
{
	static const char *const schedules[] = {"deficit", "greedy", "random"};
	struct config *c;

	(void)unused;
	for (int i = 0; i < 3; i++) {
		char text[64];

		snprintf(text, sizeof(text), "  schedule: %s", schedules[i]);
		c = mix_with(text);
		assert_int_equal(c->mix.schedule, i);
		config_close(c);
	}
	c = mix_with("  weights_unit: tokens");
	assert_int_equal(c->mix.weights_unit, MIX_BY_TOKENS);
	config_close(c);
	c = mix_with("  epoch_size: largest");
	assert_true(c->mix.epoch_largest && c->mix.epoch_size == 0);
	config_close(c);
	c = mix_with("  epoch_size: 1099511627776");
	assert_true(!c->mix.epoch_largest && c->mix.epoch_size == UINT64_C(1) << 40);
	config_close(c);
}

static void
test_values_out_of_range_are_refused(void **unused)
{
	static const struct row rows[] = {
	    {10, "  name: m\n  epoch_size: 0",
		"11: mix.epoch_size: out of range: 0 (largest, or 1 to 1099511627776)"},
	    {10, "  name: m\n  epoch_size: 1099511627777",
		"11: mix.epoch_size: out of range: 1099511627777 (largest, or 1 to 1099511627776)"},
	    {10, "  name: m\n  epoch_size: biggest",
		"11: mix.epoch_size: not a whole number: biggest (largest, or 1 to 1099511627776)"},
	    {10, "  name: m\n  epoch_size: [7]",
		"11: mix.epoch_size: is a list (must be one value)"},
	    {10, "  name: m\n  schedule: fair",
		"11: mix.schedule: unknown value: fair (deficit, greedy, random)"},
	    {10, "  name: m\n  weights_unit: documents",
		"11: mix.weights_unit: unknown value: documents (sequences, tokens)"},
	    {8, "    train: x\n    packing: best-fit",
		"9: domains.code.packing: unknown value: best-fit (concat, none, best_fit)"},
	    {8, "    train: x\n    packing: none\n    over_long: cut",
		"10: domains.code.over_long: unknown value: cut (split, truncate, reject)"},
	    {8, "    train: x\n    live: true\n    on_dry: skip",
		"10: domains.code.on_dry: unknown value: skip (wait, lend)"},
	    {8, "    train: x\n    live: true\n    on_dry: lend\n    catch_up: 0.99",
		"11: domains.code.catch_up: out of range: 0.99 (a number from 1 to 1000)"},
	    {8, "    train: x\n    live: true\n    on_dry: lend\n    catch_up: 1000.1",
		"11: domains.code.catch_up: out of range: 1000.1 (a number from 1 to 1000)"},
	    {8, "    train: x\n    live: true\n    on_dry: lend\n    catch_up: .nan",
		"11: domains.code.catch_up: not a finite number: .nan (a number from 1 to 1000)"},
	    {8, "    train: x\n    max_epochs: -1",
		"9: domains.code.max_epochs: not a whole number: -1 (0 to 2147483647)"},
	    {8, "    train: x\n    max_epochs: 2147483648",
		"9: domains.code.max_epochs: out of range: 2147483648 (0 to 2147483647)"},
	    {8, "    train: x\n    packing: none\n    keep: [a, b, a]",
		"10: domains.code.keep: field a is named twice"},
	    {8, "    train: x\n    packing: none\n    keep: [a, \"\"]",
		"10: domains.code.keep: is empty (fields (dotted) of a document that go to the "
		"trainer beside its tokens, as they are: `[id, answer]`; at most 64 KiB a "
		"document; "
		"needs `packing: none`)"},
	};

	(void)unused;
	ASSERT_REFUSED(rows);
	assert_opens(8, "    train: x\n    live: true\n    on_dry: lend\n    catch_up: 1");
	assert_opens(8, "    train: x\n    live: true\n    on_dry: lend\n    catch_up: 1000");
	assert_opens(8, "    train: x\n    max_epochs: 2147483647");
}

static void
test_the_fields_that_are_kept_are_bounded(void **unused)
{
	char text[1024] = "    train: x\n    packing: none\n    keep: [";

	(void)unused;
	for (int i = 0; i < CONFIG_FIELDS_MAX; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%sf%d",
		    i == 0 ? "" : ",", i);
	snprintf(text + strlen(text), sizeof(text) - strlen(text), "]");
	assert_opens(8, text);
	snprintf(text + strlen(text) - 1, sizeof(text) - strlen(text) + 1, ",more]");
	assert_refused(8, text, "10: domains.code.keep: has 65 entries (at most 64)");
}

static void
test_a_key_without_effect_is_refused(void **unused)
{
	static const struct row rows[] = {
	    {8, "    train: x\n    over_long: split",
		"9: domains.code.over_long: has no effect without packing: none; what else is "
		"packed is cut where it must be"},
	    {8, "    train: x\n    packing: best_fit\n    over_long: reject",
		"10: domains.code.over_long: has no effect without packing: none; what else is "
		"packed is cut where it must be"},
	    {8, "    train: x\n    prompt: p\n    response: r",
		"9: domains.code.prompt: needs packing: none: a loss mask is that of one document "
		"a sequence"},
	    {8, "    train: x\n    packing: none\n    response: r",
		"10: domains.code.response: has no effect without prompt: the field in front of "
		"it"},
	    {8, "    train: x\n    packing: none\n    prompt: p\n    text: text",
		"11: domains.code.text: has no effect beside prompt: a document is its prompt and "
		"its response"},
	    {8, "    train: x\n    packing: none\n    prompt: p\n    no_target: skip",
		"11: domains.code.no_target: skip needs response: prompts alone have no target, "
		"so that nothing would remain"},
	    {8, "    train: x\n    packing: best_fit\n    keep: id",
		"10: domains.code.keep: needs packing: none: what is kept is that of one document "
		"a sequence"},
	    {8, "    train: x\n    on_dry: wait",
		"9: domains.code.on_dry: has no effect without live: true; only a domain whose "
		"data keep arriving can be dry"},
	    {6, "    exec: cat web\n    file_order: listed",
		"7: domains.web.file_order: has no effect without train, valid or test files"},
	    {8, "    train: x\n    live: true\n    file_order: listed",
		"10: domains.code.file_order: listed cannot be given with live: true: files that "
		"keep arriving are read as they come"},
	    {8, "    train: x\n    live: true\n    catch_up: 2",
		"10: domains.code.catch_up: has no effect without on_dry: lend: where nothing is "
		"lent, nothing is paid back"},
	    {10, "  name: m\n  anneal_start_step: 5",
		"11: mix.anneal_start_step: has no effect without mix.anneal_weights: the weights "
		"from that step on"},
	    {10, "  name: m\n  anneal_weights: {web: 1}",
		"11: mix.anneal_weights: has no effect without mix.anneal_start_step: the step "
		"from which they hold"},
	    {10, "  name: m\n  phases: [{start_step: 5, weights: {}}]",
		"11: mix.phases[0].weights: is empty (leave it out where `mix.weights` is to hold "
		"again)"},
	    {10, "  name: m\n  phases: []",
		"11: mix.phases: is an empty list (leave it out where there are no phases)"},
	};

	(void)unused;
	ASSERT_REFUSED(rows);
	assert_opens(8, "    train: x\n    packing: none\n    prompt: p");
	assert_opens(8, "    train: x\n    packing: none\n    text: t\n    keep: id");
	assert_opens(8, "    train: x\n    live: true\n    on_dry: wait");
	assert_opens(8, "    train: x\n    live: true\n    file_order: name");
	assert_opens(6, "    exec: cat web\n    valid: v\n    file_order: listed");
}

static void
test_keys_that_exclude_each_other_are_refused(void **unused)
{
	static const struct row rows[] = {
	    {10, "  name: m\n  schedule: greedy\n  weights_unit: tokens",
		"12: mix.weights_unit: tokens needs schedule: deficit, the only one that can "
		"count in tokens"},
	    {10, "  name: m\n  schedule: random\n  epoch_size: 8",
		"12: mix.epoch_size: needs schedule: deficit, the only one that draws exact "
		"counts"},
	    {10, "  name: m\n  weights_unit: tokens\n  epoch_size: largest",
		"12: mix.epoch_size: counts draws, so that it needs weights_unit: sequences"},
	};

	(void)unused;
	ASSERT_REFUSED(rows);
}

static void
test_what_needs_a_length_or_a_debt_excludes_live_domains(void **unused)
{
	static const struct {
		const char *keys, *mix, *expected;
	} rows[] = {
	    {"", "epoch_size: 8",
		"6: mix.epoch_size: cannot be given with a live domain, a (line 4): what keeps "
		"arriving has no length, and rounds no exact counts"},
	    {"", "epoch_size: largest",
		"6: mix.epoch_size: cannot be given with a live domain, a (line 4): what keeps "
		"arriving has no length, and rounds no exact counts"},
	    {"", "weights: size",
		"6: mix.weights: size cannot be given with a live domain, a (line 4): what keeps "
		"arriving has no size"},
	    {", on_dry: lend", "schedule: greedy",
		"4: domains.a.on_dry: lend needs mix.schedule: deficit, the only one that keeps "
		"debts"},
	    {", on_dry: lend", "schedule: random",
		"4: domains.a.on_dry: lend needs mix.schedule: deficit, the only one that keeps "
		"debts"},
	    {", on_dry: lend", "weights_unit: tokens",
		"4: domains.a.on_dry: lend counts debts in draws, so that it needs "
		"mix.weights_unit: sequences"},
	    {", on_dry: wait", "weights_unit: tokens", NULL},
	    {", on_dry: wait", "schedule: greedy", NULL},
	    {", on_dry: lend", "schedule: deficit", NULL},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, keys) {
		char text[256];
		struct config *c;
		struct failure f;

		snprintf(text, sizeof(text),
		    "domains: {a: {train: x, live: true%s}}\n"
		    "mix: {name: m, global_batch: 1, lanes: 1, %s\n %s}\n",
		    rows[i].keys,
		    strncmp(rows[i].mix, "weights:", 8) == 0 ? "" : "weights: uniform,",
		    rows[i].mix);
		open_corpus(&c, text, &f);
		assert_true((c != NULL) == (rows[i].expected == NULL));
		if (c == NULL)
			assert_string_equal(strstr(f.text, "run.yml:") + 8, rows[i].expected);
		config_close(c);
	}
}

/* The phases of KempnerForge's page, and each that it refuses. */
static void
test_phases_that_cannot_be_are_refused(void **unused)
{
#define PHASES "  name: m\n  phases:\n    - {start_step: 100, weights: {web: 1}}\n"
	static const struct row rows[] = {
	    {10, PHASES "    - {start_step: 100}",
		"13: mix.phases[1].start_step: does not increase: 100 (above 100, that of phase "
		"phase-1, line 12)"},
	    {10, PHASES "    - {start_step: 99}",
		"13: mix.phases[1].start_step: does not increase: 99 (above 100, that of phase "
		"phase-1, line 12)"},
	    {10, PHASES "    - {start_step: 200, lr_scale: 0}",
		"13: mix.phases[1].lr_scale: out of range: 0 (a number above 0)"},
	    {10, PHASES "    - {start_step: 200, lr_scale: -0.3}",
		"13: mix.phases[1].lr_scale: out of range: -0.3 (a number above 0)"},
	    {10, PHASES "    - {start_step: 200, lr_scale: .nan}",
		"13: mix.phases[1].lr_scale: not a finite number: .nan (a number above 0)"},
	    {10, PHASES "    - {start_step: 200, temperature: 0}",
		"13: mix.phases[1].temperature: out of range: 0 (a number above 0)"},
	    {10, PHASES "    - {start_step: 200, name: phase-1}",
		"13: mix.phases[1].name: is that of the phase in line 12 too: phase-1 (names are "
		"distinct)"},
	    {10, PHASES "    - {start_step: 200, name: a b}",
		"13: mix.phases[1].name: not a name: a b (letters, digits, '.', '_', '-', at most "
		"100, a letter or digit first)"},
	    {10, PHASES "    - {weights: {web: 1}}",
		"13: mix.phases[1].start_step: is missing (first step of the phase; larger than "
		"that of the phase before)"},
	    {10, PHASES "    - {start_step: -1}",
		"13: mix.phases[1].start_step: not a whole number: -1 (0 to 4611686018427387904)"},
	    {10, PHASES "    - {start_step: 4611686018427387905}",
		"13: mix.phases[1].start_step: out of range: 4611686018427387905 (0 to "
		"4611686018427387904)"},
	    {10, PHASES "    - {start_step: 200, strat_step: 3}",
		"13: mix.phases[1].strat_step: unknown key; did you mean start_step?"},
	    {10, PHASES "    - {start_step: 200, wieghts: {web: 1}}",
		"13: mix.phases[1].wieghts: unknown key; did you mean weights?"},
	    {10, PHASES "    - {start_step: 200, weights: {wbe: 1}}",
		"13: mix.phases[1].weights.wbe: a weight without a domain: `domains` has no wbe; "
		"did you mean web?"},
	    {10, PHASES "    - {start_step: 200, weights: {web: -1}}",
		"13: mix.phases[1].weights.web: is negative: -1 (at least 0)"},
	    {10, PHASES "    - {start_step: 200, weights: {web: .nan}}",
		"13: mix.phases[1].weights.web: not a finite number: .nan (a number, at least 0)"},
	    {10, PHASES "    - start_step: 200\n      weights: {web: 0, code: 0}",
		"14: mix.phases[1].weights: all are 0, with those of `mix.weights` for domains "
		"that are not named (at least one above 0)"},
	    {10, PHASES "    - {start_step: 200, weights: uniform}",
		"13: mix.phases[1].weights: is a text (must be a map of keys and values)"},
	    {10, PHASES "    - anneal",
		"13: mix.phases[1]: is a text (must be a map of keys and values)"},
	    {10, PHASES "  anneal_start_step: 300\n  anneal_weights: {web: 1}",
		"13: mix.anneal_start_step: stands beside mix.phases (line 11): write the change "
		"as one of the phases, or leave these out"},
	    {10, PHASES "  anneal_weights: {web: 1}",
		"13: mix.anneal_weights: stands beside mix.phases (line 11): write the change as "
		"one of the phases, or leave these out"},
	    {10, "  name: m\n  phases: {start_step: 3}",
		"11: mix.phases: is a map (must be a list of maps, each with a start_step)"},
	    {10, "  name: m\n  phases:",
		"11: mix.phases: is empty (must be a list of maps, each with a start_step)"},
	    {10, "  name: m\n  phases: soon",
		"11: mix.phases: is a text (must be a list of maps, each with a start_step)"},
	    {10, "  name: m\n  anneal_start_step: x\n  anneal_weights: {web: 1}",
		"11: mix.anneal_start_step: not a whole number: x (0 to 4611686018427387904)"},
	    {10, "  name: m\n  anneal_start_step: 3\n  anneal_weights: {wbe: 1}",
		"12: mix.anneal_weights.wbe: a weight without a domain: `domains` has no wbe; did "
		"you mean web?"},
	    {10, "  name: m\n  anneal_start_step: 3\n  anneal_weights: {web: 0, code: 0.0}",
		"12: mix.anneal_weights: all are 0, with those of `mix.weights` for domains that "
		"are not named (at least one above 0)"},
	    {10, "  name: m\n  \"phases[]\": {name: x}",
		"11: mix.phases[]: unknown key; did you mean phases?"},
	};

	(void)unused;
	ASSERT_REFUSED(rows);
	assert_opens(
	    10, PHASES "    - {start_step: 101, lr_scale: 1e-9, name: x, weights: {web: 0}}");
}

static void
test_a_phase_falls_back_to_base_weights_that_may_be_zero(void **unused)
{
	static const char format[] =
	    "  weights: {web: 1, code: 0}\n  phases: [{start_step: 1, weights: {web: %s}}]";
	char text[128];

	(void)unused;
	snprintf(text, sizeof(text), format, "0");
	assert_refused(13, text,
	    "14: mix.phases[0].weights: all are 0, with those of `mix.weights` for domains that "
	    "are not named (at least one above 0)");
	snprintf(text, sizeof(text), format, "1e-9");
	assert_opens(13, text);
	/* By size no domain's weight is known, and none is taken for 0. */
	assert_opens(13, "  weights: size\n  phases: [{start_step: 1, weights: {web: 0}}]");
}

static void
test_anneal_is_a_phase_in_short(void **unused)
{
	struct config *c = mix_with("  anneal_start_step: 7\n  anneal_weights: {web: 3}");
	const struct config_phase *p = c->mix.phases;

	(void)unused;
	assert_int_equal(c->mix.phases_n, 1);
	assert_string_equal(p->name, "anneal");
	assert_int_equal(p->start_step, 7);
	assert_true(isnan(p->weight[0]) && p->weight[1] == 3);
	assert_true(p->temperature == 0 && p->lr_scale == 1);
	assert_int_equal(p->line, 11);
	config_close(c);
}

static void
test_the_number_of_phases_is_bounded(void **unused)
{
	size_t room = 64 * (LIMIT_PHASES + 2), used;
	char *text = malloc(room);

	(void)unused;
	used = (size_t)snprintf(text, room, "  name: m\n  phases:");
	for (int i = 0; i < LIMIT_PHASES; i++)
		used += (size_t)snprintf(text + used, room - used, "\n  - {start_step: %d}", i);
	assert_opens(10, text);
	snprintf(text + used, room - used, "\n  - {start_step: 9999}");
	assert_refused(10, text, "11: mix.phases: has 1025 phases (at most 1024)");
	free(text);
}

static void
test_a_round_has_a_draw_for_each_domain_with_a_weight(void **unused)
{
	static const struct row rows[] = {
	    {10, "  name: m\n  epoch_size: 1",
		"11: mix.epoch_size: out of range: 1 (at least a draw for each of the 2 domains "
		"with a weight)"},
	    {13,
		"  weights: {web: 1, code: 0}\n  epoch_size: 1\n"
		"  phases: [{start_step: 9, name: both, weights: {code: 1}}]",
		"14: mix.epoch_size: out of range: 1 (at least a draw for each of the 2 domains "
		"with a weight in phase both)"},
	};

	(void)unused;
	ASSERT_REFUSED(rows);
	assert_opens(10, "  name: m\n  epoch_size: 2");
	assert_opens(13, "  weights: {web: 1, code: 0}\n  epoch_size: 1");
}

static void
test_a_file_of_weights_is_read(void **unused)
{
	static const char *const texts[] = {"{\"web\": 0.75, \"code\": 0.25}",
	    " {\n\"code\": 2.5e-1,\n\"web\": 0.75}\n",
	    /* DoReMi's form; what it evaluates may be other domains. */
	    ("{\"train_domain_weights\": {\"web\": 0.75, \"code\": 0.25}, "
	     "\"eval_domain_weights\": {\"books\": 1}}")};
	struct config *c;
	struct failure f = {0};

	(void)unused;
	EACH_ROW(i, texts) {
		folder_text("w.json", texts[i]);
		open_with(&c, 13, "  weights: w.json", &f);
		assert_string_equal(f.text, "");
		assert_int_equal(c->mix.weights_kind, CONFIG_WEIGHTS_MAP);
		assert_true(c->mix.weight[0] == 0.25 && c->mix.weight[1] == 0.75);
		config_close(c);
	}
	folder_text("w.json", "{\"web\": 30, \"code\": 70}");
	open_with(&c, 13, "  weights: w.json", &f);
	assert_true(c->mix.weight[0] == 70 && c->mix.weight[1] == 30);
	config_close(c);
}

static void
test_a_wrong_file_of_weights_names_file_and_key(void **unused)
{
	static const struct {
		const char *json, *expected;
	} rows[] = {
	    {"{\"web\": 1}",
		"13: mix.weights: a domain without a weight: `domains` has code (line 7), w.json "
		"has not: add `\"code\": NUMBER`; 0 draws nothing of it"},
	    {"{\"web\": 1, \"code\": 1, \"wiki\": 1}",
		"13: mix.weights: w.json: wiki: a weight without a domain: `domains` has no wiki"},
	    {"{\"web\": 1, \"cod\": 1}",
		"13: mix.weights: w.json: cod: a weight without a domain: `domains` has no cod; "
		"did you mean code?"},
	    {"{\"train_domain_weights\": {\"web\": 1}, \"eval_domain_weights\": {\"code\": 1}}",
		"13: mix.weights: a domain without a weight: `domains` has code (line 7), w.json "
		"has not: add `\"code\": NUMBER`; 0 draws nothing of it"},
	    {"{\"train_domain_weights\": 1}",
		"13: mix.weights: w.json: train_domain_weights: a weight without a domain: "
		"`domains` has no train_domain_weights"},
	    {"{\"web\": 1, \"code\": -0.5}",
		"13: mix.weights: w.json: code: is negative: -0.5 (at least 0)"},
	    {"{\"web\": 1, \"code\": \"1\"}",
		"13: mix.weights: w.json: code: is not a number (a number, at least 0)"},
	    {"{\"web\": 1, \"code\": null}",
		"13: mix.weights: w.json: code: is not a number (a number, at least 0)"},
	    {"{\"web\": 0, \"code\": 0}",
		"13: mix.weights: w.json: all are 0 (at least one above 0)"},
	    {"[1, 2]",
		"13: mix.weights: w.json: is not a map from domain to number, {\"web\": 0.7, ...}"},
	    {"{\"web\": 1,\n \"web\": 2}", "13: mix.weights: w.json:2: not JSON: duplicate object"},
	    {"{\"web\": NaN}", "13: mix.weights: w.json:1: not JSON: invalid token near 'NaN'"},
	    {"{\"web\": 1e999}", "13: mix.weights: w.json:1: not JSON: real number overflow"},
	    {"", "13: mix.weights: w.json:1: not JSON: '[' or '{' expected near end of file"},
	    {"{\"web\": 1", "13: mix.weights: w.json:1: not JSON: '}' expected near end of file"},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, json) {
		struct config *c;
		struct failure f;

		folder_text("w.json", rows[i].json);
		assert_int_equal(open_with(&c, 13, "  weights: w.json", &f), FAIL_CONFIG);
		assert_non_null(strstr(f.text, "run.yml:"));
		f.text[strlen(folder_path("run.yml:")) + strlen(rows[i].expected)] = '\0';
		assert_string_equal(strstr(f.text, "run.yml:") + 8, rows[i].expected);
	}
}

static void
test_a_file_of_weights_that_cannot_be_read(void **unused)
{
	char *big = malloc(CONFIG_WEIGHTS_BYTES_MAX + 2), expected[512];

	(void)unused;
	snprintf(expected, sizeof(expected),
	    "13: mix.weights: opening %s/none.json: No such file or directory", folder);
	assert_refused(13, "  weights: none.json", expected);
	folder_make("dir.json");
	assert_refused(
	    13, "  weights: dir.json", "13: mix.weights: reading dir.json: Is a directory");
	memset(big, ' ', CONFIG_WEIGHTS_BYTES_MAX + 1);
	memcpy(big, "{\"web\": 1, \"code\": 1}", 21);
	folder_write("big.json", big, CONFIG_WEIGHTS_BYTES_MAX);
	assert_opens(13, "  weights: big.json");
	folder_write("big.json", big, CONFIG_WEIGHTS_BYTES_MAX + 1);
	assert_refused(
	    13, "  weights: big.json", "13: mix.weights: big.json: has more than 16777216 bytes");
	free(big);
}

static void
test_weights_by_size_are_left_to_those_who_know_the_sizes(void **unused)
{
	static const char *const line[] = {"  weights: size", ""};
	struct config *c;
	struct failure f;

	(void)unused;
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(open_with(&c, 13, line[i], &f), FAIL_NONE);
		assert_int_equal(c->mix.weights_kind, CONFIG_WEIGHTS_SIZE);
		assert_true(isnan(c->mix.weight[0]) && isnan(c->mix.weight[1]));
		assert_true(isnan(config_weights_sum(c, NULL)));
		assert_false(config_never_drawn(c, 0));
		config_close(c);
	}
}

/* ---- domains_from ---- */

/* Makes data/a/x.jsonl and so on, where they are not there yet. */
static void
make_folders(const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char name[256];

		for (const char *slash = strchr(names[i], '/'); slash != NULL;
		     slash = strchr(slash + 1, '/')) {
			snprintf(name, sizeof(name), "%.*s", (int)(slash - names[i]), names[i]);
			mkdir(folder_path(name), 0755);
		}
		if (names[i][strlen(names[i]) - 1] != '/')
			folder_text(names[i], "");
	}
}

static void
check_list(const struct config_list *l, size_t leave, const char *expected)
{
	char all[512] = "";

	for (size_t k = 0; k < l->n; k++)
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s", k == 0 ? "" : " ",
		    l->text[k] + leave);
	assert_string_equal(all, expected);
}

static void
check_train(const struct config *c, const char *domain, const char *expected)
{
	int i = config_domain_index(c, domain);

	assert_true(i >= 0);
	check_list(&c->domains[i].train, 0, expected);
}

static void
check_left_out(const struct config *c, const char *domain, size_t n, const char *expected)
{
	int i = config_domain_index(c, domain);

	assert_true(i >= 0);
	assert_int_equal(c->domains[i].left_out_n, n);
	check_list(&c->domains[i].left_out, strlen(folder_path("")), expected);
}

static void
test_each_sub_folder_is_a_domain(void **unused)
{
	static const char *const files[] = {"data/web/a.jsonl", "data/web/b.jsonl.zst",
	    "data/web/notes.md", "data/web/.c.txt", "data/code/x.txt.gz", "data/code/sub.json/",
	    "data/arxiv/p.json", "data/.hidden/x.txt", "data/README.txt"};
	struct config *c;
	struct failure f;

	(void)unused;
	make_folders(files, sizeof(files) / sizeof(files[0]));
	assert_int_equal(symlink("web", folder_path("data/linked")), 0);
	open_corpus(&c,
	    "domains_from: data/\n"
	    "domains:\n"
	    "  zoo: {exec: ./zoo}\n"
	    "  code: {on_end: drop}\n"
	    "  arxiv: {exec: ./arxiv}\n"
	    "mix: {name: m, global_batch: 1, lanes: 1,\n"
	    "  weights: {arxiv: 1, code: 1, linked: 0, web: 1, zoo: 1}}\n",
	    &f);
	assert_string_equal(f.text, "");
	assert_string_equal(c->domains_from, "data/");
	assert_int_equal(c->domains_n, 5);
	for (size_t i = 1; i < c->domains_n; i++)
		assert_true(strcmp(c->domains[i - 1].name, c->domains[i].name) < 0);
	check_train(c, "web", "data/web/*.jsonl data/web/*.jsonl.zst");
	check_train(c, "linked", "data/linked/*.jsonl data/linked/*.jsonl.zst");
	check_train(c, "code", "data/code/*.txt.gz");
	check_train(c, "arxiv", "");
	assert_int_equal(c->domains[config_domain_index(c, "code")].on_end, MIX_END_DROP);
	assert_int_equal(c->domains[config_domain_index(c, "web")].on_end, MIX_END_REPEAT);
	assert_int_equal(c->domains[config_domain_index(c, "web")].partitions, 1);
	assert_string_equal(c->domains[config_domain_index(c, "web")].text, "text");
	assert_int_equal(c->domains[config_domain_index(c, "web")].line, 4);
	assert_int_equal(c->domains[config_domain_index(c, "code")].line, 7);
	config_close(c);
}

static void
test_what_a_sub_folder_has_and_a_domain_does_not_take_is_noted(void **unused)
{
	static const char *const files[] = {"left/web/a.jsonl", "left/web/b.ndjson",
	    "left/web/c.jsonl.zstd", "left/web/d.JSONL", "left/web/2024/x.jsonl", "left/web/e.txt/",
	    "left/web/.hidden", "left/code/x.txt", "left/own/y.md", "left/z.txt"};
	struct config *c;
	struct failure f;

	(void)unused;
	make_folders(files, sizeof(files) / sizeof(files[0]));
	assert_int_equal(symlink("nowhere", folder_path("left/web/f.jsonl")), 0);
	open_corpus(&c, "domains_from: left//\ndomains: {own: {exec: ./own}}\n", &f);
	assert_string_equal(f.text, "");
	check_left_out(c, "web", 6,
	    "left/web/2024 left/web/b.ndjson left/web/c.jsonl.zstd left/web/d.JSONL "
	    "left/web/e.txt left/web/f.jsonl");
	check_left_out(c, "code", 0, "");
	check_left_out(c, "own", 0, "");
	config_close(c);
}

static void
test_of_what_is_left_out_so_many_are_named(void **unused)
{
	char name[64];

	(void)unused;
	make_folders((const char *const[]){"many/web/a.jsonl"}, 1);
	for (int i = 0; i <= CONFIG_LEFT_OUT_MAX; i++) {
		struct config *c;
		struct failure f;

		snprintf(name, sizeof(name), "many/web/%d", i);
		folder_text(name, "");
		if (i + 2 < CONFIG_LEFT_OUT_MAX)
			continue;
		open_corpus(&c, "domains_from: many\n", &f);
		assert_int_equal(c->domains[0].left_out_n, i + 1);
		assert_int_equal(c->domains[0].left_out.n,
		    i + 1 < CONFIG_LEFT_OUT_MAX ? i + 1 : CONFIG_LEFT_OUT_MAX);
		config_close(c);
	}
}

static void
test_a_live_sub_folder_takes_whatever_will_arrive(void **unused)
{
	static const char *const files[] = {"live/news/"};
	struct config *c;
	struct failure f;

	(void)unused;
	make_folders(files, 1);
	open_corpus(&c, "domains_from: live\ndomains: {news: {live: true}}\n", &f);
	assert_string_equal(f.text, "");
	check_train(c, "news",
	    "live/news/*.jsonl live/news/*.jsonl.gz live/news/*.jsonl.zst live/news/*.json "
	    "live/news/*.json.gz live/news/*.json.zst live/news/*.txt live/news/*.txt.gz "
	    "live/news/*.txt.zst");
	config_close(c);
}

static void
test_the_folder_s_name_is_taken_as_it_is(void **unused)
{
	static const char *const files[] = {"odd {a,b}*/x/a.txt"};
	struct config *c;
	struct failure f;

	(void)unused;
	make_folders(files, 1);
	open_corpus(&c, "domains_from: odd {a,b}*//\n", &f);
	assert_string_equal(f.text, "");
	check_train(c, "x", "odd \\{a\\,b\\}\\*/x/*.txt");
	config_close(c);
}

static void
test_a_folder_that_gives_no_domains_is_refused(void **unused)
{
	static const char *const files[] = {"none/file.txt", "empty/web/", "empty/web/a.parquet",
	    "bad/a b/x.txt", "taken/rejects/x.txt", "good/web/x.txt"};
	static const struct {
		const char *lines, *expected;
	} rows[] = {
	    {"domains_from: nowhere",
		"4: domains_from: reading folder FOLDER/nowhere: No such file or directory"},
	    {"domains_from: goood", "4: domains_from: reading folder FOLDER/goood: No such file or "
				    "directory (did you mean "},
	    {"domains_from: none/file.txt",
		"4: domains_from: reading folder FOLDER/none/file.txt: Not a directory"},
	    {"domains_from: none", "4: domains_from: FOLDER/none has no sub-folder"},
	    {"domains_from: empty",
		"4: domains_from: sub-folder web of empty has no file *.jsonl, *.json or *.txt, "
		"plain, .gz or .zst: put one there, or give domains.web.train or .exec"},
	    {"domains_from: bad",
		"4: domains_from: sub-folder a b of FOLDER/bad: not a name of a domain (letters, "
		"digits, '.', '_', '-', at most 100, a letter or digit first): rename it"},
	    {"domains_from: taken",
		"4: domains.rejects: the name is taken: <corpus>.rejects holds what could not be "
		"read"},
	    {"domains_from: good\ndomains: {wbe: {on_end: drop}}",
		"5: domains.wbe: has no source: the folder of domains_from has no sub-folder of "
		"that name; make one, or give train (files) or exec (a program)"},
	    {"domains_from: [good]", "4: domains_from: is a list (must be one value)"},
	    {"domains_from:\ndomains: {a: {train: x}}",
		"4: domains_from: has no value (a folder, each of whose sub-folders"},
	    {"domains_from: good\nmix: {name: m, global_batch: 1, lanes: 1, weights: {wb: 1}}",
		"5: mix.weights.wb: a weight without a domain: `domains` has no wb; did you mean "
		"web?"},
	};

	(void)unused;
	make_folders(files, sizeof(files) / sizeof(files[0]));
	EACH_NAMED_ROW(i, rows, lines) {
		struct config *c;
		struct failure f;
		char expected[1024] = "";
		const char *at = strstr(rows[i].expected, "FOLDER"), *found;

		assert_int_equal(open_corpus(&c, rows[i].lines, &f), FAIL_CONFIG);
		if (at == NULL)
			snprintf(expected, sizeof(expected), "%s", rows[i].expected);
		else
			snprintf(expected, sizeof(expected), "%.*s%s%s",
			    (int)(at - rows[i].expected), rows[i].expected, folder, at + 6);
		found = strstr(f.text, "run.yml:");
		assert_non_null(found);
		f.text[(size_t)(found - f.text) + 8 + strlen(expected)] = '\0';
		assert_string_equal(found + 8, expected);
	}
	{
		struct config *c;
		struct failure f;

		open_corpus(&c, "domains_from: empty\ndomains: {web: {train: a}}\n", &f);
		assert_string_equal(f.text, "");
		check_train(c, "web", "a");
		config_close(c);
	}
}

static void
test_what_is_kept_counts_in_a_lane_s_record(void **unused)
{
	static const char format[] =
	    "domains: {a: {train: x, packing: none%s}}\n"
	    "mix: {name: m, global_batch: 1200, lanes: 1, weights: uniform}\n";
	struct config *c;
	struct failure f;
	char text[256];

	(void)unused;
	snprintf(text, sizeof(text), format, "");
	assert_int_equal(open_corpus(&c, text, &f), FAIL_NONE);
	assert_int_equal(topic_plan_sequence_bytes(c, 3), 9 * 3 + 64);
	config_close(c);
	snprintf(text, sizeof(text), format, ", keep: id");
	assert_int_equal(open_corpus(&c, text, &f), FAIL_CONFIG);
	assert_non_null(strstr(f.text, "run.yml:5: mix.lanes: one lane's record could be 7875"));
	assert_non_null(strstr(f.text, "(use more lanes: at most 1020 sequences of 8 tokens"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_all_that_a_mix_can_say_arrives),
	    cmocka_unit_test(test_what_a_file_does_not_say_has_its_default),
	    cmocka_unit_test(test_every_choice_is_told_from_the_others),
	    cmocka_unit_test(test_values_out_of_range_are_refused),
	    cmocka_unit_test(test_the_fields_that_are_kept_are_bounded),
	    cmocka_unit_test(test_a_key_without_effect_is_refused),
	    cmocka_unit_test(test_keys_that_exclude_each_other_are_refused),
	    cmocka_unit_test(test_what_needs_a_length_or_a_debt_excludes_live_domains),
	    cmocka_unit_test(test_phases_that_cannot_be_are_refused),
	    cmocka_unit_test(test_a_phase_falls_back_to_base_weights_that_may_be_zero),
	    cmocka_unit_test(test_anneal_is_a_phase_in_short),
	    cmocka_unit_test(test_the_number_of_phases_is_bounded),
	    cmocka_unit_test(test_a_round_has_a_draw_for_each_domain_with_a_weight),
	    cmocka_unit_test(test_a_file_of_weights_is_read),
	    cmocka_unit_test(test_a_wrong_file_of_weights_names_file_and_key),
	    cmocka_unit_test(test_a_file_of_weights_that_cannot_be_read),
	    cmocka_unit_test(test_weights_by_size_are_left_to_those_who_know_the_sizes),
	    cmocka_unit_test(test_each_sub_folder_is_a_domain),
	    cmocka_unit_test(test_what_a_sub_folder_has_and_a_domain_does_not_take_is_noted),
	    cmocka_unit_test(test_of_what_is_left_out_so_many_are_named),
	    cmocka_unit_test(test_a_live_sub_folder_takes_whatever_will_arrive),
	    cmocka_unit_test(test_the_folder_s_name_is_taken_as_it_is),
	    cmocka_unit_test(test_a_folder_that_gives_no_domains_is_refused),
	    cmocka_unit_test(test_what_is_kept_counts_in_a_lane_s_record),
	};

	return cmocka_run_group_tests_name("config_mix", tests, folder_open, folder_close);
}
