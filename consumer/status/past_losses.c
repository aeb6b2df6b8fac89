#include "consumer/status/past_losses.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "consumer/status/status_query_internal.h"

enum { FETCH_BYTES = 64 << 10 };

struct past_losses {
	struct feedback_feed *feed;
	struct status st; /* configuration and domains; feedback of the last look */
};

/* What the last look has found. */
static void
forget(struct past_losses *p)
{
	for (size_t i = 0; p->st.feedback != NULL && i < p->st.feedback_n; i++)
		free(p->st.feedback[i].domain);
	free(p->st.feedback);
	p->st.feedback = NULL;
	p->st.feedback_n = 0;
}

enum fail_code
past_losses_open(struct past_losses **out, const struct config *c, char *const *domain,
    size_t domains_n, struct failure *f)
{
	struct past_losses *p = calloc(1, sizeof(*p));

	assert(c->mix.name != NULL);
	assert(domains_n > 0);
	if (p == NULL)
		return fail_memory(f);
	p->st.config = c;
	p->st.ledger.step_next = INT64_MAX; /* each step is one that the mix has published */
	p->st.domain = calloc(domains_n, sizeof(*p->st.domain));
	if (p->st.domain == NULL) {
		past_losses_close(p);
		return fail_memory(f);
	}
	for (; p->st.domains_n < domains_n; p->st.domains_n++)
		snprintf(p->st.domain[p->st.domains_n].name, sizeof(p->st.domain[0].name), "%s",
		    domain[p->st.domains_n]);
	if (feedback_feed_open(&p->feed, c->mix.name, &c->kafka, FETCH_BYTES, f) != FAIL_NONE) {
		past_losses_close(p);
		return f->code;
	}
	*out = p;
	return FAIL_NONE;
}

void
past_losses_close(struct past_losses *p)
{
	if (p == NULL)
		return;
	forget(p);
	feedback_feed_close(p->feed);
	free(p->st.domain);
	free(p);
}

enum fail_code
past_losses_ends(struct past_losses *p, int64_t *low, int64_t *high, struct failure *f)
{
	return feedback_feed_ends(p->feed, low, high, f);
}

enum fail_code
past_losses_look(struct past_losses *p, int64_t from, int64_t end,
    const struct status_feedback **out, size_t *n, struct failure *f)
{
	struct status_tail t = {.st = &p->st};
	enum fail_code code;

	forget(p);
	code = status_tail_open(&t, f);
	if (code == FAIL_NONE)
		code = status_tail_read(&t, p->feed, from, end, f);
	if (code == FAIL_NONE && p->st.late[STATUS_PART_LOSSES])
		code = fail(f, FAIL_TIMEOUT,
		    "the broker has not returned reports of losses within %d s",
		    STATUS_QUERY_MS / 1000);
	if (code == FAIL_NONE)
		feedback_feed_rest(p->feed);
	status_tail_close(&t);
	*out = p->st.feedback;
	*n = code == FAIL_NONE ? p->st.feedback_n : 0;
	return code;
}
