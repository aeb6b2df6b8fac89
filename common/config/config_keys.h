/* config_keys.h -- the table of keys as people read it, and a key found by its last part. */
#ifndef COMMON_CONFIG_CONFIG_KEYS_H
#define COMMON_CONFIG_CONFIG_KEYS_H

#include <stdio.h>

/* The path of the first key whose last part is `name`, "mix.lanes" for "lanes"; NULL: no key. */
const char *config_keys_find(const char *name);

/* Prints the table of keys as Markdown: the body of docs/CONFIG.md. */
void config_keys_print(FILE *to);

#endif
