/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computation of a chosen length, for programs that compute between the start of a message and the
 * wait for it. It makes no calls and touches no memory.
 */
#ifndef TESTS_BENCH_SRC_COMPUTE_H
#define TESTS_BENCH_SRC_COMPUTE_H

#include <mpi.h>

#define COMPUTE_TRIES 5
#define COMPUTE_STEPS 200000 /* of a try, about half a millisecond */

/*
 * Work that a compiler cannot shorten. A clock would hide that the processor was taken away
 * meanwhile.
 */
static inline double compute(long steps)
{
	double x = 1.0;

	for (long i = 0; i < steps; i++)
		x = x * 1.000000001 + 1e-9;
	return x;
}

/* How many steps take that long here and now. */
static inline long compute_steps_of(double us)
{
	volatile double sink;
	double best = 1e9;

	for (int i = 0; i < COMPUTE_TRIES; i++) {
		double start = MPI_Wtime(), took;

		sink = compute(COMPUTE_STEPS);
		took = MPI_Wtime() - start;
		best = took < best ? took : best;
	}
	(void)sink;
	return (long)(us * 1e-6 / best * COMPUTE_STEPS);
}

#endif
