// SPDX-License-Identifier: BSD-3-Clause
/*
 * mpi_allreduce BYTES ITERATIONS REPEATS - time of one allreduce over all ranks of any MPI. Prints
 * the median over the repeats, in microseconds, as one JSON line. Sums are checked.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	int rank, size, words, iterations, repeats;
	long *in, *out;
	double *times;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	words = (argc > 1 ? atoi(argv[1]) : 8) / 8;
	iterations = argc > 2 ? atoi(argv[2]) : 1000;
	repeats = argc > 3 ? atoi(argv[3]) : 5;
	in = calloc((size_t)words + 1, sizeof(*in));
	out = calloc((size_t)words + 1, sizeof(*out));
	times = calloc((size_t)repeats, sizeof(*times));
	if (!in || !out || !times)
		MPI_Abort(MPI_COMM_WORLD, 1);
	for (int r = 0; r < repeats; r++) {
		double start;

		for (int i = 0; i < words; i++)
			in[i] = rank + i + r;
		MPI_Barrier(MPI_COMM_WORLD);
		start = MPI_Wtime();
		for (int i = 0; i < iterations; i++)
			MPI_Allreduce(in, out, words, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
		times[r] = (MPI_Wtime() - start) / iterations * 1e6;
		for (int i = 0; i < words; i++) {
			if (out[i] != (long)size * (size - 1) / 2 + (long)size * (i + r)) {
				fprintf(stderr, "mpi_allreduce: wrong sum in repeat %d\n", r);
				MPI_Abort(MPI_COMM_WORLD, 1);
			}
		}
	}
	qsort(times, (size_t)repeats, sizeof(*times), by_value);
	if (rank == 0)
		printf("{\"bytes\": %d, \"us\": %.4f}\n", words * 8, times[repeats / 2]);
	free(in);
	free(out);
	free(times);
	MPI_Finalize();
	return 0;
}
