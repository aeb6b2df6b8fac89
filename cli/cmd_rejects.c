/* riffle rejects: what could not be used, where it is, and why. */
#include <inttypes.h>
#include <jansson.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "cli/command.h"
#include "cli/signals.h"
#include "common/base/text.h"
#include "common/base/utf8.h"
#include "consumer/admin/rejects_log.h"
#include "producer/produce/rejects.h"

struct arguments {
	const char *domain, *reason;
	bool count, json;
};

#define AT(field) offsetof(struct arguments, field)

enum { SHOWN_BYTES = 100, FIELD_BYTES = 1024 };

static const struct option_row rows[] = {
    {.name = "domain",
	.kind = OPTION_TEXT,
	.at = AT(domain),
	.value = "D",
	.help = "only records of this domain"},
    {.name = "reason",
	.kind = OPTION_TEXT,
	.at = AT(reason),
	.value = "R",
	.help = "only records whose reason contains this text"},
    {.name = "count",
	.kind = OPTION_FLAG,
	.at = AT(count),
	.help = "only the counts by domain and reason"},
    {.name = "json",
	.kind = OPTION_FLAG,
	.at = AT(json),
	.help = "JSON: an object for each record, then one with the counts; its keys are stable"},
};

/* The records of a domain, or of several that share an input, by reason. */
struct group {
	char domain[FIELD_BYTES];
	struct rejects rejects;
};

struct listing {
	const struct arguments *a;
	void *listed; /* hashes of records, a tree of tsearch() */
	uint64_t records;
	struct group *group; /* owned */
	size_t groups_n;
	bool no_memory;
};

static const char *
text_of(char out[static FIELD_BYTES], const struct rejects_text *t)
{
	size_t n = t->text == NULL ? 0 : utf8_valid_bytes(t->text, t->n);

	snprintf(out, FIELD_BYTES, "%.*s", (int)(n < FIELD_BYTES ? n : FIELD_BYTES - 1),
	    n == 0 ? "" : t->text);
	return out;
}

/* All but what differs from run to run when a producer reads the same input again. */
static uint64_t
hash_record(const struct rejects_record *r)
{
	uint64_t hash = r->bytes_n == 0 ? 0 : XXH64(r->bytes, r->bytes_n, 0);

	for (int i = 0; i < REJECTS_FIELDS; i++)
		if (i != REJECTS_STAGE && i != REJECTS_COUNT && r->field[i].text != NULL)
			hash = XXH64(r->field[i].text, r->field[i].n, hash + (uint64_t)i);
	return hash;
}

static int
by_hash(const void *x, const void *y)
{
	const uint64_t *a = x, *b = y;

	return *a < *b ? -1 : *a > *b;
}

/* Whether a record of that hash was listed before; it is from now on. */
static bool
was_listed(struct listing *l, uint64_t hash)
{
	uint64_t *key = malloc(sizeof(*key));
	void *at = NULL;

	if (key != NULL) {
		*key = hash;
		at = tsearch(key, &l->listed, by_hash);
	}
	l->no_memory |= at == NULL;
	if (at == NULL || *(uint64_t **)at != key) {
		free(key);
		return true;
	}
	return false;
}

static void
count(struct listing *l, const char *domain, const char *reason)
{
	struct group *more;
	size_t i = 0;

	l->records++;
	while (i < l->groups_n && strcmp(l->group[i].domain, domain) != 0)
		i++;
	if (i == l->groups_n) {
		more = realloc(l->group, (i + 1) * sizeof(*more));
		if (more == NULL) {
			l->no_memory = true;
			return;
		}
		l->group = more;
		memset(&more[i], 0, sizeof(more[i]));
		snprintf(more[i].domain, sizeof(more[i].domain), "%s", domain);
		l->groups_n++;
	}
	rejects_add(&l->group[i].rejects, reason);
}

/* The beginning of the record on one line; what is not printable ASCII becomes a dot. */
static void
print_bytes(const struct rejects_record *r)
{
	size_t n = r->bytes_n < SHOWN_BYTES ? r->bytes_n : SHOWN_BYTES;

	for (size_t i = 0; i < n; i++)
		putchar(r->bytes[i] >= ' ' && r->bytes[i] < 0x7F ? r->bytes[i] : '.');
	puts(n < r->bytes_n ? "..." : "");
}

/* domain, place, reason and beginning, with tabs between them */
static void
print_record(const struct rejects_record *r, const char *domain, const char *reason)
{
	char file[FIELD_BYTES], at[FIELD_BYTES], more[FIELD_BYTES];

	if (r->field[REJECTS_FILE].text != NULL)
		printf("%s\t%s:%s\t%s\t", TEXT_SHOWN(domain),
		    TEXT_SHOWN(text_of(file, &r->field[REJECTS_FILE])),
		    TEXT_SHOWN(text_of(at, &r->field[REJECTS_LINE])), TEXT_SHOWN(reason));
	else
		printf("%s\t%s/%s offset %s\t%s\t", TEXT_SHOWN(domain),
		    TEXT_SHOWN(text_of(file, &r->field[REJECTS_TOPIC])),
		    TEXT_SHOWN(text_of(at, &r->field[REJECTS_PARTITION])),
		    TEXT_SHOWN(text_of(more, &r->field[REJECTS_OFFSET])), TEXT_SHOWN(reason));
	print_bytes(r);
}

static void
print_object(json_t *object)
{
	json_dumpf(object, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(object);
}

static void
print_record_json(const struct rejects_record *r)
{
	json_t *object = json_pack(
	    "{s:I, s:I}", "record", (json_int_t)r->offset, "time_ms", (json_int_t)r->time_ms);
	size_t n = r->bytes_n < SHOWN_BYTES ? r->bytes_n : SHOWN_BYTES;
	char begins[SHOWN_BYTES * UTF8_REPLACED_FACTOR], text[FIELD_BYTES];

	for (int i = 0; i < REJECTS_FIELDS; i++) {
		const struct rejects_text *t = &r->field[i];

		if (t->text == NULL)
			continue;
		text_of(text, t);
		json_object_set_new(object, rejects_field_name[i],
		    i < REJECTS_LINE || i == REJECTS_TOPIC ? json_string(text)
							   : json_integer(strtoll(text, NULL, 10)));
	}
	n = utf8_replace(begins, r->bytes, n);
	json_object_set_new(object, "begins", json_stringn(begins, n));
	json_object_set_new(object, "bytes", json_integer((json_int_t)r->bytes_n));
	print_object(object);
}

static void
take(void *opaque, const struct rejects_record *r)
{
	struct listing *l = opaque;
	char domain[FIELD_BYTES], reason[FIELD_BYTES];

	if (was_listed(l, hash_record(r)))
		return;
	text_of(domain, &r->field[REJECTS_DOMAIN]);
	text_of(reason, &r->field[REJECTS_REASON]);
	count(l, domain, reason);
	if (l->a->count)
		return;
	if (l->a->json)
		print_record_json(r);
	else
		print_record(r, domain, reason);
}

static void
print_counts(const struct listing *l)
{
	char text[REJECTS_TEXT_BYTES];

	printf("%" PRIu64 " record%s\n", l->records, l->records == 1 ? "" : "s");
	for (size_t i = 0; i < l->groups_n; i++) {
		rejects_format(&l->group[i].rejects, text);
		printf("%s: %s\n", TEXT_SHOWN(l->group[i].domain), TEXT_SHOWN(text));
	}
}

static void
print_counts_json(const struct listing *l)
{
	json_t *all = json_array();

	for (size_t i = 0; i < l->groups_n; i++) {
		const struct rejects *r = &l->group[i].rejects;
		json_t *reasons = json_object();

		for (uint32_t k = 0; k < r->kinds_n; k++)
			json_object_set_new(
			    reasons, r->kind[k].reason, json_integer((json_int_t)r->kind[k].count));
		json_array_append_new(
		    all, json_pack("{s:s, s:I, s:o, s:I}", "domain", l->group[i].domain, "records",
			     (json_int_t)r->total, "reasons", reasons, "other_reasons",
			     (json_int_t)r->others));
	}
	print_object(json_pack("{s:I, s:o}", "records", (json_int_t)l->records, "domains", all));
}

static enum fail_code
run(int argc, char **argv, struct failure *f)
{
	struct arguments a = {0};
	struct listing l = {.a = &a};
	struct rejects_query q = {.take = take, .opaque = &l};
	struct config *c = NULL;
	struct options o;
	size_t unused;
	enum fail_code code;

	if (options_parse(&o, &cmd_rejects, argc, argv, &a, f) != FAIL_NONE ||
	    options_config(&c, &o, f) != FAIL_NONE)
		return f->code;
	q.config = c;
	q.domain = a.domain;
	q.reason = a.reason;
	q.stop = signals_stop();
	code = rejects_log_read(&q, f);
	if (code == FAIL_NONE && l.no_memory)
		code = fail_memory(f);
	if (code == FAIL_NONE && l.records == 0 &&
	    a.domain != NULL) /* a removed domain may have some */
		code = config_find_domain(&unused, c, a.domain, f);
	if (code == FAIL_NONE && a.json)
		print_counts_json(&l);
	else if (code == FAIL_NONE)
		print_counts(&l);
	free(l.group);
	tdestroy(l.listed, free);
	config_close(c);
	return code;
}

const struct command cmd_rejects = {
    .name = "rejects",
    .summary = "list and count what could not be used",
    .usage = "-c FILE [--domain D] [--reason R] [--count] [--json]",
    .help =
	"Reads the corpus's topic of rejects: records of files that `riffle produce` could not "
	"use, documents without a target that it left out (`no_target`), and records of domains "
	"that `riffle mix` passed over. Prints a line for each: the "
	"domain, the file and line (or topic, partition and offset), the reason and the beginning "
	"of the record; then the counts by domain and reason, with N in place of the numbers in a "
	"reason. Counts records, not offsets of the topic. A record that several runs of a "
	"producer rejected is listed and counted once, unless its place, its bytes or the reason "
	"differ.",
    .example = "riffle rejects -c run.yml --domain web --count\n"
	       "riffle rejects -c run.yml --reason 'no field' --json",
    .common = OPTIONS_CONFIG | OPTIONS_PROPERTIES,
    .option = rows,
    .options_n = sizeof(rows) / sizeof(rows[0]),
    .run = run,
};
