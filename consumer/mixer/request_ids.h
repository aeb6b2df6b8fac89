/*
 * request_ids.h -- the ids of the requests that were answered last, so that each is answered once.
 *
 * Whoever does not hear an answer asks again with the same id. A known id is a duplicate: it has
 * its answer in the ledger and changes nothing. The list holds the last LEDGER_REQUEST_IDS_MAX ids;
 * the oldest goes first. A zeroed struct is a valid empty one; it owns its memory.
 */
#ifndef CONSUMER_MIXER_REQUEST_IDS_H
#define CONSUMER_MIXER_REQUEST_IDS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/failure.h"

enum { MIXER_ID_BYTES_MAX = 128 }; /* of one id, in every record that has one */

struct request_ids {
	char **id; /* [n], oldest first */
	size_t n;
};

void request_ids_close(struct request_ids *r);

/* Makes *to, which is empty, equal to *from. FAIL_MEMORY: request_ids_close(to) frees the part. */
enum fail_code request_ids_copy(
    struct request_ids *to, const struct request_ids *from, struct failure *f);

bool request_ids_has(const struct request_ids *r, const char *id);

/* Adds an id as the newest. Copies. FAIL_MEMORY: nothing was changed. */
enum fail_code request_ids_add(struct request_ids *r, const char *id, struct failure *f);

#endif
