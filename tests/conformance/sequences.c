/*
 * Sequence numbers of idempotent producers, batch by batch, as no client sends them by itself: a
 * request is written by hand, or given to the simulated broker.
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "tests/conformance/scene.h"

enum {
	REQUEST_MAX = 2048,
	TIMEOUT_S = 40,
	EXPIRY_MS = 10000,
	KNOWN_MS =
	    3000, /* less than EXPIRING: a producer that wrote this long ago is still known */
	PAUSE_MS = 20,
	BATCHES = 7,
	PRODUCER = 7000001, /* ids that no broker has given out */
	API_PRODUCE = 0,
	VERSION = 7,
	MAGIC = 2,
	CRC_FROM = 21, /* what lies behind the checksum is summed */
};

/* One batch of `n` records. */
struct batch {
	const char *topic; /* as Kafka has it */
	int64_t producer;
	int16_t epoch;
	int32_t sequence, n;
};

/* Of the simulation; NULL with librdkafka. */
extern rd_kafka_resp_err_t cluster_produce(const char *topic, int32_t partition, int64_t producer,
    int16_t epoch, int32_t sequence, int32_t n, int64_t *offset) __attribute__((weak));
extern void cluster_expire(const char *id) __attribute__((weak));

/* ---- a Produce request (KafkaProtocol, "Produce API", and the record batch of version 2) ---- */

struct bytes {
	uint8_t at[REQUEST_MAX];
	size_t n;
};

static void
add(struct bytes *b, int64_t value, int bytes)
{
	while (bytes-- > 0)
		b->at[b->n++] = (uint8_t)((uint64_t)value >> (8 * bytes));
}

static void
set(struct bytes *b, size_t at, int64_t value)
{
	size_t n = b->n;

	b->n = at;
	add(b, value, 4);
	b->n = n;
}

static void
add_text(struct bytes *b, const char *text)
{
	add(b, (int64_t)strlen(text), 2);
	memcpy(b->at + b->n, text, strlen(text));
	b->n += strlen(text);
}

/* Signed, in one byte: below 64. */
static void
add_small(struct bytes *b, int value)
{
	b->at[b->n++] = (uint8_t)((value << 1) ^ (value >> 31));
}

/* Castagnoli's, bit by bit. */
static uint32_t
crc32c(const uint8_t *at, size_t n)
{
	uint32_t crc = UINT32_MAX;

	for (size_t i = 0; i < n; i++) {
		crc ^= at[i];
		for (int bit = 0; bit < 8; bit++)
			crc = (crc >> 1) ^ (UINT32_C(0x82f63b78) & (0 - (crc & 1)));
	}
	return ~crc;
}

static void
add_batch(struct bytes *b, const struct batch *of)
{
	int64_t now_ms = clock_ms();
	size_t from = b->n;

	add(b, 0, 8);
	add(b, 0, 4); /* length: below */
	add(b, -1, 4);
	add(b, MAGIC, 1);
	add(b, 0, 4); /* checksum: below */
	add(b, 0, 2);
	add(b, of->n - 1, 4);
	add(b, now_ms, 8);
	add(b, now_ms, 8);
	add(b, of->producer, 8);
	add(b, of->epoch, 2);
	add(b, of->sequence, 4);
	add(b, of->n, 4);
	for (int32_t i = 0; i < of->n; i++) {
		add_small(b, 7); /* bytes that follow */
		add(b, 0, 1);
		add_small(b, 0);
		add_small(b, (int)i);
		add_small(b, -1);
		add_small(b, 1);
		add(b, 'r', 1);
		add_small(b, 0);
	}
	set(b, from + 8, (int64_t)(b->n - from - 12));
	set(b, from + CRC_FROM - 4, crc32c(b->at + from + CRC_FROM, b->n - from - CRC_FROM));
}

static void
make_request(struct bytes *b, const struct batch *of)
{
	size_t length;

	b->n = 0;
	add(b, 0, 4); /* length: below */
	add(b, API_PRODUCE, 2);
	add(b, VERSION, 2);
	add(b, 1, 4);
	add_text(b, "conformance");
	add(b, -1, 2); /* no transactional id */
	add(b, -1, 2); /* acknowledged by all */
	add(b, TIMEOUT_S * 1000, 4);
	add(b, 1, 4);
	add_text(b, of->topic);
	add(b, 1, 4);
	add(b, 0, 4); /* partition */
	length = b->n;
	add(b, 0, 4);
	add_batch(b, of);
	set(b, length, (int64_t)(b->n - length - 4));
	set(b, 0, (int64_t)(b->n - 4));
}

static int
connected(void)
{
	const char *given = getenv("RIFFLE_BOOTSTRAP"), *port = strrchr(given, ':');
	struct timeval limit = {.tv_sec = TIMEOUT_S};
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
	char host[256];
	int s = -1;

	snprintf(host, sizeof(host), "%.*s", (int)(port - given), given);
	if (getaddrinfo(host, port + 1, &hints, &found) != 0)
		return -1;
	for (struct addrinfo *a = found; a != NULL && s < 0; a = a->ai_next) {
		s = socket(a->ai_family, a->ai_socktype, a->ai_protocol);
		if (s >= 0 && (setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) != 0 ||
				  connect(s, a->ai_addr, a->ai_addrlen) != 0)) {
			close(s);
			s = -1;
		}
	}
	freeaddrinfo(found);
	return s;
}

static int64_t
number(const uint8_t *at, int bytes)
{
	uint64_t n = 0;

	for (int i = 0; i < bytes; i++)
		n = n << 8 | at[i];
	return bytes == 2 ? (int16_t)n : (int64_t)n;
}

static bool
read_all(int s, uint8_t *to, size_t n)
{
	return recv(s, to, n, MSG_WAITALL) == (ssize_t)n;
}

/* Size, correlation, one topic, one partition: its error and offset. */
static bool
hear(int s, const struct batch *of, rd_kafka_resp_err_t *err, int64_t *offset)
{
	size_t before = 4 + 4 + 2 + strlen(of->topic) + 4 + 4;
	uint8_t size[4], answer[REQUEST_MAX];
	size_t n;

	if (!read_all(s, size, sizeof(size)))
		return false;
	n = (size_t)number(size, 4);
	if (n > sizeof(answer) || n < before + 10 || !read_all(s, answer, n))
		return false;
	*err = (rd_kafka_resp_err_t)number(answer + before, 2);
	*offset = number(answer + before + 2, 8);
	return true;
}

static rd_kafka_resp_err_t
send_batch(struct scene *scene, const struct batch *of, int64_t *offset)
{
	rd_kafka_resp_err_t err = RD_KAFKA_RESP_ERR__FAIL;
	struct bytes request;
	int s;

	if (cluster_produce != NULL)
		return cluster_produce(
		    of->topic, 0, of->producer, of->epoch, of->sequence, of->n, offset);
	s = connected();
	make_request(&request, of);
	if (s < 0 || send(s, request.at, request.n, 0) != (ssize_t)request.n ||
	    !hear(s, of, &err, offset))
		scene_broken(scene, "no answer to a request written by hand");
	if (s >= 0)
		close(s);
	return err;
}

/* Sends it to a/0: "epoch 0, sequence 5: NO_ERROR@0"; a leader that is being found is asked again.
 */
static void
say_batch(struct scene *s, int16_t epoch, int32_t sequence, int32_t n)
{
	char full[SCENE_NAME_MAX], many[32] = "", where[32] = "";
	struct batch of = {full, PRODUCER, epoch, sequence, n};
	int64_t deadline_ms = clock_ms() + SCENE_WAIT_MS, offset = -1;
	rd_kafka_resp_err_t err;

	scene_name(s, full, "a");
	while (((err = send_batch(s, &of, &offset)) == RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION ||
		   err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART) &&
	       clock_ms() < deadline_ms)
		clock_pause_ms(PAUSE_MS);
	if (n > 1)
		snprintf(many, sizeof(many), " to %" PRId32, sequence + n - 1);
	if (err == RD_KAFKA_RESP_ERR_NO_ERROR)
		snprintf(where, sizeof(where), "@%" PRId64, offset);
	say(s, "epoch %d, sequence %" PRId32 "%s: %s%s", (int)epoch, sequence, many,
	    rd_kafka_err2name(err), where);
}

/*
 * Waits until the broker has forgotten the transactional id ("": none) and every producer that
 * rested: nobody tells, so that it is given twice the time of EXPIRING in test_conformance.py.
 */
static void
await_expiry(struct scene *s, const char *id)
{
	char full[SCENE_NAME_MAX];

	scene_name(s, full, id);
	if (cluster_expire != NULL)
		cluster_expire(full);
	else
		clock_pause_ms(EXPIRY_MS);
}

/* ---- the scenarios ---- */

static void
an_unknown_producer_begins_at_any_sequence(struct scene *s)
{
	make_topic(s, "a", 1, NULL);
	say_batch(s, 0, 5, 1);
	say_batch(s, 0, 6, 2);
	say_batch(s, 0, 9, 1);
	say_batch(s, 0, 8, 1);
	say_batch(s, 0, 4, 1);
	say_ends(s, "a", 0);
}

static void
an_unknown_producer_begins_with_any_epoch(struct scene *s)
{
	make_topic(s, "a", 1, NULL);
	say_batch(s, 7, 3, 1);
	say_batch(s, 7, 4, 1);
	say_batch(s, 6, 5, 1);
	say_batch(s, 6, 0, 1);
}

static void
a_new_epoch_begins_at_sequence_0(struct scene *s)
{
	make_topic(s, "a", 1, NULL);
	say_batch(s, 0, 0, 2);
	say_batch(s, 1, 2, 1);
	say_batch(s, 1, 1, 1);
	say_batch(s, 0, 2, 1);
	say_batch(s, 1, 0, 1);
	say_batch(s, 0, 3, 1);
	say_batch(s, 3, 0, 1);
	say_batch(s, 3, 1, 1);
}

static void
five_batches_are_known_again(struct scene *s)
{
	make_topic(s, "a", 1, NULL);
	for (int i = 0; i < BATCHES; i++)
		say_batch(s, 0, i, 1);
	for (int i = BATCHES; i-- > 0;)
		say_batch(s, 0, i, 1);
	say_ends(s, "a", 0);
}

static void
a_batch_that_was_cut_otherwise_is_no_repeat(struct scene *s)
{
	make_topic(s, "a", 1, NULL);
	say_batch(s, 0, 0, 3);
	say_batch(s, 0, 0, 2);
	say_batch(s, 0, 1, 2);
	say_batch(s, 0, 2, 2);
	say_batch(s, 0, 0, 3);
	say_batch(s, 0, 3, 1);
}

static void
sequences_begin_again_at_0_behind_the_largest(struct scene *s)
{
	make_topic(s, "a", 1, NULL);
	say_batch(s, 0, INT32_MAX, 1);
	say_batch(s, 0, 1, 1);
	say_batch(s, 0, 0, 1);
	say_batch(s, 0, 1, 1);
}

static void
deleted_records_do_not_make_a_producer_unknown(struct scene *s)
{
	make_topic(s, "a", 1, NULL);
	say_batch(s, 0, 0, 3);
	delete_records(s, "a", 0, 3);
	say_ends(s, "a", 0);
	say_batch(s, 0, 7, 1);
	say_batch(s, 0, 3, 1);
}

static void
a_recreated_topic_knows_no_producer(struct scene *s)
{
	make_topic(s, "a", 1, NULL);
	say_batch(s, 2, 0, 3);
	say_code(s, "delete", delete_topic(s, "a"));
	await_gone(s, "a");
	make_topic(s, "a", 1, NULL);
	say_batch(s, 1, 40, 1);
	say_batch(s, 2, 3, 1);
	say_batch(s, 2, 0, 1);
}

static void
an_idle_producer_is_forgotten(struct scene *s)
{
	int64_t asked_ms;

	make_topic(s, "a", 1, NULL);
	say_batch(s, 2, 0, 3);
	await_expiry(s, "");
	asked_ms = clock_ms();
	say_batch(s, 1, 40, 1);
	say_batch(s, 2, 3, 1);
	if (clock_ms() - asked_ms > KNOWN_MS)
		scene_broken(s, "two requests took longer than the broker remembers a producer");
}

/* What the coordinator answers to the old handle's first request decides. */
static struct producer *
expire(struct scene *s)
{
	struct producer *p = take_over(s, "id", NULL);

	make_topic(s, "a", 1, NULL);
	transact(s, p, "a", 0, "x", true);
	await_end(s, COMMITTED, "a", 0, 2);
	p->reports_n = 0;
	await_expiry(s, "id");
	return p;
}

static void
say_fatal(struct scene *s, struct producer *p)
{
	char why[256];

	say_code(s, "fatal error", rd_kafka_fatal_error(p->rk, why, sizeof(why)));
}

static void
a_handle_whose_id_expired_cannot_produce(struct scene *s)
{
	struct producer *p = expire(s);

	say_error(s, "begin", rd_kafka_begin_transaction(p->rk));
	put(s, p, "a", 0, "y");
	await_reports(s, p, 1);
	say_reports(s, "reports", p);
	say_fatal(s, p);
	say_error(s, "commit", rd_kafka_commit_transaction(p->rk, -1));
	say_ends(s, "a", 0);
}

static void
a_handle_whose_id_expired_cannot_send_offsets(struct scene *s)
{
	struct producer *p = expire(s);

	must(s, "begin", rd_kafka_begin_transaction(p->rk));
	say_error(s, "send_offsets", send_offset(s, p, "group", "a", 0, 1));
	say_fatal(s, p);
}

static void
an_id_that_expired_is_taken_again(struct scene *s)
{
	struct producer *old = expire(s), *p = take_over(s, "id", NULL);

	transact(s, p, "a", 0, "y", true);
	await_end(s, COMMITTED, "a", 0, 4);
	must(s, "begin", rd_kafka_begin_transaction(old->rk));
	put(s, old, "a", 0, "late");
	await_reports(s, old, 1);
	say_reports(s, "reports", old);
	say_fatal(s, old);
	transact(s, p, "a", 0, "z", true);
	await_end(s, COMMITTED, "a", 0, 6);
	say_records(s, COMMITTED, "a", 0, 0);
}

const struct claim claims_expiring[] = {
    CLAIM(an_idle_producer_is_forgotten),
    CLAIM(a_handle_whose_id_expired_cannot_produce),
    CLAIM(a_handle_whose_id_expired_cannot_send_offsets),
    CLAIM(an_id_that_expired_is_taken_again),
    {0},
};

const struct claim claims_sequences[] = {
    CLAIM(an_unknown_producer_begins_at_any_sequence),
    CLAIM(an_unknown_producer_begins_with_any_epoch),
    CLAIM(a_new_epoch_begins_at_sequence_0),
    CLAIM(five_batches_are_known_again),
    CLAIM(a_batch_that_was_cut_otherwise_is_no_repeat),
    CLAIM(sequences_begin_again_at_0_behind_the_largest),
    CLAIM(deleted_records_do_not_make_a_producer_unknown),
    CLAIM(a_recreated_topic_knows_no_producer),
    {0},
};
