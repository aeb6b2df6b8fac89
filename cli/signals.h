/*
 * signals.h -- SIGINT and SIGTERM ask a long-running command to finish; a second one ends it at once.
 */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

#include "common/base/stop.h"

/* Installs the handlers. The first signal asks what it returns, which lives as long as the process. */
const struct stop *signals_stop(void);

#endif
