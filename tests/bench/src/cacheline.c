// SPDX-License-Identifier: BSD-3-Clause
/*
 * cacheline [CORE CORE [MILLISECONDS]] - how long a cache line takes from one core to another
 * (default: cores 0 and 1, 20 ms). Two threads, each pinned to a core, hand one line to and fro.
 * The median over batches, one way, in nanoseconds, is printed as one JSON line.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdalign.h>
#include <stdio.h>
#include <string.h>

#include "tests/bench/src/line.h"

/* Two lines: some processors fetch the neighbour of a line together with it. */
static alignas(128) line_t line[128 / sizeof(line_t)];
static int answering_core = 1;

static void die(const char *what, int error)
{
	fprintf(stderr, "cacheline: %s: %s\n", what, strerror(error));
	exit(1);
}

static void pin(int core)
{
	cpu_set_t set;
	int error;

	CPU_ZERO(&set);
	CPU_SET(core, &set);
	error = pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
	if (error)
		die("this thread cannot run on the chosen core", error);
}

static void *answer(void *unused)
{
	pin(answering_core);
	line_answer(line);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	double ns;
	int error;

	if (argc > 4 || argc == 2) {
		fprintf(stderr, "usage: cacheline [CORE CORE [MILLISECONDS]]\n");
		return 2;
	}
	if (argc > 2)
		answering_core = atoi(argv[2]);
	pin(argc > 2 ? atoi(argv[1]) : 0);
	error = pthread_create(&thread, NULL, answer, NULL);
	if (error)
		die("pthread_create", error);
	ns = line_ask(line, 1e6 * (argc > 3 ? atof(argv[3]) : 20));
	pthread_join(thread, NULL);
	printf("{\"one_way_ns\": %.1f}\n", ns);
	return 0;
}
