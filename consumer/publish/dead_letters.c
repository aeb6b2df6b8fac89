#include "consumer/publish/dead_letters.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* What the struct points to is const for transactions.h, and ours here. */
static void
free_parts(struct transactions_reject *reject)
{
	free((void *)(uintptr_t)reject->topic);
	free((void *)(uintptr_t)reject->domain);
	free((void *)(uintptr_t)reject->reason);
	free((void *)(uintptr_t)reject->bytes);
}

void
dead_letters_keep(struct dead_letters *r, const struct transactions_reject *reject)
{
	struct transactions_reject *grown = realloc(r->reject, (r->n + 1) * sizeof(*grown)), *to;
	uint8_t *bytes;

	assert(reject->topic != NULL);
	assert(reject->reason != NULL);
	if (grown == NULL)
		return;
	r->reject = grown;
	to = &grown[r->n];
	*to = *reject;
	to->topic = strdup(reject->topic);
	to->domain = reject->domain == NULL ? NULL : strdup(reject->domain);
	to->reason = strdup(reject->reason);
	to->bytes = bytes = malloc(reject->n + 1);
	if (to->topic == NULL || to->reason == NULL || bytes == NULL ||
	    (to->domain == NULL && reject->domain != NULL)) {
		free_parts(to);
		return;
	}
	if (reject->n > 0)
		memcpy(bytes, reject->bytes, reject->n);
	r->n++;
}

enum fail_code
dead_letters_put(const struct dead_letters *r, struct transactions *t, struct failure *f)
{
	for (size_t i = 0; i < r->n; i++)
		if (transactions_put_reject(t, &r->reject[i], f) != FAIL_NONE)
			return f->code;
	return FAIL_NONE;
}

void
dead_letters_clear(struct dead_letters *r)
{
	for (size_t i = 0; i < r->n; i++)
		free_parts(&r->reject[i]);
	free(r->reject);
	*r = (struct dead_letters){0};
}
