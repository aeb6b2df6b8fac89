/* stream_plain.c -- a file as it is. */
#include <string.h>

#include "producer/input/stream_kind.h"

static enum fail_code
plain_open(struct stream *s, struct failure *f)
{
	(void)s;
	(void)f;
	return FAIL_NONE;
}

static enum fail_code
plain_read(struct stream *s, char *out, size_t room, size_t *got, struct failure *f)
{
	size_t stored = s->n - s->at;

	if (stored == 0)
		return stream_read_fd(s, out, room, got, f);
	*got = room < stored ? room : stored;
	memcpy(out, s->stored + s->at, *got);
	s->at += *got;
	return FAIL_NONE;
}

static void
plain_close(struct stream *s)
{
	(void)s;
}

const struct stream_kind stream_plain = {plain_open, plain_read, plain_close};
