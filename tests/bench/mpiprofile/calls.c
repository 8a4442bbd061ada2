// SPDX-License-Identifier: BSD-3-Clause
/*
 * MPI calls of C programs, timed. Of a call for many ranks the bytes are those of all of them.
 */
#include "tests/bench/mpiprofile/bytes.h"
#include "tests/bench/mpiprofile/profile.h"

/* One buffer to or from one rank. */
#define SEND(name)                                                                                 \
	CALL(name, (const void *buf, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm),    \
	     (buf, n, type, to, tag, comm), bytes_of(n, type))
#define ISEND(name)                                                                                \
	CALL(name,                                                                                 \
	     (const void *buf, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm,           \
	      MPI_Request *request),                                                               \
	     (buf, n, type, to, tag, comm, request), bytes_of(n, type))
SEND(Send)
SEND(Ssend)
SEND(Rsend)
SEND(Bsend)
ISEND(Isend)
ISEND(Issend)
ISEND(Irsend)
ISEND(Ibsend)
CALL(Recv,
     (void *buf, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status_),
     (buf, n, type, from, tag, comm, status_), bytes_of(n, type))
CALL(Irecv,
     (void *buf, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request),
     (buf, n, type, from, tag, comm, request), bytes_of(n, type))
CALL(Mrecv, (void *buf, int n, MPI_Datatype type, MPI_Message *message, MPI_Status *status_),
     (buf, n, type, message, status_), bytes_of(n, type))
CALL(Imrecv, (void *buf, int n, MPI_Datatype type, MPI_Message *message, MPI_Request *request),
     (buf, n, type, message, request), bytes_of(n, type))
CALL(Sendrecv,
     (const void *out, int n, MPI_Datatype type, int to, int tag, void *in, int max,
      MPI_Datatype in_type, int from, int in_tag, MPI_Comm comm, MPI_Status *status_),
     (out, n, type, to, tag, in, max, in_type, from, in_tag, comm, status_), bytes_of(n, type))
CALL(Sendrecv_replace,
     (void *buf, int n, MPI_Datatype type, int to, int tag, int from, int in_tag, MPI_Comm comm,
      MPI_Status *status_),
     (buf, n, type, to, tag, from, in_tag, comm, status_), bytes_of(n, type))

CALL(Probe, (int from, int tag, MPI_Comm comm, MPI_Status *status_), (from, tag, comm, status_), 0)
CALL(Iprobe, (int from, int tag, MPI_Comm comm, int *flag, MPI_Status *status_),
     (from, tag, comm, flag, status_), 0)
CALL(Mprobe, (int from, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status_),
     (from, tag, comm, message, status_), 0)
CALL(Improbe,
     (int from, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status_),
     (from, tag, comm, flag, message, status_), 0)

CALL(Start, (MPI_Request * request), (request), 0)
CALL(Startall, (int n, MPI_Request requests[]), (n, requests), 0)
CALL(Wait, (MPI_Request * request, MPI_Status *status_), (request, status_), 0)
CALL(Waitall, (int n, MPI_Request requests[], MPI_Status statuses[]), (n, requests, statuses), 0)
CALL(Waitany, (int n, MPI_Request requests[], int *at, MPI_Status *status_),
     (n, requests, at, status_), 0)
CALL(Waitsome, (int n, MPI_Request requests[], int *done, int at[], MPI_Status statuses[]),
     (n, requests, done, at, statuses), 0)
CALL(Test, (MPI_Request * request, int *flag, MPI_Status *status_), (request, flag, status_), 0)
CALL(Testall, (int n, MPI_Request requests[], int *flag, MPI_Status statuses[]),
     (n, requests, flag, statuses), 0)
CALL(Testany, (int n, MPI_Request requests[], int *at, int *flag, MPI_Status *status_),
     (n, requests, at, flag, status_), 0)
CALL(Testsome, (int n, MPI_Request requests[], int *done, int at[], MPI_Status statuses[]),
     (n, requests, done, at, statuses), 0)
CALL(Cancel, (MPI_Request * request), (request), 0)
CALL(Request_free, (MPI_Request * request), (request), 0)

CALL(Barrier, (MPI_Comm comm), (comm), 0)
CALL(Bcast, (void *buf, int n, MPI_Datatype type, int root, MPI_Comm comm),
     (buf, n, type, root, comm), bytes_of(n, type))
CALL(Reduce,
     (const void *in, void *out, int n, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm),
     (in, out, n, type, op, root, comm), bytes_of(n, type))
#define FOLD(name)                                                                                 \
	CALL(name,                                                                                 \
	     (const void *in, void *out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm),      \
	     (in, out, n, type, op, comm), bytes_of(n, type))
FOLD(Allreduce)
FOLD(Scan)
FOLD(Exscan)
FOLD(Reduce_scatter_block)
CALL(Reduce_scatter,
     (const void *in, void *out, const int n[], MPI_Datatype type, MPI_Op op, MPI_Comm comm),
     (in, out, n, type, op, comm), bytes_of_all(n, type, comm))

/* A rank that works in place gives nothing away, and its arguments for sending mean nothing. */
#define UNLESS_IN_PLACE(buf, bytes) ((buf) == MPI_IN_PLACE ? 0 : (bytes))
CALL(Gather,
     (const void *in, int n, MPI_Datatype type, void *out, int out_n, MPI_Datatype out_type,
      int root, MPI_Comm comm),
     (in, n, type, out, out_n, out_type, root, comm), UNLESS_IN_PLACE(in, bytes_of(n, type)))
CALL(Gatherv,
     (const void *in, int n, MPI_Datatype type, void *out, const int out_n[], const int at[],
      MPI_Datatype out_type, int root, MPI_Comm comm),
     (in, n, type, out, out_n, at, out_type, root, comm), UNLESS_IN_PLACE(in, bytes_of(n, type)))
CALL(Scatter,
     (const void *in, int n, MPI_Datatype type, void *out, int out_n, MPI_Datatype out_type,
      int root, MPI_Comm comm),
     (in, n, type, out, out_n, out_type, root, comm),
     UNLESS_IN_PLACE(out, bytes_of(out_n, out_type)))
CALL(Scatterv,
     (const void *in, const int n[], const int at[], MPI_Datatype type, void *out, int out_n,
      MPI_Datatype out_type, int root, MPI_Comm comm),
     (in, n, at, type, out, out_n, out_type, root, comm),
     UNLESS_IN_PLACE(out, bytes_of(out_n, out_type)))
CALL(Allgather,
     (const void *in, int n, MPI_Datatype type, void *out, int out_n, MPI_Datatype out_type,
      MPI_Comm comm),
     (in, n, type, out, out_n, out_type, comm), bytes_of(out_n, out_type))
CALL(Allgatherv,
     (const void *in, int n, MPI_Datatype type, void *out, const int out_n[], const int at[],
      MPI_Datatype out_type, MPI_Comm comm),
     (in, n, type, out, out_n, at, out_type, comm), UNLESS_IN_PLACE(in, bytes_of(n, type)))
CALL(Alltoall,
     (const void *in, int n, MPI_Datatype type, void *out, int out_n, MPI_Datatype out_type,
      MPI_Comm comm),
     (in, n, type, out, out_n, out_type, comm),
     bytes_of(out_n, out_type) * (uint64_t)peers_of(comm))
CALL(Alltoallv,
     (const void *in, const int n[], const int at[], MPI_Datatype type, void *out,
      const int out_n[], const int out_at[], MPI_Datatype out_type, MPI_Comm comm),
     (in, n, at, type, out, out_n, out_at, out_type, comm), bytes_of_all(out_n, out_type, comm))
CALL(Alltoallw,
     (const void *in, const int n[], const int at[], const MPI_Datatype types[], void *out,
      const int out_n[], const int out_at[], const MPI_Datatype out_types[], MPI_Comm comm),
     (in, n, at, types, out, out_n, out_at, out_types, comm), 0)

CALL(Ibarrier, (MPI_Comm comm, MPI_Request *request), (comm, request), 0)
CALL(Ibcast, (void *buf, int n, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request *request),
     (buf, n, type, root, comm, request), bytes_of(n, type))
CALL(Ireduce,
     (const void *in, void *out, int n, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm,
      MPI_Request *request),
     (in, out, n, type, op, root, comm, request), bytes_of(n, type))
CALL(Iallreduce,
     (const void *in, void *out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
      MPI_Request *request),
     (in, out, n, type, op, comm, request), bytes_of(n, type))
CALL(Igather,
     (const void *in, int n, MPI_Datatype type, void *out, int out_n, MPI_Datatype out_type,
      int root, MPI_Comm comm, MPI_Request *request),
     (in, n, type, out, out_n, out_type, root, comm, request),
     UNLESS_IN_PLACE(in, bytes_of(n, type)))
CALL(Iscatter,
     (const void *in, int n, MPI_Datatype type, void *out, int out_n, MPI_Datatype out_type,
      int root, MPI_Comm comm, MPI_Request *request),
     (in, n, type, out, out_n, out_type, root, comm, request),
     UNLESS_IN_PLACE(out, bytes_of(out_n, out_type)))
CALL(Iallgather,
     (const void *in, int n, MPI_Datatype type, void *out, int out_n, MPI_Datatype out_type,
      MPI_Comm comm, MPI_Request *request),
     (in, n, type, out, out_n, out_type, comm, request), bytes_of(out_n, out_type))
CALL(Iallgatherv,
     (const void *in, int n, MPI_Datatype type, void *out, const int out_n[], const int at[],
      MPI_Datatype out_type, MPI_Comm comm, MPI_Request *request),
     (in, n, type, out, out_n, at, out_type, comm, request), UNLESS_IN_PLACE(in, bytes_of(n, type)))
CALL(Ialltoall,
     (const void *in, int n, MPI_Datatype type, void *out, int out_n, MPI_Datatype out_type,
      MPI_Comm comm, MPI_Request *request),
     (in, n, type, out, out_n, out_type, comm, request),
     bytes_of(out_n, out_type) * (uint64_t)peers_of(comm))
CALL(Ialltoallv,
     (const void *in, const int n[], const int at[], MPI_Datatype type, void *out,
      const int out_n[], const int out_at[], MPI_Datatype out_type, MPI_Comm comm,
      MPI_Request *request),
     (in, n, at, type, out, out_n, out_at, out_type, comm, request),
     bytes_of_all(out_n, out_type, comm))

CALL(Comm_dup, (MPI_Comm comm, MPI_Comm *made), (comm, made), 0)
CALL(Comm_split, (MPI_Comm comm, int colour, int key, MPI_Comm *made), (comm, colour, key, made), 0)
CALL(Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm *made), (comm, group, made), 0)
CALL(Comm_free, (MPI_Comm * comm), (comm), 0)
CALL(Cart_create,
     (MPI_Comm comm, int n, const int dims[], const int periods[], int reorder, MPI_Comm *made),
     (comm, n, dims, periods, reorder, made), 0)

int MPI_Init(int *argc, char ***argv)
{
	int status = PMPI_Init(argc, argv);

	profile_begin();
	return status;
}

int MPI_Init_thread(int *argc, char ***argv, int wanted, int *provided)
{
	int status = PMPI_Init_thread(argc, argv, wanted, provided);

	profile_begin();
	return status;
}

int MPI_Finalize(void)
{
	profile_end();
	return PMPI_Finalize();
}
