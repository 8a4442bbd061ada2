// SPDX-License-Identifier: BSD-3-Clause
/*
 * mpi_stream BYTES WINDOW WINDOWS REPEATS - one-way bandwidth from rank 0 to rank 1 of any MPI:
 * windows of nonblocking sends, each answered by one short message (as osu_bw does). Prints the
 * median over the repeats in MB/s (10^6) as one JSON line. Every received buffer's first and last
 * byte are checked.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void one_window(char *buf, int bytes, int window, int rank, MPI_Request *requests)
{
	char answer = 0;

	for (int i = 0; i < window; i++) {
		if (rank == 0)
			MPI_Isend(buf, bytes, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &requests[i]);
		else
			MPI_Irecv(buf, bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &requests[i]);
	}
	MPI_Waitall(window, requests, MPI_STATUSES_IGNORE);
	if (rank == 0)
		MPI_Recv(&answer, 1, MPI_CHAR, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	else
		MPI_Send(&answer, 1, MPI_CHAR, 0, 2, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
	int rank, bytes, window, windows, repeats;
	MPI_Request *requests;
	double *rates;
	char *buf;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	bytes = argc > 1 ? atoi(argv[1]) : 1048576;
	window = argc > 2 ? atoi(argv[2]) : 64;
	windows = argc > 3 ? atoi(argv[3]) : 10;
	repeats = argc > 4 ? atoi(argv[4]) : 3;
	requests = calloc((size_t)window, sizeof(MPI_Request));
	rates = calloc((size_t)repeats, sizeof(*rates));
	buf = malloc((size_t)bytes);
	if (!requests || !rates || !buf)
		MPI_Abort(MPI_COMM_WORLD, 1);
	memset(buf, rank == 0 ? 'a' : 'b', (size_t)bytes);
	if (rank < 2)
		one_window(buf, bytes, window, rank, requests);
	for (int r = 0; r < repeats && rank < 2; r++) {
		double start;

		memset(buf, rank == 0 ? 'c' + r % 20 : 'b', (size_t)bytes);
		start = MPI_Wtime();
		for (int i = 0; i < windows; i++)
			one_window(buf, bytes, window, rank, requests);
		rates[r] = (double)bytes * window * windows / (MPI_Wtime() - start) / 1e6;
		if (buf[0] != 'c' + r % 20 || buf[bytes - 1] != 'c' + r % 20) {
			fprintf(stderr, "mpi_stream: wrong data in repeat %d\n", r);
			MPI_Abort(MPI_COMM_WORLD, 1);
		}
	}
	qsort(rates, (size_t)repeats, sizeof(*rates), by_value);
	if (rank == 0)
		printf("{\"bytes\": %d, \"mb_per_s\": %.4f}\n", bytes, rates[repeats / 2]);
	free(requests);
	free(rates);
	free(buf);
	MPI_Finalize();
	return 0;
}
