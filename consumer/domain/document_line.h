/*
 * document_line.h -- at which lines of their files the documents of a sequence stand.
 *
 * A sequence names each of its documents by its index in the whole input. Only the record's
 * position (sequence.h) names a line: that of the last document, or, packed in windows, of the
 * window's first one. The position in the record before gives that of the document before. Between
 * two known documents of a file as many lines as documents leave no choice:
 *
 *     record before: document 40, line 41 of a.jsonl       this one ends in: document 43, line 44
 *     documents 41 and 42 are lines 42 and 43, for no line between holds anything else
 *
 * Where blank lines stand between, or only one side is known, the line is the one without blank
 * lines, and not exact. Line 1 at the least leaves no choice either. In a file of tokens the line
 * is the number of the document, in a file that is one document 1.
 *
 * Pure.
 */
#ifndef CONSUMER_DOMAIN_DOCUMENT_LINE_H
#define CONSUMER_DOMAIN_DOCUMENT_LINE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/record/sequence.h"

struct document_line {
	uint64_t line; /* from 1; 0: unknown */
	bool exact;
};

/*
 * Fills out[n], of the n spans of the sequence `s` with its sources. `before` is the position in
 * the record before it; NULL: there is none, or it is unknown.
 */
void document_lines(struct document_line *out, const struct sequence_position *before,
    const struct sequence_view *s, const struct sequence_span *span,
    const struct text_view *source);

#endif
