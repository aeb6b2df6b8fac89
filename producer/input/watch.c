#include "producer/input/watch.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "common/base/log.h"

enum { EVENT_BYTES = 64 << 10 };

struct watch {
	int fd, stop_fd;
	bool warned; /* that a folder cannot be watched */
};

enum fail_code
watch_open(struct watch **out, int stop_fd, struct failure *f)
{
	struct watch *w = calloc(1, sizeof(*w));

	if (w == NULL)
		return fail_memory(f);
	w->stop_fd = stop_fd;
	w->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (w->fd < 0 && (errno == EMFILE || errno == ENOSYS)) {
		log_warning("input: INPUT-WATCH no inotify handle is left; folders are looked "
			    "through every few seconds instead");
		w->warned = true;
	} else if (w->fd < 0) {
		free(w);
		return fail_errno(f, FAIL_IO, "input: no inotify handle");
	}
	*out = w;
	return FAIL_NONE;
}

void
watch_close(struct watch *w)
{
	if (w == NULL)
		return;
	if (w->fd >= 0)
		close(w->fd);
	free(w);
}

void
watch_folder(struct watch *w, const char *path)
{
	const uint32_t events = IN_MODIFY | IN_CLOSE_WRITE | IN_CREATE | IN_MOVED_TO |
				IN_MOVED_FROM | IN_DELETE | IN_ONLYDIR;

	if (w->fd < 0 || inotify_add_watch(w->fd, path, events) >= 0)
		return;
	if (errno == ENOENT || errno == ENOTDIR || w->warned)
		return;
	log_warning("input: INPUT-WATCH folder %s cannot be watched (errno %d: more folders than "
		    "fs.inotify.max_user_watches, or no right); it is looked through every few "
		    "seconds instead",
	    path, errno);
	w->warned = true;
}

/* Reads all events away; what they are does not matter. */
static void
drain(struct watch *w)
{
	char events[EVENT_BYTES];
	ssize_t n;

	do
		n = read(w->fd, events, sizeof(events));
	while (n > 0 || (n < 0 && errno == EINTR));
}

enum fail_code
watch_wait(struct watch *w, int timeout_ms, struct failure *f)
{
	struct pollfd fds[] = {{w->fd, POLLIN, 0}, {w->stop_fd, POLLIN, 0}}; /* -1 is left out */
	int n;

	assert(timeout_ms >= 0);
	do
		n = poll(fds, 2, timeout_ms);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return fail_errno(f, FAIL_IO, "input: cannot wait for files");
	if (fds[1].revents != 0)
		return fail(f, FAIL_STOPPED, "stopped");
	if (n == 0)
		return fail(f, FAIL_TIMEOUT, "no file has changed");
	drain(w);
	return FAIL_NONE;
}
