/*
 * run_commits.h -- where one training run stands, as often as it is asked.
 *
 * The broker is asked with a handle of the run's own group (kafka_group_commits() says why), which
 * commits nothing. Opening waits for nothing: the handle looks for the group's coordinator in the
 * background, so that who asks for several runs opens them all before asking for the first.
 *
 * Thread: the caller's.
 */
#ifndef CONSUMER_LEDGER_RUN_COMMITS_H
#define CONSUMER_LEDGER_RUN_COMMITS_H

#include "common/config/config.h"
#include "common/base/failure.h"
#include "consumer/ledger/commits.h"

struct run_commits;

/* Gives *out, to be ended with run_commits_close(); copies mix and run, borrows `kafka` during the
 * call. `client` is as in struct kafka_options. */
enum fail_code run_commits_open(struct run_commits **out, const char *mix, const char *run,
    const char *client, const struct config_properties *kafka, struct failure *f);
void run_commits_close(struct run_commits *r); /* NULL is accepted */

/* <mix>.<run>; lives as long as `r`. */
const char *run_commits_group(const struct run_commits *r);

/*
 * Asks for the commits of lanes 0..lanes-1 of <mix>.batches. FAIL_DATA: a lane's metadata is not a
 * step, and the text names the lane alone; what else fails names group and topic. *at is set only
 * where it succeeds.
 */
enum fail_code run_commits_ask(struct run_commits *r, size_t lanes, int timeout_ms,
    struct commits_position *at, struct failure *f);

#endif
