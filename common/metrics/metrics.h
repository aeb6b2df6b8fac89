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
 *     metrics    the table, the text, the page
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
	    "The mixer publishes no step from this one on before its runs go on; not there where " \
	    "nothing limits it.")                                                                  \
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
	    "1 where the run's commits went back, or are gone.")

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
 * Adds a sample with the values of the metric's labels, borrowed; NULL for one that it has not. A
 * number that is none (NAN) is not known, and no sample.
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
