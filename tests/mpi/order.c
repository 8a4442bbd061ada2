// SPDX-License-Identifier: BSD-3-Clause
/*
 * Messages of very different sizes with one tag must be received in the order they were sent,
 * posted before and after their arrival.
 */
#include "tests/mpi/check.h"

enum { MESSAGES = 400, MOST = 300000 };

static size_t length_of(int i)
{
	static const size_t lengths[] = {4, 100000, 64, 9000, 300000, 1500, 20000, 4, 17000};

	return lengths[(i * 7 + i / 9) % 9];
}

static void send_all(char *buf)
{
	static MPI_Request req[MESSAGES];
	size_t at = 0;

	for (int i = 0; i < MESSAGES; i++) {
		*(int *)(buf + at) = i;
		MPI_Isend(buf + at, (int)length_of(i), MPI_BYTE, 1, 6, MPI_COMM_WORLD, &req[i]);
		at += length_of(i);
	}
	MPI_Waitall(MESSAGES, req, MPI_STATUSES_IGNORE);
}

static void receive_all(char *buf, int ahead)
{
	static MPI_Request req[MESSAGES];
	MPI_Status st;
	int count;

	for (int i = 0; i < MESSAGES + ahead; i++) {
		int old = i - ahead;

		if (i < MESSAGES)
			MPI_Irecv(buf + (size_t)(i % (ahead + 1)) * MOST, MOST, MPI_BYTE,
				  i % 3 ? 0 : MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, &req[i]);
		if (old < 0)
			continue;
		MPI_Wait(&req[old], &st);
		MPI_Get_count(&st, MPI_BYTE, &count);
		CHECK(count == (int)length_of(old), "message %d has %d bytes", old, count);
		CHECK(*(int *)(buf + (size_t)(old % (ahead + 1)) * MOST) == old, "message %d is %d",
		      old, *(int *)(buf + (size_t)(old % (ahead + 1)) * MOST));
	}
}

int main(int argc, char **argv)
{
	static const int ahead[] = {0, 1, 30};
	size_t total = 0;
	char *buf;

	check_start(&argc, &argv);
	for (int i = 0; i < MESSAGES; i++)
		total += length_of(i);
	buf = malloc(total);
	for (int round = 0; round < 3; round++) {
		if (check_rank == 0)
			send_all(buf);
		else if (check_rank == 1)
			receive_all(buf, ahead[round]);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	free(buf);
	return check_end("order");
}
