/*
 * assembler.h -- brings decisions and data together: the next step with all its sequences in
 * memory.
 *
 * Two mixers decide in the same line. `now` draws the steps that are published. `ahead` is a copy
 * that runs in front of it and announces its draws to the feed, so that blocks are in memory when
 * `now` gets to them. No guessing is needed: both decide by the same state, so `ahead` is right
 * until something changes `now` from outside.
 *
 *     published | now |---- announced, being loaded ----| ahead |---- not decided yet
 *               step n                                  step n + k
 *
 * `ahead` stops when the feed has enough to do (feed_full()), or ASSEMBLER_AHEAD_DRAWS in front.
 *
 * It becomes stale, and is copied from `now` once more, with all announcements taken back, when
 *     - a request, new lengths or another change come to `now` (assembler_change());
 *     - a sequence turns out to be bad: only reading shows it. The step is undone, the ordinal is
 *       quarantined, and the step drawn once more without it. So one bad sequence changes all
 *       draws behind it, here as in every replay;
 *     - weights count tokens (below) and it has been running for ASSEMBLER_RENEW_DRAWS.
 *
 * Where weights count tokens, the next draw depends on how many tokens the last one had, and `now`
 * asks that of each sequence (mixer_set_tokens()). For one that is not in memory the answer is "not
 * known": the step is undone, the sequence loaded, and the step drawn once more, as often as it
 * takes. `ahead` cannot wait for data: it counts every sequence as full (S + 1 tokens), so that
 * what it announces is only likely. Hence `now` announces its own draws, too, and `ahead` is
 * renewed before it strays far, and whenever a sequence had to be waited for.
 *
 * Thread: one.
 */
#ifndef CONSUMER_DERIVE_ASSEMBLER_H
#define CONSUMER_DERIVE_ASSEMBLER_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/failure.h"
#include "consumer/domain/feed.h"
#include "consumer/mixer/mixer.h"

enum {
	ASSEMBLER_AHEAD_DRAWS = 1 << 14, /* and at least one step */
	ASSEMBLER_RENEW_DRAWS = 1 << 13,
};

struct assembler;

struct assembled {
	const struct mixer_draw *draw;                 /* [n], lane after lane */
	const struct feed_block_record *const *record; /* [n] */
	uint32_t n;                                    /* mixer_global_batch() */
};

/* Called for each sequence that is quarantined, before the step that passes over it is returned. */
typedef void assembler_quarantined(
    void *opaque, const struct mixer_draw *draw, const struct feed_block_record *record);

/* Gives *out, to be ended with assembler_close(). Takes `now` on success; borrows the feed. */
enum fail_code assembler_open(struct assembler **out, struct mixer *now, struct feed *feed,
    assembler_quarantined *quarantined, void *opaque, struct failure *f);
void assembler_close(struct assembler *a); /* NULL is accepted */

/*
 * The next step; what it points to is borrowed until assembler_release(). FAIL_TIMEOUT: its
 * sequences did not come within timeout_ms, or a live domain is dry (assembler_dry()), and no step
 * was taken. *ended: the mix is over, and there is none. Other failures as of feed_poll() and
 * mixer_step(); the assembler is then good for assembler_close() only.
 */
enum fail_code assembler_next(
    struct assembler *a, int timeout_ms, struct assembled *out, bool *ended, struct failure *f);
void assembler_release(struct assembler *a);

/*
 * The draw that the last assembler_next() found nothing for, because its domain is live and dry;
 * NULL: it is not so. Only a change of its lengths helps. Borrowed until the next call.
 */
const struct mixer_draw *assembler_dry(const struct assembler *a);

/* Reads ahead for at most timeout_ms without taking a step. Fails as feed_poll() does. */
enum fail_code assembler_idle(struct assembler *a, int timeout_ms, struct failure *f);

/*
 * In place of assembler_idle(), while no step is borrowed, where no step is to be taken for long:
 * what was read ahead is given back, and read once more by the next call that needs it. What is on
 * its way still comes, for at most timeout_ms a call.
 */
enum fail_code assembler_rest(struct assembler *a, int timeout_ms, struct failure *f);

/* The state after the last step taken. */
const struct mixer *assembler_mixer(const struct assembler *a);

/*
 * The same for changes between steps, while no step is borrowed. What runs ahead is copied from it
 * at the next call, also where the caller changes nothing: not to be called without a reason.
 */
struct mixer *assembler_change(struct assembler *a);

#endif
