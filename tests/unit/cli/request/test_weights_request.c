/* weights_request.h: which request the words of `riffle weights` are. */
#include "cli/request/weights_request.h"

#include "cli/request/request_words.h"

#include "tests/unit/test.h"

enum { CONFIGURED = 4 };

/* The mix draws from web and code; books has left it, and papers was never in it. */
static struct config_domain configured[CONFIGURED] = {
    {.name = "books"}, {.name = "code"}, {.name = "papers"}, {.name = "web"}};
static const struct config config = {.domains_n = CONFIGURED, .domains = configured};

static struct ledger_domain mixed[] = {
    {.name = "web"}, {.name = "code"}, {.name = "books", .state = LEDGER_LEFT}};
static const struct ledger started = {.domain = mixed, .domains_n = 3};

/* Makes the request of at most two words, "" standing for none, and compares it. */
static void
check(const struct ledger *last, struct weights_request_change change, const char *first,
    const char *second, enum fail_code want, enum ledger_change_kind kind, const char *domain)
{
	char *word[] = {(char *)(uintptr_t)first, (char *)(uintptr_t)second};
	struct control c = {0};
	struct failure f = {0};

	change.word = word;
	change.words_n = (size_t)(*first != '\0') + (size_t)(*second != '\0');
	change.id = "an-id";
	change.at_step = -1;
	assert_int_equal(weights_request(&c, &change, last, &config, &f), want);
	if (want == FAIL_NONE) {
		assert_int_equal(c.kind, kind);
		assert_string_equal(c.domain == NULL ? "" : c.domain, domain);
		assert_string_equal(c.id, "an-id");
		assert_int_equal(c.weights_n, change.words_n + (change.join != NULL));
	}
	control_clear(&c);
}

static void
test_weights_of_domains_of_the_mix_are_weights(void **unused)
{
	const struct weights_request_change plain = {0};

	(void)unused;
	check(&started, plain, "web=1", "code=2", FAIL_NONE, LEDGER_WEIGHTS, "");
	check(&started, plain, "", "", FAIL_NONE, LEDGER_WEIGHTS, "");
}

static void
test_a_weight_of_a_domain_that_is_only_configured_lets_it_join(void **unused)
{
	const struct weights_request_change plain = {0};

	(void)unused;
	check(&started, plain, "papers=1", "web=2", FAIL_NONE, LEDGER_JOIN, "papers");
	check(&started, plain, "books=1", "", FAIL_NONE, LEDGER_JOIN, "books");
	check(NULL, plain, "papers=1", "", FAIL_NONE, LEDGER_WEIGHTS, ""); /* not started */
}

static void
test_one_domain_joins_or_leaves_at_a_time(void **unused)
{
	const struct weights_request_change plain = {0}, leave = {.leave = "web"};
	const struct weights_request_change join = {.join = "papers=1"};

	(void)unused;
	check(&started, leave, "code=1", "", FAIL_NONE, LEDGER_LEAVE, "web");
	check(&started, join, "web=1", "", FAIL_NONE, LEDGER_JOIN, "papers");
	check(&started, plain, "papers=1", "books=1", FAIL_USAGE, LEDGER_JOIN, "");
	check(&started, leave, "papers=1", "", FAIL_USAGE, LEDGER_LEAVE, "");
	check(&started, join, "books=1", "", FAIL_USAGE, LEDGER_JOIN, "");
}

/* At once, mixer or not: a request for it would be refused when a mixer answers. */
static void
test_a_domain_that_nobody_knows_is_named_with_the_one_that_is_near(void **unused)
{
	const struct weights_request_change plain = {0}, leave = {.leave = "cod"};
	const struct weights_request_change join = {.join = "fresh=1"};
	struct failure f = {0};

	(void)unused;
	check(&started, plain, "cod=1", "", FAIL_USAGE, LEDGER_WEIGHTS, "");
	check(NULL, plain, "web=1", "cod=1", FAIL_USAGE, LEDGER_WEIGHTS, "");
	check(&started, leave, "", "", FAIL_USAGE, LEDGER_LEAVE, "");
	check(&started, join, "web=1", "", FAIL_NONE, LEDGER_JOIN, "fresh"); /* its topic tells */
	check(&started, join, "cod=1", "", FAIL_USAGE, LEDGER_JOIN, "");
	assert_int_equal(request_words_known("cod", &started, &config, &f), FAIL_USAGE);
	assert_string_equal(
	    f.text, "the mix has no domain cod (did you mean code?); it has web, code, books");
}

/* Before anything is sent: the mixer would refuse it at every step. */
static void
test_some_domain_must_keep_a_weight(void **unused)
{
	const struct weights_request_change plain = {0}, leave = {.leave = "web"};
	const struct weights_request_change join = {.join = "fresh=0"}, joins = {.join = "fresh=1"};
	struct ledger_change change = {.kind = LEDGER_JOIN};
	struct ledger waits = started, one = started;

	(void)unused;
	waits.pending = &change;
	waits.pending_n = 1;
	one.domains_n = 1;
	check(&started, plain, "web=0", "code=0", FAIL_DATA, LEDGER_WEIGHTS, "");
	check(&started, plain, "web=0", "", FAIL_NONE, LEDGER_WEIGHTS, "");
	check(&started, plain, "web=0", "code=1", FAIL_NONE, LEDGER_WEIGHTS, "");
	check(&started, leave, "code=0", "", FAIL_DATA, LEDGER_LEAVE, "");
	check(&one, leave, "", "", FAIL_DATA, LEDGER_LEAVE, "");
	check(&started, join, "web=0", "code=0", FAIL_DATA, LEDGER_JOIN, "");
	check(&started, joins, "web=0", "code=0", FAIL_NONE, LEDGER_JOIN, "fresh");
	check(&waits, plain, "web=0", "code=0", FAIL_NONE, LEDGER_WEIGHTS, "");
	check(NULL, plain, "web=0", "code=0", FAIL_NONE, LEDGER_WEIGHTS, ""); /* 2 of 4 */
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_weights_of_domains_of_the_mix_are_weights),
	    cmocka_unit_test(test_a_weight_of_a_domain_that_is_only_configured_lets_it_join),
	    cmocka_unit_test(test_one_domain_joins_or_leaves_at_a_time),
	    cmocka_unit_test(test_a_domain_that_nobody_knows_is_named_with_the_one_that_is_near),
	    cmocka_unit_test(test_some_domain_must_keep_a_weight),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
