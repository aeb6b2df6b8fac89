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
