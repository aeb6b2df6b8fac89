#include "producer/produce/produce_jobs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the listing goes by. */
struct list {
	struct produce_jobs *out;
	const struct config *config;
	const bool *wanted;
	bool one_lane;
	uint32_t lane;
	bool *done;     /* domains whose train input is listed */
	size_t *member; /* room for one input's domains */
};

static bool
same_text(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool
same_input(const struct config_domain *a, const struct config_domain *b)
{
	if (a->where_field == NULL || b->where_field == NULL || a->partitions != b->partitions ||
	    !same_text(a->exec, b->exec) || !same_text(a->text, b->text) ||
	    a->train.n != b->train.n)
		return false;
	for (size_t i = 0; i < a->train.n; i++)
		if (strcmp(a->train.text[i], b->train.text[i]) != 0)
			return false;
	return true;
}

static void
name_job(struct produce_job *job, const struct config_domain *d)
{
	size_t room = sizeof(job->label), used;

	used = (size_t)snprintf(job->label, room, "%s%s", d->name, job->held_out ? ".valid" : "");
	if (job->members_n > 1)
		used +=
		    (size_t)snprintf(job->label + used, room - used, "+%zu", job->members_n - 1);
	if (d->partitions > 1)
		snprintf(job->label + used, room - used, " lane %" PRIu32 "/%" PRIu32, job->lane,
		    d->partitions);
}

static enum fail_code
grow(struct produce_jobs *out, struct failure *f)
{
	size_t room = 2 * out->room + 16;
	struct produce_job *grown = realloc(out->job, room * sizeof(*grown));

	if (grown == NULL)
		return fail_memory(f);
	out->job = grown;
	out->room = room;
	return FAIL_NONE;
}

static enum fail_code
add_job(
    struct list *l, const size_t *member, size_t n, bool held_out, uint32_t lane, struct failure *f)
{
	const struct config_domain *d = &l->config->domains[member[0]];
	struct produce_job *job;

	if (l->out->n == l->out->room && grow(l->out, f) != FAIL_NONE)
		return f->code;
	job = &l->out->job[l->out->n++];
	*job = (struct produce_job){
	    .members_n = n, .held_out = held_out, .live = d->live, .lane = lane};
	job->member = calloc(n, sizeof(*job->member));
	job->wanted = calloc(n, sizeof(*job->wanted));
	if (job->member == NULL || job->wanted == NULL)
		return fail_memory(f);
	for (size_t k = 0; k < n; k++) {
		job->member[k] = member[k];
		job->wanted[k] = held_out || l->wanted[member[k]];
	}
	name_job(job, d);
	return FAIL_NONE;
}

static enum fail_code
add_input(struct list *l, const size_t *member, size_t n, bool held_out, struct failure *f)
{
	uint32_t first = l->one_lane ? l->lane : 0;
	uint32_t end = l->one_lane ? l->lane + 1 : l->config->domains[member[0]].partitions;

	for (uint32_t lane = first; lane < end; lane++)
		if (add_job(l, member, n, held_out, lane, f) != FAIL_NONE)
			return f->code;
	return FAIL_NONE;
}

/* The input of domain i with all that share it, unless that is listed; then its held-out files. */
static enum fail_code
add_domain(struct list *l, size_t i, struct failure *f)
{
	const struct config_domain *d = &l->config->domains[i];
	size_t members = 0;

	for (size_t k = 0; !l->done[i] && k < l->config->domains_n; k++)
		if (k == i || same_input(d, &l->config->domains[k]))
			l->member[members++] = k;
	for (size_t k = 0; k < members; k++)
		l->done[l->member[k]] = true;
	if (members > 0 && add_input(l, l->member, members, false, f) != FAIL_NONE)
		return f->code;
	return d->valid.n == 0 ? FAIL_NONE : add_input(l, &i, 1, true, f);
}

enum fail_code
produce_jobs_open(struct produce_jobs *out, const struct config *c, const bool *wanted,
    bool one_lane, uint32_t lane, struct failure *f)
{
	struct list l = {
	    .out = out, .config = c, .wanted = wanted, .one_lane = one_lane, .lane = lane};
	enum fail_code code = FAIL_NONE;

	*out = (struct produce_jobs){0};
	l.done = calloc(c->domains_n, sizeof(*l.done));
	l.member = calloc(c->domains_n, sizeof(*l.member));
	if (l.done == NULL || l.member == NULL)
		code = fail_memory(f);
	for (size_t i = 0; i < c->domains_n && code == FAIL_NONE; i++)
		if (wanted[i])
			code = add_domain(&l, i, f);
	free(l.done);
	free(l.member);
	if (code != FAIL_NONE)
		produce_jobs_close(out);
	return code;
}

void
produce_jobs_close(struct produce_jobs *j)
{
	for (size_t i = 0; i < j->n; i++) {
		free(j->job[i].member);
		free(j->job[i].wanted);
	}
	free(j->job);
	*j = (struct produce_jobs){0};
}
