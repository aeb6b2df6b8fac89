/* The coordinator: transactional ids, their epochs and transactions, and the offsets of groups. */
#include <string.h>

#include "tests/sim/kafka/cluster.h"

enum {
	MARKER_MS = 4,         /* a marker comes after up to so long, */
	MARKER_LATE_MS = 8000, /* or after this */
	SWEEP_MS = 10000,      /* the coordinator looks for old transactions every so often */
	CHANCE_HALF = 2,
	METADATA_MAX = 4096,             /* offset.metadata.max.bytes */
	TIMEOUT_MAX_MS = 15 * 60 * 1000, /* transaction.max.timeout.ms */
};

struct cluster_txn *
cluster_txn(const char *id)
{
	struct cluster_txn *t;

	for (size_t i = 0; i < cluster->txns_n; i++)
		if (strcmp(cluster->txn[i]->id, id) == 0)
			return cluster->txn[i];
	t = cluster_allocate(sizeof(*t));
	snprintf(t->id, sizeof(t->id), "%s", id);
	t->producer = cluster->producer_next++;
	t->epoch = -1;
	if (cluster->txns_n == CLUSTER_TXNS_MAX)
		t = cluster->txn[0]; /* more ids than any run has */
	else
		cluster->txn[cluster->txns_n++] = t;
	return t;
}

bool
cluster_txn_has(const struct cluster_txn *t, const struct cluster_partition *p)
{
	for (size_t i = 0; i < t->partitions_n; i++)
		if (t->partition[i].partition == p)
			return true;
	return false;
}

bool
cluster_txn_marks(const struct cluster_txn *t, const struct cluster_partition *p)
{
	for (size_t i = 0; t->state == CLUSTER_TXN_ENDING && i < t->partitions_n; i++)
		if (t->partition[i].partition == p && !t->partition[i].marked)
			return true;
	return false;
}

/* A transaction that has left no records but dead letters is out of the mixer's sight. */
static bool
in_sight(const struct cluster_txn *t)
{
	for (size_t i = 0; i < t->partitions_n; i++) {
		struct cluster_partition *p = t->partition[i].partition;

		if (strstr(p->topic->name, ".rejects") == NULL &&
		    cluster_producer_of(p, t->producer)->open_first >= 0)
			return true;
	}
	return false;
}

static bool
is_lane(const struct cluster_partition *p)
{
	return strstr(p->topic->name, ".batches") != NULL;
}

/*
 * Decides the transaction; the markers come on their own. Those of an abort may never come, on all
 * partitions or on some lanes. (Without those of a commit it would be lost.)
 */
static void
end(struct cluster_txn *t, bool commit)
{
	bool late = chance_fault(CHANCE_MARKERS_LATE, t->id);
	bool never = !commit && in_sight(t) && chance_fault(CHANCE_MARKERS_NEVER, t->id);
	bool all = never && chance_below(CHANCE_HALF) == 0;

	t->state = CLUSTER_TXN_ENDING;
	t->commit = commit;
	t->ended_once = true;
	for (size_t i = 0; i < t->partitions_n; i++) {
		struct cluster_txn_partition *p = &t->partition[i];
		bool slow = late && chance_below(CHANCE_HALF) == 0;

		p->marked =
		    all || (never && is_lane(p->partition) && chance_below(CHANCE_HALF) == 0);
		p->marker_ms =
		    cluster->now_ms + (int64_t)chance_below(slow ? MARKER_LATE_MS : MARKER_MS);
	}
	t->offsets_there = t->offsets_n == 0 || !commit;
	t->offsets_ms = cluster->now_ms + (int64_t)chance_below(late ? MARKER_LATE_MS : MARKER_MS);
}

static void
begin(struct cluster_txn *t)
{
	if (t->state == CLUSTER_TXN_ONGOING)
		return;
	t->state = CLUSTER_TXN_ONGOING;
	t->expired = false;
	t->partitions_n = 0;
	t->offsets_n = 0;
	t->expires_ms = cluster->now_ms + t->timeout_ms + (int64_t)chance_below(SWEEP_MS);
}

rd_kafka_resp_err_t
cluster_txn_init(struct cluster_txn *t, int timeout_ms, int64_t *producer, int16_t *epoch)
{
	if (timeout_ms > TIMEOUT_MAX_MS)
		return RD_KAFKA_RESP_ERR_INVALID_TRANSACTION_TIMEOUT;
	switch (t->state) {
	case CLUSTER_TXN_ONGOING:
		t->epoch++; /* whoever began it is fenced from now on */
		end(t, false);
		return RD_KAFKA_RESP_ERR_CONCURRENT_TRANSACTIONS;
	case CLUSTER_TXN_ENDING: return RD_KAFKA_RESP_ERR_CONCURRENT_TRANSACTIONS;
	case CLUSTER_TXN_EMPTY: break;
	}
	t->timeout_ms = timeout_ms;
	t->epoch++;
	t->ended_once = false;
	t->expired = false;
	*producer = t->producer;
	*epoch = t->epoch;
	return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static rd_kafka_resp_err_t
check(const struct cluster_txn *t, int64_t producer, int16_t epoch)
{
	if (producer != t->producer)
		return RD_KAFKA_RESP_ERR_INVALID_PRODUCER_ID_MAPPING;
	return epoch == t->epoch ? RD_KAFKA_RESP_ERR_NO_ERROR
				 : RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH;
}

static rd_kafka_resp_err_t
check_addable(const struct cluster_txn *t, int64_t producer, int16_t epoch)
{
	rd_kafka_resp_err_t err = check(t, producer, epoch);

	if (err == RD_KAFKA_RESP_ERR_NO_ERROR && t->state == CLUSTER_TXN_ENDING)
		return RD_KAFKA_RESP_ERR_CONCURRENT_TRANSACTIONS;
	return err;
}

rd_kafka_resp_err_t
cluster_txn_add(struct cluster_txn *t, int64_t producer, int16_t epoch, struct cluster_partition *p)
{
	rd_kafka_resp_err_t err = check_addable(t, producer, epoch);

	if (err != RD_KAFKA_RESP_ERR_NO_ERROR)
		return err;
	begin(t);
	if (cluster_txn_has(t, p))
		return RD_KAFKA_RESP_ERR_NO_ERROR;
	if (t->partitions_n == CLUSTER_TXN_PARTITIONS_MAX)
		return RD_KAFKA_RESP_ERR_INVALID_TXN_STATE;
	t->partition[t->partitions_n++] = (struct cluster_txn_partition){.partition = p};
	return RD_KAFKA_RESP_ERR_NO_ERROR;
}

rd_kafka_resp_err_t
cluster_txn_offsets(struct cluster_txn *t, int64_t producer, int16_t epoch,
    const struct cluster_commit *offset, size_t n)
{
	rd_kafka_resp_err_t err = check_addable(t, producer, epoch);
	struct cluster_commit *both;

	if (err != RD_KAFKA_RESP_ERR_NO_ERROR)
		return err;
	begin(t);
	/* What was sent before stays; of one partition the later counts. */
	both = cluster_allocate((t->offsets_n + n) * sizeof(*both));
	if (t->offsets_n > 0)
		memcpy(both, t->offset, t->offsets_n * sizeof(*both));
	memcpy(both + t->offsets_n, offset, n * sizeof(*both));
	for (size_t i = 0; i < n; i++)
		both[t->offsets_n + i].written = ++cluster->commits_written;
	t->offset = both;
	t->offsets_n += n;
	return RD_KAFKA_RESP_ERR_NO_ERROR;
}

rd_kafka_resp_err_t
cluster_txn_end(struct cluster_txn *t, int64_t producer, int16_t epoch, bool commit)
{
	rd_kafka_resp_err_t err = check(t, producer, epoch);

	if (err != RD_KAFKA_RESP_ERR_NO_ERROR)
		return err;
	if (t->state == CLUSTER_TXN_ONGOING) {
		end(t, commit);
		return RD_KAFKA_RESP_ERR_NO_ERROR;
	}
	/* A repeated request has the answer of the first. */
	if (t->ended_once && t->commit == commit)
		return RD_KAFKA_RESP_ERR_NO_ERROR;
	return RD_KAFKA_RESP_ERR_INVALID_TXN_STATE;
}

/* ---- what is forgotten ---- */

/* Of a producer, or of all (-1), unless a transaction of it is open. */
static void
forget_producers(struct cluster_partition *p, int64_t producer)
{
	struct cluster_producer **at = &p->producers;

	while (*at != NULL)
		if ((*at)->open_first < 0 && (producer < 0 || (*at)->producer == producer))
			*at = (*at)->next;
		else
			at = &(*at)->next;
}

static void
forget_everywhere(int64_t producer)
{
	for (size_t i = 0; i < cluster->topics_n; i++)
		for (int32_t p = 0; p < cluster->topic[i]->partitions; p++)
			forget_producers(&cluster->topic[i]->partition[p], producer);
}

bool
cluster_txn_expire(const char *id)
{
	for (size_t i = 0; i < cluster->txns_n; i++) {
		struct cluster_txn *t = cluster->txn[i];

		if (strcmp(t->id, id) != 0 || t->state != CLUSTER_TXN_EMPTY || t->epoch < 0)
			continue;
		forget_everywhere(t->producer);
		t->producer = cluster->producer_next++;
		t->epoch = -1;
		t->ended_once = false;
		return true;
	}
	return false;
}

void
cluster_expire(const char *id)
{
	cluster_txn_expire(id);
	forget_everywhere(-1);
}

/* ---- time ---- */

/* The marker carries the coordinator's epoch: what comes later with an older one is refused. */
static void
mark(const struct cluster_txn *t, struct cluster_partition *p)
{
	struct cluster_producer *s = cluster_producer_of(p, t->producer);
	struct cluster_record *marker;

	if (p->topic->deleted)
		return;
	for (int64_t i = s->open_first; i >= 0 && i < p->end; i++)
		if (p->record[i].producer == t->producer && p->record[i].fate == CLUSTER_OPEN)
			p->record[i].fate = t->commit ? CLUSTER_COMMITTED : CLUSTER_ABORTED;
	marker = cluster_append(p);
	*marker = (struct cluster_record){.fate = CLUSTER_MARKER,
	    .producer = t->producer,
	    .epoch = t->epoch,
	    .timestamp_ms = cluster->now_ms,
	    .commit = t->commit};
	if (t->epoch > s->epoch) {
		s->epoch = t->epoch;
		s->sequence_next = 0;
		s->batches = 0;
	}
	s->open_first = -1;
	chance_trace("marker: %s at %s [%d] offset %lld", t->commit ? "commit" : "abort",
	    p->topic->name, (int)p->number, (long long)p->end - 1);
}

static void
expire(struct cluster_txn *t)
{
	chance_note(CHANCE_EXPIRED, t->id);
	t->epoch++;
	end(t, false);
	t->expired = true;
}

void
cluster_txn_tick(struct cluster_txn *t)
{
	bool all = true;

	if (t->state == CLUSTER_TXN_ONGOING && cluster->now_ms >= t->expires_ms)
		expire(t);
	if (t->state != CLUSTER_TXN_ENDING)
		return;
	for (size_t i = 0; i < t->partitions_n; i++) {
		struct cluster_txn_partition *p = &t->partition[i];

		if (!p->marked && p->marker_ms <= cluster->now_ms) {
			mark(t, p->partition);
			p->marked = true;
		}
		all = all && p->marked;
	}
	if (!t->offsets_there && t->offsets_ms <= cluster->now_ms) {
		for (size_t i = 0; i < t->offsets_n; i++)
			cluster_commit_set(&t->offset[i]);
		t->offsets_there = true;
	}
	if (all && t->offsets_there)
		t->state = CLUSTER_TXN_EMPTY;
}

int64_t
cluster_txn_next_ms(const struct cluster_txn *t)
{
	int64_t next = INT64_MAX;

	if (t->state == CLUSTER_TXN_ONGOING)
		return t->expires_ms;
	if (t->state != CLUSTER_TXN_ENDING)
		return next;
	for (size_t i = 0; i < t->partitions_n; i++)
		if (!t->partition[i].marked && t->partition[i].marker_ms < next)
			next = t->partition[i].marker_ms;
	if (!t->offsets_there && t->offsets_ms < next)
		next = t->offsets_ms;
	return next;
}

/* ---- groups ---- */

struct cluster_commit *
cluster_commit(const char *group, const char *topic, int32_t partition)
{
	for (size_t i = 0; i < cluster->commits_n; i++) {
		struct cluster_commit *c = &cluster->commit[i];

		if (c->partition == partition && strcmp(c->group, group) == 0 &&
		    strcmp(c->topic, topic) == 0)
			return c;
	}
	return NULL;
}

void
cluster_commit_set(const struct cluster_commit *c)
{
	struct cluster_commit *to = cluster_commit(c->group, c->topic, c->partition);

	if (to != NULL && c->written != 0 && to->written > c->written)
		return;
	if (to == NULL && cluster->commits_n < CLUSTER_COMMITS_MAX)
		to = &cluster->commit[cluster->commits_n++];
	if (to == NULL)
		return;
	*to = *c;
	if (c->written == 0)
		to->written = ++cluster->commits_written;
}

void
cluster_commit_forget(const char *group, const char *topic, int32_t partition)
{
	size_t kept = 0;

	for (size_t i = 0; i < cluster->commits_n; i++) {
		const struct cluster_commit *c = &cluster->commit[i];

		if ((group == NULL || strcmp(c->group, group) == 0) &&
		    strcmp(c->topic, topic) == 0 && (partition < 0 || c->partition == partition))
			continue;
		cluster->commit[kept++] = *c;
	}
	cluster->commits_n = kept;
}

rd_kafka_resp_err_t
cluster_commit_check(const char *topic, int32_t partition, size_t metadata_n)
{
	if (cluster_partition(topic, partition) == NULL)
		return RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
	return metadata_n > METADATA_MAX ? RD_KAFKA_RESP_ERR_OFFSET_METADATA_TOO_LARGE
					 : RD_KAFKA_RESP_ERR_NO_ERROR;
}
