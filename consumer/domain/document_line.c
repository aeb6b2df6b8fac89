#include "consumer/domain/document_line.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

static bool
same(struct text_view a, struct text_view b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.bytes, b.bytes, a.n) == 0);
}

/* Counts on from a document that stands before, or back from one that stands behind. */
static struct document_line
between(const struct sequence_position *low, const struct sequence_position *high,
    uint64_t document, uint64_t first)
{
	struct document_line l = {0};

	assert(low == NULL || low->document <= document);
	assert(high == NULL || high->document >= document);
	if (low != NULL) {
		l.line = low->line + (document - low->document);
		l.exact =
		    low->document == document ||
		    (high != NULL && high->line - low->line == high->document - low->document);
	} else if (high != NULL && high->line > high->document - document) {
		l.line = high->line - (high->document - document);
		/* The file's first document here cannot stand before line 1. */
		l.exact = high->line == high->document - first + 1;
	}
	if (high != NULL && high->document == document)
		l = (struct document_line){high->line, true};
	return l;
}

void
document_lines(struct document_line *out, const struct sequence_position *before,
    const struct sequence_view *s, const struct sequence_span *span, const struct text_view *source)
{
	const struct sequence_position *now = &s->position;
	uint64_t first = 0; /* document of the file here, of those that follow each other */

	for (size_t i = 0; i < s->payload.spans_n; i++) {
		const struct sequence_position *low = NULL, *high = NULL;
		struct text_view file = source[span[i].source];
		uint64_t d = span[i].document;

		if (i == 0 || span[i].source != span[i - 1].source)
			first = d;
		if (before != NULL && same(before->file, file) && before->document <= d)
			low = before;
		if (same(now->file, file) && now->document <= d && now->window > 0)
			low = now;
		if (same(now->file, file) && now->document >= d && now->window == 0)
			high = now;
		out[i] = between(low, high, d, first);
	}
}
