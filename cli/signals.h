/*
 * signals.h -- SIGINT and SIGTERM ask a long-running command to finish; a second one ends it at
 * once. No command waits for a broker's first answer after that. A command that hangs while it
 * opens a connection to Kafka (kafka_opening()) ends with 1, four seconds after the first.
 */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

#include "common/base/stop.h"

/* Installs the handlers; the first signal sets what it returns, which lives as the process does. */
const struct stop *signals_stop(void);

/*
 * For a process that another one of this program started, after its signals_stop(): SIGNALS_CHILD,
 * with which the parent hands its own stop on, asks too, and counts for no second signal: whoever
 * stops a whole group of processes sends SIGTERM to all of them.
 */
#define SIGNALS_CHILD SIGUSR1
const struct stop *signals_stop_child(void);

#endif
