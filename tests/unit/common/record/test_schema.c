#include "common/record/schema.h"

#include "tests/unit/test.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>

/* ---- Parsing Canonical Form and CRC-64-AVRO, as the Avro specification 1.11 states them ---- */

struct canonical {
	char text[16384];
	size_t n;
	const char *namespace;
};

static void put_type(struct canonical *c, json_t *type);

static void __attribute__((format(printf, 2, 3))) put(struct canonical *c, const char *format, ...)
{
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(c->text + c->n, sizeof(c->text) - c->n, format, ap);
	va_end(ap);
	assert_true(n >= 0 && (size_t)n < sizeof(c->text) - c->n);
	c->n += (size_t)n;
}

static bool
is_primitive(const char *name)
{
	static const char *const primitive[] = {
	    "null", "boolean", "int", "long", "float", "double", "bytes", "string"};

	EACH_ROW(i, primitive) {
		if (strcmp(name, primitive[i]) == 0)
			return true;
	}
	return false;
}

static void
put_name(struct canonical *c, const char *name)
{
	if (is_primitive(name) || strchr(name, '.') != NULL || c->namespace == NULL)
		put(c, "\"%s\"", name);
	else
		put(c, "\"%s.%s\"", c->namespace, name);
}

static void
put_fields(struct canonical *c, json_t *fields)
{
	size_t i;
	json_t *field;

	put(c, ",\"fields\":[");
	json_array_foreach(fields, i, field)
	{
		put(c, "%s{\"name\":\"%s\",\"type\":", i == 0 ? "" : ",",
		    json_string_value(json_object_get(field, "name")));
		put_type(c, json_object_get(field, "type"));
		put(c, "}");
	}
	put(c, "]");
}

static void
put_symbols(struct canonical *c, json_t *symbols)
{
	size_t i;
	json_t *symbol;

	put(c, ",\"symbols\":[");
	json_array_foreach(symbols, i, symbol)
	    put(c, "%s\"%s\"", i == 0 ? "" : ",", json_string_value(symbol));
	put(c, "]");
}

static void
put_named(struct canonical *c, json_t *type, const char *kind)
{
	put(c, "{\"name\":");
	put_name(c, json_string_value(json_object_get(type, "name")));
	put(c, ",\"type\":\"%s\"", kind);
	if (strcmp(kind, "record") == 0)
		put_fields(c, json_object_get(type, "fields"));
	else if (strcmp(kind, "enum") == 0)
		put_symbols(c, json_object_get(type, "symbols"));
	else
		put(c, ",\"size\":%" JSON_INTEGER_FORMAT,
		    json_integer_value(json_object_get(type, "size")));
	put(c, "}");
}

static void
put_type(struct canonical *c, json_t *type)
{
	const char *kind, *namespace;

	if (json_is_string(type)) {
		put_name(c, json_string_value(type));
		return;
	}
	assert_true(json_is_object(type));
	kind = json_string_value(json_object_get(type, "type"));
	namespace = json_string_value(json_object_get(type, "namespace"));
	if (namespace != NULL)
		c->namespace = namespace;
	if (strcmp(kind, "array") == 0) {
		put(c, "{\"type\":\"array\",\"items\":");
		put_type(c, json_object_get(type, "items"));
		put(c, "}");
	} else {
		put_named(c, type, kind);
	}
}

static uint64_t
crc_64_avro(const char *text)
{
	const uint64_t empty = UINT64_C(0xc15d213aa4d7a795);
	uint64_t crc = empty;

	for (; *text != '\0'; text++) {
		crc ^= (uint8_t)*text;
		for (int bit = 0; bit < 8; bit++)
			crc = (crc >> 1) ^ (empty & (0 - (crc & 1)));
	}
	return crc;
}

static uint64_t
fingerprint_of(const char *text)
{
	struct canonical c = {.n = 0};
	json_error_t error;
	json_t *schema = json_loads(text, JSON_REJECT_DUPLICATES, &error);

	assert_non_null(schema);
	put_type(&c, schema);
	json_decref(schema);
	return crc_64_avro(c.text);
}

/* ---- tests ---- */

static void
test_the_constants_are_the_fingerprints_of_the_texts(void **unused)
{
	(void)unused;
	assert_true(crc_64_avro("\"int\"") == UINT64_C(0x7275d51a3f395c8f));
	assert_true(crc_64_avro("\"null\"") == UINT64_C(0x63dd24e7cc258f8a));
	for (int i = 0; i < SCHEMAS_COUNT; i++)
		assert_int_equal(schema_fingerprint((enum schema_record)i),
		    fingerprint_of(schema_text((enum schema_record)i)));
}

static void
test_the_fingerprints_are_those_of_avro_for_java(void **unused)
{
	FILE *file = fopen("tests/vectors/fingerprints.tsv", "r");
	char line[256], name[64];
	uint64_t fingerprint;
	int seen = 0;

	(void)unused;
	assert_non_null(file);
	while (fgets(line, sizeof(line), file) != NULL) {
		if (line[0] == '#')
			continue;
		assert_int_equal(sscanf(line, "%63s %" SCNx64, name, &fingerprint), 2);
		for (int i = 0; i < SCHEMAS_COUNT; i++) {
			if (strcmp(name, schema_name[i]) == 0) {
				assert_int_equal(
				    schema_fingerprint((enum schema_record)i), fingerprint);
				seen++;
			}
		}
	}
	fclose(file);
	assert_int_equal(seen, SCHEMAS_COUNT);
}

static void
test_each_text_is_the_schema_of_its_name(void **unused)
{
	(void)unused;
	for (int i = 0; i < SCHEMAS_COUNT; i++) {
		json_t *schema = json_loads(schema_text((enum schema_record)i), 0, NULL);

		assert_non_null(schema);
		assert_string_equal(
		    json_string_value(json_object_get(schema, "name")), schema_name[i]);
		json_decref(schema);
	}
}

/* A doc in every record, field, enum and fixed of the schema; returns how many it met. */
static int
count_docs(json_t *at)
{
	int docs = 0;
	size_t i;
	const char *key;
	json_t *value;

	if (json_is_array(at)) {
		json_array_foreach(at, i, value) docs += count_docs(value);
	} else if (json_is_object(at)) {
		if (json_object_get(at, "name") != NULL) {
			const char *doc = json_string_value(json_object_get(at, "doc"));

			if (doc == NULL || doc[0] == '\0')
				print_error("%s has no doc\n",
				    json_string_value(json_object_get(at, "name")));
			assert_true(doc != NULL && doc[0] != '\0');
			docs++;
		}
		json_object_foreach(at, key, value) docs += count_docs(value);
	}
	return docs;
}

static void
test_every_named_thing_in_the_schemas_is_documented(void **unused)
{
	(void)unused;
	for (int i = 0; i < SCHEMAS_COUNT; i++) {
		json_t *schema = json_loads(schema_text((enum schema_record)i), 0, NULL);

		assert_true(count_docs(schema) > 5);
		json_decref(schema);
	}
}

static void
test_an_envelope_tells_its_record(void **unused)
{
	(void)unused;
	for (int i = 0; i < SCHEMAS_COUNT; i++) {
		uint8_t bytes[SCHEMA_ENVELOPE_BYTES];
		enum schema_record found = SCHEMAS_COUNT;
		struct failure f;

		schema_put_envelope(bytes, (enum schema_record)i);
		assert_memory_equal(bytes, "\xc3\x01", 2);
		assert_int_equal(schema_which(&found, bytes, sizeof(bytes), &f), FAIL_NONE);
		assert_int_equal(found, i);
		assert_int_equal(
		    schema_expect((enum schema_record)i, bytes, sizeof(bytes), &f), FAIL_NONE);
	}
}

static void
test_what_is_no_record_is_refused_with_what_it_is(void **unused)
{
	static const struct {
		const char *bytes;
		size_t n;
		const char *text;
	} cases[] = {
	    {"", 0, "empty: not a riffle record"},
	    {"\xc3", 1, "one byte, C3: not a riffle record"},
	    {"{\"a\": 1}", 8, "starts with 7B 22: not a riffle record"},
	    {"\xc3\x02"
	     "12345678",
		10, "starts with C3 02: not a riffle record"},
	    {"\x00\x01"
	     "12345678",
		10, "starts with 00 01: not a riffle record"},
	    {"\xc3\x01"
	     "1234567",
		9, "9 bytes are too few for a riffle record"},
	    {"\xc3\x01\x8f\x5c\x39\x3f\x1a\xd5\x75\x72", 10,
		"has the schema fingerprint 7275d51a3f395c8f, which riffle"},
	};

	(void)unused;
	EACH_NAMED_ROW(i, cases, bytes) {
		enum schema_record found = SCHEMAS_COUNT;
		struct failure f;

		assert_int_equal(
		    schema_which(&found, (const uint8_t *)cases[i].bytes, cases[i].n, &f),
		    FAIL_DATA);
		assert_int_equal(strncmp(f.text, cases[i].text, strlen(cases[i].text)), 0);
		assert_int_equal(found, SCHEMAS_COUNT);
	}
}

static void
test_another_kind_of_record_is_refused_by_name(void **unused)
{
	uint8_t bytes[SCHEMA_ENVELOPE_BYTES];
	struct failure f;

	(void)unused;
	schema_put_envelope(bytes, SCHEMA_LEDGER);
	assert_int_equal(schema_expect(SCHEMA_BATCH, bytes, sizeof(bytes), &f), FAIL_DATA);
	assert_string_equal(f.text, "is a record of kind Ledger where one of kind Batch belongs");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_the_constants_are_the_fingerprints_of_the_texts),
	    cmocka_unit_test(test_the_fingerprints_are_those_of_avro_for_java),
	    cmocka_unit_test(test_each_text_is_the_schema_of_its_name),
	    cmocka_unit_test(test_every_named_thing_in_the_schemas_is_documented),
	    cmocka_unit_test(test_an_envelope_tells_its_record),
	    cmocka_unit_test(test_what_is_no_record_is_refused_with_what_it_is),
	    cmocka_unit_test(test_another_kind_of_record_is_refused_by_name),
	};

	return cmocka_run_group_tests_name("schema", tests, NULL, NULL);
}
