// SPDX-License-Identifier: BSD-3-Clause
/*
 * counted c|fortran|none - makes a known number of MPI calls, for tests/bench/mpiprofile.t, which
 * knows them: by C's names, some of them in a second thread, or by Fortran's. With none it makes no
 * call that a profile counts.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MESSAGES 3
#define MESSAGE_BYTES 100
#define SUMS 5
#define LATE_US 50000 /* rank 1 lets the others wait in a barrier */

extern void mpi_barrier_(MPI_Fint *comm, MPI_Fint *status);
extern void mpi_allreduce_(void *in, void *out, MPI_Fint *n, MPI_Fint *type, MPI_Fint *op,
			   MPI_Fint *comm, MPI_Fint *status);

static int rank, ranks;

/* Alone with itself, so that the order among threads is no matter. */
static void *in_thread(void *unused)
{
	double value = 1, sum;

	for (int i = 0; i < SUMS; i++)
		MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
	return unused;
}

static void by_thread(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, in_thread, NULL) || pthread_join(thread, NULL)) {
		fprintf(stderr, "counted: no thread\n");
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
}

static void by_c(void)
{
	char out[MESSAGE_BYTES] = {0}, in[MESSAGE_BYTES];
	int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
	int *blocks = calloc((size_t)ranks * 2, sizeof(*blocks));
	MPI_Request request;

	for (int i = 0; i < MESSAGES; i++) {
		MPI_Isend(out, MESSAGE_BYTES, MPI_CHAR, next, 0, MPI_COMM_WORLD, &request);
		MPI_Recv(in, MESSAGE_BYTES, MPI_CHAR, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	}
	MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, blocks, 2, MPI_INT, MPI_COMM_WORLD);
	if (rank == 1)
		usleep(LATE_US);
	MPI_Barrier(MPI_COMM_WORLD);
	by_thread();
	free(blocks);
}

static void by_fortran(void)
{
	MPI_Fint comm = MPI_Comm_c2f(MPI_COMM_WORLD), type = MPI_Type_c2f(MPI_DOUBLE);
	MPI_Fint op = MPI_Op_c2f(MPI_SUM), n = 2, status;
	double values[2] = {1, 2}, sums[2];

	for (int i = 0; i < SUMS; i++)
		mpi_allreduce_(values, sums, &n, &type, &op, &comm, &status);
	mpi_barrier_(&comm, &status);
	if (status != MPI_SUCCESS || sums[0] != ranks || sums[1] != 2 * ranks) {
		fprintf(stderr, "counted: the sums are wrong\n");
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
}

int main(int argc, char **argv)
{
	int provided;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (argc == 2 && !strcmp(argv[1], "c"))
		by_c();
	else if (argc == 2 && !strcmp(argv[1], "fortran"))
		by_fortran();
	else if (argc != 2 || strcmp(argv[1], "none")) {
		fprintf(stderr, "usage: counted c|fortran|none\n");
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	MPI_Finalize();
	return 0;
}
