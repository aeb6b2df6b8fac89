#include "common/record/control.h"

#include "common/record/avro_compare.h"
#include "common/record/avro_record.h"

static const struct avro_field weight_fields[] = {
    AVRO_PLAIN(TEXT, ledger_raw_weight, domain),
    AVRO_REAL(ledger_raw_weight, weight, 0),
};
static const struct avro_table weight_table = AVRO_TABLE(weight_fields, struct ledger_raw_weight);

static const struct avro_field control_fields[] = {
    AVRO_PLAIN(TEXT, control, id),
    AVRO_PLAIN(ENUM, control, kind),
    AVRO_LONG(control, at_step, -1),
    AVRO_LIST(control, "weights", weight, weights_n, &weight_table, LEDGER_DOMAINS_MAX),
    AVRO_REAL(control, temperature, 0),
    AVRO_REAL(control, lr_scale, 0),
    AVRO_PLAIN(TEXT, control, domain),
    AVRO_INT(control, partition, -1),
    AVRO_LONG(control, first, 0),
    AVRO_LONG(control, end, 0),
    AVRO_PLAIN(TEXT, control, who),
    AVRO_PLAIN(TEXT, control, run),
    AVRO_LONG(control, to_step, 0),
    AVRO_PLAIN(TEXT, control, request),
    AVRO_INT(control, global_batch, 0),
};
static const struct avro_table control_table = AVRO_TABLE(control_fields, struct control);

void
control_clear(struct control *c)
{
	avro_record_clear(&control_table, c);
}

bool
control_compare(const struct control *a, const struct control *b, const char *const *except,
    struct avro_difference *out)
{
	return avro_compare(&control_table, a, b, except, out);
}

enum fail_code
control_encode(const struct control *c, uint8_t **bytes, size_t *n, struct failure *f)
{
	return avro_record_encode(SCHEMA_CONTROL, &control_table, c, bytes, n, f);
}

enum fail_code
control_decode(struct control *out, const uint8_t *bytes, size_t n, struct failure *f)
{
	return avro_record_decode(SCHEMA_CONTROL, &control_table, out, bytes, n, f);
}
