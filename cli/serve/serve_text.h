/*
 * serve_text.h -- texts for clients: printed as a command prints them, and counted by those who use
 * one.
 *
 * Thread: any.
 */
#ifndef CLI_SERVE_SERVE_TEXT_H
#define CLI_SERVE_SERVE_TEXT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>

#include "common/base/failure.h"

/*
 * Gives *out what print(of, to, f) prints to `to`, with an end, to be freed with free(). NULL after
 * a failure, which is that of `print`, or FAIL_MEMORY.
 */
enum fail_code serve_text_print(char **out,
    enum fail_code (*print)(const void *of, FILE *to, struct failure *f), const void *of,
    struct failure *f);

struct serve_text {
	atomic_uint references;
	char *bytes; /* [n] */
	size_t n;
};

/* Takes bytes[n] (free), and has one reference. NULL: no memory, or `bytes` is NULL. */
struct serve_text *serve_text_make(char *bytes, size_t n);

/* Gives another reference to `t`; NULL is accepted. */
struct serve_text *serve_text_share(struct serve_text *t);
void serve_text_release(struct serve_text *t); /* NULL is accepted */

#endif
