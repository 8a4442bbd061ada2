// SPDX-License-Identifier: BSD-3-Clause
/*
 * memory kept|returned - allocates, writes and frees buffers as a collective operation does, and
 * checks whether their pages stay with the process from one round to the next.
 */
#include "tests/mpi/check.h"

#include <sys/resource.h>

#define BUFFERS 3
#define BUFFER_BYTES 300000
#define ROUNDS 100
#define PAGES (BUFFERS * BUFFER_BYTES / 4096)

static void round_of_buffers(void)
{
	char *buffers[BUFFERS];

	for (int i = 0; i < BUFFERS; i++) {
		buffers[i] = malloc(BUFFER_BYTES);
		CHECK(buffers[i], "no memory for %d bytes", BUFFER_BYTES);
		fill(buffers[i], BUFFER_BYTES, i);
	}
	for (int i = 0; i < BUFFERS; i++)
		free(buffers[i]);
}

static long faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_minflt;
}

int main(int argc, char **argv)
{
	long before, n;

	check_start(&argc, &argv);
	CHECK(argc == 2, "say kept or returned");
	/* the first ones find memory, and teach the C library what is usual */
	for (int i = 0; i < 3; i++)
		round_of_buffers();
	before = faults();
	for (int i = 0; i < ROUNDS; i++)
		round_of_buffers();
	n = faults() - before;
	if (!strcmp(argv[1], "kept"))
		CHECK(n < PAGES, "%ld page faults in %d rounds of %d pages", n, ROUNDS, PAGES);
	else
		CHECK(n > ROUNDS * PAGES / 2, "%ld page faults in %d rounds of %d pages", n, ROUNDS,
		      PAGES);
	return check_end("memory");
}
