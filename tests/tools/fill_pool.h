/*
 * fill_pool.h -- the frames that `fill` goes round in: a stream of documents of made-up tokens, cut
 * into sequences of S + 1 with one token of overlap, the last one overlapping with the first.
 */
#ifndef TESTS_TOOLS_FILL_POOL_H
#define TESTS_TOOLS_FILL_POOL_H

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/record/frame.h"

enum { FILL_ZIPF_ROOM = 1 << 16 }; /* entries of the table that tokens are drawn from */

struct pool_frame {
	uint8_t *bytes;
	size_t n;
	uint64_t hash;
	uint64_t documents_before; /* begun in the pool before its first token */
	uint64_t lead;             /* index of its first token in its document */
	uint32_t *start;           /* indices of later first tokens of documents */
	size_t starts_n;
};

struct fill_pool {
	uint32_t length, width, vocabulary, distinct; /* asked for: S, of a token, ids, frames */
	uint64_t seed;
	uint32_t *token; /* distinct * length, and the first one again */
	struct pool_frame *frame;
	uint64_t documents;
};

static void __attribute__((noreturn)) end_with(const char *what)
{
	fprintf(stderr, "fill: %s\n", what);
	exit(1);
}

static void
must(enum fail_code code, const struct failure *f)
{
	if (code != FAIL_NONE)
		end_with(f->text);
}

static void *
memory(size_t n, size_t each)
{
	void *at = calloc(n + 1, each);

	if (at == NULL)
		end_with("out of memory");
	return at;
}

/* splitmix64 (Steele, Lea, Flood 2014). */
static uint64_t
random_next(uint64_t *state)
{
	uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

/* Ids by frequency, as in a BPE vocabulary: id r has a share near 1 / (r + 3). */
static uint32_t *
zipf_table(uint32_t vocabulary)
{
	uint32_t *table = memory(FILL_ZIPF_ROOM, sizeof(*table));
	double top = log(((double)vocabulary + 2) / 3);

	for (uint32_t i = 0; i < FILL_ZIPF_ROOM; i++) {
		uint32_t id = (uint32_t)(3 * exp(top * i / FILL_ZIPF_ROOM)) - 3;

		table[i] = id < vocabulary - 1 ? id : vocabulary - 2;
	}
	return table;
}

/*
 * One document at [at, at + n), its last token eos. Half of the text repeats what stood before it
 * within a few thousand tokens, in runs; that brings zstd to about what it does with prose.
 */
static void
make_document(struct fill_pool *pool, const uint32_t *zipf, uint64_t *state, size_t at, size_t n)
{
	size_t i = at, end = at + n - 1;

	while (i < end) {
		uint64_t x = random_next(state);
		size_t run = 1 + (x >> 8) % 8, back = 1 + (x >> 20) % 1500;

		if ((x & 7) < 3 && back <= i) {
			for (; run > 0 && i < end; run--, i++)
				pool->token[i] = pool->token[i - back];
		} else {
			pool->token[i++] = zipf[(x >> 40) % FILL_ZIPF_ROOM];
		}
	}
	pool->token[end] = pool->vocabulary - 1;
}

/* Documents of 16 to 4,095 tokens, short ones more often; the last one ends with the pool. */
static void
make_tokens(struct fill_pool *pool)
{
	size_t n = (size_t)pool->distinct * pool->length, document;
	uint64_t state = pool->seed;
	uint32_t *zipf = zipf_table(pool->vocabulary);

	pool->token = memory(n, sizeof(*pool->token));
	for (size_t at = 0; at < n; at += document) {
		uint64_t x = random_next(&state);
		size_t least = (size_t)16 << (x % 8);

		document = least + (x >> 8) % least;
		if (document > n - at)
			document = n - at;
		make_document(pool, zipf, &state, at, document);
	}
	pool->token[n] = pool->token[0];
	free(zipf);
}

static void
encode_frame(struct fill_pool *pool, struct frame_codec *codec, uint32_t index)
{
	struct pool_frame *frame = &pool->frame[index];
	size_t count = pool->length + 1, room = frame_bound(count, pool->width);
	uint8_t *bytes = memory(room, 1);
	struct failure f;

	must(frame_encode(codec, pool->token + (size_t)index * pool->length, count, pool->width,
		 bytes, room, &frame->n, &f),
	    &f);
	frame->bytes = realloc(bytes, frame->n);
	if (frame->bytes == NULL)
		end_with("out of memory");
	frame->hash = frame_hash(frame->bytes, frame->n);
}

/* Where documents begin in a frame, from the eos before each. */
static void
find_documents(struct fill_pool *pool, uint32_t index, uint64_t *documents, uint64_t *lead)
{
	struct pool_frame *frame = &pool->frame[index];
	const uint32_t *token = pool->token + (size_t)index * pool->length;
	uint32_t eos = pool->vocabulary - 1;

	frame->documents_before = *documents;
	frame->lead = *lead;
	frame->start = memory(pool->length, sizeof(*frame->start));
	for (uint32_t i = 0; i < pool->length; i++) {
		++*lead;
		if (token[i] != eos)
			continue;
		frame->start[frame->starts_n++] = i + 1;
		++*documents;
		*lead = 0;
	}
}

static void
fill_pool_make(struct fill_pool *pool)
{
	struct frame_codec *codec;
	uint64_t lead = 0;
	struct failure f;

	make_tokens(pool);
	pool->frame = memory(pool->distinct, sizeof(*pool->frame));
	must(frame_codec_open(&codec, &f), &f);
	for (uint32_t i = 0; i < pool->distinct; i++) {
		encode_frame(pool, codec, i);
		find_documents(pool, i, &pool->documents, &lead);
	}
	assert(lead == 0); /* the pool ends with an eos */
	frame_codec_close(codec);
}

static void
fill_pool_close(struct fill_pool *pool)
{
	for (uint32_t i = 0; i < pool->distinct; i++) {
		free(pool->frame[i].bytes);
		free(pool->frame[i].start);
	}
	free(pool->frame);
	free(pool->token);
}

#endif
