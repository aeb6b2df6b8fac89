/*
 * fill_ledger -- appends records to the ledger of a mix that has begun, as a mixer would that has
 * drawn for weeks: no steps are published, and no domain is read.
 *
 *     RIFFLE_BOOTSTRAP=localhost:9092 fill_ledger --mix m --steps 1000000 --each 10 --changes 3
 *
 * Each record is the last one with `each` steps more: draws, what was taken and epochs grow with
 * the steps, and the version of the weights changes `changes` times, by requests change-1,
 * change-2 ... at even distances. For what reads long ledgers; a mixer is not to continue it.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/names.h"
#include "common/kafka/kafka.h"
#include "common/record/ledger.h"
#include "consumer/ledger/ledger_log.h"

enum { ASK_MS = 15000 };

static _Noreturn void
end_with(const char *text)
{
	fprintf(stderr, "fill_ledger: %s\n", text);
	exit(1);
}

static int failed; /* deliveries */

static void
note_delivery(rd_kafka_t *rk, const rd_kafka_message_t *m, void *unused)
{
	(void)rk;
	(void)unused;
	failed += m->err != RD_KAFKA_RESP_ERR_NO_ERROR;
}

/* The state `steps` steps on; of each domain its share of the draws, rounded down. */
static void
advance(struct ledger *l, int64_t steps, int64_t batch)
{
	int64_t draws = steps * batch, given = 0;

	l->kind = LEDGER_STEPS;
	l->step_first = l->step_next;
	l->step_next += steps;
	for (size_t i = 0; i < l->domains_n; i++) {
		struct ledger_domain *d = &l->domain[i];
		int64_t each = (int64_t)(((unsigned __int128)d->weight * (uint64_t)draws) >> 32);

		each = i + 1 == l->domains_n ? draws - given : each;
		given += each;
		d->tokens += each * (d->taken > 0 ? d->tokens / d->taken : 1);
		d->taken += each;
		d->epoch = d->taken / 1000000;
		d->position = d->taken % 1000000;
	}
	l->draws += draws;
}

static void
change(struct ledger *l, int64_t number)
{
	char id[32];

	snprintf(id, sizeof(id), "change-%" PRId64, number);
	free(l->reason_id);
	l->reason_id = strdup(id);
	l->reason = LEDGER_BY_REQUEST;
	l->version++;
	l->version_step = l->step_next;
}

static void
put(rd_kafka_t *rk, const char *topic, const struct ledger *l)
{
	struct failure f;
	uint8_t *bytes;
	size_t n;
	rd_kafka_resp_err_t err;

	if (ledger_encode(l, &bytes, &n, &f) != FAIL_NONE)
		end_with(f.text);
	do {
		err = rd_kafka_producev(rk, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_PARTITION(0),
		    RD_KAFKA_V_VALUE(bytes, n), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
		    RD_KAFKA_V_END);
		rd_kafka_poll(rk, err == RD_KAFKA_RESP_ERR__QUEUE_FULL ? 100 : 0);
	} while (err == RD_KAFKA_RESP_ERR__QUEUE_FULL);
	free(bytes);
	if (err != RD_KAFKA_RESP_ERR_NO_ERROR)
		end_with(rd_kafka_err2str(err));
}

int
main(int argc, char **argv)
{
	static const struct option options[] = {{"mix", required_argument, NULL, 'm'},
	    {"steps", required_argument, NULL, 's'}, {"each", required_argument, NULL, 'e'},
	    {"changes", required_argument, NULL, 'c'}, {NULL, 0, NULL, 0}};
	static const struct property tune = {
	    (char *)(uintptr_t) "compression.type", (char *)(uintptr_t) "lz4"};
	char *bootstrap = getenv("RIFFLE_BOOTSTRAP");
	struct property server = {(char *)(uintptr_t) "bootstrap.servers", bootstrap};
	struct properties properties = {bootstrap == NULL ? 0 : 1, &server};
	struct kafka_options k = {.role = KAFKA_WRITER,
	    .properties = &properties,
	    .client = "fill",
	    .tune = &tune,
	    .tune_n = 1,
	    .delivered = note_delivery};
	const char *mix = NULL;
	int64_t steps = 0, each = 1, changes = 0, batch, first, done = 0;
	char topic[TOPIC_MAX_BYTES + 1];
	struct ledger l = {0};
	struct failure f;
	rd_kafka_t *rk;
	bool any;

	for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
		switch (c) {
		case 'm': mix = optarg; break;
		case 's': steps = strtoll(optarg, NULL, 10); break;
		case 'e': each = strtoll(optarg, NULL, 10); break;
		case 'c': changes = strtoll(optarg, NULL, 10); break;
		default: return 2;
		}
	}
	if (mix == NULL || steps < 1 || each < 1 || changes < 0)
		end_with("--mix NAME --steps N [--each N] [--changes N]");
	if (ledger_log_ask(&l, &any, mix, &properties, ASK_MS, &f) != FAIL_NONE)
		end_with(f.text);
	if (!any || l.step_next == 0)
		end_with("the mix has no step yet");
	batch = l.draws / l.step_next;
	first = l.step_next;
	names_topic(topic, mix, "ledger");
	if (kafka_open(&rk, &k, &f) != FAIL_NONE)
		end_with(f.text);
	for (; l.step_next - first < steps; put(rk, topic, &l)) {
		if (done < changes && (l.step_next - first) * (changes + 1) >= (done + 1) * steps)
			change(&l, ++done);
		advance(&l, each, batch);
	}
	if (rd_kafka_flush(rk, 60000) != RD_KAFKA_RESP_ERR_NO_ERROR || failed > 0)
		end_with("not all records were delivered");
	kafka_close(rk);
	ledger_clear(&l);
	return 0;
}
