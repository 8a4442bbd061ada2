/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Many messages nobody receives yet must neither fill the receiver's memory without bound nor keep
 * later ones from being received first. Argument: the most MiB rank 0 may grow by (0: no limit), to be
 * run with a small mtl_pm_unexpected_limit.
 */
#include "tests/mpi/check.h"

enum { MESSAGES = 20000, LENGTH = 1000 };

/* Resident memory of this process in MiB. */
static long resident(void)
{
	long pages = 0, text = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (!f || fscanf(f, "%ld %ld", &text, &pages) != 2)
		pages = -1;
	if (f)
		fclose(f);
	return pages * 4 / 1024;
}

static void send_all(void)
{
	static MPI_Request req[MESSAGES];
	char *buf = malloc((size_t)MESSAGES * LENGTH);
	int last = 4711;

	for (int i = 0; i < MESSAGES; i++) {
		*(int *)(buf + (size_t)i * LENGTH) = i;
		MPI_Isend(buf + (size_t)i * LENGTH, LENGTH, MPI_BYTE, 0, 1, MPI_COMM_WORLD,
			  &req[i]);
	}
	MPI_Send(&last, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
	MPI_Waitall(MESSAGES, req, MPI_STATUSES_IGNORE);
	free(buf);
}

static void receive_all(long most)
{
	long before = resident(), grown;
	char buf[LENGTH];
	int last;

	for (int r = 1; r < check_size; r++) {
		MPI_Recv(&last, 1, MPI_INT, r, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		CHECK(last == 4711, "%d", last);
	}
	grown = resident() - before;
	CHECK(!most || grown <= most, "grew by %ld MiB", grown);
	for (int r = 1; r < check_size; r++) {
		for (int i = 0; i < MESSAGES; i++) {
			MPI_Recv(buf, LENGTH, MPI_BYTE, r, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			CHECK(*(int *)buf == i, "message %d of rank %d is %d", i, r, *(int *)buf);
		}
	}
}

int main(int argc, char **argv)
{
	check_start(&argc, &argv);
	if (check_rank)
		send_all();
	else
		receive_all(argc > 1 ? atol(argv[1]) : 0);
	return check_end("flood");
}
