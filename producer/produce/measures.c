#include "producer/produce/measures.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/names.h"
#include "common/metrics/metrics.h"
#include "producer/produce/rejects.h"

enum {
	STATS_MAX = 64, /* handles whose figures are put together: those of the newest parts */
	LABEL_BYTES = NAME_MAX_BYTES + 16,
};

struct row { /* of a domain */
	atomic_bool used;
	atomic_uint_least64_t documents, tokens, sequences, bytes;
};

struct input { /* that domains may share: the first one in the configuration, and how many */
	size_t domain, domains_n;
	uint64_t bytes;
	struct rejects rejects;
};

struct measures {
	const struct config *config;
	struct row *row;      /* [domains_n of the configuration] */
	pthread_mutex_t lock; /* of all below */
	struct measures_part *running;
	struct input *input; /* [inputs_n] */
	size_t inputs_n;
};

enum fail_code
measures_open(struct measures **out, const struct config *c, struct failure *f)
{
	struct measures *m = calloc(1, sizeof(*m));

	*out = NULL;
	if (m == NULL)
		return fail_memory(f);
	m->config = c;
	pthread_mutex_init(&m->lock, NULL);
	m->row = calloc(c->domains_n + 1, sizeof(*m->row));
	if (m->row == NULL) {
		measures_close(m);
		return fail_memory(f);
	}
	*out = m;
	return FAIL_NONE;
}

void
measures_close(struct measures *m)
{
	if (m == NULL)
		return;
	assert(m->running == NULL);
	free(m->input);
	free(m->row);
	pthread_mutex_destroy(&m->lock);
	free(m);
}

/* ---- parts ---- */

void
measures_begin(struct measures_part *p, struct measures *all, const size_t *domain,
    const bool *wanted, size_t n)
{
	*p = (struct measures_part){
	    .all = all, .domain = domain, .domains_n = n, .stats = {.interval_ms = KAFKA_STATS_MS}};
	if (all == NULL)
		return;
	for (size_t i = 0; i < n; i++)
		if (wanted[i])
			atomic_store(&all->row[domain[i]].used, true);
	pthread_mutex_lock(&all->lock);
	p->next = all->running;
	all->running = p;
	pthread_mutex_unlock(&all->lock);
}

void
measures_end(struct measures_part *p)
{
	struct measures_part **at;

	if (p->all == NULL)
		return;
	pthread_mutex_lock(&p->all->lock);
	for (at = &p->all->running; *at != p; at = &(*at)->next)
		assert(*at != NULL);
	*at = p->next;
	pthread_mutex_unlock(&p->all->lock);
	p->all = NULL;
}

struct kafka_stats *
measures_stats(struct measures_part *p)
{
	return p->all == NULL ? NULL : &p->stats;
}

/* ---- counting ---- */

static void
add(atomic_uint_least64_t *to, uint64_t n)
{
	atomic_fetch_add_explicit(to, n, memory_order_relaxed);
}

void
measures_document(struct measures_part *p, size_t domain)
{
	if (p->all == NULL)
		return;
	assert(domain < p->all->config->domains_n);
	add(&p->all->row[domain].documents, 1);
}

void
measures_sequence(struct measures_part *p, size_t domain, uint64_t tokens, uint64_t bytes)
{
	struct row *r;

	if (p->all == NULL)
		return;
	assert(domain < p->all->config->domains_n);
	r = &p->all->row[domain];
	add(&r->sequences, 1);
	add(&r->tokens, tokens);
	add(&r->bytes, bytes);
}

/* Lock is held. NULL: no memory for another one, and then it is not counted. */
static struct input *
input_of(struct measures_part *p)
{
	struct measures *m = p->all;
	struct input *grown;

	assert(p->domains_n >= 1);
	for (size_t i = 0; i < m->inputs_n; i++)
		if (m->input[i].domain == p->domain[0] && m->input[i].domains_n == p->domains_n)
			return &m->input[i];
	grown = realloc(m->input, (m->inputs_n + 1) * sizeof(*grown));
	if (grown == NULL)
		return NULL;
	m->input = grown;
	grown[m->inputs_n] = (struct input){.domain = p->domain[0], .domains_n = p->domains_n};
	return &grown[m->inputs_n++];
}

void
measures_input(struct measures_part *p, uint64_t bytes)
{
	struct input *in;

	if (p->all == NULL)
		return;
	pthread_mutex_lock(&p->all->lock);
	in = input_of(p);
	if (in != NULL)
		in->bytes += bytes;
	pthread_mutex_unlock(&p->all->lock);
}

void
measures_reject(struct measures_part *p, const char *reason)
{
	struct input *in;

	if (p->all == NULL)
		return;
	pthread_mutex_lock(&p->all->lock);
	in = input_of(p);
	if (in != NULL)
		rejects_add(&in->rejects, reason);
	pthread_mutex_unlock(&p->all->lock);
}

/* ---- the text ---- */

static int64_t
get(const atomic_uint_least64_t *from)
{
	return (int64_t)atomic_load_explicit(from, memory_order_relaxed);
}

static void
add_rows(const struct measures *m, struct metrics_text *t)
{
	static const struct {
		enum metrics_id id;
		size_t at;
	} column[] = {
	    {METRICS_PRODUCER_DOCUMENTS, offsetof(struct row, documents)},
	    {METRICS_PRODUCER_TOKENS, offsetof(struct row, tokens)},
	    {METRICS_PRODUCER_SEQUENCES, offsetof(struct row, sequences)},
	    {METRICS_PRODUCER_BYTES, offsetof(struct row, bytes)},
	};

	for (size_t k = 0; k < sizeof(column) / sizeof(column[0]); k++)
		for (size_t i = 0; i < m->config->domains_n; i++)
			if (atomic_load(&m->row[i].used))
				metrics_count(t, column[k].id,
				    get((const void *)((const char *)&m->row[i] + column[k].at)),
				    m->config->domains[i].name, NULL);
}

/* "code", or "code+199" of 200 domains. */
static const char *
label_of(const struct measures *m, const struct input *in, char out[static LABEL_BYTES])
{
	const char *first = m->config->domains[in->domain].name;

	if (in->domains_n == 1)
		snprintf(out, LABEL_BYTES, "%s", first);
	else
		snprintf(out, LABEL_BYTES, "%s+%zu", first, in->domains_n - 1);
	return out;
}

static void
add_inputs(const struct measures *m, struct metrics_text *t)
{
	char label[LABEL_BYTES];

	for (size_t i = 0; i < m->inputs_n; i++)
		metrics_count(t, METRICS_PRODUCER_INPUT, (int64_t)m->input[i].bytes,
		    label_of(m, &m->input[i], label), NULL);
	for (size_t i = 0; i < m->inputs_n; i++) {
		const struct rejects *r = &m->input[i].rejects;

		label_of(m, &m->input[i], label);
		for (uint32_t k = 0; k < r->kinds_n; k++)
			metrics_count(t, METRICS_PRODUCER_REJECTS, (int64_t)r->kind[k].count, label,
			    r->kind[k].reason);
		if (r->others > 0)
			metrics_count(
			    t, METRICS_PRODUCER_REJECTS, (int64_t)r->others, label, "other");
	}
}

char *
measures_text(struct measures *m)
{
	const struct kafka_stats *stats[STATS_MAX];
	struct metrics_text t = {0};
	size_t n = 0, running = 0;

	pthread_mutex_lock(&m->lock);
	for (const struct measures_part *p = m->running; p != NULL; p = p->next) {
		running++;
		if (n < STATS_MAX)
			stats[n++] = &p->stats;
	}
	metrics_count(&t, METRICS_PRODUCER_PARTS, (int64_t)running, NULL, NULL);
	add_rows(m, &t);
	add_inputs(m, &t);
	kafka_stats_text(&t, stats, n, NULL, NULL);
	pthread_mutex_unlock(&m->lock);
	return metrics_take(&t);
}
