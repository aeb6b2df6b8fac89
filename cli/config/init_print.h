/* init_print.h -- the folders that init_files.h has sorted out, as a first run.yml. */
#ifndef CLI_CONFIG_INIT_PRINT_H
#define CLI_CONFIG_INIT_PRINT_H

#include <stdio.h>

#include "cli/config/init_files.h"
#include "common/base/failure.h"

struct init_print_options {
	char *const *folder; /* [folders_n], as given */
	size_t folders_n;
	const char *tokenizer; /* a file; NULL: one that is found in the folders, or here */
};

/* FAIL_DATA: no file is taken; says what is wrong with the first of them. FAIL_MEMORY. */
enum fail_code init_print(
    const struct init_files *l, const struct init_print_options *o, FILE *to, struct failure *f);

#endif
