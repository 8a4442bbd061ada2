// SPDX-License-Identifier: BSD-3-Clause
/*
 * Receives from any source and with any tag: right status, order per sender, and no user receive
 * ever takes a message of a collective.
 */
#include "tests/mpi/check.h"

enum { EACH = 200 };

static void gather_any(int tag)
{
	int *next = calloc((size_t)check_size, sizeof(int));

	for (int i = 0; i < (check_size - 1) * EACH; i++) {
		int value[2];
		MPI_Status st;

		MPI_Recv(value, 2, MPI_INT, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &st);
		CHECK(value[0] == st.MPI_SOURCE, "status says %d, message %d", st.MPI_SOURCE,
		      value[0]);
		CHECK(value[1] == next[value[0]], "of rank %d got %d, not %d", value[0], value[1],
		      next[value[0]]);
		CHECK(st.MPI_TAG == (tag == MPI_ANY_TAG ? value[1] % 7 : tag), "tag %d",
		      st.MPI_TAG);
		next[value[0]]++;
	}
	free(next);
}

static void send_all(int tag)
{
	for (int i = 0; i < EACH; i++) {
		int value[2] = {check_rank, i};

		MPI_Send(value, 2, MPI_INT, 0, tag == MPI_ANY_TAG ? i % 7 : tag, MPI_COMM_WORLD);
	}
}

/* A receive from anyone stays open while collectives run; only the user's message may end it. */
static void open_during_collectives(void)
{
	int value = -1, sum, one = 1, done;
	MPI_Request req;
	MPI_Status st;

	if (check_rank == 0)
		MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &req);
	for (int i = 0; i < 100; i++) {
		MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		CHECK(sum == check_size, "sum %d", sum);
	}
	if (check_rank == 0) {
		MPI_Test(&req, &done, MPI_STATUS_IGNORE);
		CHECK(!done, "a collective's message ended it");
	}
	MPI_Barrier(MPI_COMM_WORLD);
	if (check_rank == 1)
		MPI_Send(&check_rank, 1, MPI_INT, 0, 31, MPI_COMM_WORLD);
	if (check_rank == 0) {
		MPI_Wait(&req, &st);
		CHECK(value == 1 && st.MPI_SOURCE == 1 && st.MPI_TAG == 31, "value %d source %d",
		      value, st.MPI_SOURCE);
	}
}

/* Posted in the order wild, named, wild: messages must take them in that order. */
static void post_order(void)
{
	int got[3] = {-1, -1, -1};
	MPI_Request req[3];

	if (check_rank == 0) {
		MPI_Irecv(&got[0], 1, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &req[0]);
		MPI_Irecv(&got[1], 1, MPI_INT, 1, 3, MPI_COMM_WORLD, &req[1]);
		MPI_Irecv(&got[2], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
			  &req[2]);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	if (check_rank == 1) {
		for (int i = 0; i < 3; i++)
			MPI_Send(&i, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
	}
	if (check_rank == 0) {
		MPI_Waitall(3, req, MPI_STATUSES_IGNORE);
		for (int i = 0; i < 3; i++)
			CHECK(got[i] == i, "receive %d got %d", i, got[i]);
	}
}

int main(int argc, char **argv)
{
	check_start(&argc, &argv);
	for (int round = 0; round < 2; round++) {
		int tag = round ? MPI_ANY_TAG : 4;

		if (check_rank == 0)
			gather_any(tag);
		else
			send_all(tag);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	open_during_collectives();
	post_order();
	return check_end("wildcards");
}
