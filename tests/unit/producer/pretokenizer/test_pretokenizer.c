/* pretokenizer.h: what each step cuts and puts in. _ is a space, ~ the mark, U+2581. */
#include "producer/pretokenizer/pretokenizer.h"

#include "tests/unit/test.h"

enum { BYTES_MAX = 512, RANDOM_TEXTS = 5000 };

/*
 * Steps are spelled by a letter each: P by the pattern of gpt2, D digits, R runs of them, S a space
 * in front, A, F and N the mark always, first and never, C before every mark; M is cut_marks.
 */
static struct pretokenizer
steps_of(const char *letters)
{
	struct pretokenizer p = {.n = 0};

	for (; *letters != '\0'; letters++) {
		struct pretokenizer_step *step = &p.step[p.n++];

		memcpy(step->mark, "\u2581", step->mark_n = 3);
		switch (*letters) {
		case 'P': step->kind = PRETOKENIZER_SPLIT; break;
		case 'D': step->kind = PRETOKENIZER_DIGITS; break;
		case 'R': step->kind = PRETOKENIZER_RUNS; break;
		case 'S': step->kind = PRETOKENIZER_SPACE; break;
		case 'C': step->kind = PRETOKENIZER_CUT; break;
		case 'M':
			p.n--;
			p.cut_marks = true;
			break;
		default:
			step->kind = PRETOKENIZER_MARK;
			step->scheme = *letters == 'A'   ? PRETOKENIZER_ALWAYS
				       : *letters == 'F' ? PRETOKENIZER_FIRST
							 : PRETOKENIZER_NEVER;
		}
	}
	return p;
}

static const struct {
	const char *text, *pieces;
	const char *steps;
	size_t head;
} rows[] = {
    {"ab_~1", "ab_~1", "", 0},
    /* Before a mark, unless a mark or nothing is in front of it. */
    {"ab~c", "ab|~c", "M", 0},
    {"~ab", "~ab", "M", 0},
    {"~", "~", "M", 0},
    {"~~", "~~", "M", 0},
    {"~~ab", "~~ab", "M", 0},
    {"~~~ab", "~~~ab", "M", 0},
    {"a~~b", "a|~~b", "M", 0},
    {"a~", "a|~", "M", 0},
    {"~a~~~b~c", "~a|~~~b|~c", "M", 0},
    {"~\u2582~\u2582", "~\u2582|~\u2582", "M", 0}, /* shares two bytes with the mark */
    /* Stretches of the step before are looked at one by one. */
    {"1~~2", "1|~~|2", "DM", 0},
    {"1~a~2", "1|~a|~|2", "DM", 0},
    {"1~", "1|~", "DM", 0},
    {"ab12_c", "ab|1|2|_c", "D", 0},
    {"1", "1", "D", 0},
    {"a1", "a|1", "D", 0},
    {"1\u0661a", "1|\u0661|a", "D", 0},
    {"ab12_c3", "ab|12|_c|3", "R", 0},
    {"12", "12", "R", 0},
    {"ab", "_ab", "S", 0},
    {"_ab", "_ab", "S", 0},
    {"__ab", "__ab", "S", 0},
    {"ab_c", "~ab~c", "A", 0},
    {"_ab", "~ab", "A", 0},
    {"~ab", "~ab", "A", 0},
    {"__", "~~", "A", 0},
    {"ab_c", "ab~c", "F", 0},
    {"ab_c", "~ab~c", "F", 1},
    {"_ab", "~ab", "F", 1},
    {"ab_c", "ab~c", "N", 1},
    {"1a", "~1|~a", "DA", 0},
    {"1a", "~1|a", "DF", 1},
    {"1a", "~1|~a", "DF", 2}, /* one character of the document gave both */
    {"1a", "1|a", "DF", 0},
    {"a~~b", "a|~|~b", "C", 0},
    {"~a", "~a", "C", 0},
    {"ab_c", "~ab|~c", "AC", 0},
    {"a__b_", "~a|~|~b|~", "AC", 0},
    {"don't_I", "don|'t|_I", "P", 0},
    {"a_b1_c", "~a|~b|1|~c", "SDNM", 0},
};

/* "~a_" in bytes. */
static size_t
spell(uint8_t *out, const char *text)
{
	size_t n = 0;

	for (; *text != '\0'; text++) {
		assert_true(n + 4 < BYTES_MAX);
		if (*text == '~') {
			memcpy(out + n, "\u2581", 3);
			n += 3;
		} else {
			out[n++] = *text == '_' ? ' ' : (uint8_t)*text;
		}
	}
	out[n] = '\0';
	return n;
}

/* The pieces, with a bar between them, as bytes. */
static void
join(char *out, const struct pretokenizer_cuts *c)
{
	size_t n = 0, at = 0;

	for (size_t i = 0; i < c->count; at = c->end[i++]) {
		assert_true(c->end[i] > at);
		if (i > 0)
			out[n++] = '|';
		memcpy(out + n, c->text + at, c->end[i] - at);
		n += c->end[i] - at;
	}
	assert_int_equal(at, c->n);
	out[n] = '\0';
}

/* All with one scratch: what a text has left in it is not of the next one. */
static void
test_each_step_cuts_and_puts_in_what_it_should(void **unused)
{
	struct pretokenizer_scratch s = {.cuts = {{.text = NULL}}};

	(void)unused;
	EACH_NAMED_ROW(i, rows, text) {
		const struct pretokenizer p = steps_of(rows[i].steps);
		const struct pretokenizer_cuts *c;
		uint8_t text[BYTES_MAX], expected[BYTES_MAX];
		size_t n = spell(text, rows[i].text);
		char found[2 * BYTES_MAX];

		spell(expected, rows[i].pieces);
		assert_int_equal(
		    pretokenizer_run(&p, &s, text, n, rows[i].head, &c, &f), FAIL_NONE);
		join(found, c);
		assert_string_equal(found, (char *)expected);
	}
	pretokenizer_scratch_close(&s);
}

/* By characters, one behind the other. */
static void
test_marks_are_cut_where_another_character_is_before(void **unused)
{
	static const char *const character[] = {"~", "~", "~", "a", "\u2582", "\u00e9", "_"};
	enum { CHARACTERS = sizeof(character) / sizeof(character[0]) };
	const struct pretokenizer marks = steps_of("M");
	struct pretokenizer_scratch s = {.cuts = {{.text = NULL}}};
	uint64_t seed = 1;

	(void)unused;
	for (int k = 0; k < RANDOM_TEXTS; k++) {
		const struct pretokenizer_cuts *c;
		char spelled[BYTES_MAX] = "", pieces[BYTES_MAX] = "", found[2 * BYTES_MAX];
		uint8_t text[BYTES_MAX], expected[BYTES_MAX];
		size_t n = 0, m = 0;
		const char *before = NULL;

		for (int length = 1 + k % 12; length > 0; length--) {
			const char *one;

			seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
			one = character[(seed >> 33) % CHARACTERS];
			m += (size_t)snprintf(pieces + m, sizeof(pieces) - m, "%s%s",
			    *one == '~' && before != NULL && *before != '~' ? "|" : "", one);
			n += (size_t)snprintf(spelled + n, sizeof(spelled) - n, "%s", one);
			before = one;
		}
		spell(expected, pieces);
		n = spell(text, spelled);
		assert_int_equal(pretokenizer_run(&marks, &s, text, n, 0, &c, &f), FAIL_NONE);
		join(found, c);
		assert_string_equal(found, (char *)expected);
	}
	pretokenizer_scratch_close(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_each_step_cuts_and_puts_in_what_it_should),
	    cmocka_unit_test(test_marks_are_cut_where_another_character_is_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
