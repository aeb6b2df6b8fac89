/* riffle NAME --help, from the command's own rows. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/options.h"
#include "common/base/scalar.h"

enum {
	WIDTH = 79,         /* of a line, in columns: a terminal of 80 breaks none */
	INDENT = 26,        /* where the help of an option begins */
	BOUND_MAX = 100000, /* a larger limit tells a reader nothing */
	HEAD_MAX = 512,
};

/* Prints words from column `used` on, in lines of WIDTH; "\n\n" in the text: an empty line. */
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
		if (strncmp(text, "\n\n", 2) == 0) {
			fprintf(to, "\n\n%*s", indent, "");
			column = indent;
			text++;
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

/* What an option takes, where its range says something: "1 to 4096"; else "". */
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
		snprintf(out, room, "%s to %s", low, high);
	} else if (row->max <= BOUND_MAX &&
		   (row->kind == OPTION_COUNT32 || row->kind == OPTION_COUNT ||
		       row->kind == OPTION_NUMBER)) {
		snprintf(out, room, "%" PRIu64 " to %" PRIu64, row->min, row->max);
	}
}

/*
 * What holds without the option; "" where that is nothing to speak of. A number of 0 stands for one
 * that is not given: a default of 0 is for the row's `without`.
 */
static void
default_text(char *out, size_t room, const struct option_row *row, const void *defaults)
{
	const void *at = defaults == NULL ? NULL : (const char *)defaults + row->at;
	uint64_t count = 0;

	out[0] = '\0';
	if (row->without != NULL)
		snprintf(out, room, "%s", row->without);
	if (row->without != NULL || at == NULL)
		return;
	switch (row->kind) {
	case OPTION_TEXT:
		if (*(const char *const *)at != NULL)
			snprintf(out, room, "%s", *(const char *const *)at);
		return;
	case OPTION_COUNT32: count = *(const uint32_t *)at; break;
	case OPTION_COUNT: count = *(const uint64_t *)at; break;
	case OPTION_SIZE:
		if (*(const uint64_t *)at != 0)
			scalar_size_text(out, *(const uint64_t *)at);
		return;
	case OPTION_NUMBER:
		if (*(const double *)at != 0)
			snprintf(out, room, "%g", *(const double *)at);
		return;
	case OPTION_CHOICE: snprintf(out, room, "%s", row->choice[*(const int *)at]); return;
	case OPTION_FLAG:
	case OPTION_RANGE:
	case OPTION_PART:
	case OPTION_LIST: return;
	}
	if (count != 0)
		snprintf(out, room, "%" PRIu64, count);
}

void
options_row_text(
    char out[static OPTIONS_TEXT_MAX], const struct command *c, const struct option_row *row)
{
	bool own = row >= c->option && row < c->option + c->options_n;
	char bounds[80], without[HEAD_MAX];

	bounds_text(bounds, sizeof(bounds), row);
	default_text(without, sizeof(without), row, own ? c->defaults : NULL);
	snprintf(out, OPTIONS_TEXT_MAX, "%s%s%s%s%s%s%s", row->help,
	    *bounds == '\0' && *without == '\0' ? "" : " (", bounds,
	    *bounds != '\0' && *without != '\0' ? "; " : "",
	    *without == '\0' ? "" : "default: ", without,
	    *bounds == '\0' && *without == '\0' ? "" : ")");
}

static void
print_option(FILE *to, const struct command *c, const struct option_row *row)
{
	char text[OPTIONS_TEXT_MAX];
	int used = print_head(to, row);

	if (used > INDENT - 2) {
		fputc('\n', to);
		used = 0;
	}
	fprintf(to, "%*s", INDENT - used, "");
	options_row_text(text, c, row);
	print_wrapped(to, text, INDENT, INDENT);
}

/* "usage: riffle NAME ...", each form on lines of its own. */
static void
print_usage(FILE *to, const struct command *c)
{
	int used = fprintf(to, "usage: riffle %s ", c->name);
	char form[OPTIONS_TEXT_MAX];

	for (const char *at = c->usage; at != NULL;) {
		size_t n = strcspn(at, "\n");

		snprintf(form, sizeof(form), "%.*s", (int)n, at);
		print_wrapped(to, form, used, used);
		at = at[n] == '\0' ? NULL : at + n + 1;
		if (at != NULL)
			used = fprintf(to, "       riffle %s ", c->name);
	}
	fputc('\n', to);
}

void
options_print_help(const struct command *c, FILE *to)
{
	const struct option_row *row[OPTIONS_MAX];
	size_t n = options_rows(c, row);

	print_usage(to, c);
	print_wrapped(to, c->summary, 0, 0);
	if (c->help != NULL) {
		fputc('\n', to);
		print_wrapped(to, c->help, 0, 0);
	}
	fputs("\noptions:\n", to);
	for (size_t i = 0; i < n; i++)
		if (row[i]->help != NULL)
			print_option(to, c, row[i]);
	fputs("\nexample:\n", to);
	for (const char *line = c->example; line != NULL;) {
		fprintf(to, "  %.*s\n", (int)strcspn(line, "\n"), line);
		line = strchr(line, '\n');
		line = line == NULL || line[1] == '\0' ? NULL : line + 1;
	}
}
