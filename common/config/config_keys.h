/* config_keys.h -- the table of keys as a person reads it: `riffle config --keys`. */
#ifndef COMMON_CONFIG_CONFIG_KEYS_H
#define COMMON_CONFIG_CONFIG_KEYS_H

#include <stdio.h>

/* Prints the table of keys as Markdown: the body of docs/CONFIG.md. */
void config_keys_print(FILE *to);

#endif
