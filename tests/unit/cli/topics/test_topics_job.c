/* topics_job.h: what is chosen, asked, shown and judged, by reports that no broker gave. */
#include "cli/topics/topics_job.h"

#include <fcntl.h>

#include "common/base/log.h"
#include "consumer/admin/draws.h"
#include "tests/unit/capture.h"
#include "tests/unit/printed.h"
#include "tests/unit/pty.h"

enum { CODE, WEB, DOMAINS, TOPICS_MAX = 16 };

static char *pattern[] = {(char[]){"in/*.jsonl"}};
static struct config_domain configured[DOMAINS] = {
    {.name = (char[]){"code"}, .partitions = 1, .valid = {1, pattern}, .train = {1, pattern}},
    {.name = (char[]){"web"}, .partitions = 3, .live = true, .train = {1, pattern}},
};

/* Has a topic of each kind. */
static const struct config whole = {.path = (char[]){"run.yml"},
    .corpus = (char[]){"demo"},
    .sequence_length = 128,
    .split = {1, 0, 0},
    .replication = 1,
    .min_insync_replicas = 1,
    .domains = configured,
    .domains_n = DOMAINS,
    .mix = {.name = (char[]){"pre"}, .global_batch = 8, .lanes = 4, .partitions = 2}};

/* A job as topics_job_open() makes it, of topics that all exist. */
struct scene {
	struct topics_job j;
	struct topics_report report[TOPICS_MAX];
	bool chosen[TOPICS_MAX], domain[DOMAINS];
	enum topics_change change[TOPICS_MAX];
};

static void
scene_open(struct scene *s, const struct config *c)
{
	memset(s, 0, sizeof(*s));
	s->j = (struct topics_job){.config = c,
	    .report = s->report,
	    .chosen = s->chosen,
	    .domain = s->domain,
	    .change = s->change};
	assert_int_equal(topic_plan_open(&s->j.plan, c, &f), FAIL_NONE);
	assert_true(s->j.plan->n <= TOPICS_MAX);
	for (size_t i = 0; i < s->j.plan->n; i++)
		s->report[i].exists = true;
}

static void
scene_close(struct scene *s)
{
	topic_plan_close(s->j.plan);
}

/* The index of a topic in the plan. */
static size_t
topic_of(const struct scene *s, const char *name)
{
	for (size_t i = 0; i < s->j.plan->n; i++)
		if (strcmp(s->j.plan->topic[i].name, name) == 0)
			return i;
	test_true(false, name, &f, __FILE__, __LINE__);
	return 0;
}

/* ---- choosing ---- */

#define OF_CODE   "demo.code demo.code.valid "
#define OF_WEB    "demo.web "
#define OF_CORPUS OF_CODE OF_WEB "demo.rejects demo.arrivals "
#define OF_MIX    "pre.batches pre.lanes pre.ledger pre.control pre.feedback "

static void
test_each_choice_names_its_topics_and_no_others(void **unused)
{
	static const struct {
		const char *chosen;
		bool mix, corpus;
		const char *domain[2];
		size_t domains_n;
		bool code_goes, web_goes;
	} rows[] = {
	    {OF_CORPUS OF_MIX, false, false, {NULL}, 0, true, true},
	    {OF_MIX, true, false, {NULL}, 0, false, false},
	    {OF_CORPUS, false, true, {NULL}, 0, true, true},
	    {OF_CORPUS OF_MIX, true, true, {NULL}, 0, true, true},
	    {OF_CODE, false, false, {"code"}, 1, true, false},
	    {OF_WEB, false, false, {"web"}, 1, false, true},
	    {OF_CODE OF_WEB, false, false, {"web", "code"}, 2, true, true},
	    {OF_CODE OF_MIX, true, false, {"code"}, 1, true, false},
	    {OF_CORPUS, false, true, {"code"}, 1, true, true},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, chosen) {
		const struct topics_choice choice = {.mix = rows[i].mix,
		    .corpus = rows[i].corpus,
		    .domain = (char *const *)(uintptr_t)rows[i].domain,
		    .domains_n = rows[i].domains_n};
		struct scene s;
		char chosen[512] = "";

		scene_open(&s, &whole);
		assert_int_equal(topics_job_choose(&s.j, &choice, &f), FAIL_NONE);
		for (size_t k = 0, n = 0; k < s.j.plan->n; k++)
			if (s.chosen[k])
				n += (size_t)snprintf(
				    chosen + n, sizeof(chosen) - n, "%s ", s.j.plan->topic[k].name);
		assert_string_equal(chosen, rows[i].chosen);
		assert_int_equal(s.domain[CODE], rows[i].code_goes);
		assert_int_equal(s.domain[WEB], rows[i].web_goes);
		scene_close(&s);
	}
}

static void
test_what_the_configuration_does_not_have_cannot_be_chosen(void **unused)
{
	char name[] = "wep", *const wrong[] = {name};
	const struct topics_choice other = {.domain = wrong, .domains_n = 1}, mix = {.mix = true};
	struct config c = whole;
	struct scene s;

	(void)unused;
	scene_open(&s, &whole);
	assert_int_equal(topics_job_choose(&s.j, &other, &f), FAIL_USAGE);
	assert_non_null(strstr(f.text, "did you mean web?"));
	scene_close(&s);
	c.mix = (struct config_mix){.name = NULL};
	scene_open(&s, &c);
	assert_int_equal(topics_job_choose(&s.j, &mix, &f), FAIL_CONFIG);
	scene_close(&s);
}

/* A mix alone goes without a look into the ledgers of others: no broker is asked here. */
static void
test_mixes_are_looked_for_where_a_domain_goes(void **unused)
{
	const struct topics_choice mix = {.mix = true};
	struct scene s;

	(void)unused;
	scene_open(&s, &whole);
	assert_int_equal(topics_job_choose(&s.j, &mix, &f), FAIL_NONE);
	assert_int_equal(topics_job_check_mixes(&s.j, false, false, &f), FAIL_NONE);
	scene_close(&s);
}

/* ---- mixes that draw from a domain that goes ---- */

static struct draws_mix found[2];
static size_t found_n;
static const char *excepted;

enum fail_code
draws_find(struct draws_mix **out, size_t *n, rd_kafka_t *reader, const struct config *c,
    const bool *wanted, const char *except, int timeout_ms, struct failure *f)
{
	assert_non_null(reader);
	assert_true(timeout_ms > 0);
	assert_true(!wanted[CODE] && wanted[WEB]);
	excepted = except;
	*out = NULL;
	*n = 0;
	if (found_n > 2)
		return fail(f, FAIL_BROKER, "no broker");
	assert_string_equal(c->corpus, "demo");
	*out = malloc(sizeof(found));
	assert_non_null(*out);
	memcpy(*out, found, sizeof(found));
	*n = found_n;
	return FAIL_NONE;
}

#define DRAWS(mix, steps)                                                                          \
	"mix " mix " draws from domain web, and has published " steps                              \
	": without the domain it can neither continue nor be replayed"
#define DELETE_FIRST ". Delete the mix first (`riffle topics -c ITS_FILE --delete --mix`)"
#define WARNS        "warning topics: TOPICS-MIX "
#define UNKNOWN      "whether mix b draws from these domains is not known: no right"

static void
test_a_mix_that_draws_keeps_a_domain_unless_forced(void **unused)
{
	static const struct draws_mix had = {.mix = "a", .domain = "web", .steps = 1},
				      drew = {.mix = "a",
					  .domain = "web",
					  .steps = 2,
					  .drawn = true},
				      hidden = {.mix = "b", .unknown = "no right"},
				      broken = {
					  .mix = "c", .unknown = "no record", .damaged = true};
	static const struct {
		const struct draws_mix *mix[2];
		size_t n; /* 3: the search fails */
		bool drawn, force;
		enum fail_code code;
		const char *says, *log;
	} rows[] = {
	    {{NULL, NULL}, 0, false, false, FAIL_NONE, NULL, ""},
	    {{NULL, NULL}, 3, false, false, FAIL_BROKER, "no broker", ""},
	    {{NULL, NULL}, 3, false, true, FAIL_BROKER, "no broker", ""},
	    {{&had, NULL}, 1, false, false, FAIL_CONFIG,
		DRAWS("a", "1 step") DELETE_FIRST ", or use --force", ""},
	    {{&had, NULL}, 1, true, false, FAIL_NONE, NULL, ""},
	    {{&had, NULL}, 1, false, true, FAIL_NONE, NULL, WARNS DRAWS("a", "1 step") "\n"},
	    {{&drew, NULL}, 1, true, false, FAIL_CONFIG, DRAWS("a", "2 steps") DELETE_FIRST, ""},
	    {{&drew, &hidden}, 2, true, true, FAIL_NONE, NULL,
		WARNS DRAWS("a", "2 steps") "\n" WARNS UNKNOWN "\n"},
	    {{&hidden, NULL}, 1, true, false, FAIL_CONFIG, UNKNOWN DELETE_FIRST, ""},
	    {{&had, &hidden}, 2, true, false, FAIL_CONFIG, UNKNOWN DELETE_FIRST, ""},
	    {{&broken, NULL}, 1, true, false, FAIL_NONE, NULL,
		WARNS "the ledger of mix c cannot be read: no record\n"},
	    {{&broken, &drew}, 2, false, false, FAIL_CONFIG,
		DRAWS("a", "2 steps") DELETE_FIRST ", or use --force",
		WARNS "the ledger of mix c cannot be read: no record\n"},
	};
	struct property property[] = {{(char[]){"bootstrap.servers"}, (char[]){"127.0.0.1:1"}}};
	struct config config = whole;

	(void)unused;
	config.kafka = (struct properties){1, property};
	EACH_ROW(i, rows) {
		for (int own = 0; own < 2; own++) { /* its own mix goes, too */
			struct scene s;
			struct capture log;
			char text[4096], said[4096] = "";
			size_t n = 0;
			enum fail_code code;

			scene_open(&s, &config);
			s.domain[WEB] = true;
			s.chosen[topic_of(&s, "pre.batches")] = own == 1;
			found_n = rows[i].n;
			for (size_t k = 0; k < 2; k++)
				if (rows[i].mix[k] != NULL)
					found[k] = *rows[i].mix[k];
			capture_begin(&log);
			code = topics_job_check_mixes(&s.j, rows[i].drawn, rows[i].force, &f);
			capture_end_lines(&log, text, sizeof(text));
			assert_int_equal(code, rows[i].code);
			if (rows[i].says != NULL)
				assert_string_equal(f.text, rows[i].says);
			for (char *rest = NULL, *line = strtok_r(text, "\n", &rest); line != NULL;
			     line = strtok_r(NULL, "\n", &rest))
				if (strstr(line, " kafka: ") == NULL)
					n += (size_t)snprintf(said + n, sizeof(said) - n, "%s\n",
					    strchr(line, ' ') + 1);
			assert_string_equal(said, rows[i].log);
			if (own == 1)
				assert_string_equal(excepted, "pre");
			else
				assert_null(excepted);
			scene_close(&s);
		}
	}
}

/* ---- asking ---- */

static void
test_what_nobody_can_be_asked_about_needs_yes(void **unused)
{
	static const struct {
		const char *claim;
		bool chosen, exists, yes;
		enum fail_code code;
	} rows[] = {
	    {"it goes", true, true, false, FAIL_USAGE},
	    {"it goes, by --yes", true, true, true, FAIL_NONE},
	    {"it is not there", true, false, false, FAIL_NONE},
	    {"it stays", false, true, false, FAIL_NONE},
	};
	int saved = dup(STDIN_FILENO), none = open("/dev/null", O_RDONLY);

	(void)unused;
	assert_true(dup2(none, STDIN_FILENO) >= 0);
	log_set_level(LOG_ERROR);
	EACH_NAMED_ROW(i, rows, claim) {
		struct scene s;

		scene_open(&s, &whole);
		s.chosen[1] = rows[i].chosen;
		s.report[1].exists = rows[i].exists;
		assert_int_equal(topics_job_confirm(&s.j, rows[i].yes, &f), rows[i].code);
		scene_close(&s);
	}
	assert_non_null(strstr(f.text, "add --yes"));
	assert_true(dup2(saved, STDIN_FILENO) >= 0);
	close(none);
	close(saved);
}

static void
test_only_yes_is_an_answer_that_deletes(void **unused)
{
	static const struct {
		const char *answer;
		enum fail_code code;
	} rows[] = {
	    {"yes\n", FAIL_NONE}, {"y\n", FAIL_STOPPED}, {"Yes\n", FAIL_STOPPED},
	    {"yes \n", FAIL_STOPPED}, {"yesterday\n", FAIL_STOPPED}, {"no\n", FAIL_STOPPED},
	    {"\n", FAIL_STOPPED}, {"\004", FAIL_STOPPED}, /* the end of the input */
	};
	int saved = dup(STDIN_FILENO);

	(void)unused;
	EACH_NAMED_ROW(i, rows, answer) {
		enum fail_code code;
		struct scene s;
		struct pty t;
		char said[1024];

		scene_open(&s, &whole);
		s.chosen[0] = s.chosen[1] = true;
		pty_begin(&t, 80);
		assert_true(dup2(STDERR_FILENO, STDIN_FILENO) >= 0);
		assert_true(write(t.master, rows[i].answer, strlen(rows[i].answer)) > 0);
		code = topics_job_confirm(&s.j, false, &f);
		clearerr(stdin);
		pty_end(&t, said, sizeof(said));
		assert_int_equal(code, rows[i].code);
		scene_close(&s);
	}
	assert_true(dup2(saved, STDIN_FILENO) >= 0);
	close(saved);
}

/* ---- showing and judging ---- */

static void
test_the_state_says_what_was_done_last_or_what_is_wrong(void **unused)
{
	static const struct {
		const char *claim, *problem, *state;
		bool exists;
		enum topics_change change;
	} rows[] = {
	    {"as it was", "", "present", true, TOPICS_UNCHANGED},
	    {"missing", "missing", "missing", false, TOPICS_UNCHANGED},
	    {"made", "", "created", true, TOPICS_CREATED},
	    {"made, and wrong", "has 1 partition", "has 1 partition", true, TOPICS_CREATED},
	    {"made, not there yet", "missing", "missing", false, TOPICS_CREATED},
	    {"deleted", "missing", "deleted", false, TOPICS_DELETED},
	    {"deleted, still there", "", "present", true, TOPICS_DELETED},
	    {"wrong", "has 1 partition", "has 1 partition", true, TOPICS_UNCHANGED},
	    {"wrong in one letter", "x", "x", true, TOPICS_UNCHANGED},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, claim) {
		struct scene s;
		struct printed p;
		char line[256];
		size_t web;

		scene_open(&s, &whole);
		web = topic_of(&s, "demo.web");
		s.report[web].exists = rows[i].exists;
		s.change[web] = rows[i].change;
		snprintf(
		    s.report[web].problem, sizeof(s.report[web].problem), "%s", rows[i].problem);
		topics_job_print(&s.j, printed_begin(&p));
		printed_end(&p);
		snprintf(line, sizeof(line), "\n%-15s  %10d  %17d  %s\n", "demo.web", 3, 1 << 20,
		    rows[i].state);
		assert_non_null(strstr(p.text, line));
		assert_non_null(strstr(p.text, "\nreplication=1 retention.ms=-1 "));
		assert_null(strstr(p.text, "max.message.bytes="));
		free(p.text);
		scene_close(&s);
	}
}

static void
test_the_first_that_is_wrong_is_named_before_one_that_is_missing(void **unused)
{
	static const struct {
		const char *missing, *wrong[2], *says; /* NULL: all is well */
	} rows[] = {
	    {NULL, {NULL, NULL}, NULL},
	    {"demo.web", {NULL, NULL}, "1 of 10 topics are missing, the first: demo.web"},
	    {NULL, {"pre.ledger", NULL},
		"1 of 10 topics are not as the configuration wants, the first: topic pre.ledger: "
		"it is so"},
	    {NULL, {"pre.ledger", "demo.web"},
		"2 of 10 topics are not as the configuration wants, the first: topic demo.web"},
	    {"demo.code", {"pre.feedback", NULL},
		"1 of 10 topics are not as the configuration wants, the first: topic pre.feedback"},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, says) {
		struct scene s;

		scene_open(&s, &whole);
		if (rows[i].missing != NULL)
			topics_judge_missing(&s.report[topic_of(&s, rows[i].missing)]);
		for (size_t k = 0; k < 2; k++)
			if (rows[i].wrong[k] != NULL)
				snprintf(s.report[topic_of(&s, rows[i].wrong[k])].problem, 16, "%s",
				    "it is so");
		assert_int_equal(topics_job_existing(&s.j), 10 - (rows[i].missing != NULL));
		assert_int_equal(
		    topics_job_judge(&s.j, &f), rows[i].says == NULL ? FAIL_NONE : FAIL_CONFIG);
		if (rows[i].says != NULL)
			assert_non_null(strstr(f.text, rows[i].says));
		scene_close(&s);
	}
}

/* No broker is asked here. */
static void
test_where_nothing_is_to_be_done_nothing_is(void **unused)
{
	struct scene s;

	(void)unused;
	scene_open(&s, &whole);
	assert_int_equal(topics_job_create(&s.j, &f), FAIL_NONE); /* all are there */
	s.j.use.deleted = true;
	s.chosen[0] = true;
	s.report[0].exists = false;
	assert_int_equal(topics_job_delete(&s.j, &f), FAIL_NONE); /* what is chosen is not */
	for (size_t i = 0; i < s.j.plan->n; i++)
		assert_int_equal(s.change[i], TOPICS_UNCHANGED);
	scene_close(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_each_choice_names_its_topics_and_no_others),
	    cmocka_unit_test(test_what_the_configuration_does_not_have_cannot_be_chosen),
	    cmocka_unit_test(test_mixes_are_looked_for_where_a_domain_goes),
	    cmocka_unit_test(test_a_mix_that_draws_keeps_a_domain_unless_forced),
	    cmocka_unit_test(test_what_nobody_can_be_asked_about_needs_yes),
	    cmocka_unit_test(test_only_yes_is_an_answer_that_deletes),
	    cmocka_unit_test(test_the_state_says_what_was_done_last_or_what_is_wrong),
	    cmocka_unit_test(test_the_first_that_is_wrong_is_named_before_one_that_is_missing),
	    cmocka_unit_test(test_where_nothing_is_to_be_done_nothing_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
