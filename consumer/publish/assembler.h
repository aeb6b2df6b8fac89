/*
 * assembler.h -- brings decisions and data together: the next step with all its sequences in
 * memory.
 *
 * Holds two mixers in the same line of decisions. `now` draws the steps that are published; `ahead`
 * runs in front of it and announces its draws to the feed, so that blocks are there when `now` gets
 * to them. Where a drawn sequence turns out to be bad, the step is undone, the ordinal quarantined,
 * `ahead` begins again from `now`, and the step is drawn anew.
 *
 * Where weights count tokens, `now` asks how many a drawn sequence has: the step is then drawn
 * again until all that it needs is loaded. `ahead` takes S + 1 for each, so what it announces is
 * only likely: `now` announces its own draws too, and `ahead` begins again from `now` every
 * ASSEMBLER_RENEW_DRAWS, and whenever a sequence had to be waited for.
 */
#ifndef CONSUMER_PUBLISH_ASSEMBLER_H
#define CONSUMER_PUBLISH_ASSEMBLER_H

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
	const struct mixer_draw *draw;           /* [global_batch], lane after lane */
	const struct feed_record *const *record; /* [global_batch] */
};

/* Called for each sequence that is quarantined, before the step that passes over it is returned. */
typedef void assembler_quarantined(
    void *opaque, const struct mixer_draw *draw, const struct feed_record *record);

/* Gives *out, to be ended with assembler_close(). Takes `now` on success; borrows the feed. */
enum fail_code assembler_open(struct assembler **out, struct mixer *now, struct feed *feed,
    uint32_t global_batch, assembler_quarantined *quarantined, void *opaque, struct failure *f);
void assembler_close(struct assembler *a); /* NULL is accepted */

/*
 * The next step; what it points to is borrowed until assembler_release(). FAIL_TIMEOUT: its
 * sequences did not come within timeout_ms, or a live domain is dry (assembler_dry()), and no step
 * was taken.
 */
enum fail_code assembler_next(
    struct assembler *a, int timeout_ms, struct assembled *out, bool *ended, struct failure *f);
void assembler_release(struct assembler *a);

/*
 * The draw that the last assembler_next() found nothing for, because its domain is live and dry;
 * NULL: it is not so. Only a change of its lengths helps. Borrowed until the next call.
 */
const struct mixer_draw *assembler_dry(const struct assembler *a);

/* Reads on for a while without taking a step. */
enum fail_code assembler_idle(struct assembler *a, int timeout_ms, struct failure *f);

/* The state after the last step taken. */
const struct mixer *assembler_mixer(const struct assembler *a);

/* The same for changes between steps, none of them borrowed; reading ahead begins anew after it. */
struct mixer *assembler_change(struct assembler *a);

#endif
