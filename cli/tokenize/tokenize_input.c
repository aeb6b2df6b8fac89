#include "cli/tokenize/tokenize_input.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "producer/input/record_cutter.h"
#include "producer/input/stream.h"

struct tokenize_input {
	struct stream *stream; /* NULL: standard input */
	const char *name;
	struct record_cutter *cutter;
	bool ended;
};

static bool
is_text(const char *path)
{
	size_t n = path == NULL ? 0 : strlen(path);

	return n > 4 && strcmp(path + n - 4, ".txt") == 0;
}

enum fail_code
tokenize_input_open(struct tokenize_input **out, const char *path, struct failure *f)
{
	struct tokenize_input *in = calloc(1, sizeof(*in));

	if (in == NULL)
		return fail_memory(f);
	in->name = path == NULL ? "standard input" : path;
	if ((path != NULL && stream_open_file(&in->stream, path, path, f) != FAIL_NONE) ||
	    record_cutter_open(
		&in->cutter, TOKENIZE_INPUT_LINE_MAX, TOKENIZE_INPUT_CHUNK_BYTES, f) != FAIL_NONE) {
		tokenize_input_close(in);
		return f->code;
	}
	record_cutter_start(
	    in->cutter, in->name, is_text(path) ? CHUNK_WHOLE_FILE : CHUNK_JSON_LINES, 0, 1);
	*out = in;
	return FAIL_NONE;
}

void
tokenize_input_close(struct tokenize_input *in)
{
	if (in == NULL)
		return;
	stream_close(in->stream);
	record_cutter_close(in->cutter);
	free(in);
}

static enum fail_code
read_some(struct tokenize_input *in, char *room, size_t room_n, size_t *got, struct failure *f)
{
	ssize_t n;

	if (in->stream != NULL) {
		if (stream_read(in->stream, room, room_n, got, f) == FAIL_NONE)
			return FAIL_NONE;
		return f->code == FAIL_DATA ? fail_within(f, "%s", in->name) : f->code;
	}
	do
		n = read(STDIN_FILENO, room, room_n);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return fail_errno(f, FAIL_IO, "%s: cannot be read", in->name);
	*got = (size_t)n;
	return FAIL_NONE;
}

enum fail_code
tokenize_input_next(struct tokenize_input *in, struct chunk **out, struct failure *f)
{
	bool full = false;

	while (!in->ended) {
		size_t room, got = 0;
		char *at;

		if (record_cutter_cut(in->cutter, &full, f) != FAIL_NONE)
			return f->code;
		if (full)
			break;
		if (record_cutter_room(in->cutter, &at, &room, f) != FAIL_NONE ||
		    read_some(in, at, room, &got, f) != FAIL_NONE)
			return f->code;
		record_cutter_feed(in->cutter, got);
		if (got > 0)
			continue;
		in->ended = true;
		if (record_cutter_end(in->cutter, NULL, f) != FAIL_NONE)
			return f->code;
	}
	return record_cutter_take(in->cutter, 0, out, f);
}
