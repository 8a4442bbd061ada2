/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How many bytes a rank hands to an MPI call. Arguments that a call ignores, as MPI_IN_PLACE
 * allows, give 0 here.
 */
#ifndef TESTS_BENCH_MPIPROFILE_BYTES_H
#define TESTS_BENCH_MPIPROFILE_BYTES_H

#include <mpi.h>
#include <stdint.h>

static inline uint64_t bytes_of(int count, MPI_Datatype type)
{
	int size;

	if (count <= 0 || !type || type == MPI_DATATYPE_NULL)
		return 0;
	return PMPI_Type_size(type, &size) || size < 0 ? 0 : (uint64_t)count * (uint64_t)size;
}

/* Ranks that a collective call of @comm sends to. */
static inline int peers_of(MPI_Comm comm)
{
	int is_inter, peers;

	PMPI_Comm_test_inter(comm, &is_inter);
	if (is_inter)
		PMPI_Comm_remote_size(comm, &peers);
	else
		PMPI_Comm_size(comm, &peers);
	return peers;
}

/* The blocks of all ranks of @comm. */
static inline uint64_t bytes_of_all(const int *counts, MPI_Datatype type, MPI_Comm comm)
{
	int peers = peers_of(comm);
	uint64_t bytes = 0;

	for (int i = 0; i < peers; i++)
		bytes += bytes_of(counts[i], type);
	return bytes;
}

#endif
