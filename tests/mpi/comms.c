// SPDX-License-Identifier: BSD-3-Clause
/*
 * Communicators: many at once, messages with equal rank and tag kept apart, split and reordered
 * ranks, self, intercommunicators, and reuse of freed context ids.
 */
#include "tests/mpi/check.h"

enum { MANY = 300 };

static void many(void)
{
	static MPI_Comm comm[MANY];
	static MPI_Request req[MANY];
	static int got[MANY];
	int next = (check_rank + 1) % check_size;
	int prev = (check_rank + check_size - 1) % check_size;

	for (int i = 0; i < MANY; i++)
		MPI_Comm_dup(MPI_COMM_WORLD, &comm[i]);
	for (int i = 0; i < MANY; i++)
		MPI_Irecv(&got[i], 1, MPI_INT, i % 2 ? prev : MPI_ANY_SOURCE, 1, comm[i], &req[i]);
	for (int i = MANY - 1; i >= 0; i--) {
		int value = check_rank * MANY + i;

		MPI_Send(&value, 1, MPI_INT, next, 1, comm[i]);
	}
	MPI_Waitall(MANY, req, MPI_STATUSES_IGNORE);
	for (int i = 0; i < MANY; i++)
		CHECK(got[i] == prev * MANY + i, "communicator %d got %d", i, got[i]);
	for (int i = 0; i < MANY; i++)
		MPI_Comm_free(&comm[i]);
}

static void churn(void)
{
	for (int i = 0; i < 200; i++) {
		MPI_Comm comm;
		int sum;

		MPI_Comm_split(MPI_COMM_WORLD, check_rank % 2, -check_rank, &comm);
		MPI_Allreduce(&check_rank, &sum, 1, MPI_INT, MPI_SUM, comm);
		for (int r = check_rank % 2; r < check_size; r += 2)
			sum -= r;
		CHECK(sum == 0, "round %d: off by %d", i, sum);
		MPI_Comm_free(&comm);
	}
}

static void reversed(void)
{
	MPI_Comm comm;
	MPI_Status st;
	int rank, value;

	MPI_Comm_split(MPI_COMM_WORLD, 0, -check_rank, &comm);
	MPI_Comm_rank(comm, &rank);
	CHECK(rank == check_size - 1 - check_rank, "rank %d", rank);
	if (rank == 0) {
		for (int i = 1; i < check_size; i++) {
			MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 2, comm, &st);
			CHECK(value == check_size - 1 - st.MPI_SOURCE, "source %d world %d",
			      st.MPI_SOURCE, value);
		}
	} else {
		MPI_Send(&check_rank, 1, MPI_INT, 0, 2, comm);
	}
	MPI_Comm_free(&comm);
}

static void self(void)
{
	static char out[200000], in[200000];
	MPI_Request req;

	for (int len = 1; len <= 200000; len = len * 3 + 1) {
		MPI_Status st;

		fill(out, (size_t)len, (uint64_t)len);
		MPI_Irecv(in, len, MPI_BYTE, MPI_ANY_SOURCE, 3, MPI_COMM_SELF, &req);
		MPI_Send(out, len, MPI_BYTE, 0, 3, MPI_COMM_SELF);
		MPI_Wait(&req, &st);
		CHECK(st.MPI_SOURCE == 0 &&
			      first_wrong(in, (size_t)len, (uint64_t)len) == (size_t)len,
		      "posted first, length %d", len);
		MPI_Isend(out, len, MPI_BYTE, check_rank, 3, MPI_COMM_WORLD, &req);
		memset(in, 0, (size_t)len);
		MPI_Recv(in, len, MPI_BYTE, check_rank, 3, MPI_COMM_WORLD, &st);
		MPI_Wait(&req, MPI_STATUS_IGNORE);
		CHECK(first_wrong(in, (size_t)len, (uint64_t)len) == (size_t)len,
		      "sent first, length %d", len);
	}
}

static void inter(void)
{
	MPI_Comm half, bridge, merged;
	int odd = check_rank % 2, rank, peers, value, size;

	MPI_Comm_split(MPI_COMM_WORLD, odd, check_rank, &half);
	MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, odd ? 0 : 1, 4, &bridge);
	MPI_Comm_rank(half, &rank);
	MPI_Comm_remote_size(bridge, &peers);
	if (rank < peers) {
		MPI_Sendrecv(&check_rank, 1, MPI_INT, rank, 5, &value, 1, MPI_INT, rank, 5, bridge,
			     MPI_STATUS_IGNORE);
		CHECK(value == (odd ? check_rank - 1 : check_rank + 1), "partner %d", value);
	}
	MPI_Intercomm_merge(bridge, odd, &merged);
	MPI_Comm_size(merged, &size);
	CHECK(size == check_size, "merged size %d", size);
	MPI_Comm_free(&merged);
	MPI_Comm_free(&bridge);
	MPI_Comm_free(&half);
}

int main(int argc, char **argv)
{
	check_start(&argc, &argv);
	many();
	churn();
	reversed();
	self();
	inter();
	return check_end("comms");
}
