#include "cli/read/read_set.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "cli/read/read_loop.h"
#include "common/base/clock.h"

enum { SLICE_MS = 200 };

/* The next sequences, with an eye on signals; *s NULL: the end of the set, or stopped. */
static enum fail_code
next(struct riffle_validation *v, const struct read_set_plan *p, const struct riffle_step **s,
    struct failure *f)
{
	int64_t begun_ms = clock_ms();
	struct riffle_error e;

	*s = NULL;
	while (!stop_asked(p->stop)) {
		int code = riffle_validation_next(v, SLICE_MS, s, &e);

		if (code == RIFFLE_OK || code == RIFFLE_END)
			return FAIL_NONE;
		if (code != RIFFLE_TIMEOUT ||
		    (p->timeout_s > 0 && clock_ms() - begun_ms >= (int64_t)p->timeout_s * 1000))
			return read_loop_fail(f, &e);
	}
	return FAIL_NONE;
}

static enum fail_code
read_steps(struct riffle_validation *v, const struct read_set_plan *p, struct read_output *out,
    struct failure *f)
{
	uint64_t sequences = 0, tokens = 0, steps = 0;
	int64_t begun_ms = clock_ms(), ms;
	const struct riffle_step *s;

	for (; steps < p->steps; steps++) {
		if (next(v, p, &s, f) != FAIL_NONE)
			return f->code;
		if (s == NULL)
			break;
		if (read_output_step(out, s, 1, f) != FAIL_NONE)
			return f->code;
		sequences += s->sequences;
		tokens += s->sequences * s->tokens_each;
	}
	ms = clock_ms() - begun_ms;
	if (p->format == READ_NONE)
		fprintf(stderr,
		    "read: domain=%s set=%s sequences=%" PRIu64 " tokens=%" PRIu64
		    " seconds=%.3f\n",
		    p->set->domain, p->set->set, sequences, tokens, (double)ms / 1000);
	return FAIL_NONE;
}

enum fail_code
read_set(const struct read_set_plan *p, FILE *to, struct failure *f)
{
	struct riffle_validation *v = NULL;
	struct read_output *out = NULL;
	struct riffle_error e;
	enum fail_code code = read_output_open(&out, to, p->format, f);

	assert(p->set->token_bytes == sizeof(uint32_t));
	if (code == FAIL_NONE && riffle_validation_open(&v, p->set, &e) != RIFFLE_OK)
		code = read_loop_fail(f, &e);
	if (code == FAIL_NONE)
		code = read_steps(v, p, out, f);
	riffle_validation_close(v);
	read_output_close(out);
	return code;
}
