#include "producer/writer/holder.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#define PREFIX "produce-"

enum { STAT_BYTES = 1024, STAT_START = 22 /* see proc(5), /proc/pid/stat */ };

/*
 * State and start of a process. false: /proc does not show it. The name of the program, in
 * parentheses, may hold anything: what counts stands behind the last one.
 */
static bool
process_stat(long pid, char *state, uint64_t *start)
{
	char path[64], text[STAT_BYTES], *at;
	FILE *in;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
	in = fopen(path, "re");
	if (in == NULL)
		return false;
	n = fread(text, 1, sizeof(text) - 1, in);
	fclose(in);
	text[n] = '\0';
	at = strrchr(text, ')');
	if (at == NULL || sscanf(at, ") %c", state) != 1)
		return false;
	for (int field = 2; field < STAT_START; field++) {
		at = strchr(at + 1, ' ');
		if (at == NULL)
			return false;
	}
	return sscanf(at, " %" SCNu64, start) == 1;
}

/* 0: it cannot be told from others. */
static uint32_t
this_machine(void)
{
	char text[256];
	size_t n = 0;
	FILE *in = fopen("/proc/sys/kernel/random/boot_id", "re");
	ssize_t space;
	uint32_t hash;

	if (in == NULL)
		return 0;
	n = fread(text, 1, sizeof(text) / 2, in);
	fclose(in);
	space = readlink("/proc/self/ns/pid", text + n, sizeof(text) - n);
	if (n == 0 || space <= 0)
		return 0;
	hash = (uint32_t)XXH64(text, n + (size_t)space, 0);
	return hash == 0 ? 1 : hash;
}

struct holder
holder_self(void)
{
	struct holder h = {.pid = (long)getpid(), .machine = this_machine()};
	char state;

	if (!process_stat(h.pid, &state, &h.start))
		h.machine = 0;
	if (gethostname(h.host, sizeof(h.host)) != 0)
		snprintf(h.host, sizeof(h.host), "?");
	h.host[sizeof(h.host) - 1] = '\0';
	return h;
}

void
holder_encode(char out[static HOLDER_CLIENT_BYTES], const struct holder *h)
{
	char text[2 * HOLDER_CLIENT_BYTES + sizeof(h->host)];

	assert(h->pid > 0);
	snprintf(text, sizeof(text), PREFIX "%ld-%" PRIu64 "-%08" PRIx32 "-%s", h->pid, h->start,
	    h->machine, h->host);
	snprintf(
	    out, HOLDER_CLIENT_BYTES, "%.*s", HOLDER_CLIENT_BYTES - (int)sizeof("riffle-"), text);
}

bool
holder_decode(struct holder *out, const char *client)
{
	struct holder h = {0};

	if (sscanf(client, "riffle-" PREFIX "%ld-%" SCNu64 "-%8" SCNx32 "-%63s", &h.pid, &h.start,
		&h.machine, h.host) != 4 ||
	    h.pid <= 0)
		return false;
	*out = h;
	return true;
}

/*
 * /proc may hide the processes of other users, so that one which it does not show may live; kill(2)
 * knows of all. A zombie has ended: it writes nothing more.
 */
bool
holder_dead(const struct holder *h)
{
	uint64_t start;
	char state;

	if (h->machine == 0 || h->machine != this_machine())
		return false;
	if (kill((pid_t)h->pid, 0) != 0 && errno == ESRCH)
		return true;
	return process_stat(h->pid, &state, &start) &&
	       (start != h->start || state == 'Z' || state == 'X');
}
