#include "common/config/property_names.h"

#include <string.h>

#include "tests/unit/test.h"

static void
test_a_value_is_shown_of_names_that_are_listed_only(void **state)
{
	static const struct {
		const char *name;
		bool harmless;
	} row[] = {
	    {"bootstrap.servers", true},
	    {"sasl.username", true},
	    {"linger.ms", true},
	    {"acks", true},
	    {"ssl.ca.location", true},
	    {"sasl.password", false},
	    {"sasl.pasword", false},
	    {"sasl.password ", false},
	    {"SASL.username", false},
	    {"sasl.jaas.config", false},
	    {"sasl.oauthbearer.config", false},
	    {"sasl.oauthbearer.extensions", false},
	    {"sasl.oauthbearer.client.secret", false},
	    {"sasl.oauthbearer.token.endpoint.url", false},
	    {"sasl.kerberos.kinit.cmd", false},
	    {"ssl.key.pem", false},
	    {"ssl.key.password", false},
	    {"ssl.keystore.password", false},
	    {"of.a.later.release", false},
	    {"", false},
	};

	const char *wrong = "none";

	(void)state;
	EACH_NAMED_ROW(i, row, name)
		if (property_names_harmless(row[i].name) != row[i].harmless)
			wrong = row[i].name;
	assert_string_equal(wrong, "none");
}

static void
test_a_mistyped_name_has_a_nearest_one(void **state)
{
	static const struct {
		const char *name, *nearest;
	} row[] = {
	    {"sasl.pasword", "sasl.password"},
	    {"ssl.key.pasword", "ssl.key.password"},
	    {"sasl.user.name", "sasl.username"},
	    {"bootstrap.server", "bootstrap.servers"},
	    {"linger_ms", "linger.ms"},
	    {"hunter2", NULL},
	};

	(void)state;
	EACH_NAMED_ROW(i, row, name) {
		const char *nearest = property_names_nearest(row[i].name);

		if (row[i].nearest == NULL)
			assert_null(nearest);
		else
			assert_string_equal(nearest == NULL ? "none" : nearest, row[i].nearest);
	}
}

static void
test_names_of_the_java_clients_have_librdkafkas_instead(void **state)
{
	(void)state;
	assert_non_null(strstr(property_names_instead("sasl.jaas.config"), "sasl.password"));
	assert_string_equal(property_names_instead("fetch.max.wait.ms"), "fetch.wait.max.ms");
	assert_null(property_names_instead("sasl.password"));
	assert_null(property_names_instead("sasl.pasword"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_value_is_shown_of_names_that_are_listed_only),
	    cmocka_unit_test(test_a_mistyped_name_has_a_nearest_one),
	    cmocka_unit_test(test_names_of_the_java_clients_have_librdkafkas_instead),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
