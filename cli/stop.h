/*
 * stop.h -- SIGINT and SIGTERM ask a long-running command to finish; a second one ends it at once.
 */
#ifndef CLI_STOP_H
#define CLI_STOP_H

#include <stdbool.h>

/* Installs the handlers; what it returns becomes true at the first signal. */
const volatile bool *stop_on_signals(void);

#endif
