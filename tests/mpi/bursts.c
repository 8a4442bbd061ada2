// SPDX-License-Identifier: BSD-3-Clause
/*
 * Bursts of MPI_Isend, whose messages may share packets: whatever is complete for MPI must reach
 * its receiver although the sender then does nothing of MPI any more. Ranks work in pairs, and the
 * odd one, when it has sent, sleeps on a pipe that its partner writes to when it has received
 * everything: a message that were held back would never arrive. A rank without a partner only takes
 * part in what all do together.
 */
#include "tests/mpi/check.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	BURST = 48,
	FEW = 8,
	ROUNDS = 20,
	PACKET = 1200,
	LONGEST = 3000,
	LONG = 131072,
	PATIENCE_MS = 5000
};

static char out[BURST][LONGEST], in[BURST][LONGEST];
static MPI_Request req[BURST];
static int partner, pipe_fd;

/* Short ones of many sizes, some that fill a packet, and some of several. */
static int length_of(int i)
{
	if (i % 16 == 7)
		return LONGEST - i;
	return i % 16 == 15 ? PACKET : i % 40 + 1;
}

static void start_burst(int to, int tag)
{
	for (int i = 0; i < BURST; i++) {
		fill(out[i], (size_t)length_of(i), (uint64_t)(check_rank * BURST + i));
		MPI_Isend(out[i], length_of(i), MPI_BYTE, to, tag, MPI_COMM_WORLD, &req[i]);
	}
}

static void check_message(const char *buf, int from, int i)
{
	size_t length = (size_t)length_of(i);

	CHECK(first_wrong(buf, length, (uint64_t)(from * BURST + i)) == length,
	      "message %d of rank %d", i, from);
}

static void receive(int n, int from, int tag)
{
	for (int i = 0; i < n; i++) {
		MPI_Recv(in[i], LONGEST, MPI_BYTE, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		check_message(in[i], from, i);
	}
}

static void receive_burst(int from, int tag)
{
	receive(BURST, from, tag);
}

/* The odd rank makes the pipe, beside the program: hosts of a lab have that in common. */
static void open_pipe(const char *program)
{
	char name[PATH_MAX] = "";

	if (check_rank % 2) {
		snprintf(name, sizeof(name), "%s.%d.pipe", program, (int)getpid());
		CHECK(!mkfifo(name, 0600), "%s", name);
		MPI_Send(name, sizeof(name), MPI_CHAR, partner, 0, MPI_COMM_WORLD);
	} else {
		MPI_Recv(name, sizeof(name), MPI_CHAR, partner, 0, MPI_COMM_WORLD,
			 MPI_STATUS_IGNORE);
	}
	/* Both ways, so that neither waits for the other to open it. */
	pipe_fd = open(name, O_RDWR | O_CLOEXEC);
	CHECK(pipe_fd >= 0, "%s", name);
	MPI_Sendrecv_replace(name, 1, MPI_CHAR, partner, 0, partner, 0, MPI_COMM_WORLD,
			     MPI_STATUS_IGNORE);
	if (check_rank % 2)
		unlink(name);
}

/* Sleeps, outside of MPI, until the partner calls wake. */
static void sleep_on_pipe(void)
{
	char c;

	CHECK(read(pipe_fd, &c, 1) == 1, "pipe");
}

/* False: nobody has called wake for a while. The byte is left to sleep_on_pipe. */
static bool is_woken_soon(void)
{
	struct pollfd end = {.fd = pipe_fd, .events = POLLIN};

	return poll(&end, 1, PATIENCE_MS) == 1;
}

static void wake(void)
{
	CHECK(write(pipe_fd, "", 1) == 1, "pipe");
}

/* Both have heard of what was before: how much may be on its way is no question of the case. */
static void meet(void)
{
	MPI_Sendrecv(NULL, 0, MPI_BYTE, partner, 0, NULL, 0, MPI_BYTE, partner, 0, MPI_COMM_WORLD,
		     MPI_STATUS_IGNORE);
}

static void wait_then_sleep(void)
{
	MPI_Status status[BURST];
	int is_cancelled;

	if (check_rank % 2) {
		start_burst(partner, 1);
		MPI_Cancel(&req[BURST - 1]);
		MPI_Waitall(BURST, req, status);
		MPI_Test_cancelled(&status[BURST - 1], &is_cancelled);
		CHECK(!is_cancelled, "sends are never taken back");
		sleep_on_pipe();
	} else {
		receive_burst(partner, 1);
		wake();
	}
}

/* One of the requests is waited for by tests; what lets its message go lets all go. */
static void test_then_sleep(int which)
{
	int done = 0;

	meet();
	if (check_rank % 2) {
		start_burst(partner, 2);
		while (!done)
			MPI_Test(&req[which], &done, MPI_STATUS_IGNORE);
		sleep_on_pipe();
		MPI_Waitall(BURST, req, MPI_STATUSES_IGNORE);
	} else {
		receive_burst(partner, 2);
		wake();
	}
}

/* A message of MPI_Send never waits, nor do those that were sent before it. */
static void send_then_sleep(void)
{
	int last = 4711;

	meet();
	if (check_rank % 2) {
		start_burst(partner, 3);
		MPI_Send(&last, 1, MPI_INT, partner, 4, MPI_COMM_WORLD);
		sleep_on_pipe();
		MPI_Waitall(BURST, req, MPI_STATUSES_IGNORE);
	} else {
		MPI_Recv(&last, 1, MPI_INT, partner, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		receive_burst(partner, 3);
		wake();
	}
}

/* A message of many packets that are packed, to a partner whose window has hardly opened yet. */
static void layout_then_sleep(int length)
{
	static char blocks[2 * LONG];
	MPI_Datatype every_other;

	MPI_Type_vector(length / 32, 32, 64, MPI_BYTE, &every_other);
	MPI_Type_commit(&every_other);
	if (check_rank % 2) {
		fill(blocks, sizeof(blocks), (uint64_t)length);
		MPI_Send(blocks, 1, every_other, partner, 8, MPI_COMM_WORLD);
		sleep_on_pipe();
	} else {
		static char packed[LONG], whole[2 * LONG];

		MPI_Recv(packed, length, MPI_BYTE, partner, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		fill(whole, sizeof(whole), (uint64_t)length);
		for (int i = 0; i < length / 32; i++)
			CHECK(!memcmp(packed + 32 * i, whole + 64 * i, 32), "block %d of %d", i,
			      length);
		wake();
	}
	MPI_Type_free(&every_other);
}

/*
 * Somebody waits for our receive, which is complete at once as the message is here: the answer must
 * go.
 */
static void answer_then_sleep(void)
{
	int value = 5, is_here = 0;
	MPI_Request sync;

	if (check_rank % 2) {
		while (!is_here)
			MPI_Iprobe(partner, 5, MPI_COMM_WORLD, &is_here, MPI_STATUS_IGNORE);
		start_burst(partner, 6);
		MPI_Recv(&value, 1, MPI_INT, partner, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		sleep_on_pipe();
		MPI_Waitall(BURST, req, MPI_STATUSES_IGNORE);
	} else {
		MPI_Issend(&value, 1, MPI_INT, partner, 5, MPI_COMM_WORLD, &sync);
		MPI_Wait(&sync, MPI_STATUS_IGNORE);
		wake();
		receive_burst(partner, 6);
	}
}

static void start_two(void)
{
	for (int i = 0; i < 2; i++) {
		fill(out[i], LONGEST, (uint64_t)(check_rank * BURST + i));
		MPI_Isend(out[i], LONGEST, MPI_BYTE, partner, 9, MPI_COMM_WORLD, &req[i]);
	}
}

/*
 * A program that works between its sends and its wait is known after some rounds: then nothing of
 * it is held, but for one burst in some hundred messages, which asks whether it still works.
 */
static void work_then_sleep(void)
{
	int n_held = 0;

	for (int round = 0; round < FEW; round++) {
		meet();
		if (check_rank % 2) {
			start_two();
			if (round < FEW / 2)
				usleep(2000);
			else
				n_held += !is_woken_soon();
			MPI_Waitall(2, req, MPI_STATUSES_IGNORE);
			if (round >= FEW / 2)
				sleep_on_pipe();
			continue;
		}
		for (int i = 0; i < 2; i++) {
			MPI_Recv(in[i], LONGEST, MPI_BYTE, partner, 9, MPI_COMM_WORLD,
				 MPI_STATUS_IGNORE);
			CHECK(first_wrong(in[i], LONGEST, (uint64_t)(partner * BURST + i)) ==
				      LONGEST,
			      "message %d", i);
		}
		if (round >= FEW / 2)
			wake();
	}
	CHECK(n_held <= 1, "%d of %d bursts were held", n_held, FEW - FEW / 2);
}

static void persistent_then_sleep(void)
{
	for (int i = 0; i < BURST && check_rank % 2; i++) {
		fill(out[i], (size_t)length_of(i), (uint64_t)(check_rank * BURST + i));
		MPI_Send_init(out[i], length_of(i), MPI_BYTE, partner, 7, MPI_COMM_WORLD, &req[i]);
	}
	for (int round = 0; round < ROUNDS; round++) {
		if (check_rank % 2) {
			MPI_Startall(BURST, req);
			MPI_Waitall(BURST, req, MPI_STATUSES_IGNORE);
			sleep_on_pipe();
		} else {
			receive_burst(partner, 7);
			wake();
		}
	}
	for (int i = 0; i < BURST && check_rank % 2; i++)
		MPI_Request_free(&req[i]);
}

static void buffered_then_sleep(void)
{
	static char room[FEW * (LONGEST + MPI_BSEND_OVERHEAD)];
	int size = sizeof(room);
	char *detached;

	meet();
	if (check_rank % 2) {
		MPI_Buffer_attach(room, size);
		for (int i = 0; i < FEW; i++) {
			fill(out[i], (size_t)length_of(i), (uint64_t)(check_rank * BURST + i));
			MPI_Bsend(out[i], length_of(i), MPI_BYTE, partner, 8, MPI_COMM_WORLD);
		}
		sleep_on_pipe();
		MPI_Buffer_detach(&detached, &size);
	} else {
		receive(FEW, partner, 8);
		wake();
	}
}

static void as_pairs(const char *program)
{
	partner = check_rank ^ 1;
	if (partner >= check_size)
		return;
	open_pipe(program);
	layout_then_sleep(LONG);
	layout_then_sleep(LONG / 4);
	for (int round = 0; round < ROUNDS; round++) {
		wait_then_sleep();
		test_then_sleep(1 + round * 7 % (BURST - 1));
		send_then_sleep();
		answer_then_sleep();
		buffered_then_sleep();
	}
	work_then_sleep();
	persistent_then_sleep();
	close(pipe_fd);
}

/*
 * Everybody sends to the next two ranks, of which one may be itself, in turn or in runs of @run
 * messages.
 */
static void two_peers(int run)
{
	MPI_Request arrival[BURST];

	for (int i = 0; i < BURST; i++) {
		int skip = i / run % 2 + 1;
		int to = (check_rank + skip) % check_size;
		int from = (check_rank - skip + 2 * check_size) % check_size;

		MPI_Irecv(in[i], LONGEST, MPI_BYTE, from, 10 + skip, MPI_COMM_WORLD, &arrival[i]);
		fill(out[i], (size_t)length_of(i), (uint64_t)(check_rank * BURST + i));
		MPI_Isend(out[i], length_of(i), MPI_BYTE, to, 10 + skip, MPI_COMM_WORLD, &req[i]);
	}
	MPI_Waitall(BURST, req, MPI_STATUSES_IGNORE);
	MPI_Waitall(BURST, arrival, MPI_STATUSES_IGNORE);
	for (int i = 0; i < BURST; i++)
		check_message(in[i], (check_rank - i / run % 2 - 1 + 2 * check_size) % check_size,
			      i);
}

/* The last that is heard of all but rank 0. */
static void forget_and_leave(void)
{
	start_burst(0, 20);
	for (int i = 0; i < BURST; i++)
		MPI_Request_free(&req[i]);
	MPI_Finalize();
}

int main(int argc, char **argv)
{
	check_start(&argc, &argv);
	as_pairs(argv[0]);
	for (int round = 0; round < ROUNDS; round++)
		two_peers(1 + round % 8);
	MPI_Barrier(MPI_COMM_WORLD);
	if (check_rank) {
		forget_and_leave();
		return 0;
	}
	for (int r = check_size - 1; r > 0; r--)
		receive_burst(r, 20);
	printf("OK bursts %d ranks\n", check_size);
	MPI_Finalize();
	return 0;
}
