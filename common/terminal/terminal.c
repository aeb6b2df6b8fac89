#include "common/terminal/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { COLUMNS_USUAL = 80, PRINT_BYTES = 4096 };

int
terminal_columns(void)
{
	struct winsize size;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
		return COLUMNS_USUAL;
	return size.ws_col;
}

bool
terminal_colours(int fd)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	if (no_color != NULL && *no_color != '\0')
		return false;
	return term != NULL && *term != '\0' && strcmp(term, "dumb") != 0 && isatty(fd) == 1;
}

void
terminal_print(FILE *to, enum text_form form, const char *text, size_t n)
{
	char part[PRINT_BYTES];

	for (size_t at = 0; at < n;) {
		at += text_show(part, sizeof(part), form, text + at, n - at);
		fputs(part, to);
	}
}
