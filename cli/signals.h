/*
 * signals.h -- SIGINT and SIGTERM ask a long-running command to finish; a second one ends it at
 * once.
 */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

#include "common/base/stop.h"

/* Installs the handlers; the first signal sets what it returns, which lives as the process does. */
const struct stop *signals_stop(void);

#endif
