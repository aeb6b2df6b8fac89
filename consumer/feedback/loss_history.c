#include "consumer/feedback/loss_history.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum fail_code
loss_history_open(struct loss_history *h, size_t domains_n, struct failure *f)
{
	*h = (struct loss_history){.domains_n = domains_n};
	h->domain = calloc((domains_n + 1) * LOSS_HISTORY_POINTS, sizeof(*h->domain));
	return h->domain == NULL ? fail_memory(f) : FAIL_NONE;
}

void
loss_history_close(struct loss_history *h)
{
	free(h->domain);
	*h = (struct loss_history){0};
}

/* Moves `n` points from `from` to `to`. */
static void
move(struct loss_history *h, size_t to, size_t from, size_t n)
{
	assert(to + n <= LOSS_HISTORY_POINTS);
	memmove(h->step + to, h->step + from, n * sizeof(*h->step));
	memmove(h->all + to, h->all + from, n * sizeof(*h->all));
	memmove(h->domain + to * h->domains_n, h->domain + from * h->domains_n,
	    n * h->domains_n * sizeof(*h->domain));
}

/* Makes room: the first point and the last stay, and between them those a spacing apart. */
static void
thin(struct loss_history *h)
{
	size_t kept = 1;

	assert(h->n == LOSS_HISTORY_POINTS);
	h->spacing = (h->step[h->n - 1] - h->step[0]) / (LOSS_HISTORY_POINTS / 2 - 1) + 1;
	for (size_t i = 1; i < h->n; i++) {
		if (i < h->n - 1 && h->step[i] - h->step[kept - 1] < h->spacing)
			continue;
		if (kept < i)
			move(h, kept, i, 1);
		kept++;
	}
	h->n = kept;
	assert(h->n <= LOSS_HISTORY_POINTS / 2 + 1);
}

static void
set(struct loss_history *h, size_t at, int64_t step, const struct losses_means *all,
    const struct losses_means *domain)
{
	h->step[at] = step;
	h->all[at] = all->loss;
	for (size_t d = 0; d < h->domains_n; d++)
		h->domain[at * h->domains_n + d] =
		    domain[d].tokens > 0 ? (float)domain[d].loss : NAN;
}

bool
loss_history_add(struct loss_history *h, int64_t step, const struct losses_means *all,
    const struct losses_means *domain)
{
	size_t at = h->n;

	assert(h->domain != NULL);
	while (at > 0 && h->step[at - 1] >= step)
		at--;
	if (at < h->n && h->step[at] == step)
		return false;
	if (at == h->n && at >= 2 && h->step[at - 1] - h->step[at - 2] < h->spacing) {
		set(h, at - 1, step, all, domain); /* the newest moves along */
		return true;
	}
	if (at < h->n &&
	    (h->step[at] - step < h->spacing || (at > 0 && step - h->step[at - 1] < h->spacing)))
		return false;
	if (h->n == LOSS_HISTORY_POINTS) {
		thin(h);
		return loss_history_add(h, step, all, domain);
	}
	move(h, at + 1, at, h->n - at);
	set(h, at, step, all, domain);
	h->n++;
	return true;
}
