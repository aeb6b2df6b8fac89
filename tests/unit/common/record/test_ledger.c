#include "common/record/ledger.h"

#include "common/record/control.h"
#include "common/record/feedback.h"
#include "common/record/schema.h"
#include "tests/unit/vector.h"

#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <strings.h>

/* ---- the values of tests/python/golden_values.py ---- */

static struct ledger_partition code_partition[] = {{301, true, 302, 7}, {12, false, 12, 8}};
static struct ledger_domain sample_domain[] = {
    {.name = "code",
	.index = 0,
	.state = LEDGER_ACTIVE,
	.weight = UINT32_MAX,
	.round_weight = 77,
	.raw_weight = 0.3,
	.base_weight = 0.25,
	.live = true,
	.credit = -(INT64_C(1) << 32),
	.greedy_count = 1,
	.taken = 3000,
	.tokens = 24000,
	.epoch = 9,
	.position = 14,
	.owed = 3,
	.repay = UINT32_MAX,
	.partition = code_partition,
	.partitions_n = 2},
    {.name = "web",
	.index = 5,
	.state = LEDGER_LEFT,
	.weight = UINT64_C(1) << 63,
	.raw_weight = 0.7,
	.base_weight = 0.75,
	.joined = true,
	.credit = INT64_C(1) << 32,
	.taken = 3400,
	.tokens = 27200,
	.position = 3400,
	.owed = 2},
};
static struct ledger_raw_weight sample_weight[] = {{"code", 0.25}};
static struct ledger_change sample_pending[] = {{.id = "r-2",
    .step = 164,
    .kind = LEDGER_UNDO,
    .weight = sample_weight,
    .weights_n = 1,
    .temperature = 1.5,
    .lr_scale = 0.125,
    .global_batch = 128,
    .domain = "web",
    .partition = 2,
    .first = 17,
    .end = 19,
    .who = "user@host"}};
static struct ledger_skip sample_skip[] = {{5, 1, 10, 20}};
static struct ledger_quarantined sample_quarantined[] = {{0, 0, 77, "bad hash"}};
static char *sample_request_id[] = {"r-1", "r-2"};
static struct ledger_answer sample_answer[] = {
    {"r-2", true, 164, "web leaves"}, {"r-3", false, -1, "no such domain: \xc3\xa9"}};
static struct ledger_run sample_run[] = {{"trainers", 36}};

static const struct ledger sample = {
    .kind = LEDGER_STEPS,
    .mix = "pretrain",
    .mixer = UINT64_C(0xa1a2a3a4a5a6a7a8),
    .schedule = UINT64_C(0x1122334455667788),
    .config = "{\"fixed\": {}, \"changeable\": {}}",
    .tokenizer = UINT64_C(0xfedcba9876543210),
    .step_first = 96,
    .step_next = 100,
    .draws = 6400,
    .choices = 0x5566,
    .version = 2,
    .version_step = 50,
    .reason = LEDGER_BY_REQUEST,
    .reason_id = "r-1",
    .phase = "warm",
    .lr_scale = 0.5,
    .temperature = 2,
    .global_batch = 64,
    .greedy_draws = 11,
    .base = UINT64_C(0x0102030405060708),
    .epoch_size = 1000,
    .round = 12,
    .round_draws = 13,
    .domain = sample_domain,
    .domains_n = 2,
    .pending = sample_pending,
    .pending_n = 1,
    .skip = sample_skip,
    .skips_n = 1,
    .quarantined = sample_quarantined,
    .quarantined_n = 1,
    .control_next = 4,
    .request_id = sample_request_id,
    .request_ids_n = 2,
    .answer = sample_answer,
    .answers_n = 2,
    .run = sample_run,
    .runs_n = 1,
};

static const struct control sample_batch = {
    .id = "r-13",
    .kind = LEDGER_WEIGHTS,
    .at_step = -1,
    .partition = -1,
    .who = "user@host",
    .global_batch = 256,
};

static struct feedback_loss sample_loss[] = {{"code", 12.5, 0.5, 16}, {"web", 25, 0, 8}};
static const struct feedback sample_feedback = {
    .mix = "pretrain",
    .run = "trainers",
    .step = 99,
    .rank = 1,
    .world = 2,
    .loss = sample_loss,
    .losses_n = 2,
};

static enum fail_code
decode_ledger(const uint8_t *bytes, size_t n, struct failure *f)
{
	struct ledger l;
	enum fail_code code = ledger_decode(&l, bytes, n, f);

	if (code == FAIL_NONE)
		ledger_clear(&l);
	assert_null(l.mix);
	assert_int_equal(l.domains_n, 0);
	return code;
}

static enum fail_code
decode_control(const uint8_t *bytes, size_t n, struct failure *f)
{
	struct control c;
	enum fail_code code = control_decode(&c, bytes, n, f);

	control_clear(&c);
	return code;
}

static enum fail_code
decode_feedback(const uint8_t *bytes, size_t n, struct failure *f)
{
	struct feedback b;
	enum fail_code code = feedback_decode(&b, bytes, n, f);

	feedback_clear(&b);
	return code;
}

/* ---- golden bytes ---- */

static void
test_records_have_the_golden_bytes(void **unused)
{
	static const char *const name[] = {"ledger_batch", "control_batch", "feedback"};

	(void)unused;
	for (size_t i = 0; i < 3; i++) {
		struct vector golden = vector_read(name[i]);
		uint8_t *bytes = NULL;
		size_t n = 0;
		struct failure f;
		enum fail_code code;

		if (i == 0)
			code = ledger_encode(&sample, &bytes, &n, &f);
		else if (i == 1)
			code = control_encode(&sample_batch, &bytes, &n, &f);
		else
			code = feedback_encode(&sample_feedback, &bytes, &n, &f);
		assert_int_equal(code, FAIL_NONE);
		assert_int_equal(n, golden.n);
		assert_memory_equal(bytes, golden.bytes, n);
		free(bytes);
		free(golden.bytes);
	}
}

static void
assert_partitions_equal(const struct ledger_partition *p, const struct ledger_partition *want)
{
	assert_true(p->sequences == want->sequences && p->sealed == want->sealed);
	assert_true(p->sequences_next == want->sequences_next && p->taken == want->taken);
}

static void
assert_domains_equal(const struct ledger *l)
{
	assert_int_equal(l->domains_n, 2);
	for (size_t i = 0; i < 2; i++) {
		const struct ledger_domain *d = &l->domain[i], *want = &sample_domain[i];

		assert_string_equal(d->name, want->name);
		assert_true(d->index == want->index && d->state == want->state);
		assert_true(d->weight == want->weight && d->raw_weight == want->raw_weight);
		assert_true(d->round_weight == want->round_weight);
		assert_true(d->base_weight == want->base_weight && d->repay == want->repay);
		assert_true(d->joined == want->joined && d->live == want->live);
		assert_true(d->credit == want->credit && d->greedy_count == want->greedy_count);
		assert_true(d->taken == want->taken && d->tokens == want->tokens);
		assert_true(d->epoch == want->epoch && d->position == want->position);
		assert_true(d->owed == want->owed && d->partitions_n == want->partitions_n);
		for (size_t k = 0; k < d->partitions_n; k++)
			assert_partitions_equal(&d->partition[k], &want->partition[k]);
	}
}

static void
assert_lists_equal(const struct ledger *l)
{
	const struct ledger_change *c = &l->pending[0];

	assert_true(l->pending_n == 1 && l->skips_n == 1 && l->quarantined_n == 1);
	assert_true(l->request_ids_n == 2 && l->answers_n == 2 && l->runs_n == 1);
	assert_string_equal(c->id, "r-2");
	assert_true(c->step == 164 && c->weights_n == 1);
	assert_string_equal(c->weight[0].domain, "code");
	assert_true(c->weight[0].weight == 0.25 && c->temperature == 1.5 && c->lr_scale == 0.125);
	assert_string_equal(c->domain, "web");
	assert_true(c->partition == 2 && c->first == 17 && c->end == 19);
	assert_string_equal(c->who, "user@host");
	assert_true(l->skip[0].domain == 5 && l->skip[0].partition == 1);
	assert_true(l->skip[0].first == 10 && l->skip[0].end == 20);
	assert_true(l->quarantined[0].domain == 0 && l->quarantined[0].partition == 0);
	assert_true(l->quarantined[0].ordinal == 77);
	assert_string_equal(l->quarantined[0].reason, "bad hash");
	assert_string_equal(l->request_id[0], "r-1");
	assert_string_equal(l->request_id[1], "r-2");
	assert_string_equal(l->answer[0].id, "r-2");
	assert_true(l->answer[0].accepted && l->answer[0].step == 164);
	assert_string_equal(l->answer[0].text, "web leaves");
	assert_true(!l->answer[1].accepted && l->answer[1].step == -1);
	assert_string_equal(l->run[0].name, "trainers");
	assert_int_equal(l->run[0].step, 36);
}

/*
 * The first two were written with earlier schemas: before UNDO, with another pending change, and
 * before a mix could change its batch, which they do not say.
 */
static void
test_the_golden_ledger_has_its_values(void **unused)
{
	static const char *const name[] = {"ledger", "ledger_undo", "ledger_batch"};

	(void)unused;
	for (size_t i = 0; i < 3; i++) {
		struct vector golden = vector_read(name[i]);
		struct ledger l;
		struct failure f;

		assert_int_equal(ledger_decode(&l, golden.bytes, golden.n, &f), FAIL_NONE);
		assert_int_equal(l.kind, LEDGER_STEPS);
		assert_string_equal(l.mix, "pretrain");
		assert_true(l.mixer == sample.mixer && l.schedule == sample.schedule);
		assert_string_equal(l.config, sample.config);
		assert_true(
		    l.tokenizer == sample.tokenizer && l.step_first == 96 && l.step_next == 100);
		assert_true(l.draws == 6400 && l.choices == 0x5566 && l.version == 2);
		assert_true(l.version_step == 50 && l.reason == LEDGER_BY_REQUEST);
		assert_string_equal(l.reason_id, "r-1");
		assert_string_equal(l.phase, "warm");
		assert_true(l.lr_scale == 0.5 && l.temperature == 2);
		assert_true(l.greedy_draws == 11 && l.round == 12 && l.round_draws == 13);
		assert_true(l.base == sample.base && l.epoch_size == 1000);
		assert_int_equal(l.control_next, 4);
		assert_int_equal(l.global_batch, i == 2 ? 64 : 0);
		assert_int_equal(l.pending[0].global_batch, i == 2 ? 128 : 0);
		assert_int_equal(l.pending[0].kind, i == 0 ? LEDGER_LEAVE : LEDGER_UNDO);
		assert_domains_equal(&l);
		assert_lists_equal(&l);
		ledger_clear(&l);
		ledger_clear(&l);
		free(golden.bytes);
	}
}

/*
 * All but the last were written with earlier schemas: before RESET, CANCEL, UNDO, and before a mix
 * could change its batch.
 */
static void
test_the_golden_control_has_its_values(void **unused)
{
	struct vector golden = vector_read("control");
	struct control c;
	struct failure f;

	(void)unused;
	assert_int_equal(control_decode(&c, golden.bytes, golden.n, &f), FAIL_NONE);
	assert_string_equal(c.id, "r-9");
	assert_true(c.kind == LEDGER_SKIP && c.at_step == -1 && c.weights_n == 2);
	assert_string_equal(c.weight[1].domain, "web");
	assert_true(c.weight[1].weight == 0.75 && c.temperature == 1.5 && c.lr_scale == 0.5);
	assert_string_equal(c.domain, "web");
	assert_true(c.partition == 1 && c.first == 100 && c.end == 200);
	assert_string_equal(c.who, "user@host");
	assert_true(c.run == NULL && c.to_step == 0);
	control_clear(&c);
	free(golden.bytes);

	golden = vector_read("control_reset");
	assert_int_equal(control_decode(&c, golden.bytes, golden.n, &f), FAIL_NONE);
	assert_true(c.kind == LEDGER_RESET && c.to_step == 12000 && c.weights_n == 0);
	assert_string_equal(c.run, "trainers");
	assert_true(c.request == NULL);
	control_clear(&c);
	free(golden.bytes);

	golden = vector_read("control_cancel");
	assert_int_equal(control_decode(&c, golden.bytes, golden.n, &f), FAIL_NONE);
	assert_true(c.kind == LEDGER_CANCEL && c.at_step == -1);
	assert_string_equal(c.request, "r-9");
	control_clear(&c);
	free(golden.bytes);

	golden = vector_read("control_undo");
	assert_int_equal(control_decode(&c, golden.bytes, golden.n, &f), FAIL_NONE);
	assert_true(c.kind == LEDGER_UNDO && c.partition == 1 && c.first == 100 && c.end == 200);
	assert_int_equal(c.global_batch, 0);
	control_clear(&c);
	free(golden.bytes);

	golden = vector_read("control_batch");
	assert_int_equal(control_decode(&c, golden.bytes, golden.n, &f), FAIL_NONE);
	assert_true(c.kind == LEDGER_WEIGHTS && c.weights_n == 0 && c.global_batch == 256);
	control_clear(&c);
	free(golden.bytes);
}

static void
test_the_golden_feedback_has_its_values(void **unused)
{
	struct vector golden = vector_read("feedback");
	struct feedback b;
	struct failure f;

	(void)unused;
	assert_int_equal(feedback_decode(&b, golden.bytes, golden.n, &f), FAIL_NONE);
	assert_string_equal(b.mix, "pretrain");
	assert_string_equal(b.run, "trainers");
	assert_true(b.step == 99 && b.rank == 1 && b.world == 2 && b.losses_n == 2);
	assert_string_equal(b.loss[0].domain, "code");
	assert_true(b.loss[0].loss_sum == 12.5 && b.loss[0].excess_sum == 0.5);
	assert_true(b.loss[0].tokens == 16 && b.loss[1].tokens == 8);
	feedback_clear(&b);
	free(golden.bytes);
}

static void
test_an_empty_ledger_is_valid(void **unused)
{
	struct ledger empty = {0}, l;
	uint8_t *bytes = NULL;
	size_t n = 0;
	struct failure f;

	(void)unused;
	assert_int_equal(ledger_encode(&empty, &bytes, &n, &f), FAIL_NONE);
	assert_int_equal(ledger_decode(&l, bytes, n, &f), FAIL_NONE);
	assert_string_equal(l.mix, "");
	assert_string_equal(l.config, "");
	assert_true(l.kind == LEDGER_START && l.domains_n == 0 && l.domain == NULL);
	ledger_clear(&l);
	free(bytes);
}

/* ---- damage ---- */

static void
test_damaged_records_are_refused_or_decoded_and_nothing_else(void **unused)
{
	struct vector ledger = vector_read("ledger_batch"), control = vector_read("control");
	struct vector feedback = vector_read("feedback"), reset = vector_read("control_batch");

	(void)unused;
	vector_refuses_every_truncation(decode_control, &reset);
	vector_refuses_a_byte_more(decode_control, &reset);
	vector_survives_every_flip(decode_control, &reset);
	free(reset.bytes);
	vector_refuses_every_truncation(decode_ledger, &ledger);
	vector_refuses_a_byte_more(decode_ledger, &ledger);
	vector_survives_every_flip(decode_ledger, &ledger);
	vector_refuses_every_truncation(decode_control, &control);
	vector_refuses_a_byte_more(decode_control, &control);
	vector_survives_every_flip(decode_control, &control);
	vector_refuses_every_truncation(decode_feedback, &feedback);
	vector_refuses_a_byte_more(decode_feedback, &feedback);
	vector_survives_every_flip(decode_feedback, &feedback);
	free(ledger.bytes);
	free(control.bytes);
	free(feedback.bytes);
}

/* Where the only occurrence of `text` begins. */
static size_t
find(const struct vector *v, const char *text)
{
	const uint8_t *at = memmem(v->bytes, v->n, text, strlen(text));

	assert_non_null(at);
	return (size_t)(at - v->bytes);
}

static void
test_damage_is_named_by_its_field(void **unused)
{
	static const struct {
		const char *near; /* text of the golden ledger */
		int shift;        /* from where it begins to where the damage goes */
		const char *bytes;
		size_t n;
		const char *text;
	} cases[] = {
	    {"pretrain", -1, "\x01", 1, "mix: a negative length at byte "},
	    {"pretrain", -1, "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 10,
		"mix: a length beyond the end of the record at byte "},
	    {"pretrain", 3, "\0", 1, "mix: a string with a NUL byte in it"},
	    {"pretrain", -2, "\x06", 1, "kind: a number out of range at byte "},
	    {"pretrain", -2, "\x05", 1, "kind: a number out of range at byte "},
	    {"trainers", 8, "\x01", 1, "runs: item 0: step: a number out of range"},
	    {"trainers", -1, "\x7e", 1, "runs: item 0: name: a length beyond the end"},
	    {"trainers", -2, "\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10,
		"runs: a block of more items than there are bytes left"},
	    {"web leaves", -4, "\x04", 1, "answers: item 0: accepted: a boolean that is neither"},
	    {"warm", 4, "\0\0\0\0\0\0\xf0\x7f", 8, "lr_scale: a number out of range"},
	    {"warm", 4, "\0\0\0\0\0\0\xf8\x7f", 8, "lr_scale: a number out of range"},
	    {"bad hash", -1, "\xff\xff\xff\xff\x0f", 5, "quarantined: item 0: reason: "},
	};
	struct vector golden = vector_read("ledger_batch");

	(void)unused;
	EACH_NAMED_ROW(i, cases, near) {
		size_t at = find(&golden, cases[i].near);
		size_t cut = cases[i].n == 8 ? 8 : 1;
		const char *kind = "record of kind Ledger: ";
		struct vector damaged;
		struct ledger l;
		struct failure f = {0};

		at = (size_t)((int)at + cases[i].shift);
		damaged = vector_splice(&golden, at, cut, cases[i].bytes, cases[i].n);
		assert_int_equal(ledger_decode(&l, damaged.bytes, damaged.n, &f), FAIL_DATA);
		if (strncmp(f.text + strlen(kind), cases[i].text, strlen(cases[i].text)) != 0)
			print_error("row %zu: %s\n", i, f.text);
		assert_memory_equal(f.text, kind, strlen(kind));
		assert_memory_equal(f.text + strlen(kind), cases[i].text, strlen(cases[i].text));
		free(damaged.bytes);
	}
	free(golden.bytes);
}

static void
test_numbers_are_taken_from_their_least_value_on(void **unused)
{
	enum { HEADER = 10 }; /* then two empty texts */
	static const struct {
		size_t at, from_end; /* one of them, of a feedback of one loss without a name */
		const char *field;
		uint8_t least;
	} rows[] = {
	    {HEADER + 2, 0, "step", 0},
	    {HEADER + 3, 0, "rank", 0},
	    {HEADER + 4, 0, "world", 2},
	    {0, 2, "losses: item 0: tokens", 0},
	};
	struct feedback_loss loss = {0};
	struct feedback b = {.world = 1, .loss = &loss, .losses_n = 1};
	uint8_t *bytes = NULL;
	size_t n = 0;
	struct failure f = {0};

	(void)unused;
	assert_int_equal(feedback_encode(&b, &bytes, &n, &f), FAIL_NONE);
	EACH_NAMED_ROW(i, rows, field) {
		size_t at = rows[i].at != 0 ? rows[i].at : n - rows[i].from_end;
		struct feedback out;

		assert_int_equal(bytes[at], rows[i].least);
		assert_int_equal(feedback_decode(&out, bytes, n, &f), FAIL_NONE);
		feedback_clear(&out);
		bytes[at] = rows[i].least == 0 ? 1 : rows[i].least - 2; /* zigzag: one less */
		assert_int_equal(feedback_decode(&out, bytes, n, &f), FAIL_DATA);
		assert_non_null(strstr(f.text, rows[i].field));
		bytes[at] = rows[i].least;
	}
	free(bytes);
}

static void
test_a_change_of_no_partition_and_an_answer_of_no_step_are_valid(void **unused)
{
	struct ledger_change change = {.partition = -1};
	struct ledger_answer answer = {.step = -1};
	struct ledger out, l = {.lr_scale = 1,
			       .temperature = 1,
			       .pending = &change,
			       .pending_n = 1,
			       .answer = &answer,
			       .answers_n = 1};
	uint8_t *bytes = NULL;
	size_t n = 0;
	struct failure f;

	(void)unused;
	assert_int_equal(ledger_encode(&l, &bytes, &n, &f), FAIL_NONE);
	assert_int_equal(ledger_decode(&out, bytes, n, &f), FAIL_NONE);
	assert_int_equal(out.pending[0].partition, -1);
	assert_int_equal(out.answer[0].step, -1);
	ledger_clear(&out);
	free(bytes);
}

/* ---- names ---- */

static const char *
schema_symbol(json_t *type, const char *name, size_t i)
{
	const char *key, *found = NULL;
	json_t *value;
	size_t at;

	if (json_is_object(type) && json_is_string(json_object_get(type, "name")) &&
	    strcmp(json_string_value(json_object_get(type, "name")), name) == 0)
		found = json_string_value(json_array_get(json_object_get(type, "symbols"), i));
	json_object_foreach(type, key, value)
	{
		if (found == NULL)
			found = schema_symbol(value, name, i);
	}
	json_array_foreach(type, at, value)
	{
		if (found == NULL)
			found = schema_symbol(value, name, i);
	}
	return found;
}

static void
test_names_are_those_of_the_schema(void **unused)
{
	static const struct {
		const char *type, *const *names;
		size_t n;
	} rows[] = {
	    {"Reason", ledger_reason_names, LEDGER_BY_REQUEST + 1},
	    {"DomainState", ledger_domain_state_names, LEDGER_JOINING + 1},
	    {"ChangeKind", ledger_change_names, LEDGER_UNDO + 1},
	};
	json_t *schema = json_loads(schema_text(SCHEMA_LEDGER), 0, NULL);

	(void)unused;
	EACH_NAMED_ROW(i, rows, type) {
		for (size_t k = 0; k < rows[i].n; k++) {
			const char *symbol = schema_symbol(schema, rows[i].type, k);

			assert_non_null(symbol);
			assert_int_equal(strcasecmp(symbol, rows[i].names[k]), 0);
		}
		assert_null(schema_symbol(schema, rows[i].type, rows[i].n));
	}
	json_decref(schema);
}

static void
test_the_step_of_a_run_is_none_of_another_and_never_negative(void **unused)
{
	static char other[] = "other", mine[] = "mine", behind[] = "behind";
	struct ledger_run run[] = {{NULL, 3}, {other, 4}, {mine, 5}, {behind, -1}};
	struct ledger l = {.run = run, .runs_n = 4};

	(void)unused;
	assert_int_equal(ledger_run_step(&l, "other"), 4);
	assert_int_equal(ledger_run_step(&l, "mine"), 5);
	assert_int_equal(ledger_run_step(&l, "behind"), 0);
	assert_int_equal(ledger_run_step(&l, "min"), 0);
}

static void
test_a_domain_is_found_by_its_whole_name_and_an_unknown_one_told_with_all(void **unused)
{
	char web[] = "web", code[] = "code";
	struct ledger_domain domain[] = {{.name = NULL}, {.name = code}, {.name = web}};
	struct ledger l = {.domain = domain, .domains_n = 3};
	struct failure f = {0};

	(void)unused;
	assert_ptr_equal(ledger_domain_named(&l, "web"), &domain[2]);
	assert_ptr_equal(ledger_domain_named(&l, "code"), &domain[1]);
	assert_null(ledger_domain_named(&l, "we"));
	assert_null(ledger_domain_named(&l, "webs"));
	fail(&f, FAIL_DATA, "no domain webs");
	assert_int_equal(ledger_fail_domains(&l, "webs", &f), FAIL_DATA);
	assert_string_equal(f.text, "no domain webs (did you mean web?); it has code, web");
}

/* ---- limits ---- */

static void
test_lists_are_refused_above_their_limit_and_taken_at_it(void **unused)
{
	struct ledger_skip *skip = calloc(LEDGER_SKIPS_MAX + 1, sizeof(*skip));
	struct ledger_domain *domain = calloc(LEDGER_DOMAINS_MAX + 1, sizeof(*domain));
	char **id = calloc(LEDGER_REQUEST_IDS_MAX + 1, sizeof(*id));

	(void)unused;
	for (unsigned over = 0; over < 8; over = over == 0 ? 1 : over << 1) {
		struct ledger l = {
		    .skip = skip,
		    .skips_n = LEDGER_SKIPS_MAX + (over == 1),
		    .domain = domain,
		    .domains_n = LEDGER_DOMAINS_MAX + (over == 2),
		    .request_id = id,
		    .request_ids_n = LEDGER_REQUEST_IDS_MAX + (over == 4),
		};
		static const char *const field[] = {"", "skips", "domains", "", "request_ids"};
		uint8_t *bytes = NULL;
		size_t n = 0;
		struct ledger back;
		struct failure f;

		assert_int_equal(
		    ledger_encode(&l, &bytes, &n, &f), over == 0 ? FAIL_NONE : FAIL_DATA);
		if (over != 0) {
			assert_non_null(strstr(f.text, field[over]));
			assert_non_null(strstr(f.text, "4097 items are more than 4096"));
			continue;
		}
		assert_int_equal(ledger_decode(&back, bytes, n, &f), FAIL_NONE);
		assert_true(back.skips_n == LEDGER_SKIPS_MAX);
		assert_true(back.domains_n == LEDGER_DOMAINS_MAX);
		assert_true(back.request_ids_n == LEDGER_REQUEST_IDS_MAX);
		ledger_clear(&back);
		free(bytes);
	}
	free(skip);
	free(domain);
	free(id);
}

/* A list that is too long in the bytes: 4,097 skips of four zeros. */
static void
test_a_list_above_its_limit_is_refused_when_read(void **unused)
{
	struct ledger empty = {0}, l;
	struct vector v = {0}, longer;
	char *skips = calloc(1, 2 + 4 * (LEDGER_SKIPS_MAX + 1));
	struct failure f;

	(void)unused;
	assert_int_equal(ledger_encode(&empty, &v.bytes, &v.n, &f), FAIL_NONE);
	memcpy(skips, "\x82\x40", 2); /* 4097 */
	/* From the end: runs, answers, request_ids, control_next, quarantined, skips. */
	longer = vector_splice(&v, v.n - 6, 0, skips, 2 + 4 * (LEDGER_SKIPS_MAX + 1));
	assert_int_equal(ledger_decode(&l, longer.bytes, longer.n, &f), FAIL_DATA);
	assert_string_equal(f.text, "record of kind Ledger: skips: 4097 items are more than 4096");
	longer.bytes[v.n - 6] = 0x80; /* 4096; the last four zeros end lists */
	assert_int_equal(ledger_decode(&l, longer.bytes, longer.n - 4, &f), FAIL_NONE);
	assert_int_equal(l.skips_n, LEDGER_SKIPS_MAX);
	ledger_clear(&l);
	free(skips);
	free(longer.bytes);
	free(v.bytes);
}

/* ---- schemas of other times ---- */

static void
test_an_earlier_schema_is_read_by_name_with_fresh_values_for_the_rest(void **unused)
{
	/* Other order, an int that is a long now, a field that is gone, and most are not there. */
	static const char *const text =
	    "{\"type\": \"record\", \"name\": \"Ledger\", \"fields\": ["
	    "{\"name\": \"step_next\", \"type\": \"long\"},"
	    "{\"name\": \"gone\", \"type\": {\"type\": \"map\", \"values\": [\"null\", "
	    "\"string\"]}},"
	    "{\"name\": \"mix\", \"type\": \"string\"},"
	    "{\"name\": \"runs\", \"type\": {\"type\": \"array\", \"items\": {\"type\": \"record\","
	    " \"name\": \"Run\", \"fields\": [{\"name\": \"name\", \"type\": \"string\"}]}}}]}";
	static const uint8_t body[] = {
	    14, 4, 2, 'a', 0, 2, 'b', 2, 2, 'c', 0, 2, 'm', 2, 2, 'r', 0};
	struct ledger l;
	struct failure f;

	(void)unused;
	assert_int_equal(ledger_decode_with(text, &l, body, sizeof(body), &f), FAIL_NONE);
	assert_int_equal(l.step_next, 7);
	assert_string_equal(l.mix, "m");
	assert_true(l.runs_n == 1 && l.run[0].step == 0);
	assert_string_equal(l.run[0].name, "r");
	assert_true(l.lr_scale == 1 && l.temperature == 1 && l.version == 0);
	assert_true(l.domains_n == 0 && l.config == NULL);
	ledger_clear(&l);
	for (size_t n = 0; n < sizeof(body); n++)
		assert_int_equal(ledger_decode_with(text, &l, body, n, &f), FAIL_DATA);
}

static void
test_a_schema_that_is_none_is_refused(void **unused)
{
	struct ledger l;
	struct failure f;

	(void)unused;
	assert_int_equal(
	    ledger_decode_with("{\"type\": \"recorg\"}", &l, (const uint8_t *)"", 0, &f),
	    FAIL_DATA);
	assert_non_null(strstr(f.text, "parsing a schema"));
}

static void
test_an_unknown_fingerprint_is_an_error_that_says_so(void **unused)
{
	struct vector golden = vector_read("ledger");
	struct ledger l;
	struct failure f;

	(void)unused;
	golden.bytes[2] ^= 1;
	assert_int_equal(ledger_decode(&l, golden.bytes, golden.n, &f), FAIL_DATA);
	assert_string_equal(f.text,
	    "has the schema fingerprint 876870eb2b6a81b2, which riffle " RIFFLE_VERSION
	    " does not know: a newer riffle or another program wrote it");
	free(golden.bytes);
}

/* ---- threads ---- */

static void *
encode_and_decode(void *golden)
{
	const struct vector *v = golden;

	for (int i = 0; i < 200; i++) {
		struct ledger l;
		uint8_t *bytes = NULL;
		size_t n = 0;
		struct failure f;

		if (ledger_decode(&l, v->bytes, v->n, &f) != FAIL_NONE ||
		    ledger_encode(&l, &bytes, &n, &f) != FAIL_NONE || n != v->n ||
		    memcmp(bytes, v->bytes, n) != 0)
			return golden;
		ledger_clear(&l);
		free(bytes);
	}
	return NULL;
}

static void
test_threads_do_not_disturb_each_other(void **unused)
{
	struct vector golden = vector_read("ledger_batch");
	pthread_t thread[4];

	(void)unused;
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, encode_and_decode, &golden), 0);
	for (int i = 0; i < 4; i++) {
		void *failed = &golden;

		assert_int_equal(pthread_join(thread[i], &failed), 0);
		assert_null(failed);
	}
	free(golden.bytes);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_records_have_the_golden_bytes),
	    cmocka_unit_test(test_the_golden_ledger_has_its_values),
	    cmocka_unit_test(test_the_golden_control_has_its_values),
	    cmocka_unit_test(test_the_golden_feedback_has_its_values),
	    cmocka_unit_test(test_an_empty_ledger_is_valid),
	    cmocka_unit_test(test_damaged_records_are_refused_or_decoded_and_nothing_else),
	    cmocka_unit_test(test_damage_is_named_by_its_field),
	    cmocka_unit_test(test_numbers_are_taken_from_their_least_value_on),
	    cmocka_unit_test(test_a_change_of_no_partition_and_an_answer_of_no_step_are_valid),
	    cmocka_unit_test(test_names_are_those_of_the_schema),
	    cmocka_unit_test(test_the_step_of_a_run_is_none_of_another_and_never_negative),
	    cmocka_unit_test(test_lists_are_refused_above_their_limit_and_taken_at_it),
	    cmocka_unit_test(test_a_list_above_its_limit_is_refused_when_read),
	    cmocka_unit_test(test_an_earlier_schema_is_read_by_name_with_fresh_values_for_the_rest),
	    cmocka_unit_test(test_a_schema_that_is_none_is_refused),
	    cmocka_unit_test(
		test_a_domain_is_found_by_its_whole_name_and_an_unknown_one_told_with_all),
	    cmocka_unit_test(test_an_unknown_fingerprint_is_an_error_that_says_so),
	    cmocka_unit_test(test_threads_do_not_disturb_each_other),
	};

	return cmocka_run_group_tests_name("ledger", tests, NULL, NULL);
}
