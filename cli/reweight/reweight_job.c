#include "cli/reweight/reweight_job.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "common/base/json_memory.h"
#include "common/base/nearest.h"
#include "common/base/scalar.h"
#include "consumer/reweight/weight_bounds.h"

static int
by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/*
 * Domains that the mix draws from, or did until they ended. With a configuration only those that it
 * has too. Sorted by their bytes, so that the order in the ledger does not matter.
 */
static enum fail_code
list_domains(struct reweight_job *job, const struct ledger *last, struct failure *f)
{
	const struct config *c = job->config;

	job->domain = calloc(last->domains_n + 1, sizeof(*job->domain));
	if (job->domain == NULL)
		return fail_memory(f);
	for (size_t i = 0; i < last->domains_n; i++) {
		const struct ledger_domain *d = &last->domain[i];

		if (d->state == LEDGER_LEFT || d->name == NULL ||
		    !(d->raw_weight > 0 || d->base_weight > 0) ||
		    (c->domains_n > 0 && config_domain_index(c, d->name) < 0))
			continue;
		job->domain[job->domains_n] = strdup(d->name);
		if (job->domain[job->domains_n++] == NULL)
			return fail_memory(f);
	}
	if (job->domains_n == 0)
		return fail(f, FAIL_CONFIG, "mix %s draws from no domain", job->a->mix);
	qsort(job->domain, job->domains_n, sizeof(*job->domain), by_bytes);
	return FAIL_NONE;
}

enum fail_code
reweight_job_read_json(json_t **out, const char *path, struct failure *f)
{
	json_error_t why;

	errno = 0;
	*out = json_load_file(path, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, &why);
	if (*out == NULL && json_memory_refused())
		return fail_memory(f);
	if (*out == NULL)
		return fail(f, FAIL_CONFIG, "reading %s: line %d: %s", path, why.line, why.text);
	if (json_is_object(*out))
		return FAIL_NONE;
	json_decref(*out);
	*out = NULL;
	return fail(f, FAIL_CONFIG, "reading %s: is not a JSON object", path);
}

/* The weights of --reference for the learned domains, scaled to sum 1. */
static enum fail_code
read_reference(struct reweight_job *job, struct failure *f)
{
	const char *path = job->a->reference;
	enum fail_code code = FAIL_NONE;
	double all = 0;
	json_t *map;

	if (path == NULL)
		return FAIL_NONE;
	job->reference = calloc(job->domains_n, sizeof(*job->reference));
	if (job->reference == NULL)
		return fail_memory(f);
	if (reweight_job_read_json(&map, path, f) != FAIL_NONE)
		return f->code;
	for (size_t i = 0; i < job->domains_n && code == FAIL_NONE; i++) {
		const json_t *value = json_object_get(map, job->domain[i]);

		job->reference[i] = json_number_value(value);
		all += job->reference[i];
		if (!json_is_number(value) || !(job->reference[i] > 0))
			code = fail(f, FAIL_CONFIG,
			    "%s: domain %s has no weight above 0, and DoReMi multiplies weights: "
			    "give it a small one",
			    path, job->domain[i]);
	}
	json_decref(map);
	for (size_t i = 0; i < job->domains_n; i++)
		job->reference[i] /= all;
	return code;
}

/* One item of --floor or --ceiling, "0.05" or "web=0.1"; writes a '\0' into it. */
static enum fail_code
take_bound(const struct reweight_job *job, double *bound, char *item, const char *option,
    struct failure *f)
{
	char *equals = strchr(item, '=');
	const char *number = equals == NULL ? item : equals + 1;
	bool known = equals == NULL;
	struct nearest near;
	double value;

	if (equals != NULL)
		*equals = '\0';
	if (scalar_number(number, &value) != SCALAR_OK)
		return fail(f, FAIL_USAGE, "--%s: not a number: \"%s\"", option, number);
	for (size_t i = 0; i < job->domains_n; i++)
		if (equals == NULL || strcmp(job->domain[i], item) == 0)
			known = true, bound[i] = value;
	if (known)
		return FAIL_NONE;
	nearest_init(&near, item);
	for (size_t i = 0; i < job->domains_n; i++)
		nearest_list(&near, job->domain[i]);
	fail(f, FAIL_USAGE, "--%s: mix %s draws from no domain %s", option, job->a->mix, item);
	return nearest_fail_more(&near, "it has", f);
}

/*
 * "0.05,web=0.1": a limit for all, and for some; into bound [domains_n]. NULL: stays as it is.
 * Items apply in their order, so that the one for all comes first.
 */
static enum fail_code
take_bounds(const struct reweight_job *job, double *bound, const char *text, const char *option,
    struct failure *f)
{
	char *copy, *rest, *item;
	enum fail_code code = FAIL_NONE;

	if (text == NULL)
		return FAIL_NONE;
	copy = rest = strdup(text);
	if (copy == NULL)
		return fail_memory(f);
	while (code == FAIL_NONE && (item = strsep(&rest, ",")) != NULL)
		code = take_bound(job, bound, item, option, f);
	free(copy);
	return code;
}

static enum fail_code
init_learner(struct reweight_job *job, double *floor, double *ceiling, struct failure *f)
{
	const struct reweight_job_arguments *a = job->a;
	struct reweight_options o = {.method = a->method,
	    .domains_n = job->domains_n,
	    .start = job->reference,
	    .eta = a->eta,
	    .smoothing = a->smoothing,
	    .memory = a->memory,
	    .floor = floor,
	    .ceiling = ceiling};

	for (size_t i = 0; i < job->domains_n; i++)
		ceiling[i] = 1;
	if (take_bounds(job, floor, a->floor, "floor", f) != FAIL_NONE ||
	    take_bounds(job, ceiling, a->ceiling, "ceiling", f) != FAIL_NONE ||
	    weight_bounds_check(
		floor, ceiling, (const char *const *)job->domain, job->domains_n, f) != FAIL_NONE)
		return f->code;
	job->learner = malloc(sizeof(*job->learner));
	if (job->learner == NULL)
		return fail_memory(f);
	reweight_init(job->learner, &o);
	job->last_step = -1;
	return FAIL_NONE;
}

static enum fail_code
open_learner(struct reweight_job *job, struct failure *f)
{
	double *floor = calloc(job->domains_n, sizeof(*floor));
	double *ceiling = calloc(job->domains_n, sizeof(*ceiling));
	enum fail_code code = floor == NULL || ceiling == NULL
				  ? fail_memory(f)
				  : init_learner(job, floor, ceiling, f);

	free(floor);
	free(ceiling);
	return code;
}

enum fail_code
reweight_job_open(struct reweight_job *job, const struct reweight_job_arguments *a,
    const struct config *c, const struct ledger *last, struct failure *f)
{
	uint64_t random;

	assert(job->domain == NULL); /* zeroed */
	job->a = a;
	job->config = c;
	if (list_domains(job, last, f) != FAIL_NONE || read_reference(job, f) != FAIL_NONE ||
	    open_learner(job, f) != FAIL_NONE)
		return f->code;
	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return fail_errno(f, FAIL_IO, "cannot draw a random number for the learner's id");
	snprintf(job->id, sizeof(job->id), "%016" PRIx64, random);
	return FAIL_NONE;
}

void
reweight_job_close(struct reweight_job *job)
{
	for (size_t i = 0; i < job->domains_n; i++)
		free(job->domain[i]);
	free(job->domain);
	free(job->reference);
	free(job->learner);
	*job = (struct reweight_job){0};
}
