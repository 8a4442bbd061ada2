/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nothing is lost at the end: senders hand over all they have, free their requests and finalize at
 * once; rank 0 receives everything only then.
 */
#include "tests/mpi/check.h"

enum { MESSAGES = 500, LONGEST = 2000, BUFFER = MESSAGES * (LONGEST + MPI_BSEND_OVERHEAD) };

static size_t length_of(int i)
{
	return (size_t)(i * 37 % LONGEST) + 1;
}

static void send_and_leave(void)
{
	char *attached = malloc(BUFFER), *buf = malloc(LONGEST);

	MPI_Buffer_attach(attached, BUFFER);
	for (int i = 0; i < MESSAGES; i++) {
		fill(buf, length_of(i), (uint64_t)(check_rank * MESSAGES + i));
		MPI_Bsend(buf, (int)length_of(i), MPI_BYTE, 0, 1, MPI_COMM_WORLD);
	}
	free(buf);
	MPI_Finalize();
}

static void receive_late(void)
{
	char *buf = malloc(LONGEST);

	for (int r = check_size - 1; r > 0; r--) {
		for (int i = 0; i < MESSAGES; i++) {
			MPI_Recv(buf, LONGEST, MPI_BYTE, r, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			CHECK(first_wrong(buf, length_of(i), (uint64_t)(r * MESSAGES + i)) ==
				      length_of(i),
			      "message %d of rank %d", i, r);
		}
	}
	free(buf);
	printf("OK finalize %d ranks\n", check_size);
	MPI_Finalize();
}

int main(int argc, char **argv)
{
	check_start(&argc, &argv);
	if (check_rank)
		send_and_leave();
	else
		receive_late();
	return 0;
}
