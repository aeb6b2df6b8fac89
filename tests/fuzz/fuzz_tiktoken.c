/* .tiktoken: read and used under each pattern, or refused with a sentence. */
#include "tests/fuzz/tokenize.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const char *const pattern[] = {"gpt2", "cl100k", "o200k"};
	struct tokenizer_options o = {.file = fuzz_file(data, n), .pattern = pattern[n % 3]};
	struct tokenizer *t = NULL;
	struct failure f = {0};
	enum fail_code code = tokenizer_open(&t, &o, &f);

	if (code != FAIL_NONE) {
		FUZZ_CHECK(code == FAIL_CONFIG || code == FAIL_DATA);
		FUZZ_CHECK(f.text[0] != '\0');
		return 0;
	}
	tokenize_with(t, data, n);
	tokenizer_close(t);
	return 0;
}
