/*
 * terminal.h -- what the terminal behind stdout or stderr can show, and text from outside on it.
 *
 * Colours are few: an error is red, a warning or a problem yellow. They go to a terminal only, and
 * to none where NO_COLOR is set and not empty (https://no-color.org) or TERM is "dumb" or not set.
 */
#ifndef COMMON_TERMINAL_TERMINAL_H
#define COMMON_TERMINAL_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "common/base/text.h"

#define TERMINAL_RED    "\033[31m"
#define TERMINAL_YELLOW "\033[33m"
#define TERMINAL_PLAIN  "\033[0m"

/* Columns of the terminal of stderr; 80 where that is not known. */
int terminal_columns(void);

/* Whether `fd` is a terminal that is to have colours. */
bool terminal_colours(int fd);

/* Prints text[n], which comes from outside, as `form` shows it. */
void terminal_print(FILE *to, enum text_form form, const char *text, size_t n);

#endif
