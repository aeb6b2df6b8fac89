/*
 * holder.h without the machine, in the place of producer/writer/holder.c. The process ID is the
 * number under which the driver started the process. Actors are on two simulated machines, and only
 * the machine of a dead process knows at once that it is dead.
 */
#include "producer/writer/holder.h"

#include <inttypes.h>
#include <stdio.h>

#include "tests/sim/world.h"

enum { MACHINES = 2 };

static uint32_t
this_machine(void)
{
	return 1 + (uint32_t)cluster->chance.actor % MACHINES;
}

struct holder
holder_self(void)
{
	struct holder h = {
	    .pid = (long)cluster->chance.process, .start = 1, .machine = this_machine()};

	snprintf(h.host, sizeof(h.host), "machine%" PRIu32, h.machine);
	return h;
}

void
holder_encode(char out[static HOLDER_CLIENT_BYTES], const struct holder *h)
{
	snprintf(out, HOLDER_CLIENT_BYTES, "produce-%ld-%" PRIu32, h->pid, h->machine);
}

bool
holder_decode(struct holder *out, const char *client)
{
	struct holder h = {.start = 1};

	if (sscanf(client, "riffle-produce-%ld-%" SCNu32, &h.pid, &h.machine) != 2)
		return false;
	snprintf(h.host, sizeof(h.host), "machine%" PRIu32, h.machine);
	*out = h;
	return true;
}

bool
holder_dead(const struct holder *h)
{
	if (h->machine != this_machine())
		return false;
	for (size_t i = 0; i < WORLD_ACTORS; i++)
		if (world_told()->process[i] == (uint64_t)h->pid)
			return false;
	return true;
}
