// SPDX-License-Identifier: BSD-3-Clause
/*
 * All send modes, blocking, nonblocking and persistent, at a short, a medium and a long size; a
 * synchronous send must not end before its receive starts.
 */
#include "tests/mpi/check.h"

enum { MOST = 1 << 20 };

typedef int (*send_fn)(const void *, int, MPI_Datatype, int, int, MPI_Comm);
typedef int (*isend_fn)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

static char *buf;

static void receive(int len, int tag)
{
	memset(buf, 0, (size_t)len);
	MPI_Recv(buf, len, MPI_BYTE, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	CHECK(first_wrong(buf, (size_t)len, (uint64_t)tag) == (size_t)len, "tag %d length %d", tag,
	      len);
}

static void blocking(send_fn send, int len, int tag)
{
	if (check_rank == 0) {
		fill(buf, (size_t)len, (uint64_t)tag);
		send(buf, len, MPI_BYTE, 1, tag, MPI_COMM_WORLD);
		memset(buf, 0, (size_t)len);
	} else if (check_rank == 1) {
		receive(len, tag);
	}
}

static void nonblocking(isend_fn isend, int len, int tag)
{
	MPI_Request req;

	if (check_rank == 0) {
		fill(buf, (size_t)len, (uint64_t)tag);
		isend(buf, len, MPI_BYTE, 1, tag, MPI_COMM_WORLD, &req);
		MPI_Wait(&req, MPI_STATUS_IGNORE);
		memset(buf, 0, (size_t)len);
	} else if (check_rank == 1) {
		receive(len, tag);
	}
}

/* A ready send needs its receive posted: the receiver says so with an empty message. */
static void ready(int len, int tag, int is_blocking)
{
	MPI_Request req;

	if (check_rank == 0) {
		fill(buf, (size_t)len, (uint64_t)tag);
		MPI_Recv(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		if (is_blocking) {
			MPI_Rsend(buf, len, MPI_BYTE, 1, tag, MPI_COMM_WORLD);
		} else {
			MPI_Irsend(buf, len, MPI_BYTE, 1, tag, MPI_COMM_WORLD, &req);
			MPI_Wait(&req, MPI_STATUS_IGNORE);
		}
	} else if (check_rank == 1) {
		MPI_Irecv(buf, len, MPI_BYTE, 0, tag, MPI_COMM_WORLD, &req);
		MPI_Send(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
		MPI_Wait(&req, MPI_STATUS_IGNORE);
		CHECK(first_wrong(buf, (size_t)len, (uint64_t)tag) == (size_t)len, "tag %d", tag);
	}
}

/* The receiver waits for a go that comes only after the synchronous send was seen unfinished. */
static void synchronous(int len)
{
	MPI_Request req;
	int done;

	if (check_rank == 0) {
		fill(buf, (size_t)len, 77);
		MPI_Issend(buf, len, MPI_BYTE, 1, 77, MPI_COMM_WORLD, &req);
		for (int i = 0; i < 1000; i++) {
			MPI_Test(&req, &done, MPI_STATUS_IGNORE);
			CHECK(!done, "an Issend of %d bytes ended without a receive", len);
		}
		MPI_Send(NULL, 0, MPI_BYTE, 1, 78, MPI_COMM_WORLD);
		MPI_Wait(&req, MPI_STATUS_IGNORE);
	} else if (check_rank == 1) {
		MPI_Recv(NULL, 0, MPI_BYTE, 0, 78, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		receive(len, 77);
	}
}

static void persistent(int len)
{
	MPI_Request req[2];

	if (check_rank > 1)
		return;
	MPI_Send_init(buf, len, MPI_BYTE, 1 - check_rank, 9, MPI_COMM_WORLD, &req[0]);
	MPI_Recv_init(buf + MOST, len, MPI_BYTE, 1 - check_rank, 9, MPI_COMM_WORLD, &req[1]);
	for (int round = 0; round < 10; round++) {
		fill(buf, (size_t)len, (uint64_t)(round * 2 + check_rank));
		MPI_Startall(2, req);
		MPI_Waitall(2, req, MPI_STATUSES_IGNORE);
		CHECK(first_wrong(buf + MOST, (size_t)len,
				  (uint64_t)(round * 2 + 1 - check_rank)) == (size_t)len,
		      "round %d length %d", round, len);
	}
	MPI_Request_free(&req[0]);
	MPI_Request_free(&req[1]);
}

int main(int argc, char **argv)
{
	static const int lengths[] = {0, 1, 40, 1400, 9000, 40000, MOST};
	char *attached = malloc(2 * MOST);
	int size;

	buf = malloc(2 * MOST);
	check_start(&argc, &argv);
	MPI_Buffer_attach(attached, 2 * MOST);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		int len = lengths[i];

		blocking(MPI_Send, len, 1);
		blocking(MPI_Ssend, len, 2);
		blocking(MPI_Bsend, len, 3);
		nonblocking(MPI_Isend, len, 4);
		nonblocking(MPI_Issend, len, 5);
		nonblocking(MPI_Ibsend, len, 6);
		ready(len, 7, 1);
		ready(len, 8, 0);
		synchronous(len);
		persistent(len);
	}
	MPI_Buffer_detach(&attached, &size);
	free(attached);
	free(buf);
	return check_end("modes");
}
