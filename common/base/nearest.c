#include "common/base/nearest.h"

#include <assert.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NEAREST_BEGINNING_MIN = 3 };

static size_t
smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Row i holds the distances of a's first i letters to each beginning of b; three rows suffice. */
static size_t
distance(const char *a, size_t a_n, const char *b, size_t b_n)
{
	size_t rows[3][NEAREST_BYTES_MAX + 1];

	assert(a_n <= NEAREST_BYTES_MAX && b_n <= NEAREST_BYTES_MAX);
	for (size_t j = 0; j <= b_n; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= a_n; i++) {
		size_t *now = rows[i % 3], *above = rows[(i + 2) % 3], *two = rows[(i + 1) % 3];

		now[0] = i;
		for (size_t j = 1; j <= b_n; j++) {
			now[j] = above[j - 1] + (a[i - 1] != b[j - 1]);
			now[j] = smaller(now[j], smaller(above[j], now[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				now[j] = smaller(now[j], two[j - 2] + 1);
		}
	}
	return rows[a_n % 3][b_n];
}

void
nearest_init(struct nearest *n, const char *word)
{
	assert(word != NULL);
	*n = (struct nearest){.word = word};
}

void
nearest_offer(struct nearest *n, const char *known)
{
	size_t word_n = strlen(n->word), known_n = strlen(known), longer, d, exact;

	longer = word_n > known_n ? word_n : known_n;
	assert(n->best == NULL || n->distance <= NEAREST_BYTES_MAX);
	if (word_n == 0 || longer > NEAREST_BYTES_MAX)
		return;
	exact = d = distance(n->word, word_n, known, known_n);
	if (word_n >= NEAREST_BEGINNING_MIN && strncmp(n->word, known, word_n) == 0 && d > 0)
		d = 1;
	if (d > (longer + 2) / 3 || d == longer)
		return;
	if (n->best != NULL && (d > n->distance || (d == n->distance && exact > n->exact)))
		return;
	if (n->best != NULL && d == n->distance && exact == n->exact) {
		n->equal = n->equal || strcmp(n->best, known) != 0;
		return;
	}
	n->best = known;
	n->equal = false;
	n->distance = d;
	n->exact = exact;
}

void
nearest_list(struct nearest *n, const char *known)
{
	size_t used = smaller(n->names_n, sizeof(n->names) - 1);

	nearest_offer(n, known);
	n->names_n += (size_t)snprintf(
	    n->names + used, sizeof(n->names) - used, "%s%s", n->names_n == 0 ? "" : ", ", known);
}

enum fail_code
nearest_fail_more(const struct nearest *n, const char *who_has, struct failure *f)
{
	if (n->best != NULL && !n->equal)
		fail_more(f, " (did you mean %s?)", n->best);
	if (n->names_n > 0)
		fail_more(
		    f, "; %s %s%s", who_has, n->names, n->names_n < sizeof(n->names) ? "" : "...");
	return f->code;
}

/* A link, and an entry of a file system that does not tell, may be of any kind. */
static bool
may_be(const struct dirent *entry, unsigned char kind)
{
	return entry->d_name[0] != '.' &&
	       (entry->d_type == kind || entry->d_type == DT_LNK || entry->d_type == DT_UNKNOWN);
}

bool
nearest_path_more(const char *path, unsigned char kind, struct failure *f)
{
	const char *slash = strrchr(path, '/');
	size_t folder_n = slash == NULL ? 0 : (size_t)(slash + 1 - path);
	char *folder = folder_n == 0 ? strdup(".") : strndup(path, folder_n);
	struct dirent **entry = NULL;
	int n = folder == NULL ? -1 : scandir(folder, &entry, NULL, alphasort);
	struct nearest near;

	nearest_init(&near, path + folder_n);
	for (int i = 0; i < n; i++)
		if (may_be(entry[i], kind))
			nearest_offer(&near, entry[i]->d_name);
	if (near.best != NULL)
		fail_more(f, " (did you mean %.*s%s?)", (int)folder_n, path, near.best);
	while (n > 0)
		free(entry[--n]);
	free(entry);
	free(folder);
	return near.best != NULL;
}
