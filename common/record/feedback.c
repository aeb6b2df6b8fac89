#include "common/record/feedback.h"

#include "common/record/avro_record.h"

static const struct avro_field loss_fields[] = {
    AVRO_PLAIN(TEXT, feedback_loss, domain),
    /* What a trainer reports may be no number: whoever reads it drops and counts it. */
    {.name = "loss_sum", .kind = AVRO_FIELD_ANY, .at = offsetof(struct feedback_loss, loss_sum)},
    {.name = "excess_sum",
	.kind = AVRO_FIELD_ANY,
	.at = offsetof(struct feedback_loss, excess_sum)},
    AVRO_LONG(feedback_loss, tokens, 0),
};
static const struct avro_table loss_table = AVRO_TABLE(loss_fields, struct feedback_loss);

static const struct avro_field feedback_fields[] = {
    AVRO_PLAIN(TEXT, feedback, mix),
    AVRO_PLAIN(TEXT, feedback, run),
    AVRO_LONG(feedback, step, 0),
    AVRO_INT(feedback, rank, 0),
    AVRO_INT(feedback, world, 1),
    AVRO_LIST(feedback, "losses", loss, losses_n, &loss_table, FEEDBACK_LOSSES_MAX),
};
static const struct avro_table feedback_table = AVRO_TABLE(feedback_fields, struct feedback);

void
feedback_clear(struct feedback *b)
{
	avro_record_clear(&feedback_table, b);
}

enum fail_code
feedback_encode(const struct feedback *b, uint8_t **bytes, size_t *n, struct failure *f)
{
	return avro_record_encode(SCHEMA_FEEDBACK, &feedback_table, b, bytes, n, f);
}

enum fail_code
feedback_decode(struct feedback *out, const uint8_t *bytes, size_t n, struct failure *f)
{
	return avro_record_decode(SCHEMA_FEEDBACK, &feedback_table, out, bytes, n, f);
}
