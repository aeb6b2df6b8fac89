#include "tests/sim/inbox.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/sim/kafka/chance.h"

enum {
	FILES_MIN = 2,
	LINES_MIN = 2,   /* one for each domain, if `where` deals them out */
	GIVEN_MAX = 200, /* bytes that come at once */
	PATH_BYTES = 4096
};

static const char *const names[INBOX_FILES_MAX] = {
    "in/k.txt", "in/m.jsonl", "in/c.jsonl", "in/t.jsonl", "in/a.jsonl", "in/b.jsonl"};
static const char partial[] = "in/partial"; /* no pattern matches it */

static struct inbox_file file[INBOX_FILES_MAX];
static size_t files_n;

static void
must(bool done, const char *what)
{
	if (done)
		return;
	perror(what);
	exit(1);
}

static void
path_of(char path[static PATH_BYTES], const char *folder, unsigned number, const char *name)
{
	snprintf(path, PATH_BYTES, "%s/%u%s%s", folder, number, *name == '\0' ? "" : "/", name);
}

void
inbox_enter(const char *folder, unsigned number)
{
	char path[PATH_BYTES];

	path_of(path, folder, number, "");
	mkdir(path, 0700); /* another worker of this number may have made it */
	must(chdir(path) == 0, path);
	mkdir("in", 0700);
	must(access("in", W_OK) == 0, "sim: in");
}

void
inbox_remove_all(const char *folder, unsigned numbers)
{
	char path[PATH_BYTES];

	for (unsigned i = 0; i < numbers; i++) {
		for (size_t k = 0; k < INBOX_FILES_MAX; k++) {
			path_of(path, folder, i, names[k]);
			unlink(path);
		}
		path_of(path, folder, i, partial);
		unlink(path);
		path_of(path, folder, i, "in");
		rmdir(path);
		path_of(path, folder, i, "");
		rmdir(path);
	}
}

/* ---- what will be there ---- */

static void
write_whole(struct inbox_file *f)
{
	f->n = (size_t)snprintf(f->text, sizeof(f->text),
	    "a text in one piece, %s, number %" PRIu64, f->name, chance_below(1000));
}

/* The last line can lack its end of line: it counts once the input is closed. */
static void
write_lines(struct inbox_file *f)
{
	size_t lines = LINES_MIN + chance_below(INBOX_LINES_MAX - LINES_MIN + 1);

	for (size_t i = 0; i < lines; i++)
		f->n += (size_t)snprintf(f->text + f->n, sizeof(f->text) - f->n,
		    "{\"from\":\"%s\",\"text\":\"%s, line %zu%.*s\"}\n",
		    i == 0 || (i > 1 && chance_below(3) == 0) ? "y" : "x", f->name, i,
		    (int)chance_below(24), " and what else it says");
	f->n -= chance_below(4) == 0;
}

void
inbox_begin(bool texts)
{
	size_t first = texts ? 0 : 1;

	for (size_t i = 0; i < INBOX_FILES_MAX; i++)
		unlink(names[i]);
	memset(file, 0, sizeof(file));
	files_n = FILES_MIN + chance_below(INBOX_FILES_MAX - FILES_MIN - first + 1);
	for (size_t i = 0; i < files_n; i++) {
		snprintf(file[i].name, sizeof(file[i].name), "%s", names[first + i]);
		file[i].whole = strstr(file[i].name, ".txt") != NULL;
		if (file[i].whole)
			write_whole(&file[i]);
		else
			write_lines(&file[i]);
	}
}

/* ---- what comes ---- */

static void
put(const char *name, const char *bytes, size_t n)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	must(fd >= 0 && write(fd, bytes, n) == (ssize_t)n && close(fd) == 0, name);
}

bool
inbox_complete(void)
{
	for (size_t i = 0; i < files_n; i++)
		if (file[i].given < file[i].n)
			return false;
	return true;
}

bool
inbox_arrive(void)
{
	struct inbox_file *f;
	size_t n;

	if (inbox_complete())
		return false;
	do {
		f = &file[chance_below(files_n)];
	} while (f->given == f->n);
	n = f->whole ? f->n : 1 + chance_below(GIVEN_MAX);
	n = n < f->n - f->given ? n : f->n - f->given;
	chance_trace("ARRIVES %s [%zu, %zu) of %zu", f->name, f->given, f->given + n, f->n);
	if (f->whole) {
		put(partial, f->text, n);
		must(rename(partial, f->name) == 0, f->name);
	} else {
		put(f->name, f->text + f->given, n);
	}
	f->given += n;
	return true;
}

const struct inbox_file *
inbox_files(size_t *n)
{
	*n = files_n;
	return file;
}
