#include "cli/hints.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/text.h"

#define HINT "`riffle "
enum { HINT_N = sizeof(HINT) - 1 };

#define PLAIN                                                                                      \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"                           \
	"_./,:=@%+-"

static bool (*takes_config_now)(const char *command);
static char named_now[HINTS_NAMED_MAX];
static bool file_now; /* named_now has a -c */

/* A word of a shell's command line. */
static void
add_word(struct text *t, const char *word)
{
	if (*word != '\0' && word[strspn(word, PLAIN)] == '\0') {
		text_add(t, "%s", word);
		return;
	}
	text_add(t, "'");
	for (; *word != '\0'; word++)
		text_add(t, "%.*s", *word == '\'' ? 4 : 1, *word == '\'' ? "'\\''" : word);
	text_add(t, "'");
}

/* `hint` has n bytes: what stands between "riffle " and the closing backquote. */
static bool
lacks_config(const char *hint, size_t n)
{
	char name[FAILURE_TEXT_MAX];
	bool named, complete, checks;

	if (n + 2 > sizeof(name) || takes_config_now == NULL)
		return false;
	snprintf(name, sizeof(name), "%.*s ", (int)n, hint);
	named = strstr(name, " -c ") != NULL;
	complete = !file_now && strstr(name, " --mix ") != NULL;
	checks = strstr(name, " --check ") != NULL;
	name[strcspn(name, " ")] = '\0';
	/* The other forms of `riffle config` only print, and read no configuration. */
	return !named && !complete && takes_config_now(name) &&
	       (checks || strcmp(name, "config") != 0);
}

void
hints_say(char *out, size_t room, const char *text)
{
	struct text t = {0};
	const char *hint, *end, *rest = text;

	assert(room > 0);
	while ((hint = strstr(rest, HINT)) != NULL && (end = strchr(hint + HINT_N, '`')) != NULL) {
		bool lacks = lacks_config(hint + HINT_N, (size_t)(end - hint) - HINT_N);
		int n = (int)(hint + HINT_N + strcspn(hint + HINT_N, " `") - rest);

		text_add(&t, "%.*s%s", n, rest, lacks ? named_now : "");
		text_add(&t, "%.*s", (int)(end + 1 - rest) - n, rest + n);
		rest = end + 1;
	}
	text_add(&t, "%s", rest);
	snprintf(out, room, "%s", t.lost || t.n == 0 ? text : t.bytes);
	text_clear(&t);
}

void
hints_set_takes(bool (*takes_config)(const char *command))
{
	takes_config_now = takes_config;
}

void
hints_set(const char *path, const char *const *overrides, size_t n, const char *mix)
{
	struct text t = {0};

	if (path != NULL) {
		text_add(&t, " -c ");
		add_word(&t, path);
	}
	for (size_t i = 0; i < n; i++)
		if (strncmp(overrides[i], "kafka.", 6) != 0) {
			text_add(&t, " -s ");
			add_word(&t, overrides[i]);
		}
	if (mix != NULL) {
		text_add(&t, " -s mix.name=");
		add_word(&t, mix);
	}
	file_now = path != NULL;
	snprintf(named_now, sizeof(named_now), "%s",
	    t.lost || t.n == 0 || t.n >= sizeof(named_now) ? "" : t.bytes);
	text_clear(&t);
	log_set_hints(hints_say);
}
