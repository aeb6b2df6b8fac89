/* Counts the requests that write and their answers, by librdkafka's interceptors. */
#include "common/kafka_handle.h"

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

/* Both are called by the threads of the connections. */
static rd_kafka_resp_err_t
on_sent(rd_kafka_t *rk, int socket, const char *broker, int32_t broker_id, int16_t api_key,
    int16_t api_version, int32_t correlation, size_t n, void *handle)
{
	struct kafka_handle *h = handle;

	(void)rk, (void)socket, (void)broker, (void)broker_id, (void)api_version;
	(void)correlation, (void)n;
	if (writes(api_key))
		atomic_fetch_add(&h->sent, 1);
	return RD_KAFKA_RESP_ERR_NO_ERROR;
}

/* Not called for an answer that comes when librdkafka waits for it no more. */
static rd_kafka_resp_err_t
on_answered(rd_kafka_t *rk, int socket, const char *broker, int32_t broker_id, int16_t api_key,
    int16_t api_version, int32_t correlation, size_t n, int64_t round_trip_us,
    rd_kafka_resp_err_t err, void *handle)
{
	struct kafka_handle *h = handle;

	(void)rk, (void)socket, (void)broker, (void)broker_id, (void)api_version;
	(void)correlation, (void)n, (void)round_trip_us;
	if (writes(api_key) && err == RD_KAFKA_RESP_ERR_NO_ERROR)
		atomic_fetch_add(&h->answered, 1);
	return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static rd_kafka_resp_err_t
on_new(rd_kafka_t *rk, const rd_kafka_conf_t *conf, void *handle, char *why, size_t room)
{
	rd_kafka_resp_err_t err =
	    rd_kafka_interceptor_add_on_request_sent(rk, NAME, on_sent, handle);

	(void)conf, (void)why, (void)room;
	if (err == RD_KAFKA_RESP_ERR_NO_ERROR)
		err = rd_kafka_interceptor_add_on_response_received(rk, NAME, on_answered, handle);
	return err;
}

rd_kafka_resp_err_t
kafka_requests_count(rd_kafka_conf_t *conf, struct kafka_handle *h)
{
	return rd_kafka_conf_interceptor_add_on_new(conf, NAME, on_new, h);
}

uint64_t
kafka_unanswered(rd_kafka_t *rk)
{
	struct kafka_handle *h = rd_kafka_opaque(rk);
	unsigned long long answered = atomic_load(&h->answered); /* first: it never passes `sent` */

	return atomic_load(&h->sent) - answered;
}
