/* Notes which requests that write were never answered, by librdkafka's interceptors. */
#include "common/kafka/kafka_handle.h"

#define NAME "riffle"

/* Keys of Kafka's protocol: what changes the log or a transaction. */
static bool
writes(int16_t api_key)
{
	enum {
		API_PRODUCE = 0,
		API_ADD_PARTITIONS = 24,
		API_ADD_OFFSETS = 25,
		API_END_TRANSACTION = 26,
		API_TRANSACTION_OFFSETS = 28,
	};

	return api_key == API_PRODUCE || api_key == API_ADD_PARTITIONS ||
	       api_key == API_ADD_OFFSETS || api_key == API_END_TRANSACTION ||
	       api_key == API_TRANSACTION_OFFSETS;
}

/*
 * Called by librdkafka's threads, once or twice for each request (2.0.2), with `err` where no
 * answer came: the connection broke, or time ran out. What had not left the queue by then did not
 * reach the broker.
 */
static rd_kafka_resp_err_t
on_response(rd_kafka_t *rk, int socket, const char *broker, int32_t broker_id, int16_t api_key,
    int16_t api_version, int32_t correlation, size_t n, int64_t round_trip_us,
    rd_kafka_resp_err_t err, void *handle)
{
	struct kafka_handle *h = handle;

	(void)rk, (void)socket, (void)broker, (void)broker_id, (void)api_version;
	(void)correlation, (void)n, (void)round_trip_us;
	if (writes(api_key) && err != RD_KAFKA_RESP_ERR_NO_ERROR &&
	    err != RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE && err != RD_KAFKA_RESP_ERR__DESTROY)
		atomic_store(&h->doubtful, true);
	return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static rd_kafka_resp_err_t
on_new(rd_kafka_t *rk, const rd_kafka_conf_t *conf, void *handle, char *why, size_t room)
{
	(void)conf, (void)why, (void)room;
	return rd_kafka_interceptor_add_on_response_received(rk, NAME, on_response, handle);
}

rd_kafka_resp_err_t
kafka_requests_watch(rd_kafka_conf_t *conf, struct kafka_handle *h)
{
	return rd_kafka_conf_interceptor_add_on_new(conf, NAME, on_new, h);
}

bool
kafka_doubtful(rd_kafka_t *rk)
{
	struct kafka_handle *h = rd_kafka_opaque(rk);

	return atomic_load(&h->doubtful);
}
