/*
 * inbox.h -- the folder in which the files of live inputs arrive while producers run.
 *
 * The seed draws which files will arrive. Files of JSON lines grow by any number of bytes, so they
 * can end in the middle of a line for a while. A text arrives in one piece. Names are not in the
 * order of arrival: a later file can sort before an earlier one. Once all files are complete, the
 * driver closes the input with `live: false` or `--seal`.
 *
 * The checker takes the documents from here, and only their order from the log of arrivals.
 *
 * Each worker has a folder of its own (inbox_enter). Names are relative to it.
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

/* Makes folder `number` of `folder` the working directory; creates it if it is missing. */
void inbox_enter(const char *folder, unsigned number);
/* Removes the folders of all workers. */
void inbox_remove_all(const char *folder, unsigned numbers);

/* Empties the folder and draws which files will arrive; with `texts` one of them is a text. */
void inbox_begin(bool texts);
/* Some bytes of a file arrive; false: all files are complete. */
bool inbox_arrive(void);
bool inbox_complete(void);

const struct inbox_file *inbox_files(size_t *n);

#endif
