/*
 * feed.h -- blocks of domain topics in memory, read before they are drawn from.
 *
 * The room: domain topics, read. Nothing here writes to a broker.
 *
 * Files of this room:
 *     feed            blocks for the mixer, in the order in which it will draw from them
 *     feed_block      one block in memory
 *     feed_pieces     in which pieces domains are read, and which stay in memory
 *     domains         lengths, sizes and tokenizer of the domains of a mix; what has grown since
 *     partition_tail  the last record of a partition, which tells its length
 *     log_record      what a record is to somebody who reads all sequences in order
 *     partition_log   all sequences of one sealed partition, with their tokens decoded
 *     recipes         whether domain logs are what the configuration says
 *     last_drawn      whether domain logs are those that a mix has drawn from
 *     documents       the documents of a partition, with their files and lines
 *     document_line   at which lines the documents of a sequence stand
 *     held_out        all sequences of a domain's validation or test set
 *
 * Lookahead. A copy of the mixer runs ahead (assembler.h) and announces every draw with
 * feed_want(). The feed loads the blocks that those draws fall into, or the pieces of them that it
 * was told to read (feed_read_as), in the order of first use, at most FEED_LOADS_MAX partitions at
 * a time, each for one block. Payloads are copied out of
 * librdkafka's messages, so that one sequence does not keep a whole fetch buffer in memory.
 *
 *            feed_want()          room, and its partition is free         last sequence
 *     (none) ----------> QUEUED ---------------------------------> LOADING ----> READY
 *                        |   ^                                                   |   |
 *                        |   +------ feed_want() of more: it has grown ----------+   |
 *            feed_forget(): nothing of it was read                   evicted, or all drawn
 *                        v                                                           v
 *                      (none)                                                     (none)
 *
 * Eviction. A block whose sequences were all drawn is dropped at once. A block that no announced
 * draw needs stays, as another window may come back to it, until room is needed: then the one whose
 * last use is longest ago is dropped first. The schedule is known, so no block that an announced
 * draw needs is ever dropped. Example, a budget of three blocks, draws A B A C D, each block with
 * sequences that are drawn later:
 *
 *     announced     loaded, with announced draws     what happens
 *     A B A C       A:2 B:1 C:1                      full
 *     D             A:2 B:1 C:1                      D is queued: every block is needed
 *     A, B drawn    A:1 B:0 C:1                      B is evicted, D is loaded
 *     A drawn       A:0 C:1 D:1                      A stays: a later draw may want its rest
 *
 * A domain that is held stays: its blocks are not dropped when they are drawn, and are evicted only
 * for feed_urge(), which needs it where the domain has grown beyond what it was held for.
 *
 * Only feed_urge() may load past the budget: a step must be put together even if the blocks that
 * announced draws need leave no room for it. worst_case.h checks at the start that the blocks of
 * one step fit; those of all announced draws may be more.
 *
 * Blocks that grow while they are read. The last block of a live partition is shorter than a whole
 * one, and grows. A draw says how many sequences its block has by the mixer's lengths
 * (mixer_draw.block_count). Where that is more than the feed knew, the block goes through the queue
 * once more for the rest; what it holds can be found all the while.
 *
 * Offsets. Ordinal k of a partition stands at offset k or later: a duplicate (a producer that was
 * killed repeats its last records) and an End in the middle of an extended domain each push what
 * follows back by one. Offsets 0..9 hold ordinals 0..9, offsets 10 and 11 hold 8 and 9 once more,
 * offset 12 holds ordinal 10: the push is 2 from ordinal 10 on. A load starts at offset k plus the
 * push that is known, which is never too late, and drops what comes before k. Where it meets an
 * ordinal more than FEED_SKIP_MAX before k, it restarts that much further on.
 *
 * Bad records. A record that cannot be decoded, or whose frame has another hash, makes its ordinal
 * bad: feed_find() gives the reason. An ordinal that is missing is FAIL_DATA. Where the topic ends
 * before the block does, it is missing only after ten seconds: new records, or what a new leader
 * does not show yet, may be about to come.
 *
 * Thread: one. Memory: the budget, plus one fetch a load, plus what feed_urge() forces.
 */
#ifndef CONSUMER_DOMAIN_FEED_H
#define CONSUMER_DOMAIN_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/config/properties.h"
#include "consumer/domain/feed_block.h"
#include "consumer/domain/feed_pieces.h"
#include "consumer/mixer/mixer.h"

enum {
	FEED_LOADS_MAX = 16,
	FEED_QUEUED_MAX = 64, /* blocks that wait for a load, before feed_full() is true */
	FEED_SKIP_MAX = 4096, /* records read over before a load restarts further on */
};

struct feed;

struct feed_options {
	const struct properties *properties;
	const char *group;     /* of the handle; commits nothing */
	uint64_t memory_bytes; /* budget of the blocks */
	uint64_t tokenizer;    /* fingerprint that every sequence must have */
	uint64_t block_bytes;  /* of a typical block: sizes the fetches */
	uint32_t block;        /* sequences of a whole one; a shorter one may grow */
	/* A topic that the broker does not know is FAIL_DATA; else it is waited for. */
	bool missing_fails;
};

/* Gives *out, to be ended with feed_close(). Copies the options, and borrows the properties. */
enum fail_code feed_open(struct feed **out, const struct feed_options *o, struct failure *f);
void feed_close(struct feed *d); /* NULL is accepted */

/*
 * Adds the next domain; its number is how many there were before. Copies `topic`; `record_bytes`
 * >= 1 is a typical record's size.
 */
enum fail_code feed_add_domain(struct feed *d, const char *topic, size_t partitions_n,
    uint64_t record_bytes, struct failure *f);

/*
 * In which pieces a domain is read (feed_pieces.h); by default in blocks. Ignored once something of
 * the domain was announced.
 */
enum fail_code feed_read_as(
    struct feed *d, uint32_t domain, const struct feed_piece *as, struct failure *f);

/*
 * Announces a draw, which feed_release() or feed_forget() takes back. Where the draw's block has
 * grown, records that were found before may move.
 */
enum fail_code feed_want(struct feed *d, const struct mixer_draw *draw, struct failure *f);

/* So many blocks wait for a load that nothing more should be announced until some are there. */
bool feed_full(const struct feed *d);

/* Another budget of the blocks: what is over it goes as room is needed. */
void feed_set_memory(struct feed *d, uint64_t memory_bytes);

/* Takes every announcement back; what is loaded stays until room is needed. */
void feed_forget(struct feed *d);

/* Lets go of all blocks that no announced draw needs, but for domains that are held. */
void feed_drop_idle(struct feed *d);

/* The block of an announced draw is needed now: loads it next, past the budget if need be. */
void feed_urge(struct feed *d, const struct mixer_draw *draw);

/* NULL: not in memory yet. Borrowed until the draw is released, or another one is announced. */
const struct feed_block_record *feed_find(struct feed *d, const struct mixer_draw *draw);

/* An announced draw is published (or was a mistake): its record may go. */
void feed_release(struct feed *d, const struct mixer_draw *draw);

/*
 * Reads on; waits at most timeout_ms for the first record. FAIL_DATA: an ordinal is missing.
 * FAIL_CONFIG: a sequence of another tokenizer. FAIL_DENIED: the user may not read a topic.
 * FAIL_BROKER.
 */
enum fail_code feed_poll(struct feed *d, int timeout_ms, struct failure *f);

size_t feed_domains(const struct feed *d);

/* Bytes held by blocks that are not being loaded. */
uint64_t feed_bytes(const struct feed *d);

/* Whether they are more than the budget, with what is on its way. */
bool feed_over(const struct feed *d);

#endif
