/*
 * metrics.h -- every metric that riffle gives, in one table, and the text that Prometheus reads.
 *
 * The table has the names, which are API: programs, dashboards and alert rules use them. From it
 * come the text of /metrics (Prometheus text format 0.0.4) and docs/METRICS.md, so that no metric
 * lacks its page and none is on the page alone.
 *
 *     struct metrics_text m = {0};
 *
 *     metrics_count(&m, METRICS_MIX_STEPS, l->step_next, mix, NULL);
 *     for (size_t i = 0; i < n; i++)
 *             metrics_number(&m, METRICS_DOMAIN_SHARE_INTENDED, share[i], mix, name[i]);
 *     text = metrics_take(&m);
 *
 *     # HELP riffle_mix_steps_total Steps that are published.
 *     # TYPE riffle_mix_steps_total counter
 *     riffle_mix_steps_total{mix="pretrain"} 1200
 *     # HELP riffle_domain_share_intended_ratio ...
 *     # TYPE riffle_domain_share_intended_ratio gauge
 *     riffle_domain_share_intended_ratio{mix="pretrain",domain="code"} 0.29999999999999999
 *
 * Conventions: prefix riffle_; base units (seconds, bytes) or what is counted (steps, sequences,
 * tokens) in the name; a counter ends in _total, a share in _ratio; a moment is a gauge of seconds
 * since 1970 that ends in _timestamp_seconds. Labels are few, and never a step, a document or
 * anything else without a bound. Doubles have 17 digits, as in the JSON of riffle status: what is
 * equal there is equal here.
 *
 * Files of this room:
 *     metrics          the table, the text, the page
 *     metrics_board    where a thread that works leaves its text for one that is asked for it
 *
 * A new metric is a row, and `riffle serve --metrics-list > docs/METRICS.md`.
 *
 * Invariant: the samples of a metric stand together. The caller adds them one after the other, and
 * the text asserts that none comes back.
 *
 * Thread: a text is its owner's.
 */
#ifndef COMMON_METRICS_METRICS_H
#define COMMON_METRICS_METRICS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/base/text.h"

enum metrics_kind { METRICS_COUNTER, METRICS_GAUGE, METRICS_HISTOGRAM };

enum { METRICS_LABELS_MAX = 2 };

/*
 * ROW(id, kind, name, first label, second label, programs, meaning); a label that is not there is
 * NULL. "serve" has what the broker knows of a mix, so that it is the same from every serve.
 */
#define METRICS(ROW)                                                                               \
	ROW(UP, GAUGE, "riffle_up", "mix", NULL, "serve",                                          \
	    "1 where the broker answered the last query, 0 where all else is as it was before.")   \
	ROW(STATUS_TIME, GAUGE, "riffle_status_timestamp_seconds", "mix", NULL, "serve",           \
	    "When the broker was asked for what is shown.")                                        \
	ROW(LEDGER_OFFSET, GAUGE, "riffle_ledger_offset", "mix", NULL, "serve",                    \
	    "Offset of the ledger's last record, on which all of this rests.")                     \
	ROW(LEDGER_TIME, GAUGE, "riffle_ledger_written_timestamp_seconds", "mix", NULL, "serve",   \
	    "When the ledger's last record was written.")                                          \
	ROW(MIXERS_ACTIVE, GAUGE, "riffle_mixers_active", "mix", NULL, "serve",                    \
	    "Mixers at work, or about to be; not there where the election does not answer.")       \
	ROW(MIXERS_STANDBY, GAUGE, "riffle_mixers_standby", "mix", NULL, "serve",                  \
	    "Mixers that wait for their turn.")                                                    \
	ROW(PROBLEMS, GAUGE, "riffle_problems", "mix", NULL, "serve",                              \
	    "Problems that riffle status names.")                                                  \
	ROW(PROBLEMS_BY_CODE, GAUGE, "riffle_problems_by_code", "mix", "code", "serve",            \
	    "The same, by their codes; one that does not occur is not there.")                     \
	ROW(MIX_INFO, GAUGE, "riffle_mix_info", "mix", "schedule", "serve",                        \
	    "Always 1; schedule: deficit, greedy or random.")                                      \
	ROW(MIX_STEPS, COUNTER, "riffle_mix_steps_total", "mix", NULL, "serve",                    \
	    "Steps that are published.")                                                           \
	ROW(MIX_SEQUENCES, COUNTER, "riffle_mix_sequences_total", "mix", NULL, "serve",            \
	    "Sequences that are published.")                                                       \
	ROW(MIX_TOKENS, COUNTER, "riffle_mix_tokens_total", "mix", NULL, "serve",                  \
	    "Tokens that are published: targets, without padding.")                                \
	ROW(MIX_ENDED, GAUGE, "riffle_mix_ended", "mix", NULL, "serve",                            \
	    "1 where the mix has ended.")                                                          \
	ROW(MIX_BATCH, GAUGE, "riffle_mix_global_batch_sequences", "mix", NULL, "serve",           \
	    "Sequences of a step.")                                                                \
	ROW(MIX_LEAD, GAUGE, "riffle_mix_max_lead_steps", "mix", NULL, "serve",                    \
	    "How many steps the mixer may be ahead of a run; 0: as many as it likes.")             \
	ROW(MIX_STEP_LIMIT, GAUGE, "riffle_mix_step_limit", "mix", NULL, "serve",                  \
	    "The mixer publishes no step from this one on before its runs advance; not there "     \
	    "where nothing limits it.")                                                            \
	ROW(MIX_STEP_KEPT, GAUGE, "riffle_mix_first_kept_step", "mix", NULL, "serve",              \
	    "The first step that the batch topic still has.")                                      \
	ROW(MIX_VERSION, GAUGE, "riffle_mix_weights_version", "mix", NULL, "serve",                \
	    "Version of the weights in force.")                                                    \
	ROW(MIX_VERSION_STEP, GAUGE, "riffle_mix_weights_since_step", "mix", NULL, "serve",        \
	    "The first step under these weights.")                                                 \
	ROW(MIX_TEMPERATURE, GAUGE, "riffle_mix_weights_temperature", "mix", NULL, "serve",        \
	    "Temperature of the weights in force.")                                                \
	ROW(MIX_LR_SCALE, GAUGE, "riffle_mix_lr_scale_ratio", "mix", NULL, "serve",                \
	    "Scale of the learning rate that batches carry.")                                      \
	ROW(MIX_PENDING, GAUGE, "riffle_mix_pending_changes", "mix", NULL, "serve",                \
	    "Accepted changes that have not taken effect.")                                        \
	ROW(MIX_QUARANTINED, GAUGE, "riffle_mix_quarantined_sequences", "mix", NULL, "serve",      \
	    "Sequences that the mixer found to be bad and passed over.")                           \
	ROW(REJECTS, GAUGE, "riffle_rejects_records", "mix", NULL, "serve",                        \
	    "Records of the corpus's topic of rejects.")                                           \
	ROW(DOMAIN_SEQUENCES, COUNTER, "riffle_domain_sequences_total", "mix", "domain", "serve",  \
	    "Sequences that the mix took from a domain.")                                          \
	ROW(DOMAIN_TOKENS, COUNTER, "riffle_domain_tokens_total", "mix", "domain", "serve",        \
	    "Tokens in them: targets, without padding.")                                           \
	ROW(DOMAIN_SHARE_INTENDED, GAUGE, "riffle_domain_share_intended_ratio", "mix", "domain",   \
	    "serve", "Share of the draws by the weights in force.")                                \
	ROW(DOMAIN_SHARE_TARGET, GAUGE, "riffle_domain_share_target_ratio", "mix", "domain",       \
	    "serve", "Share of all draws so far by the weights of all versions.")                  \
	ROW(DOMAIN_SHARE_REALISED, GAUGE, "riffle_domain_share_realised_ratio", "mix", "domain",   \
	    "serve", "Share of all draws so far that the domain had.")                             \
	ROW(DOMAIN_DEVIATION, GAUGE, "riffle_domain_deviation_sequences", "mix", "domain",         \
	    "serve", "By how many sequences the domain is ahead of its target; below 0: behind.")  \
	ROW(DOMAIN_EPOCH, GAUGE, "riffle_domain_epoch", "mix", "domain", "serve",                  \
	    "The pass over the domain that it is in, from 0.")                                     \
	ROW(DOMAIN_REMAINING, GAUGE, "riffle_domain_remaining_sequences", "mix", "domain",         \
	    "serve", "Sequences until this pass ends; not there where the domain is not sealed.")  \
	ROW(DOMAIN_UNTIL_END, GAUGE, "riffle_domain_until_end_sequences", "mix", "domain",         \
	    "serve",                                                                               \
	    "Sequences until the last pass ends, which changes the mix (on_end, max_epochs); not " \
	    "there where passes are repeated without end.")                                        \
	ROW(DOMAIN_PUBLISHED, GAUGE, "riffle_domain_published_sequences", "mix", "domain",         \
	    "serve", "Sequences in the domain's topic.")                                           \
	ROW(DOMAIN_DRY, GAUGE, "riffle_domain_dry", "mix", "domain", "serve",                      \
	    "1 where a live domain lacks its next sequence.")                                      \
	ROW(DOMAIN_OWED, GAUGE, "riffle_domain_owed_sequences", "mix", "domain", "serve",          \
	    "Draws that others took while it was dry, and that it gets back.")                     \
	ROW(DOMAIN_LOSS, GAUGE, "riffle_domain_loss", "mix", "domain", "serve",                    \
	    "Mean loss of the last reports, as the first run that reports gives it.")              \
	ROW(RUN_STEP, GAUGE, "riffle_run_step", "mix", "run", "serve",                             \
	    "The steps below it were read by all lanes of the run.")                               \
	ROW(RUN_LAG, GAUGE, "riffle_run_lag_steps", "mix", "run", "serve",                         \
	    "Steps that are published and that the run has not committed.")                        \
	ROW(RUN_LOST, GAUGE, "riffle_run_position_lost", "mix", "run", "serve",                    \
	    "1 where the run's commits went back, or are gone.")                                   \
	ROW(MIXER_ATTACHED, GAUGE, "riffle_mixer_attached", "mix", NULL, "mix",                    \
	    "1 while it publishes; 0 while it waits for its turn or attaches again.")              \
	ROW(MIXER_STEP, GAUGE, "riffle_mixer_next_step", "mix", NULL, "mix",                       \
	    "The step that it takes next; not there while it is not attached.")                    \
	ROW(MIXER_STEPS, COUNTER, "riffle_mixer_steps_total", "mix", NULL, "mix",                  \
	    "Steps that this process has published.")                                              \
	ROW(MIXER_SEQUENCES, COUNTER, "riffle_mixer_sequences_total", "mix", NULL, "mix",          \
	    "Sequences in them.")                                                                  \
	ROW(MIXER_TOKENS, COUNTER, "riffle_mixer_tokens_total", "mix", NULL, "mix",                \
	    "Tokens in them: targets, without padding.")                                           \
	ROW(MIXER_BYTES, COUNTER, "riffle_mixer_bytes_total", "mix", NULL, "mix",                  \
	    "Bytes of their records.")                                                             \
	ROW(MIXER_COMMITTED, COUNTER, "riffle_mixer_transactions_committed_total", "mix", NULL,    \
	    "mix", "Transactions that it has committed.")                                          \
	ROW(MIXER_ABORTED, COUNTER, "riffle_mixer_transactions_aborted_total", "mix", NULL, "mix", \
	    "Transactions that it has given up, with nothing of them published.")                  \
	ROW(MIXER_DOUBT, COUNTER, "riffle_mixer_transactions_in_doubt_total", "mix", NULL, "mix",  \
	    "Transactions that failed with an unknown outcome, which the ledger then showed.")     \
	ROW(MIXER_SECONDS, HISTOGRAM, "riffle_mixer_transaction_seconds", "mix", NULL, "mix",      \
	    "From the beginning of a transaction until its commit was answered.")                  \
	ROW(MIXER_LEAD, GAUGE, "riffle_mixer_lead_steps", "mix", "run", "mix",                     \
	    "How many steps it is ahead of a run of mix.runs.")                                    \
	ROW(MIXER_BLOCKED, COUNTER, "riffle_mixer_blocked_seconds_total", "mix", "run", "mix",     \
	    "How long it has waited for a run, which stood lowest, with the lead used up.")        \
	ROW(MIXER_OWED, GAUGE, "riffle_mixer_owed_sequences", "mix", "domain", "mix",              \
	    "Draws of a live domain that others took while it was dry, and that it gets back.")    \
	ROW(MIXER_LENT, COUNTER, "riffle_mixer_lent_draws_total", "mix", "domain", "mix",          \
	    "All draws of a live domain that others took while it was dry (on_dry: lend), since "  \
	    "the mixer last attached.")                                                            \
	ROW(MIXER_DRY, COUNTER, "riffle_mixer_dry_seconds_total", "mix", "domain", "mix",          \
	    "How long it has waited for a live domain that was dry (on_dry: wait).")               \
	ROW(MIXER_BLOCKS, GAUGE, "riffle_mixer_block_bytes", "mix", NULL, "mix",                   \
	    "Memory of the blocks that it has read and not used up.")                              \
	ROW(MIXER_QUARANTINED, COUNTER, "riffle_mixer_quarantined_sequences_total", "mix", NULL,   \
	    "mix", "Sequences that this process found to be bad and passed over.")                 \
	ROW(MIXER_RECOVERIES, COUNTER, "riffle_mixer_recoveries_total", "mix", NULL, "mix",        \
	    "How often it attached again after a failure.")                                        \
	ROW(MIXER_FENCINGS, COUNTER, "riffle_mixer_fencings_total", "mix", NULL, "mix",            \
	    "How often its handle was fenced: by another mixer, or by a time-out of the "          \
	    "broker's.")                                                                           \
	ROW(MIXER_VERSION, GAUGE, "riffle_mixer_weights_version", "mix", NULL, "mix",              \
	    "Version of the weights that it draws by.")                                            \
	ROW(PRODUCER_DOCUMENTS, COUNTER, "riffle_producer_documents_total", "domain", NULL,        \
	    "produce, import", "Documents that this process has packed.")                          \
	ROW(PRODUCER_TOKENS, COUNTER, "riffle_producer_tokens_total", "domain", NULL,              \
	    "produce, import", "Tokens that it has published: targets, without padding.")          \
	ROW(PRODUCER_SEQUENCES, COUNTER, "riffle_producer_sequences_total", "domain", NULL,        \
	    "produce, import", "Sequences that it has published.")                                 \
	ROW(PRODUCER_BYTES, COUNTER, "riffle_producer_bytes_total", "domain", NULL,                \
	    "produce, import", "Bytes of their records.")                                          \
	ROW(PRODUCER_INPUT, COUNTER, "riffle_producer_input_bytes_total", "input", NULL,           \
	    "produce, import",                                                                     \
	    "Bytes of an input that it has read, as stored. input: its domain; of an input that "  \
	    "domains share the first one and the number of others, code+199.")                     \
	ROW(PRODUCER_REJECTS, COUNTER, "riffle_producer_rejects_total", "input", "reason",         \
	    "produce, import",                                                                     \
	    "Records of an input that could not be used: their domain may be unknown. reason: at " \
	    "most 8 kinds an input, N for numbers; the others are other.")                         \
	ROW(PRODUCER_PARTS, GAUGE, "riffle_producer_parts", NULL, NULL, "produce, import",         \
	    "Parts of inputs that are being published now.")                                       \
	ROW(READER_STEP, GAUGE, "riffle_reader_next_step", "mix", "run", "read, libriffle",        \
	    "The step that the trainer is given next.")                                            \
	ROW(READER_COMMITTED, GAUGE, "riffle_reader_committed_step", "mix", "run",                 \
	    "read, libriffle",                                                                     \
	    "All steps below it are committed by this reader; what trained() commits is "          \
	    "riffle_run_step.")                                                                    \
	ROW(READER_STEPS, COUNTER, "riffle_reader_steps_total", "mix", "run", "read, libriffle",   \
	    "Steps that this rank was given.")                                                     \
	ROW(READER_SEQUENCES, COUNTER, "riffle_reader_sequences_total", "mix", "run",              \
	    "read, libriffle", "Sequences in them.")                                               \
	ROW(READER_TOKENS, COUNTER, "riffle_reader_tokens_total", "mix", "run", "read, libriffle", \
	    "Tokens in them: targets, without padding.")                                           \
	ROW(READER_WAIT, COUNTER, "riffle_reader_wait_seconds_total", "mix", "run",                \
	    "read, libriffle", "How long the trainer has waited for steps.")                       \
	ROW(READER_QUEUE, GAUGE, "riffle_reader_queue_steps", "mix", "run", "read, libriffle",     \
	    "Steps that are in memory for the trainer, decoded or being decoded.")                 \
	ROW(KAFKA_ROUND_TRIP, GAUGE, "riffle_kafka_round_trip_seconds", "mix", "run",              \
	    "mix, produce, import, read, libriffle",                                               \
	    "Mean time of the slowest broker to answer a request, of the last seconds.")           \
	ROW(KAFKA_QUEUE, GAUGE, "riffle_kafka_queue_records", "mix", "run",                        \
	    "mix, produce, import, read, libriffle",                                               \
	    "Records that wait to be sent or acknowledged.")                                       \
	ROW(KAFKA_QUEUE_BYTES, GAUGE, "riffle_kafka_queue_bytes", "mix", "run",                    \
	    "mix, produce, import, read, libriffle", "Bytes of them.")                             \
	ROW(KAFKA_SENT, COUNTER, "riffle_kafka_sent_bytes_total", "mix", "run",                    \
	    "mix, produce, import, read, libriffle", "Bytes sent to brokers.")                     \
	ROW(KAFKA_RECEIVED, COUNTER, "riffle_kafka_received_bytes_total", "mix", "run",            \
	    "mix, produce, import, read, libriffle", "Bytes received from brokers.")               \
	ROW(KAFKA_TIMEOUTS, COUNTER, "riffle_kafka_timeouts_total", "mix", "run",                  \
	    "mix, produce, import, read, libriffle", "Requests that were not answered in time.")

#define METRICS_ID(id, kind, name, first, second, programs, meaning) METRICS_##id,
enum metrics_id { METRICS(METRICS_ID) METRICS_N };
#undef METRICS_ID

/* A zeroed one is an empty text. */
struct metrics_text {
	struct text text;
	bool begun[METRICS_N];
	enum metrics_id last; /* where any has begun */
};

/*
 * Adds a sample with the values of the metric's labels, borrowed; NULL for one that it, or its
 * program, has not. A number that is none (NAN) is not known, and no sample.
 */
void metrics_count(struct metrics_text *m, enum metrics_id id, int64_t value, const char *first,
    const char *second);
void metrics_number(struct metrics_text *m, enum metrics_id id, double value, const char *first,
    const char *second);

/*
 * Seconds, counted by the limits of metrics_seconds[]: bucket[i] has those that are longer than the
 * limit before, and at most as long as its own; the last one has those above all limits.
 */
enum { METRICS_BUCKETS = 12 };
extern const double metrics_seconds[METRICS_BUCKETS];

struct metrics_histogram {
	uint64_t bucket[METRICS_BUCKETS + 1];
	double sum;
};

void metrics_observe(struct metrics_histogram *h, double seconds);

/* Adds the samples of a METRICS_HISTOGRAM: _bucket by the label le, _sum and _count. */
void metrics_histogram(struct metrics_text *m, enum metrics_id id,
    const struct metrics_histogram *h, const char *first, const char *second);

/* Gives the text (free) and empties *m. NULL: no memory. */
char *metrics_take(struct metrics_text *m);

/* docs/METRICS.md */
void metrics_print_page(FILE *to);

#endif
