/*
 * rejects_log.h -- the records of <corpus>.rejects: what a producer could not use of its input, and
 * a mixer of a domain's log, each with its place and why.
 *
 * Reads what is there when it begins: records that are committed, not the marks of transactions
 * between them. A producer that was killed rejects the records behind its last sequence once more,
 * and these are then there twice.
 *
 * Thread: one.
 */
#ifndef CONSUMER_ADMIN_REJECTS_LOG_H
#define CONSUMER_ADMIN_REJECTS_LOG_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/base/stop.h"
#include "common/config/config.h"

/* A text of the record's headers; text NULL: it has none. */
struct rejects_text {
	const char *text;
	size_t n;
};

enum rejects_field { /* "riffle.error." and its name, in this order */
	REJECTS_STAGE,
	REJECTS_DOMAIN, /* or several, with "," between them */
	REJECTS_REASON,
	REJECTS_FILE,
	REJECTS_LINE,
	REJECTS_BYTE,
	REJECTS_COUNT,
	REJECTS_TOPIC,
	REJECTS_PARTITION,
	REJECTS_OFFSET,
	REJECTS_ORDINAL,
	REJECTS_FIELDS,
};

extern const char *const rejects_field_name[REJECTS_FIELDS];

/* One record; all is borrowed during the call that gives it. */
struct rejects_record {
	int64_t offset;  /* of the record itself, in <corpus>.rejects */
	int64_t time_ms; /* of its record at the broker, since 1970 */
	struct rejects_text field[REJECTS_FIELDS];
	const char *bytes; /* what was rejected, or its beginning */
	size_t bytes_n;
};

struct rejects_query {
	const struct config *config;
	const char *domain; /* NULL: all; else only records that name it */
	const char *reason; /* NULL: all; else only reasons that hold this text */
	const struct stop *stop;
	void (*take)(void *opaque, const struct rejects_record *r);
	void *opaque;
};

/*
 * Calls take() with each record, the oldest first. FAIL_CONFIG: there is no such topic;
 * FAIL_STOPPED.
 */
enum fail_code rejects_log_read(const struct rejects_query *q, struct failure *f);

#endif
