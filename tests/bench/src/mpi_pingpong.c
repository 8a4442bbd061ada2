// SPDX-License-Identifier: BSD-3-Clause
/*
 * mpi_pingpong BYTES ITERATIONS REPEATS - half round-trip time between ranks 0 and 1 of any MPI.
 * The clock is read once per batch of iterations; the median over all batches, in microseconds, is
 * printed as one JSON line, so that a core taken away for a moment does not decide. Data is checked
 * once per repeat.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH 100

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void bounce(char *buf, int bytes, int rank, int iterations)
{
	for (int i = 0; i < iterations; i++) {
		if (rank == 0) {
			MPI_Send(buf, bytes, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
			MPI_Recv(buf, bytes, MPI_CHAR, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		} else {
			MPI_Recv(buf, bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			MPI_Send(buf, bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
		}
	}
}

static void check(const char *buf, int bytes, int seed)
{
	for (int i = 0; i < bytes; i++) {
		if (buf[i] != (char)(seed + i)) {
			fprintf(stderr, "mpi_pingpong: byte %d is %d, expected %d\n", i, buf[i],
				(char)(seed + i));
			MPI_Abort(MPI_COMM_WORLD, 1);
		}
	}
}

int main(int argc, char **argv)
{
	int rank, bytes, iterations, repeats, batches, n = 0;
	double *times;
	char *buf;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	bytes = argc > 1 ? atoi(argv[1]) : 8;
	iterations = argc > 2 ? atoi(argv[2]) : 10000;
	repeats = argc > 3 ? atoi(argv[3]) : 5;
	batches = iterations / BATCH > 0 ? iterations / BATCH : 1;
	times = calloc((size_t)repeats * (size_t)batches, sizeof(*times));
	buf = malloc((size_t)bytes + 1);
	if (!times || !buf)
		MPI_Abort(MPI_COMM_WORLD, 1);
	if (rank < 2)
		bounce(buf, bytes, rank, iterations / 10 + 1);
	for (int r = 0; r < repeats && rank < 2; r++) {
		int batch = iterations / batches;

		memset(buf, 0, (size_t)bytes);
		for (int i = 0; i < bytes && rank == 0; i++)
			buf[i] = (char)(r + i);
		for (int b = 0; b < batches; b++) {
			double start = MPI_Wtime();

			bounce(buf, bytes, rank, batch);
			times[n++] = (MPI_Wtime() - start) / batch / 2 * 1e6;
		}
		check(buf, bytes, r);
	}
	qsort(times, (size_t)n, sizeof(*times), by_value);
	if (rank == 0)
		printf("{\"bytes\": %d, \"half_rtt_us\": %.4f}\n", bytes, times[n / 2]);
	free(times);
	free(buf);
	MPI_Finalize();
	return 0;
}
