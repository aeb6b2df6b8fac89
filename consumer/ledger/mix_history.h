/*
 * mix_history.h -- a mix over its steps, in memory that has a limit however long its ledger is.
 *
 * A point is what one ledger record says: step, draws, version, and of each domain what was taken
 * and how far it is from its target. Points come in any order: those of the past by looking into
 * the ledger here and there, the new ones as they are written. They are kept in the order of the
 * ledger, at most `points_max`:
 *
 *     while it is new      every record is a point
 *     when it is full      points that are nearer to the one before than a `spacing` give way, so
 *                          that about half are left; the spacing is that of points_max / 2
 *     from there on        the newest point moves along until it is a spacing from the one before
 *
 * Where to look next. mix_history_gap() names the widest gap between two points that is wider than
 * an even part of the whole: looking into its middle makes the picture finer everywhere, the
 * coarsest places first. Where the middle holds nothing new, the gap is known to end there.
 *
 *     points at offsets    0                           1000    gap [1, 1000)
 *     look at 500: 502     0             502           1000    gap [1, 502), then [503, 1000)
 *     look at 251: 502     0   (empty from 251 on)  502  1000    gap [1, 251)
 *
 * A part of the mix, more closely. mix_history_part() begins another history with the points of a
 * range of steps, and the ones beside it; its gaps count as far as they lie in that range:
 *
 *     points at steps      0        1000        2000        range [1200, 1300]
 *     the part begins as            1000        2000        gap: the middle is step 1500
 *     look: 1500                    1000  1500              gap: the middle is step 1250 ...
 *
 * Pure.
 *
 * Invariants: offsets and steps of points never fall; each has `domains_room` values, of which
 * those behind its own `domains_n` are zero.
 */
#ifndef CONSUMER_LEDGER_MIX_HISTORY_H
#define CONSUMER_LEDGER_MIX_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/record/ledger.h"

enum {
	MIX_HISTORY_POINTS_MAX = 2048,
	MIX_HISTORY_POINTS_MIN = 64,
	MIX_HISTORY_BYTES = 12 << 20,      /* of values; many domains have fewer points */
	MIX_HISTORY_FINE = 512,            /* parts of the whole that are looked into */
	MIX_HISTORY_PART_POINTS_MAX = 512, /* of a range; a quarter as many parts are looked into */
};

struct mix_history_value {
	int64_t taken, tokens;
	float intended, deviation; /* NAN: there is no target */
};

struct mix_history_point {
	int64_t offset, step, time_ms, draws, version;
	int64_t empty_from; /* no record lies between here and `offset` but the point itself */
	size_t domains_n;   /* that the mix had */
};

struct mix_history {
	size_t points_max, n;
	size_t points_most;              /* that points_max is with few domains */
	struct mix_history_point *point; /* [points_max] */
	struct mix_history_value *value; /* [points_max][domains_room], by the ledger's index */
	char **name;                     /* [domains_n] */
	size_t domains_n, domains_room;
	int64_t spacing;     /* steps */
	int64_t from, to;    /* steps whose gaps count; of the whole: [0, INT64_MAX] */
	int64_t fine;        /* in so many parts */
	uint64_t generation; /* counts changes */
};

/* Fills a zeroed *h, to be ended with mix_history_close(). */
enum fail_code mix_history_open(struct mix_history *h, size_t domains_n, struct failure *f);
void mix_history_close(struct mix_history *h);

/*
 * Adds what a record says, at its offset. `unit` and `aims` as weight_history_behind() has them:
 * sequences are 1, tokens those of a sequence; false: the schedule aims at no share. FAIL_MEMORY
 * leaves the history as it was.
 */
enum fail_code mix_history_add(struct mix_history *h, const struct ledger *l, int64_t offset,
    int64_t time_ms, uint64_t unit, bool aims, struct failure *f);

/* Forgets all points and names: the ledger is another one. */
void mix_history_clear(struct mix_history *h);

/*
 * Begins a zeroed *part, to be ended with mix_history_close(): of steps [from, to], with what `h`
 * has of them. False: `h` has no gap there that a part would fill, or there is no memory.
 */
bool mix_history_part(
    struct mix_history *part, const struct mix_history *h, int64_t from, int64_t to);

/*
 * Whether the mix has had more steps of the part's range since the part was begun than the part
 * has: it stands for the range no longer. A part does not follow the mix.
 */
bool mix_history_outgrown(const struct mix_history *part, const struct mix_history *h);

/* Where to look: into [*from, *to), at or after whose middle the next record may be. False: the
 * history is as fine as it is to be. */
bool mix_history_gap(const struct mix_history *h, int64_t *from, int64_t *to);

/* A look at `offset` found the record at `found`, or with -1 none: nothing lies between. */
void mix_history_looked(struct mix_history *h, int64_t offset, int64_t found);

const struct mix_history_value *mix_history_values(const struct mix_history *h, size_t point);

/*
 * Which points stand for steps [from, to], at most `most`: their indices, evenly, the first and the
 * last of them included. Returns how many.
 */
size_t mix_history_choose(
    const struct mix_history *h, int64_t from, int64_t to, size_t *out, size_t most);

#endif
