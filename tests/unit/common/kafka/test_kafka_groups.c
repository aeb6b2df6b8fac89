/*
 * kafka_groups.h and kafka_trim.h: what is asked of the broker, and what its answers mean. The
 * requests of librdkafka and the modules that wait and word failures are replaced here.
 */
#include "common/kafka/kafka_groups.h"

#include "common/kafka/kafka_admin.h"
#include "common/kafka/kafka_internal.h"
#include "common/kafka/kafka_trim.h"
#include "tests/unit/test.h"

enum { TIMEOUT_MS = 9000 };

static struct kafka_handle owned = {
    .role = KAFKA_READER, .group_chosen = true, .group = "m.election"};
static rd_kafka_t *const rk = (rd_kafka_t *)&owned;
static rd_kafka_resp_err_t request_err, answer_err; /* as a whole, and of what was asked for */
static int again, opened, asked;                    /* `asked`: how often, in all */
static rd_kafka_admin_op_t operation;

/* ---- in place of kafka_admin.c, kafka_fail.c and kafka.c ---- */

void *
rd_kafka_opaque(const rd_kafka_t *handle)
{
	assert_ptr_equal((const void *)handle, &owned);
	return &owned;
}

void
kafka_admin_open(struct kafka_admin *a, rd_kafka_t *handle, rd_kafka_admin_op_t op, int timeout_ms)
{
	assert_ptr_equal((const void *)handle, &owned);
	assert_in_range(timeout_ms, 1, TIMEOUT_MS);
	*a = (struct kafka_admin){.options = (rd_kafka_AdminOptions_t *)&opened};
	operation = op;
	opened++;
	asked++;
}

void
kafka_admin_close(struct kafka_admin *a)
{
	opened -= a->options != NULL;
}

rd_kafka_resp_err_t
kafka_admin_wait(struct kafka_admin *a, int timeout_ms)
{
	assert_in_range(timeout_ms, 1, TIMEOUT_MS);
	a->event = (rd_kafka_event_t *)&owned;
	return request_err;
}

int
kafka_left_ms(int64_t deadline_ms)
{
	assert_true(deadline_ms > clock_ms() && deadline_ms <= clock_ms() + TIMEOUT_MS);
	return TIMEOUT_MS;
}

int
kafka_slice_ms(int64_t deadline_ms)
{
	return kafka_left_ms(deadline_ms) / 3;
}

bool
kafka_again(rd_kafka_t *handle, rd_kafka_resp_err_t err, int64_t deadline_ms)
{
	assert_ptr_equal((const void *)handle, &owned);
	kafka_left_ms(deadline_ms);
	return err != RD_KAFKA_RESP_ERR_NO_ERROR && again-- > 0;
}

bool
kafka_denied(rd_kafka_resp_err_t err)
{
	return err == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
}

enum fail_code
kafka_fail_asking(rd_kafka_t *handle, rd_kafka_resp_err_t err, const char *attempted,
    const char *name, struct failure *why)
{
	assert_ptr_equal((const void *)handle, &owned);
	return fail(why, FAIL_BROKER, "%s %s: error %d", attempted, name, err);
}

enum fail_code
kafka_fail_code(
    struct failure *why, rd_kafka_resp_err_t err, const char *text, const char *attempted)
{
	assert_null(text);
	return fail(why, FAIL_BROKER, "%s: error %d", attempted, err);
}

enum fail_code
kafka_fail_denied(struct failure *why, rd_kafka_t *handle, rd_kafka_resp_err_t err,
    const char *right, const char *name, const char *attempted)
{
	assert_ptr_equal((const void *)handle, &owned);
	return fail(why, FAIL_DENIED, "%s: %s on %s denied by %d", attempted, right, name, err);
}

enum fail_code
kafka_open(rd_kafka_t **out, const struct kafka_options *o, struct failure *why)
{
	(void)why;
	assert_string_equal(o->client, "group-members");
	assert_string_equal(o->group, "m.election");
	assert_true(o->role == KAFKA_READER && o->asks_only && o->quiet);
	*out = rk;
	opened++;
	return FAIL_NONE;
}

void
kafka_close(rd_kafka_t *handle)
{
	opened -= handle != NULL;
}

static void
begin(void)
{
	request_err = answer_err = RD_KAFKA_RESP_ERR_NO_ERROR;
	again = asked = 0;
}

/* ---- trimming ---- */

static rd_kafka_topic_partition_list_t *trimmed;

void
rd_kafka_DeleteRecords(rd_kafka_t *handle, rd_kafka_DeleteRecords_t **request, size_t n,
    const rd_kafka_AdminOptions_t *options, rd_kafka_queue_t *queue)
{
	(void)queue;
	assert_ptr_equal((const void *)handle, &owned);
	assert_non_null(request[0]);
	assert_non_null(options);
	assert_int_equal(n, 1);
	assert_int_equal(operation, RD_KAFKA_ADMIN_OP_DELETERECORDS);
}

const rd_kafka_DeleteRecords_result_t *
rd_kafka_event_DeleteRecords_result(rd_kafka_event_t *event)
{
	return (const rd_kafka_DeleteRecords_result_t *)event;
}

const rd_kafka_topic_partition_list_t *
rd_kafka_DeleteRecords_result_offsets(const rd_kafka_DeleteRecords_result_t *result)
{
	assert_non_null(result);
	return trimmed;
}

/* The broker answers with a partition that nobody named, and then with the named ones. */
static void
test_records_are_deleted_and_the_new_ends_are_told(void **unused)
{
	static const struct {
		rd_kafka_resp_err_t request, answer;
		int again, asked;
		enum fail_code code;
		const char *says;
	} rows[] = {
	    {0, 0, 0, 1, FAIL_NONE, NULL},
	    {RD_KAFKA_RESP_ERR__TIMED_OUT, 0, 2, 3, FAIL_BROKER,
		"topic t: deleting its oldest records t: error -185"},
	    {0, RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE, 0, 1, FAIL_BROKER,
		"topic t: deleting its oldest records t: error 1"},
	    {0, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, 0, 1, FAIL_DENIED,
		"topic t: deleting its oldest records: DELETE on t denied by 29"},
	};

	(void)unused;
	EACH_ROW(i, rows) {
		rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(2);

		begin();
		request_err = rows[i].request;
		again = rows[i].again;
		rd_kafka_topic_partition_list_add(list, "t", 0)->offset = 5;
		rd_kafka_topic_partition_list_add(list, "t", 1)->offset = 0;
		trimmed = rd_kafka_topic_partition_list_new(3);
		rd_kafka_topic_partition_list_add(trimmed, "t", 7)->offset = 70;
		rd_kafka_topic_partition_list_add(trimmed, "t", 1)->offset = 9;
		rd_kafka_topic_partition_list_add(trimmed, "t", 0)->offset = 6;
		trimmed->elems[2].err = rows[i].answer;
		assert_int_equal(kafka_trim(rk, list, TIMEOUT_MS, &f), rows[i].code);
		assert_int_equal(asked, rows[i].asked);
		if (rows[i].says != NULL)
			assert_string_equal(f.text, rows[i].says);
		assert_int_equal(list->elems[0].offset, rows[i].code == FAIL_NONE ? 6 : 5);
		assert_int_equal(
		    list->elems[1].offset, rows[i].request == RD_KAFKA_RESP_ERR_NO_ERROR ? 9 : 0);
		assert_int_equal(opened, 0);
		rd_kafka_topic_partition_list_destroy(list);
		rd_kafka_topic_partition_list_destroy(trimmed);
	}
	begin();
	trimmed = rd_kafka_topic_partition_list_new(1);
	assert_int_equal(kafka_trim(rk, trimmed, TIMEOUT_MS, &f), FAIL_NONE); /* of nothing */
	assert_int_equal(asked, 0);
	rd_kafka_topic_partition_list_destroy(trimmed);
}

/* ---- groups ---- */

static const char *const groups[] = {"m.a", "mm.b", "m.", "x", "m.c"};
static bool a_broker_failed;

void
rd_kafka_ListConsumerGroups(
    rd_kafka_t *handle, const rd_kafka_AdminOptions_t *options, rd_kafka_queue_t *queue)
{
	(void)queue;
	assert_ptr_equal((const void *)handle, &owned);
	assert_non_null(options);
	assert_int_equal(operation, RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPS);
}

const rd_kafka_ListConsumerGroups_result_t *
rd_kafka_event_ListConsumerGroups_result(rd_kafka_event_t *event)
{
	return (const rd_kafka_ListConsumerGroups_result_t *)event;
}

const rd_kafka_error_t **
rd_kafka_ListConsumerGroups_result_errors(
    const rd_kafka_ListConsumerGroups_result_t *result, size_t *n)
{
	static const rd_kafka_error_t *errors[1];

	assert_non_null(result);
	*n = a_broker_failed;
	errors[0] = (const rd_kafka_error_t *)&answer_err;
	return errors;
}

/* Every error of these tests is `answer_err`. */
rd_kafka_resp_err_t
rd_kafka_error_code(const rd_kafka_error_t *error)
{
	assert_ptr_equal((const void *)error, &answer_err);
	return answer_err;
}

const rd_kafka_ConsumerGroupListing_t **
rd_kafka_ListConsumerGroups_result_valid(
    const rd_kafka_ListConsumerGroups_result_t *result, size_t *n)
{
	static const rd_kafka_ConsumerGroupListing_t *list[5];

	assert_non_null(result);
	*n = 5;
	for (size_t i = 0; i < *n; i++)
		list[i] = (const rd_kafka_ConsumerGroupListing_t *)&groups[i];
	return list;
}

const char *
rd_kafka_ConsumerGroupListing_group_id(const rd_kafka_ConsumerGroupListing_t *group)
{
	return *(const char *const *)group;
}

static void
test_groups_are_listed_by_their_prefix(void **unused)
{
	static const struct {
		const char *prefix, *names[5];
		size_t n;
	} rows[] = {
	    {"m.", {"m.a", "m.", "m.c"}, 3},
	    {"", {"m.a", "mm.b", "m.", "x", "m.c"}, 5},
	    {"m.cc", {NULL}, 0},
	};
	char **name;
	size_t n;

	(void)unused;
	EACH_NAMED_ROW(i, rows, prefix) {
		begin();
		a_broker_failed = false;
		assert_int_equal(
		    kafka_groups(rk, rows[i].prefix, &name, &n, TIMEOUT_MS, &f), FAIL_NONE);
		assert_int_equal(n, rows[i].n);
		for (size_t k = 0; k < n; k++)
			assert_string_equal(name[k], rows[i].names[k]);
		kafka_groups_free(name, n);
		assert_int_equal(opened, 0);
	}
	kafka_groups_free(NULL, 0);
	begin();
	a_broker_failed = true; /* the groups of the others are no whole list */
	answer_err = RD_KAFKA_RESP_ERR__TRANSPORT;
	again = 1;
	assert_int_equal(kafka_groups(rk, "m.", &name, &n, TIMEOUT_MS, &f), FAIL_BROKER);
	assert_string_equal(f.text, "listing the consumer groups : error -195");
	assert_true(name == NULL && n == 0 && asked == 2 && opened == 0);
	request_err = RD_KAFKA_RESP_ERR__TIMED_OUT;
	assert_int_equal(kafka_groups(rk, "m.", &name, &n, TIMEOUT_MS, &f), FAIL_BROKER);
	assert_string_equal(f.text, "listing the consumer groups : error -185");
}

static const char *deleted;

void
rd_kafka_DeleteGroups(rd_kafka_t *handle, rd_kafka_DeleteGroup_t **group, size_t n,
    const rd_kafka_AdminOptions_t *options, rd_kafka_queue_t *queue)
{
	(void)queue;
	assert_ptr_equal((const void *)handle, &owned);
	assert_non_null(options);
	assert_non_null(group[0]);
	assert_int_equal(n, 1);
	assert_int_equal(operation, RD_KAFKA_ADMIN_OP_DELETEGROUPS);
}

rd_kafka_DeleteGroup_t *
rd_kafka_DeleteGroup_new(const char *group)
{
	deleted = group;
	opened++;
	return (rd_kafka_DeleteGroup_t *)&deleted;
}

void
rd_kafka_DeleteGroup_destroy(rd_kafka_DeleteGroup_t *group)
{
	opened -= group != NULL;
}

const rd_kafka_DeleteGroups_result_t *
rd_kafka_event_DeleteGroups_result(rd_kafka_event_t *event)
{
	return (const rd_kafka_DeleteGroups_result_t *)event;
}

const rd_kafka_group_result_t **
rd_kafka_DeleteGroups_result_groups(const rd_kafka_DeleteGroups_result_t *result, size_t *n)
{
	static const rd_kafka_group_result_t *one[1];

	assert_non_null(result);
	one[0] = (const rd_kafka_group_result_t *)&deleted;
	*n = 1;
	return one;
}

const rd_kafka_error_t *
rd_kafka_group_result_error(const rd_kafka_group_result_t *result)
{
	assert_ptr_equal((const void *)result, &deleted);
	return answer_err == RD_KAFKA_RESP_ERR_NO_ERROR ? NULL
							: (const rd_kafka_error_t *)&answer_err;
}

static void
test_a_group_is_deleted_unless_it_is_in_use(void **unused)
{
	static const struct {
		rd_kafka_resp_err_t request, answer;
		enum fail_code code;
		const char *says;
	} rows[] = {
	    {0, 0, FAIL_NONE, NULL},
	    {0, RD_KAFKA_RESP_ERR_GROUP_ID_NOT_FOUND, FAIL_NONE, NULL},
	    {0, RD_KAFKA_RESP_ERR_NON_EMPTY_GROUP, FAIL_DATA,
		"group m.trainers has members: it is in use"},
	    {0, RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED, FAIL_BROKER,
		"deleting group m.trainers: error 30"},
	    {RD_KAFKA_RESP_ERR__TIMED_OUT, 0, FAIL_BROKER, "deleting group m.trainers: error -185"},
	};

	(void)unused;
	EACH_ROW(i, rows) {
		begin();
		request_err = rows[i].request;
		answer_err = rows[i].answer;
		assert_int_equal(
		    kafka_group_delete(rk, "m.trainers", TIMEOUT_MS, &f), rows[i].code);
		assert_string_equal(deleted, "m.trainers");
		if (rows[i].says != NULL)
			assert_string_equal(f.text, rows[i].says);
		assert_true(asked == 1 && opened == 0);
	}
}

/* ---- members ---- */

static const struct member {
	const char *id, *client, *host;
	int partitions; /* -1: it has no assignment */
} all[] = {{"id-1", "riffle-mixer", "/10.0.0.1", 1}, {"id-2", "riffle-standby", "host", 0},
    {"id-3", "riffle-standby", "", -1}};
static size_t described_groups, members_n;

void
rd_kafka_DescribeConsumerGroups(rd_kafka_t *handle, const char **group, size_t n,
    const rd_kafka_AdminOptions_t *options, rd_kafka_queue_t *queue)
{
	(void)queue;
	assert_ptr_equal((const void *)handle, &owned);
	assert_non_null(options);
	assert_string_equal(group[0], "m.election");
	assert_int_equal(n, 1);
	assert_int_equal(operation, RD_KAFKA_ADMIN_OP_DESCRIBECONSUMERGROUPS);
}

const rd_kafka_DescribeConsumerGroups_result_t *
rd_kafka_event_DescribeConsumerGroups_result(rd_kafka_event_t *event)
{
	return (const rd_kafka_DescribeConsumerGroups_result_t *)event;
}

const rd_kafka_ConsumerGroupDescription_t **
rd_kafka_DescribeConsumerGroups_result_groups(
    const rd_kafka_DescribeConsumerGroups_result_t *result, size_t *n)
{
	static const rd_kafka_ConsumerGroupDescription_t *one[1];

	assert_non_null(result);
	one[0] = (const rd_kafka_ConsumerGroupDescription_t *)&all;
	*n = described_groups;
	return one;
}

const rd_kafka_error_t *
rd_kafka_ConsumerGroupDescription_error(const rd_kafka_ConsumerGroupDescription_t *group)
{
	assert_ptr_equal((const void *)group, &all);
	return answer_err == RD_KAFKA_RESP_ERR_NO_ERROR ? NULL
							: (const rd_kafka_error_t *)&answer_err;
}

size_t
rd_kafka_ConsumerGroupDescription_member_count(const rd_kafka_ConsumerGroupDescription_t *group)
{
	assert_ptr_equal((const void *)group, &all);
	return members_n;
}

const rd_kafka_MemberDescription_t *
rd_kafka_ConsumerGroupDescription_member(const rd_kafka_ConsumerGroupDescription_t *group, size_t i)
{
	assert_ptr_equal((const void *)group, &all);
	return (const rd_kafka_MemberDescription_t *)&all[i];
}

const char *
rd_kafka_MemberDescription_consumer_id(const rd_kafka_MemberDescription_t *m)
{
	return ((const struct member *)m)->id;
}

const char *
rd_kafka_MemberDescription_client_id(const rd_kafka_MemberDescription_t *m)
{
	return ((const struct member *)m)->client;
}

const char *
rd_kafka_MemberDescription_host(const rd_kafka_MemberDescription_t *m)
{
	return ((const struct member *)m)->host;
}

const rd_kafka_MemberAssignment_t *
rd_kafka_MemberDescription_assignment(const rd_kafka_MemberDescription_t *m)
{
	return ((const struct member *)m)->partitions < 0 ? NULL
							  : (const rd_kafka_MemberAssignment_t *)m;
}

const rd_kafka_topic_partition_list_t *
rd_kafka_MemberAssignment_partitions(const rd_kafka_MemberAssignment_t *a)
{
	static rd_kafka_topic_partition_list_t list;

	list.cnt = ((const struct member *)a)->partitions;
	return &list;
}

static void
test_the_members_of_a_group_are_told(void **unused)
{
	static const struct {
		rd_kafka_resp_err_t request, answer;
		size_t groups, members, max, n;
		int again, asked;
		enum fail_code code;
		const char *says;
	} rows[] = {
	    {0, 0, 1, 3, 16, 3, 0, 1, FAIL_NONE, NULL},
	    {0, 0, 1, 3, 2, 2, 0, 1, FAIL_NONE, NULL},
	    {0, 0, 1, 0, 16, 0, 0, 1, FAIL_NONE, NULL},
	    {0, RD_KAFKA_RESP_ERR_GROUP_ID_NOT_FOUND, 1, 3, 16, 0, 0, 1, FAIL_NONE, NULL},
	    {0, RD_KAFKA_RESP_ERR_NOT_COORDINATOR, 1, 3, 16, 0, 1, 2, FAIL_BROKER,
		"group m.election: asking for the members of a group: error 16"},
	    {0, RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED, 1, 3, 16, 0, 0, 1, FAIL_DENIED,
		"asking for the members of a group: DESCRIBE on m.election denied by 30"},
	    {0, 0, 0, 3, 16, 0, 0, 1, FAIL_BROKER,
		"group m.election: asking for the members of a group: error -199"},
	    /* The handle of a request that has timed out is not asked again: see the header. */
	    {RD_KAFKA_RESP_ERR__TIMED_OUT, 0, 1, 3, 16, 0, 5, 1, FAIL_BROKER,
		"group m.election: asking for the members of a group: error -185"},
	};

	(void)unused;
	EACH_ROW(i, rows) {
		struct kafka_member member[16];
		size_t n = 0;

		begin();
		request_err = rows[i].request;
		answer_err = rows[i].answer;
		again = rows[i].again;
		described_groups = rows[i].groups;
		members_n = rows[i].members;
		memset(member, 0xee, sizeof(member));
		assert_int_equal(kafka_group_members_of(
				     "m.election", NULL, member, rows[i].max, &n, TIMEOUT_MS, &f),
		    rows[i].code);
		assert_int_equal(n, rows[i].n);
		assert_int_equal(asked, rows[i].asked);
		assert_int_equal(opened, 0);
		if (rows[i].says != NULL)
			assert_string_equal(f.text, rows[i].says);
		for (size_t k = 0; k < n; k++) {
			assert_string_equal(member[k].id, all[k].id);
			assert_string_equal(member[k].client, all[k].client);
			assert_string_equal(member[k].host, k == 0 ? "10.0.0.1" : all[k].host);
			assert_int_equal(member[k].assigned, all[k].partitions > 0);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_records_are_deleted_and_the_new_ends_are_told),
	    cmocka_unit_test(test_groups_are_listed_by_their_prefix),
	    cmocka_unit_test(test_a_group_is_deleted_unless_it_is_in_use),
	    cmocka_unit_test(test_the_members_of_a_group_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
