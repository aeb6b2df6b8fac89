#include "consumer/admin/export.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/log.h"
#include "common/config/topic_plan.h"
#include "common/kafka/kafka.h"
#include "common/terminal/progress.h"
#include "consumer/admin/export_pieces.h"
#include "consumer/domain/partition_log.h"

enum { BROKER_MS = 10000, READ_MS = 30000 };

struct export
{
	const struct export_options *o;
	struct export_counts *counts;
	rd_kafka_t *reader;
	struct export_file *file;
	struct export_pieces *pieces;
	char topic[TOPIC_MAX_BYTES + 1];
	int partitions;
};

static enum fail_code
put_tokens(void *opaque, const uint32_t *id, size_t n, struct failure *f)
{
	return export_file_tokens(opaque, id, n, f);
}

static enum fail_code
end_document(void *opaque, bool whole, struct failure *f)
{
	return export_file_end(opaque, whole, f);
}

/* Opens the reader, and learns how many partitions there are. */
static enum fail_code
open_topic(struct export *e, struct failure *f)
{
	const struct config *c = e->o->config;
	const struct config_domain *d = &c->domains[e->o->domain];
	struct kafka_options k = {
	    .role = KAFKA_READER, .properties = &c->kafka, .client = "export", .quiet = true};

	names_domain_topic(e->topic, c->corpus, d->name, e->o->set);
	if (kafka_open(&e->reader, &k, f) != FAIL_NONE ||
	    kafka_wait_broker(e->reader, BROKER_MS, f) != FAIL_NONE ||
	    kafka_partitions(e->reader, e->topic, &e->partitions, READ_MS, f) != FAIL_NONE)
		return f->code;
	if (e->partitions > 0)
		return FAIL_NONE;
	if (topic_plan_has_set(c, d, e->o->set))
		return kafka_fail_missing(f, e->reader, e->topic);
	return fail(f, FAIL_CONFIG, "topic %s does not exist: domain %s has no %s set in %s",
	    e->topic, d->name, names_set_text[e->o->set], c->path);
}

/* Each sequence of the log to the pieces, which give documents to the file. */
static enum fail_code
read_log(struct export *e, struct partition_log *log, int partition, struct progress *p,
    struct failure *f)
{
	struct partition_log_sequence s;
	enum fail_code code;
	bool there;

	for (;; p->done++) {
		progress_show(p);
		code = partition_log_next(log, e->o->stop, &s, &there, f);
		if (code == FAIL_STOPPED)
			fail(f, code, "stopped after %" PRIu64 " sequence%s", e->counts->sequences,
			    e->counts->sequences == 1 ? "" : "s");
		if (code != FAIL_NONE)
			return code;
		if (!there)
			return export_pieces_finish(e->pieces, f);
		e->counts->sequences++;
		if (export_pieces_add(e->pieces, &s.record, s.span, s.token, f) != FAIL_NONE)
			return f->code == FAIL_DATA
				   ? fail_within(f, "topic %s, partition %d, sequence %" PRIu64,
					 e->topic, partition, s.record.ordinal)
				   : f->code;
	}
}

static enum fail_code
run_partition(struct export *e, int partition, struct failure *f)
{
	struct partition_log *log;
	char what[TOPIC_MAX_BYTES + 32];
	struct progress p;
	enum fail_code code;

	if (partition_log_open(&log, e->reader, e->topic, partition, e->o->tokenizer, READ_MS, f) !=
	    FAIL_NONE)
		return f->code;
	snprintf(what, sizeof(what), "export %s %d/%d", e->topic, partition, e->partitions);
	progress_begin(&p, what, "sequences", partition_log_sequences(log), 0);
	code = read_log(e, log, partition, &p, f);
	progress_end(&p);
	partition_log_close(log);
	return code;
}

static enum fail_code
run(struct export *e, struct failure *f)
{
	struct export_pieces_sink sink = {.tokens = put_tokens, .end = end_document};

	if (open_topic(e, f) != FAIL_NONE ||
	    export_file_open(&e->file, &e->o->file, f) != FAIL_NONE)
		return f->code;
	sink.opaque = e->file;
	if (export_pieces_open(&e->pieces, &sink, e->o->file.eos, e->o->file.stream, f) !=
	    FAIL_NONE)
		return f->code;
	for (int i = 0; i < e->partitions; i++)
		if (run_partition(e, i, f) != FAIL_NONE)
			return f->code;
	e->counts->documents = export_file_documents(e->file);
	e->counts->tokens = export_file_token_count(e->file);
	e->counts->left_out = export_pieces_left_out(e->pieces);
	if (export_file_finish(e->file, f) != FAIL_NONE)
		return f->code;
	log_info("export: topic=%s sequences=%" PRIu64 " documents=%" PRIu64 " tokens=%" PRIu64
		 " left_out=%" PRIu64 " files=%s",
	    e->topic, e->counts->sequences, e->counts->documents, e->counts->tokens,
	    e->counts->left_out, export_file_names(e->file));
	return FAIL_NONE;
}

enum fail_code
export_run(const struct export_options *o, struct export_counts *counts, struct failure *f)
{
	struct export e = {.o = o, .counts = counts};
	enum fail_code code;

	assert(o->domain < o->config->domains_n);
	memset(counts, 0, sizeof(*counts));
	code = run(&e, f);
	export_pieces_close(e.pieces);
	export_file_close(e.file);
	kafka_close(e.reader);
	if (code == FAIL_STOPPED)
		fail_more(f, "; no file was written, and the same command begins again");
	return code;
}
