#include "tests/sim/kafka/cluster.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { START_MS = 1000000, ALIGN = 16, ROOM_FIRST = 16 };
/* Of address space; pages that nobody touches cost nothing. */
#define SIZE_USUAL ((size_t)1 << 30)

struct cluster *cluster;
void (*cluster_heard)(const struct cluster_commit *c);

void
cluster_open(size_t size)
{
	void *at;

	if (cluster != NULL)
		return;
	size = size == 0 ? SIZE_USUAL : size;
	at = mmap(
	    NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED) {
		perror("sim: no memory for the cluster");
		exit(1);
	}
	cluster = at;
	*cluster = (struct cluster){.used = sizeof(struct cluster),
	    .size = size,
	    .now_ms = START_MS,
	    .producer_next = 1000,
	    .chance = {.state = 1}};
}

void
cluster_seed(uint64_t seed)
{
	cluster_open(0);
	cluster->chance.state = seed;
}

void *
cluster_allocate(size_t n)
{
	size_t from = (cluster->used + ALIGN - 1) / ALIGN * ALIGN;

	if (from + n > cluster->size) {
		fprintf(stderr, "sim: the cluster is full (%zu bytes)\n", cluster->size);
		exit(1);
	}
	cluster->used = from + n;
	memset((char *)cluster + from, 0, n);
	return (char *)cluster + from;
}

char *
cluster_copy_text(const char *text)
{
	char *copy = cluster_allocate(strlen(text) + 1);

	memcpy(copy, text, strlen(text));
	return copy;
}

void *
cluster_save(size_t *n)
{
	void *image = malloc(cluster->used);

	*n = cluster->used;
	if (image == NULL)
		abort();
	memcpy(image, cluster, *n);
	return image;
}

void
cluster_restore(const void *image, size_t n)
{
	memcpy(cluster, image, n);
}

/* ---- topics ---- */

struct cluster_topic *
cluster_topic(const char *name)
{
	for (size_t i = 0; i < cluster->topics_n; i++)
		if (!cluster->topic[i]->deleted && strcmp(cluster->topic[i]->name, name) == 0)
			return cluster->topic[i];
	return NULL;
}

struct cluster_topic *
cluster_make_topic(const char *name, int32_t partitions)
{
	struct cluster_topic *t = cluster_allocate(sizeof(*t));

	if (cluster->topics_n == CLUSTER_TOPICS_MAX)
		abort();
	snprintf(t->name, sizeof(t->name), "%s", name);
	t->partitions = partitions;
	t->room = partitions + CLUSTER_PARTITIONS_ADDED;
	t->partition = cluster_allocate((size_t)t->room * sizeof(*t->partition));
	for (int32_t i = 0; i < t->room; i++) {
		t->partition[i].topic = t;
		t->partition[i].number = i;
	}
	cluster->topic[cluster->topics_n++] = t;
	return t;
}

void
cluster_delete_topic(struct cluster_topic *t)
{
	t->deleted = true;
	cluster_commit_forget(NULL, t->name, -1);
}

bool
cluster_add_partitions(struct cluster_topic *t, int32_t partitions)
{
	if (partitions <= t->partitions || partitions > t->room)
		return false;
	t->partitions = partitions;
	return true;
}

struct cluster_partition *
cluster_partition(const char *topic, int32_t partition)
{
	struct cluster_topic *t = cluster_topic(topic);

	if (t == NULL || partition < 0 || partition >= t->partitions)
		return NULL;
	return &t->partition[partition];
}

/* ---- logs ---- */

int64_t
cluster_high(const struct cluster_partition *p)
{
	return cluster->now_ms < p->lags_until_ms ? p->high_lagging : p->end;
}

int64_t
cluster_stable(const struct cluster_partition *p)
{
	int64_t stable = cluster_high(p);

	for (const struct cluster_producer *s = p->producers; s != NULL; s = s->next)
		if (s->open_first >= 0 && s->open_first < stable)
			stable = s->open_first;
	return stable < p->log_start ? p->log_start : stable; /* as brokers have it */
}

struct cluster_record *
cluster_append(struct cluster_partition *p)
{
	if (p->end == p->room) {
		int64_t room = p->room == 0 ? ROOM_FIRST : 2 * p->room;
		struct cluster_record *grown = cluster_allocate((size_t)room * sizeof(*grown));

		if (p->end > 0)
			memcpy(grown, p->record, (size_t)p->end * sizeof(*grown));
		p->record = grown;
		p->room = room;
	}
	return &p->record[p->end++];
}

struct cluster_producer *
cluster_producer_of(struct cluster_partition *p, int64_t producer)
{
	struct cluster_producer *s = p->producers;

	while (s != NULL && s->producer != producer)
		s = s->next;
	if (s != NULL)
		return s;
	s = cluster_allocate(sizeof(*s));
	s->producer = producer;
	s->epoch = -1;
	s->open_first = -1;
	s->next = p->producers;
	p->producers = s;
	return s;
}

/* What a transaction had here before its marker was lost is undecided again. */
static void
reopen(struct cluster_partition *p, int64_t producer)
{
	for (int64_t i = p->end; i-- > 0;) {
		struct cluster_record *r = &p->record[i];

		if (r->producer != producer)
			continue;
		if (r->fate == CLUSTER_MARKER)
			break;
		r->undone = r->undone || r->fate == CLUSTER_ABORTED;
		r->fate = CLUSTER_OPEN;
	}
}

/* As a broker does that reads a log from its beginning. */
static void
learn_again(const struct cluster_partition *p, struct cluster_producer *s)
{
	s->epoch = -1;
	s->sequence_next = 0;
	s->batches = 0;
	s->open_first = -1;
	for (int64_t i = 0; i < p->end; i++) {
		const struct cluster_record *r = &p->record[i];

		if (r->producer != s->producer)
			continue;
		if (r->epoch != s->epoch)
			s->sequence_next = 0;
		s->epoch = r->epoch;
		if (r->fate == CLUSTER_MARKER)
			continue;
		s->sequence_next++;
		if (r->fate == CLUSTER_OPEN && s->open_first < 0)
			s->open_first = i;
	}
}

void
cluster_cut(struct cluster_partition *p, int64_t n)
{
	for (; n > 0 && p->end > p->log_start; n--) {
		const struct cluster_record *r = &p->record[--p->end];

		if (r->fate == CLUSTER_MARKER)
			reopen(p, r->producer);
	}
	for (int64_t i = 0; i < p->end; i++) /* a forgotten one is known again by its records */
		cluster_producer_of(p, p->record[i].producer);
	for (struct cluster_producer *s = p->producers; s != NULL; s = s->next)
		learn_again(p, s);
	if (p->high_lagging > p->end)
		p->high_lagging = p->end;
}

/* Whether the batch is one of the last few, which are known by their first and last sequence. */
static bool
is_repeated(const struct cluster_producer *s, struct cluster_request *r)
{
	unsigned kept = s->batches < CLUSTER_BATCHES_KEPT ? s->batches : CLUSTER_BATCHES_KEPT;

	for (unsigned i = 0; i < kept && r->epoch == s->epoch; i++)
		if (s->batch_first[i] == r->sequence && s->batch_n[i] == (int32_t)r->records_n) {
			r->offset = s->batch_offset[i];
			return true;
		}
	return false;
}

/*
 * The epoch, that the transaction knows the partition (as brokers since 3.6 demand), and the
 * sequence: the next one; of a new epoch 0; of a producer that the partition does not know any.
 */
static rd_kafka_resp_err_t
check_produce(const struct cluster_producer *s, const struct cluster_request *r)
{
	if (r->epoch < s->epoch)
		return RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH;
	if (r->txn != NULL && s->open_first < 0 &&
	    (r->txn->state != CLUSTER_TXN_ONGOING || r->txn->epoch != r->epoch ||
		r->txn->producer != r->producer || !cluster_txn_has(r->txn, r->partition)))
		return r->txn->epoch > r->epoch ? RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH
						: RD_KAFKA_RESP_ERR_INVALID_TXN_STATE;
	if (s->epoch >= 0 && r->sequence != (r->epoch == s->epoch ? s->sequence_next : 0))
		return RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER;
	return RD_KAFKA_RESP_ERR_NO_ERROR;
}

/* Sequences restart at 0 behind the largest. */
static int32_t
sequence_behind(const struct cluster_request *r)
{
	return (int32_t)(((int64_t)r->sequence + (int64_t)r->records_n) & INT32_MAX);
}

static void
note_batch(struct cluster_producer *s, const struct cluster_request *r)
{
	if (r->epoch != s->epoch)
		s->batches = 0;
	s->epoch = r->epoch;
	s->sequence_next = sequence_behind(r);
	s->batch_first[s->batches % CLUSTER_BATCHES_KEPT] = r->sequence;
	s->batch_n[s->batches % CLUSTER_BATCHES_KEPT] = (int32_t)r->records_n;
	s->batch_offset[s->batches++ % CLUSTER_BATCHES_KEPT] = r->offset;
	if (r->txn != NULL && s->open_first < 0)
		s->open_first = r->offset;
}

static rd_kafka_resp_err_t
produce(struct cluster_request *r)
{
	struct cluster_partition *p = r->partition;
	struct cluster_producer *s = cluster_producer_of(p, r->producer);
	rd_kafka_resp_err_t err;

	if (p->topic->deleted)
		return RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
	if (is_repeated(s, r))
		return RD_KAFKA_RESP_ERR_NO_ERROR;
	err = check_produce(s, r);
	if (err != RD_KAFKA_RESP_ERR_NO_ERROR)
		return err;
	r->offset = p->end;
	note_batch(s, r);
	for (size_t i = 0; i < r->records_n; i++) {
		struct cluster_record *to = cluster_append(p);

		*to = r->record[i];
		to->fate = r->txn == NULL ? CLUSTER_PLAIN : CLUSTER_OPEN;
		to->producer = r->producer;
		to->epoch = r->epoch;
	}
	return RD_KAFKA_RESP_ERR_NO_ERROR;
}

rd_kafka_resp_err_t
cluster_produce(const char *topic, int32_t partition, int64_t producer, int16_t epoch,
    int32_t sequence, int32_t n, int64_t *offset)
{
	struct cluster_request r = {.partition = cluster_partition(topic, partition),
	    .producer = producer,
	    .epoch = epoch,
	    .sequence = sequence,
	    .records_n = (size_t)n,
	    .offset = -1};
	rd_kafka_resp_err_t err;

	if (r.partition == NULL)
		return RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
	r.record = cluster_allocate((size_t)n * sizeof(*r.record));
	err = produce(&r);
	*offset = r.offset;
	return err;
}

/* ---- time ---- */

static void
arrive(struct cluster_request *r)
{
	switch (r->kind) {
	case CLUSTER_PRODUCE:
		r->err = produce(r);
		chance_trace("arrives: %zu records at %s [%d] offset %" PRId64 ": %s", r->records_n,
		    r->partition->topic->name, (int)r->partition->number, r->offset,
		    rd_kafka_err2name(r->err));
		break;
	case CLUSTER_END:
		r->err = cluster_txn_end(r->txn, r->producer, r->epoch, r->commit);
		chance_trace("arrives: end of a transaction of %s, %s: %s", r->txn->id,
		    r->commit ? "commit" : "abort", rd_kafka_err2name(r->err));
		break;
	case CLUSTER_COMMIT:
		for (size_t i = 0; i < r->offsets_n; i++)
			cluster_commit_set(&r->offsets[i]);
		if (cluster_heard != NULL && r->offsets_n > 0)
			cluster_heard(&r->offsets[0]);
		chance_trace("arrives: %zu offsets of %s", r->offsets_n,
		    r->offsets_n == 0 ? "" : r->offsets[0].group);
		break;
	}
	r->done = true;
}

void
cluster_send(struct cluster_request *r, int64_t due_ms)
{
	struct cluster_request **at = &cluster->requests;

	r->due_ms = due_ms;
	while (*at != NULL && (*at)->due_ms <= due_ms)
		at = &(*at)->next;
	r->next = *at;
	*at = r;
}

void
cluster_tick(void)
{
	while (cluster->requests != NULL && cluster->requests->due_ms <= cluster->now_ms) {
		struct cluster_request *r = cluster->requests;

		cluster->requests = r->next;
		arrive(r);
	}
	for (size_t i = 0; i < cluster->txns_n; i++)
		cluster_txn_tick(cluster->txn[i]);
}

int64_t
cluster_next_ms(void)
{
	int64_t next = cluster->requests == NULL ? INT64_MAX : cluster->requests->due_ms;

	for (size_t i = 0; i < cluster->txns_n; i++) {
		int64_t ms = cluster_txn_next_ms(cluster->txn[i]);

		next = ms < next ? ms : next;
	}
	return next;
}
