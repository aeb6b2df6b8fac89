/* stream_gz.c -- gzip files, with all their members. */
#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "common/base/log.h"
#include "producer/input/stream_kind.h"

enum { WINDOW_BITS = 15 + 16 }; /* the largest, and only gzip, no zlib format */

struct gz {
	z_stream z;
	bool opened;
	bool between;       /* a member has ended and the next has not begun */
	bool done;          /* nothing of use comes any more */
	struct failure met; /* with the last bytes given, for the next read; code FAIL_NONE: none */
	bool held_back; /* inflate() had no more room: it may have output without further input */
};

static enum fail_code
gz_open(struct stream *s, struct failure *f)
{
	struct gz *g = calloc(1, sizeof(*g));

	s->state = g;
	if (g == NULL || inflateInit2(&g->z, WINDOW_BITS) != Z_OK)
		return fail_memory(f);
	g->opened = true;
	return FAIL_NONE;
}

static enum fail_code
fail_truncated(const struct stream *s, struct failure *f)
{
	return fail(f, FAIL_DATA, "gzip data ends at byte %" PRIu64 ", in the middle of a member",
	    stream_used(s));
}

/* Whatever stands after the last member, as gzip(1) takes it. */
static enum fail_code
skip_trailer(struct stream *s, struct gz *g, struct failure *f)
{
	g->done = true;
	while (s->at < s->n && s->stored[s->at] == 0) {
		s->at++;
		if (stream_need(s, 1, f) != FAIL_NONE)
			return f->code;
	}
	if (s->at < s->n)
		log_warning("input: INPUT-GARBAGE file=%s byte=%" PRIu64
			    " what follows the gzip data is ignored",
		    s->name, stream_used(s));
	return FAIL_NONE;
}

/* Goes to the next member, or sets done. The first byte of a mark alone is a member cut off. */
static enum fail_code
next_member(struct stream *s, struct gz *g, struct failure *f)
{
	size_t left;

	if (stream_need(s, 2, f) != FAIL_NONE)
		return f->code;
	left = s->n - s->at;
	if (left == 0 || s->stored[s->at] != 0x1f || (left > 1 && s->stored[s->at + 1] != 0x8b))
		return skip_trailer(s, g, f);
	if (inflateReset(&g->z) != Z_OK)
		return fail_memory(f);
	g->between = g->held_back = false;
	return FAIL_NONE;
}

/* One call of inflate(); its output is counted in g->z.avail_out. */
static enum fail_code
inflate_some(struct stream *s, struct gz *g, struct failure *f)
{
	int answer;

	if (stream_need(s, 1, f) != FAIL_NONE)
		return f->code;
	if (s->at == s->n && !g->held_back)
		return fail_truncated(s, f);
	g->z.next_in = s->stored + s->at;
	g->z.avail_in = (uInt)(s->n - s->at);
	answer = inflate(&g->z, Z_NO_FLUSH);
	s->at = s->n - g->z.avail_in;
	g->held_back = g->z.avail_out == 0;
	switch (answer) {
	case Z_STREAM_END: g->between = true; return FAIL_NONE;
	case Z_OK:
	case Z_BUF_ERROR: return FAIL_NONE;
	case Z_MEM_ERROR: return fail_memory(f);
	default:
		return fail(f, FAIL_DATA, "gzip data is damaged at byte %" PRIu64 " (%s)",
		    stream_used(s), g->z.msg != NULL ? g->z.msg : "no reason given");
	}
}

static enum fail_code
gz_read(struct stream *s, char *out, size_t room, size_t *got, struct failure *f)
{
	struct gz *g = s->state;
	uInt space = room < UINT_MAX ? (uInt)room : UINT_MAX;
	enum fail_code code = FAIL_NONE;

	if (g->met.code != FAIL_NONE) {
		*f = g->met;
		return f->code;
	}
	g->z.next_out = (Bytef *)out;
	g->z.avail_out = space;
	while (code == FAIL_NONE && !g->done && g->z.avail_out == space)
		code = g->between ? next_member(s, g, f) : inflate_some(s, g, f);
	*got = space - g->z.avail_out;
	if (code == FAIL_NONE || *got == 0)
		return code;
	g->met = *f; /* first what inflate() gave before it met the damage */
	return FAIL_NONE;
}

static void
gz_close(struct stream *s)
{
	struct gz *g = s->state;

	if (g != NULL && g->opened)
		inflateEnd(&g->z);
	free(g);
}

const struct stream_kind stream_gz = {gz_open, gz_read, gz_close};
