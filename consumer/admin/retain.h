/*
 * retain.h -- deletes the steps of a mix below a given one, unless a training run still needs them.
 *
 * A run is named by the configuration (mix.runs), by the ledger, or by a consumer group
 * <mix>.<run>. Its position is the lowest step that its group has committed over all lanes; where
 * the broker has forgotten the commits, the step that the ledger knows. A run without any commit
 * holds nothing back and is named in a warning. The ledger is never cut.
 */
#ifndef CONSUMER_ADMIN_RETAIN_H
#define CONSUMER_ADMIN_RETAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/base/names.h"
#include "common/config/config.h"
#include "common/record/ledger.h"
#include "consumer/batches/step_records.h"

enum { RETAIN_RUNS_MAX = 4096 };

struct retain_options {
	const struct config *config; /* with a mix section */
	uint64_t from_step;          /* first step that stays */
	bool force;                  /* past the positions of runs */
	bool dry_run;
};

struct retain_result {
	uint64_t first, end; /* steps first..end were deleted, or would be; none where equal */
	uint32_t lanes;
};

/*
 * FAIL_DATA: from_step is not published, or a run is below it. A failure of the broker may
 * leave some lanes cut and others not; running it again finishes the work.
 */
enum fail_code retain(const struct retain_options *o, struct retain_result *out, struct failure *f);

/* The position of a run; a value. */
struct retain_run {
	char name[NAME_MAX_BYTES + 1];
	bool named;      /* by mix.runs or the ledger, not by its group alone */
	bool committed;  /* the broker has commits of it, */
	bool remembered; /* or only the ledger has a step */
	uint64_t step;   /* if either */
};

/* Runs by distinct names; `run` is owned. A zeroed one is empty. */
struct retain_runs {
	struct retain_run *run;
	size_t n;
};

/*
 * Adds a run where it is not there yet: those that mix.runs and the ledger name first, then those
 * of groups; `group` is "<mix>.<run>". Names that are no runs (mixer,
 * election) are passed over. FAIL_DATA beyond RETAIN_RUNS_MAX.
 */
enum fail_code retain_add_run(struct retain_runs *r, const char *name, struct failure *f);
enum fail_code retain_add_group(
    struct retain_runs *r, const char *mix, const char *group, struct failure *f);

/* What the ledger remembers of runs without commits. */
void retain_remember(struct retain_runs *r, const struct ledger *l);

/* FAIL_DATA: a run is below `step`; names the lowest one. Pure. */
enum fail_code retain_check(const struct retain_runs *r, uint64_t step, struct failure *f);

/*
 * FAIL_DATA: `from_step` is not published. At least one step stays, because a lane can be cut only
 * where a record begins; the record that ends a mix is one, too. Pure.
 */
enum fail_code retain_check_published(
    const struct ledger *last, uint64_t from_step, const char *mix, struct failure *f);

/*
 * The step at which all lanes are cut; *cuts: some lane has records below it. An interrupted
 * command has cut some lanes and not others. The others are cut to where the first ones begin, even
 * if that is above `from_step`. Pure.
 */
uint64_t retain_cut_at(const struct step_records_kept *kept, uint64_t from_step, bool *cuts);

#endif
