/*
 * brokers.h -- bootstrap.servers, the list of addresses of brokers. Pure functions.
 *
 * librdkafka takes any text. It connects to port 0 if a port is no number, drops an address with
 * a protocol that is not Kafka's, and then waits for a broker. What it can use stays as it is:
 *
 *     b1:9092, b2:9092    kafka-1.example.com    [::1]:9092    SASL_SSL://b1:9093
 */
#ifndef COMMON_KAFKA_BROKERS_H
#define COMMON_KAFKA_BROKERS_H

#include <stdbool.h>

#include "common/base/failure.h"

/* FAIL_CONFIG: the list names no broker, or an address is not one; the sentence names it. */
enum fail_code brokers_check(const char *list, struct failure *f);

/* Whether librdkafka takes port 9092 for some address of the list, because it has none. */
bool brokers_without_port(const char *list);

#endif
