// SPDX-License-Identifier: BSD-3-Clause
/*
 * unasked yes|no BYTES - checks whether a message of that length ends at its sender before its receiver has asked for it
 * by a receive. 2 ranks. Where others run on the sender's core more messages may leave unasked, so "no" repeats the
 * message until three in a row wait for their receiver.
 */
#include "tests/mpi/check.h"

#include <unistd.h>

#define LIMIT_S                                                                                    \
	20.0 /* for a message that leaves by itself, and for "no" to hold so often in a row: */
#define LATE_US 100000
#define IN_ROW 3
#define SHORT_S 0.5 /* one that waits for its receiver can't end in any time */

enum { DATA, GO };

/* Has the send ended before the receiver, which waits for our word, has posted a receive? */
static int ends_unasked(char *data, int bytes, double limit, MPI_Request *request)
{
	double end = MPI_Wtime() + limit;
	int has_ended = 0;

	MPI_Isend(data, bytes, MPI_CHAR, 1, DATA, MPI_COMM_WORLD, request);
	while (!has_ended && MPI_Wtime() < end)
		MPI_Test(request, &has_ended, MPI_STATUS_IGNORE);
	return has_ended;
}

/* The receiver's go says whether another message follows. */
static void send_first(char *data, int bytes, int is_wanted)
{
	double end = MPI_Wtime() + LIMIT_S;
	int has_ended, is_next, in_row = 0;
	MPI_Request request;

	fill(data, (size_t)bytes, 7);
	do {
		has_ended = ends_unasked(data, bytes, is_wanted ? LIMIT_S : SHORT_S, &request);
		in_row = has_ended == is_wanted ? in_row + 1 : 0;
		is_next = !is_wanted && in_row < IN_ROW && MPI_Wtime() < end;
		MPI_Send(&is_next, 1, MPI_INT, 1, GO, MPI_COMM_WORLD);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	} while (is_next);
	CHECK(in_row >= (is_wanted ? 1 : IN_ROW), "%d bytes, ended before the receive: %d", bytes,
	      has_ended);
}

static void receive_late(char *data, int bytes)
{
	int is_next;

	do {
		MPI_Recv(&is_next, 1, MPI_INT, 0, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Recv(data, bytes, MPI_CHAR, 0, DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		CHECK(first_wrong(data, (size_t)bytes, 7) == (size_t)bytes,
		      "byte %zu of %d is wrong", first_wrong(data, (size_t)bytes, 7), bytes);
		memset(data, 0, (size_t)bytes);
	} while (is_next);
}

/* The sender yields while it waits, and hears that Open MPI yields as well. */
static void wait_once(void)
{
	if (check_rank)
		usleep(LATE_US);
	MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
	int bytes, is_wanted;
	char *data;

	check_start(&argc, &argv);
	CHECK(argc == 3 && check_size == 2, "say yes or no, and bytes; start 2 ranks");
	is_wanted = !strcmp(argv[1], "yes");
	bytes = atoi(argv[2]);
	data = malloc((size_t)bytes);
	CHECK(data, "no memory for %d bytes", bytes);
	wait_once();
	if (check_rank == 0)
		send_first(data, bytes, is_wanted);
	else
		receive_late(data, bytes);
	free(data);
	return check_end("unasked");
}
