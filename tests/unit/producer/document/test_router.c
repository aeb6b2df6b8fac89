#include "producer/document/router.h"

#include <pthread.h>

#include "common/base/json_field.h"

#include "tests/unit/test.h"

enum { DOMAINS_MAX = 64 };

struct given {
	struct config_domain domain[DOMAINS_MAX];
	const struct config_domain *pointer[DOMAINS_MAX];
	size_t n;
};

static void
add(struct given *g, const char *name, const char *text, const char *field, const char *equals)
{
	struct config_domain *d = &g->domain[g->n];

	memset(d, 0, sizeof(*d));
	d->name = (char *)(uintptr_t)name;
	d->text = (char *)(uintptr_t)text;
	d->where_field = (char *)(uintptr_t)field;
	d->where_equals = (char *)(uintptr_t)equals;
	g->pointer[g->n++] = d;
}

static struct router *
open_router(const struct given *g, enum config_utf8 utf8)
{
	struct router *r;
	struct failure f;

	assert_int_equal(router_open(&r, g->pointer, g->n, utf8, &f), FAIL_NONE);
	return r;
}

/* Routes bytes of exactly their size; writes "name=text", "-" or "!reason". */
static void
route(const struct router *r, const struct given *g, enum chunk_form form, const char *bytes,
    size_t n, char *out, size_t room)
{
	char *copy = malloc(n == 0 ? 1 : n);
	struct chunk_record record = {.bytes = copy, .n = n};
	struct router_scratch *s;
	struct router_result result;
	struct failure f;

	memcpy(copy, bytes, n);
	assert_int_equal(router_scratch_open(&s, &f), FAIL_NONE);
	assert_int_equal(router_route(r, s, form, &record, &result, &f), FAIL_NONE);
	switch (result.verdict) {
	case ROUTER_DOCUMENT:
		snprintf(out, room, "%s=%.*s", g->domain[result.domain].name, (int)result.n,
		    result.text);
		break;
	case ROUTER_UNMATCHED: snprintf(out, room, "-"); break;
	case ROUTER_REJECT: snprintf(out, room, "!%s", result.reason); break;
	}
	router_scratch_close(s);
	free(copy);
}

static void
check_routes(const struct given *g, enum config_utf8 utf8, enum chunk_form form,
    const char *const rows[][2], size_t n)
{
	struct router *r = open_router(g, utf8);

	for (size_t i = 0; i < n; i++) {
		char out[1024];

		route(r, g, form, rows[i][0], strlen(rows[i][0]), out, sizeof(out));
		assert_string_equal(out, rows[i][1]);
	}
	router_close(r);
}

#define CHECK_ROUTES(g, utf8, form, rows)                                                          \
	check_routes(g, utf8, form, rows, sizeof(rows) / sizeof(rows[0]))

#define ONE_A_LINE "riffle reads one JSON object per line. Convert the file: "
#define ARRAY      "; this looks like a JSON array: " ONE_A_LINE "jq -c '.[]' FILE > FILE.jsonl"
#define OBJECT                                                                                     \
	"; this looks like a JSON object over several lines: " ONE_A_LINE                          \
	"jq -c . FILE > FILE.jsonl"
#define NUMBER                                                                                     \
	"; JSON has no NaN and no Infinity. Write null instead: python3 -c 'import json, sys; "    \
	"[print(json.dumps(json.loads(x, parse_constant=lambda _: None))) for x in sys.stdin]' "   \
	"< FILE > FILE.jsonl"
#define BINARY "; it looks like no text: is it the right file, or compressed without .gz or .zst?"

static void
test_a_domain_without_where_takes_every_record(void **unused)
{
	static const char *const rows[][2] = {
	    {"{\"text\":\"x\"}", "one=x"},
	    {"{\"text\":\"\"}", "one="},
	    {"{\"text\":\"a\\nb\"}", "one=a\nb"},
	    {"{}", "!no field `text`"},
	    {"{\"text\":3}", "!field `text` is not a string"},
	    {"{\"text\":null}", "!field `text` is not a string"},
	    {"{\"text\":\"x\"", "!invalid JSON at byte 11: the text ends too early"},
	    {"plain", "!invalid JSON at byte 0: a value is missing"},
	    {"[", "!invalid JSON at byte 1: the text ends too early" ARRAY},
	    {"[{\"text\":\"x\"}]", "!invalid JSON at byte 0: an object is wanted" ARRAY},
	    {"  {", "!invalid JSON at byte 3: the text ends too early" OBJECT},
	    {"  \"text\": \"x\",", "!invalid JSON at byte 8: something follows the value" OBJECT},
	    {"},", "!invalid JSON at byte 0: a value is missing" OBJECT},
	    {"]", "!invalid JSON at byte 0: a value is missing" ARRAY},
	    {"{\"text\":\"x\"},\r", "!invalid JSON at byte 12: something follows the value" ARRAY},
	    {"{\"text\":\"x\",\"a\":NaN}", "!invalid JSON at byte 16: a value is missing" NUMBER},
	    {"{\"text\":\"x\",\"a\":-Infinity}",
		"!invalid JSON at byte 17: a digit is missing" NUMBER},
	    {"{\"text\":\"NaN \\\" NaN\"", "!invalid JSON at byte 20: the text ends too early"},
	    {"\xef\xbf\xbf", "!invalid JSON at byte 0: a value is missing"},
	    {"a\tb\f\r", "!invalid JSON at byte 0: a value is missing"},
	    {"\x1f\x8b", "!invalid JSON at byte 0: a value is missing" BINARY},
	    {"P[\x01", "!invalid JSON at byte 0: a value is missing" BINARY},
	    {"{\"text\":\"\x01\"}",
		"!invalid JSON at byte 9: a control character in a string must be "
		"escaped"},
	};
	struct given g = {.n = 0};

	(void)unused;
	add(&g, "one", "text", NULL, NULL);
	assert_int_equal(router_json_kind("P\0", 2), ROUTER_JSON_BINARY);
	CHECK_ROUTES(&g, CONFIG_UTF8_REPLACE, CHUNK_JSON_LINES, rows);
}

static void
test_csv_is_known_by_the_name_or_the_first_line(void **unused)
{
	static const struct {
		const char *file, *first;
		bool csv;
	} rows[] = {
	    {"a.csv", NULL, true},
	    {"a.jsonl", NULL, false},
	    {"a.jsonl", "text,id", true},
	    {"a.jsonl", "\"text\",\"id\"\r", true},
	    {"a.txt", "text,id", false},
	    {"a.jsonl", "text", false},
	    {"a.jsonl", "", false},
	    {"a.jsonl", "Once, long ago", false},
	    {"a.jsonl", "\"text\",", false},
	    {"a.jsonl", "xt\": \"a\",\"id\":1}", false},
	    {"a.jsonl", "{\"text\",1", false},
	    {"a.jsonl", "[1,2", false},
	};

	(void)unused;
	assert_int_equal(router_json_kind("\"text\",\"id\"", 11), ROUTER_JSON_OTHER);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct chunk_record r = {.bytes = rows[i].first};

		r.n = rows[i].first == NULL ? 0 : strlen(rows[i].first);
		assert_int_equal(
		    router_csv_hint(rows[i].file, rows[i].first == NULL ? NULL : &r)[0] == ';',
		    rows[i].csv);
	}
}

static void
test_where_deals_records_out(void **unused)
{
	static const char *const rows[][2] = {
	    {"{\"meta\":{\"source\":\"wiki\"},\"text\":\"A\"}", "wiki=A"},
	    {"{\"text\":\"A\",\"meta\":{\"source\":\"code\"}}", "code=A"},
	    {"{\"text\":\"A\",\"meta\":{\"source\":\"\\u0063ode\"}}", "code=A"},
	    {"{\"text\":\"A\",\"meta\":{\"source\":\"blog\"}}", "-"},
	    {"{\"text\":\"A\",\"meta\":{\"source\":\"wik\"}}", "-"},
	    {"{\"text\":\"A\",\"meta\":{\"source\":\"wikis\"}}", "-"},
	    {"{\"text\":\"A\"}", "-"},
	    {"{\"text\":\"A\",\"meta\":\"wiki\"}", "-"},
	    {"{\"meta\":{\"source\":\"blog\"}}", "-"},
	    {"{\"meta\":{\"source\":\"wiki\"}}", "!no field `text`"},
	    {"{\"text\":\"A\",\"meta\":{\"source\":true}}", "yes=A"},
	    {"{\"text\":\"A\",\"meta\":{\"source\":3}}", "three=A"},
	    {"{\"text\":\"A\",\"meta\":{\"source\":3.0}}", "-"},
	    {"{\"text\":\"A\",\"meta\":{\"source\":\"3\"}}", "three=A"},
	    {"{\"text\":\"A\",\"meta\":{\"source\":\"\"}}", "none=A"},
	    /* The second field, and the second text. */
	    {"{\"text\":\"A\",\"body\":\"B\",\"lang\":\"c\"}", "lang=B"},
	    {"{\"text\":\"A\",\"lang\":\"c\"}", "!no field `body`"},
	    /* Both match: the first domain in the order given. */
	    {"{\"text\":\"A\",\"body\":\"B\",\"lang\":\"c\",\"meta\":{\"source\":\"code\"}}",
		"code=A"},
	    {"{\"text\":\"A\",\"body\":\"B\",\"lang\":\"c\",\"meta\":{\"source\":\"wiki\"}}",
		"lang=B"},
	    {"{\"meta\":{\"source\":\"blog\"},}",
		"!invalid JSON at byte 26: a key in quotes is missing"},
	};
	struct given g = {.n = 0};

	(void)unused;
	add(&g, "code", "text", "meta.source", "code");
	add(&g, "lang", "body", "lang", "c");
	add(&g, "none", "text", "meta.source", "");
	add(&g, "three", "text", "meta.source", "3");
	add(&g, "wiki", "text", "meta.source", "wiki");
	add(&g, "yes", "text", "meta.source", "true");
	CHECK_ROUTES(&g, CONFIG_UTF8_REPLACE, CHUNK_JSON_LINES, rows);
}

static void
test_text_that_is_not_utf8_is_repaired_or_refused(void **unused)
{
	static const char *const repaired[][2] = {
	    {"{\"text\":\"a\xff\"}", "one=a\xef\xbf\xbd"},
	    {"{\"text\":\"\xe2\x82"
	     "A\"}",
		"one=\xef\xbf\xbd"
		"A"},
	    {"{\"text\":\"\xe2\x82\xac\"}", "one=\xe2\x82\xac"},
	    {"{\"text\":\"\\ud800\"}", "one=\xef\xbf\xbd"},
	    {"{\"other\":\"\xff\",\"text\":\"a\"}", "one=a"},
	};
	static const char *const refused[][2] = {
	    {"{\"text\":\"a\xff\"}", "!invalid UTF-8 at byte 1 of the text"},
	    {"{\"text\":\"\\n\\n\xed\xa0\x80\"}", "!invalid UTF-8 at byte 2 of the text"},
	    {"{\"text\":\"\xe2\x82\xac\"}", "one=\xe2\x82\xac"},
	    {"{\"text\":\"\\ud800\"}", "one=\xef\xbf\xbd"},
	};
	static const char *const whole[][2] = {
	    {"a\xff", "!invalid UTF-8 at byte 1 of the text"},
	    {"a\nb", "one=a\nb"},
	};
	struct given g = {.n = 0};

	(void)unused;
	add(&g, "one", "text", NULL, NULL);
	CHECK_ROUTES(&g, CONFIG_UTF8_REPLACE, CHUNK_JSON_LINES, repaired);
	CHECK_ROUTES(&g, CONFIG_UTF8_STRICT, CHUNK_JSON_LINES, refused);
	CHECK_ROUTES(&g, CONFIG_UTF8_STRICT, CHUNK_WHOLE_FILE, whole);
}

static void
test_a_text_in_another_encoding_is_noticed(void **unused)
{
	static const struct {
		const char *bytes;
		bool garbled;
	} rows[] = {
	    {"caf\xe9 au lait", true}, /* Latin-1 */
	    {"caf\xc3\xa9 \xef\xbf\xbd", false},
	    {"one bad byte \xff in a long text: 0123456789012345678901234567890123456789"
	     "0123456789012345678901234567890123456789",
		false},
	};
	struct given g = {.n = 0};
	struct router_scratch *s;
	struct router *r;
	struct failure f;

	(void)unused;
	add(&g, "one", "text", NULL, NULL);
	r = open_router(&g, CONFIG_UTF8_REPLACE);
	assert_int_equal(router_scratch_open(&s, &f), FAIL_NONE);
	EACH_NAMED_ROW(i, rows, bytes) {
		struct chunk_record record = {.bytes = rows[i].bytes, .n = strlen(rows[i].bytes)};
		struct router_result result;

		assert_int_equal(
		    router_route(r, s, CHUNK_WHOLE_FILE, &record, &result, &f), FAIL_NONE);
		assert_int_equal(result.garbled, rows[i].garbled);
	}
	router_scratch_close(s);
	router_close(r);
}

/* A record with its fields; one byte in a hundred may be none of a character. */
static void
test_a_scratch_of_many_records_changes_none_of_them(void **unused)
{
	static const struct {
		size_t prompt_bad, prompt_good, response_bad, response_good;
		bool garbled;
	} rows[] = {
	    {0, 3, 0, 2, false},
	    {1, 0, 0, 99, false}, /* 1 of 100 */
	    {1, 0, 0, 98, true},  /* 1 of 99 */
	    {0, 99, 1, 0, false},
	    {0, 98, 1, 0, true},
	    {1, 99, 1, 99, false},
	    {2, 99, 1, 99, true},
	    {1, 99, 2, 99, true},
	    {0, 1, 0, 1, false},
	    {1, 1, 0, 1, true},
	    {0, 0, 0, 0, false},
	};
	struct given g = {.n = 0};
	struct router_scratch *s;
	struct router *r;
	struct failure f;

	(void)unused;
	add(&g, "one", "text", NULL, NULL);
	g.domain[0].prompt = (char *)(uintptr_t) "p";
	g.domain[0].response = (char *)(uintptr_t) "r";
	r = open_router(&g, CONFIG_UTF8_REPLACE);
	assert_int_equal(router_scratch_open(&s, &f), FAIL_NONE);
	EACH_ROW(i, rows) {
		char part[4][128], text[512], expected[1024];
		size_t expected_n = 0;
		const size_t n[] = {rows[i].prompt_bad, rows[i].prompt_good, rows[i].response_bad,
		    rows[i].response_good};
		struct chunk_record record = {.bytes = text};
		struct router_result result;

		for (size_t k = 0; k < 4; k++) {
			memset(part[k], k % 2 == 0 ? '\xff' : 'a' + (char)i, n[k]);
			part[k][n[k]] = '\0';
			for (size_t b = 0; b < n[k]; b++)
				expected_n += (size_t)snprintf(expected + expected_n,
				    sizeof(expected) - expected_n, "%s",
				    k % 2 == 0 ? "\xef\xbf\xbd" : (char[]){(char)('a' + i), '\0'});
		}
		record.n = (size_t)snprintf(text, sizeof(text), "{\"p\":\"%s%s\",\"r\":\"%s%s\"}",
		    part[0], part[1], part[2], part[3]);
		assert_int_equal(
		    router_route(r, s, CHUNK_JSON_LINES, &record, &result, &f), FAIL_NONE);
		assert_int_equal(result.n, expected_n);
		assert_memory_equal(result.text, expected, result.n);
		assert_int_equal(result.prompt_n, 3 * n[0] + n[1]);
		assert_int_equal(result.garbled, rows[i].garbled);
	}
	router_scratch_close(s);
	router_close(r);
}

static void
test_a_whole_file_is_text_to_which_where_cannot_apply(void **unused)
{
	static const char *const taken[][2] = {
	    {"{\"text\":\"x\"}", "one={\"text\":\"x\"}"},
	    {"a\xff", "one=a\xef\xbf\xbd"},
	};
	static const char *const refused[][2] = {
	    {"a", "!a text file has no fields, so that `where` cannot choose its domain"},
	};
	struct given one = {.n = 0}, with_where = {.n = 0};

	(void)unused;
	add(&one, "one", "text", NULL, NULL);
	add(&with_where, "two", "text", "source", "x");
	CHECK_ROUTES(&one, CONFIG_UTF8_REPLACE, CHUNK_WHOLE_FILE, taken);
	CHECK_ROUTES(&with_where, CONFIG_UTF8_REPLACE, CHUNK_WHOLE_FILE, refused);
}

static void
test_what_the_input_rejected_stays_rejected(void **unused)
{
	struct chunk_record record = {.bytes = "{\"text\":\"x\"}", .n = 12, .reject = "damaged"};
	struct given g = {.n = 0};
	struct router_scratch *s;
	struct router_result result;
	struct router *r;
	struct failure f;

	(void)unused;
	add(&g, "one", "text", NULL, NULL);
	r = open_router(&g, CONFIG_UTF8_REPLACE);
	assert_int_equal(router_scratch_open(&s, &f), FAIL_NONE);
	assert_int_equal(router_route(r, s, CHUNK_JSON_LINES, &record, &result, &f), FAIL_NONE);
	assert_int_equal(result.verdict, ROUTER_REJECT);
	assert_string_equal(result.reason, "damaged");
	router_scratch_close(s);
	router_close(r);
}

static void
test_domains_that_cannot_share_an_input_are_refused(void **unused)
{
	static char fields[JSON_FIELD_PATHS_MAX][8];
	struct given same = {.n = 0}, all = {.n = 0}, many = {.n = 0};
	struct router *r;
	struct failure f;

	(void)unused;
	add(&same, "one", "text", "source", "x");
	add(&same, "two", "text", "source", "y");
	add(&same, "three", "text", "source", "x");
	assert_int_equal(
	    router_open(&r, same.pointer, same.n, CONFIG_UTF8_REPLACE, &f), FAIL_CONFIG);
	assert_non_null(strstr(f.text, "both take the records of one input where source is x"));
	assert_non_null(strstr(f.text, "one"));
	assert_non_null(strstr(f.text, "three"));

	add(&all, "one", "text", "source", "x");
	add(&all, "two", "text", NULL, NULL);
	assert_int_equal(router_open(&r, all.pointer, all.n, CONFIG_UTF8_REPLACE, &f), FAIL_CONFIG);
	assert_string_equal(f.text,
	    "domain two: takes every record of an input that domain one shares; give it a where");

	for (size_t i = 0; i < JSON_FIELD_PATHS_MAX; i++) {
		snprintf(fields[i], sizeof(fields[i]), "f%zu", i);
		add(&many, fields[i], "text", fields[i], "x");
	}
	assert_int_equal(
	    router_open(&r, many.pointer, JSON_FIELD_PATHS_MAX - 1, CONFIG_UTF8_REPLACE, &f),
	    FAIL_NONE);
	router_close(r);
	assert_int_equal(
	    router_open(&r, many.pointer, many.n, CONFIG_UTF8_REPLACE, &f), FAIL_CONFIG);
	assert_non_null(strstr(f.text, "more than 32 different fields"));
}

/* Writes "prompt|response keep", with "!" in front where there is no response, or "-reason". */
static void
route_kept(const struct router *r, const char *bytes, char *out, size_t room)
{
	struct chunk_record record = {.bytes = bytes, .n = strlen(bytes)};
	struct router_scratch *s;
	struct router_result result;
	struct failure f;

	assert_int_equal(router_scratch_open(&s, &f), FAIL_NONE);
	assert_int_equal(router_route(r, s, CHUNK_JSON_LINES, &record, &result, &f), FAIL_NONE);
	if (result.verdict == ROUTER_DOCUMENT)
		snprintf(out, room, "%s%.*s|%.*s %.*s", result.prompt_only ? "!" : "",
		    (int)result.prompt_n, result.text, (int)(result.n - result.prompt_n),
		    result.text + result.prompt_n, (int)result.keep_n,
		    result.keep_n == 0 ? "" : result.keep);
	else
		snprintf(out, room, "-%s", result.reason);
	router_scratch_close(s);
}

static void
check_kept(
    const char *prompt, const char *response, enum config_utf8 utf8, const char *const (*rows)[2])
{
	static char meta[] = "meta.id", odd[] = "a\"\\\x01z", answer[] = "answer";
	char *keep[] = {meta, answer, odd};
	struct given g = {.n = 0};
	struct router *r;

	add(&g, "one", "text", NULL, NULL);
	g.domain[0].prompt = (char *)(uintptr_t)prompt;
	g.domain[0].response = (char *)(uintptr_t)response;
	g.domain[0].keep = (struct config_list){3, keep};
	r = open_router(&g, utf8);
	for (; (*rows)[0] != NULL; rows++) {
		char out[512];

		route_kept(r, (*rows)[0], out, sizeof(out));
		assert_string_equal(out, (*rows)[1]);
	}
	router_close(r);
}

static void
test_prompt_and_response_are_the_text_and_fields_are_kept(void **unused)
{
	static const char *const both[][2] = {
	    {"{\"p\":\"Q\",\"r\":{\"t\":\"A\"},\"text\":3}", "Q|A {}"},
	    {"{\"p\":\"\",\"r\":{\"t\":\"\"}}", "| {}"},
	    {"{\"r\":{\"t\":\"\\u0041\"},\"p\":\"\\n\",\"meta\":{\"id\":7}}",
		"\n|A {\"meta.id\":7}"},
	    /* In the order of the configuration, white space only inside texts. */
	    {"{\"p\":\"Q\",\"r\":{\"t\":\"A\"},\"answer\": [ 1.50 , \"a \\\" b\\\\\" , { } ] ,"
	     "\"meta\":{\"id\":null}}",
		"Q|A {\"meta.id\":null,\"answer\":[1.50,\"a \\\" b\\\\\",{}]}"},
	    {"{\"p\":\"Q\",\"r\":{\"t\":\"A\"},\"answer\":\"x y\"}", "Q|A {\"answer\":\"x y\"}"},
	    {"{\"p\":\"Q\",\"r\":{\"t\":\"A\"},\"a\\\"\\\\\\u0001z\":true}",
		"Q|A {\"a\\\"\\\\\\u0001z\":true}"},
	    {"{\"p\":\"Q\",\"r\":{\"t\":\"A\"},\"answer\":1,\"answer\":2}", "Q|A {\"answer\":2}"},
	    {"{\"p\":\"Q\",\"r\":\"A\"}", "-no field `r.t`"},
	    {"{\"p\":3,\"r\":{\"t\":\"A\"}}", "-field `p` is not a string"},
	    {"{\"text\":\"x\"}", "-no field `p`"},
	    /* Each is repaired by itself: bytes of both make no character. */
	    {"{\"p\":\"Q\xe2\x82\",\"r\":{\"t\":\"\xac\"},\"answer\":\"\xff\"}",
		"Q\xef\xbf\xbd|\xef\xbf\xbd {\"answer\":\"\xef\xbf\xbd\"}"},
	    {NULL, NULL},
	};
	static const char *const strict[][2] = {
	    {"{\"p\":\"Q\xff\",\"r\":{\"t\":\"A\"}}", "-invalid UTF-8 at byte 1 of the prompt"},
	    {"{\"p\":\"Q\",\"r\":{\"t\":\"\xff\"}}", "-invalid UTF-8 at byte 0 of the response"},
	    {"{\"p\":\"Q\",\"r\":{\"t\":\"A\"},\"answer\":\"\xff\"}",
		"-invalid UTF-8 at byte 11 of what is kept"},
	    {NULL, NULL},
	};
	static const char *const alone[][2] = {
	    {"{\"p\":\"Q\"}", "!Q| {}"},
	    {"{\"p\":\"\xff\"}", "!\xef\xbf\xbd| {}"},
	    {NULL, NULL},
	};
	static const char *const neither[][2] = {
	    {"{\"text\":\"T\",\"answer\":0}", "|T {\"answer\":0}"},
	    {NULL, NULL},
	};

	(void)unused;
	check_kept("p", "r.t", CONFIG_UTF8_REPLACE, both);
	check_kept("p", "r.t", CONFIG_UTF8_STRICT, strict);
	check_kept("p", NULL, CONFIG_UTF8_REPLACE, alone);
	check_kept(NULL, NULL, CONFIG_UTF8_REPLACE, neither);
}

static void
test_as_much_may_be_kept_as_the_limit_and_no_byte_more(void **unused)
{
	static char answer[] = "answer", *keep[] = {answer}, text[ROUTER_KEEP_BYTES + 64];
	struct given g = {.n = 0};
	struct router *r;

	(void)unused;
	add(&g, "one", "text", NULL, NULL);
	g.domain[0].keep = (struct config_list){1, keep};
	r = open_router(&g, CONFIG_UTF8_REPLACE);
	for (int more = 0; more < 2; more++) {
		/* {"answer":"aaa"} has 13 bytes beside the letters. */
		size_t n = ROUTER_KEEP_BYTES - 13 + (size_t)more;
		struct chunk_record record = {.bytes = text};
		struct router_result result;
		struct router_scratch *s;
		struct failure f;
		char letters[ROUTER_KEEP_BYTES];

		memset(letters, 'a', sizeof(letters));
		record.n = (size_t)snprintf(
		    text, sizeof(text), "{\"text\":\"\", \"answer\": \"%.*s\"}", (int)n, letters);
		assert_int_equal(router_scratch_open(&s, &f), FAIL_NONE);
		assert_int_equal(
		    router_route(r, s, CHUNK_JSON_LINES, &record, &result, &f), FAIL_NONE);
		if (more == 0) {
			assert_int_equal(result.verdict, ROUTER_DOCUMENT);
			assert_int_equal(result.keep_n, ROUTER_KEEP_BYTES);
		} else {
			assert_int_equal(result.verdict, ROUTER_REJECT);
			assert_string_equal(result.reason,
			    "the fields to keep are 65537 bytes, more than the 65536 of a "
			    "document");
		}
		router_scratch_close(s);
	}
	router_close(r);
}

static void
test_a_whole_file_has_no_fields_to_keep(void **unused)
{
	static const char *const refused[][2] = {
	    {"a", "!a text file has no fields, of which `prompt` or `keep` could be one"},
	};
	static char prompt[] = "p", *keep[] = {prompt};
	struct given with_prompt = {.n = 0}, with_keep = {.n = 0};

	(void)unused;
	add(&with_prompt, "one", "text", NULL, NULL);
	with_prompt.domain[0].prompt = prompt;
	add(&with_keep, "one", "text", NULL, NULL);
	with_keep.domain[0].keep = (struct config_list){1, keep};
	CHECK_ROUTES(&with_prompt, CONFIG_UTF8_REPLACE, CHUNK_WHOLE_FILE, refused);
	CHECK_ROUTES(&with_keep, CONFIG_UTF8_REPLACE, CHUNK_WHOLE_FILE, refused);
}

/* What one thread of the next test does: routes its own records with the router of all. */
struct worker {
	const struct router *r;
	pthread_t thread;
	int number;
	size_t wrong;
};

static void *
work(void *argument)
{
	struct worker *w = argument;
	struct router_scratch *s;
	struct failure f;

	if (router_scratch_open(&s, &f) != FAIL_NONE)
		return NULL;
	for (int i = 0; i < 2000; i++) {
		char text[128], expected[64];
		struct chunk_record record = {.bytes = text};
		struct router_result result = {.verdict = ROUTER_UNMATCHED};
		int n = snprintf(expected, sizeof(expected), "thread\n%d %d", w->number, i);

		record.n = (size_t)snprintf(text, sizeof(text),
		    "{\"source\":\"%d\",\"text\":\"thread\\n%d %d\"}", i % 40, w->number, i);
		w->wrong +=
		    router_route(w->r, s, CHUNK_JSON_LINES, &record, &result, &f) != FAIL_NONE ||
		    result.verdict != ROUTER_DOCUMENT || result.domain != (size_t)(i % 40) ||
		    result.n != (size_t)n || memcmp(result.text, expected, result.n) != 0;
	}
	router_scratch_close(s);
	w->wrong -= 1; /* it starts with one, so that a thread that did nothing is seen */
	return NULL;
}

static void
test_threads_share_a_router(void **unused)
{
	static char names[40][16];
	struct worker worker[4];
	struct given g = {.n = 0};
	struct router *r;

	(void)unused;
	for (int i = 0; i < 40; i++) {
		snprintf(names[i], sizeof(names[i]), "%d", i);
		add(&g, names[i], "text", "source", names[i]);
	}
	r = open_router(&g, CONFIG_UTF8_REPLACE);
	for (int i = 0; i < 4; i++) {
		worker[i] = (struct worker){.r = r, .number = i, .wrong = 1};
		assert_int_equal(pthread_create(&worker[i].thread, NULL, work, &worker[i]), 0);
	}
	for (int i = 0; i < 4; i++) {
		pthread_join(worker[i].thread, NULL);
		assert_int_equal(worker[i].wrong, 0);
	}
	router_close(r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_domain_without_where_takes_every_record),
	    cmocka_unit_test(test_csv_is_known_by_the_name_or_the_first_line),
	    cmocka_unit_test(test_where_deals_records_out),
	    cmocka_unit_test(test_a_text_in_another_encoding_is_noticed),
	    cmocka_unit_test(test_text_that_is_not_utf8_is_repaired_or_refused),
	    cmocka_unit_test(test_a_scratch_of_many_records_changes_none_of_them),
	    cmocka_unit_test(test_a_whole_file_is_text_to_which_where_cannot_apply),
	    cmocka_unit_test(test_what_the_input_rejected_stays_rejected),
	    cmocka_unit_test(test_prompt_and_response_are_the_text_and_fields_are_kept),
	    cmocka_unit_test(test_as_much_may_be_kept_as_the_limit_and_no_byte_more),
	    cmocka_unit_test(test_a_whole_file_has_no_fields_to_keep),
	    cmocka_unit_test(test_domains_that_cannot_share_an_input_are_refused),
	    cmocka_unit_test(test_threads_share_a_router),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
