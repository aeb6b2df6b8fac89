#include "producer/input/token_window.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/record/token_format.h"
#include "producer/input/stream.h"

/* A file in /proc has bytes, though its size is 0. */
static enum fail_code
check_empty(const struct token_window *w, struct failure *f)
{
	uint8_t first;
	ssize_t got = pread(w->fd, &first, 1, 0);
	struct stat now;

	if (got < 0 || fstat(w->fd, &now) != 0)
		return fail_errno(f, FAIL_IO, "%s: cannot be read", w->name);
	return stream_check_sizes(w->name, 0, (uint64_t)now.st_size, (uint64_t)got, f);
}

static enum fail_code
measure(struct token_window *w, struct failure *f)
{
	struct stat st;

	if (fstat(w->fd, &st) != 0)
		return fail_errno(f, FAIL_IO, "%s: its size cannot be asked", w->name);
	if (!S_ISREG(st.st_mode))
		return fail(f, FAIL_DATA,
		    "%s: is not a regular file, and could not be read again after a crash",
		    w->name);
	w->size_bytes = (uint64_t)st.st_size;
	return st.st_size == 0 ? check_empty(w, f) : FAIL_NONE;
}

enum fail_code
token_window_open(
    struct token_window *w, const char *path, const char *name, size_t room, struct failure *f)
{
	assert(w->bytes == NULL);
	assert(room >= sizeof(uint64_t));
	w->fd = -1;
	w->name = strdup(name);
	w->bytes = malloc(room);
	w->room = room;
	w->n = 0;
	if (w->name == NULL || w->bytes == NULL) {
		fail_memory(f);
		goto failed;
	}
	w->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (w->fd < 0) {
		fail_errno(f, FAIL_IO, "%s: cannot be opened", name);
		goto failed;
	}
	if (measure(w, f) != FAIL_NONE)
		goto failed;
	return FAIL_NONE;
failed:
	token_window_close(w);
	return f->code;
}

void
token_window_close(struct token_window *w)
{
	if (w->bytes != NULL && w->fd >= 0)
		close(w->fd);
	free(w->bytes);
	free(w->name);
	*w = (struct token_window){0};
}

/* Fills the window from `byte` on. */
static enum fail_code
fill(struct token_window *w, uint64_t byte, struct failure *f)
{
	w->at = byte;
	w->n = 0;
	while (w->n < w->room && byte + w->n < w->size_bytes) {
		ssize_t got = pread(w->fd, w->bytes + w->n, w->room - w->n, (off_t)(byte + w->n));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return fail_errno(f, FAIL_IO, "%s: byte %" PRIu64 " cannot be read",
			    w->name, byte + w->n);
		if (got == 0)
			return fail(f, FAIL_IO,
			    "%s: had %" PRIu64 " bytes when it was opened, and ends at %" PRIu64
			    " now: it must not change while it is read",
			    w->name, w->size_bytes, byte + w->n);
		w->n += (size_t)got;
	}
	return FAIL_NONE;
}

enum fail_code
token_window_get(struct token_window *w, uint64_t byte, size_t n, const uint8_t **out, size_t *got,
    struct failure *f)
{
	assert(n <= w->room);
	if (byte > w->size_bytes || w->size_bytes - byte < n)
		return fail(f, FAIL_DATA,
		    "%s: is truncated: %" PRIu64 " bytes, and byte %" PRIu64 " is needed", w->name,
		    w->size_bytes, byte + n - 1);
	if ((byte < w->at || byte - w->at > w->n || w->n - (byte - w->at) < n) &&
	    fill(w, byte, f) != FAIL_NONE)
		return f->code;
	*out = w->bytes + (byte - w->at);
	*got = w->n - (size_t)(byte - w->at);
	return FAIL_NONE;
}

enum fail_code
token_window_number(
    struct token_window *w, uint64_t byte, unsigned width, uint64_t *out, struct failure *f)
{
	const uint8_t *at;
	size_t got;

	assert(width >= 1);
	assert(width <= sizeof(*out));
	if (token_window_get(w, byte, width, &at, &got, f) != FAIL_NONE)
		return f->code;
	*out = token_format_get(at, width);
	return FAIL_NONE;
}
