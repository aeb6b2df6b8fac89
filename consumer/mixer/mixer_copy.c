/* An independent mixer in the same state. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "consumer/mixer/mixer_state.h"

/* A copy of `size` bytes; NULL also where there are none to copy. */
static void *
copy_of(const void *from, size_t size)
{
	void *to = size == 0 ? NULL : malloc(size);

	if (to != NULL)
		memcpy(to, from, size);
	return to;
}

static enum fail_code
copy_domain(struct mixer *copy, const struct domain *from, struct failure *f)
{
	struct domain *to = &copy->domain[copy->domains_n];
	size_t n = from->partitions_n;

	*to = *from;
	to->order = to->order_next = NULL;
	to->window_order = NULL;
	to->sequences = copy_of(from->sequences, n * sizeof(*from->sequences));
	to->sequences_next = copy_of(from->sequences_next, n * sizeof(*from->sequences_next));
	to->sealed = copy_of(from->sealed, n * sizeof(*from->sealed));
	copy->domains_n++; /* from here on mixer_close() frees it */
	if (to->sequences == NULL || to->sequences_next == NULL || to->sealed == NULL)
		return fail_memory(f);
	return mixer_reorder(copy, to, f);
}

static enum fail_code
copy_progress(struct mixer *copy, const struct mixer *m, struct failure *f)
{
	size_t cursors = m->domains_n * sizeof(*m->now.cursor);
	size_t taken = m->partitions_n * sizeof(*m->now.taken_in_epoch);

	copy->now.cursor = copy_of(m->now.cursor, cursors);
	copy->now.taken_in_epoch = copy_of(m->now.taken_in_epoch, taken);
	copy->before.cursor = copy_of(m->now.cursor, cursors);
	copy->before.taken_in_epoch = copy_of(m->now.taken_in_epoch, taken);
	copy->dry = calloc(m->domains_n, sizeof(*copy->dry));
	if (copy->now.cursor == NULL || copy->now.taken_in_epoch == NULL ||
	    copy->before.cursor == NULL || copy->before.taken_in_epoch == NULL || copy->dry == NULL)
		return fail_memory(f);
	return FAIL_NONE;
}

/* Phases as a plan has them, for mixer_copy_phases(). */
static enum fail_code
copy_phases(struct mixer *copy, const struct mixer *m, struct failure *f)
{
	struct mixer_phase *phase = calloc(m->phases_n + 1, sizeof(*phase));
	enum fail_code code;

	if (phase == NULL)
		return fail_memory(f);
	for (size_t i = 0; i < m->phases_n; i++)
		phase[i] = (struct mixer_phase){
		    .name = m->phase[i].name,
		    .start_step = m->phase[i].start_step,
		    .weight = m->phase[i].weight,
		    .weights_n = m->phase[i].weights_n,
		    .temperature = m->phase[i].temperature,
		    .lr_scale = m->phase[i].lr_scale,
		};
	code = mixer_copy_phases(copy, phase, m->phases_n, f);
	free(phase);
	return code;
}

static enum fail_code
copy_lists(struct mixer *copy, const struct mixer *m, struct failure *f)
{
	copy->quarantined = calloc(m->quarantined_n + 1, sizeof(*copy->quarantined));
	copy->pending = calloc(m->pending_n + 1, sizeof(*copy->pending));
	copy->skip = calloc(m->skips_n + 1, sizeof(*copy->skip));
	copy->request_id = calloc(m->request_ids_n + 1, sizeof(*copy->request_id));
	if (copy->quarantined == NULL || copy->pending == NULL || copy->skip == NULL ||
	    copy->request_id == NULL)
		return fail_memory(f);
	for (; copy->skips_n < m->skips_n; copy->skips_n++)
		copy->skip[copy->skips_n] = m->skip[copy->skips_n];
	for (; copy->pending_n < m->pending_n; copy->pending_n++)
		if (mixer_change_copy(&copy->pending[copy->pending_n], &m->pending[copy->pending_n],
			f) != FAIL_NONE)
			return f->code;
	for (; copy->quarantined_n < m->quarantined_n; copy->quarantined_n++) {
		struct ledger_quarantined *q = &copy->quarantined[copy->quarantined_n];

		*q = m->quarantined[copy->quarantined_n];
		q->reason = strdup(q->reason);
		if (q->reason == NULL)
			return fail_memory(f);
	}
	for (; copy->request_ids_n < m->request_ids_n; copy->request_ids_n++) {
		char **id = &copy->request_id[copy->request_ids_n];

		*id = strdup(m->request_id[copy->request_ids_n]);
		if (*id == NULL)
			return fail_memory(f);
	}
	return mixer_exclude_copy(&copy->excluded, &m->excluded, f);
}

/* Takes over what is plain data; all that is owned is empty, as mixer_close() may see it. */
static void
copy_plain(struct mixer *copy, const struct mixer *m)
{
	*copy = *m;
	copy->phase = NULL;
	copy->phases_n = 0;
	copy->domain = NULL;
	copy->domains_n = 0;
	copy->now.cursor = copy->before.cursor = NULL;
	copy->now.taken_in_epoch = copy->before.taken_in_epoch = NULL;
	copy->undoable = false;
	copy->tokens = NULL;
	copy->tokens_opaque = NULL;
	copy->pending = NULL;
	copy->skip = NULL;
	copy->quarantined = NULL;
	copy->excluded = (struct exclusions){0};
	copy->request_id = NULL;
	copy->pending_n = copy->skips_n = copy->quarantined_n = copy->request_ids_n = 0;
	copy->dry = NULL;
}

enum fail_code
mixer_copy(struct mixer **out, const struct mixer *m, struct failure *f)
{
	struct mixer *copy = malloc(sizeof(*copy));

	if (copy == NULL)
		return fail_memory(f);
	copy_plain(copy, m);
	copy->domain = calloc(m->domains_n, sizeof(*copy->domain));
	if (copy->domain == NULL) {
		fail_memory(f);
		goto failed;
	}
	for (size_t i = 0; i < m->domains_n; i++)
		if (copy_domain(copy, &m->domain[i], f) != FAIL_NONE)
			goto failed;
	if (copy_progress(copy, m, f) != FAIL_NONE || copy_phases(copy, m, f) != FAIL_NONE ||
	    copy_lists(copy, m, f) != FAIL_NONE)
		goto failed;
	*out = copy;
	return FAIL_NONE;
failed:
	mixer_close(copy);
	return f->code;
}
