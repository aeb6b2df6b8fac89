#include "consumer/domain/log_record.h"

#include "common/record/schema.h"

enum fail_code
log_record_judge(enum log_record *what, struct sequence_view *out, const uint8_t *bytes, size_t n,
    uint64_t due, struct failure *f)
{
	enum schema_record which;

	*what = LOG_RECORD_PASSED;
	if (schema_which(&which, bytes, n, f) != FAIL_NONE)
		return f->code;
	if (which == SCHEMA_END)
		return FAIL_NONE;
	if (which != SCHEMA_SEQUENCE)
		return fail(
		    f, FAIL_DATA, "a %s record stands where sequences do", schema_name[which]);
	if (sequence_decode(out, bytes, n, f) != FAIL_NONE)
		return f->code;
	if (out->ordinal >= due)
		*what = out->ordinal == due ? LOG_RECORD_NEXT : LOG_RECORD_GAP;
	return FAIL_NONE;
}
