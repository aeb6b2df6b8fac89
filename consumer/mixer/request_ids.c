#include "consumer/mixer/request_ids.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/record/ledger.h"

void
request_ids_close(struct request_ids *r)
{
	for (size_t i = 0; i < r->n; i++)
		free(r->id[i]);
	free(r->id);
	*r = (struct request_ids){0};
}

enum fail_code
request_ids_copy(struct request_ids *to, const struct request_ids *from, struct failure *f)
{
	assert(to->n == 0);
	to->id = calloc(from->n + 1, sizeof(*to->id));
	if (to->id == NULL)
		return fail_memory(f);
	for (; to->n < from->n; to->n++) {
		to->id[to->n] = strdup(from->id[to->n]);
		if (to->id[to->n] == NULL)
			return fail_memory(f);
	}
	return FAIL_NONE;
}

bool
request_ids_has(const struct request_ids *r, const char *id)
{
	for (size_t i = 0; i < r->n; i++)
		if (strcmp(r->id[i], id) == 0)
			return true;
	return false;
}

enum fail_code
request_ids_add(struct request_ids *r, const char *id, struct failure *f)
{
	char **grown, *copy = strdup(id);

	assert(r->n <= LEDGER_REQUEST_IDS_MAX);
	if (copy == NULL)
		return fail_memory(f);
	if (r->n == LEDGER_REQUEST_IDS_MAX) {
		free(r->id[0]);
		memmove(r->id, r->id + 1, (r->n - 1) * sizeof(*r->id));
		r->id[r->n - 1] = copy;
		return FAIL_NONE;
	}
	grown = realloc(r->id, (r->n + 1) * sizeof(*grown));
	if (grown == NULL) {
		free(copy);
		return fail_memory(f);
	}
	r->id = grown;
	r->id[r->n++] = copy;
	return FAIL_NONE;
}
