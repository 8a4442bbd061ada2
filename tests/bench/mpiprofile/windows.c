// SPDX-License-Identifier: BSD-3-Clause
/*
 * One-sided MPI calls of C programs, timed.
 */
#include "tests/bench/mpiprofile/bytes.h"
#include "tests/bench/mpiprofile/profile.h"

CALL(Put,
     (const void *buf, int n, MPI_Datatype type, int rank, MPI_Aint at, int their_n,
      MPI_Datatype their_type, MPI_Win win),
     (buf, n, type, rank, at, their_n, their_type, win), bytes_of(n, type))
CALL(Get,
     (void *buf, int n, MPI_Datatype type, int rank, MPI_Aint at, int their_n,
      MPI_Datatype their_type, MPI_Win win),
     (buf, n, type, rank, at, their_n, their_type, win), bytes_of(n, type))
CALL(Accumulate,
     (const void *buf, int n, MPI_Datatype type, int rank, MPI_Aint at, int their_n,
      MPI_Datatype their_type, MPI_Op op, MPI_Win win),
     (buf, n, type, rank, at, their_n, their_type, op, win), bytes_of(n, type))
CALL(Get_accumulate,
     (const void *buf, int n, MPI_Datatype type, void *result, int result_n,
      MPI_Datatype result_type, int rank, MPI_Aint at, int their_n, MPI_Datatype their_type,
      MPI_Op op, MPI_Win win),
     (buf, n, type, result, result_n, result_type, rank, at, their_n, their_type, op, win),
     bytes_of(their_n, their_type))
CALL(Fetch_and_op,
     (const void *buf, void *result, MPI_Datatype type, int rank, MPI_Aint at, MPI_Op op,
      MPI_Win win),
     (buf, result, type, rank, at, op, win), bytes_of(1, type))
CALL(Compare_and_swap,
     (const void *buf, const void *expected, void *result, MPI_Datatype type, int rank, MPI_Aint at,
      MPI_Win win),
     (buf, expected, result, type, rank, at, win), bytes_of(1, type))
CALL(Rput,
     (const void *buf, int n, MPI_Datatype type, int rank, MPI_Aint at, int their_n,
      MPI_Datatype their_type, MPI_Win win, MPI_Request *request),
     (buf, n, type, rank, at, their_n, their_type, win, request), bytes_of(n, type))
CALL(Rget,
     (void *buf, int n, MPI_Datatype type, int rank, MPI_Aint at, int their_n,
      MPI_Datatype their_type, MPI_Win win, MPI_Request *request),
     (buf, n, type, rank, at, their_n, their_type, win, request), bytes_of(n, type))
CALL(Win_fence, (int assertion, MPI_Win win), (assertion, win), 0)
CALL(Win_lock, (int kind, int rank, int assertion, MPI_Win win), (kind, rank, assertion, win), 0)
CALL(Win_unlock, (int rank, MPI_Win win), (rank, win), 0)
CALL(Win_lock_all, (int assertion, MPI_Win win), (assertion, win), 0)
CALL(Win_unlock_all, (MPI_Win win), (win), 0)
CALL(Win_flush, (int rank, MPI_Win win), (rank, win), 0)
CALL(Win_flush_all, (MPI_Win win), (win), 0)
CALL(Win_flush_local, (int rank, MPI_Win win), (rank, win), 0)
CALL(Win_flush_local_all, (MPI_Win win), (win), 0)
CALL(Win_create, (void *base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, MPI_Win *win),
     (base, size, unit, info, comm, win), 0)
CALL(Win_allocate,
     (MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *win),
     (size, unit, info, comm, base, win), 0)
CALL(Win_free, (MPI_Win * win), (win), 0)
