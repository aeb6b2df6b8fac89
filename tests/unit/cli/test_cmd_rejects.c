/* riffle rejects: what it lists and counts of a topic in a mock cluster. */
#include "tests/unit/config_file.h"
#include "tests/unit/mock_topics.h"
#include "tests/unit/run_command.h"

enum { HEADERS_MAX = 9 };

/* Names without "riffle.error.", and their values. */
struct record {
	const char *bytes, *header[HEADERS_MAX][2];
};

/* A file that is read again is rejected again; "stage" and "count" may then differ. */
#define FIRST                                                                                      \
	{"domain", "web"}, {"reason", "no field `text`"}, {"file", "in/a.jsonl"},                  \
	{                                                                                          \
		"line", "7"                                                                        \
	}

static const struct record records[] = {
    {"{\"a\":\t1}\xff\x7f", {FIRST, {"stage", "produce"}}},
    {"{\"a\":\t1}\xff\x7f", {FIRST, {"stage", "again"}, {"count", "2"}}},
    {"{\"a\":\t2}", {FIRST}},
    {"", {{"domain", "code"}, {"reason", "cannot be read: byte 9"}, {"topic", "c.code"},
	     {"partition", "3"}, {"offset", "41"}}},
    {"x", {{"domain", "web"}, {"reason", "line of 12 bytes"}, {"file", "in/b\tc.jsonl"},
	      {"line", "8"}}},
    {"0123456789012345678901234567890123456789012345678901234567890123456789"
     "012345678901234567890123456789",
	{{"domain", "web"}, {"reason", "line of 13 bytes"}, {"file", "f"}, {"line", "9"}}},
    {"0123456789012345678901234567890123456789012345678901234567890123456789"
     "0123456789012345678901234567890",
	{{"domain", "web"}, {"reason", "line of 13 bytes"}, {"file", "f"}, {"line", "9"}}},
};

static void
write_records(void)
{
	EACH_ROW(i, records) {
		rd_kafka_headers_t *h = rd_kafka_headers_new(HEADERS_MAX);

		for (int k = 0; k < HEADERS_MAX && records[i].header[k][0] != NULL; k++) {
			char name[64];

			snprintf(name, sizeof(name), "riffle.error.%s", records[i].header[k][0]);
			rd_kafka_header_add(h, name, -1, records[i].header[k][1], -1);
		}
		assert_int_equal(rd_kafka_producev(mock_writer, RD_KAFKA_V_TOPIC("demo.rejects"),
				     RD_KAFKA_V_PARTITION(0), RD_KAFKA_V_HEADERS(h),
				     RD_KAFKA_V_TIMESTAMP(1000 + (int64_t)i),
				     RD_KAFKA_V_VALUE((void *)(uintptr_t)records[i].bytes,
					 strlen(records[i].bytes)),
				     RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END),
		    RD_KAFKA_RESP_ERR_NO_ERROR);
	}
	assert_int_equal(rd_kafka_flush(mock_writer, MOCK_WAIT_MS), RD_KAFKA_RESP_ERR_NO_ERROR);
}

static int
open_all(void **state)
{
	struct config *c;

	if (mock_begin(state) != 0 || folder_open(state) != 0)
		return -1;
	if (open_with(&c, 0, "", &f) != FAIL_NONE)
		return -1;
	config_close(c);
	setenv("RIFFLE_CONFIG", folder_path("run.yml"), 1);
	setenv("RIFFLE_BOOTSTRAP", mock_bootstrap, 1);
	mock_topic("demo.rejects", 1);
	write_records();
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

static void
test_each_record_is_a_line_and_the_same_one_is_not_listed_twice(void **unused)
{
	static const struct {
		const char *words, *printed;
	} rows[] = {
	    {"", "web\tin/a.jsonl:7\tno field `text`\t{\"a\":.1}..\n"
		 "web\tin/a.jsonl:7\tno field `text`\t{\"a\":.2}\n"
		 "code\tc.code/3 offset 41\tcannot be read: byte 9\t\n"
		 "web\tin/b\\tc.jsonl:8\tline of 12 bytes\tx\n"
		 "web\tf:9\tline of 13 "
		 "bytes\t01234567890123456789012345678901234567890123456789012345678901234567890123"
		 "45678901234567890123456789\n"
		 "web\tf:9\tline of 13 "
		 "bytes\t01234567890123456789012345678901234567890123456789012345678901234567890123"
		 "45678901234567890123456789...\n"
		 "6 records\n"
		 "web: 2 no field `text`, 3 line of N bytes\n"
		 "code: 1 cannot be read: byte N\n"},
	    {"--count", "6 records\n"
			"web: 2 no field `text`, 3 line of N bytes\n"
			"code: 1 cannot be read: byte N\n"},
	    {"--domain code", "code\tc.code/3 offset 41\tcannot be read: byte 9\t\n"
			      "1 record\n"
			      "code: 1 cannot be read: byte N\n"},
	    {"--reason 12", "web\tin/b\\tc.jsonl:8\tline of 12 bytes\tx\n"
			    "1 record\n"
			    "web: 1 line of N bytes\n"},
	    {"--domain web --reason nothing", "0 records\n"},
	    {"--json",
		"{\"record\":0,\"time_ms\":1000,\"stage\":\"produce\",\"domain\":\"web\","
		"\"reason\":\"no field "
		"`text`\",\"file\":\"in/"
		"a.jsonl\",\"line\":7,\"begins\":\"{\\\"a\\\":\\t1}\xef\xbf\xbd\x7f"
		"\",\"bytes\":10}\n"
		"{\"record\":2,\"time_ms\":1002,\"domain\":\"web\",\"reason\":\"no field "
		"`text`\",\"file\":\"in/"
		"a.jsonl\",\"line\":7,\"begins\":\"{\\\"a\\\":\\t2}\",\"bytes\":8}\n"
		"{\"record\":3,\"time_ms\":1003,\"domain\":\"code\",\"reason\":\"cannot be read: "
		"byte "
		"9\",\"topic\":\"c.code\",\"partition\":3,\"offset\":41,\"begins\":\"\",\"bytes\":"
		"0}\n"
		"{\"record\":4,\"time_ms\":1004,\"domain\":\"web\",\"reason\":\"line of 12 "
		"bytes\",\"file\":\"in/b\\tc.jsonl\",\"line\":8,\"begins\":\"x\",\"bytes\":1}\n"
		"{\"record\":5,\"time_ms\":1005,\"domain\":\"web\",\"reason\":\"line of 13 "
		"bytes\",\"file\":\"f\",\"line\":9,\"begins\":"
		"\"01234567890123456789012345678901234567890123456789012345678901234567890123456789"
		"01234567890123456789\",\"bytes\":100}\n"
		"{\"record\":6,\"time_ms\":1006,\"domain\":\"web\",\"reason\":\"line of 13 "
		"bytes\",\"file\":\"f\",\"line\":9,\"begins\":"
		"\"01234567890123456789012345678901234567890123456789012345678901234567890123456789"
		"01234567890123456789\",\"bytes\":101}\n"
		"{\"records\":6,\"domains\":[{\"domain\":\"web\",\"records\":5,\"reasons\":{\"no "
		"field `text`\":2,\"line of N "
		"bytes\":3},\"other_reasons\":0},{\"domain\":\"code\",\"records\":1,\"reasons\":{"
		"\"cannot be read: byte N\":1},\"other_reasons\":0}]}\n"},
	    {"--json --count --domain code",
		"{\"records\":1,\"domains\":[{\"domain\":\"code\",\"records\":1,\"reasons\":{"
		"\"cannot be read: byte N\":1},\"other_reasons\":0}]}\n"},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, words)
		run_command_is(&cmd_rejects, rows[i].words, FAIL_NONE, rows[i].printed);
}

static void
test_a_domain_that_has_no_rejects_must_be_one_of_the_configuration(void **unused)
{
	struct printed p;

	(void)unused;
	assert_int_equal(run_command(&p, &cmd_rejects, "--domain wep"), FAIL_USAGE);
	assert_string_equal(p.text, "");
	assert_non_null(strstr(f.text, " has no domain wep (did you mean web?); it has code, web"));
	free(p.text);
	run_command_is(&cmd_rejects, "--domain web --reason none", FAIL_NONE, "0 records\n");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_each_record_is_a_line_and_the_same_one_is_not_listed_twice),
	    cmocka_unit_test(test_a_domain_that_has_no_rejects_must_be_one_of_the_configuration),
	};

	log_set_level(LOG_ERROR);
	return cmocka_run_group_tests(tests, open_all, close_all);
}
