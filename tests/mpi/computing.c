// SPDX-License-Identifier: BSD-3-Clause
/*
 * A rank that computes after it has started a long message does not delay its peer: needs the
 * progress thread. The first message of a program, one after messages without computation, and a
 * process that has forked. With an argument: rank 1 aborts with 3 meanwhile.
 */
#include "tests/mpi/check.h"

#include <sys/wait.h>
#include <unistd.h>

#define BYTES (1 << 20)
#define COMPUTED_S 1.0
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
