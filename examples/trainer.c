/*
 * trainer.c -- a training loop that gets its batches from riffle, without the training.
 *
 *     cc -o trainer trainer.c $(pkg-config --cflags --libs riffle)
 *     ./trainer localhost:9092 pretrain RANK WORLD [FIRST_STEP]
 *
 * Without FIRST_STEP it resumes where the run "trainers" has committed. Every 10 steps it commits:
 * a real trainer would write a checkpoint there, with riffle_position() and the schedule in it, and
 * give that step back at the next start.
 */
#include <errno.h>
#include <inttypes.h>
#include <riffle.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum { STEP_TIMEOUT_MS = 1000, COMMIT_EVERY = 10 };

static volatile sig_atomic_t stop;

static void
on_signal(int number)
{
	(void)number;
	stop = 1;
}

/* What a model would do with the batch: here, the mean of the tokens that count as targets. */
static double
train(const struct riffle_step *s)
{
	const uint32_t *tokens = s->tokens;
	uint64_t sum = 0, count = 0;

	for (size_t i = 0; i < s->sequences; i++) {
		const struct riffle_sequence *q = &s->sequence[i];
		const uint32_t *row = tokens + i * s->tokens_each;

		/* inputs are row[0 .. S-1], labels row[1 .. S]; behind `used` there is padding */
		for (uint32_t k = 1; k < q->used; k++)
			sum += row[k];
		count += q->used > 0 ? q->used - 1 : 0;
	}
	return count == 0 ? 0 : (double)sum / (double)count;
}

static int
parse_number(const char *text, uint64_t max, uint64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoull(text, &end, 10);
	return errno == 0 && *end == '\0' && end != text && *text != '-' && *out <= max;
}

/* Reads until the mix ends, a signal comes, or something fails. */
static int
run(struct riffle *r)
{
	const struct riffle_step *s;
	struct riffle_error e;

	while (!stop) {
		int code = riffle_next(r, STEP_TIMEOUT_MS, &s, &e);

		if (code == RIFFLE_TIMEOUT)
			continue; /* the mixer is behind; `stop` is looked at again */
		if (code == RIFFLE_END)
			return 0;
		if (code != RIFFLE_OK) {
			fprintf(stderr, "trainer: %s\n", e.text);
			return 1;
		}
		printf("step %" PRIu64 ": %zu sequences, lr x %g, loss %.3f\n", s->step,
		    s->sequences, s->lr_scale, train(s));
		if (riffle_position(r) % COMMIT_EVERY != 0)
			continue;
		if (fflush(stdout) != 0) {
			perror("trainer: stdout");
			return 1;
		}
		if (riffle_commit(r, &e) != RIFFLE_OK) {
			fprintf(stderr, "trainer: %s\n", e.text);
			return 1;
		}
	}
	return 0;
}

int
main(int argc, char **argv)
{
	struct riffle_options o = {.size = sizeof(o), .token_bytes = sizeof(uint32_t)};
	struct sigaction action = {.sa_handler = on_signal};
	uint64_t rank, world, step = 0;
	struct riffle_error e;
	struct riffle *r;
	int code;

	if (argc < 5 || argc > 6 || !parse_number(argv[3], UINT32_MAX, &rank) ||
	    !parse_number(argv[4], UINT32_MAX, &world) ||
	    (argc == 6 && !parse_number(argv[5], UINT64_MAX, &step))) {
		fprintf(stderr, "usage: %s BOOTSTRAP MIX RANK WORLD [FIRST_STEP]\n", argv[0]);
		return 2;
	}
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	o.bootstrap = argv[1];
	o.mix = argv[2];
	o.rank = (uint32_t)rank;
	o.world = (uint32_t)world;
	o.start = argc == 6 ? RIFFLE_START_STEP : RIFFLE_START_COMMITTED;
	o.step = step;
	if (riffle_open(&r, &o, &e) != RIFFLE_OK) {
		fprintf(stderr, "trainer: %s\n", e.text);
		return e.code == RIFFLE_ERROR_USAGE ? 2 : 1;
	}
	code = run(r);
	riffle_close(r);
	if (fflush(stdout) != 0) {
		perror("trainer: stdout");
		code = 1;
	}
	return code;
}
