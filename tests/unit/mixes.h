/* mixes.h -- small mixers for tests: plans, steps, counts, requests. */
#ifndef TESTS_UNIT_MIXES_H
#define TESTS_UNIT_MIXES_H

#include "consumer/mixer/mixer.h"
#include "tests/unit/test.h"

enum { MIXES_BATCH_MAX = 1024 };

/* A plan over sources that are sorted by name: 8-token sequences, batches of 16, one lane. */
static inline struct mixer_plan
mixes_plan(const struct mixer_source *source, size_t n)
{
	return (struct mixer_plan){
	    .seed = 1234,
	    .sequence_length = 8,
	    .global_batch = 16,
	    .lanes = 1,
	    .block = 16,
	    .window = 1,
	    .permute = true,
	    .temperature = 1,
	    .source = source,
	    .sources_n = n,
	};
}

static inline struct mixer *
mixes_open(const struct mixer_plan *p)
{
	struct mixer *m = NULL;
	struct failure f = {0};

	if (mixer_open(&m, p, &f) != FAIL_NONE)
		print_error("%s\n", f.text);
	assert_non_null(m);
	return m;
}

/* One step; adds the draws of each domain to count[], unless NULL. */
static inline enum mixer_result
mixes_step(struct mixer *m, const struct mixer_plan *p, uint64_t *count)
{
	static struct mixer_draw draw[MIXES_BATCH_MAX];
	enum mixer_result result;
	struct failure f;

	(void)p;
	assert_true(mixer_global_batch_most(m) <= MIXES_BATCH_MAX);
	assert_int_equal(mixer_step(m, draw, &result, &f), FAIL_NONE);
	for (uint32_t i = 0; count != NULL && result == MIXER_DRAWN && i < mixer_global_batch(m);
	     i++)
		count[draw[i].domain]++;
	return result;
}

static inline struct mixer_standing
mixes_stand(const struct mixer *m, uint32_t domain)
{
	struct mixer_standing s;

	mixer_stand(m, domain, &s);
	return s;
}

/* Asks; gives the answer (ledger_answer_clear). */
static inline struct ledger_answer
mixes_ask(struct mixer *m, struct control c, const struct mixer_source *joining)
{
	struct ledger_answer answer;
	bool duplicate;
	struct failure f;

	assert_int_equal(mixer_request(m, &c, joining, &answer, &duplicate, &f), FAIL_NONE);
	assert_false(duplicate);
	return answer;
}

/* A request for one weight. */
static inline struct control
mixes_weight(char *id, int64_t at_step, struct ledger_raw_weight *weight, size_t n)
{
	return (struct control){
	    .id = id, .kind = LEDGER_WEIGHTS, .at_step = at_step, .weight = weight, .weights_n = n};
}

#endif
