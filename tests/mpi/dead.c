// SPDX-License-Identifier: BSD-3-Clause
/*
 * Rank 1 dies by SIGKILL. A receive from it, a send to it and a long send that waits for it must
 * end with an MPI error, soon. Of a burst that meets the death, every send must end. So must the
 * receives of two long messages that were announced before. Run with an mpirun that lets the others
 * go on. Rank 0 prints and leaves without MPI_Finalize, which would wait for the dead rank. With
 * the argument "amid" rank 1 dies while a long message of it is received. With "late" rank 1 dies
 * when it has acknowledged all that it was sent: nothing on the way can show its death. With "lock"
 * rank 1 dies while it holds the lock of a window: the job must end.
 */
#include "tests/mpi/check.h"

#include <signal.h>
#include <unistd.h>

enum { BURST = 300, LENGTH = 1000 };

/* No message of that length leaves unasked, not even where ranks share cores. */
static char big[8 << 20];

static MPI_Datatype make_every_other(void)
{
	MPI_Datatype t;

	MPI_Type_vector(sizeof(big) / 64, 32, 64, MPI_BYTE, &t);
	MPI_Type_commit(&t);
	return t;
}

/* The first one can't be read, as it is not in one piece: its receiver asks for the data. */
static void announce_long(MPI_Request *requests)
{
	MPI_Datatype every_other = make_every_other();

	MPI_Isend(big, 1, every_other, 0, 5, MPI_COMM_WORLD, &requests[0]);
	MPI_Isend(big, sizeof(big) / 2, MPI_BYTE, 0, 6, MPI_COMM_WORLD, &requests[1]);
	MPI_Type_free(&every_other);
}

static void acknowledge_all(void)
{
	double until = MPI_Wtime() + 0.3;
	int flag;

	while (MPI_Wtime() < until)
		MPI_Iprobe(0, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

/* Returns how many ended with an error: those that left before the death do not. */
static int send_burst(void)
{
	MPI_Request req[BURST];
	int errors = 0;

	for (int i = 0; i < BURST; i++)
		MPI_Isend(big, LENGTH, MPI_BYTE, 1, 4, MPI_COMM_WORLD, &req[i]);
	for (int i = 0; i < BURST; i++)
		errors += MPI_Wait(&req[i], MPI_STATUS_IGNORE) != MPI_SUCCESS;
	return errors;
}

static void expect_error(int rc, const char *what)
{
	CHECK(rc != MPI_SUCCESS, "%s succeeded although its partner is dead", what);
}

/* Rank 1 dies while a long message of it is on its way, which its receiver unpacks. */
static void die_amid(void)
{
	enum { BLOCKS = 2 << 20, BLOCK = 32 };
	char *memory = calloc(2 * BLOCKS, BLOCK);
	double until = MPI_Wtime() + 0.005;
	MPI_Datatype every_other;
	MPI_Request request;
	int flag = 0;

	if (check_rank == 1) {
		MPI_Isend(memory, BLOCKS * BLOCK, MPI_BYTE, 0, 7, MPI_COMM_WORLD, &request);
		while (MPI_Wtime() < until && !flag)
			MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
		raise(SIGKILL);
	}
	MPI_Type_vector(BLOCKS, BLOCK, 2 * BLOCK, MPI_BYTE, &every_other);
	MPI_Type_commit(&every_other);
	expect_error(MPI_Recv(memory, 1, every_other, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
		     "a receive of 64 MiB");
	expect_error(MPI_Send(&flag, 1, MPI_INT, 1, 2, MPI_COMM_WORLD), "a send after it");
	free(memory);
	printf("OK dead\n");
	fflush(stdout);
	_exit(0);
}

/* No rank comes back. */
static void die_with_lock(void)
{
	static int64_t number[2];
	MPI_Win win;

	MPI_Win_create(number, sizeof(number), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	if (check_rank == 1) {
		MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
		/* what it fetches shows that it has the lock */
		MPI_Get(&number[1], 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, win);
		MPI_Win_flush(0, win);
		MPI_Send(NULL, 0, MPI_INT, 0, 1, MPI_COMM_WORLD);
		raise(SIGKILL);
	}
	MPI_Recv(NULL, 0, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
	MPI_Get(&number[1], 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, win);
	MPI_Win_flush(0, win);
	CHECK(0, "a lock that a dead rank holds was given to another one");
}

int main(int argc, char **argv)
{
	MPI_Request req[2], announced[2];
	MPI_Datatype every_other;
	int value;

	check_start(&argc, &argv);
	if (argc > 1 && !strcmp(argv[1], "lock"))
		die_with_lock();
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Barrier(MPI_COMM_WORLD);
	if (argc > 1 && !strcmp(argv[1], "amid"))
		die_amid();
	if (check_rank == 1) {
		announce_long(announced);
		MPI_Recv(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		if (argc > 1)
			acknowledge_all();
		raise(SIGKILL);
	}
	if (check_rank == 0) {
		MPI_Probe(1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Probe(1, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Irecv(&value, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, &req[0]);
		MPI_Isend(big, sizeof(big), MPI_BYTE, 1, 3, MPI_COMM_WORLD, &req[1]);
		MPI_Send(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
		if (argc == 1)
			send_burst();
		expect_error(MPI_Wait(&req[0], MPI_STATUS_IGNORE), "the posted receive");
		expect_error(MPI_Wait(&req[1], MPI_STATUS_IGNORE), "the long send");
		expect_error(MPI_Send(&value, 1, MPI_INT, 1, 2, MPI_COMM_WORLD), "a new send");
		expect_error(MPI_Recv(&value, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
			     "a new receive");
		expect_error(MPI_Recv(big, sizeof(big), MPI_BYTE, 1, 5, MPI_COMM_WORLD,
				      MPI_STATUS_IGNORE),
			     "the receive of an announced message");
		every_other = make_every_other();
		expect_error(MPI_Recv(big, 1, every_other, 1, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
			     "the receive of a message that would be read and unpacked");
		CHECK(send_burst() == BURST, "a burst to the dead");
		printf("OK dead\n");
		fflush(stdout);
	}
	_exit(0);
}
