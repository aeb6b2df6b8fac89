#include "consumer/derive/lane_record.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
	HEAD_BYTES = 512,    /* room for a head; more is made where it is not enough */
	SEQUENCE_BYTES = 48, /* a sequence's place, before its payload */
};

struct batch_head
lane_record_head(const struct lane_mix *mix, const struct mixer *m, uint64_t step, bool last)
{
	const char *phase = mixer_phase_name(m);

	assert(mix->lanes > 0);
	assert(mixer_global_batch(m) % mix->lanes == 0);
	return (struct batch_head){
	    .mix = {mix->name, strlen(mix->name)},
	    .schedule = mix->schedule,
	    .step = step,
	    .lanes = mix->lanes,
	    .global_batch = mixer_global_batch(m),
	    .version = mixer_version(m),
	    .phase = {phase, strlen(phase)},
	    .lr_scale = mixer_lr_scale(m),
	    .lead = mix->lead,
	    .tokenizer = mix->tokenizer,
	    .last = last,
	};
}

static int
by_index(const void *a, const void *b)
{
	const struct batch_domain *x = a, *y = b;

	return (x->index > y->index) - (x->index < y->index);
}

/* The distinct domains of the draws, ascending; returns how many. */
static size_t
collect_domains(
    struct batch_domain *out, const struct mixer *m, const struct mixer_draw *draw, size_t n)
{
	size_t distinct = 0;

	for (size_t i = 0; i < n; i++) {
		const char *name = mixer_domain_name(m, draw[i].domain);

		out[i].index = draw[i].domain;
		out[i].name = (struct text_view){name, strlen(name)};
	}
	qsort(out, n, sizeof(*out), by_index);
	for (size_t i = 0; i < n; i++)
		if (i == 0 || out[i].index != out[distinct - 1].index)
			out[distinct++] = out[i];
	return distinct;
}

enum fail_code
lane_record_encode(uint8_t **bytes, size_t *size_bytes, const struct batch_head *head,
    const struct mixer *m, const struct mixer_draw *draw,
    const struct feed_block_record *const *record, size_t n, struct failure *f)
{
	struct batch_domain *domain = calloc(n + 1, sizeof(*domain));
	struct wire_writer w = {0};
	size_t room = HEAD_BYTES, distinct;

	if (domain == NULL)
		return fail_memory(f);
	assert(head->lane < head->lanes);
	assert(n == 0 || !head->last);
	distinct = collect_domains(domain, m, draw, n);
	for (size_t i = 0; i < n; i++)
		room += record[i]->n + SEQUENCE_BYTES;
	wire_reserve(&w, room);
	if (batch_begin(&w, head, domain, distinct, n, f) != FAIL_NONE)
		goto failed;
	for (size_t i = 0; i < n; i++) {
		struct batch_drawn drawn = {
		    .domain = draw[i].domain,
		    .partition = draw[i].partition,
		    .ordinal = draw[i].ordinal,
		    .epoch = draw[i].epoch,
		};

		if (batch_add(&w, &drawn, record[i]->payload, record[i]->n, f) != FAIL_NONE)
			goto failed;
	}
	if (batch_end(&w, f) != FAIL_NONE ||
	    wire_writer_take(&w, bytes, size_bytes, f) != FAIL_NONE)
		goto failed;
	free(domain);
	return FAIL_NONE;
failed:
	wire_writer_close(&w);
	free(domain);
	return f->code;
}
