#include "cli/request/request_words.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buffer.h"
#include "common/base/names.h"
#include "common/base/nearest.h"
#include "common/base/scalar.h"
#include "common/kafka/topics.h"
#include "consumer/admin/request.h"
#include "consumer/mixer/request_ids.h"

/* Whether what stands before the "=" is a number with a point: no domain has such a name. */
static bool
is_weight(const char *word, const char *equals)
{
	size_t n = (size_t)(equals - word);

	return memchr(word, '.', n) != NULL && strspn(word, "0123456789.") == n;
}

/* `weight` has room. An entry counts only once it is whole, for control_clear(). */
static enum fail_code
add_weight(struct control *c, const char *word, struct failure *f)
{
	const char *equals = strchr(word, '=');
	struct ledger_raw_weight *w = &c->weight[c->weights_n];

	if (equals != NULL && names_valid(equals + 1) && is_weight(word, equals))
		return fail(f, FAIL_USAGE, "\"%s\" is not DOMAIN=WEIGHT: write %s=%.*s", word,
		    equals + 1, (int)(equals - word), word);
	if (equals == NULL || equals == word)
		return fail(f, FAIL_USAGE, "\"%s\" is not DOMAIN=WEIGHT", word);
	if (scalar_number(equals + 1, &w->weight) != SCALAR_OK || w->weight < 0)
		return fail(f, FAIL_USAGE, "%s: \"%s\" is not a weight: a number of at least 0",
		    word, equals + 1);
	w->domain = strndup(word, (size_t)(equals - word));
	if (w->domain == NULL)
		return fail_memory(f);
	c->weights_n++; /* control_clear() frees its name from here on */
	if (!names_valid(w->domain))
		return fail(f, FAIL_USAGE, "%s: \"%s\" is not a name of a domain", word, w->domain);
	for (size_t i = 0; i + 1 < c->weights_n; i++)
		if (strcmp(c->weight[i].domain, w->domain) == 0)
			return fail(f, FAIL_USAGE, "domain %s has two weights, %g and %g: give one",
			    w->domain, c->weight[i].weight, w->weight);
	return FAIL_NONE;
}

enum fail_code
request_words_weights(struct control *c, char *const *word, size_t n, struct failure *f)
{
	if (buffer_resize_items(&c->weight, c->weights_n + n + 1, sizeof(*c->weight), f) !=
	    FAIL_NONE)
		return f->code;
	for (size_t i = 0; i < n; i++)
		if (add_weight(c, word[i], f) != FAIL_NONE)
			return f->code;
	return FAIL_NONE;
}

enum fail_code
request_words_place(struct control *c, const char *word, struct failure *f)
{
	const char *slash = strchr(word, '/');
	uint64_t partition = 0;

	assert(c->domain == NULL);
	c->domain = strndup(word, slash == NULL ? strlen(word) : (size_t)(slash - word));
	if (c->domain == NULL)
		return fail_memory(f);
	if (strstr(word, "..") != NULL)
		return fail(f, FAIL_USAGE,
		    "\"%s\" is not a name of a domain: DOMAIN comes first, then a..b", word);
	if (!names_valid(c->domain))
		return fail(f, FAIL_USAGE, "\"%s\" is not a name of a domain", c->domain);
	if (slash != NULL && scalar_count(slash + 1, 0, INT32_MAX, &partition) != SCALAR_OK)
		return fail(f, FAIL_USAGE, "%s: \"%s\" is not a partition", word, slash + 1);
	c->partition = slash == NULL ? -1 : (int32_t)partition;
	return FAIL_NONE;
}

/* Names what there is: of the mix, or where it has no ledger yet of the configuration. */
static enum fail_code
fail_unknown(
    const char *domain, const struct ledger *last, const struct config *c, struct failure *f)
{
	struct nearest near;

	nearest_init(&near, domain);
	for (size_t i = 0; last != NULL && i < last->domains_n; i++)
		nearest_list(&near, last->domain[i].name);
	for (size_t i = 0; i < c->domains_n; i++)
		if (last == NULL)
			nearest_list(&near, c->domains[i].name);
		else
			nearest_offer(&near, c->domains[i].name);
	fail(f, FAIL_USAGE, "the mix has no domain %s", domain);
	return nearest_fail_more(&near, "it has", f);
}

enum fail_code
request_words_known(
    const char *domain, const struct ledger *last, const struct config *c, struct failure *f)
{
	if ((last != NULL && ledger_domain_named(last, domain) != NULL) ||
	    config_domain_index(c, domain) >= 0)
		return FAIL_NONE;
	return fail_unknown(domain, last, c, f);
}

bool
request_words_same(const struct control *a, const struct control *b)
{
	static const char *const always[] = {"id", "who", NULL};
	static const char *const joined[] = {"id", "who", "kind", "domain", NULL};
	bool weights = (a->kind == LEDGER_WEIGHTS || a->kind == LEDGER_JOIN) &&
		       (b->kind == LEDGER_WEIGHTS || b->kind == LEDGER_JOIN);
	struct avro_difference ignored;

	return !control_compare(a, b, weights ? joined : always, &ignored);
}

void
request_words_text(struct text *t, const struct control *c)
{
	text_add(t, "%s", ledger_change_names[c->kind]);
	if (c->run != NULL && *c->run != '\0')
		text_add(t, " %s to step %" PRId64, c->run, c->to_step);
	if (c->request != NULL && *c->request != '\0')
		text_add(t, " %s", c->request);
	if (c->domain != NULL && *c->domain != '\0')
		text_add(t, " %s", c->domain);
	if (c->end > 0)
		text_add(t, "/%" PRId32 " %" PRId64 "..%" PRId64, c->partition, c->first, c->end);
	for (size_t i = 0; i < c->weights_n; i++)
		text_add(t, " %s=%g", c->weight[i].domain, c->weight[i].weight);
	if (c->temperature > 0)
		text_add(t, " temperature %g", c->temperature);
	if (c->lr_scale > 0)
		text_add(t, " lr_scale %g", c->lr_scale);
	if (c->global_batch > 0)
		text_add(t, " global_batch %" PRIu32, c->global_batch);
	if (c->at_step >= 0)
		text_add(t, " at step %" PRId64, c->at_step);
}

enum fail_code
request_words_range(struct control *c, const char *word, struct failure *f)
{
	const char *dots = strstr(word, "..");
	char first[24];
	uint64_t a, b;

	if (dots == NULL || (size_t)(dots - word) >= sizeof(first))
		return fail(f, FAIL_USAGE, "\"%s\" is not a range of ordinals, a..b", word);
	memcpy(first, word, (size_t)(dots - word));
	first[dots - word] = '\0';
	if (scalar_count(first, 0, INT64_MAX, &a) != SCALAR_OK ||
	    scalar_count(dots + 2, 0, INT64_MAX, &b) != SCALAR_OK)
		return fail(f, FAIL_USAGE, "\"%s\" is not a range of ordinals, a..b", word);
	if (a >= b)
		return fail(f, FAIL_USAGE,
		    "%s is an empty range: it is half open, and a single ordinal %" PRIu64
		    " is %" PRIu64 "..%" PRIu64,
		    word, a, a, a + 1);
	c->first = (int64_t)a;
	c->end = (int64_t)b;
	return FAIL_NONE;
}

void
request_words_ask_mix(const struct config *c, const char *mix, struct failure *f)
{
	struct failure asked = {.code = f->code};

	if (c->file_mix == NULL || strcmp(c->file_mix, mix) == 0)
		return;
	topics_add_other_name(c, &asked);
	fail_more(&asked, "%s", f->text);
	*f = asked;
}

enum fail_code
request_words_name(struct control *c, const char *id, const char *prefix, struct failure *f)
{
	char fresh[REQUEST_ID_BYTES], who[REQUEST_WHO_BYTES];

	assert(c->id == NULL);
	assert(c->who == NULL);
	if (id != NULL && strlen(id) > MIXER_ID_BYTES_MAX)
		return fail(f, FAIL_USAGE, "--id: longer than %d bytes", MIXER_ID_BYTES_MAX);
	if (id == NULL && request_new_id(fresh, prefix, f) != FAIL_NONE)
		return f->code;
	request_who(who);
	c->id = strdup(id == NULL ? fresh : id);
	c->who = strdup(who);
	return c->id == NULL || c->who == NULL ? fail_memory(f) : FAIL_NONE;
}
