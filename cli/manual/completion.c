#include "cli/manual/completion.h"

#include <string.h>

#include "cli/command.h"

enum { SUMMARY_MAX = 60 }; /* bytes of an option's help beside it */

/* The options of a command that its help shows. */
struct shown {
	const struct option_row *row[OPTIONS_MAX];
	size_t n;
};

static struct shown
shown_of(const struct command *c)
{
	struct shown s = {.n = 0};
	size_t n = options_rows(c, s.row);

	for (size_t i = 0; i < n; i++)
		if (s.row[i]->help != NULL)
			s.row[s.n++] = s.row[i];
	return s;
}

/* Whether the value is the path of a file or folder, as far as its name in the help tells. */
static bool
takes_path(const struct option_row *row)
{
	return row->value != NULL &&
	       (strncmp(row->value, "FILE", 4) == 0 || strcmp(row->value, "PREFIX") == 0);
}

static void
print_choices(FILE *to, const struct option_row *row)
{
	for (int i = 0; row->choice[i] != NULL; i++)
		fprintf(to, "%s%s", i == 0 ? "" : " ", row->choice[i]);
}

/*
 * The beginning of a text inside '...': what ends there, or means something to the shell, is
 * written with `escape` in front of it; "'" as `quote`.
 */
static void
print_quoted(FILE *to, const char *text, const char *escape, const char *quote)
{
	for (int i = 0; text[i] != '\0' && text[i] != '\n' && i < SUMMARY_MAX; i++) {
		if (text[i] == '\'')
			fputs(quote, to);
		else if (strchr(escape, text[i]) != NULL)
			fprintf(to, "\\%c", text[i]);
		else
			fputc(text[i], to);
	}
}

/* ---- bash ---- */

static void
bash_values(FILE *to, const struct command *c)
{
	struct shown s = shown_of(c);

	for (size_t i = 0; i < s.n; i++) {
		const struct option_row *row = s.row[i];

		if (row->kind == OPTION_FLAG || takes_path(row))
			continue;
		fprintf(to, "\t%s:--%s", c->name, row->name);
		if (row->letter != 0)
			fprintf(to, " | %s:-%c", c->name, row->letter);
		fputs(") ", to);
		if (row->kind == OPTION_CHOICE) {
			fputs("words='", to);
			print_choices(to, row);
			fputs("' ;;\n", to);
		} else {
			fputs("compopt +o default; return ;;\n", to);
		}
	}
}

static void
bash_paths(FILE *to, const struct command *c)
{
	struct shown s = shown_of(c);

	for (size_t i = 0; i < s.n; i++) {
		if (!takes_path(s.row[i]))
			continue;
		fprintf(to, "\t%s:--%s", c->name, s.row[i]->name);
		if (s.row[i]->letter != 0)
			fprintf(to, " | %s:-%c", c->name, s.row[i]->letter);
		fputs(") return ;;\n", to);
	}
}

/* An empty answer leaves the word to readline, which completes paths. */
void
completion_bash(FILE *to)
{
	fputs("# bash completion of riffle: `riffle completion bash` wrote it.\n"
	      "_riffle() {\n"
	      "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words=\n"
	      "\tCOMPREPLY=()\n"
	      "\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n"
	      "\t\tcompopt +o default\n"
	      "\t\tCOMPREPLY=($(compgen -W '",
	    to);
	for (const struct command *const *c = command_all; *c != NULL; c++)
		fprintf(to, "%s ", (*c)->name);
	fputs("help --help --version' -- \"$cur\"))\n\t\treturn\n\tfi\n"
	      "\tcase ${COMP_WORDS[1]}:$prev in\n",
	    to);
	for (const struct command *const *c = command_all; *c != NULL; c++) {
		bash_paths(to, *c);
		bash_values(to, *c);
	}
	fputs("\tesac\n\tif [ -z \"$words\" ]; then\n\t\tcase ${COMP_WORDS[1]}:$cur in\n", to);
	fputs("\t\thelp:*) compopt +o default; words='--man", to);
	for (const struct command *const *c = command_all; *c != NULL; c++)
		fprintf(to, " %s", (*c)->name);
	fputs("' ;;\n", to);
	for (const struct command *const *c = command_all; *c != NULL; c++) {
		struct shown s = shown_of(*c);

		fprintf(to, "\t\t%s:-*) words='", (*c)->name);
		for (size_t i = 0; i < s.n; i++)
			fprintf(to, "%s--%s", i == 0 ? "" : " ", s.row[i]->name);
		fputs("' ;;\n", to);
	}
	fputs("\t\tesac\n\tfi\n"
	      "\t[ -z \"$words\" ] || COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
	      "}\ncomplete -o default -F _riffle riffle\n",
	    to);
}

/* ---- zsh ---- */

#define ZSH_ESCAPE "[]:\\"
#define ZSH_QUOTE  "'\\''"

static void
zsh_option(FILE *to, const struct option_row *row)
{
	if (row->letter != 0)
		fprintf(to, " '(-%c --%s)'{-%c,--%s}'[", row->letter, row->name, row->letter,
		    row->name);
	else
		fprintf(to, " '--%s[", row->name);
	print_quoted(to, row->help, ZSH_ESCAPE, ZSH_QUOTE);
	fputc(']', to);
	if (row->kind == OPTION_CHOICE) {
		fprintf(to, ":%s:(", row->name);
		print_choices(to, row);
		fputc(')', to);
	} else if (row->kind != OPTION_FLAG) {
		fprintf(to, ":%s:%s", row->name, takes_path(row) ? "_files" : " ");
	}
	fputc('\'', to);
}

/* As `_riffle` in a folder of $fpath, or sourced behind compinit. */
void
completion_zsh(FILE *to)
{
	fputs("#compdef riffle\n# zsh completion of riffle: `riffle completion zsh` wrote it.\n"
	      "_riffle() {\n\tlocal -a commands\n\tcommands=(\n",
	    to);
	for (const struct command *const *c = command_all; *c != NULL; c++) {
		fprintf(to, "\t\t'%s:", (*c)->name);
		print_quoted(to, (*c)->summary, ZSH_ESCAPE, ZSH_QUOTE);
		fputs("'\n", to);
	}
	fputs("\t)\n"
	      "\tif (( CURRENT == 2 )); then\n"
	      "\t\t_describe command commands\n"
	      "\t\treturn\n"
	      "\tfi\n"
	      "\tlocal command=$words[2]\n"
	      "\tshift words\n"
	      "\t(( CURRENT-- ))\n"
	      "\tcase $command in\n"
	      "\thelp) _describe command commands ;;\n",
	    to);
	for (const struct command *const *c = command_all; *c != NULL; c++) {
		struct shown s = shown_of(*c);

		fprintf(to, "\t%s) _arguments -S", (*c)->name);
		for (size_t i = 0; i < s.n; i++)
			zsh_option(to, s.row[i]);
		fputs(" '*:file:_files' ;;\n", to);
	}
	fputs("\tesac\n}\n"
	      "if [ \"$funcstack[1]\" = _riffle ]; then\n"
	      "\t_riffle \"$@\"\n"
	      "else\n"
	      "\tcompdef _riffle riffle\n"
	      "fi\n",
	    to);
}

/* ---- fish ---- */

#define FISH_ESCAPE "\\"
#define FISH_QUOTE  "\\'"

static void
fish_option(FILE *to, const struct command *c, const struct option_row *row)
{
	fprintf(
	    to, "complete -c riffle -n '__fish_seen_subcommand_from %s' -l %s", c->name, row->name);
	if (row->letter != 0)
		fprintf(to, " -s %c", row->letter);
	if (row->kind == OPTION_CHOICE) {
		fputs(" -x -a '", to);
		print_choices(to, row);
		fputc('\'', to);
	} else if (row->kind != OPTION_FLAG) {
		fputs(takes_path(row) ? " -r -F" : " -x", to);
	}
	fputs(" -d '", to);
	print_quoted(to, row->help, FISH_ESCAPE, FISH_QUOTE);
	fputs("'\n", to);
}

void
completion_fish(FILE *to)
{
	fputs("# fish completion of riffle: `riffle completion fish` wrote it.\n"
	      "complete -c riffle -n __fish_use_subcommand -f\n"
	      "complete -c riffle -n __fish_use_subcommand -a help -d 'show the options of a "
	      "command'\n",
	    to);
	for (const struct command *const *c = command_all; *c != NULL; c++) {
		struct shown s = shown_of(*c);

		fprintf(to, "complete -c riffle -n __fish_use_subcommand -a %s -d '", (*c)->name);
		print_quoted(to, (*c)->summary, FISH_ESCAPE, FISH_QUOTE);
		fputs("'\n", to);
		for (size_t i = 0; i < s.n; i++)
			fish_option(to, *c, s.row[i]);
	}
}
