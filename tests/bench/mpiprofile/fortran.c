// SPDX-License-Identifier: BSD-3-Clause
/*
 * MPI calls of Fortran programs (mpif.h, and "use mpi"), timed. Open MPI's Fortran library calls
 * PMPI_* directly, so what C programs call is not enough. Programs that "use mpi_f08" are not seen.
 *
 * All arguments are addresses. The last one is that of the status.
 */
#include "tests/bench/mpiprofile/bytes.h"
#include "tests/bench/mpiprofile/profile.h"

#define P1 (void *a0)
#define P2 (void *a0, void *a1)
#define P3 (void *a0, void *a1, void *a2)
#define P4 (void *a0, void *a1, void *a2, void *a3)
#define P5 (void *a0, void *a1, void *a2, void *a3, void *a4)
#define P6 (void *a0, void *a1, void *a2, void *a3, void *a4, void *a5)
#define P7 (void *a0, void *a1, void *a2, void *a3, void *a4, void *a5, void *a6)
#define P8 (void *a0, void *a1, void *a2, void *a3, void *a4, void *a5, void *a6, void *a7)
#define P9                                                                                         \
	(void *a0, void *a1, void *a2, void *a3, void *a4, void *a5, void *a6, void *a7, void *a8)
#define P10                                                                                        \
	(void *a0, void *a1, void *a2, void *a3, void *a4, void *a5, void *a6, void *a7, void *a8, \
	 void *a9)
#define P13                                                                                        \
	(void *a0, void *a1, void *a2, void *a3, void *a4, void *a5, void *a6, void *a7, void *a8, \
	 void *a9, void *a10, void *a11, void *a12)
#define A1 (a0)
#define A2 (a0, a1)
#define A3 (a0, a1, a2)
#define A4 (a0, a1, a2, a3)
#define A5 (a0, a1, a2, a3, a4)
#define A6 (a0, a1, a2, a3, a4, a5)
#define A7 (a0, a1, a2, a3, a4, a5, a6)
#define A8 (a0, a1, a2, a3, a4, a5, a6, a7)
#define A9 (a0, a1, a2, a3, a4, a5, a6, a7, a8)
#define A10 (a0, a1, a2, a3, a4, a5, a6, a7, a8, a9)
#define A13 (a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12)

/* A C program has no Fortran library, and calls none of these: hence weak. */
#define FORTRAN(name, lower, n, bytes)                                                             \
	extern void pmpi_##lower##_ P##n __attribute__((weak));                                    \
	extern void mpi_##lower##_ P##n;                                                           \
	void mpi_##lower##_ P##n                                                                   \
	{                                                                                          \
		struct profile_scope scope = profile_enter();                                      \
                                                                                                   \
		pmpi_##lower##_ A##n;                                                              \
		profile_leave(scope, PROFILE_##name, bytes);                                       \
	}

static uint64_t bytes_at(const void *count, const void *type)
{
	return bytes_of(*(const MPI_Fint *)count, PMPI_Type_f2c(*(const MPI_Fint *)type));
}

static uint64_t bytes_at_all(const void *counts, const void *type, const void *comm)
{
	return bytes_of_all(counts, PMPI_Type_f2c(*(const MPI_Fint *)type),
			    PMPI_Comm_f2c(*(const MPI_Fint *)comm));
}

static uint64_t peers_at(const void *comm)
{
	return (uint64_t)peers_of(PMPI_Comm_f2c(*(const MPI_Fint *)comm));
}

FORTRAN(Send, send, 7, bytes_at(a1, a2))
FORTRAN(Ssend, ssend, 7, bytes_at(a1, a2))
FORTRAN(Rsend, rsend, 7, bytes_at(a1, a2))
FORTRAN(Bsend, bsend, 7, bytes_at(a1, a2))
FORTRAN(Isend, isend, 8, bytes_at(a1, a2))
FORTRAN(Issend, issend, 8, bytes_at(a1, a2))
FORTRAN(Irsend, irsend, 8, bytes_at(a1, a2))
FORTRAN(Ibsend, ibsend, 8, bytes_at(a1, a2))
FORTRAN(Recv, recv, 8, bytes_at(a1, a2))
FORTRAN(Irecv, irecv, 8, bytes_at(a1, a2))
FORTRAN(Sendrecv, sendrecv, 13, bytes_at(a1, a2))
FORTRAN(Sendrecv_replace, sendrecv_replace, 10, bytes_at(a1, a2))
FORTRAN(Probe, probe, 5, 0)
FORTRAN(Iprobe, iprobe, 6, 0)
FORTRAN(Start, start, 2, 0)
FORTRAN(Startall, startall, 3, 0)
FORTRAN(Wait, wait, 3, 0)
FORTRAN(Waitall, waitall, 4, 0)
FORTRAN(Waitany, waitany, 5, 0)
FORTRAN(Waitsome, waitsome, 6, 0)
FORTRAN(Test, test, 4, 0)
FORTRAN(Testall, testall, 5, 0)
FORTRAN(Testany, testany, 6, 0)
FORTRAN(Testsome, testsome, 6, 0)
FORTRAN(Cancel, cancel, 2, 0)
FORTRAN(Request_free, request_free, 2, 0)
FORTRAN(Barrier, barrier, 2, 0)
FORTRAN(Bcast, bcast, 6, bytes_at(a1, a2))
FORTRAN(Reduce, reduce, 8, bytes_at(a2, a3))
FORTRAN(Allreduce, allreduce, 7, bytes_at(a2, a3))
FORTRAN(Scan, scan, 7, bytes_at(a2, a3))
FORTRAN(Exscan, exscan, 7, bytes_at(a2, a3))
FORTRAN(Reduce_scatter_block, reduce_scatter_block, 7, bytes_at(a2, a3))
FORTRAN(Reduce_scatter, reduce_scatter, 7, bytes_at_all(a2, a3, a5))
FORTRAN(Gather, gather, 9, bytes_at(a1, a2))
FORTRAN(Gatherv, gatherv, 10, bytes_at(a1, a2))
FORTRAN(Scatter, scatter, 9, bytes_at(a4, a5))
FORTRAN(Scatterv, scatterv, 10, bytes_at(a5, a6))
FORTRAN(Allgather, allgather, 8, bytes_at(a4, a5))
FORTRAN(Allgatherv, allgatherv, 9, bytes_at(a1, a2))
FORTRAN(Alltoall, alltoall, 8, bytes_at(a4, a5) * peers_at(a6))
FORTRAN(Alltoallv, alltoallv, 10, bytes_at_all(a5, a7, a8))
FORTRAN(Alltoallw, alltoallw, 10, 0)
FORTRAN(Ibarrier, ibarrier, 3, 0)
FORTRAN(Ibcast, ibcast, 7, bytes_at(a1, a2))
FORTRAN(Ireduce, ireduce, 9, bytes_at(a2, a3))
FORTRAN(Iallreduce, iallreduce, 8, bytes_at(a2, a3))
FORTRAN(Ialltoall, ialltoall, 9, bytes_at(a4, a5) * peers_at(a6))
FORTRAN(Put, put, 9, bytes_at(a1, a2))
FORTRAN(Get, get, 9, bytes_at(a1, a2))
FORTRAN(Accumulate, accumulate, 10, bytes_at(a1, a2))
FORTRAN(Win_fence, win_fence, 3, 0)
FORTRAN(Win_lock, win_lock, 5, 0)
FORTRAN(Win_unlock, win_unlock, 3, 0)
FORTRAN(Win_create, win_create, 7, 0)
FORTRAN(Win_free, win_free, 2, 0)
FORTRAN(Comm_dup, comm_dup, 3, 0)
FORTRAN(Comm_split, comm_split, 5, 0)
FORTRAN(Comm_create, comm_create, 4, 0)
FORTRAN(Comm_free, comm_free, 2, 0)
FORTRAN(Cart_create, cart_create, 7, 0)

extern void pmpi_init_(void *status) __attribute__((weak));
extern void pmpi_init_thread_(void *wanted, void *provided, void *status) __attribute__((weak));
extern void pmpi_finalize_(void *status) __attribute__((weak));
extern void mpi_init_(void *status);
extern void mpi_init_thread_(void *wanted, void *provided, void *status);
extern void mpi_finalize_(void *status);

void mpi_init_(void *status)
{
	pmpi_init_(status);
	profile_begin();
}

void mpi_init_thread_(void *wanted, void *provided, void *status)
{
	pmpi_init_thread_(wanted, provided, status);
	profile_begin();
}

void mpi_finalize_(void *status)
{
	profile_end();
	pmpi_finalize_(status);
}
