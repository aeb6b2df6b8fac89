/* Which runs there are, and whether one of them still needs what is to be deleted. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "consumer/admin/retain.h"

enum fail_code
retain_add_run(struct retain_runs *r, const char *name, struct failure *f)
{
	struct retain_run *grown;

	if (!names_run_valid(name))
		return FAIL_NONE;
	for (size_t i = 0; i < r->n; i++)
		if (strcmp(r->run[i].name, name) == 0)
			return FAIL_NONE;
	if (r->n == RETAIN_RUNS_MAX)
		return fail(f, FAIL_DATA,
		    "there are more than %d runs: delete the consumer groups that are not used any "
		    "more",
		    RETAIN_RUNS_MAX);
	grown = realloc(r->run, (r->n + 1) * sizeof(*grown));
	if (grown == NULL)
		return fail_memory(f);
	r->run = grown;
	memset(&grown[r->n], 0, sizeof(*grown));
	memcpy(grown[r->n].name, name, strlen(name) + 1);
	r->n++;
	return FAIL_NONE;
}

enum fail_code
retain_add_group(struct retain_runs *r, const char *mix, const char *group, struct failure *f)
{
	size_t n = strlen(mix);

	if (strncmp(group, mix, n) != 0 || group[n] != '.')
		return FAIL_NONE;
	return retain_add_run(r, group + n + 1, f);
}

void
retain_remember(struct retain_runs *r, const struct ledger *l)
{
	for (size_t i = 0; i < r->n; i++)
		for (size_t k = 0; !r->run[i].committed && k < l->runs_n; k++)
			if (l->run[k].name != NULL && l->run[k].step > 0 &&
			    strcmp(l->run[k].name, r->run[i].name) == 0) {
				r->run[i].remembered = true;
				r->run[i].step = (uint64_t)l->run[k].step;
			}
}

enum fail_code
retain_check(const struct retain_runs *r, uint64_t step, struct failure *f)
{
	const struct retain_run *lowest = NULL;

	for (size_t i = 0; i < r->n; i++) {
		const struct retain_run *run = &r->run[i];

		if ((run->committed || run->remembered) && run->step < step &&
		    (lowest == NULL || run->step < lowest->step))
			lowest = run;
	}
	if (lowest == NULL)
		return FAIL_NONE;
	return fail(f, FAIL_DATA,
	    "nothing was deleted: run %s stands at step %" PRIu64
	    "%s and has not read the steps from there to %" PRIu64
	    "; --force deletes them all the same",
	    lowest->name, lowest->step,
	    lowest->committed ? "" : " (as the ledger says; the broker has no commit of it)", step);
}
