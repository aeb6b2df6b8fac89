/*
 * tokenizer_options.h -- what a user says about a tokenizer. Plain data; all texts are borrowed.
 */
#ifndef PRODUCER_TOKENIZER_TOKENIZER_OPTIONS_H
#define PRODUCER_TOKENIZER_TOKENIZER_OPTIONS_H

#include <stdbool.h>

struct tokenizer_options {
	const char *file;    /* .tiktoken or tokenizer.json, told apart by the content */
	const char *pattern; /* of a .tiktoken: "gpt2", ...; else FAIL_CONFIG that lists them */
	const char *eos;  /* special token, or one of the file; NULL: tokenizer_eos() is not used */
	bool add_special; /* a tokenizer.json's template, such as BOS, around every text */
	bool special_as_text; /* its special tokens are not looked for in the text */
};

#endif
