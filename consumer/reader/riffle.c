#include "consumer/reader/riffle.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/names.h"
#include "common/base/text.h"
#include "consumer/reader/riffle_internal.h"

enum {
	OPEN_TIMEOUT_MS = 10000, /* the default of open_timeout_ms */
	STRUCT_MAX = 4096,       /* no struct of ours grows so large: a size above it is none */
};

/* ---- errors ---- */

static int
code_of(enum fail_code code)
{
	switch (code) {
	case FAIL_NONE: return RIFFLE_OK;
	case FAIL_MEMORY: return RIFFLE_ERROR_MEMORY;
	case FAIL_USAGE:
	case FAIL_CONFIG: return RIFFLE_ERROR_USAGE;
	case FAIL_DATA: return RIFFLE_ERROR_DATA;
	case FAIL_IO:
	case FAIL_BROKER:
	case FAIL_DENIED:
	case FAIL_TIMEOUT:
	case FAIL_FENCED:
	case FAIL_STOPPED: return RIFFLE_ERROR_BROKER;
	}
	return RIFFLE_ERROR_BROKER;
}

int
riffle_give(struct riffle_error *e, int code, const char *text)
{
	if (e != NULL) {
		e->code = code;
		text_show(e->text, sizeof(e->text), TEXT_LINE, text, strlen(text));
	}
	return code;
}

int
riffle_give_failure(struct riffle_error *e, const struct failure *f)
{
	assert(f->code != FAIL_NONE);
	return riffle_give(e, code_of(f->code), f->text);
}

/* ---- gates ---- */

void
riffle_gate_init(struct riffle_gate *g, const char *what, bool many)
{
	*g = (struct riffle_gate){.process = getpid(), .what = what, .many = many};
	pthread_mutex_init(&g->lock, NULL); /* cannot fail for a plain one */
	pthread_cond_init(&g->left, NULL);
}

bool
riffle_gate_is_here(const struct riffle_gate *g)
{
	return g->process == getpid();
}

enum fail_code
riffle_gate_fail_ended(const struct riffle_gate *g, struct failure *f)
{
	return fail(f, FAIL_USAGE, "this %s is being closed by another thread", g->what);
}

enum fail_code
riffle_gate_enter(struct riffle_gate *g, struct failure *f)
{
	bool ends, taken;

	if (!riffle_gate_is_here(g))
		return fail(f, FAIL_USAGE,
		    "this %s was opened by process %d and is used by process %d: its connections "
		    "and threads do not survive a fork; open one in the process that reads",
		    g->what, (int)g->process, (int)getpid());
	pthread_mutex_lock(&g->lock);
	ends = atomic_load(&g->ends);
	taken = g->calls > 0 && !g->many;
	if (!ends && !taken)
		g->calls++;
	pthread_mutex_unlock(&g->lock);
	if (ends)
		return riffle_gate_fail_ended(g, f);
	if (taken)
		return fail(f, FAIL_USAGE,
		    "another thread's call on this %s is in progress, and it takes one call at a "
		    "time: wait for that call, or open one %s per thread",
		    g->what, g->what);
	return FAIL_NONE;
}

void
riffle_gate_leave(struct riffle_gate *g)
{
	pthread_mutex_lock(&g->lock);
	assert(g->calls > 0);
	g->calls--;
	pthread_cond_broadcast(&g->left);
	pthread_mutex_unlock(&g->lock);
}

bool
riffle_gate_ends(const struct riffle_gate *g)
{
	return atomic_load(&g->ends);
}

int64_t
riffle_gate_slice(int64_t deadline_ms)
{
	int64_t end_ms = clock_ms() + RIFFLE_GATE_SLICE_MS;

	return end_ms < deadline_ms ? end_ms : deadline_ms;
}

bool
riffle_gate_end(struct riffle_gate *g)
{
	if (!riffle_gate_is_here(g))
		return false;
	pthread_mutex_lock(&g->lock);
	atomic_store(&g->ends, true);
	while (g->calls > 0)
		pthread_cond_wait(&g->left, &g->lock);
	pthread_mutex_unlock(&g->lock);
	pthread_cond_destroy(&g->left);
	pthread_mutex_destroy(&g->lock);
	return true;
}

/* ---- waits ---- */

void
riffle_wait_remind(struct riffle_wait *w, const char *text)
{
	int64_t now_ms = clock_ms();

	if (w->begun_ms == 0)
		w->begun_ms = now_ms;
	if (log_reminder_due(&w->reminder, now_ms, RIFFLE_WAITING_FIRST_MS))
		log_warning("riffle: READ-WAITING seconds=%" PRId64 ": %s",
		    (now_ms - w->begun_ms) / 1000, text);
}

/* ---- structs of the caller ---- */

static enum fail_code
check_size(size_t size, const char *name, struct failure *f)
{
	if (size >= sizeof(size) && size <= STRUCT_MAX)
		return FAIL_NONE;
	return fail(
	    f, FAIL_USAGE, "struct %s: its size is not set (%zu): set it to sizeof", name, size);
}

enum fail_code
riffle_take(void *to, size_t size, const void *from, const char *name, struct failure *f)
{
	const unsigned char *bytes = from;
	size_t known;

	memcpy(&known, from, sizeof(known));
	if (check_size(known, name, f) != FAIL_NONE)
		return f->code;
	for (size_t i = size; i < known; i++)
		if (bytes[i] != 0)
			return fail(f, FAIL_USAGE,
			    "struct %s: the program sets a field that libriffle %s does not know",
			    name, RIFFLE_VERSION);
	memset(to, 0, size);
	memcpy(to, from, known < size ? known : size);
	memcpy(to, &size, sizeof(size));
	return FAIL_NONE;
}

enum fail_code
riffle_fill(void *to, const void *from, size_t size, const char *name, struct failure *f)
{
	size_t known;

	memcpy(&known, to, sizeof(known));
	if (check_size(known, name, f) != FAIL_NONE)
		return f->code;
	memset(to, 0, known);
	memcpy(to, from, known < size ? known : size);
	memcpy(to, &known, sizeof(known));
	return FAIL_NONE;
}

/* ---- options ---- */

enum fail_code
riffle_take_options(struct riffle_options *to, const struct riffle_options *from, struct failure *f)
{
	return riffle_take(to, sizeof(*to), from, "riffle_options", f);
}

enum fail_code
riffle_check_names(const struct riffle_options *o, struct failure *f)
{
	if (o->mix == NULL || !names_valid(o->mix))
		return fail(f, FAIL_USAGE,
		    "\"%s\" is not a name of a mix (letters, digits, '.', '_', '-', at most %d, a "
		    "letter or digit first)",
		    o->mix == NULL ? "" : o->mix, NAME_MAX_BYTES);
	if (o->run != NULL && !names_run_valid(o->run))
		return fail(f, FAIL_USAGE,
		    "\"%s\" is not a name of a run (letters, digits, '.', '_', '-', at most %d, a "
		    "letter or digit first; mixer and election are taken)",
		    o->run, NAME_MAX_BYTES);
	if (o->world == 0 || o->rank >= o->world)
		return fail(f, FAIL_USAGE,
		    "rank %" PRIu32 " is not in a world of %" PRIu32 " (ranks count from 0)",
		    o->rank, o->world);
	return FAIL_NONE;
}

enum fail_code
riffle_check_token_bytes(uint32_t token_bytes, struct failure *f)
{
	if (token_bytes == 2 || token_bytes == 4 || token_bytes == 8)
		return FAIL_NONE;
	return fail(f, FAIL_USAGE, "token_bytes is %" PRIu32 "; it is 2, 4 or 8", token_bytes);
}

const char *
riffle_run(const struct riffle_options *o)
{
	return o->run == NULL ? "trainers" : o->run;
}

int
riffle_timeout_ms(int open_timeout_ms)
{
	return open_timeout_ms > 0 ? open_timeout_ms : OPEN_TIMEOUT_MS;
}

/*
 * Not by properties_set(), which relies on a name that is not empty: a name comes from the caller's
 * program here, and librdkafka reports a wrong one when the handle is opened.
 */
enum fail_code
riffle_properties_copy(struct properties *out, const char *bootstrap,
    const struct riffle_property *property, size_t n, struct failure *f)
{
	*out = (struct properties){.item = calloc(n + 1, sizeof(*out->item))};
	if (out->item == NULL)
		return fail_memory(f);
	for (size_t i = bootstrap == NULL ? 1 : 0; i <= n; i++) {
		struct property *to = &out->item[out->n];

		if (i > 0 && (property[i - 1].name == NULL || property[i - 1].value == NULL))
			return fail(f, FAIL_USAGE, "property %zu has no name or no value", i - 1);
		out->n++;
		to->name = strdup(i == 0 ? "bootstrap.servers" : property[i - 1].name);
		to->value = strdup(i == 0 ? bootstrap : property[i - 1].value);
		if (to->name == NULL || to->value == NULL)
			return fail_memory(f);
	}
	return FAIL_NONE;
}

const char *
riffle_version(void)
{
	return RIFFLE_VERSION;
}

/* ---- log lines ---- */

/* What the caller gave, for the sink of log.h, which has other types. */
static struct {
	riffle_log *log;
	void *opaque;
} caller;

static void
pass_on(void *opaque, enum log_level level, const char *line)
{
	(void)opaque;
	caller.log(caller.opaque, (enum riffle_log_level)level, line);
}

void
riffle_set_log(enum riffle_log_level level, riffle_log *log, void *opaque)
{
	static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;

	_Static_assert((int)RIFFLE_LOG_DEBUG == (int)LOG_DEBUG, "levels are the same");

	pthread_mutex_lock(&one);
	log_set_sink(NULL, NULL); /* nobody reads `caller` from here on */
	caller.log = log;
	caller.opaque = opaque;
	log_set_level((enum log_level)level);
	if (log != NULL)
		log_set_sink(pass_on, NULL);
	pthread_mutex_unlock(&one);
}
