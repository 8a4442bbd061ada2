/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mpi_spin BEGIN END - barriers and allreduces without a pause, each rank busy all the time. Counts those that rank 0
 * has seen done from BEGIN to END, moments in seconds of CLOCK_REALTIME, so that jobs beside each other count over
 * the same time. Prints them per second as one JSON line.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	double begin = argc > 1 ? atof(argv[1]) : 0, end = argc > 2 ? atof(argv[2]) : 0, at;
	long is_over = 0, any_over = 0, work = 0;
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	at = now();
	if (rank == 0 && at > begin) {
		fprintf(stderr, "mpi_spin: BEGIN is %.3f s past\n", at - begin);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	while (!any_over) {
		MPI_Barrier(MPI_COMM_WORLD);
		MPI_Allreduce(&is_over, &any_over, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
		at = now();
		work += at >= begin && at < end;
		is_over = rank == 0 && at >= end;
	}
	if (rank == 0)
		printf("{\"per_s\": %.1f}\n", (double)work / (end - begin));
	MPI_Finalize();
	return 0;
}
