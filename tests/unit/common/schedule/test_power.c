#include "common/schedule/power.h"

#include <math.h>

#include "tests/unit/test.h"

static void
test_powers_are_right_to_twelve_digits(void **state)
{
	static const double x[] = {1e-300, 1e-9, 0.01, 0.3, 0.5, 0.7071, 0.7072, 0.99, 1};
	static const double y[] = {0.001, 0.25, 0.5, 1, 1.5, 2, 7, 30};

	(void)state;
	EACH_ROW(i, x)
		EACH_ROW(k, y) {
			double right = pow(x[i], y[k]);

			if (right > 1e-300)
				assert_true(fabs(power_of(x[i], y[k]) / right - 1) < 1e-12);
		}
	assert_true(power_of(1e-300, 2) == 0);
	assert_true(power_of(1, 3) == 1);
}

/* Weights that were tempered are in ledgers: a replay must find the same bits, for ever. */
static void
test_powers_keep_their_last_bits(void **state)
{
	static const struct {
		double x, y, power;
	} row[] = {
	    {0.3, 0.5, 0x1.186f174f88472p-1},
	    {0.1, 0.7, 0x1.98a13577c93c1p-3},
	    {0.0123, 1.0 / 3, 0x1.d8c00875f6e35p-3},
	    {0.9, 2.5, 0x1.89701ca9cf25ep-1},
	    {1e-7, 0.2, 0x1.46211ff90ea26p-5},
	};

	(void)state;
	EACH_ROW(i, row)
		assert_true(power_of(row[i].x, row[i].y) == row[i].power);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_powers_are_right_to_twelve_digits),
	    cmocka_unit_test(test_powers_keep_their_last_bits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
