#include "producer/produce/lane_live.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "common/base/log.h"
#include "producer/input/file_list.h"

typedef char input_name[ARRIVALS_LOG_INPUT_BYTES];

static enum fail_code
keep(void *opaque, const struct arrivals_portion *p, size_t n, struct failure *f)
{
	return arrivals_log_add(opaque, p, n, f);
}

static void
name_inputs(const struct lane *l, input_name *out)
{
	for (size_t i = 0; i < l->o->domains_n; i++)
		snprintf(out[i], sizeof(out[i]), "%s%s/%" PRIu32 "/%" PRIu32,
		    l->config->domains[l->o->domain[i]].name, l->o->held_out ? ".valid" : "",
		    l->o->lane, l->o->lanes);
}

/* Whether nothing was published of the input, as far as can be told. */
static bool
is_fresh(const struct lane *l)
{
	for (size_t i = 0; i < l->o->domains_n; i++)
		if (!l->o->wanted[i])
			return false;
	for (size_t i = 0; i < l->streams_n; i++)
		if (l->stream[i].topic[0] != '\0' && l->resume[i].state != RESUME_FRESH)
			return false;
	return true;
}

/* A file that an unpublished order names and that is not there any more. NULL: all are there. */
static const char *
missing_file(const struct lane *l, const char *folder)
{
	for (size_t i = 0; i < l->order.n; i++) {
		const struct live_order_portion *p = &l->order.portion[i];
		const char *name = l->order.file[p->file].name;
		struct failure f;
		struct stat st;
		char *path;
		bool there;

		if (file_list_path(&path, folder, name, &f) != FAIL_NONE)
			return NULL; /* that is met again, and said, when it is read */
		there = stat(path, &st) == 0 && (uint64_t)st.st_size >= p->end;
		free(path);
		if (!there)
			return name;
	}
	return NULL;
}

/* An order of which nothing was published binds nobody. */
static void
drop_stale(struct lane *l, const char *folder, bool live)
{
	const char *missing;

	if (l->order.n == 0 || !is_fresh(l))
		return;
	missing = missing_file(l, folder);
	if (live && missing == NULL)
		return;
	if (live)
		log_info("produce: %s begins anew: nothing was published, and file %s has changed",
		    l->o->label, missing);
	live_order_reset(&l->order);
}

static enum fail_code
check_begun(const struct lane *l, struct failure *f)
{
	for (size_t i = 0; i < l->streams_n && l->order.n == 0; i++) {
		const struct resume *r = &l->resume[i];
		bool behind = r->state == RESUME_APPEND && r->document > 0;

		if (r->state == RESUME_PARTIAL || behind)
			return fail(f, FAIL_CONFIG,
			    "topic %s: was begun with `live: false`, by all files in the order of "
			    "their names, and cannot become live: produce it as it was begun, and "
			    "make what keeps arriving a domain of its own",
			    l->stream[i].topic);
	}
	return FAIL_NONE;
}

static enum fail_code
open_files(struct lane *l, input_name *names, struct input_options *o,
    struct input_live_options *live, struct failure *f)
{
	const struct config_domain *d = &l->config->domains[l->o->domain[0]];
	bool there, ordered;
	size_t name;

	if (arrivals_log_read(&l->order, &there, &name, l->o->reader, l->config->corpus, names,
		l->o->domains_n, f) != FAIL_NONE)
		return f->code;
	ordered = l->order.n > 0;
	drop_stale(l, o->folder, d->live);
	if (!d->live && !ordered)
		return FAIL_NONE;
	if (d->live && check_begun(l, f) != FAIL_NONE)
		return f->code;
	if (arrivals_log_open(&l->arrivals, l->config, names[name], l->order.n, f) != FAIL_NONE)
		return f->code;
	if (!d->live && l->order.n == 0)
		return FAIL_NONE; /* an order that nothing was published by; it is void now */
	*live = (struct input_live_options){.order = &l->order,
	    .keep = keep,
	    .opaque = l->arrivals,
	    .last = !d->live || l->o->seal};
	o->live = live;
	o->follow = l->o->follow;
	return FAIL_NONE;
}

enum fail_code
lane_live_open(
    struct lane *l, struct input_options *o, struct input_live_options *live, struct failure *f)
{
	input_name *names;
	enum fail_code code;

	if (o->exec != NULL) {
		o->follow = l->o->follow;
		o->repeats = l->o->repeats;
		return FAIL_NONE;
	}
	names = calloc(l->o->domains_n, sizeof(*names));
	if (names == NULL)
		return fail_memory(f);
	name_inputs(l, names);
	code = open_files(l, names, o, live, f);
	free(names);
	return code;
}

void
lane_live_close(struct lane *l)
{
	arrivals_log_close(l->arrivals);
	live_order_close(&l->order);
}
