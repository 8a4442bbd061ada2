// SPDX-License-Identifier: BSD-3-Clause
/* Collectives, blocking and nonblocking, at short and long counts, all results checked. */
#include "tests/mpi/check.h"

static void reduce_family(int n)
{
	long *in = malloc((size_t)n * sizeof(long)), *out = malloc((size_t)n * sizeof(long));
	long ranks = check_size, sum = ranks * (ranks - 1) / 2;

	for (int i = 0; i < n; i++)
		in[i] = (long)check_rank * n + i;
	MPI_Allreduce(in, out, n, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
	for (int i = 0; i < n; i++)
		CHECK(out[i] == sum * n + ranks * i, "Allreduce %d of %d", i, n);
	MPI_Reduce(in, out, n, MPI_LONG, MPI_MAX, check_size - 1, MPI_COMM_WORLD);
	for (int i = 0; i < n && check_rank == check_size - 1; i++)
		CHECK(out[i] == (ranks - 1) * n + i, "Reduce %d of %d", i, n);
	MPI_Scan(in, out, n, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
	for (int i = 0; i < n; i++)
		CHECK(out[i] == (long)check_rank * (check_rank + 1) / 2 * n +
					(long)(check_rank + 1) * i,
		      "Scan %d of %d", i, n);
	free(in);
	free(out);
}

static void exchange_family(int n)
{
	size_t all = (size_t)n * (size_t)check_size;
	int *in = malloc(all * sizeof(int)), *out = malloc(all * sizeof(int));

	for (int r = 0; r < check_size; r++) {
		for (int i = 0; i < n; i++)
			in[r * n + i] = (check_rank * 64 + r) * n + i;
	}
	MPI_Alltoall(in, n, MPI_INT, out, n, MPI_INT, MPI_COMM_WORLD);
	for (int r = 0; r < check_size; r++) {
		for (int i = 0; i < n; i++)
			CHECK(out[r * n + i] == (r * 64 + check_rank) * n + i,
			      "Alltoall %d from %d", i, r);
	}
	MPI_Allgather(in, n, MPI_INT, out, n, MPI_INT, MPI_COMM_WORLD);
	for (int r = 0; r < check_size; r++) {
		for (int i = 0; i < n; i++)
			CHECK(out[r * n + i] == r * 64 * n + i, "Allgather %d from %d", i, r);
	}
	if (check_rank == 0)
		memcpy(out, in, all * sizeof(int));
	MPI_Bcast(out, (int)all, MPI_INT, 0, MPI_COMM_WORLD);
	for (int i = 0; i < (int)all; i++)
		CHECK(out[i] == i / n * n + i % n, "Bcast %d", i);
	free(in);
	free(out);
}

static void uneven(void)
{
	int *counts = malloc((size_t)check_size * sizeof(int));
	int *at = malloc((size_t)check_size * sizeof(int));
	int total = 0, mine = check_rank * 3000;
	int *in = malloc((size_t)(mine + 1) * sizeof(int)), *out;

	for (int r = 0; r < check_size; r++) {
		counts[r] = r * 3000;
		at[r] = total;
		total += counts[r];
	}
	out = malloc((size_t)(total + 1) * sizeof(int));
	for (int i = 0; i < mine; i++)
		in[i] = check_rank + i;
	MPI_Gatherv(in, mine, MPI_INT, out, counts, at, MPI_INT, 0, MPI_COMM_WORLD);
	for (int r = 0; r < check_size && check_rank == 0; r++) {
		for (int i = 0; i < counts[r]; i++)
			CHECK(out[at[r] + i] == r + i, "Gatherv %d of %d", i, r);
	}
	MPI_Scatterv(out, counts, at, MPI_INT, in, mine, MPI_INT, 0, MPI_COMM_WORLD);
	for (int i = 0; i < mine; i++)
		CHECK(in[i] == check_rank + i, "Scatterv %d", i);
	free(counts);
	free(at);
	free(in);
	free(out);
}

static void nonblocking(void)
{
	enum { AT_ONCE = 20 };
	static double in[AT_ONCE][1000], out[AT_ONCE][1000];
	MPI_Request req[AT_ONCE + 1];

	for (int k = 0; k < AT_ONCE; k++) {
		for (int i = 0; i < 1000; i++)
			in[k][i] = check_rank + k + i;
		MPI_Iallreduce(in[k], out[k], 1000, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &req[k]);
	}
	MPI_Ibarrier(MPI_COMM_WORLD, &req[AT_ONCE]);
	MPI_Waitall(AT_ONCE + 1, req, MPI_STATUSES_IGNORE);
	for (int k = 0; k < AT_ONCE; k++) {
		for (int i = 0; i < 1000; i++)
			CHECK(out[k][i] == check_size * (check_size - 1) / 2.0 +
						   (double)check_size * (k + i),
			      "Iallreduce %d element %d", k, i);
	}
}

int main(int argc, char **argv)
{
	static const int counts[] = {1, 7, 500, 5000, 60000};

	check_start(&argc, &argv);
	for (int c = 0; c < 5; c++) {
		reduce_family(counts[c]);
		exchange_family(counts[c]);
	}
	uneven();
	nonblocking();
	for (int i = 0; i < 500; i++)
		MPI_Barrier(MPI_COMM_WORLD);
	return check_end("collectives");
}
