/*
 * riffle topics: what it asks for, shows and returns. The broker is a mock cluster, which creates
 * and deletes nothing: the functions of common/kafka/topics.h are the test's own here.
 */
#include "common/kafka/topics.h"

#include "common/kafka/topics_judge.h"
#include "consumer/publish/election_group.h"
#include "tests/unit/config_file.h"
#include "tests/unit/mock_topics.h"
#include "tests/unit/run_command.h"

enum { TOPICS_MAX = 16 };

/* ---- a broker by script ---- */

static struct {
	char there[512]; /* names, each followed by a blank */
	char trace[1024];
	const char *wrong; /* a topic that has a partition too few */
	int lags;          /* how often another broker answers that does not know the change yet */
	char known[512];   /* what that one knows */
	int64_t minutes;   /* of committed offsets */
} broker;

static bool
has(const char *names, const char *name)
{
	size_t n = strlen(name);

	for (const char *at = names; (at = strstr(at, name)) != NULL; at += n)
		if ((at == names || at[-1] == ' ') && at[n] == ' ')
			return true;
	return false;
}

static void
note_call(const char *what, const char *name)
{
	size_t n = strlen(broker.trace);

	snprintf(broker.trace + n, sizeof(broker.trace) - n, "%s%s ", what, name);
}

enum fail_code
topics_query(rd_kafka_t *rk, const struct config *c, const struct topic_plan *p,
    struct topics_use use, struct topics_report *report, int timeout_ms, struct failure *f)
{
	const char *names = broker.lags > 0 ? broker.known : broker.there;

	(void)rk, (void)c, (void)use, (void)timeout_ms, (void)f;
	broker.lags -= broker.lags > 0;
	for (size_t i = 0; i < p->n; i++) {
		report[i] = (struct topics_report){
		    .exists = has(names, p->topic[i].name), .partitions = p->topic[i].partitions};
		if (!report[i].exists)
			topics_judge_missing(&report[i]);
		else if (broker.wrong != NULL && strcmp(broker.wrong, p->topic[i].name) == 0)
			snprintf(report[i].problem, sizeof(report[i].problem), "has 1 partition");
	}
	return FAIL_NONE;
}

enum fail_code
topics_create(rd_kafka_t *rk, const struct config *c, const struct topic_plan *p,
    const struct topics_report *report, int timeout_ms, struct failure *f)
{
	(void)rk, (void)c, (void)timeout_ms, (void)f;
	snprintf(broker.known, sizeof(broker.known), "%s", broker.there);
	for (size_t i = 0; i < p->n; i++)
		if (!report[i].exists) {
			size_t n = strlen(broker.there);

			note_call("+", p->topic[i].name);
			snprintf(
			    broker.there + n, sizeof(broker.there) - n, "%s ", p->topic[i].name);
		}
	return FAIL_NONE;
}

enum fail_code
topics_delete(rd_kafka_t *rk, const struct topic_plan *p, const struct topics_report *report,
    int timeout_ms, struct failure *f)
{
	char left[sizeof(broker.there)] = "";

	(void)rk, (void)timeout_ms, (void)f;
	snprintf(broker.known, sizeof(broker.known), "%s", broker.there);
	for (size_t i = 0; i < p->n; i++) {
		size_t n = strlen(left);

		if (report[i].exists)
			note_call("-", p->topic[i].name);
		else if (has(broker.there, p->topic[i].name))
			snprintf(left + n, sizeof(left) - n, "%s ", p->topic[i].name);
	}
	memcpy(broker.there, left, sizeof(left));
	return FAIL_NONE;
}

enum fail_code
topics_fail_missing(const struct config *c, const struct topic_plan *p,
    const struct topics_report *report, struct failure *f)
{
	(void)c;
	for (size_t i = 0; i < p->n; i++)
		if (!report[i].exists)
			return fail(f, FAIL_CONFIG, "missing: %s", p->topic[i].name);
	return FAIL_NONE;
}

enum fail_code
topics_check(rd_kafka_t *rk, const struct config *c, struct topics_use use, int timeout_ms,
    struct failure *f)
{
	(void)rk, (void)c, (void)use, (void)timeout_ms, (void)f;
	return FAIL_NONE;
}

enum fail_code
topics_check_batch(rd_kafka_t *rk, const struct config *c, uint32_t global_batch, int timeout_ms,
    struct failure *f)
{
	(void)rk, (void)c, (void)global_batch, (void)timeout_ms, (void)f;
	return FAIL_NONE;
}

void
topics_warn_hidden(rd_kafka_t *rk, const struct topic_plan *p, const struct topics_report *report)
{
	(void)rk, (void)p, (void)report;
}

void
topics_warn_losses(const struct topic_plan *p, const struct topics_report *report)
{
	(void)p, (void)report;
}

enum fail_code
topics_offsets_retention(rd_kafka_t *rk, int64_t *minutes, int timeout_ms, struct failure *f)
{
	(void)rk, (void)timeout_ms, (void)f;
	*minutes = broker.minutes;
	return FAIL_NONE;
}

/* ---- the command ---- */

static int
open_all(void **state)
{
	struct config *c;

	if (mock_begin(state) != 0 || folder_open(state) != 0 ||
	    open_with(&c, 0, "", &f) != FAIL_NONE)
		return -1;
	config_close(c);
	mock_topic("demo.web", 1);
	mock_topic("demo.code", 1);
	setenv("RIFFLE_CONFIG", folder_path("run.yml"), 1);
	setenv("RIFFLE_BOOTSTRAP", mock_bootstrap, 1);
	return 0;
}

static int
close_all(void **state)
{
	unsetenv("RIFFLE_CONFIG");
	unsetenv("RIFFLE_BOOTSTRAP");
	folder_close(state);
	return mock_end(state);
}

#define CORPUS  "demo.code demo.web demo.rejects "
#define MIX     "pretrain.batches pretrain.ledger pretrain.control pretrain.feedback "
#define NO_MIX  "-pretrain.batches -pretrain.ledger -pretrain.control -pretrain.feedback "
#define NEW_MIX "+pretrain.batches +pretrain.ledger +pretrain.control +pretrain.feedback "

/* The last column of the table, of each topic in its order. */
static void
states_are(const char *printed, const char *expected)
{
	char states[512] = "";
	const char *line = printed;

	for (size_t n = 0; *line != '\0' && *line != '\n'; line = strchr(line, '\n') + 1) {
		const char *end = strchr(line, '\n'), *at = end;

		while (strncmp(at - 2, "  ", 2) != 0)
			at--;
		n += (size_t)snprintf(states + n, sizeof(states) - n, "%.*s|", (int)(end - at), at);
	}
	assert_string_equal(states, expected);
}

/* In place of election_group.c: a mock cluster answers nothing of groups. */
bool
election_group_active(const struct config *c, char *hosts, size_t room)
{
	(void)c;
	snprintf(hosts, room, "none");
	return false;
}

static void
test_topics_are_shown_made_and_deleted_as_the_words_say(void **unused)
{
	static const struct {
		const char *words, *there, *trace, *states;
		const char *wrong, *says; /* NULL: it succeeds */
		int lags;
	} rows[] = {
	    {"", CORPUS MIX, "", "STATE|present|present|present|present|present|present|present|",
		NULL, NULL, 0},
	    {"", CORPUS, "", "STATE|present|present|present|missing|missing|missing|missing|", NULL,
		"missing: pretrain.batches", 0},
	    {"", CORPUS MIX, "",
		"STATE|present|has 1 partition|present|present|present|present|present|",
		"demo.web",
		"1 of 7 topics are not as the configuration wants, the first: topic demo.web: has "
		"1 partition",
		0},
	    {"--create", CORPUS MIX, "",
		"STATE|present|present|present|present|present|present|present|", NULL, NULL, 0},
	    {"--create", CORPUS, NEW_MIX,
		"STATE|present|present|present|created|created|created|created|", NULL, NULL, 0},
	    {"--create", CORPUS, NEW_MIX,
		"STATE|present|present|present|created|created|created|created|", NULL, NULL, 2},
	    {"--create", CORPUS, NEW_MIX,
		"STATE|has 1 partition|present|present|created|created|created|created|",
		"demo.code",
		"1 of 7 topics are not as the configuration wants, the first: topic demo.code: has "
		"1 partition",
		0},
	    {"--delete --mix --yes", CORPUS MIX, NO_MIX,
		"STATE|present|present|present|deleted|deleted|deleted|deleted|", NULL, NULL, 0},
	    {"--delete --mix --yes", CORPUS MIX, NO_MIX,
		"STATE|present|present|present|deleted|deleted|deleted|deleted|", NULL, NULL, 2},
	    {"--delete --mix -y", CORPUS "pretrain.ledger ", "-pretrain.ledger ",
		"STATE|present|present|present|missing|deleted|missing|missing|", NULL, NULL, 0},
	    {"--delete --mix", CORPUS, "",
		"STATE|present|present|present|missing|missing|missing|missing|", NULL, NULL, 0},
	    {"--delete --mix --create --yes", CORPUS MIX, NO_MIX NEW_MIX,
		"STATE|present|present|present|created|created|created|created|", NULL, NULL, 0},
	    {"--delete --domain web --yes", CORPUS MIX, "-demo.web ",
		"STATE|present|deleted|present|present|present|present|present|", NULL, NULL, 0},
	    {"--delete --yes", CORPUS MIX, "-demo.code -demo.web -demo.rejects " NO_MIX,
		"STATE|deleted|deleted|deleted|deleted|deleted|deleted|deleted|", NULL, NULL, 0},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, words) {
		struct printed p;
		enum fail_code code;

		memset(&broker, 0, sizeof(broker));
		snprintf(broker.there, sizeof(broker.there), "%s", rows[i].there);
		snprintf(broker.known, sizeof(broker.known), "%s", rows[i].there);
		broker.wrong = rows[i].wrong;
		broker.minutes = -1;
		broker.lags = rows[i].lags;
		code = run_command(&p, &cmd_topics, rows[i].words);
		assert_int_equal(code, rows[i].says == NULL ? FAIL_NONE : FAIL_CONFIG);
		if (rows[i].says != NULL)
			assert_string_equal(f.text, rows[i].says);
		assert_string_equal(broker.trace, rows[i].trace);
		states_are(p.text, rows[i].states);
		free(p.text);
	}
}

static void
test_words_that_say_what_is_deleted_need_delete(void **unused)
{
	static const char *const rows[] = {
	    "--mix", "--corpus", "--force", "--domain web", "--create --mix"};

	(void)unused;
	EACH_ROW(i, rows)
		run_command_is(&cmd_topics, rows[i], FAIL_USAGE,
		    "--domain, --mix, --corpus and --force say what --delete deletes: add it");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_topics_are_shown_made_and_deleted_as_the_words_say),
	    cmocka_unit_test(test_words_that_say_what_is_deleted_need_delete),
	};

	log_set_level(LOG_ERROR);
	return cmocka_run_group_tests(tests, open_all, close_all);
}
