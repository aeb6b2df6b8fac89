#include "common/record/ledger.h"

#include <string.h>

#include "common/base/nearest.h"
#include "common/record/avro_record.h"

static const struct avro_field partition_fields[] = {
    AVRO_LONG(ledger_partition, sequences, 0),
    AVRO_PLAIN(BOOLEAN, ledger_partition, sealed),
    AVRO_LONG(ledger_partition, sequences_next, 0),
    AVRO_LONG(ledger_partition, taken, 0),
};
static const struct avro_table partition_table =
    AVRO_TABLE(partition_fields, struct ledger_partition);

static const struct avro_field domain_fields[] = {
    AVRO_PLAIN(TEXT, ledger_domain, name),
    AVRO_INT(ledger_domain, index, 0),
    AVRO_PLAIN(ENUM, ledger_domain, state),
    AVRO_PLAIN(BITS, ledger_domain, weight),
    AVRO_LONG(ledger_domain, round_weight, 0),
    AVRO_REAL(ledger_domain, raw_weight, 0),
    AVRO_REAL(ledger_domain, base_weight, 0),
    AVRO_PLAIN(BOOLEAN, ledger_domain, joined),
    AVRO_PLAIN(BOOLEAN, ledger_domain, live),
    AVRO_LONG(ledger_domain, credit, INT64_MIN),
    AVRO_LONG(ledger_domain, greedy_count, 0),
    AVRO_LONG(ledger_domain, taken, 0),
    AVRO_LONG(ledger_domain, tokens, 0),
    AVRO_LONG(ledger_domain, epoch, 0),
    AVRO_LONG(ledger_domain, position, 0),
    AVRO_LONG(ledger_domain, owed, 0),
    AVRO_LONG(ledger_domain, repay, 0),
    AVRO_LIST(ledger_domain, "partitions", partition, partitions_n, &partition_table,
	LEDGER_PARTITIONS_MAX),
};
static const struct avro_table domain_table = AVRO_TABLE(domain_fields, struct ledger_domain);

static const struct avro_field raw_weight_fields[] = {
    AVRO_PLAIN(TEXT, ledger_raw_weight, domain),
    AVRO_REAL(ledger_raw_weight, weight, 0),
};
static const struct avro_table raw_weight_table =
    AVRO_TABLE(raw_weight_fields, struct ledger_raw_weight);

static const struct avro_field change_fields[] = {
    AVRO_PLAIN(TEXT, ledger_change, id),
    AVRO_LONG(ledger_change, step, 0),
    AVRO_PLAIN(ENUM, ledger_change, kind),
    AVRO_LIST(ledger_change, "weights", weight, weights_n, &raw_weight_table, LEDGER_DOMAINS_MAX),
    AVRO_REAL(ledger_change, temperature, 0),
    AVRO_REAL(ledger_change, lr_scale, 0),
    AVRO_INT(ledger_change, global_batch, 0),
    AVRO_PLAIN(TEXT, ledger_change, domain),
    AVRO_INT(ledger_change, partition, -1),
    AVRO_LONG(ledger_change, first, 0),
    AVRO_LONG(ledger_change, end, 0),
    AVRO_PLAIN(TEXT, ledger_change, who),
};
static const struct avro_table change_table = AVRO_TABLE(change_fields, struct ledger_change);

static const struct avro_field skip_fields[] = {
    AVRO_INT(ledger_skip, domain, 0),
    AVRO_INT(ledger_skip, partition, 0),
    AVRO_LONG(ledger_skip, first, 0),
    AVRO_LONG(ledger_skip, end, 0),
};
static const struct avro_table skip_table = AVRO_TABLE(skip_fields, struct ledger_skip);

static const struct avro_field quarantined_fields[] = {
    AVRO_INT(ledger_quarantined, domain, 0),
    AVRO_INT(ledger_quarantined, partition, 0),
    AVRO_LONG(ledger_quarantined, ordinal, 0),
    AVRO_PLAIN(TEXT, ledger_quarantined, reason),
};
static const struct avro_table quarantined_table =
    AVRO_TABLE(quarantined_fields, struct ledger_quarantined);

static const struct avro_field text_fields[] = {{.kind = AVRO_FIELD_TEXT}};
static const struct avro_table text_table = AVRO_TABLE(text_fields, char *);

static const struct avro_field answer_fields[] = {
    AVRO_PLAIN(TEXT, ledger_answer, id),
    AVRO_PLAIN(BOOLEAN, ledger_answer, accepted),
    AVRO_LONG(ledger_answer, step, -1),
    AVRO_PLAIN(TEXT, ledger_answer, text),
};
static const struct avro_table answer_table = AVRO_TABLE(answer_fields, struct ledger_answer);

static const struct avro_field run_fields[] = {
    AVRO_PLAIN(TEXT, ledger_run, name),
    AVRO_LONG(ledger_run, step, 0),
};
static const struct avro_table run_table = AVRO_TABLE(run_fields, struct ledger_run);

static const struct avro_field ledger_fields[] = {
    AVRO_PLAIN(ENUM, ledger, kind),
    AVRO_PLAIN(TEXT, ledger, mix),
    AVRO_PLAIN(HASH, ledger, mixer),
    AVRO_PLAIN(HASH, ledger, schedule),
    AVRO_PLAIN(TEXT, ledger, config),
    AVRO_PLAIN(HASH, ledger, tokenizer),
    AVRO_LONG(ledger, step_first, 0),
    AVRO_LONG(ledger, step_next, 0),
    AVRO_LONG(ledger, draws, 0),
    AVRO_PLAIN(HASH, ledger, choices),
    AVRO_LONG(ledger, version, 0),
    AVRO_LONG(ledger, version_step, 0),
    AVRO_PLAIN(ENUM, ledger, reason),
    AVRO_PLAIN(TEXT, ledger, reason_id),
    AVRO_PLAIN(TEXT, ledger, phase),
    AVRO_REAL(ledger, lr_scale, 1),
    AVRO_REAL(ledger, temperature, 1),
    AVRO_INT(ledger, global_batch, 0),
    AVRO_LONG(ledger, greedy_draws, 0),
    AVRO_PLAIN(HASH, ledger, base),
    AVRO_LONG(ledger, epoch_size, 0),
    AVRO_LONG(ledger, round, 0),
    AVRO_LONG(ledger, round_draws, 0),
    AVRO_LIST(ledger, "domains", domain, domains_n, &domain_table, LEDGER_DOMAINS_MAX),
    AVRO_LIST(ledger, "pending", pending, pending_n, &change_table, LEDGER_PENDING_MAX),
    AVRO_LIST(ledger, "skips", skip, skips_n, &skip_table, LEDGER_SKIPS_MAX),
    AVRO_LIST(ledger, "quarantined", quarantined, quarantined_n, &quarantined_table,
	LEDGER_QUARANTINED_MAX),
    AVRO_LONG(ledger, control_next, 0),
    AVRO_LIST(
	ledger, "request_ids", request_id, request_ids_n, &text_table, LEDGER_REQUEST_IDS_MAX),
    AVRO_LIST(ledger, "answers", answer, answers_n, &answer_table, LEDGER_ANSWERS_MAX),
    AVRO_LIST(ledger, "runs", run, runs_n, &run_table, LEDGER_RUNS_MAX),
};
static const struct avro_table ledger_table = AVRO_TABLE(ledger_fields, struct ledger);

void
ledger_clear(struct ledger *l)
{
	avro_record_clear(&ledger_table, l);
}

const struct ledger_domain *
ledger_domain_named(const struct ledger *l, const char *name)
{
	for (size_t i = 0; i < l->domains_n; i++)
		if (l->domain[i].name != NULL && strcmp(l->domain[i].name, name) == 0)
			return &l->domain[i];
	return NULL;
}

enum fail_code
ledger_fail_domains(const struct ledger *l, const char *unknown, struct failure *f)
{
	struct nearest near;

	nearest_init(&near, unknown);
	for (size_t i = 0; i < l->domains_n; i++)
		if (l->domain[i].name != NULL)
			nearest_list(&near, l->domain[i].name);
	return nearest_fail_more(&near, "it has", f);
}

uint64_t
ledger_run_step(const struct ledger *l, const char *run)
{
	for (size_t i = 0; i < l->runs_n; i++)
		if (l->run[i].name != NULL && strcmp(l->run[i].name, run) == 0)
			return l->run[i].step < 0 ? 0 : (uint64_t)l->run[i].step;
	return 0;
}

const char *const ledger_reason_names[] = {
    [LEDGER_BY_CONFIG] = "config",
    [LEDGER_BY_PHASE] = "phase",
    [LEDGER_BY_REQUEST] = "request",
};

const char *const ledger_domain_state_names[] = {
    [LEDGER_ACTIVE] = "active",
    [LEDGER_DROPPED] = "dropped",
    [LEDGER_LEFT] = "left",
    [LEDGER_JOINING] = "joining",
};

const char *const ledger_change_names[] = {
    [LEDGER_WEIGHTS] = "weights",
    [LEDGER_SKIP] = "skip",
    [LEDGER_JOIN] = "join",
    [LEDGER_LEAVE] = "leave",
    [LEDGER_RESET] = "reset",
    [LEDGER_CANCEL] = "cancel",
    [LEDGER_UNDO] = "undo",
};

void
ledger_answer_clear(struct ledger_answer *a)
{
	avro_record_clear(&answer_table, a);
}

bool
ledger_compare(const struct ledger *a, const struct ledger *b, const char *const *except,
    struct avro_difference *out)
{
	return avro_compare(&ledger_table, a, b, except, out);
}

enum fail_code
ledger_encode(const struct ledger *l, uint8_t **bytes, size_t *n, struct failure *f)
{
	return avro_record_encode(SCHEMA_LEDGER, &ledger_table, l, bytes, n, f);
}

enum fail_code
ledger_decode(struct ledger *out, const uint8_t *bytes, size_t n, struct failure *f)
{
	return avro_record_decode(SCHEMA_LEDGER, &ledger_table, out, bytes, n, f);
}

enum fail_code
ledger_decode_with(
    const char *schema, struct ledger *out, const uint8_t *body, size_t n, struct failure *f)
{
	return avro_record_decode_with(schema, &ledger_table, out, body, n, f);
}
