/*
 * tokenizer_bench -- one core's rate of the tokenizer, document by document.
 *
 *     tokenizer_bench TOKENIZER PATTERN FILE.jsonl [RUNS]
 *     tokenizer_bench --once TOKENIZER PATTERN A.docs B.docs [IDS]
 *     tokenizer_bench --threads N TOKENIZER PATTERN A.docs B.docs
 *
 * The field "text" of each line is a document; all are taken out of the JSON before the clock runs.
 *
 * The second form is what scripts/bench-tokenizer runs beside its peers: a process makes one pass
 * over A (cold), one over B (steady: new text, filled cache) and B again (warm), and prints seconds
 * of its processor, which a busy machine does not change; IDS gets the ids of A and B. A .docs file
 * is a little-endian u32 with the length in front of each document.
 *
 * In the third form N threads have an encoder each and first go over all of A, so that their caches
 * are as full as that of one; in the other passes each takes the next document that is left, and
 * the seconds are the clock's, until the last one is done.
 *
 * In the first form each run has a fresh encoder: `cold` is its first pass over the documents,
 * `warm` the second, over the same ones, and `split` the cutting into pieces alone. MB are 10^6
 * bytes of text. The last line holds the number of tokens and the XXH64 of all ids as little-endian
 * u32, for comparisons.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xxhash.h>

#include "bench/now.h"
#include "common/base/json_field.h"
#include "producer/encoder/encoder.h"
#include "producer/pretokenizer/splitter.h"
#include "producer/tokenizer/tokenizer.h"

enum { RUNS_PRESET = 5, RUNS_MAX = 99, PIECES = 1024, PASSES = 3 };

struct documents {
	char *bytes; /* all texts, one after the other */
	size_t *end; /* [n]: where each ends */
	size_t n, room;
};

static struct failure failure;

static void
need(bool well, const char *what)
{
	if (well)
		return;
	fprintf(stderr, "tokenizer_bench: %s: %s\n", what, failure.text);
	exit(1);
}

static size_t
read_lines(const char *path, char **lines)
{
	FILE *in = fopen(path, "rb");
	size_t room = 1 << 28, n;

	need(in != NULL, path);
	*lines = malloc(room);
	need(*lines != NULL, "out of memory");
	n = fread(*lines, 1, room, in);
	need(n < room, "the file is too large");
	fclose(in);
	return n;
}

static void
add(struct documents *d, const char *text, size_t n)
{
	size_t before = d->n == 0 ? 0 : d->end[d->n - 1];

	if (d->n == d->room) {
		d->room = d->room * 2 + 1024;
		d->end = realloc(d->end, d->room * sizeof(*d->end));
		need(d->end != NULL, "out of memory");
	}
	memcpy(d->bytes + before, text, n);
	d->end[d->n++] = before + n;
}

static void
load(struct documents *d, const char *path)
{
	const char *names[] = {"text"};
	struct json_field_scratch *scratch = NULL;
	struct json_field_paths *paths = NULL;
	char *lines = NULL;
	size_t n = read_lines(path, &lines);

	d->bytes = malloc(n + 64);
	need(d->bytes != NULL, "out of memory");
	need(json_field_paths_open(&paths, names, 1, &failure) == FAIL_NONE, "json");
	need(json_field_scratch_open(&scratch, &failure) == FAIL_NONE, "json");
	for (char *p = lines; p < lines + n;) {
		char *newline = memchr(p, '\n', (size_t)(lines + n - p));
		size_t line = (size_t)((newline == NULL ? lines + n : newline) - p);
		struct json_field_value value;

		need(json_field_read(paths, scratch, p, line, &value, &failure) == FAIL_NONE &&
			 value.found == JSON_FIELD_STRING,
		    path);
		add(d, value.bytes, value.n);
		p += line + 1;
	}
	json_field_paths_close(paths);
	json_field_scratch_close(scratch);
	free(lines);
}

/* Seconds of one pass; with a hash the ids go into it. */
static double
pass(struct encoder *e, const struct documents *d, XXH64_state_t *h, uint64_t *tokens)
{
	struct token_buffer ids = {NULL, 0, 0};
	double seconds = 0;

	*tokens = 0;
	for (size_t i = 0, at = 0; i < d->n; at = d->end[i++]) {
		double begun = now();

		ids.n = 0;
		need(encoder_encode(e, d->bytes + at, d->end[i] - at, &ids, &failure) == FAIL_NONE,
		    "encoding");
		seconds += now() - begun;
		*tokens += ids.n;
		if (h != NULL)
			XXH64_update(h, ids.id, ids.n * sizeof(*ids.id));
	}
	token_buffer_close(&ids);
	return seconds;
}

static double
split_pass(enum splitter_pattern pattern, const struct documents *d, uint64_t *pieces)
{
	static uint32_t end[PIECES];
	double begun = now();

	*pieces = 0;
	for (size_t i = 0, at = 0; i < d->n; i++)
		while (at < d->end[i]) {
			size_t n = splitter_pieces(
			    pattern, (const uint8_t *)d->bytes + at, d->end[i] - at, end, PIECES);

			*pieces += n;
			at += end[n - 1];
		}
	return now() - begun;
}

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void
print(const char *what, double *seconds, size_t runs, size_t bytes)
{
	double mb = (double)bytes / 1e6;

	qsort(seconds, runs, sizeof(*seconds), by_value);
	printf("%s MB/s: minimum %.1f, median %.1f, maximum %.1f\n", what, mb / seconds[runs - 1],
	    mb / seconds[runs / 2], mb / seconds[0]);
}

static enum splitter_pattern
pattern_of(const char *text)
{
	for (int i = 0; i < SPLITTER_PATTERNS; i++)
		if (strcmp(text, splitter_pattern_text[i]) == 0)
			return (enum splitter_pattern)i;
	need(false, "unknown pattern");
	return SPLITTER_PATTERNS;
}

/* ---- one process among its peers ---- */

struct shard {
	const struct tokenizer *tokenizer;
	const struct documents *of[2]; /* A and B */
	pthread_barrier_t *barrier;    /* of --threads; NULL: alone */
	atomic_size_t *next;           /* of --threads: the document that is left, a pass */
	double seconds[PASSES];
	uint64_t tokens;
	FILE *ids; /* NULL: not wanted */
};

static void
load_docs(struct documents *d, const char *path)
{
	char *all = NULL;
	size_t n = read_lines(path, &all);

	d->bytes = malloc(n + 64);
	need(d->bytes != NULL, "out of memory");
	for (size_t at = 0; at < n;) {
		const uint8_t *head = (const uint8_t *)all + at;
		size_t length =
		    head[0] | (size_t)head[1] << 8 | (size_t)head[2] << 16 | (size_t)head[3] << 24;

		need(n - at >= 4 && n - at - 4 >= length, path);
		add(d, all + at + 4, length);
		at += 4 + length;
	}
	free(all);
}

static double
processor_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void
encode_one(struct shard *s, struct encoder *e, const struct documents *d, size_t i,
    struct token_buffer *ids)
{
	size_t at = i == 0 ? 0 : d->end[i - 1];

	ids->n = 0;
	need(encoder_encode(e, d->bytes + at, d->end[i] - at, ids, &failure) == FAIL_NONE,
	    "encoding");
	s->tokens += ids->n;
}

/* The clock runs while ids are made, one call a document. */
static void
pass_alone(struct shard *s, struct encoder *e, int pass)
{
	const struct documents *d = s->of[pass > 0];
	struct token_buffer ids = {NULL, 0, 0};

	for (size_t i = 0; i < d->n; i++) {
		double begun = processor_seconds();

		encode_one(s, e, d, i, &ids);
		s->seconds[pass] += processor_seconds() - begun;
		if (s->ids != NULL && pass < 2)
			need(fwrite(ids.id, sizeof(*ids.id), ids.n, s->ids) == ids.n, "ids");
	}
	token_buffer_close(&ids);
}

static void
pass_together(struct shard *s, struct encoder *e, int pass)
{
	const struct documents *d = s->of[pass > 0];
	struct token_buffer ids = {NULL, 0, 0};
	double begun;

	pthread_barrier_wait(s->barrier);
	begun = now();
	for (size_t i = 0; pass == 0 && i < d->n; i++)
		encode_one(s, e, d, i, &ids);
	for (size_t i; pass > 0 && (i = atomic_fetch_add(&s->next[pass], 1)) < d->n;)
		encode_one(s, e, d, i, &ids);
	pthread_barrier_wait(s->barrier);
	s->seconds[pass] = now() - begun;
	token_buffer_close(&ids);
}

static void *
run_shard(void *argument)
{
	struct shard *s = argument;
	struct encoder *e = NULL;

	need(encoder_open(&e, s->tokenizer, &failure) == FAIL_NONE, "opening");
	for (int pass = 0; pass < PASSES; pass++)
		if (s->barrier == NULL)
			pass_alone(s, e, pass);
		else
			pass_together(s, e, pass);
	encoder_close(e);
	return NULL;
}

static int
run_shards(char **words, size_t threads, const char *ids)
{
	struct tokenizer_options o = {.file = words[0], .pattern = words[1]};
	struct documents a = {NULL, NULL, 0, 0}, b = {NULL, NULL, 0, 0};
	pthread_t thread[RUNS_MAX];
	struct shard shard[RUNS_MAX] = {{0}};
	atomic_size_t next[PASSES] = {0};
	pthread_barrier_t barrier;
	struct tokenizer *t = NULL;
	size_t n = threads == 0 ? 1 : threads;
	uint64_t tokens = 0;

	need(tokenizer_open(&t, &o, &failure) == FAIL_NONE, "opening");
	load_docs(&a, words[2]);
	load_docs(&b, words[3]);
	pthread_barrier_init(&barrier, NULL, (unsigned)n);
	for (size_t i = 0; i < n; i++) {
		shard[i] = (struct shard){.tokenizer = t, .of = {&a, &b}, .next = next};
		if (threads > 0)
			shard[i].barrier = &barrier;
		if (ids != NULL)
			need((shard[i].ids = fopen(ids, "wb")) != NULL, ids);
		need(pthread_create(&thread[i], NULL, run_shard, &shard[i]) == 0, "a thread");
	}
	for (size_t i = 0; i < n; i++) {
		pthread_join(thread[i], NULL);
		tokens += shard[i].tokens;
		need(shard[i].ids == NULL || fclose(shard[i].ids) == 0, "ids");
	}
	printf("cold=%.9f steady=%.9f warm=%.9f tokens=%" PRIu64 "\n", shard[0].seconds[0],
	    shard[0].seconds[1], shard[0].seconds[2], tokens);
	pthread_barrier_destroy(&barrier);
	tokenizer_close(t);
	free(a.bytes);
	free(a.end);
	free(b.bytes);
	free(b.end);
	return 0;
}

int
main(int argc, char **argv)
{
	struct tokenizer_options o = {
	    .file = argc > 1 ? argv[1] : NULL, .pattern = argc > 2 ? argv[2] : NULL};
	long runs = argc > 4 && argc < 6 ? strtol(argv[4], NULL, 10) : RUNS_PRESET;
	double cold[RUNS_MAX], warm[RUNS_MAX], split[RUNS_MAX], begun = now();
	struct documents d = {NULL, NULL, 0, 0};
	XXH64_state_t *h = XXH64_createState();
	struct tokenizer *t = NULL;
	uint64_t tokens, pieces;

	if (argc > 5 && strcmp(argv[1], "--once") == 0)
		return run_shards(argv + 2, 0, argc > 6 ? argv[6] : NULL);
	if (argc == 7 && strcmp(argv[1], "--threads") == 0) {
		size_t threads = strtoul(argv[2], NULL, 10);

		need(threads > 0 && threads < RUNS_MAX, "a number of threads is wanted");
		return run_shards(argv + 3, threads, NULL);
	}
	if (argc < 4 || runs < 1 || runs > RUNS_MAX) {
		fprintf(stderr, "usage: tokenizer_bench TOKENIZER PATTERN FILE.jsonl [RUNS]\n");
		return 2;
	}
	need(tokenizer_open(&t, &o, &failure) == FAIL_NONE, "opening");
	printf("open: %.0f ms\n", (now() - begun) * 1e3);
	load(&d, argv[3]);
	need(h != NULL && d.n > 0, "no documents");
	XXH64_reset(h, 0);
	for (long i = 0; i < runs; i++) {
		struct encoder *e = NULL;

		need(encoder_open(&e, t, &failure) == FAIL_NONE, "opening");
		cold[i] = pass(e, &d, i == 0 ? h : NULL, &tokens);
		warm[i] = pass(e, &d, NULL, &tokens);
		split[i] = split_pass(pattern_of(argv[2]), &d, &pieces);
		encoder_close(e);
	}
	print("cold", cold, (size_t)runs, d.end[d.n - 1]);
	print("warm", warm, (size_t)runs, d.end[d.n - 1]);
	print("split", split, (size_t)runs, d.end[d.n - 1]);
	printf("documents=%zu bytes=%zu pieces=%" PRIu64 " tokens=%" PRIu64 " xxh64=%016" PRIx64
	       "\n",
	    d.n, d.end[d.n - 1], pieces, tokens, (uint64_t)XXH64_digest(h));
	XXH64_freeState(h);
	tokenizer_close(t);
	free(d.bytes);
	free(d.end);
	return 0;
}
