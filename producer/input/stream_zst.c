/*
 * stream_zst.c -- zstd files, with all their frames.
 *
 * A call of ZSTD_decompressStream() that fails does not tell what it has put out before. So that
 * nothing before the damage is lost, a call gets no more than the rest of one block, and while
 * output is held back it gets nothing: then a failing call has no output of its own. libzstd's hint
 * counts the 3 bytes of the next block's header in; they are left for the next call.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include <zstd.h>
#include <zstd_errors.h>

#include "producer/input/stream_kind.h"

enum { HEADER_BYTES = 3 };

struct zst {
	ZSTD_DCtx *context;
	size_t hint;    /* what libzstd wants next; 0: a frame has ended */
	bool held_back; /* the output was full: there may be more without input */
};

static enum fail_code
zst_open(struct stream *s, struct failure *f)
{
	struct zst *z = calloc(1, sizeof(*z));

	s->state = z;
	if (z == NULL)
		return fail_memory(f);
	z->context = ZSTD_createDCtx();
	if (z->context == NULL || ZSTD_isError(ZSTD_DCtx_setParameter(
				      z->context, ZSTD_d_windowLogMax, STREAM_WINDOW_LOG_MAX)))
		return fail_memory(f);
	return FAIL_NONE;
}

static enum fail_code
fail_damaged(const struct stream *s, size_t answer, struct failure *f)
{
	switch ((int)ZSTD_getErrorCode(answer)) {
	case ZSTD_error_memory_allocation: return fail_memory(f);
	case ZSTD_error_frameParameter_windowTooLarge:
		return fail(f, FAIL_DATA,
		    "zstd data at byte %" PRIu64 " needs a window of more than 2 GiB",
		    stream_used(s));
	default:
		return fail(f, FAIL_DATA, "zstd data is damaged at byte %" PRIu64 " (%s)",
		    stream_used(s), ZSTD_getErrorName(answer));
	}
}

/* One call of libzstd; sets `finished` at the end of the file. */
static enum fail_code
decompress_some(struct stream *s, ZSTD_outBuffer *out, bool *finished, struct failure *f)
{
	struct zst *z = s->state;
	ZSTD_inBuffer in = {NULL, 0, 0};
	size_t answer;

	if (!z->held_back) {
		size_t wanted = z->hint > HEADER_BYTES ? z->hint - HEADER_BYTES : HEADER_BYTES;

		if (stream_need(s, 1, f) != FAIL_NONE)
			return f->code;
		if (s->at == s->n && z->hint == 0) {
			*finished = true;
			return FAIL_NONE;
		}
		if (s->at == s->n)
			return fail(f, FAIL_DATA,
			    "zstd data ends at byte %" PRIu64 ", in the middle of a frame",
			    stream_used(s));
		in.src = s->stored + s->at;
		in.size = s->n - s->at < wanted ? s->n - s->at : wanted;
	}
	answer = ZSTD_decompressStream(z->context, out, &in);
	if (ZSTD_isError(answer))
		return fail_damaged(s, answer, f);
	s->at += in.pos;
	z->hint = answer;
	/* At a frame's end all is put out; to ask again would begin the next one. */
	z->held_back = answer != 0 && out->pos == out->size;
	return FAIL_NONE;
}

static enum fail_code
zst_read(struct stream *s, char *out, size_t room, size_t *got, struct failure *f)
{
	ZSTD_outBuffer buffer = {out, room, 0};
	bool finished = false;
	enum fail_code code = FAIL_NONE;

	while (code == FAIL_NONE && !finished && buffer.pos == 0)
		code = decompress_some(s, &buffer, &finished, f);
	*got = buffer.pos;
	return code;
}

static void
zst_close(struct stream *s)
{
	struct zst *z = s->state;

	if (z != NULL)
		ZSTD_freeDCtx(z->context);
	free(z);
}

const struct stream_kind stream_zst = {zst_open, zst_read, zst_close};
