/*
 * power.h -- x to the power of y, the same bits on every machine.
 *
 * The library's pow() may differ in the last bit between machines, and weights that are tempered
 * again for a replay must not. This one is made of + - * / on doubles alone, without contraction
 * (-ffp-contract=off): the logarithm by its series in (m - 1) / (m + 1), the exponential by its
 * Taylor series, after splitting off powers of two. Relative error under 1e-12 for results within
 * 1e-300 to 1: enough for weights, no more than that.
 */
#ifndef COMMON_SCHEDULE_POWER_H
#define COMMON_SCHEDULE_POWER_H

/* x within (0, 1], y > 0 and finite. Results below 1e-308 are 0. */
double power_of(double x, double y);

#endif
