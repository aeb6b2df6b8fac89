/*
 * acls_rights.h -- which rights on Kafka's resources each command needs, and no more.
 *
 * The table is what docs/ACCESS.md prints and what the tests hold every command to: with exactly
 * these it works, without any one of them it ends with a sentence that names it. READ, WRITE,
 * DELETE and ALTER include DESCRIBE, which is therefore not listed beside them.
 *
 * From a row of the table to rights. A row names a command, an operation and a kind of resource;
 * the configuration says which resources of that kind there are. Example, mix "pretrain" of corpus
 * "quick" with domains code and prose:
 *
 *     row                                  rights
 *     {"mix", "READ", WHAT_DOMAINS}        READ topic quick.code, READ topic quick.prose
 *     {"mix", "READ", WHAT_GROUP_MIXER}    READ group pretrain.mixer
 *     {"retain", "DESCRIBE", WHAT_GROUPS}  DESCRIBE group pretrain.*, prefixed
 */
#ifndef CLI_ACLS_ACLS_RIGHTS_H
#define CLI_ACLS_ACLS_RIGHTS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/names.h"
#include "common/config/config.h"

enum acls_right_kind {
	ACLS_RIGHT_TOPIC,
	ACLS_RIGHT_GROUP,
	ACLS_RIGHT_TRANSACTIONAL_ID,
	ACLS_RIGHT_CLUSTER
};

struct acls_right {
	const char *operation; /* as Kafka writes it: READ */
	enum acls_right_kind kind;
	bool prefixed; /* of all whose names begin so; else of the one with that name */
	char name[TOPIC_MAX_BYTES + 1];
};

/*
 * Gives *out (free) with *n rights of a command, sorted by operation, kind and pattern in the order
 * of the table. FAIL_USAGE: there is no such command; the sentence lists all. FAIL_CONFIG: the
 * command is about a mix, and the configuration has none.
 */
enum fail_code acls_rights(struct acls_right **out, size_t *n, const struct config *c,
    const char *command, struct failure *f);

#endif
