// SPDX-License-Identifier: BSD-3-Clause
/*
 * Cancelling receives: those nobody sent to end cancelled, matched ones complete, others are left.
 * Sends complete.
 */
#include "tests/mpi/check.h"

static void cancel_unmatched(int source, int tag)
{
	MPI_Request req;
	MPI_Status st;
	int value = 0, cancelled;

	MPI_Irecv(&value, 1, MPI_INT, source, tag, MPI_COMM_WORLD, &req);
	MPI_Cancel(&req);
	MPI_Wait(&req, &st);
	MPI_Test_cancelled(&st, &cancelled);
	CHECK(cancelled, "source %d tag %d", source, tag);
}

/* Cancelled or received, never both and never neither. */
static void cancel_racing(void)
{
	for (int i = 0; i < 200; i++) {
		int value = -1, cancelled;
		MPI_Request req;
		MPI_Status st;

		if (check_rank == 1)
			MPI_Send(&i, 1, MPI_INT, 0, 9, MPI_COMM_WORLD);
		if (check_rank != 0)
			continue;
		MPI_Irecv(&value, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, &req);
		MPI_Cancel(&req);
		MPI_Wait(&req, &st);
		MPI_Test_cancelled(&st, &cancelled);
		if (cancelled)
			MPI_Recv(&value, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, &st);
		CHECK(value == i, "message %d is %d", i, value);
	}
}

/* A message that has left stays sent. */
static void cancel_sends(void)
{
	static char out[70000], in[70000];
	const int sizes[] = {4, 400, 4000, 70000};

	for (int i = 0; i < 400; i++) {
		int size = sizes[i % 4], cancelled = 0;
		MPI_Request req;
		MPI_Status st;

		fill(out, (size_t)size, (uint64_t)i);
		if (check_rank == 1) {
			MPI_Isend(out, size, MPI_BYTE, 0, 11, MPI_COMM_WORLD, &req);
			MPI_Cancel(&req);
			MPI_Wait(&req, &st);
			MPI_Test_cancelled(&st, &cancelled);
			CHECK(!cancelled, "message %d of %d bytes", i, size);
		}
		if (check_rank != 0)
			continue;
		MPI_Recv(in, size, MPI_BYTE, 1, 11, MPI_COMM_WORLD, &st);
		CHECK(first_wrong(in, (size_t)size, (uint64_t)i) == (size_t)size,
		      "message %d of %d bytes is wrong", i, size);
	}
}

int main(int argc, char **argv)
{
	MPI_Request keep;
	int value = 0;

	check_start(&argc, &argv);
	cancel_sends();
	if (check_rank == 0) {
		MPI_Irecv(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &keep);
		cancel_unmatched(1, 5);
		cancel_unmatched(MPI_ANY_SOURCE, 5);
		cancel_unmatched(MPI_ANY_SOURCE, MPI_ANY_TAG);
		cancel_unmatched(1, MPI_ANY_TAG);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	if (check_rank == 1) {
		int answer = 42;

		MPI_Send(&answer, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
	}
	if (check_rank == 0) {
		MPI_Wait(&keep, MPI_STATUS_IGNORE);
		CHECK(value == 42, "the receive that was kept got %d", value);
	}
	cancel_racing();
	return check_end("cancel");
}
