#include "cli/hints.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/base/log.h"

#define HINT "`riffle "
enum { HINT_N = sizeof(HINT) - 1, COMMAND_NAME_MAX = 32 };

#define PLAIN                                                                                      \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"                           \
	"_./,:=@%+-"

static bool (*takes_config_now)(const char *command);
static char named_now[HINTS_NAMED_MAX];

/* A text that grows in a buffer; what does not fit is dropped. */
struct line {
	char *out;
	size_t room, used;
	bool cut;
};

static void
put(struct line *l, const char *bytes, size_t n)
{
	size_t left = l->room - 1 - l->used;

	l->cut |= n > left;
	n = n > left ? left : n;
	memcpy(l->out + l->used, bytes, n);
	l->used += n;
	l->out[l->used] = '\0';
}

/* A word of a shell's command line. */
static void
put_word(struct line *l, const char *word)
{
	size_t n = strlen(word);

	if (n > 0 && strspn(word, PLAIN) == n) {
		put(l, word, n);
		return;
	}
	put(l, "'", 1);
	for (; *word != '\0'; word++)
		put(l, *word == '\'' ? "'\\''" : word, *word == '\'' ? 4 : 1);
	put(l, "'", 1);
}

const char *
hints_named(
    char out[static HINTS_NAMED_MAX], const char *path, const char *const *overrides, size_t n)
{
	struct line l = {.out = out, .room = HINTS_NAMED_MAX};

	put(&l, " -c ", 4);
	put_word(&l, path);
	for (size_t i = 0; i < n; i++)
		if (strncmp(overrides[i], "kafka.", 6) != 0) {
			put(&l, " -s ", 4);
			put_word(&l, overrides[i]);
		}
	if (l.cut)
		out[0] = '\0';
	return out;
}

static bool
holds(const char *text, size_t n, const char *part)
{
	const char *at = strstr(text, part);

	return at != NULL && at + strlen(part) <= text + n;
}

/* `hint` begins with the command's name and has n bytes up to its end; the name has name_n. */
static bool
lacks_config(const char *hint, size_t n, size_t name_n)
{
	char name[COMMAND_NAME_MAX];

	if (name_n >= sizeof(name))
		return false;
	memcpy(name, hint, name_n);
	name[name_n] = '\0';
	if (takes_config_now == NULL || !takes_config_now(name) || holds(hint, n, " -c "))
		return false;
	/* The other forms of this command only print, and read no configuration. */
	return strcmp(name, "config") != 0 || holds(hint, n, " --check");
}

void
hints_complete(char *out, size_t room, const char *text, const char *named)
{
	struct line l = {.out = out, .room = room};
	const char *hint, *end;

	assert(room > 0);
	*out = '\0';
	while ((hint = strstr(text, HINT)) != NULL && (end = strchr(hint + HINT_N, '`')) != NULL) {
		size_t n = (size_t)(end - hint) - HINT_N;
		size_t name_n = strspn(hint + HINT_N, "abcdefghijklmnopqrstuvwxyz");

		put(&l, text, (size_t)(hint + HINT_N + name_n - text));
		if (lacks_config(hint + HINT_N, n, name_n))
			put(&l, named, strlen(named));
		text = hint + HINT_N + name_n;
		put(&l, text, (size_t)(end + 1 - text));
		text = end + 1;
	}
	put(&l, text, strlen(text));
}

void
hints_say(char *out, size_t room, const char *text)
{
	hints_complete(out, room, text, named_now);
}

void
hints_set_takes(bool (*takes_config)(const char *command))
{
	takes_config_now = takes_config;
}

void
hints_set(const char *path, const char *const *overrides, size_t n)
{
	hints_named(named_now, path, overrides, n);
	log_set_hints(hints_say);
}
