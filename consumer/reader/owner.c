#include "consumer/reader/owner.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum { HOST_MAX = 64 };

enum fail_code
owner_draw(char out[static RUN_POSITION_OWNER_MAX], struct failure *f)
{
	char host[HOST_MAX + 1] = "";
	uint64_t number;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return fail_errno(f, FAIL_IO, "cannot draw a random number for the run's commits");
	if (gethostname(host, sizeof(host) - 1) != 0 || host[0] == '\0')
		snprintf(host, sizeof(host), "?");
	for (char *c = host; *c != '\0'; c++)
		if (*c <= ' ' || *c > '~')
			*c = '_';
	snprintf(out, RUN_POSITION_OWNER_MAX, "%s/%ld/%016" PRIx64, host, (long)getpid(), number);
	return FAIL_NONE;
}
