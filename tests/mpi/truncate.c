/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages longer than their receive: MPI_ERR_TRUNCATE, nothing written behind the buffer, and the
 * next message is whole. Posted before and after arrival, by all protocols.
 */
#include "tests/mpi/check.h"

static const size_t lengths[] = {4, 1000, 9000, 30000, 200000, 3000000};
enum { LENGTHS = 6, GUARD = 64 };

static void receive_short(char *buf, size_t len, size_t room, int is_posted)
{
	MPI_Request req;
	MPI_Status st;
	int rc, class;

	memset(buf, 0x5a, len + GUARD);
	if (is_posted) {
		MPI_Irecv(buf, (int)room, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &req);
		MPI_Barrier(MPI_COMM_WORLD);
		rc = MPI_Wait(&req, &st);
	} else {
		MPI_Barrier(MPI_COMM_WORLD);
		MPI_Probe(1, 1, MPI_COMM_WORLD, &st);
		rc = MPI_Recv(buf, (int)room, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &st);
	}
	MPI_Error_class(rc, &class);
	CHECK(class == MPI_ERR_TRUNCATE, "%zu bytes into %zu: class %d", len, room, class);
	CHECK(first_wrong(buf, room, 3) == room, "%zu bytes into %zu", len, room);
	for (size_t i = room; i < len + GUARD; i++)
		CHECK(buf[i] == 0x5a, "byte %zu behind a receive of %zu was written", i, room);
	MPI_Recv(buf, (int)len, MPI_BYTE, 1, 2, MPI_COMM_WORLD, &st);
	CHECK(first_wrong(buf, len, 4) == len, "the message after a cut one of %zu", len);
}

static void send_long(char *buf, size_t len)
{
	MPI_Request req;

	fill(buf, len, 3);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Isend(buf, (int)len, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &req);
	MPI_Wait(&req, MPI_STATUS_IGNORE);
	fill(buf, len, 4);
	MPI_Send(buf, (int)len, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
	char *buf = malloc(lengths[LENGTHS - 1] + GUARD);

	check_start(&argc, &argv);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	for (int i = 0; i < LENGTHS; i++) {
		size_t rooms[] = {0, 1, lengths[i] / 2, lengths[i] - 1};

		for (int j = 0; j < 8; j++) {
			if (check_rank == 0)
				receive_short(buf, lengths[i], rooms[j / 2], j % 2);
			else if (check_rank == 1)
				send_long(buf, lengths[i]);
			else
				MPI_Barrier(MPI_COMM_WORLD);
		}
	}
	free(buf);
	return check_end("truncate");
}
