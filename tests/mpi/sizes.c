// SPDX-License-Identifier: BSD-3-Clause
/*
 * Every protocol by its size: 0 bytes to 4 MiB around all powers of two, blocking both ways, then
 * in windows of nonblocking messages; every byte is checked.
 */
#include "tests/mpi/check.h"

enum { MOST = 4 << 20, WINDOW = 16 };

static void one_way(int from, int to, char *buf, size_t len, int tag)
{
	MPI_Status st;
	int count;

	if (check_rank == from) {
		fill(buf, len, (uint64_t)tag);
		MPI_Send(buf, (int)len, MPI_BYTE, to, tag, MPI_COMM_WORLD);
	} else if (check_rank == to) {
		memset(buf, 0xee, len + 1);
		MPI_Recv(buf, MOST + 64, MPI_BYTE, from, tag, MPI_COMM_WORLD, &st);
		MPI_Get_count(&st, MPI_BYTE, &count);
		CHECK(count == (int)len, "%d, not %zu", count, len);
		CHECK(st.MPI_SOURCE == from && st.MPI_TAG == tag, "source %d tag %d", st.MPI_SOURCE,
		      st.MPI_TAG);
		CHECK(first_wrong(buf, len, (uint64_t)tag) == len, "length %zu", len);
		CHECK((unsigned char)buf[len] == 0xee, "wrote behind %zu", len);
	}
}

static void window(char *buf, char *got, size_t len)
{
	MPI_Request req[2 * WINDOW];
	int next = (check_rank + 1) % check_size;
	int prev = (check_rank + check_size - 1) % check_size;

	for (int i = 0; i < WINDOW; i++)
		fill(buf + i * len, len, (uint64_t)(check_rank * WINDOW + i));
	for (int i = 0; i < WINDOW; i++)
		MPI_Irecv(got + i * len, (int)len, MPI_BYTE, prev, 5, MPI_COMM_WORLD, &req[i]);
	for (int i = 0; i < WINDOW; i++)
		MPI_Isend(buf + i * len, (int)len, MPI_BYTE, next, 5, MPI_COMM_WORLD,
			  &req[WINDOW + i]);
	MPI_Waitall(2 * WINDOW, req, MPI_STATUSES_IGNORE);
	for (int i = 0; i < WINDOW; i++)
		CHECK(first_wrong(got + i * len, len, (uint64_t)(prev * WINDOW + i)) == len,
		      "message %d of %zu bytes", i, len);
}

int main(int argc, char **argv)
{
	char *buf = malloc(MOST + 64), *got = malloc(MOST + 64);
	int tag = 0;

	check_start(&argc, &argv);
	for (size_t len = 1; len <= MOST; len *= 2) {
		for (int delta = -1; delta <= 1; delta++, tag++) {
			one_way(0, 1, buf, len + (size_t)delta, tag);
			one_way(1, 0, buf, len + (size_t)delta, tag);
		}
	}
	for (size_t len = 1; len * WINDOW <= MOST; len *= 3)
		window(buf, got, len);
	free(buf);
	free(got);
	return check_end("sizes");
}
