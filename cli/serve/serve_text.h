/*
 * serve_text.h -- a text that several clients get: counted by those who use it.
 *
 * Thread: any.
 */
#ifndef CLI_SERVE_SERVE_TEXT_H
#define CLI_SERVE_SERVE_TEXT_H

#include <stdatomic.h>
#include <stddef.h>

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
