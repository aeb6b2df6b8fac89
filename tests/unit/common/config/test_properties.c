#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/config/properties.h"
#include "tests/unit/test.h"

static struct failure f;

static void
test_what_no_message_may_show(void **state)
{
	static const struct {
		const char *name;
		bool secret;
	} row[] = {
	    {"sasl.password", true},
	    {"ssl.key.password", true},
	    {"ssl.keystore.password", true},
	    {"ssl.key.pem", true},
	    {"sasl.oauthbearer.client.secret", true},
	    {"ssl.key.passphrase", true},
	    {"sasl.oauthbearer.config.url", false},
	    {"password.file", false},
	    {"sasl.oauthbearer.config", true},
	    {"sasl.username", false},
	    {"ssl.ca.pem", false},
	    {"ssl.certificate.pem", false},
	    {"ssl.key.location", false},
	    {"bootstrap.servers", false},
	    {"", false},
	};

	(void)state;
	EACH_NAMED_ROW(i, row, name)
		assert_int_equal(properties_secret(row[i].name), row[i].secret);
}

static void
write_bytes(char path[static 32], const char *bytes, size_t n)
{
	int fd;

	snprintf(path, 32, "/%s/riffle.secret.XXXXXX", "tmp");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, n), n);
	close(fd);
}

/* A file of n times `c`, with `end` behind; what the property becomes, or NULL and the failure. */
static char *
property_of(char c, size_t n, const char *end)
{
	char path[32], *bytes = malloc(n + strlen(end) + 1), *value = NULL;
	struct properties p = {0};

	assert_non_null(bytes);
	memset(bytes, c, n);
	memcpy(bytes + n, end, strlen(end) + 1);
	write_bytes(path, bytes, n + strlen(end));
	if (properties_set_from(&p, "sasl.password", "file", path, &f) == FAIL_NONE)
		value = strdup(p.item[0].value);
	else
		assert_int_equal(p.n, 0);
	unlink(path);
	free(bytes);
	properties_clear(&p);
	return value;
}

static void
test_a_file_is_read_without_the_end_of_its_last_line(void **state)
{
	static const struct {
		size_t n;
		const char *end, *wanted;
	} row[] = {
	    {3, "", "xxx"},
	    {3, "\n", "xxx"},
	    {3, "\r\n", "xxx"},
	    {3, "\n\n", "xxx\n"},
	    {3, " ", "xxx "},
	};

	(void)state;
	EACH_NAMED_ROW(i, row, end) {
		char *value = property_of('x', row[i].n, row[i].end);

		assert_non_null(value);
		assert_string_equal(value, row[i].wanted);
		free(value);
	}
}

static void
test_a_file_has_something_and_at_most_the_limit(void **state)
{
	char *value = property_of('x', PROPERTIES_SECRET_MAX, "");

	(void)state;
	assert_non_null(value);
	assert_int_equal(strlen(value), PROPERTIES_SECRET_MAX);
	free(value);
	assert_null(property_of('x', PROPERTIES_SECRET_MAX + 1, ""));
	assert_int_equal(f.code, FAIL_CONFIG);
	assert_non_null(strstr(f.text, "is no text of at most 65536 bytes"));
	assert_null(strstr(f.text, "xxx"));
	assert_null(property_of('x', 0, "\n"));
	assert_non_null(strstr(f.text, "is empty"));
	assert_null(property_of('\0', 5, ""));
	assert_non_null(strstr(f.text, "is no text"));
}

static void
test_a_place_that_is_none_says_which(void **state)
{
	static const struct {
		const char *kind, *where, *said;
	} row[] = {
	    {"file", "/nowhere/secret", "cannot open /nowhere/secret"},
	    {"file", "/", "cannot read /"},
	    {"env", "RIFFLE_TEST_NOT_SET", "RIFFLE_TEST_NOT_SET is not set"},
	    {"vault", "x", "from a file or env, not vault"},
	};
	struct properties p = {0};

	(void)state;
	EACH_NAMED_ROW(i, row, kind) {
		assert_int_equal(
		    properties_set_from(&p, "a", row[i].kind, row[i].where, &f), FAIL_CONFIG);
		assert_non_null(strstr(f.text, row[i].said));
	}
	assert_int_equal(p.n, 0);
	properties_clear(&p);
}

static void
test_a_variable_of_the_environment_is_taken_as_it_is(void **state)
{
	struct properties p = {0};

	(void)state;
	setenv("RIFFLE_TEST_SECRET", "a b\n", 1);
	assert_int_equal(properties_set_from(&p, "a", "env", "RIFFLE_TEST_SECRET", &f), FAIL_NONE);
	assert_string_equal(p.item[0].value, "a b\n");
	unsetenv("RIFFLE_TEST_SECRET");
	properties_clear(&p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_what_no_message_may_show),
	    cmocka_unit_test(test_a_file_is_read_without_the_end_of_its_last_line),
	    cmocka_unit_test(test_a_file_has_something_and_at_most_the_limit),
	    cmocka_unit_test(test_a_place_that_is_none_says_which),
	    cmocka_unit_test(test_a_variable_of_the_environment_is_taken_as_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
