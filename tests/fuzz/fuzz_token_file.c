/*
 * Token files of other projects. Three bytes say the format, the width and how long the tokens are;
 * the tokens follow, then the index (Megatron's .idx, datatrove's .index), then its metadata behind
 * a 0xff. Documents come in order with ids of the vocabulary, or the file is refused; and a seek to
 * any document that came is taken.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>

#include "producer/input/token_file.h"
#include "tests/fuzz/fuzz.h"

enum { ENTRIES = 1000, EOS = 0, DOCUMENTS_MAX = 10000 };

static const struct {
	enum token_format format;
	const char *name, *index, *metadata;
} forms[] = {
    {TOKEN_FORMAT_MEGATRON, "x.bin", "x.idx", NULL},
    {TOKEN_FORMAT_DS, "x.ds", "x.ds.index", "x.ds.metadata"},
    {TOKEN_FORMAT_NPY, "x.npy", NULL, NULL},
    {TOKEN_FORMAT_LLMC, "x.bin", NULL, NULL},
};

static char folder[64];

static void
write_file(const char *name, const uint8_t *bytes, size_t n)
{
	char path[128];
	int fd;

	if (name == NULL)
		return;
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	FUZZ_CHECK(fd >= 0 && write(fd, bytes, n) == (ssize_t)n && close(fd) == 0);
}

static void
remove_folder(void)
{
	static const char *const names[] = {
	    "x.bin", "x.idx", "x.ds", "x.ds.index", "x.ds.metadata", "x.npy"};
	char path[128];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		(void)unlink(path);
	}
	rmdir(folder);
}

static enum fail_code
read_all(const struct token_file_options *o, struct failure *f)
{
	struct token_file_buffer ids = {0};
	struct token_file_document d;
	struct token_file *t = NULL;
	uint64_t number = 0, byte = 0;
	bool there = true;

	if (token_file_open(&t, o, f) != FAIL_NONE)
		return f->code;
	while (there && number < DOCUMENTS_MAX) {
		size_t before = ids.n;

		if (token_file_next(t, &d, &ids, &there, f) != FAIL_NONE || !there)
			break;
		FUZZ_CHECK(d.number == number++);
		FUZZ_CHECK(d.reject != NULL || ids.n - before == d.n);
		for (size_t i = before; i < ids.n; i++)
			FUZZ_CHECK(ids.id[i] < ENTRIES && o->known[ids.id[i]]);
		byte = d.byte;
	}
	token_file_close(t);
	if (number > 0 && f->code == FAIL_NONE) {
		FUZZ_CHECK(token_file_open(&t, o, f) == FAIL_NONE);
		FUZZ_CHECK(token_file_seek(t, byte, number - 1, f) == FAIL_NONE);
		FUZZ_CHECK(token_file_next(t, &d, &ids, &there, f) == FAIL_NONE && there);
		FUZZ_CHECK(d.byte == byte);
		token_file_close(t);
	}
	free(ids.id);
	return f->code;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static bool known[ENTRIES];
	struct token_file_options o = {
	    .eos = EOS, .known = known, .entries = ENTRIES, .max_document_bytes = 512};
	struct failure f = {0};
	const uint8_t *index, *end = data + n, *metadata;
	size_t form, tokens_n;
	char path[128];
	enum fail_code code;

	if (n < 3)
		return -1;
	if (folder[0] == '\0') {
		snprintf(folder, sizeof(folder), "%s/riffle-fuzz-XXXXXX",
		    access("/dev/shm", W_OK) == 0 ? "/dev/shm" : P_tmpdir);
		FUZZ_CHECK(mkdtemp(folder) != NULL);
		atexit(remove_folder);
		for (size_t i = 0; i < ENTRIES; i++)
			known[i] = i % 7 != 6;
	}
	form = data[0] % 4;
	o.format = forms[form].format;
	o.name = forms[form].name; /* token_file_open() checks its ending */
	o.token_bytes = data[0] / 4 % 3 * 2;
	tokens_n = (size_t)(data[1] | data[2] << 8);
	tokens_n = tokens_n < n - 3 ? tokens_n : n - 3;
	index = data + 3 + tokens_n;
	metadata = forms[form].metadata == NULL ? NULL : memchr(index, 0xff, (size_t)(end - index));
	write_file(forms[form].name, data + 3, tokens_n);
	write_file(forms[form].index, index, (size_t)((metadata == NULL ? end : metadata) - index));
	if (metadata != NULL)
		write_file(forms[form].metadata, metadata + 1, (size_t)(end - metadata - 1));
	snprintf(path, sizeof(path), "%s/%s", folder, forms[form].name);
	o.path = path;
	code = read_all(&o, &f);
	FUZZ_CHECK(code == FAIL_NONE || code == FAIL_CONFIG || code == FAIL_DATA);
	FUZZ_CHECK(code == FAIL_NONE || f.text[0] != '\0');
	if (metadata != NULL) {
		snprintf(path, sizeof(path), "%s/%s", folder, forms[form].metadata);
		(void)unlink(path);
	}
	return 0;
}
