#include "producer/document/router.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "producer/document/router_state.h"

static enum fail_code
add_field(struct router *r, const char *path, size_t *field, struct failure *f)
{
	for (*field = 0; *field < r->fields_n; ++*field)
		if (strcmp(r->field[*field], path) == 0)
			return FAIL_NONE;
	if (r->fields_n == JSON_FIELDS_MAX)
		return fail(f, FAIL_CONFIG,
		    "domains of one input name more than %d different fields; give some of them an "
		    "input of their own",
		    JSON_FIELDS_MAX);
	r->field[r->fields_n++] = path;
	return FAIL_NONE;
}

/* Finds or makes the group of a field; FAIL_MEMORY. */
static enum fail_code
add_choice(struct router *r, size_t field, size_t domain, struct failure *f)
{
	const char *equals = r->domain[domain]->where_equals;
	struct group *g = r->group;

	while (g < r->group + r->groups_n && g->field != field)
		g++;
	if (g == r->group + r->groups_n) {
		g->field = field;
		g->choice = malloc(r->domains_n * sizeof(*g->choice));
		if (g->choice == NULL)
			return fail_memory(f);
		r->groups_n++;
	}
	g->choice[g->choices_n++] = (struct choice){equals, strlen(equals), domain};
	return FAIL_NONE;
}

static enum fail_code
add_wanted(struct router *r, size_t i, struct failure *f)
{
	const struct config_domain *d = r->domain[i];
	struct wanted *w = &r->wanted[i];

	w->prompt = d->prompt != NULL;
	w->parts_n = w->prompt && d->response != NULL ? 2 : 1;
	if (add_field(r, w->prompt ? d->prompt : d->text, &w->part[0], f) != FAIL_NONE)
		return f->code;
	if (w->parts_n == 2 && add_field(r, d->response, &w->part[1], f) != FAIL_NONE)
		return f->code;
	w->keep = calloc(d->keep.n + 1, sizeof(*w->keep));
	if (w->keep == NULL)
		return fail_memory(f);
	for (; w->keeps_n < d->keep.n; w->keeps_n++)
		if (add_field(r, d->keep.text[w->keeps_n], &w->keep[w->keeps_n], f) != FAIL_NONE)
			return f->code;
	return FAIL_NONE;
}

static enum fail_code
add_domain(struct router *r, size_t i, struct failure *f)
{
	const struct config_domain *d = r->domain[i];
	size_t field;

	assert(d->text != NULL && (d->where_field == NULL) == (d->where_equals == NULL));
	if (add_wanted(r, i, f) != FAIL_NONE)
		return f->code;
	if (d->where_field == NULL && r->domains_n > 1)
		return fail(f, FAIL_CONFIG,
		    "domain %s: takes every record of an input that domain %s shares; give it a "
		    "where",
		    d->name, r->domain[i == 0]->name);
	if (d->where_field == NULL)
		return FAIL_NONE;
	if (add_field(r, d->where_field, &field, f) != FAIL_NONE)
		return f->code;
	return add_choice(r, field, i, f);
}

static int
compare_bytes(const char *a, size_t a_n, const char *b, size_t b_n)
{
	size_t n = a_n < b_n ? a_n : b_n;
	int order = n == 0 ? 0 : memcmp(a, b, n);

	return order != 0 ? order : (a_n > b_n) - (a_n < b_n);
}

static int
compare_choices(const void *a, const void *b)
{
	const struct choice *left = a, *right = b;

	return compare_bytes(left->equals, left->n, right->equals, right->n);
}

static enum fail_code
sort_group(const struct router *r, struct group *g, struct failure *f)
{
	qsort(g->choice, g->choices_n, sizeof(*g->choice), compare_choices);
	for (size_t i = 1; i < g->choices_n; i++)
		if (compare_choices(&g->choice[i - 1], &g->choice[i]) == 0)
			return fail(f, FAIL_CONFIG,
			    "domains %s and %s: both take the records of one input where %s is %s",
			    r->domain[g->choice[i - 1].domain]->name,
			    r->domain[g->choice[i].domain]->name, r->field[g->field],
			    g->choice[i].equals);
	return FAIL_NONE;
}

enum fail_code
router_open(struct router **out, const struct config_domain *const *domain, size_t n,
    enum config_utf8 utf8, struct failure *f)
{
	struct router *r = calloc(1, sizeof(*r));

	assert(n > 0);
	if (r == NULL)
		return fail_memory(f);
	r->domain = domain;
	r->domains_n = n;
	r->utf8 = utf8;
	r->wanted = calloc(n, sizeof(*r->wanted));
	if (r->wanted == NULL) {
		fail_memory(f);
		goto failed;
	}
	for (size_t i = 0; i < n; i++)
		if (add_domain(r, i, f) != FAIL_NONE)
			goto failed;
	for (size_t i = 0; i < r->groups_n; i++)
		if (sort_group(r, &r->group[i], f) != FAIL_NONE)
			goto failed;
	if (json_paths_open(&r->paths, r->field, r->fields_n, f) != FAIL_NONE)
		goto failed;
	*out = r;
	return FAIL_NONE;
failed:
	router_close(r);
	return f->code;
}

void
router_close(struct router *r)
{
	if (r == NULL)
		return;
	json_paths_close(r->paths);
	for (size_t i = 0; i < r->groups_n; i++)
		free(r->group[i].choice);
	for (size_t i = 0; r->wanted != NULL && i < r->domains_n; i++)
		free(r->wanted[i].keep);
	free(r->wanted);
	free(r);
}

enum fail_code
router_scratch_open(struct router_scratch **out, struct failure *f)
{
	struct router_scratch *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return fail_memory(f);
	if (json_scratch_open(&s->json, f) != FAIL_NONE) {
		free(s);
		return f->code;
	}
	*out = s;
	return FAIL_NONE;
}

void
router_scratch_close(struct router_scratch *s)
{
	if (s == NULL)
		return;
	json_scratch_close(s->json);
	byte_buffer_close(&s->text);
	byte_buffer_close(&s->keep);
	free(s);
}

/* The domain that takes `value` by this group; domains_n: none. */
static size_t
find_domain(const struct router *r, const struct group *g, const struct json_value *value)
{
	size_t low = 0, high = g->choices_n;

	if (value->found == JSON_MISSING)
		return r->domains_n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct choice *c = &g->choice[middle];
		int order = compare_bytes(value->bytes, value->n, c->equals, c->n);

		if (order == 0)
			return c->domain;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return r->domains_n;
}

static size_t
choose_domain(const struct router *r, const struct json_value *value)
{
	size_t chosen = r->groups_n == 0 ? 0 : r->domains_n;

	for (size_t i = 0; i < r->groups_n; i++) {
		size_t domain = find_domain(r, &r->group[i], &value[r->group[i].field]);

		if (domain < chosen)
			chosen = domain;
	}
	return chosen;
}

/* Whether a record looks like a line out of a document that was laid out over many. */
static bool
is_laid_out(const char *text, size_t n)
{
	while (n > 0 && (*text == ' ' || *text == '\t')) {
		text++;
		n--;
	}
	return n > 0 && (strchr("[]}\"", *text) != NULL || (*text == '{' && n == 1));
}

static void
reject_json(struct router_scratch *s, const struct chunk_record *record, const struct failure *why,
    struct router_result *out)
{
	snprintf(s->reason, sizeof(s->reason), "%.300s%s", why->text,
	    is_laid_out(record->bytes, record->n) ? "; JSON lines has one object a line, which jq "
						    "-c '.[]' makes of an array and jq -c . of "
						    "objects laid out over many lines"
						  : "");
	router_reject(out, s->reason);
}

static enum fail_code
route_line(const struct router *r, struct router_scratch *s, const struct chunk_record *record,
    struct router_result *out, struct failure *f)
{
	struct json_value value[JSON_FIELDS_MAX];
	size_t domain;

	if (json_fields(r->paths, s->json, record->bytes, record->n, value, f) != FAIL_NONE) {
		if (f->code != FAIL_DATA)
			return f->code;
		reject_json(s, record, f, out);
		return FAIL_NONE;
	}
	domain = choose_domain(r, value);
	if (domain < r->domains_n)
		return router_give_document(r, s, domain, value, out, f);
	*out = (struct router_result){.verdict = ROUTER_UNMATCHED};
	return FAIL_NONE;
}

enum fail_code
router_route(const struct router *r, struct router_scratch *s, enum chunk_form form,
    const struct chunk_record *record, struct router_result *out, struct failure *f)
{
	if (record->reject != NULL) {
		router_reject(out, record->reject);
		return FAIL_NONE;
	}
	if (form == CHUNK_JSON_LINES)
		return route_line(r, s, record, out, f);
	if (r->groups_n > 0) {
		router_reject(
		    out, "a text file has no fields, so that `where` cannot choose its domain");
		return FAIL_NONE;
	}
	if (r->wanted[0].prompt || r->wanted[0].keeps_n > 0) {
		router_reject(
		    out, "a text file has no fields, of which `prompt` or `keep` could be one");
		return FAIL_NONE;
	}
	return router_give_text(r, s, 0, record->bytes, record->n, out, f);
}
