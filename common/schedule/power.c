#include "common/schedule/power.h"

#include <assert.h>
#include <math.h>

/* ln 2 in two parts: the first has zeros at its end, so that its multiples are exact. */
#define LN2_HIGH 0x1.62e42feep-1
#define LN2_LOW  0x1.a39ef35793c76p-33

enum { LOG_TERMS = 13, EXP_TERMS = 17 };

/* ln x = exponent * ln 2 + rest; frexp() and ldexp() only move the exponent, so they are exact. */
static double
log_rest(double x, int *exponent)
{
	double m = frexp(x, exponent), s, square, sum = 0;

	if (m < 0x1.6a09e667f3bcdp-1) { /* 1 / sqrt 2: m is now within 0.7 to 1.42 */
		m *= 2;
		--*exponent;
	}
	s = (m - 1) / (m + 1);
	square = s * s;
	for (int k = LOG_TERMS; k >= 0; k--)
		sum = sum * square + 1.0 / (2 * k + 1);
	return 2 * s * sum;
}

static double
exp_of(double x)
{
	double n = floor(x / (LN2_HIGH + LN2_LOW) + 0.5), rest, sum = 1;

	if (n < -1022)
		return 0;
	rest = x - n * LN2_HIGH;
	rest = rest - n * LN2_LOW;
	for (int k = EXP_TERMS; k >= 1; k--)
		sum = 1 + sum * rest / k;
	return ldexp(sum, (int)n);
}

double
power_of(double x, double y)
{
	double rest, ln;
	int exponent;

	assert(x > 0 && x <= 1 && y > 0 && isfinite(y));
	rest = log_rest(x, &exponent);
	ln = exponent * LN2_HIGH + (exponent * LN2_LOW + rest);
	ln *= y;
	return ln < -800 ? 0 : exp_of(ln);
}
