#include "producer/produce/rejects.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* A number behind a space is a place or a size; one inside a word or a name is part of it. */
static void
kind_of(const char *reason, char out[static REJECTS_KIND_BYTES])
{
	size_t n = 0;
	bool cut;

	for (size_t i = 0; reason[i] != '\0' && n < REJECTS_KIND_BYTES - 1; n++) {
		if (!isdigit((unsigned char)reason[i]) || (i > 0 && reason[i - 1] != ' ')) {
			out[n] = reason[i++];
			continue;
		}
		out[n] = 'N';
		while (isdigit((unsigned char)reason[i]))
			i++;
	}
	/* What is cut ends before a character, not inside one. */
	cut = n == REJECTS_KIND_BYTES - 1;
	while (cut && n > 0 && ((unsigned char)out[n - 1] & 0xc0) == 0x80)
		n--;
	if (cut && n > 0 && ((unsigned char)out[n - 1] & 0x80) != 0)
		n--;
	out[n] = '\0';
}

void
rejects_add(struct rejects *r, const char *reason)
{
	char kind[REJECTS_KIND_BYTES];
	uint32_t i = 0;

	assert(r->kinds_n <= REJECTS_KINDS_MAX);
	kind_of(reason, kind);
	r->total++;
	while (i < r->kinds_n && strcmp(r->kind[i].reason, kind) != 0)
		i++;
	if (i == REJECTS_KINDS_MAX) {
		r->others++;
		return;
	}
	if (i == r->kinds_n) {
		memcpy(r->kind[i].reason, kind, sizeof(kind));
		r->kinds_n++;
	}
	r->kind[i].count++;
}

void
rejects_format(const struct rejects *r, char out[static REJECTS_TEXT_BYTES])
{
	size_t n = 0;

	out[0] = '\0';
	for (uint32_t i = 0; i < r->kinds_n; i++)
		n += (size_t)snprintf(out + n, REJECTS_TEXT_BYTES - n, "%s%" PRIu64 " %s",
		    i == 0 ? "" : ", ", r->kind[i].count, r->kind[i].reason);
	if (r->others > 0)
		snprintf(
		    out + n, REJECTS_TEXT_BYTES - n, ", %" PRIu64 " for other reasons", r->others);
}
