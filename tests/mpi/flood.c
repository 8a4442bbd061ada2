// SPDX-License-Identifier: BSD-3-Clause
/*
 * Many messages nobody receives yet must neither fill the receiver's memory without bound nor keep
 * later ones from being received first. Argument: the most MiB rank 0 may grow by (0: no limit), to
 * be run with a small mtl_pm_unexpected_limit. Argument "rounds N MS": all others send a short
 * message to rank 0 and wait for its answer, N times, and no round takes longer than MS
 * milliseconds, also where ranks share their cores.
 */
#include "tests/mpi/check.h"

#include <stdbool.h>

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

static void answer_all(int n, double most_s)
{
	int buf[3];

	for (int i = 0; i < n; i++) {
		double began = MPI_Wtime();

		for (int r = 1; r < check_size; r++) {
			MPI_Recv(buf, 3, MPI_INT, r, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			CHECK(buf[0] == i && buf[1] == r, "round %d: %d of rank %d", i, buf[0],
			      buf[1]);
		}
		for (int r = 1; r < check_size; r++)
			MPI_Send(buf, 1, MPI_INT, r, 3, MPI_COMM_WORLD);
		CHECK(MPI_Wtime() - began < most_s, "round %d took %g s", i, MPI_Wtime() - began);
	}
}

static void ask(int n)
{
	for (int i = 0; i < n; i++) {
		int buf[3] = {i, check_rank, 0};

		MPI_Send(buf, 3, MPI_INT, 0, 3, MPI_COMM_WORLD);
		MPI_Recv(buf, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		CHECK(buf[0] == i, "round %d: answer %d", i, buf[0]);
	}
}

int main(int argc, char **argv)
{
	bool is_rounds = argc == 4 && !strcmp(argv[1], "rounds");

	check_start(&argc, &argv);
	if (is_rounds && check_rank)
		ask(atoi(argv[2]));
	else if (is_rounds)
		answer_all(atoi(argv[2]), atof(argv[3]) / 1000);
	else if (check_rank)
		send_all();
	else
		receive_all(argc > 1 ? atol(argv[1]) : 0);
	return check_end("flood");
}
