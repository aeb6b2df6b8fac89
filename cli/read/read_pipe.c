#include "cli/read/read_pipe.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum { SLICE_MS = 200, BUFFER_BYTES = 64 << 10 };

struct read_pipe {
	int fd;
	bool waits; /* it is no regular file */
	const struct stop *stop;
};

/* Whether there is room for a piece; false: stopped meanwhile. */
static bool
wait_room(const struct read_pipe *p)
{
	for (;;) {
		bool stopped = stop_asked(p->stop);
		struct pollfd room = {.fd = p->fd, .events = POLLOUT};

		if (poll(&room, 1, SLICE_MS) > 0)
			return true; /* room, or an error that write() names */
		if (stopped)
			return false;
	}
}

static ssize_t
take(void *cookie, const char *bytes, size_t n)
{
	struct read_pipe *p = cookie;
	size_t done = 0;

	while (done < n) {
		size_t piece = n - done;
		ssize_t written;

		if (p->waits && piece > PIPE_BUF)
			piece = PIPE_BUF;
		if (p->waits && !wait_room(p)) {
			errno = EINTR;
			return 0;
		}
		written = write(p->fd, bytes + done, piece);
		if (written < 0 && errno != EINTR && errno != EAGAIN)
			return 0;
		done += written > 0 ? (size_t)written : 0;
	}
	return (ssize_t)n;
}

static int
end(void *cookie)
{
	free(cookie);
	return 0;
}

FILE *
read_pipe_open(int fd, const struct stop *stop)
{
	struct read_pipe *p = malloc(sizeof(*p));
	struct stat about;
	FILE *f;

	assert(stop != NULL);
	if (p == NULL)
		return NULL;
	*p = (struct read_pipe){.fd = fd, .stop = stop};
	p->waits = fstat(fd, &about) == 0 && !S_ISREG(about.st_mode);
	f = fopencookie(p, "w", (cookie_io_functions_t){.write = take, .close = end});
	if (f == NULL)
		free(p);
	else
		setvbuf(f, NULL, _IOFBF, BUFFER_BYTES);
	return f;
}
