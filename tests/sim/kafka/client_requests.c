/* Interceptors: riffle hears by them of requests whose answer never came. */
#include "tests/sim/kafka/client.h"

rd_kafka_resp_err_t
rd_kafka_conf_interceptor_add_on_new(rd_kafka_conf_t *conf, const char *ic_name,
    rd_kafka_interceptor_f_on_new_t *on_new, void *ic_opaque)
{
	(void)ic_name;
	conf->on_new = on_new;
	conf->on_new_opaque = ic_opaque;
	return RD_KAFKA_RESP_ERR_NO_ERROR;
}

/* Only members' requests to join are of interest, and here no join takes time. */
rd_kafka_resp_err_t
rd_kafka_interceptor_add_on_request_sent(rd_kafka_t *rk, const char *ic_name,
    rd_kafka_interceptor_f_on_request_sent_t *on_request_sent, void *ic_opaque)
{
	(void)rk, (void)ic_name, (void)on_request_sent, (void)ic_opaque;
	return RD_KAFKA_RESP_ERR_NO_ERROR;
}

rd_kafka_resp_err_t
rd_kafka_interceptor_add_on_response_received(rd_kafka_t *rk, const char *ic_name,
    rd_kafka_interceptor_f_on_response_received_t *on_response_received, void *ic_opaque)
{
	(void)ic_name;
	rk->on_response = on_response_received;
	rk->on_response_opaque = ic_opaque;
	return RD_KAFKA_RESP_ERR_NO_ERROR;
}

void
client_unheard(rd_kafka_t *rk, enum client_api key)
{
	if (rk->on_response != NULL)
		rk->on_response(rk, -1, "sim", 1, (int16_t)key, 0, 0, 0, -1,
		    RD_KAFKA_RESP_ERR__TIMED_OUT, rk->on_response_opaque);
}
