#include "consumer/publish/wait_words.h"

#include <assert.h>
#include <inttypes.h>

#include "common/base/text.h"

static void
add_remedy(struct text *t, const struct wait_words_run *run)
{
	static const char gone[] =
	    "f nobody trains it any more, take it out of mix.runs and restart the mixer with "
	    "`riffle mix --accept-config`";

	if (run->apart[0] != '\0')
		text_add(t, "is the rank that reads them running? I%s", gone);
	else if (run->committed)
		text_add(t, "start its trainers again; i%s", gone);
	else
		text_add(t,
		    "start its trainers; in a trial `riffle read --run %s --commit-every 1` takes "
		    "their place",
		    run->name);
}

char *
wait_words_remedy(const struct wait_words_run *run)
{
	struct text t = {0};

	add_remedy(&t, run);
	return text_take(&t);
}

static bool
holds_up(const struct wait_words_run *r, uint64_t step, uint64_t max_lead_steps)
{
	return step >= r->step && step - r->step >= max_lead_steps;
}

char *
wait_words_lead(const struct wait_words_run *run, size_t n, uint64_t step, uint64_t max_lead_steps)
{
	struct text t = {0};
	size_t named = 0;

	assert(max_lead_steps > 0);
	for (size_t i = 0; i < n; i++)
		if (holds_up(&run[i], step, max_lead_steps))
			text_add(&t, "%srun=%s at step=%" PRIu64, named++ == 0 ? "" : ", ",
			    run[i].name, run[i].step);
	text_add(&t, ": step=%" PRIu64 " is max_lead_steps=%" PRIu64 " ahead of %s", step,
	    max_lead_steps, named > 1 ? "them" : "it");
	for (size_t i = 0; i < n; i++) {
		if (!holds_up(&run[i], step, max_lead_steps))
			continue;
		text_add(&t, ". Run %s has committed %s: ", run[i].name,
		    run[i].apart[0] != '\0' ? run[i].apart
		    : run[i].committed      ? "no step since"
					    : "nothing");
		add_remedy(&t, &run[i]);
	}
	return text_take(&t);
}
