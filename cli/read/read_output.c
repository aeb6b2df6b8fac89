#include "cli/read/read_output.h"

#include <assert.h>
#include <endian.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "common/base/json_text.h"
#include "common/base/utf8.h"
#include "common/terminal/terminal.h"

enum { LITTLE_TOKENS = 4096 }; /* tokens brought into little-endian order at a time */

const char *const read_output_format_text[] = {[READ_OUTPUT_STEPS] = "steps",
    [READ_OUTPUT_JSONL] = "jsonl",
    [READ_OUTPUT_TOKENS] = "tokens",
    [READ_OUTPUT_NONE] = "none",
    NULL};

struct read_output {
	FILE *to;
	enum read_output_format format;
	XXH64_state_t *hash;
	const char **name; /* domains of a lane's sequences, to be sorted */
	size_t name_room;
};

enum fail_code
read_output_open(
    struct read_output **out, FILE *to, enum read_output_format format, struct failure *f)
{
	struct read_output *o = calloc(1, sizeof(*o));

	if (o == NULL)
		return fail_memory(f);
	o->to = to;
	o->format = format;
	o->hash = XXH64_createState();
	if (o->hash == NULL) {
		free(o);
		return fail_memory(f);
	}
	*out = o;
	return FAIL_NONE;
}

void
read_output_close(struct read_output *o)
{
	if (o == NULL)
		return;
	XXH64_freeState(o->hash);
	free(o->name);
	free(o);
}

/* Hands over tokens as little-endian bytes, straight from memory where that is its order. */
static void
each_little(const uint32_t *tokens, size_t n,
    void (*take)(struct read_output *o, const void *bytes, size_t size_bytes),
    struct read_output *o)
{
	uint32_t little[LITTLE_TOKENS];

	if (htole32(1) == 1) {
		take(o, tokens, n * sizeof(*tokens));
		return;
	}
	for (size_t at = 0; at < n; at += LITTLE_TOKENS) {
		size_t some = n - at < LITTLE_TOKENS ? n - at : LITTLE_TOKENS;

		for (size_t i = 0; i < some; i++)
			little[i] = htole32(tokens[at + i]);
		take(o, little, some * sizeof(*little));
	}
}

static void
take_hash(struct read_output *o, const void *bytes, size_t size_bytes)
{
	XXH64_update(o->hash, bytes, size_bytes);
}

static void
take_write(struct read_output *o, const void *bytes, size_t size_bytes)
{
	fwrite(bytes, 1, size_bytes, o->to);
}

static int
compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/*
 * "code:2,web:6", sorted by the bytes of the names. Sorting brings equal names together, so that
 * each run of them is a count; [i, end) is one. `name` keeps its room from lane to lane.
 */
static enum fail_code
print_counts(struct read_output *o, const struct riffle_sequence *s, size_t n, struct failure *f)
{
	const char *between = "";

	if (o->name_room < n) {
		const char **name = realloc(o->name, n * sizeof(*name));

		if (name == NULL)
			return fail_memory(f);
		o->name = name;
		o->name_room = n;
	}
	for (size_t i = 0; i < n; i++)
		o->name[i] = s[i].domain;
	qsort(o->name, n, sizeof(*o->name), compare_names);
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && strcmp(o->name[i], o->name[end]) == 0; end++)
			;
		fprintf(o->to, "%s%s:%zu", between, o->name[i], end - i);
		between = ",";
	}
	fputc('\n', o->to);
	return FAIL_NONE;
}

static enum fail_code
print_lane(
    struct read_output *o, const struct riffle_step *s, size_t first, size_t n, struct failure *f)
{
	const uint32_t *tokens = s->tokens;

	XXH64_reset(o->hash, 0);
	each_little(tokens + first * s->tokens_each, n * s->tokens_each, take_hash, o);
	fprintf(o->to, "%" PRIu64 "\t%" PRIu32 "\t%016" PRIx64 "\t", s->step,
	    s->sequence[first].lane, (uint64_t)XXH64_digest(o->hash));
	return print_counts(o, &s->sequence[first], n, f);
}

static void
print_text(FILE *to, const char *text)
{
	fputc('"', to);
	terminal_print(to, TEXT_JSON, text, strlen(text));
	fputc('"', to);
}

/* Decimal digits by hand: printf() is slow for millions of tokens. */
static void
print_tokens(FILE *to, const uint32_t *tokens, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char digits[12], *at = digits + sizeof(digits);
		uint32_t rest = tokens[i];

		do
			*--at = (char)('0' + rest % 10);
		while ((rest /= 10) > 0);
		if (i > 0)
			*--at = ',';
		fwrite(at, 1, (size_t)(digits + sizeof(digits) - at), to);
	}
}

/* Whether it is JSON on one line, as the producer has made it, and can be printed as it is. */
static bool
is_json_line(const char *text, size_t n)
{
	struct json_text t = {.start = text, .at = text, .end = text + n};

	return memchr(text, '\n', n) == NULL && utf8_valid_bytes(text, n) == n &&
	       json_text_skip(&t, 0) && t.at == t.end;
}

static void
print_masks(FILE *to, const struct riffle_sequence *q)
{
	fprintf(to, ",\"used\":%" PRIu32 ",\"no_loss\":[", q->used);
	for (size_t i = 0; i < q->no_loss_n; i++)
		fprintf(to, "%s[%" PRIu32 ",%" PRIu32 "]", i == 0 ? "" : ",", q->no_loss[i].start,
		    q->no_loss[i].end);
	fputc(']', to);
	if (q->spans_n == 0 || q->spans[0].keep_n == 0)
		return;
	fputs(",\"keep\":", to);
	if (is_json_line(q->spans[0].keep, q->spans[0].keep_n))
		fwrite(q->spans[0].keep, 1, q->spans[0].keep_n, to);
	else
		print_text(to, q->spans[0].keep);
}

/* Which stretches of which documents the sequence is made of. */
static void
print_spans(FILE *to, const struct riffle_sequence *q)
{
	fputs(",\"spans\":[", to);
	for (size_t i = 0; i < q->spans_n; i++) {
		const struct riffle_span *span = &q->spans[i];

		fprintf(to, "%s{\"start\":%" PRIu32 ",\"source\":", i == 0 ? "" : ",", span->start);
		print_text(to, span->source);
		fprintf(to, ",\"document\":%" PRIu64 ",\"offset\":%" PRIu64 "}", span->document,
		    span->offset);
	}
	fputc(']', to);
}

static void
print_sequence(struct read_output *o, const struct riffle_step *s, size_t i)
{
	const struct riffle_sequence *q = &s->sequence[i];

	fprintf(o->to, "{\"step\":%" PRIu64 ",\"lane\":%" PRIu32 ",\"domain\":", s->step, q->lane);
	print_text(o->to, q->domain);
	fprintf(o->to,
	    ",\"partition\":%" PRIu32 ",\"ordinal\":%" PRIu64 ",\"epoch\":%" PRIu64 ",\"source\":",
	    q->partition, q->ordinal, q->epoch);
	print_text(o->to, q->spans_n == 0 ? "" : q->spans[0].source);
	print_masks(o->to, q);
	print_spans(o->to, q);
	fputs(",\"phase\":", o->to);
	print_text(o->to, s->phase);
	fprintf(o->to, ",\"lr_scale\":%.17g,\"version\":%" PRIu64, s->lr_scale, s->version);
	fputs(",\"tokens\":[", o->to);
	print_tokens(o->to, (const uint32_t *)s->tokens + i * s->tokens_each, s->tokens_each);
	fputs("]}\n", o->to);
}

enum fail_code
read_output_step(
    struct read_output *o, const struct riffle_step *s, size_t lanes, struct failure *f)
{
	size_t each = s->sequences / lanes;

	assert(each > 0 && s->sequences % lanes == 0);
	switch (o->format) {
	case READ_OUTPUT_NONE: return FAIL_NONE;
	case READ_OUTPUT_STEPS:
		for (size_t i = 0; i < s->sequences; i += each)
			if (print_lane(o, s, i, each, f) != FAIL_NONE)
				return f->code;
		break;
	case READ_OUTPUT_JSONL:
		for (size_t i = 0; i < s->sequences; i++)
			print_sequence(o, s, i);
		break;
	case READ_OUTPUT_TOKENS:
		each_little(s->tokens, s->sequences * s->tokens_each, take_write, o);
		break;
	}
	if (fflush(o->to) != 0 || ferror(o->to))
		return fail_errno(f, FAIL_IO, "writing step %" PRIu64, s->step);
	return FAIL_NONE;
}
