/*
 * Configurations: read, with all that follows from one without a broker, or refused by a sentence
 * that begins with the file. `domains_from` and files of weights would look into the file system:
 * texts with them are left to the unit tests.
 */
#include <string.h>

#include "common/config/topic_plan.h"
#include "consumer/plan/bound_config.h"
#include "consumer/plan/config_plan.h"
#include "consumer/plan/ledger_plan.h"
#include "tests/fuzz/fuzz.h"

enum { DOMAINS_MAX = 64, STEPS = 3, BATCH_MAX = 4096 };

static void
step(const struct mixer_plan *p)
{
	static struct mixer_draw draw[BATCH_MAX];
	struct mixer *m = NULL;
	struct failure f = {0};

	if (mixer_open(&m, p, &f) != FAIL_NONE)
		return;
	for (int i = 0; i < STEPS && mixer_global_batch_most(m) <= BATCH_MAX; i++) {
		enum mixer_result result;

		if (mixer_step(m, draw, &result, &f) != FAIL_NONE || result != MIXER_DRAWN)
			break;
	}
	mixer_close(m);
}

static void
plan(const struct config *c)
{
	static const uint64_t sequences[] = {100000};
	struct config_plan_length length[DOMAINS_MAX];
	struct config_plan p = {0};
	struct failure f = {0};
	uint64_t schedule;
	char *text = NULL;
	bool changed;

	for (size_t i = 0; i < DOMAINS_MAX; i++)
		length[i] = (struct config_plan_length){1, sequences, NULL};
	if (c->mix.name == NULL || c->domains_n > DOMAINS_MAX)
		return;
	for (size_t i = 0; i < c->domains_n; i++)
		if (c->domains[i].partitions != 1)
			return;
	if (config_plan_open(&p, c, length, &f) == FAIL_NONE) {
		FUZZ_CHECK(bound_config_text(&text, c, &p, 7, &f) == FAIL_NONE);
		FUZZ_CHECK(bound_config_schedule(&schedule, text, &f) == FAIL_NONE);
		FUZZ_CHECK(bound_config_compare(text, text, false, &changed, &f) == FAIL_NONE);
		FUZZ_CHECK(!changed);
		step(&p.plan);
	}
	free(text);
	config_plan_close(&p);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const char *path = fuzz_file(data, n);
	struct topic_plan *topics = NULL;
	struct config *c = NULL;
	struct failure f = {0};
	enum fail_code code;

	if (memmem(data, n, "domains_from", 12) != NULL || memmem(data, n, "json", 4) != NULL)
		return -1;
	unsetenv("RIFFLE_BOOTSTRAP");
	code = config_open(&c, path, &f);
	if (code != FAIL_NONE) {
		FUZZ_CHECK(code == FAIL_CONFIG);
		FUZZ_CHECK(strstr(f.text, path) != NULL);
		return 0;
	}
	FUZZ_CHECK(topic_plan_open(&topics, c, &f) == FAIL_NONE);
	topic_plan_close(topics);
	plan(c);
	config_close(c);
	return 0;
}
