#include "cli/serve/serve_history_internal.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "consumer/ledger/ledger_log.h"
#include "consumer/status/past_losses.h"

enum {
	ASK_MS = 5000,         /* limit of one request to the broker */
	NEXT_MS = 1000,        /* between two reads, which open handles */
	AGAIN_MS = 2000,       /* the same where the broker does not answer */
	UNREADABLE_MS = 60000, /* and where it gives what cannot be read */
	FINER_MS = 30000,      /* between looks into gaps, once there were none */
	COARSE = 62,           /* looks in front of the versions: 64 points */
	LOOKS_BITS = 7,        /* looks into what was reported: 128 */
	LOOK_MORE = 8,         /* reports of a look, beside two steps of all ranks */
	PART_POINTS = 64,      /* who wants fewer gets what is known */
	PART_KEPT_MS = 10000   /* since it was asked for, at least */
};

/* ---- what is known ---- */

static void
close_version(struct version *v)
{
	struct weight_history one = {.version = malloc(sizeof(*one.version)), .n = 1};

	if (one.version == NULL)
		return;
	one.version[0] = v->v;
	weight_history_close(&one);
	free(v->who);
}

static void
close_part(struct serve_history *h, struct part *p)
{
	h->generation += p->points.generation + 1;
	mix_history_close(&p->points);
	p->number++;
}

static void
forget(struct serve_history *h)
{
	mix_history_clear(&h->points);
	for (size_t i = 0; i < SERVE_HISTORY_PARTS; i++)
		close_part(h, &h->part[i]);
	for (size_t i = 0; i < h->versions_n; i++)
		close_version(&h->version[i]);
	for (size_t i = 0; i < h->losses_n; i++)
		loss_history_close(&h->losses[i].points);
	h->versions_n = h->losses_n = 0;
	h->version_newest = h->version_known = 0;
	h->first_known = h->losses_known = h->looked = false;
	h->finer_ms = 0;
	h->first_time_ms = -1;
	h->offset = -1;
	h->generation++;
}

static void
add_to(const struct serve_history *h, struct mix_history *points, const struct ledger *l,
    int64_t offset, int64_t time_ms)
{
	const struct config *c = h->config;
	uint64_t unit = c->mix.weights_unit == MIX_BY_TOKENS ? (uint64_t)c->sequence_length + 1 : 1;
	struct failure f;

	if (mix_history_add(points, l, offset, time_ms, unit, c->mix.schedule != SCHEDULE_RANDOM,
		&f) != FAIL_NONE)
		log_warning("serve: SERVE-HISTORY %s: a point is missing", f.text);
}

static void
add_point(struct serve_history *h, const struct ledger *l, int64_t offset, int64_t time_ms)
{
	struct failure f;

	if (h->points.point == NULL && mix_history_open(&h->points, l->domains_n, &f) != FAIL_NONE)
		return;
	add_to(h, &h->points, l, offset, time_ms);
	if (offset > h->offset) {
		h->offset = offset;
		h->step_next = l->step_next;
		h->version_newest = l->version;
	}
}

/* NULL: there is no place for another run, or no memory. */
static struct losses *
find_losses(struct serve_history *h, const char *run, size_t domains_n)
{
	struct losses *l;
	struct failure f;

	for (size_t i = 0; i < h->losses_n; i++) {
		l = &h->losses[i];
		if (strcmp(l->run, run) != 0)
			continue;
		if (l->points.domains_n == domains_n)
			return l;
		loss_history_close(&l->points); /* of other domains: restarted */
		*l = h->losses[--h->losses_n];
		break;
	}
	if (h->losses_n == STATUS_FEEDBACK_RUNS)
		return NULL;
	l = &h->losses[h->losses_n];
	if (loss_history_open(&l->points, domains_n, &f) != FAIL_NONE)
		return NULL;
	snprintf(l->run, sizeof(l->run), "%s", run);
	h->losses_n++;
	return l;
}

static void
add_losses(struct serve_history *h, const struct status_feedback *of, size_t n, size_t domains_n)
{
	for (size_t i = 0; i < n; i++) {
		const struct status_feedback *b = &of[i];
		struct losses *l;

		if (b->steps == 0 || b->all.tokens == 0)
			continue;
		h->world = b->world > h->world ? b->world : h->world;
		l = find_losses(h, b->run, domains_n);
		if (l != NULL && loss_history_add(&l->points, b->step_last, &b->all, b->domain))
			h->generation++;
	}
}

/* The names of status's domains, which only ever grow while the configuration is the same. */
static void
note_names(struct serve_history *h, const struct status *st)
{
	char **grown;

	if (h->names_n >= st->domains_n)
		return;
	grown = realloc(h->name, st->domains_n * sizeof(*grown));
	if (grown == NULL)
		return;
	h->name = grown;
	for (; h->names_n < st->domains_n; h->names_n++)
		if ((h->name[h->names_n] = strdup(st->domain[h->names_n].name)) == NULL)
			return;
}

/* Once the names of the domains are known, and a run that reports: else there are none. */
static bool
losses_wanted(const struct serve_history *h)
{
	return !h->losses_known && h->names_n > 0 && h->losses_n > 0;
}

/* The ledger has no record, as the follower has seen. Before its first status nobody knows. */
static bool
is_empty(const struct serve_history *h)
{
	return h->followed && h->noted < 0;
}

/* Whether there is anything of the history to read beside points. An empty ledger has none. */
static bool
to_read(const struct serve_history *h)
{
	return !is_empty(h) &&
	       (h->version_newest > h->version_known || !h->first_known || losses_wanted(h));
}

/* Where to look next: into the ranges that somebody waits for, then into the whole. */
struct gap {
	struct part *of; /* NULL: of the whole */
	uint64_t number;
	int64_t from, to;
};

/*
 * Called with the lock. False: there is nothing to look into now. `parts`: into ranges, too, which
 * somebody waits for. A mix at full rate leaves a gap in the whole between any two statuses: to
 * look into all of them every FINER_MS costs less than handles for each.
 */
static bool
find_gap(struct serve_history *h, bool parts, struct gap *g)
{
	for (size_t i = 0; parts && i < SERVE_HISTORY_PARTS; i++) {
		g->of = &h->part[i];
		g->number = g->of->number;
		if (mix_history_gap(&g->of->points, &g->from, &g->to))
			return true;
	}
	g->of = NULL;
	return clock_ms() >= h->finer_ms && mix_history_gap(&h->points, &g->from, &g->to);
}

/* Whether there is anything to read. */
static bool
work_waits(struct serve_history *h)
{
	struct gap g;

	return to_read(h) || serve_requests_wanted(h->requests) || find_gap(h, true, &g);
}

/*
 * A ledger that was emptied or recreated has a lower offset at first. One that has grown again
 * before it was seen is written by another mixer, as it is after each start of one: then the first
 * record is looked at again, which says whether it is the same ledger.
 */
void
serve_history_note(struct serve_history *h, const struct status *st)
{
	pthread_mutex_lock(&h->thread.lock);
	if (st->ledger_offset < h->noted)
		forget(h);
	if (st->ledger_offset >= 0 && h->noted >= 0 && st->ledger.mixer != h->mixer)
		h->first_known = false;
	if (!h->followed)
		h->generation++; /* what is known of an empty ledger is complete from here on */
	h->followed = true;
	h->noted = st->ledger_offset;
	h->mixer = st->ledger.mixer;
	if (st->ledger_offset >= 0) {
		note_names(h, st);
		add_point(h, &st->ledger, st->ledger_offset, st->ledger_time_ms);
		add_losses(h, st->feedback, st->feedback_n, st->domains_n);
	}
	if (work_waits(h))
		pthread_cond_broadcast(&h->thread.wake);
	pthread_mutex_unlock(&h->thread.lock);
}

/* ---- the thread: what was before ---- */

/* What is known is of another ledger than the one that `first`, its first record, is of. */
static bool
is_other(const struct serve_history *h, const struct ledger *first, int64_t time_ms)
{
	return h->first_time_ms >= 0 &&
	       (h->first_mixer != first->mixer || h->first_time_ms != time_ms);
}

/*
 * The ledger's first record, and its last one into a zeroed *last (ledger_clear). *offset is -1
 * where it is empty.
 */
static enum fail_code
read_ends(struct serve_history *h, struct ledger_log *log, struct ledger *last, int64_t *offset,
    struct failure *f)
{
	struct ledger first = {0};
	int64_t found = -1, time_ms = -1, first_time_ms = -1;
	bool any;
	enum fail_code code = ledger_log_last(log, last, &any, f);

	*offset = -1;
	ledger_clear(last); /* read once more, for when it was written */
	if (code == FAIL_NONE && any)
		code = ledger_log_at(
		    log, ledger_log_last_offset(log), last, offset, &time_ms, &any, f);
	if (code == FAIL_NONE && any)
		code = ledger_log_first_at(log, &first, &found, &first_time_ms, &any, f);
	if (code != FAIL_NONE || !any) {
		*offset = -1;
		ledger_clear(&first);
		return code;
	}
	pthread_mutex_lock(&h->thread.lock);
	if (is_other(h, &first, first_time_ms))
		forget(h);
	if (!h->first_known)
		h->generation++; /* what is known may be complete from here on */
	h->first_known = true;
	h->first_mixer = first.mixer;
	h->first_time_ms = first_time_ms;
	h->step_first = first.step_first;
	add_point(h, last, *offset, time_ms);
	add_point(h, &first, found, first_time_ms);
	pthread_mutex_unlock(&h->thread.lock);
	ledger_clear(&first);
	return FAIL_NONE;
}

/* Takes what a look at `at` found; NULL: nothing. A range may have changed meanwhile. */
static void
take_look(struct serve_history *h, const struct gap *g, int64_t at, const struct ledger *l,
    int64_t found, int64_t time_ms)
{
	pthread_mutex_lock(&h->thread.lock);
	if (g->of == NULL || g->of->number == g->number) {
		struct mix_history *points = g->of == NULL ? &h->points : &g->of->points;

		if (l != NULL && g->of == NULL)
			add_point(h, l, found, time_ms);
		else if (l != NULL)
			add_to(h, points, l, found, time_ms);
		mix_history_looked(points, at, l == NULL ? -1 : found);
	}
	pthread_mutex_unlock(&h->thread.lock);
}

/* Looks into the widest gap; *more is false where there is none. */
static enum fail_code
look(struct serve_history *h, struct ledger_log *log, bool parts, bool *more, struct failure *f)
{
	struct ledger record = {0};
	int64_t middle, found, time_ms;
	struct gap g;
	enum fail_code code;
	bool any;

	pthread_mutex_lock(&h->thread.lock);
	*more = find_gap(h, parts, &g);
	pthread_mutex_unlock(&h->thread.lock);
	if (!*more)
		return FAIL_NONE;
	middle = g.from + (g.to - g.from) / 2;
	code = ledger_log_at(log, middle, &record, &found, &time_ms, &any, f);
	if (code == FAIL_DATA) { /* it cannot be read: as though nothing were there */
		any = false;
		code = FAIL_NONE;
	}
	if (code == FAIL_NONE)
		take_look(h, &g, middle, any ? &record : NULL, found, time_ms);
	ledger_clear(&record);
	return code;
}

/* Puts the versions, newest first, behind those that are known, oldest first. */
static enum fail_code
keep_versions(struct serve_history *h, struct weight_history *read, struct failure *f)
{
	size_t n = h->versions_n, all = n + read->n, drop;
	struct version *grown = realloc(h->version, (all + 1) * sizeof(*grown));

	if (grown == NULL)
		return fail_memory(f);
	h->version = grown;
	for (size_t i = read->n; i-- > 0;) {
		struct version *v = &h->version[h->versions_n++];
		const char *who = serve_requests_who(h->requests, read->version[i].reason_id);

		*v = (struct version){.v = read->version[i]};
		if (who != NULL)
			v->who = strdup(who);
		h->version_known = v->v.version;
	}
	read->n = 0; /* they are ours now */
	drop = h->versions_n > SERVE_HISTORY_VERSIONS ? h->versions_n - SERVE_HISTORY_VERSIONS : 0;
	for (size_t i = 0; i < drop; i++)
		close_version(&h->version[i]);
	h->versions_n -= drop;
	memmove(h->version, h->version + drop, h->versions_n * sizeof(*h->version));
	h->generation++;
	return FAIL_NONE;
}

/* Reads the versions that are newer than those known; `last`: the ledger's last record. */
static enum fail_code
read_versions(
    struct serve_history *h, struct ledger_log *log, const struct ledger *last, struct failure *f)
{
	struct weight_history read = {0};
	int64_t n;
	enum fail_code code;

	pthread_mutex_lock(&h->thread.lock);
	n = last->version - h->version_known;
	pthread_mutex_unlock(&h->thread.lock);
	if (n <= 0)
		return FAIL_NONE;
	code = weight_history_read_log(
	    &read, log, last, n > SERVE_HISTORY_VERSIONS ? SERVE_HISTORY_VERSIONS : (size_t)n, f);
	if (code == FAIL_NONE) {
		pthread_mutex_lock(&h->thread.lock);
		code = keep_versions(h, &read, f);
		/* What was deleted with the ledger's first records is not looked for again. */
		if (code == FAIL_NONE && h->version_known < last->version)
			h->version_known = last->version;
		pthread_mutex_unlock(&h->thread.lock);
	}
	weight_history_close(&read);
	return code;
}

/* The places of 1 << bits, the coarsest first: 0, 1/2, 1/4, 3/4, 1/8 ... by i's bits reversed. */
static int64_t
reversed(uint32_t i, int bits)
{
	uint32_t out = 0;

	for (int bit = 0; bit < bits; bit++)
		out |= (i >> bit & 1) << (bits - 1 - bit);
	return out;
}

/* Looks at even distances into what was reported before; two steps of all ranks at a time. */
static enum fail_code
look_back(struct serve_history *h, struct past_losses *past, size_t domains_n, uint32_t world,
    struct failure *f)
{
	int64_t reports = 2 * (int64_t)world + LOOK_MORE, low, high;
	enum fail_code code = past_losses_ends(past, &low, &high, f);
	int bits = LOOKS_BITS;

	reports = reports > STATUS_REPORTS ? STATUS_REPORTS : reports;
	while (code == FAIL_NONE && bits > 0 && reports << bits > 2 * (high - low))
		bits--;
	for (uint32_t i = 0; code == FAIL_NONE && i < 1U << bits; i++) {
		int64_t from = low + (high - low) * reversed(i, bits) / (1 << bits);
		const struct status_feedback *found;
		size_t n;

		if (serve_thread_stopped(&h->thread))
			break;
		code = past_losses_look(
		    past, from, from + reports < high ? from + reports : high, &found, &n, f);
		if (code == FAIL_DATA) /* deleted meanwhile: there is nothing to show */
			code = FAIL_NONE;
		pthread_mutex_lock(&h->thread.lock);
		if (h->names_n == domains_n)
			add_losses(h, found, n, domains_n);
		pthread_mutex_unlock(&h->thread.lock);
	}
	return code;
}

/* The losses of before. Without a right, or a topic, there are none. */
static enum fail_code
read_losses(struct serve_history *h, struct failure *f)
{
	struct past_losses *past = NULL;
	enum fail_code code = FAIL_NONE;
	size_t domains_n = 0;
	uint32_t world = 0;
	char **name = NULL;

	pthread_mutex_lock(&h->thread.lock);
	if (losses_wanted(h)) {
		domains_n = h->names_n;
		world = h->world;
		name = malloc(domains_n * sizeof(*name));
		if (name != NULL) /* the texts stay as long as this thread runs */
			memcpy(name, h->name, domains_n * sizeof(*name));
	}
	pthread_mutex_unlock(&h->thread.lock);
	if (domains_n == 0)
		return FAIL_NONE;
	if (name == NULL)
		return fail_memory(f);
	code = past_losses_open(&past, h->config, name, domains_n, f);
	if (code == FAIL_NONE)
		code = look_back(h, past, domains_n, world, f);
	past_losses_close(past);
	free(name);
	if (code == FAIL_BROKER || code == FAIL_TIMEOUT || code == FAIL_MEMORY)
		return code;
	pthread_mutex_lock(&h->thread.lock);
	h->losses_known = true;
	h->generation++;
	pthread_mutex_unlock(&h->thread.lock);
	return FAIL_NONE;
}

/* Waits for something to read; false: it is to end. */
static bool
wait_for_work(struct serve_history *h, int64_t at_least_ms)
{
	int64_t until_ms = clock_ms() + at_least_ms;
	bool stop;

	pthread_mutex_lock(&h->thread.lock);
	while (!h->thread.stop) {
		bool work = work_waits(h);

		if (work && clock_ms() >= until_ms)
			break;
		serve_thread_wait(&h->thread, work ? until_ms : clock_ms() + FINER_MS);
	}
	stop = h->thread.stop;
	pthread_mutex_unlock(&h->thread.lock);
	return !stop;
}

/* Looks into gaps, `most` at most. */
static enum fail_code
look_on(struct serve_history *h, struct ledger_log *log, bool parts, int most, struct failure *f)
{
	enum fail_code code = FAIL_NONE;
	bool more = true;

	for (int i = 0; code == FAIL_NONE && more && i < most && !serve_thread_stopped(&h->thread);
	     i++)
		code = look(h, log, parts, &more, f);
	return code;
}

/* All gaps were looked into; those of meanwhile may wait. */
static void
note_looked(struct serve_history *h)
{
	pthread_mutex_lock(&h->thread.lock);
	if (clock_ms() >= h->finer_ms)
		h->finer_ms = clock_ms() + FINER_MS;
	if (!h->looked)
		h->generation++;
	h->looked = true;
	pthread_mutex_unlock(&h->thread.lock);
}

/* All that there is to read, with handles that are ended behind it: a coarse picture first. */
static enum fail_code
read_all(struct serve_history *h, struct failure *f)
{
	const struct config *c = h->config;
	struct ledger_log *log = NULL;
	struct ledger last = {0};
	int64_t offset = -1;
	enum fail_code code = ledger_log_open_for_looks(&log, c->mix.name, &c->kafka, ASK_MS, f);

	if (code == FAIL_NONE)
		code = read_ends(h, log, &last, &offset, f);
	if (code == FAIL_NONE && serve_requests_wanted(h->requests))
		code = serve_requests_read(h->requests, offset < 0 ? NULL : &last, offset, f);
	if (code == FAIL_NONE && offset >= 0)
		code = look_on(h, log, false, COARSE, f);
	if (code == FAIL_NONE && offset >= 0)
		code = read_versions(h, log, &last, f);
	if (code == FAIL_NONE && offset >= 0)
		code = look_on(h, log, true, INT_MAX, f);
	if (code == FAIL_NONE && offset >= 0)
		note_looked(h);
	ledger_clear(&last);
	ledger_log_close(log);
	if (code == FAIL_NONE)
		code = read_losses(h, f);
	return code;
}

/* The follower says where the broker does not answer; what cannot be read is for us to say. */
static void
note_failure(struct serve_history *h, enum fail_code code, const struct failure *f)
{
	bool silent = code == FAIL_NONE || code == FAIL_BROKER || code == FAIL_TIMEOUT;
	const char *why = silent ? "" : f->text;

	pthread_mutex_lock(&h->thread.lock);
	if (!silent && strcmp(h->why, why) != 0)
		log_warning("serve: SERVE-HISTORY %s: the history lacks what is behind it", why);
	if (strcmp(h->why, why) != 0) {
		snprintf(h->why, sizeof(h->why), "%s", why);
		h->generation++;
	}
	pthread_mutex_unlock(&h->thread.lock);
}

static void
follow(void *argument)
{
	struct serve_history *h = argument;
	int64_t pause_ms = 0;

	while (wait_for_work(h, pause_ms)) {
		struct failure f;
		enum fail_code code = read_all(h, &f);

		note_failure(h, code, &f);
		pause_ms = code == FAIL_NONE   ? NEXT_MS
			   : code == FAIL_DATA ? UNREADABLE_MS
					       : AGAIN_MS;
	}
}

enum fail_code
serve_history_open(struct serve_history **out, const struct config *c,
    struct serve_requests *requests, struct failure *f)
{
	struct serve_history *h = calloc(1, sizeof(*h));

	if (h == NULL)
		return fail_memory(f);
	h->config = c;
	h->requests = requests;
	h->offset = h->noted = h->first_time_ms = -1;
	if (serve_thread_open(&h->thread, follow, h, f) != FAIL_NONE) {
		free(h);
		return f->code;
	}
	*out = h;
	return FAIL_NONE;
}

static void
forget_answers(struct serve_history *h)
{
	for (size_t i = 0; i < SERVE_HISTORY_ANSWERS; i++) {
		serve_text_release(h->answer[i].text);
		h->answer[i].text = NULL;
	}
}

bool
serve_history_end(struct serve_history *h, int wait_ms)
{
	return h == NULL || serve_thread_end(&h->thread, wait_ms);
}

void
serve_history_close(struct serve_history *h)
{
	if (h == NULL)
		return;
	serve_thread_close(&h->thread);
	forget(h);
	for (size_t i = 0; i < h->names_n; i++)
		free(h->name[i]);
	free(h->name);
	free(h->version);
	mix_history_close(&h->points);
	forget_answers(h);
	free(h);
}

/* ---- the answer ---- */

/*
 * The part of the mix in which a range is looked into. NULL: the range is known well enough, few
 * points are wanted, or the whole was not looked into yet; or others have taken all places lately:
 * then *waits. Called with the lock.
 */
static struct part *
part_for(struct serve_history *h, const struct serve_range *range, bool *waits)
{
	int64_t now_ms = clock_ms();
	struct mix_history points = {0};
	struct part *oldest = &h->part[0];

	*waits = false;
	for (size_t i = 0; i < SERVE_HISTORY_PARTS; i++) {
		struct part *p = &h->part[i];

		if (p->points.n > 0 && p->range.from == range->from && p->range.to == range->to) {
			p->asked_ms = now_ms;
			if (!mix_history_outgrown(&p->points, &h->points))
				return p;
			close_part(h, p);
		}
		if (p->points.n == 0 || (oldest->points.n > 0 && p->asked_ms < oldest->asked_ms))
			oldest = p;
	}
	if (range->points < PART_POINTS || !h->looked ||
	    !mix_history_part(&points, &h->points, (int64_t)range->from, (int64_t)range->to))
		return NULL;
	*waits = oldest->points.n > 0 && now_ms - oldest->asked_ms < PART_KEPT_MS;
	if (*waits) {
		mix_history_close(&points);
		return NULL;
	}
	close_part(h, oldest);
	oldest->points = points;
	oldest->range = *range;
	oldest->asked_ms = now_ms;
	pthread_cond_broadcast(&h->thread.wake);
	return oldest;
}

/*
 * Whether an answer is as fine as it will be. `waits`: for a place, as part_for() says. Gaps in the
 * whole that came since the last look into all of them do not count.
 */
static bool
is_complete(const struct serve_history *h, const struct part *part, bool waits)
{
	int64_t from, to;

	return !waits && !to_read(h) && (h->looked || is_empty(h)) &&
	       (part == NULL || !mix_history_gap(&part->points, &from, &to));
}

static bool
same_range(const struct serve_range *a, const struct serve_range *b)
{
	return a->from == b->from && a->to == b->to && a->points == b->points &&
	       a->losses_from == b->losses_from;
}

struct serve_text *
serve_history_text(struct serve_history *h, const struct serve_range *range)
{
	struct serve_text *t = NULL;
	struct part *part;
	uint64_t generation;
	bool waits;

	pthread_mutex_lock(&h->thread.lock);
	part = part_for(h, range, &waits);
	generation = h->generation + h->points.generation;
	for (size_t i = 0; i < SERVE_HISTORY_PARTS; i++)
		generation += h->part[i].points.generation;
	if (h->answers_of != generation)
		forget_answers(h);
	h->answers_of = generation;
	for (size_t i = 0; i < SERVE_HISTORY_ANSWERS && t == NULL && !waits; i++)
		if (h->answer[i].text != NULL && same_range(&h->answer[i].range, range))
			t = h->answer[i].text;
	if (t == NULL) {
		t = serve_history_print(h, range, part, is_complete(h, part, waits));
		if (!waits) { /* else the next one may have more without a new generation */
			struct answer *a = &h->answer[h->answer_next++ % SERVE_HISTORY_ANSWERS];

			serve_text_release(a->text);
			a->range = *range;
			a->text = serve_text_share(t);
		}
	} else {
		t = serve_text_share(t);
	}
	pthread_mutex_unlock(&h->thread.lock);
	return t;
}
