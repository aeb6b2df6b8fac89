/* client_admin.h -- what the files of the simulated admin interface share. */
#ifndef TESTS_SIM_CLIENT_ADMIN_H
#define TESTS_SIM_CLIENT_ADMIN_H

#include "tests/sim/client.h"

/* Zeroed memory, for free(); there always is some. */
void *admin_make(size_t n, size_t size);

/* Begins a request. False: its answer, which says so, is that there is none. */
bool admin_asked(const char *function, const char *what, const rd_kafka_AdminOptions_t *options,
    rd_kafka_event_type_t type, rd_kafka_queue_t *q);

/* Gives the answer, at once. */
void admin_answer(rd_kafka_queue_t *q, rd_kafka_event_t *e);

#endif
