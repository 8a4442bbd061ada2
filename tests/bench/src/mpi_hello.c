// SPDX-License-Identifier: BSD-3-Clause
/*
 * mpi_hello - the least that an MPI program does: all ranks meet once, rank 0 says how many they
 * are.
 */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	int rank, size;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0)
		printf("{\"ranks\": %d}\n", size);
	MPI_Finalize();
	return 0;
}
