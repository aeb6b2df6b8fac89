/*
 * owner.h -- who commits: the name under which one committer's commits stand at the broker.
 *
 *     gpu-17/4711/9f3a5c1e20b7d864     host, process, and a number of 64 bits drawn at random
 *
 * The number alone tells two owners apart: processes in containers share names and pids, and one
 * process can have several committers. The rest is for people.
 *
 * Thread: any.
 */
#ifndef CONSUMER_READER_OWNER_H
#define CONSUMER_READER_OWNER_H

#include "common/base/failure.h"
#include "consumer/ledger/run_position.h"

/* FAIL_IO: no random number could be drawn. */
enum fail_code owner_draw(char out[static RUN_POSITION_OWNER_MAX], struct failure *f);

#endif
