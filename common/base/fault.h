/*
 * fault.h -- named places where a test makes the process die as by kill -9.
 *
 * RIFFLE_FAULT=POINT kills at the first pass of POINT, RIFFLE_FAULT=POINT:N at the N-th. The
 * process writes "fault: POINT reached" to stderr first, so that a test can prove that the
 * point was hit. Without the variable a pass costs one comparison.
 */
#ifndef COMMON_BASE_FAULT_H
#define COMMON_BASE_FAULT_H

/* Borrows `point`. Does not return if this is the pass that RIFFLE_FAULT names. Thread-safe. */
void fault_point(const char *point);

#endif
