// SPDX-License-Identifier: BSD-3-Clause
/*
 * A rank leaves MPI after it has sent something short, and comes back only when its partner has it:
 * if a packet was lost, nobody but the component's thread can send it again. Ranks work in pairs:
 * the odd one sends, then sleeps on a pipe that its partner writes to.
 *
 * "idle N": the process has N such threads at the end, which hardly wake while all ranks are
 * outside of MPI.
 */
#include "tests/mpi/check.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	ROUNDS = 24,
	PATIENCE_MS = 20000, /* so long may a message take */
	SETTLE_S = 10,       /* at most, until all is acknowledged */
	IDLE_S = 3,
	WAKES_MAX = 12, /* in IDLE_S; one that looks at the program all the time wakes 60 times */
};

#define TASKS "/proc/self/task"

static int partner, pipe_fd;

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

/* Sleeps outside of MPI until the partner calls wake. */
static void stay_away(int round)
{
	struct pollfd end = {.fd = pipe_fd, .events = POLLIN};
	char c;

	CHECK(poll(&end, 1, PATIENCE_MS) == 1, "the message of round %d has not come", round);
	CHECK(read(pipe_fd, &c, 1) == 1, "pipe");
}

static void wake(void)
{
	CHECK(write(pipe_fd, "", 1) == 1, "pipe");
}

/*
 * Every other round the sender has a message of its own waiting meanwhile, which it has not asked
 * for yet.
 */
static void send_and_leave(int round)
{
	uint64_t number = (uint64_t)round;
	MPI_Request request;

	if (round % 4 < 2) {
		MPI_Send(&number, sizeof(number), MPI_BYTE, partner, 1, MPI_COMM_WORLD);
	} else {
		MPI_Isend(&number, sizeof(number), MPI_BYTE, partner, 1, MPI_COMM_WORLD, &request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	}
	stay_away(round);
	if (round % 2)
		MPI_Recv(&number, sizeof(number), MPI_BYTE, partner, 2, MPI_COMM_WORLD,
			 MPI_STATUS_IGNORE);
}

static void receive(int round)
{
	uint64_t number = 0;

	if (round % 2)
		MPI_Send(&number, sizeof(number), MPI_BYTE, partner, 2, MPI_COMM_WORLD);
	MPI_Recv(&number, sizeof(number), MPI_BYTE, partner, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	CHECK(number == (uint64_t)round, "message %d", (int)number);
	wake();
}

static void as_pairs(const char *program)
{
	partner = check_rank ^ 1;
	if (partner >= check_size)
		return;
	open_pipe(program);
	for (int round = 0; round < ROUNDS; round++) {
		if (check_rank % 2)
			send_and_leave(round);
		else
			receive(round);
	}
	close(pipe_fd);
}

/*
 * The first line of a file of a thread that begins with @key: what is behind it, "" without such a
 * line.
 */
static void read_line(const char *task, const char *file, const char *key, char *ret, size_t room)
{
	char name[PATH_MAX], line[256];
	FILE *f;

	*ret = 0;
	snprintf(name, sizeof(name), TASKS "/%s/%s", task, file);
	f = fopen(name, "re");
	while (f && !*ret && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)))
			snprintf(ret, room, "%s", line + strlen(key));
	if (f)
		fclose(f);
}

/* How often the component's threads have slept; their number. */
static int count_sleeps(long *ret_sleeps)
{
	DIR *tasks = opendir(TASKS);
	struct dirent *entry;
	char text[64];
	int n = 0;

	*ret_sleeps = 0;
	CHECK(tasks, TASKS);
	while ((entry = readdir(tasks))) {
		read_line(entry->d_name, "comm", "", text, sizeof(text));
		if (strcmp(text, "mtl-pm\n") != 0)
			continue;
		n++;
		read_line(entry->d_name, "status", "voluntary_ctxt_switches:", text, sizeof(text));
		*ret_sleeps += atol(text);
	}
	closedir(tasks);
	return n;
}

/* How often the threads wake in @seconds: this long is what is measured. */
static long count_wakes(int seconds)
{
	const struct timespec idle = {.tv_sec = seconds};
	long before, after;

	count_sleeps(&before);
	nanosleep(&idle, NULL);
	count_sleeps(&after);
	return after - before;
}

/*
 * The last messages of the barrier may be acknowledged only when their receiver's own thread comes
 * to it; threads rest only then.
 */
static void be_idle(int threads)
{
	long sleeps, wakes = WAKES_MAX;
	int n;

	MPI_Barrier(MPI_COMM_WORLD);
	n = count_sleeps(&sleeps);
	CHECK(n == threads, "%d threads", n);
	for (int s = 0; s < SETTLE_S && wakes > WAKES_MAX / IDLE_S; s++)
		wakes = count_wakes(1);
	wakes = count_wakes(IDLE_S);
	CHECK(wakes <= WAKES_MAX, "woken %ld times in %d s", wakes, IDLE_S);
}

int main(int argc, char **argv)
{
	check_start(&argc, &argv);
	as_pairs(argv[0]);
	if (argc > 2)
		be_idle(atoi(argv[2]));
	return check_end("away");
}
