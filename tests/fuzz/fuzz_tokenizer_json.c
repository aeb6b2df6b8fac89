/* tokenizer.json: read and used, or refused with a sentence. */
#include "tests/fuzz/tokenize.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct tokenizer_options o = {.file = fuzz_file(data, n)};
	struct tokenizer *t = NULL;
	struct failure f = {0};
	enum fail_code code;

	if (n > 0 && data[0] != '{' && data[0] != ' ' && data[0] != '\n')
		return -1; /* a .tiktoken, which has a target of its own */
	o.add_special = n % 2 == 1;
	o.special_as_text = n % 4 >= 2;
	code = tokenizer_open(&t, &o, &f);
	if (code != FAIL_NONE) {
		FUZZ_CHECK(code == FAIL_CONFIG || code == FAIL_DATA);
		FUZZ_CHECK(f.text[0] != '\0');
		return 0;
	}
	tokenize_with(t, data, n);
	tokenizer_close(t);
	return 0;
}
