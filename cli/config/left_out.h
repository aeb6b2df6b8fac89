/*
 * left_out.h -- warns of what lies in the folders of domains_from and is not read.
 *
 *     warning config: CONFIG-LEFT-OUT domain=web path=data/web/b.ndjson is not read: domains_from
 *     takes .jsonl, .json and .txt, plain, .gz or .zst
 */
#ifndef CLI_CONFIG_LEFT_OUT_H
#define CLI_CONFIG_LEFT_OUT_H

#include <stddef.h>

#include "common/config/config.h"

enum { LEFT_OUT_SHOWN_MAX = 10 }; /* lines for each domain; the last one may count the others */

/* Warns for these domains, or for all if domains_n is 0. */
void left_out_warn(const struct config *c, char *const *domain, size_t domains_n);

#endif
