#include "cli/inspect/inspect_time.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

#include "cli/json_print.h"
#include "cli/signals.h"
#include "common/base/scalar.h"
#include "consumer/replay/time_step.h"

static json_t *
number(bool known, uint64_t n)
{
	return known ? json_integer((json_int_t)n) : json_null();
}

static enum fail_code
print_json(const char *mix, const char *time, const struct time_step *t, struct failure *f)
{
	return json_print(
	    json_pack("{s:s, s:s, s:s, s:I, s:b, s:o, s:o, s:o, s:o}", "mix", mix, "from_time",
		time, "domain", t->domain, "step", (json_int_t)t->step, "published", (int)t->drawn,
		"lane", number(t->drawn, t->lane), "slot", number(t->drawn, t->slot), "partition",
		number(t->drawn, t->partition), "ordinal", number(t->drawn, t->ordinal)),
	    JSON_INDENT(1) | JSON_PRESERVE_ORDER, stdout, f);
}

enum fail_code
inspect_time(const char *mix, const struct config *c, const char *time, const char *domain,
    bool json, struct failure *f)
{
	struct time_step_options o = {
	    .config = c, .mix = mix, .domain = domain, .stop = signals_stop()};
	char when[SCALAR_MOMENT_TEXT_MAX];
	struct time_step found;

	if (scalar_moment(time, &o.time_ms) != SCALAR_OK)
		return fail(
		    f, FAIL_USAGE, "--from-time: \"%s\" is no time: " INSPECT_TIME_FORMS, time);
	if (time_step_find(&found, &o, f) != FAIL_NONE)
		return fail_within(f, "--from-time");
	scalar_moment_text(when, o.time_ms);
	if (json)
		return print_json(mix, when, &found, f);
	if (found.drawn)
		printf("step %" PRIu64
		       " is the first that holds what domain %s got at %s or later: "
		       "lane %" PRIu32 ", slot %" PRIu32 ", partition %" PRIu32 ", ordinal %" PRIu64
		       "\n",
		    found.step, found.domain, when, found.lane, found.slot, found.partition,
		    found.ordinal);
	else
		printf("step %" PRIu64
		       " is the mix's next one: nothing that domain %s got at %s or "
		       "later is drawn yet\n",
		    found.step, found.domain, when);
	return FAIL_NONE;
}
