/*
 * conformance -- plays scenarios against a Kafka and prints what came of each.
 *
 *     RIFFLE_BOOTSTRAP=localhost:9092 conformance [--jobs N] [--seed N] [--expiring | CLAIM...]
 *
 * Linked once with librdkafka (against a real broker) and once with the simulation; the outcomes
 * must be equal. --jobs (1) scenarios run at a time, since some wait for the broker's time-outs;
 * the simulation takes one, and a seed, which decides how batches are cut and when markers come.
 * --expiring plays those alone that need a broker which forgets ids within seconds.
 * Exit 1 where the scenery failed, so that an outcome says nothing.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/conformance/scene.h"

/* Of the simulation; NULL with librdkafka. */
extern void cluster_seed(uint64_t seed) __attribute__((weak));

enum { CLAIMS_MAX = 128, JOBS_MAX = 32, PREFIX_MAX = 32 };

struct play {
	const struct claim *claim;
	struct scene *scene;
};

static struct play plays[CLAIMS_MAX];
static size_t plays_n;
static atomic_size_t play_next;
static char prefix[PREFIX_MAX];

static bool
wanted(const char *name, int argc, char **argv)
{
	for (int i = 0; i < argc; i++)
		if (strcmp(name, argv[i]) == 0)
			return true;
	return argc == 0;
}

static void
add_claims(const struct claim *claim, int argc, char **argv)
{
	for (; claim->name != NULL && plays_n < CLAIMS_MAX; claim++)
		if (wanted(claim->name, argc, argv))
			plays[plays_n++].claim = claim;
}

static void *
work(void *argument)
{
	size_t i;

	while ((i = atomic_fetch_add(&play_next, 1)) < plays_n) {
		struct play *p = &plays[i];

		p->scene = calloc(1, sizeof(*p->scene));
		if (p->scene == NULL)
			abort();
		scene_init(p->scene, p->claim->name, prefix);
		p->claim->play(p->scene);
		scene_end(p->scene);
	}
	return argument;
}

static void
play_all(size_t jobs)
{
	pthread_t thread[JOBS_MAX];
	size_t n = 0;

	while (n + 1 < jobs && n < JOBS_MAX && pthread_create(&thread[n], NULL, work, NULL) == 0)
		n++;
	work(NULL);
	while (n > 0)
		pthread_join(thread[--n], NULL);
}

static int
print_all(void)
{
	int code = 0;

	for (size_t i = 0; i < plays_n; i++) {
		printf("%s\n%s", plays[i].claim->name, plays[i].scene->text);
		code |= plays[i].scene->broken;
		free(plays[i].scene);
	}
	return code;
}

int
main(int argc, char **argv)
{
	static const struct claim *const claims[] = {claims_waiting, claims_fencing,
	    claims_transactions, claims_visibility, claims_offsets, claims_reading, claims_records,
	    claims_topics, claims_sequences, claims_lost};
	size_t jobs = 1;
	int first = 1;
	bool expiring;

	for (; first + 1 < argc && strncmp(argv[first], "--", 2) == 0; first += 2) {
		if (strcmp(argv[first], "--jobs") == 0)
			jobs = strtoul(argv[first + 1], NULL, 10);
		else if (strcmp(argv[first], "--seed") == 0 && cluster_seed != NULL)
			cluster_seed(strtoull(argv[first + 1], NULL, 10));
		else
			break; /* no claim has such a name */
	}
	snprintf(prefix, sizeof(prefix), "c%lx%x", (unsigned long)time(NULL), (unsigned)getpid());
	expiring = first < argc && strcmp(argv[first], "--expiring") == 0;
	if (expiring)
		add_claims(claims_expiring, 0, NULL);
	for (size_t i = 0; !expiring && i < sizeof(claims) / sizeof(claims[0]); i++)
		add_claims(claims[i], argc - first, argv + first);
	if (plays_n == 0) {
		fprintf(stderr, "conformance: no such claim\n");
		return 2;
	}
	play_all(jobs);
	return print_all();
}
