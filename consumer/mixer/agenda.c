#include "consumer/mixer/agenda.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- one change ---- */

void
agenda_change_close(struct ledger_change *c)
{
	for (size_t i = 0; i < c->weights_n; i++)
		free(c->weight[i].domain);
	free(c->weight);
	free(c->id);
	free(c->domain);
	free(c->who);
	*c = (struct ledger_change){0};
}

static char *
copy_text(const char *text)
{
	return strdup(text == NULL ? "" : text);
}

/* Copies weights into room for n of them; *copied counts those that are whole. */
static bool
copy_weights(
    struct ledger_raw_weight *to, const struct ledger_raw_weight *from, size_t n, size_t *copied)
{
	for (*copied = 0; *copied < n; ++*copied) {
		to[*copied].weight = from[*copied].weight;
		to[*copied].domain = copy_text(from[*copied].domain);
		if (to[*copied].domain == NULL)
			return false;
	}
	return true;
}

enum fail_code
agenda_change_copy(struct ledger_change *to, const struct ledger_change *from, struct failure *f)
{
	struct ledger_change c = *from;

	c.weights_n = 0;
	c.weight = calloc(from->weights_n + 1, sizeof(*c.weight));
	c.id = copy_text(from->id);
	c.domain = copy_text(from->domain);
	c.who = copy_text(from->who);
	if (c.weight == NULL || c.id == NULL || c.domain == NULL || c.who == NULL ||
	    !copy_weights(c.weight, from->weight, from->weights_n, &c.weights_n)) {
		agenda_change_close(&c);
		return fail_memory(f);
	}
	*to = c;
	return FAIL_NONE;
}

/* ---- phases ---- */

static void
close_phases(struct agenda *a)
{
	for (size_t i = 0; i < a->phases_n; i++) {
		for (size_t k = 0; k < a->phase[i].weights_n; k++)
			free(a->phase[i].weight[k].domain);
		free(a->phase[i].weight);
	}
	free(a->phase);
	a->phase = NULL;
	a->phases_n = 0;
}

enum fail_code
agenda_set_phases(struct agenda *a, const struct mixer_phase *phase, size_t phases_n,
    double temperature, struct failure *f)
{
	close_phases(a);
	a->phase = calloc(phases_n + 1, sizeof(*a->phase));
	if (a->phase == NULL)
		return fail_memory(f);
	for (size_t i = 0; i < phases_n; i++) {
		struct agenda_phase *to = &a->phase[a->phases_n++];

		assert(strlen(phase[i].name) <= NAME_MAX_BYTES);
		assert(i == 0 || phase[i - 1].start_step < phase[i].start_step);
		memcpy(to->name, phase[i].name, strlen(phase[i].name) + 1);
		to->start_step = phase[i].start_step;
		to->temperature = phase[i].temperature == 0 ? temperature : phase[i].temperature;
		to->lr_scale = phase[i].lr_scale == 0 ? 1 : phase[i].lr_scale;
		to->global_batch = phase[i].global_batch;
		to->weight = calloc(phase[i].weights_n + 1, sizeof(*to->weight));
		if (to->weight == NULL ||
		    !copy_weights(to->weight, phase[i].weight, phase[i].weights_n, &to->weights_n))
			return fail_memory(f);
	}
	return FAIL_NONE;
}

size_t
agenda_phase_from(const struct agenda *a, uint64_t step)
{
	size_t low = 0, high = a->phases_n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (a->phase[middle].start_step < step)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct agenda_phase *
agenda_phase_at(const struct agenda *a, uint64_t step)
{
	size_t i = agenda_phase_from(a, step);

	return i < a->phases_n && a->phase[i].start_step == step ? &a->phase[i] : NULL;
}

uint32_t
agenda_batch_most(const struct agenda *a)
{
	uint32_t most = 0;

	for (size_t i = 0; i < a->phases_n; i++)
		most = a->phase[i].global_batch > most ? a->phase[i].global_batch : most;
	for (size_t i = a->done; i < a->pending_n; i++)
		most = a->pending[i].global_batch > most ? a->pending[i].global_batch : most;
	return most;
}

/* ---- the agenda ---- */

void
agenda_close(struct agenda *a)
{
	close_phases(a);
	for (size_t i = 0; i < a->pending_n; i++)
		agenda_change_close(&a->pending[i]);
	free(a->pending);
	*a = (struct agenda){0};
}

enum fail_code
agenda_copy(struct agenda *to, const struct agenda *from, struct failure *f)
{
	struct mixer_phase *phase = calloc(from->phases_n + 1, sizeof(*phase));
	enum fail_code code;

	assert(to->phases_n == 0 && to->pending_n == 0);
	if (phase == NULL)
		return fail_memory(f);
	for (size_t i = 0; i < from->phases_n; i++)
		phase[i] = (struct mixer_phase){
		    .name = from->phase[i].name,
		    .start_step = from->phase[i].start_step,
		    .weight = from->phase[i].weight,
		    .weights_n = from->phase[i].weights_n,
		    .global_batch = from->phase[i].global_batch,
		    .temperature = from->phase[i].temperature,
		    .lr_scale = from->phase[i].lr_scale,
		};
	code = agenda_set_phases(to, phase, from->phases_n, 1, f);
	free(phase);
	if (code != FAIL_NONE)
		return code;
	to->pending = calloc(from->pending_n + 1, sizeof(*to->pending));
	if (to->pending == NULL)
		return fail_memory(f);
	for (; to->pending_n < from->pending_n; to->pending_n++)
		if (agenda_change_copy(
			&to->pending[to->pending_n], &from->pending[to->pending_n], f) != FAIL_NONE)
			return f->code;
	to->done = from->done;
	to->done_kept = from->done_kept;
	return FAIL_NONE;
}

size_t
agenda_waiting(const struct agenda *a)
{
	return a->pending_n - a->done;
}

enum fail_code
agenda_insert(struct agenda *a, const struct ledger_change *c, struct failure *f)
{
	struct ledger_change *grown, copy;
	size_t at = a->pending_n;

	grown = realloc(a->pending, (a->pending_n + 1) * sizeof(*grown));
	if (grown == NULL)
		return fail_memory(f);
	a->pending = grown;
	if (agenda_change_copy(&copy, c, f) != FAIL_NONE)
		return f->code;
	while (at > a->done && grown[at - 1].step > c->step)
		at--;
	memmove(grown + at + 1, grown + at, (a->pending_n - at) * sizeof(*grown));
	grown[at] = copy;
	a->pending_n++;
	return FAIL_NONE;
}

const struct ledger_change *
agenda_find(const struct agenda *a, const char *id)
{
	for (size_t i = a->done; i < a->pending_n; i++)
		if (strcmp(a->pending[i].id, id) == 0)
			return &a->pending[i];
	return NULL;
}

void
agenda_remove(struct agenda *a, const struct ledger_change *c)
{
	size_t i = (size_t)(c - a->pending);

	assert(i >= a->done);
	assert(i < a->pending_n);
	agenda_change_close(&a->pending[i]);
	a->pending_n--;
	memmove(a->pending + i, a->pending + i + 1, (a->pending_n - i) * sizeof(*a->pending));
}

const struct ledger_change *
agenda_due(const struct agenda *a, uint64_t step)
{
	assert(a->done <= a->pending_n);
	if (a->done == a->pending_n || (uint64_t)a->pending[a->done].step > step)
		return NULL;
	return &a->pending[a->done];
}

void
agenda_count_done(struct agenda *a)
{
	assert(a->done < a->pending_n);
	a->done++;
}

void
agenda_keep(struct agenda *a)
{
	a->done_kept = a->done;
}

void
agenda_undo(struct agenda *a)
{
	assert(a->done_kept <= a->done);
	a->done = a->done_kept;
}

void
agenda_forget_done(struct agenda *a)
{
	if (a->done == 0)
		return;
	for (size_t i = 0; i < a->done; i++)
		agenda_change_close(&a->pending[i]);
	a->pending_n -= a->done;
	memmove(a->pending, a->pending + a->done, a->pending_n * sizeof(*a->pending));
	a->done = a->done_kept = 0;
}
