/*
 * election_group.h: what its members say. The group itself needs a broker:
 * tests/kafka/test_standby.py.
 */
#include "consumer/publish/election_group.h"

#include "tests/unit/test.h"

static void
test_each_host_that_may_have_the_active_mixer_is_named_once(void **state)
{
#define ACTIVE(h)                                                                                  \
	{                                                                                          \
		.client = "riffle-mix-active", .host = h                                           \
	}
#define STANDBY(h)                                                                                 \
	{                                                                                          \
		.client = "riffle-mix-standby", .host = h                                          \
	}
	static const struct {
		const char *name;
		struct kafka_member member[3];
		const char *hosts;
	} row[] = {
	    {"nobody", {{.client = ""}}, ""},
	    {"standbys alone", {STANDBY("/10.0.0.1"), STANDBY("/10.0.0.2")}, ""},
	    {"one", {STANDBY("/10.0.0.1"), ACTIVE("/10.0.0.2")}, "/10.0.0.2"},
	    {"a killed one and its successor elsewhere", {ACTIVE("/10.0.0.1"), ACTIVE("/10.0.0.2")},
		"/10.0.0.1 or /10.0.0.2"},
	    {"a killed one and its successor there",
		{ACTIVE("/10.0.0.1"), STANDBY("/10.0.0.1"), ACTIVE("/10.0.0.1")}, "/10.0.0.1"},
	};
	char hosts[64], narrow[12];

	(void)state;
	EACH_NAMED_ROW(i, row, name) {
		election_group_hosts(row[i].member, 3, hosts, sizeof(hosts));
		assert_string_equal(hosts, row[i].hosts);
	}
	election_group_hosts(row[3].member, 3, narrow, sizeof(narrow));
	assert_string_equal(narrow, "/10.0.0.1 o");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_each_host_that_may_have_the_active_mixer_is_named_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
