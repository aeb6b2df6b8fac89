/*
 * completion.h -- scripts by which a shell completes commands, options and their values.
 *
 * Made from the commands' own tables. They need nothing but the shell itself.
 */
#ifndef CLI_MANUAL_COMPLETION_H
#define CLI_MANUAL_COMPLETION_H

#include <stdio.h>

void completion_bash(FILE *to);
void completion_zsh(FILE *to);
void completion_fish(FILE *to);

#endif
