/*
 * man_page.h and completion.h: pages and scripts of two commands of the test's own, compared as a
 * whole. The list of commands that they ask for is defined here.
 */
#include "cli/manual/completion.h"
#include "cli/manual/man_page.h"

#include "tests/unit/printed.h"

static const char *const forms[] = {"one", "two", NULL};

static const struct option_row rows[] = {
    {.name = "flag", .letter = 'f', .kind = OPTION_FLAG, .help = "a [flag]: it's \\ on"},
    {.name = "in-file", .letter = 'i', .kind = OPTION_TEXT, .value = "FILE", .help = ".a file"},
    {.name = "out", .kind = OPTION_TEXT, .value = "PREFIX", .help = "'a prefix"},
    {.name = "rank",
	.letter = 'r',
	.kind = OPTION_COUNT32,
	.min = 1,
	.max = 7,
	.value = "R",
	.help = "a rank\nof `two` lines"},
    {.name = "form", .letter = 'o', .kind = OPTION_CHOICE, .choice = forms, .help = "a choice"},
    {.name = "kind",
	.kind = OPTION_CHOICE,
	.choice = forms,
	.help = "60 bytes of help are shown beside an option, and this one has 61"},
    {.name = "older", .kind = OPTION_TEXT, .value = "FILE"},
};

static const struct command cmd_try = {
    .name = "try",
    .summary = "tries what's there: all of it",
    .usage = "-f | --rank R\n--form FORM",
    .help = "A paragraph.\n\n.Another one\nof two lines; '.' is one sign",
    .example = "riffle try -f\nriffle try --form one",
    .option = rows,
    .options_n = sizeof(rows) / sizeof(rows[0]),
};
static const struct command cmd_bare = {
    .name = "bare",
    .summary = "has no options",
    .usage = "FILE",
    .example = "riffle bare x\n",
};

const struct command *const command_all[] = {&cmd_try, &cmd_bare, NULL};
const struct command_fact command_environment[] = {{"A_B", "a variable"}, {NULL, NULL}};
const struct command_fact command_exits[] = {{"0", "done"}, {"1", "not-done"}, {NULL, NULL}};

/* The pages begin with the version, which is not compared. */
static void
page_is(const struct command *c, const char *title, const char *expected)
{
	struct printed p;
	char *line;

	man_page_print(c, printed_begin(&p));
	printed_end(&p);
	line = strchr(p.text, '\n');
	assert_non_null(line);
	assert_memory_equal(p.text, title, strlen(title));
	printed_compare(line + 1, expected);
	free(p.text);
}

static void
test_a_page_has_all_that_the_table_of_the_command_says(void **unused)
{
	(void)unused;
	page_is(&cmd_try, ".TH RIFFLE\\-TRY 1 \"\" \"riffle ",
	    ".SH NAME\n"
	    "riffle\\-try \\- tries what's there: all of it\n"
	    ".SH SYNOPSIS\n"
	    ".nf\n"
	    "\\fBriffle try\\fR \\-f | \\-\\-rank R\n"
	    "\\fBriffle try\\fR \\-\\-form FORM\n"
	    ".fi\n"
	    ".SH DESCRIPTION\n"
	    "A paragraph.\n"
	    ".PP\n"
	    "\\&.Another one of two lines; '.' is one sign\n"
	    ".SH OPTIONS\n"
	    ".TP\n"
	    "\\fB\\-f\\fR, \\fB\\-\\-flag\\fR\n"
	    "a [flag]: it's \\e on\n"
	    ".TP\n"
	    "\\fB\\-i\\fR, \\fB\\-\\-in\\-file\\fR \\fIFILE\\fR\n"
	    "\\&.a file\n"
	    ".TP\n"
	    "\\fB\\-\\-out\\fR \\fIPREFIX\\fR\n"
	    "\\&'a prefix\n"
	    ".TP\n"
	    "\\fB\\-r\\fR, \\fB\\-\\-rank\\fR \\fIR\\fR\n"
	    "a rank of \\(gatwo\\(ga lines (1 to 7)\n"
	    ".TP\n"
	    "\\fB\\-o\\fR, \\fB\\-\\-form\\fR one|two\n"
	    "a choice\n"
	    ".TP\n"
	    "\\fB\\-\\-kind\\fR one|two\n"
	    "60 bytes of help are shown beside an option, and this one has 61\n"
	    ".TP\n"
	    "\\fB\\-v\\fR, \\fB\\-\\-verbose\\fR\n"
	    "log more, to stderr\n"
	    ".TP\n"
	    "\\fB\\-q\\fR, \\fB\\-\\-quiet\\fR\n"
	    "log warnings and errors only\n"
	    ".TP\n"
	    "\\fB\\-\\-log\\fR logfmt|json\n"
	    "how lines of the log look, on stderr: key=value, or a JSON object each (default: "
	    "RIFFLE_LOG, else logfmt)\n"
	    ".TP\n"
	    "\\fB\\-h\\fR, \\fB\\-\\-help\\fR\n"
	    "print this text\n"
	    ".SH EXAMPLES\n"
	    ".nf\n"
	    "riffle try \\-f\n"
	    "riffle try \\-\\-form one\n"
	    ".fi\n"
	    ".SH SEE ALSO\n"
	    ".BR riffle (1)\n");
}

static void
test_a_command_without_options_has_the_common_ones(void **unused)
{
	(void)unused;
	page_is(&cmd_bare, ".TH RIFFLE\\-BARE 1 \"\" \"riffle ",
	    ".SH NAME\n"
	    "riffle\\-bare \\- has no options\n"
	    ".SH SYNOPSIS\n"
	    ".nf\n"
	    "\\fBriffle bare\\fR FILE\n"
	    ".fi\n"
	    ".SH DESCRIPTION\n"
	    "has no options\n"
	    ".SH OPTIONS\n"
	    ".TP\n"
	    "\\fB\\-v\\fR, \\fB\\-\\-verbose\\fR\n"
	    "log more, to stderr\n"
	    ".TP\n"
	    "\\fB\\-q\\fR, \\fB\\-\\-quiet\\fR\n"
	    "log warnings and errors only\n"
	    ".TP\n"
	    "\\fB\\-\\-log\\fR logfmt|json\n"
	    "how lines of the log look, on stderr: key=value, or a JSON object each (default: "
	    "RIFFLE_LOG, else logfmt)\n"
	    ".TP\n"
	    "\\fB\\-h\\fR, \\fB\\-\\-help\\fR\n"
	    "print this text\n"
	    ".SH EXAMPLES\n"
	    ".nf\n"
	    "riffle bare x\n"
	    ".fi\n"
	    ".SH SEE ALSO\n"
	    ".BR riffle (1)\n");
}

static void
test_the_page_of_all_lists_commands_variables_and_exits(void **unused)
{
	(void)unused;
	page_is(NULL, ".TH RIFFLE 1 \"\" \"riffle ",
	    ".SH NAME\n"
	    "riffle \\- mixes tokenised training data from many sources, by weight, over Kafka\n"
	    ".SH SYNOPSIS\n"
	    "\\fBriffle\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR...]\n"
	    ".SH COMMANDS\n"
	    "Each has a page of its own.\n"
	    ".TP\n"
	    ".BR riffle\\-try (1)\n"
	    "tries what's there: all of it\n"
	    ".TP\n"
	    ".BR riffle\\-bare (1)\n"
	    "has no options\n"
	    ".SH ENVIRONMENT\n"
	    ".TP\n"
	    ".B A_B\n"
	    "a variable\n"
	    ".SH EXIT STATUS\n"
	    ".TP\n"
	    ".B 0\n"
	    "done\n"
	    ".TP\n"
	    ".B 1\n"
	    "not\\-done\n");
}

static void
test_each_shell_completes_commands_options_and_values(void **unused)
{
	struct printed p;

	(void)unused;
	completion_bash(printed_begin(&p));
	printed_is(&p,
	    "# bash completion of riffle: `riffle completion bash` wrote it.\n"
	    "_riffle() {\n"
	    "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words=\n"
	    "\tCOMPREPLY=()\n"
	    "\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n"
	    "\t\tcompopt +o default\n"
	    "\t\tCOMPREPLY=($(compgen -W 'try bare help --help --version' -- \"$cur\"))\n"
	    "\t\treturn\n"
	    "\tfi\n"
	    "\tcase ${COMP_WORDS[1]}:$prev in\n"
	    "\ttry:--in-file | try:-i) return ;;\n"
	    "\ttry:--out) return ;;\n"
	    "\ttry:--rank | try:-r) compopt +o default; return ;;\n"
	    "\ttry:--form | try:-o) words='one two' ;;\n"
	    "\ttry:--kind) words='one two' ;;\n"
	    "\ttry:--log) words='logfmt json' ;;\n"
	    "\tbare:--log) words='logfmt json' ;;\n"
	    "\tesac\n"
	    "\tif [ -z \"$words\" ]; then\n"
	    "\t\tcase ${COMP_WORDS[1]}:$cur in\n"
	    "\t\thelp:*) compopt +o default; words='--man try bare' ;;\n"
	    "\t\ttry:-*) words='--flag --in-file --out --rank --form --kind --verbose --quiet "
	    "--log --help' ;;\n"
	    "\t\tbare:-*) words='--verbose --quiet --log --help' ;;\n"
	    "\t\tesac\n"
	    "\tfi\n"
	    "\t[ -z \"$words\" ] || COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
	    "}\n"
	    "complete -o default -F _riffle riffle\n");
	completion_zsh(printed_begin(&p));
	printed_is(&p,
	    "#compdef riffle\n"
	    "# zsh completion of riffle: `riffle completion zsh` wrote it.\n"
	    "_riffle() {\n"
	    "\tlocal -a commands\n"
	    "\tcommands=(\n"
	    "\t\t'try:tries what'\\''s there\\: all of it'\n"
	    "\t\t'bare:has no options'\n"
	    "\t)\n"
	    "\tif (( CURRENT == 2 )); then\n"
	    "\t\t_describe command commands\n"
	    "\t\treturn\n"
	    "\tfi\n"
	    "\tlocal command=$words[2]\n"
	    "\tshift words\n"
	    "\t(( CURRENT-- ))\n"
	    "\tcase $command in\n"
	    "\thelp) _describe command commands ;;\n"
	    "\ttry) _arguments -S '(-f --flag)'{-f,--flag}'[a \\[flag\\]\\: it'\\''s \\\\ on]' "
	    "'(-i --in-file)'{-i,--in-file}'[.a file]:in-file:_files' '--out['\\''a "
	    "prefix]:out:_files' '(-r --rank)'{-r,--rank}'[a rank]:rank: ' '(-o "
	    "--form)'{-o,--form}'[a choice]:form:(one two)' '--kind[60 bytes of help are shown "
	    "beside an option, and this one ha]:kind:(one two)' '(-v "
	    "--verbose)'{-v,--verbose}'[log more, to stderr]' '(-q --quiet)'{-q,--quiet}'[log "
	    "warnings and errors only]' '--log[how lines of the log look, on stderr\\: key=value, "
	    "or a JSON o]:log:(logfmt json)' '(-h --help)'{-h,--help}'[print this text]' "
	    "'*:file:_files' ;;\n"
	    "\tbare) _arguments -S '(-v --verbose)'{-v,--verbose}'[log more, to stderr]' '(-q "
	    "--quiet)'{-q,--quiet}'[log warnings and errors only]' '--log[how lines of the log "
	    "look, on stderr\\: key=value, or a JSON o]:log:(logfmt json)' '(-h "
	    "--help)'{-h,--help}'[print this text]' '*:file:_files' ;;\n"
	    "\tesac\n"
	    "}\n"
	    "if [ \"$funcstack[1]\" = _riffle ]; then\n"
	    "\t_riffle \"$@\"\n"
	    "else\n"
	    "\tcompdef _riffle riffle\n"
	    "fi\n");
	completion_fish(printed_begin(&p));
	printed_is(&p,
	    "# fish completion of riffle: `riffle completion fish` wrote it.\n"
	    "complete -c riffle -n __fish_use_subcommand -f\n"
	    "complete -c riffle -n __fish_use_subcommand -a help -d 'show the options of a "
	    "command'\n"
	    "complete -c riffle -n __fish_use_subcommand -a try -d 'tries what\\'s there: all of "
	    "it'\n"
	    "complete -c riffle -n '__fish_seen_subcommand_from try' -l flag -s f -d 'a [flag]: "
	    "it\\'s \\\\ on'\n"
	    "complete -c riffle -n '__fish_seen_subcommand_from try' -l in-file -s i -r -F -d '.a "
	    "file'\n"
	    "complete -c riffle -n '__fish_seen_subcommand_from try' -l out -r -F -d '\\'a "
	    "prefix'\n"
	    "complete -c riffle -n '__fish_seen_subcommand_from try' -l rank -s r -x -d 'a rank'\n"
	    "complete -c riffle -n '__fish_seen_subcommand_from try' -l form -s o -x -a 'one two' "
	    "-d 'a choice'\n"
	    "complete -c riffle -n '__fish_seen_subcommand_from try' -l kind -x -a 'one two' -d "
	    "'60 bytes of help are shown beside an option, and this one ha'\n"
	    "complete -c riffle -n '__fish_seen_subcommand_from try' -l verbose -s v -d 'log more, "
	    "to stderr'\n"
	    "complete -c riffle -n '__fish_seen_subcommand_from try' -l quiet -s q -d 'log "
	    "warnings and errors only'\n"
	    "complete -c riffle -n '__fish_seen_subcommand_from try' -l log -x -a 'logfmt json' -d "
	    "'how lines of the log look, on stderr: key=value, or a JSON o'\n"
	    "complete -c riffle -n '__fish_seen_subcommand_from try' -l help -s h -d 'print this "
	    "text'\n"
	    "complete -c riffle -n __fish_use_subcommand -a bare -d 'has no options'\n"
	    "complete -c riffle -n '__fish_seen_subcommand_from bare' -l verbose -s v -d 'log "
	    "more, to stderr'\n"
	    "complete -c riffle -n '__fish_seen_subcommand_from bare' -l quiet -s q -d 'log "
	    "warnings and errors only'\n"
	    "complete -c riffle -n '__fish_seen_subcommand_from bare' -l log -x -a 'logfmt json' "
	    "-d 'how lines of the log look, on stderr: key=value, or a JSON o'\n"
	    "complete -c riffle -n '__fish_seen_subcommand_from bare' -l help -s h -d 'print this "
	    "text'\n");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_page_has_all_that_the_table_of_the_command_says),
	    cmocka_unit_test(test_a_command_without_options_has_the_common_ones),
	    cmocka_unit_test(test_the_page_of_all_lists_commands_variables_and_exits),
	    cmocka_unit_test(test_each_shell_completes_commands_options_and_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
