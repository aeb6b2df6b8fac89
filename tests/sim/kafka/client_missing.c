/* Functions that link and do not run: no simulated run calls them. */
#include <stdlib.h>

#include "tests/sim/kafka/client.h"

static _Noreturn void
missing(const char *function)
{
	fprintf(stderr,
	    "sim: %s() is not simulated: whoever calls it needs a real broker, or tests/sim must "
	    "learn it\n",
	    function);
	abort();
}

rd_kafka_resp_err_t
rd_kafka_unsubscribe(rd_kafka_t *rk)
{
	(void)rk;
	missing(__func__);
}

rd_kafka_resp_err_t
rd_kafka_consumer_close(rd_kafka_t *rk)
{
	(void)rk;
	missing(__func__);
}

void
rd_kafka_conf_set_rebalance_cb(
    rd_kafka_conf_t *conf, void (*rebalance_cb)(rd_kafka_t *rk, rd_kafka_resp_err_t err,
			       rd_kafka_topic_partition_list_t *partitions, void *opaque))
{
	(void)conf;
	(void)rebalance_cb;
	missing(__func__);
}

rd_kafka_error_t *
rd_kafka_seek_partitions(
    rd_kafka_t *rk, rd_kafka_topic_partition_list_t *partitions, int timeout_ms)
{
	(void)rk;
	(void)partitions;
	(void)timeout_ms;
	missing(__func__);
}

rd_kafka_DeleteGroup_t *
rd_kafka_DeleteGroup_new(const char *group)
{
	(void)group;
	missing(__func__);
}

void
rd_kafka_DeleteGroup_destroy(rd_kafka_DeleteGroup_t *del_group)
{
	(void)del_group;
	missing(__func__);
}

void
rd_kafka_DeleteGroups(rd_kafka_t *rk, rd_kafka_DeleteGroup_t **del_groups, size_t del_group_cnt,
    const rd_kafka_AdminOptions_t *options, rd_kafka_queue_t *rkqu)
{
	(void)rk;
	(void)del_groups;
	(void)del_group_cnt;
	(void)options;
	(void)rkqu;
	missing(__func__);
}

const rd_kafka_DeleteGroups_result_t *
rd_kafka_event_DeleteGroups_result(rd_kafka_event_t *rkev)
{
	(void)rkev;
	missing(__func__);
}

const rd_kafka_group_result_t **
rd_kafka_DeleteGroups_result_groups(const rd_kafka_DeleteGroups_result_t *result, size_t *cntp)
{
	(void)result;
	(void)cntp;
	missing(__func__);
}

const rd_kafka_error_t *
rd_kafka_group_result_error(const rd_kafka_group_result_t *groupres)
{
	(void)groupres;
	missing(__func__);
}
