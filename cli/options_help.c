#include <inttypes.h>
#include <string.h>

#include "cli/command.h"
#include "cli/options.h"
#include "common/base/scalar.h"

enum {
	WIDTH = 88,         /* of a line, in columns */
	INDENT = 26,        /* where the help of an option begins */
	BOUND_MAX = 100000, /* larger bounds are no news to a reader */
	HEAD_MAX = 512,
	TEXT_MAX = 2048,
};

/* Prints words from column `used` on, broken at WIDTH; "\n" in the text stays a break. */
static void
print_wrapped(FILE *to, const char *text, int used, int indent)
{
	int column = used;

	while (*text != '\0') {
		int n = (int)strcspn(text, " \n");

		if (column > indent && column + 1 + n > WIDTH) {
			fprintf(to, "\n%*s", indent, "");
			column = indent;
		}
		if (column > indent && n > 0) {
			fputc(' ', to);
			column++;
		}
		fprintf(to, "%.*s", n, text);
		column += n;
		text += n;
		if (*text == '\n') {
			fprintf(to, "\n%*s", text[1] == '\n' ? 0 : indent, "");
			column = indent;
		}
		text += *text != '\0';
	}
	fputc('\n', to);
}

/* "  -c, --config FILE"; a choice shows what there is to choose from. */
static int
print_head(FILE *to, const struct option_row *row)
{
	char head[HEAD_MAX];
	size_t used;

	used = (size_t)snprintf(head, sizeof(head), "  %c%c%s --%s", row->letter ? '-' : ' ',
	    row->letter ? row->letter : ' ', row->letter ? "," : " ", row->name);
	if (row->kind == OPTION_CHOICE)
		for (int i = 0; row->choice[i] != NULL && used < sizeof(head); i++)
			used += (size_t)snprintf(head + used, sizeof(head) - used, "%c%s",
			    i == 0 ? ' ' : '|', row->choice[i]);
	else if (row->kind != OPTION_FLAG)
		snprintf(head + used, sizeof(head) - used, " %s", row->value);
	return fprintf(to, "%s", head);
}

/* What an option takes, where its range says something: " (1 to 4096)". */
static void
bounds_text(char *out, size_t room, const struct option_row *row)
{
	char low[SCALAR_SIZE_TEXT_MAX], high[SCALAR_SIZE_TEXT_MAX];

	out[0] = '\0';
	if (row->max == 0)
		return;
	if (row->kind == OPTION_SIZE) {
		scalar_size_text(low, row->min);
		scalar_size_text(high, row->max);
		snprintf(out, room, " (%s to %s)", low, high);
	} else if (row->max <= BOUND_MAX &&
		   (row->kind == OPTION_COUNT32 || row->kind == OPTION_COUNT ||
		       row->kind == OPTION_NUMBER)) {
		snprintf(out, room, " (%" PRIu64 " to %" PRIu64 ")", row->min, row->max);
	}
}

static void
print_option(FILE *to, const struct option_row *row)
{
	char text[TEXT_MAX], bounds[80];
	int used = print_head(to, row);

	if (used > INDENT - 2) {
		fputc('\n', to);
		used = 0;
	}
	fprintf(to, "%*s", INDENT - used, "");
	bounds_text(bounds, sizeof(bounds), row);
	snprintf(text, sizeof(text), "%s%s", row->help, bounds);
	print_wrapped(to, text, INDENT, INDENT);
}

void
options_print_help(const struct command *c, FILE *to)
{
	const struct option_row *row[OPTIONS_MAX];
	size_t n = options_rows(c, row);

	fprintf(to, "usage: riffle %s %s\n\n", c->name, c->usage);
	print_wrapped(to, c->summary, 0, 0);
	if (c->help != NULL) {
		fputc('\n', to);
		print_wrapped(to, c->help, 0, 0);
	}
	fputs("\noptions:\n", to);
	for (size_t i = 0; i < n; i++)
		print_option(to, row[i]);
	fputs("\nexample:\n", to);
	for (const char *line = c->example; line != NULL;) {
		fprintf(to, "  %.*s\n", (int)strcspn(line, "\n"), line);
		line = strchr(line, '\n');
		line = line == NULL || line[1] == '\0' ? NULL : line + 1;
	}
}
