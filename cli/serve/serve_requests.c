#include "cli/serve/serve_requests.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/request/requests_print.h"
#include "consumer/admin/request_list.h"

/* What the list follows from: where one differs there is something to read, or to judge again. */
struct seen {
	int64_t control_end;           /* offset; -1: no topic */
	int64_t ledger_offset;         /* -1: no record */
	int64_t control_next, version; /* of that record */
	size_t pending_n;
};

struct serve_requests {
	const struct config *config;
	struct request_list list; /* the reader's */
	pthread_mutex_t lock;     /* protects all below */
	bool noted, read;
	struct seen now, known; /* by the follower; by the text */
	struct serve_text *text;
	char why[FAILURE_TEXT_MAX]; /* there is no text */
};

enum fail_code
serve_requests_open(struct serve_requests **out, const struct config *c, struct failure *f)
{
	struct serve_requests *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return fail_memory(f);
	r->config = c;
	pthread_mutex_init(&r->lock, NULL);
	snprintf(r->why, sizeof(r->why), "the requests have not been read yet");
	*out = r;
	return FAIL_NONE;
}

void
serve_requests_close(struct serve_requests *r)
{
	if (r == NULL)
		return;
	request_list_close(&r->list);
	serve_text_release(r->text);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

static struct seen
see(const struct ledger *l, int64_t offset, int64_t control_end)
{
	return (struct seen){.control_end = control_end,
	    .ledger_offset = offset,
	    .control_next = l->control_next,
	    .version = l->version,
	    .pending_n = l->pending_n};
}

void
serve_requests_note(struct serve_requests *r, const struct status *st)
{
	pthread_mutex_lock(&r->lock);
	r->now = see(&st->ledger, st->ledger_offset, st->control_end);
	r->noted = true;
	pthread_mutex_unlock(&r->lock);
}

/* The reader may have seen a newer record of the ledger than the follower, but not for long. */
bool
serve_requests_wanted(struct serve_requests *r)
{
	const struct seen *a = &r->now, *b = &r->known;
	bool wanted;

	pthread_mutex_lock(&r->lock);
	wanted = !r->noted
		     ? !r->read
		     : a->control_end >= 0 &&
			   (!r->read || a->control_end != b->control_end ||
			       (a->ledger_offset != b->ledger_offset &&
				   (a->control_next != b->control_next ||
				       a->version != b->version || a->pending_n != b->pending_n)));
	pthread_mutex_unlock(&r->lock);
	return wanted;
}

/* Takes the text; NULL: there is none, and `why`. */
static void
keep(struct serve_requests *r, const struct seen *known, struct serve_text *text, const char *why)
{
	struct serve_text *before;

	pthread_mutex_lock(&r->lock);
	before = r->text;
	r->text = text;
	r->known = *known;
	r->read = true;
	snprintf(r->why, sizeof(r->why), "%s", why);
	pthread_mutex_unlock(&r->lock);
	serve_text_release(before);
}

static enum fail_code
print_list(const void *of, FILE *to, struct failure *f)
{
	return requests_print(of, true, to, f);
}

static struct serve_text *
print(const struct request_list *l)
{
	struct failure f;
	char *text;

	return serve_text_print(&text, print_list, l, &f) != FAIL_NONE
		   ? NULL
		   : serve_text_make(text, strlen(text));
}

enum fail_code
serve_requests_read(
    struct serve_requests *r, const struct ledger *last, int64_t offset, struct failure *f)
{
	static const struct ledger none;
	const struct config *c = r->config;
	struct seen known;
	enum fail_code code;

	code = request_list_read_on(&r->list, c->mix.name, &c->kafka, last, SERVE_REQUESTS_MAX, f);
	known = see(last == NULL ? &none : last, last == NULL ? -1 : offset, r->list.next);
	if (code == FAIL_NONE || code == FAIL_DENIED) {
		if (code == FAIL_DENIED) {
			pthread_mutex_lock(&r->lock);
			known.control_end = r->now.control_end;
			pthread_mutex_unlock(&r->lock);
		}
		keep(r, &known, code == FAIL_DENIED ? NULL : print(&r->list),
		    code == FAIL_DENIED ? f->text : "");
		return FAIL_NONE;
	}
	pthread_mutex_lock(&r->lock);
	if (r->text == NULL)
		snprintf(r->why, sizeof(r->why), "%s", f->text);
	pthread_mutex_unlock(&r->lock);
	return code;
}

const char *
serve_requests_who(const struct serve_requests *r, const char *id)
{
	const struct request_entry *e = request_list_find(&r->list, id);

	return e == NULL ? NULL : e->asked.who;
}

struct serve_text *
serve_requests_text(struct serve_requests *r, char why[static FAILURE_TEXT_MAX])
{
	struct serve_text *t;

	pthread_mutex_lock(&r->lock);
	t = serve_text_share(r->text);
	memcpy(why, r->why, sizeof(r->why));
	pthread_mutex_unlock(&r->lock);
	return t;
}
