/*
 * inbox.h -- the folder in which the files of live inputs arrive while producers run.
 *
 * A seed draws what will be in it: some files of JSON lines, which grow by any number of bytes, also
 * to the middle of a line, and some texts, which are there at once. Their names are drawn so that
 * what comes later sorts before what was there. Once all is there the input is closed: `live: false`
 * in the configuration, or `--seal`.
 *
 * The checker knows the documents from here, and asks the log of arrivals for their order alone.
 *
 * The worker that plays seeds is in a folder of its own (inbox_enter), to which names are relative.
 */
#ifndef TESTS_SIM_INBOX_H
#define TESTS_SIM_INBOX_H

#include <stdbool.h>
#include <stddef.h>

enum {
	INBOX_FILES_MAX = 6,
	INBOX_LINES_MAX = 8,       /* of a file */
	INBOX_BYTES_MAX = 1 << 10, /* of a file */
};

struct inbox_file {
	char name[32]; /* as records name it */
	char text[INBOX_BYTES_MAX];
	size_t n, given;
	bool whole; /* a text: one document */
};

/* Works in folder `number` of `folder`, which is made where it is not there. */
void inbox_enter(const char *folder, unsigned number);
/* Removes the folders of all workers. */
void inbox_remove_all(const char *folder, unsigned numbers);

/* Empties the folder, and draws what will come; with `texts` a text is among it. */
void inbox_begin(bool texts);
/* Some of it comes; false: all is there. */
bool inbox_arrive(void);
bool inbox_complete(void);

const struct inbox_file *inbox_files(size_t *n);

#endif
