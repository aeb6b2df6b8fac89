#include "producer/writer/contents.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "common/record/frame.h"

enum fail_code
contents_open(struct contents *out, const struct sequence_view *s, struct failure *f)
{
	const struct sequence_payload_view *p = &s->payload;
	struct frame_codec *codec = NULL;
	enum fail_code code;

	out->source = calloc(p->sources_n + 1, sizeof(*out->source));
	out->span = calloc(p->spans_n + 1, sizeof(*out->span));
	out->no_loss = calloc(p->no_loss_n + 1, sizeof(*out->no_loss));
	out->token = malloc(p->count * sizeof(*out->token));
	if (out->source == NULL || out->span == NULL || out->no_loss == NULL || out->token == NULL)
		return fail_memory(f);
	code = sequence_payload_check_hash(p, f);
	if (code == FAIL_NONE)
		code = frame_codec_open(&codec, f);
	if (code == FAIL_NONE)
		code = frame_decode(codec, p->frame, p->frame_n, p->count, p->width, out->token,
		    sizeof(*out->token), f);
	if (code == FAIL_NONE)
		sequence_payload_lists(p, out->source, out->span, out->no_loss);
	frame_codec_close(codec);
	return code;
}

void
contents_close(struct contents *c)
{
	free(c->source);
	free(c->span);
	free(c->no_loss);
	free(c->token);
	memset(c, 0, sizeof(*c));
}

static uint64_t
add(uint64_t hash, uint64_t value)
{
	return XXH64(&value, sizeof(value), hash);
}

uint64_t
contents_hash(const struct contents *c, const struct sequence_view *s)
{
	const struct sequence_payload_view *p = &s->payload;
	const struct sequence_position *at = &s->position;
	uint64_t hash = XXH64(c->token, p->count * sizeof(*c->token), p->used);

	for (size_t i = 0; i < p->spans_n; i++) {
		hash = add(hash, c->span[i].start);
		hash = add(hash, c->span[i].document);
		hash = add(hash, c->span[i].offset);
	}
	for (size_t i = 0; i < p->no_loss_n; i++)
		hash = add(hash, (uint64_t)c->no_loss[i].start << 32 | c->no_loss[i].end);
	hash = XXH64(at->file.bytes, at->file.n, hash);
	return add(add(add(hash, at->document), at->byte), at->offset);
}
