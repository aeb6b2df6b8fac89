#include "common/kafka/kafka_groups.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/kafka/kafka_admin.h"
#include "common/kafka/kafka_internal.h"

/* ---- which groups there are ---- */

void
kafka_groups_free(char **name, size_t n)
{
	assert(name != NULL || n == 0);
	for (size_t i = 0; name != NULL && i < n; i++)
		free(name[i]);
	free(name);
}

/* Copies the names that begin with `prefix`. RD_KAFKA_RESP_ERR__CRIT_SYS_RESOURCE: no memory. */
static rd_kafka_resp_err_t
take_names(
    const rd_kafka_ListConsumerGroups_result_t *result, const char *prefix, char ***name, size_t *n)
{
	const rd_kafka_ConsumerGroupListing_t **group;
	size_t groups_n;

	group = rd_kafka_ListConsumerGroups_result_valid(result, &groups_n);
	*name = calloc(groups_n + 1, sizeof(**name));
	*n = 0;
	if (*name == NULL)
		return RD_KAFKA_RESP_ERR__CRIT_SYS_RESOURCE;
	for (size_t i = 0; i < groups_n; i++) {
		const char *id = rd_kafka_ConsumerGroupListing_group_id(group[i]);

		if (strncmp(id, prefix, strlen(prefix)) != 0)
			continue;
		(*name)[*n] = strdup(id);
		if ((*name)[*n] == NULL)
			return RD_KAFKA_RESP_ERR__CRIT_SYS_RESOURCE;
		(*n)++;
	}
	return RD_KAFKA_RESP_ERR_NO_ERROR;
}

/* One broker that failed is an error too: a list without its groups looks like a whole one. */
static rd_kafka_resp_err_t
take_event(const struct kafka_admin *admin, const char *prefix, char ***name, size_t *n)
{
	const rd_kafka_ListConsumerGroups_result_t *result =
	    rd_kafka_event_ListConsumerGroups_result(admin->event);
	const rd_kafka_error_t **error;
	size_t errors_n;

	if (result == NULL)
		return RD_KAFKA_RESP_ERR__BAD_MSG;
	error = rd_kafka_ListConsumerGroups_result_errors(result, &errors_n);
	if (errors_n > 0)
		return rd_kafka_error_code(error[0]);
	return take_names(result, prefix, name, n);
}

static rd_kafka_resp_err_t
list_once(rd_kafka_t *rk, const char *prefix, char ***name, size_t *n, int timeout_ms)
{
	struct kafka_admin admin;
	rd_kafka_resp_err_t err;

	kafka_groups_free(*name, *n);
	*name = NULL;
	*n = 0;
	kafka_admin_open(&admin, rk, RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPS, timeout_ms);
	rd_kafka_ListConsumerGroups(rk, admin.options, admin.queue);
	err = kafka_admin_wait(&admin, timeout_ms);
	if (err == RD_KAFKA_RESP_ERR_NO_ERROR)
		err = take_event(&admin, prefix, name, n);
	kafka_admin_close(&admin);
	return err;
}

enum fail_code
kafka_groups(
    rd_kafka_t *rk, const char *prefix, char ***name, size_t *n, int timeout_ms, struct failure *f)
{
	int64_t deadline_ms = clock_ms() + timeout_ms;
	rd_kafka_resp_err_t err;

	assert(prefix != NULL);
	*name = NULL;
	*n = 0;
	do {
		err = list_once(rk, prefix, name, n, kafka_slice_ms(deadline_ms));
	} while (kafka_again(rk, err, deadline_ms));
	if (err == RD_KAFKA_RESP_ERR_NO_ERROR)
		return FAIL_NONE;
	kafka_groups_free(*name, *n);
	*name = NULL;
	*n = 0;
	if (err == RD_KAFKA_RESP_ERR__CRIT_SYS_RESOURCE)
		return fail_memory(f);
	return kafka_fail_asking(rk, err, "listing the consumer groups", "", f);
}

/* ---- deleting one ---- */

static rd_kafka_resp_err_t
delete_once(rd_kafka_t *rk, const char *group, int timeout_ms)
{
	rd_kafka_DeleteGroup_t *asked = rd_kafka_DeleteGroup_new(group);
	const rd_kafka_group_result_t **result;
	struct kafka_admin admin;
	rd_kafka_resp_err_t err;
	size_t n = 0;

	kafka_admin_open(&admin, rk, RD_KAFKA_ADMIN_OP_DELETEGROUPS, timeout_ms);
	rd_kafka_DeleteGroups(rk, &asked, 1, admin.options, admin.queue);
	rd_kafka_DeleteGroup_destroy(asked);
	err = kafka_admin_wait(&admin, timeout_ms);
	if (err == RD_KAFKA_RESP_ERR_NO_ERROR) {
		result = rd_kafka_DeleteGroups_result_groups(
		    rd_kafka_event_DeleteGroups_result(admin.event), &n);
		if (n == 1 && rd_kafka_group_result_error(result[0]) != NULL)
			err = rd_kafka_error_code(rd_kafka_group_result_error(result[0]));
	}
	kafka_admin_close(&admin);
	return err;
}

enum fail_code
kafka_group_delete(rd_kafka_t *rk, const char *group, int timeout_ms, struct failure *f)
{
	int64_t deadline_ms = clock_ms() + timeout_ms;
	rd_kafka_resp_err_t err;

	do {
		err = delete_once(rk, group, kafka_slice_ms(deadline_ms));
	} while (kafka_again(rk, err, deadline_ms));
	if (err == RD_KAFKA_RESP_ERR_NO_ERROR || err == RD_KAFKA_RESP_ERR_GROUP_ID_NOT_FOUND)
		return FAIL_NONE;
	if (err == RD_KAFKA_RESP_ERR_NON_EMPTY_GROUP)
		return fail(f, FAIL_DATA, "group %s has members: it is in use", group);
	return kafka_fail_asking(rk, err, "deleting group", group, f);
}

/* ---- who is in a group ---- */

static void
take_member(struct kafka_member *to, const rd_kafka_MemberDescription_t *from)
{
	const rd_kafka_MemberAssignment_t *a = rd_kafka_MemberDescription_assignment(from);
	const rd_kafka_topic_partition_list_t *list =
	    a == NULL ? NULL : rd_kafka_MemberAssignment_partitions(a);
	const char *host = rd_kafka_MemberDescription_host(from);

	snprintf(to->id, sizeof(to->id), "%s", rd_kafka_MemberDescription_consumer_id(from));
	snprintf(to->client, sizeof(to->client), "%s", rd_kafka_MemberDescription_client_id(from));
	snprintf(to->host, sizeof(to->host), "%s", host[0] == '/' ? host + 1 : host);
	to->assigned = list != NULL && list->cnt > 0;
}

static rd_kafka_resp_err_t
take_members(const rd_kafka_event_t *event, struct kafka_member *member, size_t max, size_t *n)
{
	const rd_kafka_DescribeConsumerGroups_result_t *result =
	    rd_kafka_event_DescribeConsumerGroups_result((rd_kafka_event_t *)(uintptr_t)event);
	const rd_kafka_ConsumerGroupDescription_t **group;
	const rd_kafka_error_t *error;
	size_t groups_n = 0, all;

	*n = 0;
	group = result == NULL ? NULL
			       : rd_kafka_DescribeConsumerGroups_result_groups(result, &groups_n);
	if (groups_n != 1)
		return RD_KAFKA_RESP_ERR__BAD_MSG;
	error = rd_kafka_ConsumerGroupDescription_error(group[0]);
	if (error != NULL && rd_kafka_error_code(error) != RD_KAFKA_RESP_ERR_GROUP_ID_NOT_FOUND)
		return rd_kafka_error_code(error);
	all = error != NULL ? 0 : rd_kafka_ConsumerGroupDescription_member_count(group[0]);
	for (; *n < all && *n < max; (*n)++)
		take_member(&member[*n], rd_kafka_ConsumerGroupDescription_member(group[0], *n));
	return RD_KAFKA_RESP_ERR_NO_ERROR;
}

enum fail_code
kafka_group_members(rd_kafka_t *rk, struct kafka_member *member, size_t max, size_t *n,
    int timeout_ms, struct failure *f)
{
	const struct kafka_handle *h = rd_kafka_opaque(rk);
	const char *group = h->group;
	int64_t deadline_ms = clock_ms() + timeout_ms;
	rd_kafka_resp_err_t err;

	assert(h->role == KAFKA_READER);
	assert(h->group_chosen);
	do { /* each attempt has all the time that is left: see the header */
		int left_ms = kafka_left_ms(deadline_ms);
		struct kafka_admin admin;

		kafka_admin_open(&admin, rk, RD_KAFKA_ADMIN_OP_DESCRIBECONSUMERGROUPS, left_ms);
		rd_kafka_DescribeConsumerGroups(rk, &group, 1, admin.options, admin.queue);
		err = kafka_admin_wait(&admin, left_ms);
		if (err == RD_KAFKA_RESP_ERR_NO_ERROR)
			err = take_members(admin.event, member, max, n);
		kafka_admin_close(&admin);
	} while (err != RD_KAFKA_RESP_ERR__TIMED_OUT && kafka_again(rk, err, deadline_ms));
	if (err == RD_KAFKA_RESP_ERR_NO_ERROR)
		return FAIL_NONE;
	if (err == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED)
		return kafka_fail_denied(
		    f, rk, err, "DESCRIBE", group, "asking for the members of a group");
	kafka_fail_code(f, err, NULL, "asking for the members of a group");
	return fail_within(f, "group %s", group);
}

enum fail_code
kafka_group_members_of(const char *group, const struct properties *properties,
    struct kafka_member *member, size_t max, size_t *n, int timeout_ms, struct failure *f)
{
	struct kafka_options k = {.role = KAFKA_READER,
	    .client = "group-members",
	    .properties = properties,
	    .group = group,
	    .asks_only = true,
	    .quiet = true};
	rd_kafka_t *rk;
	enum fail_code code = kafka_open(&rk, &k, f);

	if (code != FAIL_NONE)
		return code;
	code = kafka_group_members(rk, member, max, n, timeout_ms, f);
	kafka_close(rk);
	return code;
}
