/*
 * rank_bench -- one rank of a world reads the steps of a mix: its rate, and what it fetched.
 *
 *     rank_bench BOOTSTRAP MIX RANK WORLD STEPS
 *
 * Reads the steps [0, STEPS) with libriffle, without commits, and prints one line: its tokens a
 * second from its first step on, and the bytes that its connections have received by then. There
 * should be no more steps than these, or it fetches some of them too.
 */
#include <inttypes.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "bench/now.h"
#include "consumer/reader/riffle.h"

enum { TIMEOUT_MS = 60000 };

/* What the open TCP connections of this process have received. */
static uint64_t
received(void)
{
	struct rlimit files;
	uint64_t bytes = 0;

	getrlimit(RLIMIT_NOFILE, &files);
	for (int fd = 3; fd < (int)files.rlim_cur; fd++) {
		struct tcp_info info = {0};
		socklen_t n = sizeof(info);

		if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &n) == 0)
			bytes += info.tcpi_bytes_received;
	}
	return bytes;
}

static _Noreturn void
end_with(const char *mix, const struct riffle_error *e)
{
	fprintf(stderr, "rank_bench: %s: %s\n", mix, e->text);
	exit(1);
}

int
main(int argc, char **argv)
{
	struct riffle_options options = {
	    .size = sizeof(options), .start = RIFFLE_START_STEP, .token_bytes = 4};
	const struct riffle_step *s;
	struct riffle_error e;
	struct riffle *r;
	uint64_t tokens = 0, steps, all = 0;
	double begun = 0, seconds;

	if (argc != 6) {
		fprintf(stderr, "usage: %s BOOTSTRAP MIX RANK WORLD STEPS\n", argv[0]);
		return 2;
	}
	options.bootstrap = argv[1];
	options.mix = argv[2];
	options.rank = (uint32_t)strtoul(argv[3], NULL, 10);
	options.world = (uint32_t)strtoul(argv[4], NULL, 10);
	steps = strtoull(argv[5], NULL, 10);
	if (riffle_open(&r, &options, &e) != RIFFLE_OK)
		end_with(options.mix, &e);
	for (uint64_t i = 0; i < steps; i++) {
		if (riffle_next(r, TIMEOUT_MS, &s, &e) != RIFFLE_OK)
			end_with(options.mix, &e);
		if (begun == 0)
			begun = now();
		else
			tokens += s->sequences * s->tokens_each;
		all += s->sequences;
	}
	seconds = now() - begun;
	printf("sequences=%" PRIu64 " tokens_per_s=%.0f received=%" PRIu64 "\n", all,
	    (double)tokens / seconds, received());
	riffle_close(r);
	return 0;
}
