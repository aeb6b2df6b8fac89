/*
 * export.h -- a domain's set as token files of other projects.
 *
 * The partitions are read one after the other, each to its last End (partition_log.h), and put
 * together again (export_pieces.h); the files are written whole or not at all (export_file.h).
 */
#ifndef CONSUMER_ADMIN_EXPORT_H
#define CONSUMER_ADMIN_EXPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/names.h"
#include "common/base/stop.h"
#include "common/config/config.h"
#include "consumer/admin/export_file.h"

struct export_options {
	const struct config *config;
	size_t domain; /* index in the configuration */
	enum names_set set;
	uint64_t tokenizer; /* fingerprint */
	struct export_file_options file;
	const struct stop *stop;
};

struct export_counts {
	uint64_t sequences, documents, tokens; /* tokens as written */
	uint64_t left_out;                     /* documents whose end an End cut off */
};

/* FAIL_STOPPED: asked to; nothing is left behind, and the text says so. `*f` is the caller's. */
enum fail_code export_run(
    const struct export_options *o, struct export_counts *counts, struct failure *f);

#endif
