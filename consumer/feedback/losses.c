#include "consumer/feedback/losses.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/names.h"

enum { WORDS = LOSSES_RANKS_MAX / 64 };

/* A step that some rank has reported. */
struct open_step {
	int64_t step;
	uint32_t world, reported;
	int64_t offset_first;
	uint64_t rank[WORDS]; /* a bit a rank that has reported */
	struct losses_sum sum[];
};

struct domain {
	char *name;
	size_t at; /* in the order of the options */
};

struct losses {
	char *mix, *run;
	struct domain *domain; /* [domains_n], by name */
	size_t domains_n;
	int64_t step_next, step_limit;
	int64_t offset_next, again_end;          /* reports below the first have come */
	struct open_step *open[LOSSES_OPEN_MAX]; /* ascending */
	size_t open_n, complete_n;
	struct open_step *given; /* what losses_next() handed out last */
	struct losses_counts counts;
	char unknown[NAME_MAX_BYTES + 1];
};

double
losses_mean(double sum, int64_t tokens)
{
	assert(tokens > 0);
	return fmin(fmax(sum / (double)tokens, -LOSSES_MEAN_MAX), LOSSES_MEAN_MAX);
}

void
losses_add_mean(struct losses_means *to, const struct losses_sum *s)
{
	double tokens = (double)s->tokens, all = (double)to->tokens + tokens;

	assert(s->tokens >= 0);
	if (s->tokens == 0)
		return;
	to->loss += (losses_mean(s->loss_sum, s->tokens) - to->loss) * (tokens / all);
	to->excess += (losses_mean(s->excess_sum, s->tokens) - to->excess) * (tokens / all);
	to->tokens += s->tokens;
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(((const struct domain *)a)->name, ((const struct domain *)b)->name);
}

static enum fail_code
copy_domains(struct losses *l, const struct losses_options *o, struct failure *f)
{
	l->domain = calloc(o->domains_n, sizeof(*l->domain));
	if (l->domain == NULL)
		return fail_memory(f);
	for (; l->domains_n < o->domains_n; l->domains_n++) {
		struct domain *d = &l->domain[l->domains_n];

		*d = (struct domain){strdup(o->domain[l->domains_n]), l->domains_n};
		if (d->name == NULL)
			return fail_memory(f);
	}
	qsort(l->domain, l->domains_n, sizeof(*l->domain), by_name);
	return FAIL_NONE;
}

enum fail_code
losses_open(struct losses **out, const struct losses_options *o, struct failure *f)
{
	struct losses *l = calloc(1, sizeof(*l));

	assert(o->domains_n > 0 && o->domains_n <= LOSSES_DOMAINS_MAX);
	if (l == NULL)
		return fail_memory(f);
	l->step_next = o->step_first;
	l->step_limit = INT64_MAX;
	l->again_end = o->again_end;
	l->mix = strdup(o->mix);
	l->run = strdup(o->run);
	if (l->mix == NULL || l->run == NULL || copy_domains(l, o, f) != FAIL_NONE) {
		losses_close(l);
		return fail_memory(f);
	}
	*out = l;
	return FAIL_NONE;
}

void
losses_close(struct losses *l)
{
	if (l == NULL)
		return;
	for (size_t i = 0; i < l->domains_n; i++)
		free(l->domain[i].name);
	for (size_t i = 0; i < l->open_n; i++)
		free(l->open[i]);
	free(l->given);
	free(l->domain);
	free(l->mix);
	free(l->run);
	free(l);
}

void
losses_set_limit(struct losses *l, int64_t step_limit)
{
	l->step_limit = step_limit;
}

int64_t
losses_step_next(const struct losses *l)
{
	return l->step_next;
}

struct losses_counts *
losses_counted(struct losses *l)
{
	return &l->counts;
}

const char *
losses_unknown(const struct losses *l)
{
	return l->unknown;
}

int64_t
losses_open_offset(const struct losses *l)
{
	int64_t first = -1;

	for (size_t i = 0; i < l->open_n; i++)
		if (first < 0 || l->open[i]->offset_first < first)
			first = l->open[i]->offset_first;
	return first;
}

/* ---- taking ---- */

static bool
is_complete(const struct open_step *s)
{
	return s->reported == s->world;
}

/* Takes the lowest open step out of the list; the caller frees it. */
static struct open_step *
take_lowest(struct losses *l)
{
	struct open_step *s = l->open[0];

	assert(l->open_n > 0);
	assert(s->step >= l->step_next);

	l->open_n--;
	memmove(&l->open[0], &l->open[1], l->open_n * sizeof(l->open[0]));
	l->complete_n -= is_complete(s);
	l->step_next = s->step + 1;
	return s;
}

static void
give_up_lowest(struct losses *l)
{
	free(take_lowest(l));
	l->counts.incomplete++;
}

/* An open step without a report: nothing is added up yet, no rank has reported. */
static void
begin(struct open_step *s, const struct feedback *b, int64_t offset, size_t domains_n)
{
	assert(b->world <= LOSSES_RANKS_MAX);
	memset(s, 0, sizeof(*s) + domains_n * sizeof(s->sum[0]));
	s->step = b->step;
	s->world = b->world;
	s->offset_first = offset;
}

/* Where `step` is among the open ones, or would be. */
static size_t
place(const struct losses *l, int64_t step)
{
	size_t at = l->open_n;

	assert(l->open_n <= LOSSES_OPEN_MAX);
	while (at > 0 && l->open[at - 1]->step >= step)
		at--;
	return at;
}

/*
 * The open step of a report, which is opened where it is not yet. Where all places are taken, the
 * lowest step gives way; a report below all of them is of no use then: *out is NULL.
 */
static enum fail_code
find(struct losses *l, const struct feedback *b, int64_t offset, struct open_step **out,
    struct failure *f)
{
	size_t at = place(l, b->step);
	struct open_step *s;

	*out = NULL;
	if (at < l->open_n && l->open[at]->step == b->step) {
		*out = l->open[at];
		return FAIL_NONE;
	}
	if (l->open_n == LOSSES_OPEN_MAX) {
		if (at == 0)
			return FAIL_NONE;
		give_up_lowest(l);
		at--;
	}
	s = malloc(sizeof(*s) + l->domains_n * sizeof(s->sum[0]));
	if (s == NULL)
		return fail_memory(f);
	begin(s, b, offset, l->domains_n);
	memmove(&l->open[at + 1], &l->open[at], (l->open_n - at) * sizeof(l->open[0]));
	l->open[at] = s;
	l->open_n++;
	*out = s;
	return FAIL_NONE;
}

static void
add_loss(struct losses *l, struct open_step *s, const struct feedback_loss *loss)
{
	struct domain key = {.name = loss->domain};
	const struct domain *d;
	struct losses_sum *sum;

	d = bsearch(&key, l->domain, l->domains_n, sizeof(*l->domain), by_name);
	if (d == NULL) {
		l->counts.unknown_domain++;
		if (l->unknown[0] == '\0')
			memcpy(l->unknown, loss->domain, strnlen(loss->domain, NAME_MAX_BYTES));
		return;
	}
	sum = &s->sum[d->at];
	/* The sums must be finite, too: two finite numbers can add up to infinity. */
	if (!isfinite(sum->loss_sum + loss->loss_sum) ||
	    !isfinite(sum->excess_sum + loss->excess_sum) || loss->excess_sum < 0 ||
	    loss->tokens < 0 || loss->tokens > INT64_MAX - sum->tokens) {
		l->counts.not_a_number++;
		return;
	}
	sum->loss_sum += loss->loss_sum;
	sum->excess_sum += loss->excess_sum;
	sum->tokens += loss->tokens;
}

/* Whether a report is to be dropped; counts it then. */
static bool
is_dropped(struct losses *l, const struct feedback *b)
{
	if (b == NULL || b->mix == NULL || strcmp(b->mix, l->mix) != 0 || b->world == 0 ||
	    b->world > LOSSES_RANKS_MAX || b->rank >= b->world)
		return l->counts.malformed++, true;
	if (b->run == NULL || strcmp(b->run, l->run) != 0)
		return l->counts.other_run++, true;
	if (b->step >= l->step_limit)
		return l->counts.unknown_step++, true;
	if (b->step < l->step_next)
		return l->counts.late++, true;
	return false;
}

enum fail_code
losses_add(struct losses *l, const struct feedback *b, int64_t offset, struct failure *f)
{
	struct open_step *s;
	uint64_t bit;

	l->offset_next = offset + 1;
	if (is_dropped(l, b))
		return FAIL_NONE;
	assert(b->step >= l->step_next);
	assert(b->rank < b->world);
	if (find(l, b, offset, &s, f) != FAIL_NONE)
		return f->code;
	if (s == NULL) {
		l->counts.late++;
		return FAIL_NONE;
	}
	if (s->world !=
	    b->world) { /* the last world counts: the one before it will not report on */
		l->counts.replaced += s->reported;
		l->complete_n -= is_complete(s);
		begin(s, b, offset, l->domains_n);
	}
	bit = UINT64_C(1) << (b->rank % 64);
	if ((s->rank[b->rank / 64] & bit) != 0) {
		l->counts.duplicate++;
		return FAIL_NONE;
	}
	s->rank[b->rank / 64] |= bit;
	s->reported++;
	assert(s->reported <= s->world);
	l->counts.reports++;
	l->complete_n += is_complete(s);
	assert(l->complete_n <= l->open_n);
	for (size_t i = 0; i < b->losses_n; i++)
		add_loss(l, s, &b->loss[i]);
	return FAIL_NONE;
}

/* ---- giving ---- */

bool
losses_next(struct losses *l, bool last, struct losses_step *out)
{
	free(l->given);
	l->given = NULL;
	if (!last && l->offset_next < l->again_end)
		return false;
	while (l->open_n > 0 && !is_complete(l->open[0]) &&
	       l->complete_n >= (last ? 1 : LOSSES_PATIENCE))
		give_up_lowest(l);
	if (l->open_n == 0 || !is_complete(l->open[0]))
		return false;
	l->given = take_lowest(l);
	assert(is_complete(l->given));
	*out = (struct losses_step){l->given->step, l->given->world, l->given->sum};
	return true;
}
