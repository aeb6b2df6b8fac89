/*
 * time_step.h, lane_fill.h, republish.h: what they look for, put and commit. The modules that ask
 * the broker are replaced here: ledger and batch topic, domain logs, draws, topics, transactions.
 */
#include <stdarg.h>

#include "common/base/log.h"
#include "common/config/topic_plan.h"
#include "common/kafka/kafka.h"
#include "common/kafka/topics.h"
#include "consumer/batches/step_records.h"
#include "consumer/domain/documents.h"
#include "consumer/ledger/ledger_log.h"
#include "consumer/plan/bound_config.h"
#include "consumer/plan/config_plan.h"
#include "consumer/publish/lane_output.h"
#include "consumer/replay/drawn.h"
#include "consumer/replay/lane_fill.h"
#include "consumer/replay/republish.h"
#include "consumer/replay/time_step.h"
#include "tests/unit/mixes.h"

/* ---- what was called ---- */

static char trace[4096];

static void
note(const char *format, ...)
{
	size_t n = strlen(trace);
	va_list args;

	va_start(args, format);
	vsnprintf(trace + n, sizeof(trace) - n, format, args);
	va_end(args);
}

static void
assert_trace(const char *expected)
{
	assert_string_equal(trace, expected);
	trace[0] = '\0';
}

/* ---- a mix of two live domains and one that is not ---- */

enum { BATCH = 4, LANES = 2, PARTITIONS = 2, NEXT = 70 };

static struct config_domain domain[] = {
    {.name = (char *)"a", .partitions = PARTITIONS, .catch_up = 2},
    {.name = (char *)"b", .partitions = 1, .catch_up = 2},
    {.name = (char *)"c", .partitions = 1, .catch_up = 2}};
static double weight[] = {1, 1, 1}, wide_weight[] = {1, 1, 1};
static struct config_phase phase = {.name = (char *)"wide",
    .start_step = 6,
    .weight = wide_weight,
    .temperature = 1,
    .lr_scale = 1,
    .global_batch = 2 * BATCH};
static struct config config = {
    .corpus = (char *)"corpus",
    .sequence_length = 64,
    .domains = domain,
    .domains_n = 3,
    .mix = {.name = (char *)"m",
	.seed = 5,
	.global_batch = BATCH,
	.lanes = LANES,
	.partitions = LANES,
	.window = 1,
	.weight = weight,
	.temperature = 1,
	.transaction_bytes = 250},
};
static const uint64_t sequences[] = {600, 600};
static const struct config_plan_length length[] = {
    {PARTITIONS, sequences, NULL}, {1, sequences, NULL}, {1, sequences, NULL}};
static struct config_plan plan;
static char *config_text;

/* With phases_n of the configuration's. */
static void
bind_mix(size_t phases_n)
{
	config.mix.phases = &phase;
	config.mix.phases_n = phases_n;
	assert_int_equal(config_plan_open(&plan, &config, length, &f), FAIL_NONE);
	assert_int_equal(bound_config_text(&config_text, &config, &plan, 7, &f), FAIL_NONE);
}

static void
unbind_mix(void)
{
	free(config_text);
	config_plan_close(&plan);
}

static struct mixer *
mixer_at(uint64_t step)
{
	struct mixer *m = mixes_open(&plan.plan);

	while (mixer_step_next(m) < step)
		assert_int_equal(mixes_step(m, NULL, NULL), MIXER_DRAWN);
	return m;
}

static struct ledger
record_of(const struct mixer *m, enum ledger_kind kind)
{
	struct ledger l = {.kind = kind,
	    .mix = strdup("m"),
	    .config = strdup(config_text),
	    .mixer = 9,
	    .schedule = 11,
	    .tokenizer = 7};

	assert_int_equal(mixer_save(m, &l, &f), FAIL_NONE);
	return l;
}

static struct ledger
record_at(uint64_t step, enum ledger_kind kind)
{
	struct mixer *m = mixer_at(step);
	struct ledger l = record_of(m, kind);

	mixer_close(m);
	return l;
}

static void
copy_ledger(struct ledger *out, const struct ledger *l)
{
	uint8_t *bytes;
	size_t n;

	assert_int_equal(ledger_encode(l, &bytes, &n, &f), FAIL_NONE);
	assert_int_equal(ledger_decode(out, bytes, n, &f), FAIL_NONE);
	free(bytes);
}

/* ---- in place of ledger_log.c: the ledger of mix "m", and that of any other mix ---- */

struct ledger_log {
	const struct ledger *record; /* [n] */
	size_t n, at;
	enum fail_code fails; /* after its last record; FAIL_NONE stands for FAIL_TIMEOUT */
};

static struct ledger_log ours, others;

enum fail_code
ledger_log_open(struct ledger_log **out, const char *mix, const struct properties *properties,
    int timeout_ms, struct failure *why)
{
	(void)properties;
	(void)timeout_ms;
	(void)why;
	*out = strcmp(mix, "m") == 0 ? &ours : &others;
	return FAIL_NONE;
}

void
ledger_log_close(struct ledger_log *l)
{
	(void)l;
}

static enum fail_code
give_record(const struct ledger_log *l, size_t at, struct ledger *out, bool *any)
{
	*any = l->n > 0;
	if (*any)
		copy_ledger(out, &l->record[at]);
	return FAIL_NONE;
}

enum fail_code
ledger_log_first(struct ledger_log *l, struct ledger *out, bool *any, struct failure *why)
{
	(void)why;
	return give_record(l, 0, out, any);
}

enum fail_code
ledger_log_last(struct ledger_log *l, struct ledger *out, bool *any, struct failure *why)
{
	(void)why;
	return give_record(l, l->n - 1, out, any);
}

enum fail_code
ledger_log_ask(struct ledger *out, bool *any, const char *mix, const struct properties *properties,
    int timeout_ms, struct failure *why)
{
	(void)properties;
	(void)timeout_ms;
	(void)why;
	assert_string_equal(mix, "m");
	return give_record(&ours, ours.n - 1, out, any);
}

enum fail_code
ledger_log_seek(struct ledger_log *l, uint64_t step, bool one_before, struct failure *why)
{
	assert_false(one_before);
	for (l->at = l->n; l->at > 0; l->at--)
		if ((uint64_t)l->record[l->at - 1].step_next <= step) {
			l->at--;
			return FAIL_NONE;
		}
	return fail(why, l->fails == FAIL_NONE ? FAIL_DATA : l->fails, "no record");
}

enum fail_code
ledger_log_next(
    struct ledger_log *l, int wait_ms, struct ledger *out, int64_t *offset, struct failure *why)
{
	(void)wait_ms;
	if (l->at == l->n)
		return fail(
		    why, l->fails == FAIL_NONE ? FAIL_TIMEOUT : l->fails, "no further record");
	*offset = (int64_t)l->at;
	copy_ledger(out, &l->record[l->at++]);
	return FAIL_NONE;
}

/* ---- in place of documents.c and drawn.c ---- */

enum { NEVER = -1, GONE = -2, DRAWS_MAX = 4 };

static struct {
	int64_t first[PARTITIONS]; /* ordinal at the time; NEVER; GONE: sought, and not there */
	const struct drawn *draw;
	size_t draws_n;
} known;
static int32_t sought;
static bool documents_are_open;

enum fail_code
documents_open(struct documents **out, const struct properties *properties, const struct stop *stop,
    int timeout_ms, struct failure *why)
{
	(void)properties;
	(void)stop;
	(void)timeout_ms;
	(void)why;
	*out = NULL;
	documents_are_open = true;
	return FAIL_NONE;
}

void
documents_close(struct documents *d)
{
	(void)d;
	documents_are_open = false;
}

enum fail_code
documents_seek_time(struct documents *d, const char *topic, int32_t partition, int64_t time_ms,
    bool *there, struct failure *why)
{
	(void)d;
	(void)why;
	assert_true(documents_are_open);
	assert_true(partition >= 0 && partition < PARTITIONS);
	note("%s/%d@%d ", topic, (int)partition, (int)time_ms);
	sought = partition;
	*there = known.first[partition] != NEVER;
	return FAIL_NONE;
}

enum fail_code
documents_next(
    struct documents *d, struct documents_sequence *out, bool *there, struct failure *why)
{
	(void)d;
	(void)why;
	assert_true(known.first[sought] != NEVER);
	*there = known.first[sought] != GONE;
	if (*there)
		*out = (struct documents_sequence){.ordinal = (uint64_t)known.first[sought]};
	return FAIL_NONE;
}

/* Notes runs of ordinals: "a/0:5+3" are 5, 6 and 7 of partition 0. */
static void
note_sequences(const struct drawn_options *o)
{
	for (size_t i = 0, n; i < o->n; i += n) {
		const struct drawn_sequence *s = &o->sequence[i];

		for (n = 1; i + n < o->n && s[n].partition == s->partition &&
			    strcmp(s[n].domain, s->domain) == 0 && s[n].ordinal == s->ordinal + n;
		     n++)
			;
		note("%s/%u:%u+%zu ", s->domain, (unsigned)s->partition, (unsigned)s->ordinal, n);
	}
}

enum fail_code
drawn_find(const struct drawn_options *o, struct drawn_result *out, struct failure *why)
{
	(void)out;
	assert_string_equal(o->mix, "m");
	assert_true(o->n > 0 && o->first == 0 && o->end == NEXT && !o->plan);
	assert_ptr_equal(o->config, &config);
	note_sequences(o);
	for (size_t i = 0; i < known.draws_n; i++)
		assert_int_equal(o->found(o->opaque, &known.draw[i], why), FAIL_NONE);
	return FAIL_NONE;
}

/* ---- time_step ---- */

/* Domains of these letters are live. */
static void
make_live(struct ledger *l, const char *live)
{
	for (size_t i = 0; i < l->domains_n; i++) {
		struct ledger_domain *d = &l->domain[i];

		d->live = strchr(live, d->name[0]) != NULL;
		for (size_t p = 0; p < d->partitions_n; p++)
			d->partition[p].sequences_next = 100;
	}
}

static enum fail_code
find_step(struct time_step *out, struct ledger *last, const char *of)
{
	const struct time_step_options o = {
	    .config = &config, .mix = "m", .domain = of, .time_ms = 42};
	enum fail_code code;

	ours = (struct ledger_log){last, last == NULL ? 0 : 1, 0, FAIL_NONE};
	code = time_step_find(out, &o, &f);
	assert_false(documents_are_open);
	return code;
}

static void
test_a_time_is_one_of_a_live_domain(void **unused)
{
	static const struct {
		const char *live, *named, *chosen, *says;
	} rows[] = {
	    {"a", NULL, "a", NULL},
	    {"b", NULL, "b", NULL},
	    {"a", "a", "a", NULL},
	    {"ab", "a", "a", NULL},
	    {"ab", "b", "b", NULL},
	    {"", NULL, NULL, "mix m has no live domain: the sequences of others"},
	    {"", "a", NULL, "mix m has no live domain: the sequences of others"},
	    {"ab", NULL, NULL, "with times of its own: name one of a, b"},
	    {"abc", NULL, NULL, "with times of its own: name one of a, b, c"},
	    {"ab", "c", NULL, "mix m has no live domain c: it has a, b"},
	    {"b", "a", NULL, "mix m has no live domain a: it has b"},
	    {"b", "x", NULL, "mix m has no live domain x: it has b"},
	};
	struct ledger last;

	(void)unused;
	bind_mix(0);
	last = record_at(NEXT, LEDGER_STEPS);
	known.first[0] = known.first[1] = NEVER;
	known.draws_n = 0;
	EACH_ROW(i, rows) {
		struct time_step out;

		make_live(&last, rows[i].live);
		trace[0] = '\0';
		assert_int_equal(find_step(&out, &last, rows[i].named),
		    rows[i].chosen == NULL ? FAIL_CONFIG : FAIL_NONE);
		if (rows[i].chosen == NULL) {
			assert_non_null(strstr(f.text, rows[i].says));
			assert_trace("");
			continue;
		}
		assert_string_equal(out.domain, rows[i].chosen);
		assert_true(!out.drawn && out.step == NEXT);
		assert_trace(
		    rows[i].chosen[0] == 'a' ? "corpus.a/0@42 corpus.a/1@42 " : "corpus.b/0@42 ");
	}
	ledger_clear(&last);
	assert_int_equal(find_step(&(struct time_step){0}, NULL, NULL), FAIL_DATA);
	assert_string_equal(f.text, "mix m has not started: its ledger is empty");
	unbind_mix();
}

static void
test_the_first_sequences_of_each_partition_stand_for_it(void **unused)
{
	static const struct {
		int64_t first[PARTITIONS]; /* partitions hold 100 that the mixer has passed */
		const char *looks_for;
	} rows[] = {
	    {{NEVER, NEVER}, ""},
	    {{GONE, NEVER}, ""},
	    {{NEVER, 3}, "a/1:3+64 "},
	    {{0, GONE}, "a/0:0+64 "},
	    {{36, 37}, "a/0:36+64 a/1:37+63 "},
	    {{99, 98}, "a/0:99+1 a/1:98+2 "},
	    {{100, 99}, "a/1:99+1 "}, /* not drawn yet */
	    {{200, 100}, ""},
	};
	struct ledger last;

	(void)unused;
	bind_mix(0);
	last = record_at(NEXT, LEDGER_STEPS);
	make_live(&last, "a");
	known.draws_n = 0;
	EACH_ROW(i, rows) {
		char expected[256];
		struct time_step out;

		memcpy(known.first, rows[i].first, sizeof(known.first));
		snprintf(expected, sizeof(expected), "corpus.a/0@42 corpus.a/1@42 %s",
		    rows[i].looks_for);
		trace[0] = '\0';
		assert_int_equal(find_step(&out, &last, NULL), FAIL_NONE);
		assert_trace(expected);
		assert_true(!out.drawn && out.step == NEXT);
	}
	ledger_clear(&last);
	unbind_mix();
}

/* Sequences 0 and 1 are a/0:98 and :99, 2 is a/1:99. */
static void
test_the_lowest_step_of_the_first_pass_is_the_answer(void **unused)
{
	static const struct {
		struct drawn draw[DRAWS_MAX];
		size_t n;
		int answer; /* which draw; -1: none, and the next step */
	} rows[] = {
	    {{{0}}, 0, -1},
	    {{{.sequence = 1, .step = 9, .lane = 1, .slot = 3}}, 1, 0},
	    {{{.sequence = 1, .step = 0, .lane = 1, .slot = 3}}, 1, 0},
	    {{{.step = 9, .slot = 1}, {.sequence = 2, .step = 8, .lane = 1}}, 2, 1},
	    {{{.sequence = 2, .step = 8, .slot = 1}, {.step = 9, .lane = 1}}, 2, 0},
	    {{{.step = 0, .slot = 1}, {.sequence = 2, .step = 9}}, 2, 0},
	    {{{.sequence = 2, .step = 9, .slot = 1}, {.step = 0}}, 2, 1},
	    {{{.sequence = 2, .step = 9, .slot = 1}, {.step = 9, .slot = 2}}, 2, 0},
	    {{{.step = 4, .epoch = 1}, {.step = 9, .slot = 2}}, 2, 1}, /* a later epoch */
	    {{{.step = 9, .slot = 2}, {.step = 4, .epoch = 1}}, 2, 0},
	    {{{.step = 4, .epoch = 1}, {.step = 5, .epoch = 2}}, 2, -1},
	    {{{.step = 7}, {.sequence = 1, .step = 5, .slot = 1}, {.sequence = 2, .step = 6}}, 3,
		1},
	};
	static const uint64_t ordinals[] = {98, 99, 99};
	struct ledger last;

	(void)unused;
	bind_mix(0);
	last = record_at(NEXT, LEDGER_STEPS);
	make_live(&last, "a");
	known.first[0] = 98;
	known.first[1] = 99;
	EACH_ROW(i, rows) {
		struct time_step out;

		known.draw = rows[i].draw;
		known.draws_n = rows[i].n;
		assert_int_equal(find_step(&out, &last, NULL), FAIL_NONE);
		assert_int_equal(out.drawn, rows[i].answer >= 0);
		if (rows[i].answer < 0) {
			assert_int_equal(out.step, NEXT);
		} else {
			const struct drawn *d = &rows[i].draw[rows[i].answer];

			assert_int_equal(out.step, d->step);
			assert_int_equal(out.lane, d->lane);
			assert_int_equal(out.slot, d->slot);
			assert_int_equal(out.partition, d->sequence / 2);
			assert_int_equal(out.ordinal, ordinals[d->sequence]);
		}
	}
	trace[0] = '\0';
	ledger_clear(&last);
	unbind_mix();
}

/* ---- in place of transactions.c ---- */

static bool copies;
static size_t message_bytes_max;
static const char *fails; /* the call that fails; NULL: none */
static uint64_t writer;   /* the id in all records of one writer */

static enum fail_code
answer(const char *call, struct failure *why)
{
	note("%s ", call);
	return fails != NULL && strcmp(fails, call) == 0 ? fail(why, FAIL_FENCED, "%s", call)
							 : FAIL_NONE;
}

enum fail_code
transactions_open(
    struct transactions **out, const struct transactions_options *o, struct failure *why)
{
	message_bytes_max = o->message_bytes_max;
	assert_string_equal(o->rejects_topic, "corpus.rejects");
	assert_int_equal(o->transaction_bytes, config.mix.transaction_bytes);
	note("%s:", o->mix);
	*out = NULL;
	return answer("open", why);
}

void
transactions_close(struct transactions *t)
{
	(void)t;
}

bool
transactions_copy(const struct transactions *t)
{
	(void)t;
	return copies;
}

enum fail_code
transactions_begin(struct transactions *t, struct failure *why)
{
	(void)t;
	return answer("begin", why);
}

enum fail_code
transactions_put(
    struct transactions *t, uint32_t lane, uint8_t *bytes, size_t n, struct failure *why)
{
	(void)t;
	note("%u:%.*s ", (unsigned)lane, (int)n, (const char *)bytes);
	free(bytes);
	return answer("put", why);
}

enum fail_code
transactions_put_ledger(struct transactions *t, uint8_t *bytes, size_t n,
    const struct transactions_header *header, struct failure *why)
{
	static const char *const kind[] = {"START", "STEPS", "END"};
	struct ledger l;

	(void)t;
	assert_null(header);
	assert_int_equal(ledger_decode(&l, bytes, n, why), FAIL_NONE);
	if (writer == 0)
		writer = l.mixer;
	assert_true(l.mixer != 0 && l.mixer == writer);
	assert_true(l.schedule == 11 && l.tokenizer == 7);
	assert_int_equal(l.runs_n, 0);
	assert_string_equal(l.config, config_text);
	note("%s:%s:%d..%d ", l.mix, kind[l.kind], (int)l.step_first, (int)l.step_next);
	ledger_clear(&l);
	free(bytes);
	return answer("ledger", why);
}

enum fail_code
transactions_commit(struct transactions *t, const struct transactions_offset *offset,
    size_t offsets_n, struct failure *why)
{
	(void)t;
	assert_null(offset);
	assert_int_equal(offsets_n, 0);
	return answer("commit", why);
}

/* ---- lane_fill ---- */

static struct transactions *const some = (struct transactions *)&copies; /* not looked into */

static uint8_t *
text_bytes(const char *text)
{
	return (uint8_t *)strdup(text);
}

static void
test_records_of_lanes_are_put_in_transactions_that_are_begun_once(void **unused)
{
	struct lane_fill p = {.transactions = some, .lanes = LANES};
	struct ledger l;

	(void)unused;
	bind_mix(0);
	writer = 0;
	l = record_at(3, LEDGER_STEPS);
	trace[0] = '\0';
	assert_int_equal(lane_fill_commit(&p, &f), FAIL_NONE); /* nothing was put */
	assert_trace("");
	assert_int_equal(lane_fill_put(&p, 1, text_bytes("abc"), 3, &f), FAIL_NONE);
	assert_int_equal(lane_fill_put(&p, 0, text_bytes("defg"), 4, &f), FAIL_NONE);
	assert_int_equal(lane_fill_commit(&p, &f), FAIL_NONE);
	assert_trace("begin 1:abc put 0:defg put commit ");
	assert_int_equal(lane_fill_commit(&p, &f), FAIL_NONE);
	assert_trace("");
	assert_int_equal(lane_fill_put_ledger(&p, &l, &f), FAIL_NONE);
	assert_int_equal(lane_fill_put(&p, 0, text_bytes("h"), 1, &f), FAIL_NONE);
	assert_int_equal(lane_fill_commit(&p, &f), FAIL_NONE);
	assert_trace("begin m:STEPS:0..3 ledger 0:h put commit ");
	assert_int_equal(p.records, 3);
	assert_int_equal(p.bytes, 8);
	p.transactions = NULL; /* a dry run counts, and puts nothing */
	assert_int_equal(lane_fill_put(&p, 1, text_bytes("ij"), 2, &f), FAIL_NONE);
	assert_int_equal(lane_fill_put_ledger(&p, &l, &f), FAIL_NONE);
	assert_int_equal(lane_fill_commit(&p, &f), FAIL_NONE);
	assert_trace("");
	assert_int_equal(p.records, 4);
	assert_int_equal(p.bytes, 10);
	ledger_clear(&l);
	unbind_mix();
}

static void
test_what_fails_in_a_transaction_is_returned(void **unused)
{
	static const struct {
		const char *fails, *calls;
	} rows[] = {
	    {"begin", "begin begin "}, /* of the record, and of the ledger's */
	    {"put", "begin 0:x put m:STEPS:0..3 ledger commit "},
	    {"ledger", "begin 0:x put m:STEPS:0..3 ledger commit "},
	    {"commit", "begin 0:x put m:STEPS:0..3 ledger commit "},
	};
	struct ledger l;

	(void)unused;
	bind_mix(0);
	l = record_at(3, LEDGER_STEPS);
	EACH_NAMED_ROW(i, rows, fails) {
		struct lane_fill p = {.transactions = some, .lanes = LANES};
		bool begin = strcmp(rows[i].fails, "begin") == 0;

		writer = 0;
		fails = rows[i].fails;
		assert_int_equal(lane_fill_put(&p, 0, text_bytes("x"), 1, &f),
		    begin || strcmp(fails, "put") == 0 ? FAIL_FENCED : FAIL_NONE);
		assert_int_equal(lane_fill_put_ledger(&p, &l, &f),
		    begin || strcmp(fails, "ledger") == 0 ? FAIL_FENCED : FAIL_NONE);
		assert_int_equal(lane_fill_commit(&p, &f),
		    strcmp(fails, "commit") == 0 ? FAIL_FENCED : FAIL_NONE);
		assert_int_equal(p.open, strcmp(fails, "commit") == 0);
		assert_trace(rows[i].calls);
	}
	fails = NULL;
	ledger_clear(&l);
	unbind_mix();
}

/* ---- republish: topics.c, step_records.c and lane_output.c are replaced, and the handles ---- */

static struct step_records_kept kept;

enum fail_code
step_records_open(struct step_records **out, const char *mix, const struct properties *properties,
    int timeout_ms, struct failure *why)
{
	(void)properties;
	(void)timeout_ms;
	(void)why;
	assert_string_equal(mix, "other");
	*out = NULL;
	return FAIL_NONE;
}

void
step_records_close(struct step_records *r)
{
	(void)r;
}

enum fail_code
step_records_earliest(struct step_records *r, struct step_records_kept *out, struct failure *why)
{
	(void)r;
	(void)why;
	*out = kept;
	return FAIL_NONE;
}

enum fail_code
topics_query(rd_kafka_t *rk, const struct config *c, const struct topic_plan *p,
    struct topics_use use, struct topics_report *report, int timeout_ms, struct failure *why)
{
	(void)rk;
	(void)p;
	(void)report;
	(void)timeout_ms;
	assert_string_equal(c->mix.name, "other");
	assert_int_equal(use.written, 1U << TOPIC_BATCHES | 1U << TOPIC_LEDGER);
	return answer("query", why);
}

enum fail_code
topics_create(rd_kafka_t *rk, const struct config *c, const struct topic_plan *p,
    const struct topics_report *report, int timeout_ms, struct failure *why)
{
	(void)rk;
	(void)p;
	(void)report;
	(void)timeout_ms;
	assert_string_equal(c->mix.name, "other");
	return answer("create", why);
}

enum fail_code
topics_check(rd_kafka_t *rk, const struct config *c, struct topics_use use, int timeout_ms,
    struct failure *why)
{
	(void)rk;
	(void)c;
	(void)timeout_ms;
	assert_int_equal(use.written, 1U << TOPIC_BATCHES | 1U << TOPIC_LEDGER);
	return answer("check", why);
}

enum fail_code
kafka_open(rd_kafka_t **out, const struct kafka_options *o, struct failure *why)
{
	assert_int_equal(o->role, KAFKA_ADMIN);
	*out = NULL;
	return answer("admin", why);
}

void
kafka_close(rd_kafka_t *rk)
{
	(void)rk;
}

enum fail_code
kafka_wait_broker(rd_kafka_t *rk, int timeout_ms, struct failure *why)
{
	(void)rk;
	(void)timeout_ms;
	return answer("wait", why);
}

/* A step is 100 bytes, and the records that end a mix are 10. */
enum fail_code
lane_output_put(struct transactions *t, const struct lane_mix *mix, const struct mixer *m,
    uint64_t number, const struct assembled *step, uint64_t *bytes, struct failure *why)
{
	(void)t;
	assert_string_equal(mix->name, "other");
	assert_int_equal(mixer_step_next(m), number + (step != NULL));
	*bytes += step == NULL ? 10 : 100;
	note("%s%d ", step == NULL ? "last " : "", (int)number);
	return answer("lanes", why);
}

/* ---- republish ---- */

enum { FIRST = 4, END = 8 };

static const struct republish_options to_other = {
    .config = &config, .mix = "other", .first = FIRST, .end = END};

static void
test_another_mix_is_one_that_holds_a_beginning_of_the_steps(void **unused)
{
	static const struct {
		int64_t first, last; /* steps of its ledger's records; -1: it has none */
		enum ledger_kind kind;
		bool kept, copies;
		bool complete;
		const char *says; /* NULL: it is one */
	} rows[] = {
	    {-1, -1, LEDGER_STEPS, false, true, false, NULL},
	    {-1, -1, LEDGER_STEPS, true, true, false,
		"topic other.batches holds records and topic other.ledger none: it was deleted"},
	    {-1, -1, LEDGER_STEPS, true, false, false, NULL}, /* nothing is put on lanes */
	    {FIRST, FIRST, LEDGER_START, true, true, false, NULL},
	    {FIRST, FIRST + 1, LEDGER_STEPS, true, true, false, NULL},
	    {FIRST, END, LEDGER_STEPS, true, true, false, NULL},
	    {FIRST, END, LEDGER_END, true, true, true, NULL},
	    {FIRST, END - 1, LEDGER_END, true, true, false,
		"mix other holds steps 4..7 and has ended: steps 4..8 cannot be written there; "
		"name another mix"},
	    {FIRST, END + 1, LEDGER_STEPS, true, true, false,
		"mix other holds steps 4..9: steps 4..8 cannot be written there"},
	    {FIRST - 1, END, LEDGER_STEPS, true, true, false, "mix other holds steps 3..8: "},
	    {FIRST + 1, END, LEDGER_STEPS, true, true, false, "mix other holds steps 5..8: "},
	    {0, END, LEDGER_END, true, true, false, "mix other holds steps 0..8 and has ended"},
	};
	struct ledger source[2];

	(void)unused;
	bind_mix(0);
	source[0] = record_at(0, LEDGER_START);
	source[1] = record_at(END, LEDGER_STEPS);
	EACH_NAMED_ROW(i, rows, says) {
		struct ledger there[2] = {{0}, {0}};
		struct republish *p = NULL;
		enum fail_code code;

		if (rows[i].first >= 0) {
			there[0] = record_at((uint64_t)rows[i].first, LEDGER_START);
			there[1] = record_at((uint64_t)rows[i].last, rows[i].kind);
		}
		ours = (struct ledger_log){source, 2, 0, FAIL_NONE};
		others = (struct ledger_log){there, rows[i].first < 0 ? 0 : 2, 0, FAIL_NONE};
		kept.any = rows[i].kept;
		copies = rows[i].copies;
		trace[0] = '\0';
		code = republish_open(&p, &to_other, &f);
		assert_trace("admin wait query create check other:open ");
		assert_int_equal(code, rows[i].says == NULL ? FAIL_NONE : FAIL_DATA);
		if (rows[i].says == NULL) {
			assert_int_equal(republish_complete(p), rows[i].complete);
			assert_int_equal(republish_steps(p), 0);
			republish_close(p);
		} else {
			assert_non_null(strstr(f.text, rows[i].says));
		}
		ledger_clear(&there[0]);
		ledger_clear(&there[1]);
	}
	ledger_clear(&source[0]);
	ledger_clear(&source[1]);
	unbind_mix();
	assert_int_equal(
	    republish_open(&(struct republish *){NULL},
		&(struct republish_options){.config = &config, .mix = "m", .first = 0, .end = 1},
		&f),
	    FAIL_USAGE);
	assert_string_equal(f.text, "--republish: m is the mix itself");
	assert_trace("");
}

/* Topics take records of the largest step: of the file, of a phase, of a request, of a restart. */
static void
test_topics_are_made_for_the_largest_step_of_the_range(void **unused)
{
	static const struct {
		size_t phases_n;
		uint32_t pending[3];   /* the batch that a request asks for, in each record */
		enum ledger_kind kind; /* of the second record */
		uint32_t in_second;    /* batch in force there */
		uint32_t most;
	} rows[] = {
	    {0, {0, 0, 0}, LEDGER_STEPS, 0, BATCH},
	    {1, {0, 0, 0}, LEDGER_STEPS, 0, 2 * BATCH},
	    {0, {16, 0, 0}, LEDGER_STEPS, 0, 16},
	    {0, {0, 16, 0}, LEDGER_STEPS, 0, 16},
	    {0, {2, 16, 8}, LEDGER_STEPS, 0, 16},
	    {1, {0, 16, 0}, LEDGER_STEPS, 0, 16},
	    {0, {0, 0, 16}, LEDGER_STEPS, 0, BATCH}, /* after the range */
	    {0, {0, 0, 0}, LEDGER_START, 16, 16},
	    {0, {0, 0, 0}, LEDGER_STEPS, 16, BATCH},
	};

	(void)unused;
	EACH_ROW(i, rows) {
		static const uint64_t at[] = {FIRST, END, END + 1};
		struct ledger_change change[3];
		struct ledger source[3];
		struct republish *p;

		bind_mix(rows[i].phases_n);
		for (size_t k = 0; k < 3; k++) {
			source[k] = record_at(at[k], k == 1 ? rows[i].kind : LEDGER_STEPS);
			change[k] = (struct ledger_change){.id = (char *)"r",
			    .step = 99,
			    .global_batch = rows[i].pending[k],
			    .lr_scale = 0.5};
			source[k].pending = &change[k];
			source[k].pending_n = rows[i].pending[k] > 0;
		}
		if (rows[i].in_second > 0)
			source[1].global_batch = rows[i].in_second;
		ours = (struct ledger_log){source, 3, 0, FAIL_NONE};
		others = (struct ledger_log){0};
		kept.any = false;
		config.mix.phases_n = 0; /* the ledger's counts, also where the file lacks it */
		assert_int_equal(republish_open(&p, &to_other, &f), FAIL_NONE);
		republish_close(p);
		config.mix.global_batch = rows[i].most;
		assert_int_equal(message_bytes_max, topic_plan_lane_bytes(&config, 3));
		config.mix.global_batch = BATCH;
		for (size_t k = 0; k < 3; k++) {
			source[k].pending = NULL;
			source[k].pending_n = 0;
			ledger_clear(&source[k]);
		}
		unbind_mix();
	}
	trace[0] = '\0';
}

/* The replay reports what the ledger lacks, but not what the broker does not answer. */
static void
test_a_ledger_that_cannot_be_read_to_the_end_is_no_reason_to_stop_yet(void **unused)
{
	static const struct {
		uint64_t begins; /* FIRST + 1: no record of it is early enough */
		enum fail_code fails, code;
	} rows[] = {
	    {FIRST, FAIL_TIMEOUT, FAIL_NONE},
	    {FIRST, FAIL_DATA, FAIL_NONE},
	    {FIRST, FAIL_BROKER, FAIL_BROKER},
	    {FIRST + 1, FAIL_DATA, FAIL_NONE},
	    {FIRST + 1, FAIL_BROKER, FAIL_BROKER},
	};

	(void)unused;
	bind_mix(0);
	EACH_ROW(i, rows) {
		struct ledger source = record_at(rows[i].begins, LEDGER_STEPS);
		struct republish *p = NULL;

		ours = (struct ledger_log){&source, 1, 0, rows[i].fails};
		others = (struct ledger_log){0};
		kept.any = false;
		assert_int_equal(republish_open(&p, &to_other, &f), rows[i].code);
		if (rows[i].code == FAIL_NONE)
			republish_close(p);
		ledger_clear(&source);
	}
	trace[0] = '\0';
	unbind_mix();
}

/* A replay of records that end at `ends`, from step `from` on, as replay.c calls republish. */
static enum fail_code
walk(struct republish *p, uint64_t from, const uint64_t *ends, size_t n)
{
	static const struct assembled step;
	static const struct lane_mix head = {.name = "m", .lanes = LANES};
	struct mixer *m = mixer_at(from);
	enum fail_code code = FAIL_NONE;

	for (size_t i = 0; code == FAIL_NONE && i < n; i++) {
		struct ledger now = record_at(ends[i], LEDGER_STEPS);

		now.run = calloc(1, sizeof(*now.run));
		now.run[0].name = strdup("run");
		now.runs_n = 1;
		while (code == FAIL_NONE && mixer_step_next(m) < ends[i]) {
			code = republish_begin(p, m, &now, &f);
			mixes_step(m, NULL, NULL);
			if (code == FAIL_NONE)
				code = republish_step(p, m, &step, &head, &now, &f);
		}
		if (code == FAIL_NONE)
			code = republish_record(p, &now, &f);
		ledger_clear(&now);
	}
	mixer_close(m);
	return code;
}

#define START_AT(S) "begin other:START:" S ".." S " ledger commit "

static void
test_steps_go_to_the_other_mix_as_if_a_mixer_had_published_them(void **unused)
{
	static const struct {
		uint64_t ends[4];
		size_t n;
		int64_t resumed; /* the other mix holds steps below it; -1: none */
		uint64_t bytes;  /* of a transaction */
		const char *calls;
		uint64_t steps;
	} rows[] = {
	    /* The record inside of the range ends a transaction, as does the range. */
	    {{6, 10}, 2, -1, 1000,
		START_AT("4") "begin 4 lanes 5 lanes other:STEPS:4..6 ledger commit "
			      "begin 6 lanes 7 lanes last 8 lanes other:END:6..8 ledger commit ",
		4},
	    /* So does a transaction that is full, where its record does not end just there. */
	    {{10}, 1, -1, 200,
		START_AT("4") "begin 4 lanes 5 lanes other:STEPS:4..6 ledger commit "
			      "begin 6 lanes 7 lanes last 8 lanes other:END:6..8 ledger commit ",
		4},
	    {{10}, 1, -1, 201,
		START_AT("4") "begin 4 lanes 5 lanes 6 lanes other:STEPS:4..7 ledger commit "
			      "begin 7 lanes last 8 lanes other:END:7..8 ledger commit ",
		4},
	    {{6, 10}, 2, -1, 200,
		START_AT("4") "begin 4 lanes 5 lanes other:STEPS:4..6 ledger commit "
			      "begin 6 lanes 7 lanes last 8 lanes other:END:6..8 ledger commit ",
		4},
	    /* The other mix gets no records that end at or before its first step. */
	    {{3, 4, 8}, 3, -1, 1000,
		START_AT("4") "begin 4 lanes 5 lanes 6 lanes 7 lanes last 8 lanes "
			      "other:END:4..8 ledger commit ",
		4},
	    /* A record that answers requests has no steps. */
	    {{6, 6, 10}, 3, -1, 1000,
		START_AT("4") "begin 4 lanes 5 lanes other:STEPS:4..6 ledger commit "
			      "begin other:STEPS:6..6 ledger commit "
			      "begin 6 lanes 7 lanes last 8 lanes other:END:6..8 ledger commit ",
		4},
	    /* It is resumed at its next step. */
	    {{6, 10}, 2, 5, 1000,
		START_AT("5") "begin 5 lanes other:STEPS:5..6 ledger commit "
			      "begin 6 lanes 7 lanes last 8 lanes other:END:6..8 ledger commit ",
		3},
	    {{6, 10}, 2, 6, 1000,
		START_AT("6") "begin 6 lanes 7 lanes last 8 lanes other:END:6..8 ledger commit ",
		2},
	};

	(void)unused;
	bind_mix(0);
	EACH_ROW(i, rows) {
		struct ledger source = record_at(2, LEDGER_STEPS), there[2] = {{0}, {0}};
		struct republish *p;

		if (rows[i].resumed >= 0) {
			there[0] = record_at(FIRST, LEDGER_START);
			there[1] = record_at((uint64_t)rows[i].resumed, LEDGER_STEPS);
		}
		ours = (struct ledger_log){&source, 1, 0, FAIL_NONE};
		others = (struct ledger_log){there, rows[i].resumed < 0 ? 0 : 2, 0, FAIL_NONE};
		kept.any = false;
		writer = 0;
		config.mix.transaction_bytes = rows[i].bytes;
		assert_int_equal(republish_open(&p, &to_other, &f), FAIL_NONE);
		trace[0] = '\0';
		assert_int_equal(walk(p, 2, rows[i].ends, rows[i].n), FAIL_NONE);
		assert_trace(rows[i].calls);
		assert_true(republish_complete(p));
		assert_int_equal(republish_steps(p), rows[i].steps);
		republish_close(p);
		ledger_clear(&source);
		ledger_clear(&there[0]);
		ledger_clear(&there[1]);
	}
	config.mix.transaction_bytes = 250;
	unbind_mix();
}

static void
test_a_mix_with_other_choices_is_not_resumed(void **unused)
{
	const uint64_t ends[] = {10};
	struct ledger source, there[2];
	struct republish *p;

	(void)unused;
	bind_mix(0);
	source = record_at(2, LEDGER_STEPS);
	there[0] = record_at(FIRST, LEDGER_START);
	there[1] = record_at(6, LEDGER_STEPS);
	there[1].choices++;
	ours = (struct ledger_log){&source, 1, 0, FAIL_NONE};
	others = (struct ledger_log){there, 2, 0, FAIL_NONE};
	assert_int_equal(republish_open(&p, &to_other, &f), FAIL_NONE);
	trace[0] = '\0';
	assert_int_equal(walk(p, 2, ends, 1), FAIL_DATA);
	assert_string_equal(
	    f.text, "mix other holds other steps than mix m up to step 6; name another mix");
	assert_trace("");
	assert_false(republish_complete(p));
	republish_close(p);
	ledger_clear(&source);
	ledger_clear(&there[0]);
	ledger_clear(&there[1]);
	unbind_mix();
}

static void
test_nothing_is_committed_after_a_call_that_failed(void **unused)
{
	static const struct {
		const char *fails;
		bool opens;
		const char *calls;
	} rows[] = {
	    {"admin", false, "admin "},
	    {"wait", false, "admin wait "},
	    {"query", false, "admin wait query "},
	    {"create", false, "admin wait query create "},
	    {"check", false, "admin wait query create check "},
	    {"open", false, "admin wait query create check other:open "},
	    {"begin", true, "begin "},
	    {"ledger", true, "begin other:START:4..4 ledger "},
	    {"commit", true, "begin other:START:4..4 ledger commit "},
	    {"lanes", true, START_AT("4") "begin 4 lanes "},
	};
	const uint64_t ends[] = {10};
	struct ledger source;

	(void)unused;
	bind_mix(0);
	source = record_at(2, LEDGER_STEPS);
	EACH_NAMED_ROW(i, rows, fails) {
		struct republish *p = NULL;

		ours = (struct ledger_log){&source, 1, 0, FAIL_NONE};
		others = (struct ledger_log){0};
		writer = 0;
		fails = rows[i].fails;
		trace[0] = '\0';
		assert_int_equal(
		    republish_open(&p, &to_other, &f), rows[i].opens ? FAIL_NONE : FAIL_FENCED);
		if (rows[i].opens) {
			trace[0] = '\0';
			assert_int_equal(walk(p, 2, ends, 1), FAIL_FENCED);
			assert_false(republish_complete(p));
			assert_int_equal(republish_steps(p), 0);
			republish_close(p);
		}
		assert_trace(rows[i].calls);
	}
	fails = NULL;
	ledger_clear(&source);
	unbind_mix();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_time_is_one_of_a_live_domain),
	    cmocka_unit_test(test_the_first_sequences_of_each_partition_stand_for_it),
	    cmocka_unit_test(test_the_lowest_step_of_the_first_pass_is_the_answer),
	    cmocka_unit_test(test_records_of_lanes_are_put_in_transactions_that_are_begun_once),
	    cmocka_unit_test(test_what_fails_in_a_transaction_is_returned),
	    cmocka_unit_test(test_another_mix_is_one_that_holds_a_beginning_of_the_steps),
	    cmocka_unit_test(test_topics_are_made_for_the_largest_step_of_the_range),
	    cmocka_unit_test(test_a_ledger_that_cannot_be_read_to_the_end_is_no_reason_to_stop_yet),
	    cmocka_unit_test(test_steps_go_to_the_other_mix_as_if_a_mixer_had_published_them),
	    cmocka_unit_test(test_a_mix_with_other_choices_is_not_resumed),
	    cmocka_unit_test(test_nothing_is_committed_after_a_call_that_failed),
	};

	log_set_level(LOG_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
