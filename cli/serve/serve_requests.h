/*
 * serve_requests.h -- the requests of a mix and what became of them, as clients get them: kept, and
 * read on where something has moved.
 *
 *     follower   serve_requests_note     where the control topic ends, what the ledger says
 *     reader     serve_requests_wanted   whether that is more than what was read
 *                serve_requests_read     reads on, and makes the text
 *     clients    serve_requests_text
 *
 * The newest SERVE_REQUESTS_MAX are kept.
 *
 * Thread: any; read and who from one, which alone uses the list.
 */
#ifndef CLI_SERVE_SERVE_REQUESTS_H
#define CLI_SERVE_SERVE_REQUESTS_H

#include <stdbool.h>

#include "cli/serve/serve_text.h"
#include "common/base/failure.h"
#include "common/config/config.h"
#include "common/record/ledger.h"
#include "consumer/status/status.h"

enum { SERVE_REQUESTS_MAX = 1024 };

struct serve_requests;

/* Gives *out, to be ended with serve_requests_close(). Borrows the configuration until then. */
enum fail_code serve_requests_open(
    struct serve_requests **out, const struct config *c, struct failure *f);
void serve_requests_close(struct serve_requests *r); /* NULL is accepted */

void serve_requests_note(struct serve_requests *r, const struct status *st);

bool serve_requests_wanted(struct serve_requests *r);

/*
 * `last`, at `offset`: the ledger's last record; NULL: it has none. A right that is missing is no
 * failure: answers say so.
 */
enum fail_code serve_requests_read(
    struct serve_requests *r, const struct ledger *last, int64_t offset, struct failure *f);

/* Who asked for the request of that id; NULL: it is not known. Borrowed until the next read. */
const char *serve_requests_who(const struct serve_requests *r, const char *id);

/*
 * Gives the JSON of `riffle requests`, to be ended with serve_text_release(). NULL: there is none,
 * and `why` not; "": there was no memory for it.
 */
struct serve_text *serve_requests_text(struct serve_requests *r, char why[static FAILURE_TEXT_MAX]);

#endif
