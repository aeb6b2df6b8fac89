/*
 * inspect_document.h -- `riffle inspect --document`: in which steps a document, or a sequence, was
 * drawn, and will be.
 *
 *     FILE[:LINE]  --the domain logs, read through--> sequences that hold it  \
 *     DOMAIN/PARTITION/ORDINAL  --------------------> one sequence             > drawn_find()
 *
 * A file is named as in the configuration, or by the end of that path, from a slash on. Records say
 * names of files, so that the files themselves need not be there.
 */
#ifndef CLI_INSPECT_INSPECT_DOCUMENT_H
#define CLI_INSPECT_INSPECT_DOCUMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/config/config.h"

struct inspect_document_options {
	const char *mix, *what;
	const struct config *config;
	uint64_t first, end; /* steps; end UINT64_MAX: no limit was given */
	bool plan, json;
};

/*
 * Prints a line, or in JSON an object, for each draw. FAIL_DATA: no domain log holds such a
 * document, or no domain such a sequence.
 */
enum fail_code inspect_document(const struct inspect_document_options *o, struct failure *f);

#endif
