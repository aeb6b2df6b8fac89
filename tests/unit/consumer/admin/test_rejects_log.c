/* rejects_log.h: which records are read, and their fields, in a mock cluster. */
#include "consumer/admin/rejects_log.h"

#include "common/base/log.h"
#include "tests/unit/mock_cluster.h"
#include "tests/unit/test.h"

enum { WAIT_MS = 10000, RECORDS = 6 };

static struct failure f;
static char at_broker[256];
static struct property item[] = {{(char[]){"bootstrap.servers"}, at_broker}};
static struct config config = {.corpus = (char[]){"c"}, .kafka = {1, item}};

/* The domains and the reason of each record; NULL: it has no such header. */
static const struct {
	const char *domain, *reason;
} records[RECORDS] = {
    {"web", "not UTF-8"},
    {"code,web", "no text"},
    {"webs", "not UTF-8"},
    {"a,web,b", NULL},
    {NULL, "not UTF-8: byte 3"},
    {"we", "no UTF"},
};

static void
write_records(void)
{
	struct kafka_options o = {.role = KAFKA_WRITER,
	    .client = "test",
	    .properties = &config.kafka,
	    .message_bytes_max = 1000};
	rd_kafka_t *rk;

	assert_int_equal(kafka_open(&rk, &o, &f), FAIL_NONE);
	for (int i = 0; i < RECORDS; i++) {
		rd_kafka_headers_t *h = rd_kafka_headers_new(4);
		char digit[] = {(char)('0' + i), '\0'}, line[] = {'l', digit[0], '\0'};

		if (records[i].domain != NULL)
			rd_kafka_header_add(h, "riffle.error.domain", -1, records[i].domain, -1);
		if (records[i].reason != NULL)
			rd_kafka_header_add(h, "riffle.error.reason", -1, records[i].reason, -1);
		rd_kafka_header_add(h, "riffle.error.line", -1, line, -1);
		assert_int_equal(rd_kafka_producev(rk, RD_KAFKA_V_TOPIC("c.rejects"),
				     RD_KAFKA_V_PARTITION(0), RD_KAFKA_V_HEADERS(h),
				     RD_KAFKA_V_TIMESTAMP(1000 + i), RD_KAFKA_V_VALUE(digit, 1),
				     RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END),
		    RD_KAFKA_RESP_ERR_NO_ERROR);
	}
	assert_int_equal(rd_kafka_flush(rk, WAIT_MS), RD_KAFKA_RESP_ERR_NO_ERROR);
	kafka_close(rk);
}

static void
check_field(const struct rejects_text *field, const char *text)
{
	assert_int_equal(field->text != NULL, text != NULL);
	if (text == NULL)
		return;
	assert_int_equal(field->n, strlen(text));
	assert_memory_equal(field->text, text, field->n);
}

/* Appends the record's digit, after a look at its fields. */
static void
take(void *opaque, const struct rejects_record *r)
{
	char *taken = opaque;
	char line[] = {'l', (char)r->bytes[0], '\0'};
	int i = r->bytes[0] - '0';

	assert_int_equal(r->bytes_n, 1);
	assert_int_equal(r->offset, i);
	assert_int_equal(r->time_ms, 1000 + i);
	check_field(&r->field[REJECTS_DOMAIN], records[i].domain);
	check_field(&r->field[REJECTS_REASON], records[i].reason);
	check_field(&r->field[REJECTS_LINE], line);
	check_field(&r->field[REJECTS_FILE], NULL);
	taken[strlen(taken)] = (char)r->bytes[0];
}

static void
test_records_are_chosen_by_a_domain_of_their_list_and_by_a_part_of_the_reason(void **unused)
{
	static const struct {
		const char *domain, *reason, *taken;
	} rows[] = {
	    {NULL, NULL, "012345"},
	    {"web", NULL, "013"},
	    {"we", NULL, "5"},
	    {"b", NULL, "3"},
	    {"code", NULL, "1"},
	    {"nobody", NULL, ""},
	    {NULL, "UTF-8", "024"},
	    {NULL, "byte 3", "4"},
	    {NULL, "UTF", "0245"},
	    {"web", "UTF-8", "0"},
	    {"", NULL, ""},
	};
	static const struct stop stop;

	(void)unused;
	write_records();
	EACH_NAMED_ROW(i, rows, taken) {
		char taken[RECORDS + 1] = "";
		const struct rejects_query q = {.config = &config,
		    .domain = rows[i].domain,
		    .reason = rows[i].reason,
		    .stop = &stop,
		    .take = take,
		    .opaque = taken};

		assert_int_equal(rejects_log_read(&q, &f), FAIL_NONE);
		assert_string_equal(taken, rows[i].taken);
	}
}

static int
open_cluster(void **unused)
{
	(void)unused;
	if (open_mock_cluster(&f) != FAIL_NONE)
		return -1;
	snprintf(at_broker, sizeof(at_broker), "%s", rd_kafka_mock_cluster_bootstraps(cluster));
	return rd_kafka_mock_topic_create(cluster, "c.rejects", 1, 1);
}

static int
close_cluster(void **unused)
{
	(void)unused;
	kafka_close(owner);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(
		test_records_are_chosen_by_a_domain_of_their_list_and_by_a_part_of_the_reason),
	};

	log_set_level(LOG_ERROR);
	return cmocka_run_group_tests(tests, open_cluster, close_cluster);
}
