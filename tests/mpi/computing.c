// SPDX-License-Identifier: BSD-3-Clause
/*
 * A rank that computes after it has started a long message does not delay its peer: needs the
 * progress thread. The first message of a program, one after messages without computation, and a
 * process that has forked. With the argument "abort" rank 1 aborts with 3 meanwhile. With "window"
 * rank 0 reaches memory of rank 1 meanwhile; with "direct" it does that by RDMA, which needs no
 * thread, and carries out no atomic operation.
 */
#include "tests/mpi/check.h"

#include <sys/wait.h>
#include <unistd.h>

#define BYTES (1 << 20)
#define COMPUTED_S 0.6 /* well above what a peer may wait */
#define DELAY_MAX_S 0.3
#define QUIET 200 /* messages that teach the thread that nobody computes */

/* Without a call of MPI that makes progress. */
static void compute(void)
{
	double until = MPI_Wtime() + COMPUTED_S;

	while (MPI_Wtime() < until)
		;
}

/* Rank 1 starts and computes, rank 0 waits for the other end of it. */
static void exchange(char *buf, int sender, int tag, int computes)
{
	MPI_Request request;
	double since;

	MPI_Barrier(MPI_COMM_WORLD);
	if (check_rank > 1)
		return;
	if (check_rank == sender)
		fill(buf, BYTES, (uint64_t)tag);
	since = MPI_Wtime();
	if (check_rank == sender)
		MPI_Isend(buf, BYTES, MPI_BYTE, !sender, tag, MPI_COMM_WORLD, &request);
	else
		MPI_Irecv(buf, BYTES, MPI_BYTE, sender, tag, MPI_COMM_WORLD, &request);
	if (check_rank == 1 && computes)
		compute();
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	if (check_rank == 0 && computes)
		CHECK(MPI_Wtime() - since < DELAY_MAX_S,
		      "waited %.3f s for the rank that computes, which %s", MPI_Wtime() - since,
		      sender ? "sends" : "receives");
	if (check_rank != sender)
		CHECK(first_wrong(buf, BYTES, (uint64_t)tag) == BYTES, "message %d", tag);
}

/* While the thread serves a message. */
static void abort_at_work(char *buf)
{
	MPI_Request request;

	if (check_rank == 1) {
		MPI_Irecv(buf, BYTES, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &request);
		MPI_Abort(MPI_COMM_WORLD, 3);
	}
	MPI_Send(buf, BYTES, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
	MPI_Barrier(MPI_COMM_WORLD);
}

static void reach(char *buf, int is_direct)
{
	int64_t one = 1, *number = (int64_t *)buf, before = 0;
	char first = 0;
	double since;
	MPI_Win win;

	fill(buf, BYTES, 1);
	*number = 40;
	MPI_Win_create(buf, BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_lock_all(0, win);
	/* the first use of a window asks its owner for the key of its memory */
	if (is_direct && check_rank == 0) {
		MPI_Get(&first, 1, MPI_BYTE, 1, 8, 1, MPI_BYTE, win);
		MPI_Win_flush(1, win);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	since = MPI_Wtime();
	if (check_rank == 0) {
		char *other = malloc(BYTES);

		MPI_Get(other, BYTES, MPI_BYTE, 1, 0, BYTES, MPI_BYTE, win);
		MPI_Win_flush(1, win);
		CHECK(!memcmp(other, buf, BYTES), "other bytes than those of rank 1");
		MPI_Put(other + 16, BYTES - 16, MPI_BYTE, 1, 16, BYTES - 16, MPI_BYTE, win);
		MPI_Put(&one, 8, MPI_BYTE, 1, 8, 8, MPI_BYTE, win);
		MPI_Win_flush(1, win);
		if (is_direct)
			MPI_Get(&before, 8, MPI_BYTE, 1, 0, 8, MPI_BYTE, win);
		else
			MPI_Fetch_and_op(&one, &before, MPI_INT64_T, 1, 0, MPI_SUM, win);
		MPI_Win_flush(1, win);
		CHECK(before == 40, "fetched %lld", (long long)before);
		CHECK(MPI_Wtime() - since < DELAY_MAX_S,
		      "%.3f s for memory of a rank that computes", MPI_Wtime() - since);
		free(other);
	} else if (check_rank == 1) {
		compute();
		CHECK(*number == 41 - is_direct, "the number is %lld", (long long)*number);
		CHECK(number[1] == 1, "1 was put, %lld is there", (long long)number[1]);
	}
	MPI_Win_unlock_all(win);
	MPI_Win_free(&win);
}

static void fork_once(void)
{
	pid_t child = fork();
	int status;

	if (!child)
		_exit(0);
	CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0, "child %d",
	      (int)child);
}

int main(int argc, char **argv)
{
	char *buf = malloc(BYTES);

	check_start(&argc, &argv);
	if (argc > 1 && strcmp(argv[1], "abort") != 0) {
		reach(buf, !strcmp(argv[1], "direct"));
		free(buf);
		return check_end("computing");
	}
	if (argc > 1)
		abort_at_work(buf);
	exchange(buf, 1, 1, 1);
	exchange(buf, 0, 2, 1);
	for (int i = 0; i < QUIET; i++)
		exchange(buf, i & 1, 3 + i, 0);
	exchange(buf, 1, 1, 1);
	exchange(buf, 0, 2, 1);
	fork_once();
	exchange(buf, 1, 1, 1);
	free(buf);
	return check_end("computing");
}
