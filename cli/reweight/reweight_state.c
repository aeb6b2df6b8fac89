#include "cli/reweight/reweight_state.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/file.h"
#include "common/base/json_memory.h"

enum { STATE_VERSION = 1 };

#define COUNT(field)                                                                               \
	{                                                                                          \
#field, offsetof(struct losses_counts, field)                                      \
	}

/*
 * The counts by name, as the state file and the JSON have them. One table writes and reads them:
 * each is 64 bits wide, and is copied as bytes from or to `at`.
 */
static const struct {
	const char *name;
	size_t at;
} counts[] = {
    COUNT(reports),
    COUNT(duplicate),
    COUNT(late),
    COUNT(unknown_step),
    COUNT(unknown_domain),
    COUNT(not_a_number),
    COUNT(malformed),
    COUNT(other_run),
    COUNT(replaced),
    COUNT(incomplete),
};

enum { COUNTS = sizeof(counts) / sizeof(counts[0]) };

/* ---- files ---- */

/* --out with something behind it (free); NULL: no memory. */
static char *
path_with(const struct reweight_job *job, const char *suffix)
{
	char *path;

	return asprintf(&path, "%s%s", job->a->out, suffix) < 0 ? NULL : path;
}

/* Writes and syncs: the rename that follows must not be on the disk before the bytes are. */
static bool
write_all(int fd, const char *text, size_t n)
{
	while (n > 0) {
		ssize_t done = write(fd, text, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return false;
		text += done;
		n -= (size_t)done;
	}
	return fsync(fd) == 0;
}

/* A rename would put a file in the place of a device, a pipe or a socket. */
static enum fail_code
check_regular(const char *path, struct failure *f)
{
	struct stat st;

	if (stat(path, &st) != 0 || S_ISREG(st.st_mode))
		return FAIL_NONE;
	return fail(f, FAIL_CONFIG,
	    "cannot write %s: it is no regular file, and --out is replaced whole; name a file",
	    path);
}

/*
 * Writes `o` to FILE.json.new and renames that to FILE.json with `suffix`. Takes `o`; NULL: there
 * was no memory to make it. 17 digits are what a double needs to come back with the same bits.
 */
static enum fail_code
replace_file(const struct reweight_job *job, const char *suffix, json_t *o, struct failure *f)
{
	char *text =
	    o == NULL ? NULL : json_memory_text(o, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
	char *path = path_with(job, suffix), *fresh = path_with(job, ".new");
	enum fail_code code = FAIL_NONE;
	int fd = -1;

	json_decref(o);
	if (text == NULL || path == NULL || fresh == NULL) {
		code = fail_memory(f);
		goto done;
	}
	code = check_regular(job->a->out, f);
	if (code != FAIL_NONE)
		goto done;
	fd = file_create(fresh);
	if (fd < 0 || !write_all(fd, text, strlen(text)) || rename(fresh, path) != 0)
		code = fail_errno(f, FAIL_IO, "writing %s (by way of %s)", path, fresh);
	if (code != FAIL_NONE)
		unlink(fresh);
done:
	if (fd >= 0)
		close(fd);
	free(text);
	free(path);
	free(fresh);
	return code;
}

/* ---- writing ---- */

/*
 * The three arrays [domains_n] of a learner by name; NULL: it has none of that name. The state file
 * of both methods has the same keys: "memory" is the last excess of DoReMi and the reward of ODM,
 * "average" only DoReMi has.
 */
static double *
values_of(struct reweight *r, const char *name)
{
	bool doremi = r->method == REWEIGHT_DOREMI;

	if (strcmp(name, "weight") == 0)
		return doremi ? r->of.doremi.weight : r->of.odm.weight;
	if (strcmp(name, "memory") == 0)
		return doremi ? r->of.doremi.excess : r->of.odm.reward;
	return doremi ? r->of.doremi.average : NULL;
}

static const char *const value_names[] = {"weight", "memory", "average"};

enum { VALUES = sizeof(value_names) / sizeof(value_names[0]) };

json_t *
reweight_state_weights(const struct reweight_job *job)
{
	double *weight = calloc(job->domains_n, sizeof(*weight));
	json_t *o = json_object();

	if (weight == NULL || o == NULL) {
		free(weight);
		json_decref(o);
		return NULL;
	}
	for (size_t i = 0; i < job->config->domains_n; i++)
		json_object_set_new(o, job->config->domains[i].name, json_real(0));
	reweight_result(job->learner, weight);
	for (size_t i = 0; i < job->domains_n; i++)
		json_object_set_new(o, job->domain[i], json_real(weight[i]));
	free(weight);
	return o;
}

json_t *
reweight_state_counts(const struct losses_counts *c)
{
	json_t *o = json_object();

	for (size_t i = 0; i < COUNTS; i++) {
		uint64_t value;

		memcpy(&value, (const char *)c + counts[i].at, sizeof(value));
		json_object_set_new(o, counts[i].name, json_integer((json_int_t)value));
	}
	return o;
}

static json_t *
domains(const struct reweight_job *job)
{
	json_t *o = json_object();

	for (size_t i = 0; i < job->domains_n; i++) {
		json_t *d = json_object();

		for (size_t v = 0; v < VALUES; v++) {
			const double *value = values_of(job->learner, value_names[v]);

			if (value != NULL)
				json_object_set_new(d, value_names[v], json_real(value[i]));
		}
		json_object_set_new(o, job->domain[i], d);
	}
	return o;
}

enum fail_code
reweight_state_save(const struct reweight_job *job, struct failure *f)
{
	const struct reweight_job_arguments *a = job->a;
	json_t *o;

	assert(job->learner != NULL);
	assert(strlen(job->id) + 1 == sizeof(job->id));
	o = json_pack("{s:i, s:s, s:s, s:s, s:s, s:f, s:f, s:I, s:I, s:I, s:I, s:I, s:I, "
		      "s:b, s:o, s:o}",
	    "reweight", STATE_VERSION, "id", job->id, "mix", a->mix, "run", a->run, "method",
	    reweight_method_name[a->method], "eta", a->eta, "parameter",
	    a->method == REWEIGHT_DOREMI ? a->smoothing : a->memory, "offset_next",
	    (json_int_t)job->offset_next, "offset_counted", (json_int_t)job->offset_counted,
	    "step_next", (json_int_t)job->step_next, "steps",
	    (json_int_t)reweight_steps(job->learner), "asked", (json_int_t)job->asked, "refused",
	    (json_int_t)job->refused, "excess_seen", job->learner->excess_seen, "domains",
	    domains(job), "dropped", reweight_state_counts(&job->counts));

	if (replace_file(job, ".state", o, f) != FAIL_NONE)
		return f->code;
	return replace_file(job, "", reweight_state_weights(job), f);
}

/* ---- reading ---- */

static const char *
text_of(const json_t *o, const char *name)
{
	const char *text = json_string_value(json_object_get(o, name));

	return text == NULL ? "" : text;
}

/* Integers come as reals: they are exact up to 2^53, far above any offset or step. */
static bool
integer_of(const json_t *o, const char *name, int64_t *out)
{
	const json_t *v = json_object_get(o, name);
	double value = json_number_value(v);

	if (!json_is_number(v) || value < 0 || value > 9007199254740992.0 || value != floor(value))
		return false;
	*out = (int64_t)value;
	return true;
}

/* Compares what the result depends on, and what the reports are of. */
static enum fail_code
check_same(const struct reweight_job *job, const json_t *o, const char *path, struct failure *f)
{
	const struct reweight_job_arguments *a = job->a;
	double parameter = a->method == REWEIGHT_DOREMI ? a->smoothing : a->memory;
	const char *what = NULL;

	if (strcmp(text_of(o, "mix"), a->mix) != 0)
		what = "another mix";
	else if (strcmp(text_of(o, "run"), a->run) != 0)
		what = "another run";
	else if (strcmp(text_of(o, "method"), reweight_method_name[a->method]) != 0)
		what = "another method";
	else if (json_number_value(json_object_get(o, "eta")) != a->eta)
		what = "another --eta";
	else if (json_number_value(json_object_get(o, "parameter")) != parameter)
		what = a->method == REWEIGHT_DOREMI ? "another --smoothing" : "another --memory";
	if (what == NULL)
		return FAIL_NONE;
	return fail(f, FAIL_CONFIG, "%s is of %s: name another --out, or start over with --anew",
	    path, what);
}

/* False: other domains than the job's, or an array of the method is missing. */
static bool
take_domains(struct reweight_job *job, const json_t *list)
{
	if (json_object_size(list) != job->domains_n)
		return false;
	for (size_t i = 0; i < job->domains_n; i++) {
		const json_t *d = json_object_get(list, job->domain[i]);

		for (size_t v = 0; v < VALUES; v++) {
			double *value = values_of(job->learner, value_names[v]);
			const json_t *number = json_object_get(d, value_names[v]);

			if (value == NULL)
				continue;
			if (!json_is_number(number))
				return false;
			value[i] = json_number_value(number);
		}
	}
	return true;
}

/* False: a number is missing or is none that this program writes. */
static bool
take_numbers(struct reweight_job *job, const json_t *o)
{
	int64_t steps, asked, refused;

	if (!integer_of(o, "offset_next", &job->offset_next) ||
	    !integer_of(o, "offset_counted", &job->offset_counted) ||
	    !integer_of(o, "step_next", &job->step_next) || !integer_of(o, "steps", &steps) ||
	    !integer_of(o, "asked", &asked) || !integer_of(o, "refused", &refused))
		return false;
	job->asked = (uint64_t)asked;
	job->refused = (uint64_t)refused;
	job->learner->excess_seen = json_is_true(json_object_get(o, "excess_seen"));
	if (job->learner->method == REWEIGHT_DOREMI)
		job->learner->of.doremi.steps = (uint64_t)steps;
	else
		job->learner->of.odm.steps = (uint64_t)steps;
	for (size_t i = 0; i < COUNTS; i++) {
		int64_t value;

		if (!integer_of(json_object_get(o, "dropped"), counts[i].name, &value))
			return false;
		memcpy((char *)&job->counts + counts[i].at, &value, sizeof(value));
	}
	return strlen(text_of(o, "id")) + 1 == sizeof(job->id);
}

enum fail_code
reweight_state_load(struct reweight_job *job, bool *found, struct failure *f)
{
	char *path = path_with(job, ".state");
	json_t *o = NULL;
	enum fail_code code = FAIL_NONE;

	assert(job->learner != NULL);
	if (path == NULL)
		return fail_memory(f);
	*found = access(path, F_OK) == 0;
	if (*found)
		code = reweight_job_read_json(&o, path, f);
	if (o != NULL)
		code = check_same(job, o, path, f);
	if (o != NULL && code == FAIL_NONE) {
		if (!take_numbers(job, o))
			code = fail(f, FAIL_DATA,
			    "%s is damaged: remove it, or start over with --anew", path);
		else if (!take_domains(job, json_object_get(o, "domains")))
			code = fail(f, FAIL_CONFIG,
			    "%s is of other domains than mix %s has: name another --out, or start "
			    "over with --anew",
			    path, job->a->mix);
		else
			memcpy(job->id, text_of(o, "id"), sizeof(job->id));
	}
	json_decref(o);
	free(path);
	return code;
}
