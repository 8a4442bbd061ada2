// SPDX-License-Identifier: BSD-3-Clause
/*
 * unasked yes|no BYTES [COUNT [each]] - checks whether a message ends at its sender before its
 * receiver has asked for it by a receive. The message has that length, or is the last of a burst of
 * so many. 2 ranks. Where others run on the sender's core more messages may leave unasked, so "no"
 * repeats the message until three in a row wait for their receiver. A burst is received by as many
 * receives at once, and is repeated until three in a row are as wanted. "each" has two phases:
 * bursts received at once until they are announced, then bursts whose messages are received one by
 * one until they are as wanted.
 */
#include "tests/mpi/check.h"

#include <unistd.h>

/* for a message that leaves by itself, and for "no" to hold so often in a row: */
#define LIMIT_S 20.0
#define LATE_US 100000
#define IN_ROW 3
#define SHORT_S 0.5 /* one that waits for its receiver can't end in any time */
#define COUNT_MOST 256

enum { DATA, GO };

static MPI_Request requests[COUNT_MOST];
static int count = 1, is_each;

/* Has the last send ended before the receiver, which waits for our word, has posted a receive? */
static int ends_unasked(char *data, int bytes, double limit)
{
	double end = MPI_Wtime() + limit;
	int has_ended = 0;

	for (int i = 0; i < count; i++)
		MPI_Isend(data, bytes, MPI_CHAR, 1, DATA, MPI_COMM_WORLD, &requests[i]);
	while (!has_ended && MPI_Wtime() < end)
		MPI_Test(&requests[count - 1], &has_ended, MPI_STATUS_IGNORE);
	return has_ended;
}

static double limit_of(int is_wanted)
{
	return is_wanted && count == 1 ? LIMIT_S : SHORT_S;
}

/* The receiver's go says whether another message follows. */
static void send_first(char *data, int bytes, int is_wanted)
{
	int has_ended, is_next, in_row = 0, wanted_in_row = is_wanted && count == 1 ? 1 : IN_ROW;
	double end = MPI_Wtime() + LIMIT_S;

	fill(data, (size_t)bytes, 7);
	do {
		has_ended = ends_unasked(data, bytes, limit_of(is_wanted));
		in_row = has_ended == is_wanted ? in_row + 1 : 0;
		is_next = in_row < wanted_in_row && MPI_Wtime() < end;
		MPI_Send(&is_next, 1, MPI_INT, 1, GO, MPI_COMM_WORLD);
		MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
	} while (is_next);
	CHECK(in_row == wanted_in_row, "%d of %d bytes, ended before the receive: %d", count, bytes,
	      has_ended);
}

static void receive_all(char *data, int bytes)
{
	for (int i = 0; i < count; i++) {
		MPI_Irecv(data + (size_t)i * (size_t)bytes, bytes, MPI_CHAR, 0, DATA,
			  MPI_COMM_WORLD, &requests[i]);
		if (is_each)
			MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
	}
	MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
}

static void receive_late(char *data, int bytes)
{
	int is_next;

	do {
		MPI_Recv(&is_next, 1, MPI_INT, 0, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		memset(data, 0, (size_t)bytes * (size_t)count);
		receive_all(data, bytes);
		for (int i = 0; i < count; i++)
			CHECK(first_wrong(data + (size_t)i * (size_t)bytes, (size_t)bytes, 7) ==
				      (size_t)bytes,
			      "message %d of %d bytes is wrong", i, bytes);
	} while (is_next);
}

/* The sender yields while it waits, and hears that Open MPI yields as well. */
static void wait_once(void)
{
	if (check_rank)
		usleep(LATE_US);
	MPI_Barrier(MPI_COMM_WORLD);
}

static void run_phase(char *data, int bytes, int is_wanted)
{
	if (check_rank == 0)
		send_first(data, bytes, is_wanted);
	else
		receive_late(data, bytes);
}

int main(int argc, char **argv)
{
	int bytes, is_wanted, has_each;
	char *data;

	check_start(&argc, &argv);
	CHECK(argc >= 3 && check_size == 2, "say yes or no, and bytes; start 2 ranks");
	is_wanted = !strcmp(argv[1], "yes");
	bytes = atoi(argv[2]);
	if (argc > 3)
		count = atoi(argv[3]);
	has_each = argc > 4 && !strcmp(argv[4], "each");
	CHECK(count >= 1 && count <= COUNT_MOST, "%d messages", count);
	data = malloc((size_t)bytes * (size_t)count);
	CHECK(data, "no memory for %d bytes", bytes);
	wait_once();
	if (has_each)
		run_phase(data, bytes, 0);
	is_each = has_each;
	run_phase(data, bytes, is_wanted);
	free(data);
	return check_end("unasked");
}
