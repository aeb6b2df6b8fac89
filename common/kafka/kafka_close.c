/* Ends a handle, and does not wait for ever. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/kafka/kafka_handle.h"
#include "common/base/log.h"

enum { CLOSE_FLUSH_MS = 2000, CLOSE_DESTROY_MS = 5000 };

/* A destroy that hangs (librdkafka has had such bugs) must not hold up an exit: it gets a thread.
 */
struct ending {
	pthread_mutex_t lock;
	pthread_cond_t done;
	rd_kafka_t *rk;
	struct kafka_handle *handle;
	bool destroyed, abandoned; /* the later of the two sides frees this */
};

static void
ending_free(struct ending *e)
{
	pthread_cond_destroy(&e->done);
	pthread_mutex_destroy(&e->lock);
	free(e);
}

static void
destroy(rd_kafka_t *rk, struct kafka_handle *h)
{
	/* Only members join a group, and leave it here, so that others need not wait. */
	rd_kafka_destroy_flags(
	    rk, h->role == KAFKA_READER ? RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE : 0);
	kafka_handle_free(h);
}

static void *
destroy_thread(void *argument)
{
	struct ending *e = argument;
	bool abandoned;

	destroy(e->rk, e->handle);
	pthread_mutex_lock(&e->lock);
	e->destroyed = true;
	abandoned = e->abandoned;
	pthread_cond_signal(&e->done);
	pthread_mutex_unlock(&e->lock);
	if (abandoned)
		ending_free(e);
	return NULL;
}

static void
wait_destroyed(struct ending *e, const char *client)
{
	struct timespec until;
	bool destroyed;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += CLOSE_DESTROY_MS / 1000;
	pthread_mutex_lock(&e->lock);
	while (!e->destroyed && pthread_cond_timedwait(&e->done, &e->lock, &until) == 0)
		;
	destroyed = e->destroyed;
	e->abandoned = !destroyed;
	pthread_mutex_unlock(&e->lock);
	if (destroyed)
		ending_free(e);
	else
		log_warning("kafka: KAFKA-CLOSE client=%s did not end within %d ms; left behind",
		    client, CLOSE_DESTROY_MS);
}

static struct ending *
ending_new(rd_kafka_t *rk, struct kafka_handle *h)
{
	struct ending *e = calloc(1, sizeof(*e));
	pthread_condattr_t monotonic;

	if (e == NULL)
		return NULL;
	e->rk = rk;
	e->handle = h;
	pthread_mutex_init(&e->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&e->done, &monotonic);
	pthread_condattr_destroy(&monotonic);
	return e;
}

void
kafka_close(rd_kafka_t *rk)
{
	char client[sizeof(((struct kafka_handle *)NULL)->client)];
	struct kafka_handle *h;
	pthread_t thread;
	struct ending *e;

	if (rk == NULL)
		return;
	h = rd_kafka_opaque(rk);
	memcpy(client, h->client, sizeof(client));
	kafka_log_set_quiet(&h->log, true); /* a connection that is being made is given up */
	if (kafka_writes(h->role)) {        /* reports what is lost to `delivered` */
		rd_kafka_purge(rk, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
		rd_kafka_flush(rk, CLOSE_FLUSH_MS);
	}
	e = ending_new(rk, h);
	if (e == NULL || pthread_create(&thread, NULL, destroy_thread, e) != 0) {
		destroy(rk, h);
		if (e != NULL)
			ending_free(e);
		return;
	}
	pthread_detach(thread);
	wait_destroyed(e, client);
}
