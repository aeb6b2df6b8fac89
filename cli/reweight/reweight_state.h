/*
 * reweight_state.h -- the files of `riffle reweight`: weights that `mix.weights: FILE.json` takes,
 * and beside them FILE.json.state, from which it resumes. Doubles have 17 digits and come back with
 * the same bits. Both are replaced whole: after a crash there is the old file or the new one.
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

/* The weights as they go into the file: what is learned, and 0 for the configuration's others. */
json_t *reweight_state_weights(const struct reweight_job *job);

json_t *reweight_state_counts(const struct losses_counts *c);

#endif
