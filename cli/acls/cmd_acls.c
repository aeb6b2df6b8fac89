/*
 * riffle acls: the rights that a command needs, as lines for kafka-acls.sh or as a table.
 *
 *     $ riffle acls skip --principal User:ops -c run.yml
 *     "$@" --add --allow-principal 'User:ops' --operation Read --topic pretrain.batches --topic ...
 *     "$@" --add --allow-principal 'User:ops' --operation Write --topic pretrain.control
 *
 *     $ riffle acls retain --table -c run.yml
 *     READ	topic	literal	pretrain.batches
 *     DESCRIBE	group	prefixed	pretrain.
 *
 * The lines are a shell script. "$@" is how it is called: kafka-acls.sh and how that reaches the
 * broker, so that no address or password is in what is printed.
 */
#include <assert.h>
#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/acls/acls_rights.h"
#include "cli/command.h"

struct arguments {
	char *principal;
	bool table, remove;
};

#define AT(field) offsetof(struct arguments, field)

/* What --help prints of the options, below the text of cmd_acls. */
static const struct option_row rows[] = {
    {.name = "principal",
	.kind = OPTION_TEXT,
	.at = AT(principal),
	.value = "P",
	.help = "required: who gets the rights, as Kafka names it: User:mixer"},
    {.name = "remove",
	.kind = OPTION_FLAG,
	.at = AT(remove),
	.help = "print the commands that remove the rights"},
    {.name = "table",
	.kind = OPTION_FLAG,
	.at = AT(table),
	.help = "print a line for each right instead: operation, type, pattern, name"},
};

static const char *const kind_text[] = {
    [ACLS_RIGHT_TOPIC] = "topic",
    [ACLS_RIGHT_GROUP] = "group",
    [ACLS_RIGHT_TRANSACTIONAL_ID] = "transactional-id",
    [ACLS_RIGHT_CLUSTER] = "cluster",
};

static void
print_table(const struct acls_right *r, size_t n)
{
	for (size_t i = 0; i < n; i++)
		printf("%s\t%s\t%s\t%s\n", r[i].operation, kind_text[r[i].kind],
		    r[i].prefixed ? "prefixed" : "literal", r[i].name);
}

/* kafka-acls.sh takes many resources in one call, of one kind, operation and pattern type. */
static bool
same_line(const struct acls_right *a, const struct acls_right *b)
{
	return a->kind == b->kind && a->prefixed == b->prefixed &&
	       strcmp(a->operation, b->operation) == 0;
}

/*
 * In single quotes: what Kafka allows in a principal is more than a shell takes as one word. A
 * single quote ends the quoted text, comes escaped, and starts it again: 'O'\''Brien'.
 */
static void
print_quoted(const char *text)
{
	putchar('\'');
	for (; *text != '\0'; text++)
		if (*text == '\'')
			fputs("'\\''", stdout);
		else
			putchar(*text);
	putchar('\'');
}

/* From DESCRIBE_CONFIGS to DescribeConfigs, as kafka-acls.sh wants it. */
static void
print_operation(const char *text)
{
	bool first = true;

	for (; *text != '\0'; text++) {
		if (*text != '_')
			putchar(first ? *text : tolower((unsigned char)*text));
		first = *text == '_';
	}
}

/* Names of topics, groups and ids are of letters, digits and . _ - and need no quotes. */
static void
print_commands(const struct acls_right *r, size_t n, const struct arguments *a)
{
	assert(a->principal != NULL); /* check() */
	for (size_t i = 0; i < n; i++) {
		if (i == 0 || !same_line(&r[i - 1], &r[i])) {
			printf("%s\"$@\" --%s --allow-principal ", i == 0 ? "" : "\n",
			    a->remove ? "remove --force" : "add");
			print_quoted(a->principal);
			printf(" --operation ");
			print_operation(r[i].operation);
			printf(r[i].prefixed ? " --resource-pattern-type prefixed" : "");
		}
		if (r[i].kind == ACLS_RIGHT_CLUSTER)
			printf(" --cluster");
		else
			printf(" --%s %s", kind_text[r[i].kind], r[i].name);
	}
	putchar('\n');
}

/* A control character could hide in a terminal what the printed script does. */
static enum fail_code
check(const struct arguments *a, struct failure *f)
{
	if (a->table)
		return FAIL_NONE;
	if (a->principal == NULL)
		return fail(f, FAIL_USAGE, "for whom? add --principal User:NAME (or --table)");
	for (const char *p = a->principal; *p != '\0'; p++)
		if (iscntrl((unsigned char)*p))
			return fail(f, FAIL_USAGE, "--principal: has a control character in it");
	if (strchr(a->principal, ':') == NULL || a->principal[0] == ':')
		return fail(f, FAIL_USAGE, "--principal: %s has no type (User:%s)", a->principal,
		    a->principal);
	return FAIL_NONE;
}

static enum fail_code
run(int argc, char **argv, struct failure *f)
{
	struct acls_right *right = NULL;
	struct arguments a = {0};
	struct config *c = NULL;
	enum fail_code code;
	struct options o;
	size_t n;

	if (options_parse(&o, &cmd_acls, argc, argv, &a, f) != FAIL_NONE ||
	    check(&a, f) != FAIL_NONE || options_config(&c, &o, f) != FAIL_NONE)
		return f->code;
	code = acls_rights(&right, &n, c, o.argument[0], f);
	if (code == FAIL_NONE && a.table)
		print_table(right, n);
	else if (code == FAIL_NONE)
		print_commands(right, n, &a);
	free(right);
	config_close(c);
	return code;
}

const struct command cmd_acls = {
    .name = "acls",
    .summary = "print the rights that a command needs on a broker with ACLs",
    .usage = "COMMAND --principal User:NAME -c FILE [--remove] [--table]",
    .help = "COMMAND is topics, topics-create, topics-delete, produce, mix, read, ... (any other "
	    "word lists all). Prints the least rights with which the command works, for the "
	    "domains, mix and runs of the configuration, as a shell script that adds them; its "
	    "arguments are kafka-acls.sh and the options with which that reaches the broker. "
	    "Connects to nothing.",
    .example = "riffle acls mix --principal User:mixer -c run.yml | sh -s kafka-acls.sh "
	       "--bootstrap-server broker:9093 --command-config admin.properties",
    .common = OPTIONS_CONFIG,
    .option = rows,
    .options_n = sizeof(rows) / sizeof(rows[0]),
    .arguments_min = 1,
    .arguments_max = 1,
    .run = run,
};
