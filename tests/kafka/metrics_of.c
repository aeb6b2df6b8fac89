/*
 * metrics_of -- what riffle_metrics() gives a C program: before the first step and, behind a line
 * of two dashes, after STEPS steps, which are committed. A second thread asks all the while.
 *
 *     metrics_of BOOTSTRAP MIX STEPS
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "consumer/reader/riffle.h"

enum { STEP_TIMEOUT_MS = 60000, SMALL = 16 };

static _Noreturn void
end_with(const char *what)
{
	fprintf(stderr, "metrics_of: %s\n", what);
	exit(1);
}

/* Gives the whole text (free), which may grow between the two calls. */
static char *
text_of(const struct riffle *r)
{
	size_t room = riffle_metrics(r, NULL, 0) + 1;

	for (;;) {
		char *text = malloc(room);
		size_t n;

		if (text == NULL)
			end_with("no memory");
		n = riffle_metrics(r, text, room);
		if (n == 0)
			end_with("no text");
		if (n < room) {
			if (strlen(text) != n)
				end_with("the length is not that of the text");
			return text;
		}
		free(text);
		room = n + 1;
	}
}

/* A text that does not fit is cut, and says how long it is; nothing behind the room is written. */
static void
check_small(const struct riffle *r)
{
	char *whole = text_of(r), small[SMALL + 1];

	for (size_t room = 1; room <= SMALL; room++) {
		memset(small, '#', sizeof(small));
		if (riffle_metrics(r, small, room) < strlen(whole))
			end_with("a text that is cut has another length");
		if (strlen(small) != room - 1 || memcmp(small, whole, room - 1) != 0 ||
		    small[room] != '#')
			end_with("a text is not cut to the room");
	}
	free(whole);
}

static atomic_bool done;

static void *
ask(void *reader)
{
	while (!done)
		free(text_of(reader));
	return NULL;
}

int
main(int argc, char **argv)
{
	const struct riffle_property every = {"statistics.interval.ms", "100"};
	struct riffle_options o = {.size = sizeof(o),
	    .run = "c",
	    .world = 1,
	    .start = RIFFLE_START_STEP,
	    .token_bytes = 4,
	    .properties = &every,
	    .properties_n = 1};
	const struct riffle_step *step;
	struct riffle_error e;
	struct riffle *r;
	pthread_t thread;
	char *text;

	if (argc != 4)
		end_with("usage: metrics_of BOOTSTRAP MIX STEPS");
	o.bootstrap = argv[1];
	o.mix = argv[2];
	if (riffle_open(&r, &o, &e) != RIFFLE_OK)
		end_with(e.text);
	text = text_of(r);
	printf("%s--\n", text);
	free(text);
	check_small(r);
	if (pthread_create(&thread, NULL, ask, r) != 0)
		end_with("no thread");
	for (long i = 0; i < strtol(argv[3], NULL, 10); i++)
		if (riffle_next(r, STEP_TIMEOUT_MS, &step, &e) != RIFFLE_OK)
			end_with(e.text);
	if (riffle_commit(r, &e) != RIFFLE_OK)
		end_with(e.text);
	/* Of librdkafka it has figures once riffle_next() is called; there is no further step. */
	while (riffle_next(r, STEP_TIMEOUT_MS / 1000, &step, &e) == RIFFLE_TIMEOUT) {
		text = text_of(r);
		if (strstr(text, "riffle_kafka_received_bytes_total") != NULL)
			break;
		free(text);
	}
	done = 1;
	pthread_join(thread, NULL);
	printf("%s", text);
	free(text);
	riffle_close(r);
	return fflush(stdout) == 0 ? 0 : 1;
}
