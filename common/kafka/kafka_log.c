#include "common/kafka/kafka_log.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "common/base/log.h"
#include "common/config/property_names.h"

/* Levels of syslog(3), which librdkafka uses. */
enum { SYSLOG_WARNING = 4, SYSLOG_DEBUG = 7 };

static atomic_bool worked;

void
kafka_log_init(struct kafka_log *l)
{
	memset(l, 0, sizeof(*l));
	pthread_mutex_init(&l->lock, NULL);
}

void
kafka_log_end(struct kafka_log *l)
{
	pthread_mutex_destroy(&l->lock);
	free(l->hidden);
}

/* ---- what no line shows ---- */

#define HIDDEN_ENDS " \t\r\n\"'=,;&?" /* of a word of a value */

/* Appends a text of n bytes; l->hidden has room. */
static void
hide(struct kafka_log *l, const char *text, size_t n)
{
	if (n < KAFKA_LOG_HIDDEN_MIN)
		return;
	memcpy(l->hidden + l->hidden_n, text, n);
	l->hidden_n += n;
	l->hidden[l->hidden_n++] = '\0';
}

/* The whole first, which may have its words inside. */
static void
hide_value(struct kafka_log *l, const char *value)
{
	hide(l, value, strlen(value));
	for (const char *at = value; *at != '\0';) {
		size_t n = strcspn(at, HIDDEN_ENDS);

		if (n < strlen(value))
			hide(l, at, n);
		at += n + strspn(at + n, HIDDEN_ENDS);
	}
}

enum fail_code
kafka_log_hide(struct kafka_log *l, const struct properties *p, struct failure *f)
{
	size_t room = 0;

	assert(l->hidden == NULL);
	for (size_t i = 0; p != NULL && i < p->n; i++)
		if (!property_names_harmless(p->item[i].name))
			room += 2 * strlen(p->item[i].value) + 2;
	if (room == 0)
		return FAIL_NONE;
	l->hidden = malloc(room);
	if (l->hidden == NULL)
		return fail_memory(f);
	for (size_t i = 0; i < p->n; i++)
		if (!property_names_harmless(p->item[i].name))
			hide_value(l, p->item[i].value);
	assert(l->hidden_n <= room);
	return FAIL_NONE;
}

void
kafka_log_shown(const struct kafka_log *l, const char *text, char *out, size_t room)
{
	static const char stars[] = "***";
	enum { STARS_N = sizeof(stars) - 1 };

	snprintf(out, room, "%s", text);
	for (size_t i = 0; i < l->hidden_n; i += strlen(l->hidden + i) + 1) {
		const char *hidden = l->hidden + i;
		size_t n = strlen(hidden);

		assert(n > STARS_N); /* the line becomes shorter */
		for (char *at = out; (at = strstr(at, hidden)) != NULL; at += STARS_N) {
			memcpy(at, stars, STARS_N);
			memmove(at + STARS_N, at + n, strlen(at + n) + 1);
		}
	}
}

/* ---- lines ---- */

/* The text without librdkafka's "[thrd:NAME]: ", which says nothing to a user. */
static const char *
without_thread(const char *text)
{
	const char *end;

	if (strncmp(text, "[thrd:", 6) != 0)
		return text;
	end = strstr(text, "]: ");
	return end == NULL ? text : end + 3;
}

/*
 * Hash of what makes two lines the same kind: facility, broker and reason, without numbers (times,
 * ports of the local side, counts) and without the "(after 3ms in state CONNECT)" at the end.
 */
static uint64_t
kind_key(const char *facility, const char *text)
{
	char kept[512];
	size_t n = 0;
	const char *end = strstr(text, " (after ");

	for (const char *c = text; *c != '\0' && c != end && n < sizeof(kept); c++)
		if (!isdigit((unsigned char)*c))
			kept[n++] = *c;
	/* Two brokers of one host differ in their ports: the part before ": " counts as it is. */
	return XXH64(
		   kept, n, XXH64(facility, strlen(facility), XXH64(text, strcspn(text, " "), 0))) |
	       1;
}

/* The broker of "b1:9092/1: Connect to ..." or "GroupCoordinator: b1:9092: ...". */
static uint64_t
broker_key(const char *text)
{
	const char *at = strstr(text, "Coordinator: ");
	size_t n;

	at = at == NULL || at > strchr(text, ' ') ? text : at + strlen("Coordinator: ");
	n = strcspn(at, "/ ");
	return XXH64(at, n > 0 && at[n - 1] == ':' ? n - 1 : n, 0) | 1;
}

/*
 * Whether the line passes, one each interval_ms; *held_back is how many of its kind did not since
 * the last one.
 */
static bool
passes(struct kafka_log *l, uint64_t key, int64_t interval_ms, int64_t now_ms, uint64_t *held_back)
{
	struct kafka_log_kind *oldest = &l->kind[0];

	assert(key != 0);
	*held_back = 0;
	for (size_t i = 0; i < KAFKA_LOG_KINDS_MAX; i++) {
		struct kafka_log_kind *k = &l->kind[i];

		if (k->key == key && now_ms - k->shown_ms < interval_ms) {
			k->held_back++;
			return false;
		}
		if (k->key == key) {
			*held_back = k->held_back;
			oldest = k;
			break;
		}
		if (k->key == 0 || (oldest->key != 0 && k->shown_ms < oldest->shown_ms))
			oldest = k;
	}
	*oldest = (struct kafka_log_kind){.key = key, .shown_ms = now_ms};
	return true;
}

/* Keeps "localhost:9092: Connect to ... failed: Connection refused" without the times behind it. */
static void
keep_cause(struct kafka_log *l, const char *text)
{
	static const char certificate[] = "certificate verify failed"; /* more of it says less */
	const char *failed;
	size_t n = strlen(text), broker = strcspn(text, " ");
	const char *end = strstr(text, " (after "), *name_end = strstr(text, "/bootstrap: ");

	if (end != NULL)
		n = (size_t)(end - text);
	if (name_end != NULL && (size_t)(name_end - text) < broker)
		snprintf(l->cause, sizeof(l->cause), "%.*s%.*s", (int)(name_end - text), text,
		    (int)(n - (size_t)(name_end - text) - 10), name_end + 10);
	else
		snprintf(l->cause, sizeof(l->cause), "%.*s", (int)n, text);
	failed = strstr(l->cause, certificate);
	if (l->certificate == NULL || failed == NULL)
		return;
	n = (size_t)(failed - l->cause) + strlen(certificate);
	snprintf(l->cause + n, sizeof(l->cause) - n, ": %s", l->certificate);
}

/* Properties of the other kind of handle are no mistake: one `kafka:` section serves both; and what
 * kafka.c sets itself is meant. */
static bool
expected(const char *facility, const char *text)
{
	return strcmp(facility, "CONFWARN") == 0 &&
	       (strstr(text, "will be ignored by this") != NULL ||
		   strstr(text, "enable.gapless.guarantee is experimental") != NULL);
}

/* Keeps T of: Failed to add partition "T" [0] to transaction: Broker: Topic authorization failed */
static void
keep_refused(struct kafka_log *l, const char *text)
{
	const char *begin = strstr(text, "partition \""), *end;

	if (begin == NULL || strstr(text, "authorization failed") == NULL)
		return;
	begin += strlen("partition \"");
	end = strchr(begin, '"');
	if (end != NULL)
		snprintf(l->refused, sizeof(l->refused), "%.*s", (int)(end - begin), begin);
}

/*
 * Whether the line is a routine retry: a new broker's coordinator is not ready at once, and
 * librdkafka asks again every 500 ms. Not if it has asked in vain for too long.
 */
static bool
routine_retry(struct kafka_log *l, const char *facility, const char *text, int64_t now_ms)
{
	if (strcmp(facility, "GETPID") != 0 || strstr(text, "retrying") == NULL)
		return false;
	if (l->retry_last_ms == 0 || now_ms - l->retry_last_ms >= KAFKA_LOG_RETRY_MS)
		l->retry_began_ms = now_ms;
	l->retry_last_ms = now_ms;
	return now_ms - l->retry_began_ms < KAFKA_LOG_RETRY_MS;
}

/* Whether the line reports that another producer has taken over: the call that meets it fails. */
static bool
fencing(const char *text)
{
	return strstr(text, "fenced by a newer instance") != NULL ||
	       strstr(text, "which fences the current one") != NULL ||
	       strstr(text, "an operation with an old epoch") != NULL;
}

/* Cuts ": might be caused by incorrect security.protocol configuration (...)". */
static void
drop_guess(char *line)
{
	char *guess = strstr(line, ": might be caused by");
	const char *more = guess == NULL ? NULL : strstr(guess, " (after ");

	if (guess != NULL)
		memmove(guess, more == NULL ? "" : more, more == NULL ? 1 : strlen(more) + 1);
}

void
kafka_log_put(struct kafka_log *l, const char *client, int level, const char *facility,
    const char *text, int64_t now_ms)
{
	uint64_t held_back;
	char more[64] = "", line[KAFKA_LOG_LINE_MAX];
	bool connection = strcmp(facility, "FAIL") == 0, routine, pass;
	bool certificate = strcmp(facility, "SSLCERTVRFY") == 0;

	assert(facility != NULL);
	assert(text != NULL);
	kafka_log_shown(l, without_thread(text), line, sizeof(line));
	text = line;
	if (level >= SYSLOG_DEBUG) { /* only where the user has set `debug`: wanted, all of it */
		log_info("kafka: client=%s %s %s", client, facility, text);
		return;
	}
	if (expected(facility, text))
		return;
	pthread_mutex_lock(&l->lock);
	if (connection)
		keep_cause(l, text);
	if (strcmp(facility, "ADDPARTS") == 0)
		keep_refused(l, text);
	if (connection && worked)
		drop_guess(line);
	routine = fencing(text) || routine_retry(l, facility, text, now_ms);
	pass = !routine && !((connection || certificate) && l->quiet) &&
	       (connection ? passes(l, broker_key(text), KAFKA_LOG_OUTAGE_MS, now_ms, &held_back)
			   : passes(l, kind_key(facility, text), KAFKA_LOG_INTERVAL_MS, now_ms,
				 &held_back));
	pthread_mutex_unlock(&l->lock);
	if (routine)
		log_debug("kafka: client=%s %s", client, text);
	if (!pass)
		return;
	if (held_back > 0)
		snprintf(more, sizeof(more), " (%" PRIu64 " more like it)", held_back);
	if (level <= SYSLOG_WARNING)
		log_warning("kafka: KAFKA-%s client=%s %s%s", facility, client, text, more);
	else
		log_info("kafka: client=%s %s%s", client, text, more);
}

void
kafka_log_set_quiet(struct kafka_log *l, bool quiet)
{
	pthread_mutex_lock(&l->lock);
	l->quiet = quiet;
	pthread_mutex_unlock(&l->lock);
}

void
kafka_log_set_worked(bool has)
{
	worked = has;
}

void
kafka_log_cause(struct kafka_log *l, char out[static KAFKA_CAUSE_MAX])
{
	pthread_mutex_lock(&l->lock);
	memcpy(out, l->cause, KAFKA_CAUSE_MAX);
	pthread_mutex_unlock(&l->lock);
}

void
kafka_log_refused(struct kafka_log *l, char out[static KAFKA_CAUSE_MAX])
{
	pthread_mutex_lock(&l->lock);
	memcpy(out, l->refused, KAFKA_CAUSE_MAX);
	pthread_mutex_unlock(&l->lock);
}

void
kafka_log_certificate(struct kafka_log *l, const char *what)
{
	pthread_mutex_lock(&l->lock);
	l->certificate = what;
	pthread_mutex_unlock(&l->lock);
}
