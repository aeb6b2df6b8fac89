/*
 * reweight_state.h -- the files of `riffle reweight`: weights that `mix.weights: FILE.json` takes,
 * and beside them FILE.json.state, from which it resumes. Doubles have 17 digits and come back with
 * the same bits. Both are replaced whole: after a crash there is the old file or the new one.
 *
 *     FILE.json          {"code": 0.48677737..., "prose": 0.51322262...}
 *     FILE.json.state    {"reweight": 1, "id": "9f0c...", "mix": "pretrain", "run": "trainers",
 *                         "method": "odm", "eta": 1.0, "parameter": 0.9,
 *                         "offset_next": 80, "offset_counted": 80, "step_next": 40, "steps": 40,
 *                         "domains": {"code": {"weight": ..., "memory": ...}, ...}, ...}
 *
 * How a run saves. Each file is written to FILE.json.new, synced, and renamed over the old one. The
 * state comes first. A crash between the two leaves new state and old weights, and the next save
 * writes weights that belong to the state.
 *
 * How a run resumes.
 *   1. reweight_job_open() has a fresh learner of the same method and domains, and a new id.
 *   2. reweight_state_load() refuses a state of another mix, run, method, parameter or set of
 *      domains: with another one the weights would be a mixture of two learnings. Floors and
 *      ceilings may differ, as they apply to what comes out, not to what is learned.
 *   3. It sets learner, counts, id and position. The reports from offset_next on are read again:
 *      those of steps that were open. Below offset_counted they were counted before (take() of
 *      reweight_loop.c).
 */
#ifndef CLI_REWEIGHT_REWEIGHT_STATE_H
#define CLI_REWEIGHT_REWEIGHT_STATE_H

#include <jansson.h>

#include "cli/reweight/reweight_job.h"

/* Writes the state, then the weights. FAIL_IO names the file. */
enum fail_code reweight_state_save(const struct reweight_job *job, struct failure *f);

/*
 * Sets learner, position and id of an open job from the state file. *found is false: there is none.
 * FAIL_DATA: it is damaged; FAIL_CONFIG: it is of another mix, run, method, set of domains or
 * parameters.
 */
enum fail_code reweight_state_load(struct reweight_job *job, bool *found, struct failure *f);

/*
 * Gives (json_decref) the weights as they go into the file: what is learned, and 0 for the
 * configuration's other domains. NULL: no memory.
 */
json_t *reweight_state_weights(const struct reweight_job *job);

/* Gives (json_decref) an object with each count under its name; NULL: no memory. */
json_t *reweight_state_counts(const struct losses_counts *c);

#endif
