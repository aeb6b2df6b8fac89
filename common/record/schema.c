#include "common/record/schema.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

/* Made from the files of schemas/ when building, in the order of enum schema_record. */
extern const char *const schema_texts[SCHEMAS_COUNT];
extern const char *const schema_texts_earlier[SCHEMAS_EARLIER];

const char *const schema_name[SCHEMAS_COUNT] = {
    [SCHEMA_SEQUENCE] = "Sequence",
    [SCHEMA_END] = "End",
    [SCHEMA_BATCH] = "Batch",
    [SCHEMA_LEDGER] = "Ledger",
    [SCHEMA_CONTROL] = "Control",
    [SCHEMA_FEEDBACK] = "Feedback",
    [SCHEMA_ARRIVALS] = "Arrivals",
};

/*
 * CRC-64-AVRO of the canonical form of schemas/<name>.avsc. Constants, not computed, so that
 * nothing can fail at run time; tests/unit/common/record/test_schema.c computes them from the
 * texts.
 */
static const uint64_t fingerprint_now[SCHEMAS_COUNT] = {
    [SCHEMA_SEQUENCE] = UINT64_C(0xa08755cde1490eb2),
    [SCHEMA_END] = UINT64_C(0xb23e55a2e05c7dd8),
    [SCHEMA_BATCH] = UINT64_C(0xb746ce167c0f75c1),
    [SCHEMA_LEDGER] = UINT64_C(0x5dc663c8257ce1ab),
    [SCHEMA_CONTROL] = UINT64_C(0xa2962d4177d5f7aa),
    [SCHEMA_FEEDBACK] = UINT64_C(0x74a5df22289da78f),
    [SCHEMA_ARRIVALS] = UINT64_C(0xdbccd8289274c1a1),
};

/* Schemas that were published before those of now, in the order of scripts/embed-schemas. */
static const struct {
	enum schema_record record; /* a cold one */
	uint64_t fingerprint;
} earlier[SCHEMAS_EARLIER] = {
    {SCHEMA_CONTROL, UINT64_C(0xd4d378c6b9fafb26)}, /* without RESET */
    {SCHEMA_CONTROL, UINT64_C(0x2f8425fce14b9502)}, /* without CANCEL */
    {SCHEMA_CONTROL, UINT64_C(0x0174961d1d8d36be)}, /* without UNDO */
    {SCHEMA_CONTROL, UINT64_C(0x66f6f7d7ebbc13db)}, /* without global_batch */
    {SCHEMA_LEDGER, UINT64_C(0x876870eb2b6a81b3)},  /* without UNDO */
    {SCHEMA_LEDGER, UINT64_C(0xd1c962081f16c985)},  /* without global_batch */
};

const char *
schema_text(enum schema_record record)
{
	assert(record < SCHEMAS_COUNT);
	return schema_texts[record];
}

uint64_t
schema_fingerprint(enum schema_record record)
{
	assert(record < SCHEMAS_COUNT);
	return fingerprint_now[record];
}

void
schema_put_envelope(uint8_t out[static SCHEMA_ENVELOPE_BYTES], enum schema_record record)
{
	uint64_t fingerprint = schema_fingerprint(record);

	out[0] = 0xc3;
	out[1] = 0x01;
	for (unsigned i = 0; i < 8; i++)
		out[2 + i] = (uint8_t)(fingerprint >> (8 * i));
}

static enum fail_code
refuse_start(const uint8_t *bytes, size_t n, struct failure *f)
{
	if (n == 0)
		return fail(f, FAIL_DATA, "empty: not a riffle record");
	if (n == 1)
		return fail(f, FAIL_DATA, "one byte, %02X: not a riffle record", bytes[0]);
	return fail(f, FAIL_DATA, "starts with %02X %02X: not a riffle record", bytes[0], bytes[1]);
}

/* Schemas are numbered: those of now first, then the earlier ones. */
static uint64_t
fingerprint_of(size_t at)
{
	return at < SCHEMAS_COUNT ? fingerprint_now[at] : earlier[at - SCHEMAS_COUNT].fingerprint;
}

/* The number of the schema that the envelope names. */
static enum fail_code
find_schema(size_t *at, const uint8_t *bytes, size_t n, struct failure *f)
{
	uint64_t fingerprint = 0;

	assert(bytes != NULL || n == 0);
	if (n < 2 || bytes[0] != 0xc3 || bytes[1] != 0x01)
		return refuse_start(bytes, n, f);
	if (n < SCHEMA_ENVELOPE_BYTES)
		return fail(f, FAIL_DATA, "%zu bytes are too few for a riffle record", n);
	for (unsigned i = 0; i < 8; i++)
		fingerprint |= (uint64_t)bytes[2 + i] << (8 * i);
	for (*at = 0; *at < SCHEMAS_COUNT + SCHEMAS_EARLIER; ++*at)
		if (fingerprint_of(*at) == fingerprint)
			return FAIL_NONE;
	return fail(f, FAIL_DATA,
	    "has the schema fingerprint %016" PRIx64 ", which riffle " RIFFLE_VERSION
	    " does not know: a newer riffle or another program wrote it",
	    fingerprint);
}

static enum schema_record
record_of(size_t at)
{
	return at < SCHEMAS_COUNT ? (enum schema_record)at : earlier[at - SCHEMAS_COUNT].record;
}

enum fail_code
schema_which(enum schema_record *out, const uint8_t *bytes, size_t n, struct failure *f)
{
	size_t at;

	if (find_schema(&at, bytes, n, f) != FAIL_NONE)
		return f->code;
	*out = record_of(at);
	return FAIL_NONE;
}

enum fail_code
schema_written_with(
    const char **text, enum schema_record wanted, const uint8_t *bytes, size_t n, struct failure *f)
{
	enum schema_record found;
	size_t at;

	assert(wanted < SCHEMAS_COUNT);
	if (find_schema(&at, bytes, n, f) != FAIL_NONE)
		return f->code;
	found = record_of(at);
	if (found != wanted)
		return fail(f, FAIL_DATA, "is a record of kind %s where one of kind %s belongs",
		    schema_name[found], schema_name[wanted]);
	*text = at < SCHEMAS_COUNT ? schema_texts[at] : schema_texts_earlier[at - SCHEMAS_COUNT];
	return FAIL_NONE;
}

enum fail_code
schema_expect(enum schema_record wanted, const uint8_t *bytes, size_t n, struct failure *f)
{
	const char *text;

	if (schema_written_with(&text, wanted, bytes, n, f) != FAIL_NONE)
		return f->code;
	assert(text == schema_texts[wanted]); /* no hot record has an earlier schema */
	return FAIL_NONE;
}
