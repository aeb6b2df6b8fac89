#include "consumer/domain/partition_tail.h"

#include "common/record/schema.h"
#include "common/record/sequence.h"

static enum fail_code
take_end(struct partition_tail *out, const uint8_t *bytes, size_t n, struct failure *f)
{
	struct end_record end;

	if (end_decode(&end, bytes, n, f) != FAIL_NONE)
		return f->code;
	*out = (struct partition_tail){
	    .sequences = end.sequences,
	    .sealed = true,
	    .sealed_sequences = end.sequences,
	    .record_bytes = end.record_bytes,
	    .record_bytes_max = end.record_bytes_max,
	    .tokenizer = end.tokenizer,
	    .sequence_length = end.sequence_length,
	};
	return FAIL_NONE;
}

static enum fail_code
take_sequence(struct partition_tail *out, const uint8_t *bytes, size_t n, struct failure *f)
{
	const struct sequence_position *p;
	struct sequence_view s;

	if (sequence_decode(&s, bytes, n, f) != FAIL_NONE)
		return f->code;
	p = &s.position;
	*out = (struct partition_tail){
	    .sequences = s.ordinal + 1,
	    .sealed = p->sealed >= 0,
	    .sealed_sequences = p->sealed >= 0 ? (uint64_t)p->sealed : 0,
	    .record_bytes = p->record_bytes + n,
	    .record_bytes_max = p->record_bytes_max > n ? p->record_bytes_max : n,
	    .tokenizer = s.tokenizer,
	    .sequence_length = s.payload.count - 1,
	};
	return FAIL_NONE;
}

enum fail_code
partition_tail_decode(struct partition_tail *out, const uint8_t *bytes, size_t n, struct failure *f)
{
	enum schema_record which;

	if (schema_which(&which, bytes, n, f) != FAIL_NONE)
		return f->code;
	if (which == SCHEMA_END)
		return take_end(out, bytes, n, f);
	if (which == SCHEMA_SEQUENCE)
		return take_sequence(out, bytes, n, f);
	return fail(f, FAIL_DATA, "a %s record stands where sequences do", schema_name[which]);
}
