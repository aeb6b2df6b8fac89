/*
 * inspect_document.h: which sequences the words name, and what is printed of their draws. The
 * ledger, the domain logs and the search for draws are the test's own here.
 */
#include "cli/inspect/inspect_document.h"

#include "common/base/log.h"
#include "consumer/domain/documents.h"
#include "consumer/ledger/ledger_log.h"
#include "consumer/plan/bound_config.h"
#include "consumer/replay/drawn.h"
#include "tests/unit/capture.h"
#include "tests/unit/printed.h"

/* ---- a mix of two domains ---- */

struct document {
	const char *source;
	uint32_t start;
	struct document_line line;
};

enum { DOCUMENTS_MAX = 3 };

/* Document i of sequence n is number 100 n + i, and begins at byte 7 i of it. */
static const struct {
	const char *topic;
	int32_t partition;
	uint64_t ordinal;
	uint32_t used;
	struct document document[DOCUMENTS_MAX];
} logs[] = {
    {"demo.code", 0, 0, 9,
	{{"data/a.jsonl", 0, {5, true}}, {"data/a.jsonl", 3, {6, false}},
	    {"data/b.jsonl", 7, {1, true}}}},
    {"demo.code", 0, 1, 8, {{"data/a.jsonl", 0, {6, true}}}},
    {"demo.web", 0, 4, 8, {{"in/data/a.jsonl", 0, {0, false}}, {"in/c:7", 4, {2, true}}}},
    {"demo.web", 1, 2, 6, {{"in/other.jsonl", 0, {1, true}}, {"in/c:7", 2, {3, true}}}},
};
enum { LOGS = sizeof(logs) / sizeof(logs[0]) };

static bool is_empty;

static struct ledger_domain
make_domain(const char *name, size_t partitions_n, int64_t next)
{
	struct ledger_domain d = {.name = strdup(name),
	    .partition = calloc(partitions_n, sizeof(*d.partition)),
	    .partitions_n = partitions_n};

	for (size_t i = 0; i < partitions_n; i++)
		d.partition[i].sequences_next = next + (int64_t)i;
	return d;
}

enum fail_code
ledger_log_ask(struct ledger *out, bool *any, const char *mix, const struct properties *properties,
    int timeout_ms, struct failure *f)
{
	(void)properties, (void)timeout_ms, (void)f;
	assert_string_equal(mix, "pre");
	*out = (struct ledger){0};
	*any = !is_empty;
	if (is_empty)
		return FAIL_NONE;
	out->domains_n = 2;
	out->domain = calloc(2, sizeof(*out->domain));
	out->domain[0] = make_domain("code", 1, 2);
	out->domain[1] = make_domain("web", 2, 5);
	return FAIL_NONE;
}

enum fail_code
bound_config_corpus(char **out, const char *text, struct failure *f)
{
	(void)text, (void)f;
	*out = strdup("demo");
	return FAIL_NONE;
}

static const char *topic; /* that is read, where, and from which record on */
static char topic_room[TOPIC_MAX_BYTES + 1];
static int32_t partition;
static size_t next;

enum fail_code
documents_open(struct documents **out, const struct properties *properties, const struct stop *stop,
    int timeout_ms, struct failure *f)
{
	(void)properties, (void)stop, (void)timeout_ms, (void)f;
	*out = (struct documents *)&next;
	return FAIL_NONE;
}

void
documents_close(struct documents *d)
{
	(void)d;
}

enum fail_code
documents_seek(
    struct documents *d, const char *to, int32_t number, uint64_t first, struct failure *f)
{
	(void)d, (void)f;
	assert_int_equal(first, 0);
	snprintf(topic_room, sizeof(topic_room), "%s", to);
	topic = topic_room;
	partition = number;
	next = 0;
	return FAIL_NONE;
}

enum fail_code
documents_seek_time(struct documents *d, const char *to, int32_t number, int64_t time_ms,
    bool *there, struct failure *f)
{
	(void)d, (void)to, (void)number, (void)time_ms, (void)there, (void)f;
	return FAIL_NONE;
}

enum fail_code
documents_next(struct documents *d, struct documents_sequence *out, bool *there, struct failure *f)
{
	static struct sequence_span span[DOCUMENTS_MAX];
	static struct document_line line[DOCUMENTS_MAX];
	static struct text_view source[DOCUMENTS_MAX];

	(void)d, (void)f;
	while (next < LOGS &&
	       (strcmp(logs[next].topic, topic) != 0 || logs[next].partition != partition))
		next++;
	*there = next < LOGS;
	if (!*there)
		return FAIL_NONE;
	*out = (struct documents_sequence){.ordinal = logs[next].ordinal,
	    .used = logs[next].used,
	    .span = span,
	    .line = line,
	    .source = source};
	for (size_t i = 0; i < DOCUMENTS_MAX && logs[next].document[i].source != NULL; i++) {
		const struct document *x = &logs[next].document[i];

		source[i] = (struct text_view){x->source, strlen(x->source)};
		line[i] = x->line;
		span[i] = (struct sequence_span){.start = x->start,
		    .source = (uint32_t)i,
		    .document = 100 * logs[next].ordinal + i,
		    .offset = 7 * i};
		out->spans_n++;
	}
	next++;
	return FAIL_NONE;
}

/* Each sequence was drawn in two lanes and slots of one step, and is planned once; last first. */
static struct drawn_result result;
static bool none_drawn;

enum fail_code
drawn_find(const struct drawn_options *o, struct drawn_result *out, struct failure *f)
{
	*out = result;
	assert_true(o->first == 3 && o->end == 90);
	for (size_t i = none_drawn ? 0 : o->n; i-- > 0;) {
		const struct drawn d[] = {{i, 70 + i, 2, 0, 1, true}, {i, 20 - i, 1, 1, 0, false},
		    {i, 20 - i, 1, 0, 2, false}, {i, 20 - i, 1, 0, 1, false}};

		for (size_t k = o->plan ? 0 : 1; k < 4; k++)
			if (o->found(o->opaque, &d[k], f) != FAIL_NONE)
				return f->code;
	}
	return FAIL_NONE;
}

/* ---- */

static const struct config config;

static enum fail_code
ask(struct printed *p, const char *what, bool plan, bool json, char log[static 2048])
{
	const struct inspect_document_options o = {.mix = "pre",
	    .what = what,
	    .config = &config,
	    .first = 3,
	    .end = 90,
	    .plan = plan,
	    .json = json};
	struct capture c;
	enum fail_code code;

	capture_begin(&c);
	printed_begin(p);
	code = inspect_document(&o, &f);
	capture_end_lines(&c, log, 2048);
	return code;
}

static void
test_a_file_a_line_or_a_sequence_is_found_and_its_draws_are_sorted(void **unused)
{
	static const struct {
		const char *what;
		bool plan;
		const char *printed;
	} rows[] = {
	    {"code/0/1", true,
		"step\tlane\tslot\tepoch\tdomain\tpartition\tordinal\tstate\n"
		"20\t0\t1\t1\tcode\t0\t1\tpublished\n"
		"20\t0\t2\t1\tcode\t0\t1\tpublished\n"
		"20\t1\t0\t1\tcode\t0\t1\tpublished\n"
		"70\t0\t1\t2\tcode\t0\t1\tplanned\n"},
	    {"web/1/5", false,
		"step\tlane\tslot\tepoch\tdomain\tpartition\tordinal\tstate\n"
		"20\t0\t1\t1\tweb\t1\t5\tpublished\n"
		"20\t0\t2\t1\tweb\t1\t5\tpublished\n"
		"20\t1\t0\t1\tweb\t1\t5\tpublished\n"},
	    {"a.jsonl", false,
		"step\tlane\tslot\tepoch\tdomain\tpartition\tordinal\tstate\tstart\ttokens\tsource"
		"\tdocument\toffset\tline\n"
		"18\t0\t1\t1\tweb\t0\t4\tpublished\t0\t4\tin/data/a.jsonl\t400\t0\t-\n"
		"18\t0\t2\t1\tweb\t0\t4\tpublished\t0\t4\tin/data/a.jsonl\t400\t0\t-\n"
		"18\t1\t0\t1\tweb\t0\t4\tpublished\t0\t4\tin/data/a.jsonl\t400\t0\t-\n"
		"19\t0\t1\t1\tcode\t0\t1\tpublished\t0\t8\tdata/a.jsonl\t100\t0\t6\n"
		"19\t0\t2\t1\tcode\t0\t1\tpublished\t0\t8\tdata/a.jsonl\t100\t0\t6\n"
		"19\t1\t0\t1\tcode\t0\t1\tpublished\t0\t8\tdata/a.jsonl\t100\t0\t6\n"
		"20\t0\t1\t1\tcode\t0\t0\tpublished\t0\t3\tdata/a.jsonl\t0\t0\t5\n"
		"20\t0\t1\t1\tcode\t0\t0\tpublished\t3\t4\tdata/a.jsonl\t1\t7\t~6\n"
		"20\t0\t2\t1\tcode\t0\t0\tpublished\t0\t3\tdata/a.jsonl\t0\t0\t5\n"
		"20\t0\t2\t1\tcode\t0\t0\tpublished\t3\t4\tdata/a.jsonl\t1\t7\t~6\n"
		"20\t1\t0\t1\tcode\t0\t0\tpublished\t0\t3\tdata/a.jsonl\t0\t0\t5\n"
		"20\t1\t0\t1\tcode\t0\t0\tpublished\t3\t4\tdata/a.jsonl\t1\t7\t~6\n"},
	    {"data/a.jsonl:6", true,
		"step\tlane\tslot\tepoch\tdomain\tpartition\tordinal\tstate\tstart\ttokens\tsource"
		"\tdocument\toffset\tline\n"
		"19\t0\t1\t1\tcode\t0\t1\tpublished\t0\t8\tdata/a.jsonl\t100\t0\t6\n"
		"19\t0\t2\t1\tcode\t0\t1\tpublished\t0\t8\tdata/a.jsonl\t100\t0\t6\n"
		"19\t1\t0\t1\tcode\t0\t1\tpublished\t0\t8\tdata/a.jsonl\t100\t0\t6\n"
		"20\t0\t1\t1\tcode\t0\t0\tpublished\t3\t4\tdata/a.jsonl\t1\t7\t~6\n"
		"20\t0\t2\t1\tcode\t0\t0\tpublished\t3\t4\tdata/a.jsonl\t1\t7\t~6\n"
		"20\t1\t0\t1\tcode\t0\t0\tpublished\t3\t4\tdata/a.jsonl\t1\t7\t~6\n"
		"70\t0\t1\t2\tcode\t0\t0\tplanned\t3\t4\tdata/a.jsonl\t1\t7\t~6\n"
		"71\t0\t1\t2\tcode\t0\t1\tplanned\t0\t8\tdata/a.jsonl\t100\t0\t6\n"},
	    {"data/a.jsonl:5", false,
		"step\tlane\tslot\tepoch\tdomain\tpartition\tordinal\tstate\tstart\ttokens\tsource"
		"\tdocument\toffset\tline\n"
		"20\t0\t1\t1\tcode\t0\t0\tpublished\t0\t3\tdata/a.jsonl\t0\t0\t5\n"
		"20\t0\t2\t1\tcode\t0\t0\tpublished\t0\t3\tdata/a.jsonl\t0\t0\t5\n"
		"20\t1\t0\t1\tcode\t0\t0\tpublished\t0\t3\tdata/a.jsonl\t0\t0\t5\n"},
	    {"b.jsonl", false,
		"step\tlane\tslot\tepoch\tdomain\tpartition\tordinal\tstate\tstart\ttokens\tsource"
		"\tdocument\toffset\tline\n"
		"20\t0\t1\t1\tcode\t0\t0\tpublished\t7\t2\tdata/b.jsonl\t2\t14\t1\n"
		"20\t0\t2\t1\tcode\t0\t0\tpublished\t7\t2\tdata/b.jsonl\t2\t14\t1\n"
		"20\t1\t0\t1\tcode\t0\t0\tpublished\t7\t2\tdata/b.jsonl\t2\t14\t1\n"},
	    {"c:7", false,
		"step\tlane\tslot\tepoch\tdomain\tpartition\tordinal\tstate\tstart\ttokens\tsource"
		"\tdocument\toffset\tline\n"
		"19\t0\t1\t1\tweb\t1\t2\tpublished\t2\t4\tin/c:7\t201\t7\t3\n"
		"19\t0\t2\t1\tweb\t1\t2\tpublished\t2\t4\tin/c:7\t201\t7\t3\n"
		"19\t1\t0\t1\tweb\t1\t2\tpublished\t2\t4\tin/c:7\t201\t7\t3\n"
		"20\t0\t1\t1\tweb\t0\t4\tpublished\t4\t4\tin/c:7\t401\t7\t2\n"
		"20\t0\t2\t1\tweb\t0\t4\tpublished\t4\t4\tin/c:7\t401\t7\t2\n"
		"20\t1\t0\t1\tweb\t0\t4\tpublished\t4\t4\tin/c:7\t401\t7\t2\n"},
	    /* a name that ends as a line does */
	    {"c:7:3", false,
		"step\tlane\tslot\tepoch\tdomain\tpartition\tordinal\tstate\tstart\ttokens\tsource"
		"\tdocument\toffset\tline\n"
		"20\t0\t1\t1\tweb\t1\t2\tpublished\t2\t4\tin/c:7\t201\t7\t3\n"
		"20\t0\t2\t1\tweb\t1\t2\tpublished\t2\t4\tin/c:7\t201\t7\t3\n"
		"20\t1\t0\t1\tweb\t1\t2\tpublished\t2\t4\tin/c:7\t201\t7\t3\n"},
	    {"in/data/a.jsonl", false,
		"step\tlane\tslot\tepoch\tdomain\tpartition\tordinal\tstate\tstart\ttokens\tsource"
		"\tdocument\toffset\tline\n"
		"20\t0\t1\t1\tweb\t0\t4\tpublished\t0\t4\tin/data/a.jsonl\t400\t0\t-\n"
		"20\t0\t2\t1\tweb\t0\t4\tpublished\t0\t4\tin/data/a.jsonl\t400\t0\t-\n"
		"20\t1\t0\t1\tweb\t0\t4\tpublished\t0\t4\tin/data/a.jsonl\t400\t0\t-\n"},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, what) {
		struct printed p;
		char log[2048];

		assert_int_equal(ask(&p, rows[i].what, rows[i].plan, false, log), FAIL_NONE);
		printed_is(&p, rows[i].printed);
	}
}

static void
test_what_is_not_there_is_named_with_what_is_near(void **unused)
{
	static const struct {
		const char *what;
		enum fail_code code;
		const char *says;
	} rows[] = {
	    {"code/1/0", FAIL_DATA, "domain code has no partition 1 (0 to 0)"},
	    {"code/0/2", FAIL_DATA, "code/0 has the ordinals 0..2 as far as mix pre knows, not 2"},
	    {"web/0/5", FAIL_DATA, "web/0 has the ordinals 0..5 as far as mix pre knows, not 5"},
	    {"wep/0/1", FAIL_USAGE,
		"no file ends in wep/0/1, and mix pre has no domain wep (did you mean web?); it "
		"has code, web"},
	    {"jsonl", FAIL_USAGE,
		"no training sequence of mix pre is from a file jsonl; `riffle inspect 0` shows "
		"the files of step 0, `riffle rejects` what was not used, and documents of "
		"validation and test sets are not drawn"},
	    {"other.json", FAIL_USAGE,
		"no training sequence of mix pre is from a file other.json (did you mean "
		"other.jsonl?); `riffle inspect 0` shows the files of step 0, `riffle rejects` "
		"what was not used, and documents of validation and test sets are not drawn"},
	    {"b.jsom", FAIL_USAGE,
		"no training sequence of mix pre is from a file b.jsom (did you mean b.jsonl?); "
		"`riffle inspect 0` shows the files of step 0, `riffle rejects` what was not used, "
		"and documents of validation and test sets are not drawn"},
	    {"data/other.json:7", FAIL_USAGE,
		"no training sequence of mix pre is from a file data/other.json (did you mean "
		"in/other.jsonl:7?); `riffle inspect 0` shows the files of step 0, `riffle "
		"rejects` "
		"what was not used, and documents of validation and test sets are not drawn"},
	    {"dat/b.jsonl:2", FAIL_USAGE,
		"no training sequence of mix pre is from a file dat/b.jsonl (did you mean "
		"data/b.jsonl:2?); `riffle inspect 0` shows the files of step 0, `riffle rejects` "
		"what was not used, and documents of validation and test sets are not drawn"},
	    {"elsewhere/b.jsonl", FAIL_USAGE,
		"no training sequence of mix pre is from a file elsewhere/b.jsonl (did you mean "
		"b.jsonl?); `riffle inspect 0` shows the files of step 0, `riffle rejects` what "
		"was not used, and documents of validation and test sets are not drawn"},
	    {"b.jsonl:2", FAIL_DATA,
		"no training sequence of mix pre holds a document of b.jsonl:2; `riffle rejects` "
		"lists what was not used, and documents of validation and test sets are not drawn"},
	    {"a.jsonl:9", FAIL_DATA,
		"no training sequence of mix pre holds a document of a.jsonl:9 for certain: the "
		"lines of some documents of that file are not known; `riffle rejects` lists what "
		"was not used, and documents of validation and test sets are not drawn"},
	    {"b.jsonl:0", FAIL_USAGE,
		"no training sequence of mix pre is from a file b.jsonl:0 (did you mean b.jsonl?); "
		"`riffle inspect 0` shows the files of step 0, `riffle rejects` what was not used, "
		"and documents of validation and test sets are not drawn"},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, what) {
		struct printed p;
		char log[2048];

		assert_int_equal(ask(&p, rows[i].what, false, false, log), rows[i].code);
		printed_is(&p, "");
		printed_compare(f.text, rows[i].says);
	}
}

static void
test_the_json_has_each_sequence_with_its_documents_and_draws(void **unused)
{
	struct printed p;
	char log[2048];

	(void)unused;
	result = (struct drawn_result){.published = 50, .planned_end = 90, .ended = true};
	snprintf(result.dry, sizeof(result.dry), "web");
	assert_int_equal(ask(&p, "a.jsonl:6", true, true, log), FAIL_NONE);
	printed_json_is(&p,
	    "{'mix':'pre','document':'a.jsonl:6','published':50,'planned_end':90,'ended':true"
	    ",'dry':'web','sequences':[{'domain':'code','partition':0,'ordinal':0,'documents'"
	    ":[{'start':3,'tokens':4,'source':'data/a.jsonl','document':1,'offset':7,'line':6"
	    ",'line_exact':false}],'draws':[{'step':20,'lane':0,'slot':1,'epoch':1,'planned':"
	    "false},{'step':20,'lane':0,'slot':2,'epoch':1,'planned':false},{'step':20,'lane'"
	    ":1,'slot':0,'epoch':1,'planned':false},{'step':70,'lane':0,'slot':1,'epoch':2,'p"
	    "lanned':true}]},{'domain':'code','partition':0,'ordinal':1,'documents':[{'start'"
	    ":0,'tokens':8,'source':'data/a.jsonl','document':100,'offset':0,'line':6,'line_e"
	    "xact':true}],'draws':[{'step':19,'lane':0,'slot':1,'epoch':1,'planned':false},{'"
	    "step':19,'lane':0,'slot':2,'epoch':1,'planned':false},{'step':19,'lane':1,'slot'"
	    ":0,'epoch':1,'planned':false},{'step':71,'lane':0,'slot':1,'epoch':2,'planned':t"
	    "rue}]}]}");
	result.dry[0] = '\0';
	assert_int_equal(ask(&p, "code/0/0", false, true, log), FAIL_NONE);
	printed_json_is(&p,
	    "{'mix':'pre','document':'code/0/0','published':50,'planned_end':null,'ended':tru"
	    "e,'dry':null,'sequences':[{'domain':'code','partition':0,'ordinal':0,'documents'"
	    ":[],'draws':[{'step':20,'lane':0,'slot':1,'epoch':1,'planned':false},{'step':20,"
	    "'lane':0,'slot':2,'epoch':1,'planned':false},{'step':20,'lane':1,'slot':0,'epoch"
	    "':1,'planned':false}]}]}");
	memset(&result, 0, sizeof(result));
}

static void
test_what_the_table_does_not_say_is_logged(void **unused)
{
	static const struct {
		bool none, full, ended, plan;
		const char *dry, *says[2]; /* what the log has; NULL: nothing more */
	} rows[] = {
	    {false, false, false, true, "", {NULL}},
	    {true, false, false, false, "",
		{"1 sequences hold it, and none of them was drawn in the steps looked at"}},
	    {false, true, false, true, "", {"the steps are likely only"}},
	    {false, true, false, false, "", {NULL}},
	    {false, false, true, true, "", {"the mix ends at step 90"}},
	    {false, false, true, false, "", {NULL}},
	    {false, true, true, true, "web",
		{"the steps are likely only",
		    "from step 90 on the order depends on what is published to the live domain "
		    "web"}},
	};

	(void)unused;
	EACH_ROW(i, rows) {
		struct printed p;
		char log[2048];
		size_t lines = 0;

		result = (struct drawn_result){
		    .planned_end = 90, .full = rows[i].full, .ended = rows[i].ended};
		snprintf(result.dry, sizeof(result.dry), "%s", rows[i].dry);
		none_drawn = rows[i].none;
		assert_int_equal(ask(&p, "code/0/0", rows[i].plan, false, log), FAIL_NONE);
		printed_end(&p);
		free(p.text);
		for (const char *at = log; (at = strchr(at, '\n')) != NULL; at++)
			lines++;
		for (size_t k = 0; k < 2 && rows[i].says[k] != NULL; k++, lines--)
			assert_non_null(strstr(log, rows[i].says[k]));
		assert_int_equal(lines, 0);
	}
	none_drawn = false;
	memset(&result, 0, sizeof(result));
}

static void
test_a_mix_that_has_not_started_has_drawn_nothing(void **unused)
{
	struct printed p;
	char log[2048];

	(void)unused;
	is_empty = true;
	assert_int_equal(ask(&p, "code/0/0", false, false, log), FAIL_DATA);
	assert_string_equal(f.text, "mix pre has not started: its ledger is empty");
	is_empty = false;
	printed_is(&p, "");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_file_a_line_or_a_sequence_is_found_and_its_draws_are_sorted),
	    cmocka_unit_test(test_what_is_not_there_is_named_with_what_is_near),
	    cmocka_unit_test(test_the_json_has_each_sequence_with_its_documents_and_draws),
	    cmocka_unit_test(test_what_the_table_does_not_say_is_logged),
	    cmocka_unit_test(test_a_mix_that_has_not_started_has_drawn_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
