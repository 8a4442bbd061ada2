/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The time that a rank spends inside MPI calls. calls.c and fortran.c enclose each call between
 * profile_enter() and profile_leave(); profile.c counts. An outer call hides the calls that it
 * makes.
 */
#ifndef TESTS_BENCH_MPIPROFILE_PROFILE_H
#define TESTS_BENCH_MPIPROFILE_PROFILE_H

#include <stdint.h>

/* Calls by which ranks talk or wait. Others (datatypes, groups, attributes) are local and take no
 * time that a transport could save; Init and Finalize belong to the start of a job. */
// clang-format off
#define PROFILE_CALLS(X) \
	X(Send) X(Ssend) X(Rsend) X(Bsend) X(Isend) X(Issend) X(Irsend) X(Ibsend) X(Recv) \
	X(Irecv) X(Mrecv) X(Imrecv) X(Sendrecv) X(Sendrecv_replace) X(Probe) X(Iprobe) \
	X(Mprobe) X(Improbe) X(Start) X(Startall) X(Wait) X(Waitall) X(Waitany) X(Waitsome) \
	X(Test) X(Testall) X(Testany) X(Testsome) X(Cancel) X(Request_free) X(Barrier) \
	X(Bcast) X(Reduce) X(Allreduce) X(Scan) X(Exscan) X(Gather) X(Gatherv) X(Scatter) \
	X(Scatterv) X(Allgather) X(Allgatherv) X(Alltoall) X(Alltoallv) X(Alltoallw) \
	X(Reduce_scatter) X(Reduce_scatter_block) X(Ibarrier) X(Ibcast) X(Ireduce) \
	X(Iallreduce) X(Igather) X(Iscatter) X(Iallgather) X(Iallgatherv) X(Ialltoall) \
	X(Ialltoallv) X(Put) X(Get) X(Accumulate) X(Get_accumulate) X(Fetch_and_op) \
	X(Compare_and_swap) X(Rput) X(Rget) X(Win_fence) X(Win_lock) X(Win_unlock) \
	X(Win_lock_all) X(Win_unlock_all) X(Win_flush) X(Win_flush_all) X(Win_flush_local) \
	X(Win_flush_local_all) X(Win_create) X(Win_allocate) X(Win_free) X(Comm_dup) \
	X(Comm_split) X(Comm_create) X(Comm_free) X(Cart_create)
// clang-format on

enum profile_call {
#define PROFILE_ENUM(name) PROFILE_##name,
	PROFILE_CALLS(PROFILE_ENUM)
#undef PROFILE_ENUM
		PROFILE_CALL_COUNT
};

struct profile_scope {
	uint64_t from_ns; /* 0: inside another call, which counts for both */
};

/*
 * Any thread may call these. @bytes is what the rank hands to the call, 0 where there are no data.
 */
struct profile_scope profile_enter(void);
void profile_leave(struct profile_scope scope, enum profile_call call, uint64_t bytes);

/* Init has returned, and Finalize is about to be called: the rank's counts are written. */
void profile_begin(void);
void profile_end(void);

/* MPI_@name of a C program: @bytes is an expression of @params. */
#define CALL(name, params, args, bytes)                                                            \
	int MPI_##name params                                                                      \
	{                                                                                          \
		struct profile_scope scope = profile_enter();                                      \
		int status = PMPI_##name args;                                                     \
                                                                                                   \
		profile_leave(scope, PROFILE_##name, bytes);                                       \
		return status;                                                                     \
	}

#endif
