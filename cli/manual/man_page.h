/* man_page.h -- manual pages from the commands' own tables, in the macros of man(7). */
#ifndef CLI_MANUAL_MAN_PAGE_H
#define CLI_MANUAL_MAN_PAGE_H

#include <stdio.h>

#include "cli/command.h"

/* riffle-COMMAND(1); NULL: riffle(1), of all commands. */
void man_page_print(const struct command *c, FILE *to);

#endif
