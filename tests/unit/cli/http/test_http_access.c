/* http_access.h: what can be a token, and who shows it. */
#include "cli/http/http_access.h"

#include <string.h>

#include "tests/unit/test.h"

#define TOKEN "0123456789abcdef"

static void
test_a_token_is_long_and_of_harmless_letters(void **unused)
{
	char text[HTTP_TOKEN_MAX + 2];

	(void)unused;
	assert_true(http_access_token(TOKEN));
	assert_true(http_access_token("abc-DEF_123.~xyz0"));
	assert_false(http_access_token("0123456789abcde"));
	assert_false(http_access_token("0123456789abcdef "));
	assert_false(http_access_token("0123456789abcdef;"));
	assert_false(http_access_token("0123456789abcd\xc3\xa4"));
	assert_false(http_access_token(""));
	memset(text, 'a', sizeof(text));
	text[HTTP_TOKEN_MAX] = '\0';
	assert_true(http_access_token(text));
	text[HTTP_TOKEN_MAX] = 'a';
	text[HTTP_TOKEN_MAX + 1] = '\0';
	assert_false(http_access_token(text));
	assert_true(http_access_equal("", ""));
	assert_false(http_access_equal("", "a"));
	assert_false(http_access_equal("a", ""));
	assert_false(http_access_equal("ab", "abc"));
}

static void
test_a_bearer_shows_the_whole_token(void **unused)
{
	(void)unused;
	assert_true(http_access_bearer(TOKEN, "Bearer " TOKEN));
	assert_true(http_access_bearer(TOKEN, "bearer " TOKEN));
	assert_false(http_access_bearer(TOKEN, "Bearer " TOKEN "x"));
	assert_false(http_access_bearer(TOKEN, "Bearer 0123456789abcde"));
	assert_false(http_access_bearer(TOKEN, "Basic " TOKEN));
	assert_false(http_access_bearer(TOKEN, "Bearer " TOKEN " "));
	assert_false(http_access_bearer(TOKEN, TOKEN));
	assert_false(http_access_bearer(TOKEN, ""));
	assert_false(http_access_bearer(TOKEN, NULL));
}

static void
test_a_host_has_at_most_255_letters(void **unused)
{
	char name[257];
	const char *const names[] = {name};

	(void)unused;
	memset(name, 'a', sizeof(name));
	name[255] = '\0';
	assert_true(http_access_host(name, names, 1));
	name[255] = 'a';
	name[256] = '\0';
	assert_false(http_access_host(name, names, 1));
	assert_false(http_access_host(NULL, names, 1));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_token_is_long_and_of_harmless_letters),
	    cmocka_unit_test(test_a_bearer_shows_the_whole_token),
	    cmocka_unit_test(test_a_host_has_at_most_255_letters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
