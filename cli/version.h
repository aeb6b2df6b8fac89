/*
 * version.h -- riffle --version: the version, and with --verbose what a bug report should have.
 */
#ifndef CLI_VERSION_H
#define CLI_VERSION_H

#include "common/base/failure.h"

/*
 * argv[0] is "--version" or "-V". With --verbose it also prints build, libraries and features. If
 * -c, RIFFLE_CONFIG, RIFFLE_BOOTSTRAP or -X names a broker, it asks that broker for its cluster.
 * Everything else is printed before a failure of that.
 */
enum fail_code version_print(int argc, char **argv, struct failure *f);

#endif
