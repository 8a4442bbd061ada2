// SPDX-License-Identifier: BSD-3-Clause
/*
 * linewatch FILE below|above NS COMMAND... - runs a command as each of two ranks of mpirun, and
 * measures the cache line time between the ranks' cores right before and right after it. Both ranks
 * see FILE, which holds 4096 zero bytes. First they wait, a few seconds at most, for a cache line
 * time below NS, or of NS or more. Then each runs COMMAND. Rank 0 prints the two times as one JSON
 * line behind what COMMAND prints. The exit status is COMMAND's.
 *
 * mpirun leaves both cores idle while it starts, and the state of a virtual machine changes then.
 * So a measurement before mpirun says little.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/bench/src/line.h"

#define RANKS 2
#define PROBE_NS 5e5 /* time of one measurement */
#define NAP_US 20000 /* idle cores are what lets the state change */
#define NAPS_MAX 200 /* so that waiting takes 4 s at most */
#define MEET_S 30    /* until a rank gives the other one up */
#define FAILED 120   /* exit status */

enum { UNDECIDED, NAP, GO };

struct shared {
	alignas(256) line_t line;
	alignas(256) _Atomic int joined;  /* ranks that came to a meeting, over all meetings */
	alignas(256) _Atomic int verdict; /* of rank 0, for the other rank */
};

static struct shared *shared;
static bool is_first; /* rank 0 asks, rank 1 answers */

static void die(const char *what)
{
	fprintf(stderr, "linewatch: %s: %s\n", what, strerror(errno));
	exit(FAILED);
}

static void map_shared(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		die(path);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (shared == MAP_FAILED)
		die(path);
	close(fd);
}

/* Waits until both ranks have come for the @turn-th time. */
static void meet(int turn)
{
	double end = line_now_ns() + MEET_S * 1e9;

	atomic_fetch_add(&shared->joined, 1);
	while (atomic_load(&shared->joined) < RANKS * turn)
		if (line_now_ns() > end) {
			errno = ETIMEDOUT;
			die("the other rank did not come");
		}
}

/* The cache line time, at rank 0. */
static double probe(void)
{
	if (is_first)
		return line_ask(&shared->line, PROBE_NS);
	line_answer(&shared->line);
	return 0;
}

/* Both ranks return the verdict of rank 0; that of rank 1 is ignored. */
static int agree(int verdict)
{
	if (is_first) {
		atomic_store(&shared->verdict, verdict);
		while (atomic_load(&shared->verdict) != UNDECIDED)
			;
		return verdict;
	}
	do {
		verdict = atomic_load(&shared->verdict);
	} while (verdict == UNDECIDED);
	atomic_store(&shared->verdict, UNDECIDED);
	return verdict;
}

/* Waits for the state; the last measurement. */
static double settle(bool is_below, double limit_ns)
{
	for (int naps = 0;; naps++) {
		double ns = probe();
		bool is_good = is_below ? ns < limit_ns : ns >= limit_ns;

		if (agree(is_good || naps == NAPS_MAX ? GO : NAP) == GO)
			return ns;
		usleep(NAP_US);
	}
}

/* Exit status of the command. */
static int run(char **command)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		execvp(command[0], command);
		die(command[0]);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		die(command[0]);
	return WIFEXITED(status) ? WEXITSTATUS(status) : FAILED;
}

int main(int argc, char **argv)
{
	const char *rank = getenv("OMPI_COMM_WORLD_RANK");
	double before, after;
	int status;

	if (argc < 5 || (strcmp(argv[2], "below") && strcmp(argv[2], "above")) || !rank) {
		fprintf(stderr, "usage: mpirun -np 2 linewatch FILE below|above NS COMMAND...\n");
		return FAILED;
	}
	is_first = atoi(rank) == 0;
	map_shared(argv[1]);
	meet(1);
	before = settle(!strcmp(argv[2], "below"), atof(argv[3]));
	status = run(argv + 4);
	if (status)
		return status;
	meet(2);
	after = probe();
	if (is_first)
		printf("{\"line_ns\": [%.1f, %.1f]}\n", before, after);
	return 0;
}
