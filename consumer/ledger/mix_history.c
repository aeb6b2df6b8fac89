#include "consumer/ledger/mix_history.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "consumer/ledger/weight_history.h"

/* ---- memory ---- */

static size_t
points_for(size_t domains, size_t most)
{
	size_t bytes = (size_t)MIX_HISTORY_BYTES / MIX_HISTORY_POINTS_MAX * most;
	size_t n = bytes / sizeof(struct mix_history_value) / (domains + 1);

	return n > most ? most : n < MIX_HISTORY_POINTS_MIN ? MIX_HISTORY_POINTS_MIN : n;
}

static enum fail_code
open_points(struct mix_history *h, size_t domains_n, size_t most, struct failure *f)
{
	assert(h->point == NULL);
	h->domains_room = domains_n + 1;
	h->points_most = most;
	h->points_max = points_for(h->domains_room, most);
	h->point = calloc(h->points_max, sizeof(*h->point));
	h->value = calloc(h->points_max * h->domains_room, sizeof(*h->value));
	h->name = calloc(h->domains_room, sizeof(*h->name));
	if (h->point != NULL && h->value != NULL && h->name != NULL)
		return FAIL_NONE;
	mix_history_close(h);
	return fail_memory(f);
}

enum fail_code
mix_history_open(struct mix_history *h, size_t domains_n, struct failure *f)
{
	h->from = 0;
	h->to = INT64_MAX;
	h->fine = MIX_HISTORY_FINE;
	return open_points(h, domains_n, MIX_HISTORY_POINTS_MAX, f);
}

static void
forget_names(struct mix_history *h)
{
	for (size_t i = 0; i < h->domains_n; i++)
		free(h->name[i]);
	h->domains_n = 0;
}

void
mix_history_close(struct mix_history *h)
{
	forget_names(h);
	free(h->name);
	free(h->value);
	free(h->point);
	*h = (struct mix_history){0};
}

void
mix_history_clear(struct mix_history *h)
{
	forget_names(h); /* another ledger may have other domains, or in another order */
	h->n = 0;
	h->spacing = 0;
	h->generation++;
}

static struct mix_history_value *
values(const struct mix_history *h, size_t point)
{
	assert(point < h->points_max);
	return h->value + point * h->domains_room;
}

const struct mix_history_value *
mix_history_values(const struct mix_history *h, size_t point)
{
	return values(h, point);
}

/* ---- fewer points ---- */

static void
move(struct mix_history *h, size_t to, size_t from)
{
	if (to == from)
		return;
	h->point[to] = h->point[from];
	memcpy(values(h, to), values(h, from), h->domains_room * sizeof(*h->value));
}

/*
 * Leaves at most `most` + 2: the first point, the last, and of those between what is a spacing from
 * the one before. A point that is left has looks behind it that were between others: its gap is as
 * wide as they say.
 */
static void
thin(struct mix_history *h, size_t most)
{
	int64_t whole = h->point[h->n - 1].step - h->point[0].step;
	size_t kept = 0;

	assert(most >= 2);
	h->spacing = (whole + (int64_t)most - 1) / (int64_t)most;
	for (size_t i = 0; i < h->n; i++) {
		bool last = i == h->n - 1;

		if (i > 0 && !last && h->point[i].step - h->point[kept - 1].step < h->spacing)
			continue;
		move(h, kept, i);
		if (kept < i) /* points between are gone: they can be looked for no more */
			h->point[kept].empty_from =
			    kept == 0 ? h->point[kept].offset : h->point[kept - 1].offset + 1;
		kept++;
	}
	h->n = kept;
}

/* Room for the values of more domains: as many fewer points as it takes. */
static enum fail_code
widen(struct mix_history *h, size_t domains, struct failure *f)
{
	struct mix_history wider = {.from = h->from, .to = h->to, .fine = h->fine};

	if (open_points(&wider, domains + domains / 4, h->points_most, f) != FAIL_NONE)
		return f->code;
	if (h->n > wider.points_max / 2)
		thin(h, wider.points_max / 2);
	for (size_t i = 0; i < h->n; i++) {
		wider.point[i] = h->point[i];
		memcpy(values(&wider, i), values(h, i), h->domains_room * sizeof(*h->value));
	}
	memcpy(wider.name, h->name, h->domains_n * sizeof(*h->name));
	wider.n = h->n;
	wider.domains_n = h->domains_n;
	wider.spacing = h->spacing;
	wider.generation = h->generation;
	h->domains_n = 0; /* their names are the wider one's */
	mix_history_close(h);
	*h = wider;
	return FAIL_NONE;
}

static enum fail_code
add_names(struct mix_history *h, const struct ledger *l, struct failure *f)
{
	if (l->domains_n >= h->domains_room && widen(h, l->domains_n, f) != FAIL_NONE)
		return f->code;
	for (; h->domains_n < l->domains_n; h->domains_n++) {
		const char *name = l->domain[h->domains_n].name;

		h->name[h->domains_n] = strdup(name == NULL ? "" : name);
		if (h->name[h->domains_n] == NULL)
			return fail_memory(f);
	}
	return FAIL_NONE;
}

/* ---- a point ---- */

static void
fill(struct mix_history *h, size_t at, const struct ledger *l, int64_t offset, int64_t time_ms,
    uint64_t unit, bool aims)
{
	struct mix_history_value *v = values(h, at);
	struct weight_history_scale scale;

	weight_history_scale(&scale, l);
	memset(v, 0, h->domains_room * sizeof(*v));
	for (size_t i = 0; i < l->domains_n; i++) {
		const struct ledger_domain *d = &l->domain[i];

		v[i].taken = d->taken;
		v[i].tokens = d->tokens - d->taken; /* targets: one fewer than tokens */
		v[i].intended = (float)weight_history_scaled_share(&scale, l, i);
		v[i].deviation = aims && l->draws > 0
				     ? (float)-weight_history_scaled_behind(&scale, l, i, unit)
				     : NAN;
	}
	h->point[at] = (struct mix_history_point){.offset = offset,
	    .step = l->step_next,
	    .time_ms = time_ms,
	    .draws = l->draws,
	    .version = l->version,
	    .empty_from = offset,
	    .domains_n = l->domains_n};
}

/* The first point at or behind an offset. */
static size_t
find(const struct mix_history *h, int64_t offset)
{
	size_t low = 0, high = h->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (h->point[middle].offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void
open_place(struct mix_history *h, size_t at)
{
	size_t behind = h->n - at;

	assert(h->n < h->points_max);
	memmove(&h->point[at + 1], &h->point[at], behind * sizeof(*h->point));
	memmove(values(h, at) + h->domains_room, values(h, at),
	    behind * h->domains_room * sizeof(*h->value));
	h->n++;
}

static int64_t
smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/*
 * Whether a record takes the place of the point before it: of records at one step (an answer, a
 * START) the last one counts, and the newest point is left out while it is near the one before.
 */
static bool
moves_along(const struct mix_history *h, size_t at, int64_t step)
{
	if (at == 0)
		return false;
	return h->point[at - 1].step == step ||
	       (at == h->n && at >= 2 &&
		   h->point[at - 1].step - h->point[at - 2].step < h->spacing);
}

enum fail_code
mix_history_add(struct mix_history *h, const struct ledger *l, int64_t offset, int64_t time_ms,
    uint64_t unit, bool aims, struct failure *f)
{
	size_t at = find(h, offset);
	int64_t empty_from = offset;

	if (at < h->n && h->point[at].offset == offset)
		return FAIL_NONE;
	if (at < h->n && h->point[at].step == l->step_next) {
		h->point[at].empty_from = smaller(h->point[at].empty_from, offset);
		h->generation++; /* as in mix_history_looked() */
		return FAIL_NONE;
	}
	if (add_names(h, l, f) != FAIL_NONE)
		return f->code;
	at = find(h, offset); /* there may be fewer points now */
	h->generation++;
	if (moves_along(h, at, l->step_next)) {
		at--;
		empty_from = h->point[at].empty_from; /* between is what there was no room for */
	} else {
		if (h->n == h->points_max) {
			thin(h, h->points_max / 2);
			at = find(h, offset);
		}
		open_place(h, at);
	}
	fill(h, at, l, offset, time_ms, unit, aims);
	h->point[at].empty_from = smaller(empty_from, offset);
	return FAIL_NONE;
}

/* ---- gaps ---- */

static int64_t
larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/*
 * The widest gap within steps [low, high] that is wider than one of `fine` parts of them.
 * `looked`: also where this history has looked, or had no room.
 */
static bool
widest(const struct mix_history *h, int64_t low, int64_t high, int64_t fine, bool looked,
    int64_t *from, int64_t *to)
{
	int64_t most = 0, whole;

	if (h->n < 2)
		return false;
	low = larger(low, h->point[0].step);
	high = smaller(high, h->point[h->n - 1].step);
	whole = high - low;
	for (size_t i = 1; i < h->n; i++) {
		const struct mix_history_point *a = &h->point[i - 1], *b = &h->point[i];
		int64_t wide = smaller(b->step, high) - larger(a->step, low);
		int64_t end = looked ? b->offset : b->empty_from;

		/* One offset in between is the marker of the transaction's end. */
		if (wide <= most || wide <= whole / fine || end - a->offset <= 2 ||
		    (!looked && b->step - a->step <= h->spacing))
			continue;
		most = wide;
		*from = a->offset + 1;
		*to = end;
	}
	return most > 0;
}

bool
mix_history_gap(const struct mix_history *h, int64_t *from, int64_t *to)
{
	return widest(h, h->from, h->to, h->fine, false, from, to);
}

bool
mix_history_part(struct mix_history *part, const struct mix_history *h, int64_t from, int64_t to)
{
	size_t most = h->points_most < MIX_HISTORY_PART_POINTS_MAX ? h->points_most
								   : MIX_HISTORY_PART_POINTS_MAX;
	size_t first = 0, last = h->n;
	struct failure f;
	int64_t gap_from, gap_to;

	part->from = from;
	part->to = to;
	part->fine = (int64_t)points_for(h->domains_room, most) / 4; /* no look finds it full */
	if (!widest(h, from, to, part->fine, true, &gap_from, &gap_to) ||
	    open_points(part, h->domains_room - 1, most, &f) != FAIL_NONE)
		return false;
	while (first + 1 < h->n && h->point[first + 1].step <= from)
		first++;
	while (last - 1 > first && h->point[last - 2].step >= to)
		last--;
	for (size_t i = first; i < last; i++) {
		if (part->n == part->points_max)
			thin(part, part->points_max / 2);
		part->point[part->n] = h->point[i];
		part->point[part->n].empty_from = h->point[i].offset;
		memcpy(values(part, part->n), values(h, i), h->domains_room * sizeof(*h->value));
		part->n++;
	}
	return true;
}

bool
mix_history_outgrown(const struct mix_history *part, const struct mix_history *h)
{
	int64_t first, last;

	if (part->n == 0 || h->n == 0)
		return false;
	first = larger(part->from, part->point[0].step);
	last = part->point[part->n - 1].step;
	return smaller(part->to, h->point[h->n - 1].step) - last > last - first;
}

void
mix_history_looked(struct mix_history *h, int64_t offset, int64_t found)
{
	size_t at = find(h, offset);

	if (at < h->n && (found < 0 || found >= h->point[at].offset) &&
	    offset < h->point[at].empty_from) {
		h->point[at].empty_from = offset;
		h->generation++; /* it may be as fine now as it is to be */
	}
}

/* ---- what is shown ---- */

size_t
mix_history_choose(const struct mix_history *h, int64_t from, int64_t to, size_t *out, size_t most)
{
	size_t first = 0, end = h->n, n;

	assert(most >= 2);
	while (first < h->n && h->point[first].step < from)
		first++;
	while (end > first && h->point[end - 1].step > to)
		end--;
	n = end - first < most ? end - first : most;
	for (size_t i = 0; i < n; i++)
		out[i] = n < 2 ? first : first + i * (end - first - 1) / (n - 1);
	return n;
}
