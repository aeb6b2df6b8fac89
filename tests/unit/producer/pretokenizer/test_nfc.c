/* nfc.h: texts of Unicode Standard Annex 15, and what its rules say of marks side by side. */
#include "producer/pretokenizer/nfc.h"

#include "tests/unit/test.h"

static void
test_texts_become_their_form_c(void **unused)
{
	static const struct {
		const char *text, *out;
		bool plain;
	} rows[] = {
	    {"", "", true},
	    {"plain text", "plain text", true},
	    /* composed, and what is composed already */
	    {"e\u0301", "\u00e9", false},
	    {"\u00e9", "\u00e9", true},
	    {"xe\u0301y", "x\u00e9y", false},
	    {"e\u0301e\u0301", "\u00e9\u00e9", false},
	    /* one character is another: the Angstrom sign, the Ohm sign */
	    {"\u212b", "\u00c5", false},
	    {"\u2126", "\u03a9", false},
	    /* marks in order: 220 before 230, and the order of one class stays */
	    {"o\u0302\u0323", "\u1ed9", false},
	    {"o\u0323\u0302", "\u1ed9", false},
	    {"q\u0307\u0323", "q\u0323\u0307", false},
	    {"q\u0323\u0307", "q\u0323\u0307", false},
	    {"q\u0307\u0301", "q\u0307\u0301", false},
	    /* of two marks of one class the second waits behind the first, unless that one joins */
	    {"a\u0363\u0301", "a\u0363\u0301", false},
	    {"a\u0301\u0363", "\u00e1\u0363", false},
	    {"u\u0308\u0301", "\u01d8", false},
	    {"u\u0301\u0308", "\u00fa\u0308", false},
	    /* a mark of a lower class does not stand between, one of a higher comes behind */
	    {"a\u0323\u0301", "\u1ea1\u0301", false},
	    {"q\u0323a\u0327\u0301", "q\u0323\u00e1\u0327", false},
	    /* a starter stands between, also one that joins nothing */
	    {"a\u034f\u0301", "a\u034f\u0301", false},
	    {"\u0301", "\u0301", false},
	    {" \u0301", " \u0301", false},
	    /* composed characters that are taken apart for good */
	    {"\u0958", "\u0915\u093c", false},
	    {"\u2adc", "\u2add\u0338", false},
	    /* Hangul, by its arithmetic */
	    {"\u1100\u1161", "\uac00", false},
	    {"\u1100\u1161\u11a8", "\uac01", false},
	    {"\uac00\u11a8", "\uac01", false},
	    {"\uac01\u11a8", "\uac01\u11a8", false},
	    {"\u1112\u1175\u11c2", "\ud7a3", false},
	    {"\u1100\u1100\u1161", "\u1100\uac00", false},
	    /* starters that join: two vowel signs of Tamil */
	    {"\u0bc6\u0bbe", "\u0bca", false},
	};
	struct nfc_scratch s = {0};

	(void)unused;
	EACH_NAMED_ROW(i, rows, text) {
		struct buffer out = {0};
		const uint8_t *text = (const uint8_t *)rows[i].text;
		size_t n = strlen(rows[i].text);

		assert_int_equal(nfc_add(&s, &out, text, n, &f), FAIL_NONE);
		assert_int_equal(buffer_add(&out, "", 1, &f), FAIL_NONE);
		assert_string_equal((const char *)out.bytes, rows[i].out);
		if (rows[i].plain)
			assert_true(nfc_plain(text, n));
		if (nfc_plain(text, n))
			assert_string_equal(rows[i].out, rows[i].text);
		buffer_close(&out);
	}
	nfc_scratch_close(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_texts_become_their_form_c),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
