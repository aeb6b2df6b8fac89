/*
 * schema.h -- the published Avro schemas and the envelope around every record.
 *
 * The room common/record is what stands in the topics, as bytes and as structs. Every value on
 * every topic is Avro single-object encoding (Avro specification 1.11, "Single-object encoding"):
 * C3 01, the CRC-64-AVRO fingerprint of the schema's Parsing Canonical Form as 8 bytes
 * little-endian, then the body. schemas/<name>.avsc are compiled in, and so are the earlier schemas
 * of cold records, schemas/earlier/<name>.<n>.avsc: a fingerprint that was ever published stays
 * readable. A new schema may add fields with a default, and symbols behind the last one.
 *
 * Files of this room:
 *     schema          the schemas, their fingerprints, the envelope
 *     wire            Avro's binary encoding by hand, bounded
 *     sequence        Sequence and End, the records of a domain topic, and the payload
 *     frame           the tokens of one sequence as bytes: one zstd frame
 *     batch           Batch: one lane of one step
 *     lane_map        which partition holds which lane
 *     arrivals        Arrivals: in which order a live domain's files were read
 *     avro_record     cold records: a struct and an Avro record, tied together by a table
 *     avro_walk       checks that bytes are one value of a schema, before they are read
 *     avro_compare    where two structs of one table differ first
 *     ledger          Ledger: all that a mix has decided, after a step
 *     control         Control: a request to a running mix
 *     feedback        Feedback: the losses of one step as one rank saw them
 *     token_format    layouts of files of tokens, read and written
 *
 * There are two ways from bytes to a struct, by how many records there are:
 *
 *     hot    sequence, batch, arrivals    by hand over wire.h: no allocation on decode; a decoded
 *                                         struct borrows from the bytes that it came from
 *     cold   ledger, control, feedback    by a table over avro_record.h: the struct owns its
 *                                         memory; earlier schemas are read by name
 *
 * Both trust no byte: what is read may be damaged, cut off, or written by another program.
 */
#ifndef COMMON_RECORD_SCHEMA_H
#define COMMON_RECORD_SCHEMA_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"

enum schema_record {
	SCHEMA_SEQUENCE,
	SCHEMA_END,
	SCHEMA_BATCH,
	SCHEMA_LEDGER,
	SCHEMA_CONTROL,
	SCHEMA_FEEDBACK,
	SCHEMA_ARRIVALS,
	SCHEMAS_COUNT
};

enum { SCHEMAS_EARLIER = 6 }; /* in schemas/earlier */

enum { SCHEMA_ENVELOPE_BYTES = 10 };

extern const char *const schema_name[SCHEMAS_COUNT]; /* "Sequence", ... */

/* The .avsc text as it is in schemas/, and the fingerprint of its canonical form. */
const char *schema_text(enum schema_record record);
uint64_t schema_fingerprint(enum schema_record record);

void schema_put_envelope(uint8_t out[static SCHEMA_ENVELOPE_BYTES], enum schema_record record);

/*
 * Finds out which record `bytes` hold; the body starts SCHEMA_ENVELOPE_BYTES in. FAIL_DATA: too
 * short, not C3 01 ("starts with 7B 22: not a riffle record"), or an unknown fingerprint.
 */
enum fail_code schema_which(
    enum schema_record *out, const uint8_t *bytes, size_t n, struct failure *f);

/* The same, and FAIL_DATA where it is not `wanted`. Not for records that have earlier schemas. */
enum fail_code schema_expect(
    enum schema_record wanted, const uint8_t *bytes, size_t n, struct failure *f);

/*
 * The same for those that have: *text is the schema that `bytes` were written with, of now or an
 * earlier one.
 */
enum fail_code schema_written_with(const char **text, enum schema_record wanted,
    const uint8_t *bytes, size_t n, struct failure *f);

#endif
