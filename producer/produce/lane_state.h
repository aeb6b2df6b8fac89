/*
 * lane_state.h -- what lane.c, lane_open.c and lane_output.c share: a lane at work and its streams.
 */
#ifndef PRODUCER_PRODUCE_LANE_STATE_H
#define PRODUCER_PRODUCE_LANE_STATE_H

#include "producer/publish/arrivals_log.h"
#include "producer/produce/lane.h"
#include "producer/produce/progress.h"
#include "producer/publish/writer.h"
#include "producer/produce/rejects.h"
#include "producer/publish/resume.h"
#include "producer/produce/worker.h"

enum { LANE_WAIT_MS = 50 /* for work, input or delivery, before looking at `stop` again */ };

struct lane_stream {
	char topic[TOPIC_MAX_BYTES + 1];
	bool open;   /* it has no End yet */
	bool behind; /* waits for the document that its last record ended in */
	struct writer_partition *writer;
	struct pack *pack;
	enum sequence_packing packing;
	bool truncate;
	struct frame_job *filling; /* NULL: none */
	bool shares;   /* its next sequence shares its first token with the one before */
	uint64_t skip; /* of the window that is packed again, sequences that are in the log */
	uint64_t sequences, documents;
	uint64_t first_document; /* those of the input before it are in the log, or dropped */
	uint64_t record_bytes, record_bytes_max;
	uint64_t tokens, dropped;
	int64_t sealed; /* its length by the last End; -1: none */
};

struct lane {
	const struct lane_options *o;
	const struct config *config;
	struct lane_stream *stream; /* [streams_n]: domains times sets; only those open are used */
	struct resume *resume;      /* the same */
	size_t streams_n;
	struct worker_context context;
	struct router *router;
	struct input *input;
	struct live_order order;       /* of files that keep arriving; see lane_live.h */
	struct arrivals_log *arrivals; /* NULL: other inputs */
	bool *known;                   /* NULL: the input is text; see input.h */
	struct pool *pool;
	struct writer *publish;
	struct progress progress;
	char label[256];               /* of the domains, for rejects */
	uint32_t (*split)[SETS_COUNT]; /* [domains_n] */
	bool *reject_long;             /* [domains_n] */
	size_t text_bytes;             /* of the records at work */
	size_t filling_tokens;         /* of all streams' `filling` */
	struct rejects reasons;
	const char *last_file; /* of the last record that was packed; NULL: none was */
	uint64_t last_line;
	uint64_t rejects, unmatched;
	uint64_t rejects_settled; /* of `rejects`, those that are in the log for certain */
};

#endif
