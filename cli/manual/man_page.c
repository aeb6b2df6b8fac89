#include "cli/manual/man_page.h"

#include <ctype.h>
#include <string.h>

/*
 * Prints n bytes as text: no line of it is taken for a request, no backslash for an escape, and
 * "-" is the dash that people type. "\n\n" begins a paragraph, another line end is a space.
 */
static void
print_text(FILE *to, const char *text, size_t n)
{
	bool begins = true;

	for (size_t i = 0; i < n; i++) {
		if (text[i] == '\n' && i + 1 < n && text[i + 1] == '\n') {
			fputs("\n.PP\n", to);
			begins = true;
			i++;
			continue;
		}
		if (begins && (text[i] == '.' || text[i] == '\''))
			fputs("\\&", to);
		begins = false;
		if (text[i] == '\\')
			fputs("\\e", to);
		else if (text[i] == '-')
			fputs("\\-", to);
		else if (text[i] == '`')
			fputs("\\(ga", to);
		else
			fputc(text[i] == '\n' ? ' ' : text[i], to);
	}
	fputc('\n', to);
}

static void
print_line(FILE *to, const char *text)
{
	print_text(to, text, strlen(text));
}

static void
print_title(FILE *to, const char *name)
{
	fputs(".TH RIFFLE", to);
	if (name != NULL)
		fputs("\\-", to);
	for (; name != NULL && *name != '\0'; name++)
		fputc(toupper((unsigned char)*name), to);
	fprintf(to, " 1 \"\" \"riffle %s\" \"riffle\"\n", RIFFLE_VERSION);
}

/* Every form of the command line, each a line. */
static void
print_synopsis(FILE *to, const struct command *c)
{
	const char *form = c->usage;

	fputs(".SH SYNOPSIS\n.nf\n", to);
	for (;;) {
		size_t n = strcspn(form, "\n");

		fprintf(to, "\\fBriffle %s\\fR ", c->name);
		print_text(to, form, n);
		if (form[n] == '\0')
			break;
		form += n + 1;
	}
	fputs(".fi\n", to);
}

static void
print_option(FILE *to, const struct command *c, const struct option_row *row)
{
	char text[OPTIONS_TEXT_MAX];

	fputs(".TP\n", to);
	if (row->letter != 0)
		fprintf(to, "\\fB\\-%c\\fR, ", row->letter);
	fputs("\\fB", to);
	for (const char *at = row->name; *at != '\0'; at++) {
		if (at == row->name)
			fputs("\\-\\-", to);
		fputs(*at == '-' ? "\\-" : (char[]){*at, '\0'}, to);
	}
	fputs("\\fR", to);
	for (int i = 0; row->kind == OPTION_CHOICE && row->choice[i] != NULL; i++)
		fprintf(to, "%s%s", i == 0 ? " " : "|", row->choice[i]);
	if (row->kind != OPTION_CHOICE && row->kind != OPTION_FLAG)
		fprintf(to, " \\fI%s\\fR", row->value);
	fputc('\n', to);
	options_row_text(text, c, row);
	print_line(to, text);
}

static void
print_facts(FILE *to, const char *title, const struct command_fact *fact)
{
	fprintf(to, ".SH %s\n", title);
	for (; fact->name != NULL; fact++) {
		fprintf(to, ".TP\n.B %s\n", fact->name);
		print_line(to, fact->text);
	}
}

static void
print_command(FILE *to, const struct command *c)
{
	const struct option_row *row[OPTIONS_MAX];
	size_t n = options_rows(c, row);

	print_title(to, c->name);
	fprintf(to, ".SH NAME\nriffle\\-%s \\- ", c->name);
	print_line(to, c->summary);
	print_synopsis(to, c);
	fputs(".SH DESCRIPTION\n", to);
	print_line(to, c->help != NULL ? c->help : c->summary);
	fputs(".SH OPTIONS\n", to);
	for (size_t i = 0; i < n; i++)
		if (row[i]->help != NULL)
			print_option(to, c, row[i]);
	fputs(".SH EXAMPLES\n.nf\n", to);
	for (const char *line = c->example; line != NULL;) {
		size_t length = strcspn(line, "\n");

		print_text(to, line, length);
		line = line[length] == '\0' || line[length + 1] == '\0' ? NULL : line + length + 1;
	}
	fputs(".fi\n.SH SEE ALSO\n.BR riffle (1)\n", to);
}

static void
print_all(FILE *to)
{
	print_title(to, NULL);
	fputs(".SH NAME\nriffle \\- mixes tokenised training data from many sources, by weight, "
	      "over Kafka\n"
	      ".SH SYNOPSIS\n\\fBriffle\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR...]\n"
	      ".SH COMMANDS\nEach has a page of its own.\n",
	    to);
	for (const struct command *const *c = command_all; *c != NULL; c++) {
		fprintf(to, ".TP\n.BR riffle\\-%s (1)\n", (*c)->name);
		print_line(to, (*c)->summary);
	}
	print_facts(to, "ENVIRONMENT", command_environment);
	print_facts(to, "EXIT STATUS", command_exits);
}

void
man_page_print(const struct command *c, FILE *to)
{
	if (c == NULL)
		print_all(to);
	else
		print_command(to, c);
}
