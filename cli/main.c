/* riffle: picks the command, prints what failed, ends with the right code. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/hints.h"
#include "cli/manual/man_page.h"
#include "cli/version.h"
#include "common/base/log.h"
#include "common/base/nearest.h"
#include "common/base/text.h"
#include "common/terminal/terminal.h"

static void
print_facts(FILE *to, const char *title, const struct command_fact *fact)
{
	fprintf(to, "\n%s:\n", title);
	for (; fact->name != NULL; fact++)
		fprintf(to, "  %-16s  %s\n", fact->name, fact->text);
}

static void
print_help(FILE *to)
{
	fputs("usage: riffle COMMAND [OPTION...]\n\n"
	      "Mixes tokenised training data from many sources, by weight, over Kafka.\n\n"
	      "commands:\n",
	    to);
	for (const struct command *const *c = command_all; *c != NULL; c++)
		fprintf(to, "  %-10s %s\n", (*c)->name, (*c)->summary);
	fputs("\n"
	      "`riffle COMMAND --help` or `riffle help COMMAND` shows the options of a command, "
	      "with an\n"
	      "example; `riffle help --man [COMMAND]` is its manual page. `riffle --version` or\n"
	      "`riffle -V` shows the version, and that of librdkafka; with --verbose also build,\n"
	      "libraries and features, and the cluster if -c FILE or RIFFLE_BOOTSTRAP names one.\n",
	    to);
	print_facts(to, "environment", command_environment);
	print_facts(to, "exit codes", command_exits);
}

static enum fail_code
fail_unknown(const char *name, struct failure *f)
{
	const char *kind = *name == '-' ? "option" : "command";
	struct nearest near;

	nearest_init(&near, name);
	for (const struct command *const *c = command_all; *c != NULL; c++)
		nearest_offer(&near, (*c)->name);
	nearest_offer(&near, "help");
	nearest_offer(&near, "--help");
	nearest_offer(&near, "--version");
	if (strchr(name, '.') != NULL && access(name, F_OK) == 0)
		return fail(f, FAIL_USAGE,
		    "%s is a file: the command comes first, as in riffle mix -c %s", name, name);
	if (near.best != NULL)
		return fail(f, FAIL_USAGE, "unknown %s %s (did you mean %s?); see riffle --help",
		    kind, name, near.best);
	return fail(f, FAIL_USAGE, "unknown %s %s; see riffle --help", kind, name);
}

/* An option that stands before its command, as many programs have it. */
static enum fail_code
fail_option(int argc, char **argv, struct failure *f)
{
	for (int i = 2; i < argc; i++)
		if (command_find(argv[i]) != NULL)
			return fail(f, FAIL_USAGE,
			    "unknown option %s: options follow the command: riffle %s %s ...",
			    argv[1], argv[i], argv[1]);
	return fail_unknown(argv[1], f);
}

/* `riffle help [--man] [COMMAND]`. */
static enum fail_code
help(int argc, char **argv, struct failure *f)
{
	bool man = argc > 1 && strcmp(argv[1], "--man") == 0;
	const struct command *c = NULL;
	int named = man ? 2 : 1;

	if (argc > named + 1)
		return fail(f, FAIL_USAGE,
		    "unexpected argument: %s (usage: riffle help [--man] [COMMAND])",
		    argv[named + 1]);
	if (argc > named && (c = command_find(argv[named])) == NULL)
		return fail_unknown(argv[named], f);
	if (man)
		man_page_print(c, stdout);
	else if (c != NULL)
		options_print_help(c, stdout);
	else
		print_help(stdout);
	return FAIL_NONE;
}

static enum fail_code
run_command(const struct command *c, int argc, char **argv, struct failure *f)
{
	if (options_help_wanted(c, argc, argv)) {
		options_print_help(c, stdout);
		return FAIL_NONE;
	}
	if (options_set_log(c, argc, argv, f) != FAIL_NONE)
		return f->code;
	return c->run(argc, argv, f);
}

/* A full disk or a closed pipe behind stdout must not pass for success. */
static enum fail_code
flush_output(enum fail_code code, struct failure *f)
{
	errno = 0;
	if (fflush(stdout) == 0 && !ferror(stdout))
		return code;
	if (code != FAIL_NONE && code != FAIL_STOPPED)
		return code;
	return errno != 0 ? fail_errno(f, FAIL_IO, "writing to standard output")
			  : fail(f, FAIL_IO, "writing to standard output failed");
}

/* As a line of the log that is JSON. */
static void
finish_json(const struct command *c, enum fail_code code, const struct failure *f)
{
	const char *name = c == NULL ? "riffle" : c->name;

	if (code == FAIL_STOPPED)
		log_info("%s: %s", name, f->text);
	else if (code == FAIL_USAGE && c != NULL)
		log_error("%s: %s; see riffle %s --help", name, f->text, name);
	else if (code != FAIL_NONE)
		log_error("%s: %s", name, f->text);
}

static int
finish(const struct command *c, enum fail_code code, struct failure *f)
{
	const char *name = c == NULL ? "" : c->name, *space = c == NULL ? "" : " ";
	bool colours = terminal_colours(STDERR_FILENO);
	const char *red = colours ? TERMINAL_RED : "", *plain = colours ? TERMINAL_PLAIN : "";
	char text[HINTS_TEXT_MAX], shown[sizeof(text) * TEXT_SHOWN_FACTOR];

	if (code == FAIL_BROKER || code == FAIL_TIMEOUT || code == FAIL_IO)
		fail_files(f);
	hints_say(text, sizeof(text), code == FAIL_NONE ? "" : f->text);
	text_show(shown, sizeof(shown), TEXT_LINE, text, strlen(text));
	if (log_form() == LOG_JSON)
		finish_json(c, code, f);
	else if (code == FAIL_STOPPED)
		log_info("%s: %s", name, f->text);
	else if (code == FAIL_USAGE && c != NULL)
		fprintf(stderr, "%sriffle %s:%s %s; see riffle %s --help\n", red, name, plain,
		    shown, name);
	else if (code != FAIL_NONE)
		fprintf(stderr, "%sriffle%s%s:%s %s\n", red, space, name, plain, shown);
	return fail_exit(code);
}

static bool
takes_config(const char *name)
{
	const struct command *c = command_find(name);

	return c != NULL && (c->common & OPTIONS_CONFIG) != 0;
}

int
main(int argc, char **argv)
{
	struct failure f = {0}, ignored; /* run_command() says what is wrong with RIFFLE_LOG */
	const struct command *c = NULL;
	enum fail_code code = FAIL_NONE;

	/* A file at its limit is an error of the write, with a sentence, not a signal. */
	signal(SIGXFSZ, SIG_IGN);
	log_set_colours(terminal_colours(STDERR_FILENO));
	hints_set_takes(takes_config);
	(void)options_set_log(NULL, argc, argv, &ignored);
	if (argc < 2) {
		print_help(stderr);
		return fail_exit(FAIL_USAGE);
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		print_help(stdout);
	else if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)
		code = version_print(argc - 1, argv + 1, &f);
	else if (strcmp(argv[1], "help") == 0)
		code = help(argc - 1, argv + 1, &f);
	else if (argv[1][0] == '-')
		code = fail_option(argc, argv, &f);
	else if ((c = command_find(argv[1])) == NULL)
		code = fail_unknown(argv[1], &f);
	else
		code = run_command(c, argc - 1, argv + 1, &f);
	return finish(c, flush_output(code, &f), &f);
}
