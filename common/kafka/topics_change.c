#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/kafka/kafka_handle.h"
#include "common/config/topics.h"

enum { CHUNK = 256 }; /* topics of one request */

static rd_kafka_NewTopic_t *
new_topic(const struct config *c, const struct topic_plan *t, struct failure *f)
{
	struct topics_setting setting[TOPICS_SETTINGS];
	rd_kafka_NewTopic_t *made;
	char why[256];

	made = rd_kafka_NewTopic_new(t->name, t->partitions, (int)c->replication, why, sizeof(why));
	if (made == NULL) {
		fail(f, FAIL_CONFIG, "topic %s: %s", t->name, why);
		return NULL;
	}
	topics_settings(setting, c, t);
	for (size_t i = 0; i < TOPICS_SETTINGS; i++)
		rd_kafka_NewTopic_set_config(made, setting[i].name, setting[i].value);
	return made;
}

/* The first refusal of an answer, as a failure; `fine` is the code that does not count as one. */
static enum fail_code
check_results(rd_kafka_t *rk, const rd_kafka_topic_result_t **result, size_t n,
    rd_kafka_resp_err_t fine, const char *operation, const char *attempted, struct failure *f)
{
	for (size_t i = 0; i < n; i++) {
		rd_kafka_resp_err_t err = rd_kafka_topic_result_error(result[i]);

		if (err == RD_KAFKA_RESP_ERR_NO_ERROR || err == fine)
			continue;
		if (err == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED)
			kafka_fail_denied(f, rk, err, operation,
			    rd_kafka_topic_result_name(result[i]), attempted);
		else
			kafka_fail_code(
			    f, err, rd_kafka_topic_result_error_string(result[i]), attempted);
		return fail_within(f, "topic %s", rd_kafka_topic_result_name(result[i]));
	}
	return FAIL_NONE;
}

/* Sends one request for at most CHUNK topics. */
static enum fail_code
create_chunk(
    rd_kafka_t *rk, rd_kafka_NewTopic_t **topic, size_t n, int64_t deadline_ms, struct failure *f)
{
	const rd_kafka_topic_result_t **result;
	struct kafka_admin admin;
	enum fail_code code;
	rd_kafka_resp_err_t err;
	size_t results_n;
	int ms = kafka_left_ms(deadline_ms);

	kafka_admin_open(&admin, rk, RD_KAFKA_ADMIN_OP_CREATETOPICS, ms);
	rd_kafka_CreateTopics(rk, topic, n, admin.options, admin.queue);
	err = kafka_admin_wait(&admin, ms);
	if (err != RD_KAFKA_RESP_ERR_NO_ERROR) {
		code = kafka_fail_asking(rk, err, "creating topics", "", f);
	} else {
		result = rd_kafka_CreateTopics_result_topics(
		    rd_kafka_event_CreateTopics_result(admin.event), &results_n);
		/* Made by somebody else since we looked: the check that follows judges it. */
		code = check_results(rk, result, results_n, RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS,
		    "CREATE", "creating it", f);
	}
	kafka_admin_close(&admin);
	return code;
}

static enum fail_code
delete_chunk(rd_kafka_t *rk, rd_kafka_DeleteTopic_t **topic, size_t n, int64_t deadline_ms,
    struct failure *f)
{
	const rd_kafka_topic_result_t **result;
	struct kafka_admin admin;
	enum fail_code code;
	rd_kafka_resp_err_t err;
	size_t results_n;
	int ms = kafka_left_ms(deadline_ms);

	kafka_admin_open(&admin, rk, RD_KAFKA_ADMIN_OP_DELETETOPICS, ms);
	rd_kafka_DeleteTopics(rk, topic, n, admin.options, admin.queue);
	err = kafka_admin_wait(&admin, ms);
	if (err != RD_KAFKA_RESP_ERR_NO_ERROR) {
		code = kafka_fail_asking(rk, err, "deleting topics", "", f);
	} else {
		result = rd_kafka_DeleteTopics_result_topics(
		    rd_kafka_event_DeleteTopics_result(admin.event), &results_n);
		code = check_results(rk, result, results_n, RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART,
		    "DELETE", "deleting it", f);
	}
	kafka_admin_close(&admin);
	return code;
}

static bool
has_leaders(const struct rd_kafka_metadata_topic *t)
{
	for (int i = 0; i < t->partition_cnt; i++)
		if (t->partitions[i].leader < 0)
			return false;
	return t->err == RD_KAFKA_RESP_ERR_NO_ERROR && t->partition_cnt > 0;
}

/* Counts the topics of the plan that the broker shows, with a leader for each partition. */
static rd_kafka_resp_err_t
count_present(
    rd_kafka_t *rk, const struct topics_plan *p, size_t *present, size_t *known, int timeout_ms)
{
	const struct rd_kafka_metadata *m;
	rd_kafka_resp_err_t err = rd_kafka_metadata(rk, 1, NULL, &m, timeout_ms);

	*present = *known = 0;
	if (err != RD_KAFKA_RESP_ERR_NO_ERROR)
		return err;
	for (int k = 0; k < m->topic_cnt; k++)
		for (size_t i = 0; i < p->n; i++)
			if (strcmp(m->topics[k].topic, p->topic[i].name) == 0) {
				*present += has_leaders(&m->topics[k]);
				*known += m->topics[k].err == RD_KAFKA_RESP_ERR_NO_ERROR;
				break;
			}
	rd_kafka_metadata_destroy(m);
	return RD_KAFKA_RESP_ERR_NO_ERROR;
}

/* A topic that was made or deleted shows a moment later; waits for all of the plan. */
static enum fail_code
wait_shown(rd_kafka_t *rk, const struct topics_plan *p, bool wanted, int64_t deadline_ms,
    struct failure *f)
{
	rd_kafka_resp_err_t err;
	size_t present, known;

	do {
		err = count_present(rk, p, &present, &known, kafka_slice_ms(deadline_ms));
		if (err == RD_KAFKA_RESP_ERR_NO_ERROR && (wanted ? present == p->n : known == 0))
			return FAIL_NONE;
		if (err == RD_KAFKA_RESP_ERR_NO_ERROR)
			err = RD_KAFKA_RESP_ERR__TIMED_OUT;
	} while (kafka_again(err, deadline_ms));
	return kafka_fail_asking(rk, err,
	    wanted ? "waiting for the new topics to have leaders"
		   : "waiting for the deleted topics to be gone",
	    "", f);
}

enum fail_code
topics_create(rd_kafka_t *rk, const struct config *c, const struct topics_plan *p,
    const struct topics_report *report, int timeout_ms, struct failure *f)
{
	int64_t deadline_ms = clock_ms() + timeout_ms;
	rd_kafka_NewTopic_t *topic[CHUNK];
	enum fail_code code = FAIL_NONE;
	size_t n = 0;

	for (size_t i = 0; code == FAIL_NONE && i < p->n; i++) {
		if (!report[i].exists) {
			topic[n] = new_topic(c, &p->topic[i], f);
			code = topic[n] == NULL ? f->code : FAIL_NONE;
			n += topic[n] != NULL;
		}
		if (code == FAIL_NONE && n > 0 && (n == CHUNK || i + 1 == p->n)) {
			code = create_chunk(rk, topic, n, deadline_ms, f);
			rd_kafka_NewTopic_destroy_array(topic, n);
			n = 0;
		}
	}
	rd_kafka_NewTopic_destroy_array(topic, n);
	return code != FAIL_NONE ? code : wait_shown(rk, p, true, deadline_ms, f);
}

enum fail_code
topics_delete(rd_kafka_t *rk, const struct topics_plan *p, const struct topics_report *report,
    int timeout_ms, struct failure *f)
{
	int64_t deadline_ms = clock_ms() + timeout_ms;
	rd_kafka_DeleteTopic_t *topic[CHUNK];
	enum fail_code code = FAIL_NONE;
	size_t n = 0;

	for (size_t i = 0; code == FAIL_NONE && i < p->n; i++) {
		if (report[i].exists)
			topic[n++] = rd_kafka_DeleteTopic_new(p->topic[i].name);
		if (n > 0 && (n == CHUNK || i + 1 == p->n)) {
			code = delete_chunk(rk, topic, n, deadline_ms, f);
			rd_kafka_DeleteTopic_destroy_array(topic, n);
			n = 0;
		}
	}
	return code != FAIL_NONE ? code : wait_shown(rk, p, false, deadline_ms, f);
}
