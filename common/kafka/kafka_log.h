/*
 * kafka_log.h -- what librdkafka's threads report, as log lines of ours; private to kafka*.c.
 *
 * A broker that is down is reported by librdkafka several times a second, in several words. Of all
 * failures of connections to one broker a line passes every KAFKA_LOG_OUTAGE_MS, and of other kinds
 * of lines one every KAFKA_LOG_INTERVAL_MS, each with the number of those held back in between. The
 * last failure of a connection is kept, so that a command can say why no broker answers.
 *
 * Some retries are routine while a broker starts. Their lines are debug lines until a series of
 * them has lasted for KAFKA_LOG_RETRY_MS. From then on they are warnings. Lines about a producer
 * that was replaced by another one are debug lines, too: the call that meets it fails.
 *
 * Thread: kafka_log_put() and kafka_log_cause() from any; init and end from the handle's owner.
 */
#ifndef COMMON_KAFKA_KAFKA_LOG_H
#define COMMON_KAFKA_KAFKA_LOG_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/config/properties.h"

enum {
	KAFKA_LOG_INTERVAL_MS = 10000,
	KAFKA_LOG_OUTAGE_MS = 60000,
	KAFKA_LOG_RETRY_MS =
	    10000, /* a routine retry lasts less; a longer pause begins a new series */
	KAFKA_LOG_KINDS_MAX = 64, /* kinds remembered; the one seen longest ago gives way */
	KAFKA_CAUSE_MAX = 256,
	KAFKA_LOG_HIDDEN_MIN = 4, /* letters: less of a value is no secret, and is in every line */
	KAFKA_LOG_LINE_MAX = 4096 /* a longer one is cut */
};

struct kafka_log_kind {
	uint64_t key; /* hash of broker and kind; 0: free */
	int64_t shown_ms;
	uint64_t held_back;
};

struct kafka_log {
	char *hidden; /* texts that no line shows, each with its '\0'; constant after the start */
	size_t hidden_n;      /* bytes of all of them */
	pthread_mutex_t lock; /* protects all below */
	bool quiet;           /* connection failures are kept, not shown: somebody waits for one */
	char cause[KAFKA_CAUSE_MAX];
	char refused[KAFKA_CAUSE_MAX]; /* see kafka_log_refused() */
	int64_t retry_began_ms,
	    retry_last_ms;       /* of the latest series of routine retries; 0: none */
	const char *certificate; /* what is wrong with the broker's; NULL: nothing */
	struct kafka_log_kind kind[KAFKA_LOG_KINDS_MAX];
};

void kafka_log_init(struct kafka_log *l);
void kafka_log_end(struct kafka_log *l);

/*
 * Values of properties that may be secrets (property_names.h), and words of them, stand in no line
 * from here on: librdkafka quotes what it was given. Before any other thread knows `l`; `p` may be
 * NULL. FAIL_MEMORY.
 */
enum fail_code kafka_log_hide(struct kafka_log *l, const struct properties *p, struct failure *f);

/* Copies `text`, cut to out[room], with "***" for each of these. */
void kafka_log_shown(const struct kafka_log *l, const char *text, char *out, size_t room);

/*
 * One line of librdkafka: `level` as in syslog(3), `facility` its kind ("FAIL"), `text` what it
 * says, as a rule "[thrd:T]: broker: what". `client` names the handle. `now_ms` is monotonic.
 */
void kafka_log_put(struct kafka_log *l, const char *client, int level, const char *facility,
    const char *text, int64_t now_ms);

/*
 * While `quiet`, connection failures only become the cause: the caller will tell it in a sentence.
 */
void kafka_log_set_quiet(struct kafka_log *l, bool quiet);

/*
 * Whether a broker has answered some handle of this process: then librdkafka's guess at a wrong
 * security.protocol is left out.
 */
void kafka_log_set_worked(bool has);

/*
 * Notes what is wrong with a broker's certificate, a text that lives for ever: OpenSSL's error says
 * no more than "certificate verify failed".
 */
void kafka_log_certificate(struct kafka_log *l, const char *what);

/* Copies the last connection failure ("localhost:9092: connection refused"); "": there is none. */
void kafka_log_cause(struct kafka_log *l, char out[static KAFKA_CAUSE_MAX]);

/*
 * Copies the name of the last topic that a transaction could not take in for want of a right; "":
 * there is none. librdkafka (2.0.2) says it nowhere else: the records come back as purged.
 */
void kafka_log_refused(struct kafka_log *l, char out[static KAFKA_CAUSE_MAX]);

#endif
