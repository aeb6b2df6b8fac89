/*
 * claim.h -- one mixer's claim on a mix: has another mixer taken over? Judged by the ledger alone.
 *
 * Why the ledger. Two handles with one transactional id never write at the same time: the one that
 * was opened last fences the other. But a fenced handle does not learn why. A second mixer may have
 * opened its own; or the broker timed a transaction out and raised the epoch itself, and nobody is
 * there to take over. So each mixer draws a random id, writes it into every ledger record, and
 * commits a START record, which holds no steps, before anything else. Whose record stands last?
 *
 * Two mixers, A active, B starting. What each may write when:
 *
 *     1. A commits steps. The ledger's last record is A's.
 *     2. B reads the ledger and compares configurations. What can be refused is refused here, where
 *        B has not hurt A yet.
 *     3. B opens its handle. From here on A is fenced: what it has open is aborted, and it can
 *        commit nothing more. B can.
 *     4. B reads the ledger again. Only now is every transaction of A decided, and what stands last
 *        is the state that B resumes from: claim_look(). (Reading before step 3 would not do: A may
 *        commit between that and step 3, and B would publish the same steps a second time.)
 *     5. A's next request fails with FAIL_FENCED. It waits up to ten seconds for another's START.
 *        If it opened its handle at once, it would fence B before B's START, B would do the same,
 *        and so on for ever.
 *     6. B commits its START: claim_start(). B alone writes from here on.
 *     7. A reads B's START behind its own: claim_lost(). It ends with exit code 3.
 *     7'. No START came within the ten seconds: the broker had timed A's transaction out. A opens
 *        its handle again, finds its own record last, and resumes. It writes no second START.
 *
 * A third mixer C that opens its handle between steps 4 and 6 fences B, which has no START yet that
 * C's could stand behind. What B saw in step 4 tells: when the last record is of another mixer than
 * then, that mixer came later. Batches without any ledger record are judged by attach.c.
 *
 * Invariant: `started` implies `looked`.
 *
 * Pure: plain data, no I/O. Thread: one.
 */
#ifndef CONSUMER_PUBLISH_CLAIM_H
#define CONSUMER_PUBLISH_CLAIM_H

#include <stdbool.h>
#include <stdint.h>

struct claim {
	uint64_t mixer; /* our id */
	bool looked;    /* claim_look() was called: */
	uint64_t seen;  /* then the last record was of this mixer; 0: there was none */
	bool started;   /* our START is in the ledger */
	int64_t read;   /* offset of the record that was read last; -1: there was none */
	int64_t
	    before; /* the offset that claim_look() stood at before our START; -1: no look yet */
};

void claim_init(struct claim *c, uint64_t mixer);

/* The ledger was read: its last record stands at `offset` (-1: it holds none). */
void claim_read(struct claim *c, int64_t offset);

/*
 * Step 4: the record of the last claim_read() is of `mixer` (0: there is none), and every
 * transaction of others is decided. With a record only while claim_lost(c, mixer) is false.
 */
void claim_look(struct claim *c, uint64_t mixer);

/* Step 6: our START is committed. Only after claim_look(). */
void claim_start(struct claim *c);

/* Whether the last record, which is of `mixer`, shows that another mixer has taken over. */
bool claim_lost(const struct claim *c, uint64_t mixer);

/*
 * The same while transactions may be undecided. Right after our START is committed, readers may not
 * see it yet, because the broker is still writing its markers: what stood last before it then still
 * stands last, is of another mixer, and proves nothing.
 */
bool claim_lost_yet(const struct claim *c, uint64_t mixer);

/*
 * The last record proves nothing, while every transaction is decided: the ledger has lost what
 * stood behind it, our START among it, or what we saw in step 4.
 */
bool claim_cut(const struct claim *c, uint64_t mixer);

#endif
