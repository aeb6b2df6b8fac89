#include "consumer/reader/reader_metrics.h"

#include <assert.h>

#include "common/metrics/metrics.h"

static void
add(atomic_uint_least64_t *to, uint64_t n)
{
	atomic_fetch_add_explicit(to, n, memory_order_relaxed);
}

static int64_t
get(const atomic_uint_least64_t *from)
{
	return (int64_t)atomic_load_explicit(from, memory_order_relaxed);
}

void
reader_metrics_given(struct reader_metrics *m, const struct riffle_step *s)
{
	uint64_t tokens = 0;

	for (size_t i = 0; i < s->sequences; i++)
		tokens += s->sequence[i].used - 1;
	add(&m->steps, 1);
	add(&m->sequences, s->sequences);
	add(&m->tokens, tokens);
}

void
reader_metrics_waited(struct reader_metrics *m, int64_t ms)
{
	assert(ms >= 0);
	atomic_fetch_add_explicit(&m->wait_ms, ms, memory_order_relaxed);
}

void
reader_metrics_at(struct reader_metrics *m, uint64_t position, uint64_t committed)
{
	atomic_store_explicit(&m->position, position, memory_order_relaxed);
	atomic_store_explicit(&m->committed, committed, memory_order_relaxed);
}

char *
reader_metrics_text(
    const struct reader_metrics *m, const char *mix, const char *run, uint64_t queue)
{
	const struct kafka_stats *stats = &m->stats;
	int64_t wait_ms = atomic_load_explicit(&m->wait_ms, memory_order_relaxed);
	struct metrics_text t = {0};

	metrics_count(&t, METRICS_READER_STEP, get(&m->position), mix, run);
	metrics_count(&t, METRICS_READER_COMMITTED, get(&m->committed), mix, run);
	metrics_count(&t, METRICS_READER_STEPS, get(&m->steps), mix, run);
	metrics_count(&t, METRICS_READER_SEQUENCES, get(&m->sequences), mix, run);
	metrics_count(&t, METRICS_READER_TOKENS, get(&m->tokens), mix, run);
	metrics_number(&t, METRICS_READER_WAIT, (double)wait_ms / 1000, mix, run);
	metrics_count(&t, METRICS_READER_QUEUE, (int64_t)queue, mix, run);
	if (atomic_load_explicit(&stats->received_bytes, memory_order_relaxed) > 0)
		kafka_stats_text(&t, &stats, 1, mix, run);
	return metrics_take(&t);
}
