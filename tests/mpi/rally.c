// SPDX-License-Identifier: BSD-3-Clause
/*
 * Traffic for as many seconds as the argument says, 3 unless given, or until rank 0 gets SIGUSR1:
 * rings of messages of changing size, and reductions, all checked. For tests that break something
 * meanwhile.
 */
#include "tests/mpi/check.h"

#include <signal.h>

#define LARGEST (256 << 10)

static unsigned char *out, *in;
static volatile sig_atomic_t is_enough;

static void have_enough(int number)
{
	(void)number;
	is_enough = 1;
}

static void ring(unsigned int round)
{
	int size = (int)((round * 7919u) % (round % 16 ? 2048 : LARGEST)) + 1;
	int to = (check_rank + 1) % check_size, from = (check_rank + check_size - 1) % check_size;
	size_t wrong;

	fill(out, (size_t)size, round * 64u + (unsigned int)check_rank);
	MPI_Sendrecv(out, size, MPI_BYTE, to, 1, in, size, MPI_BYTE, from, 1, MPI_COMM_WORLD,
		     MPI_STATUS_IGNORE);
	wrong = first_wrong(in, (size_t)size, round * 64u + (unsigned int)from);
	CHECK(wrong == (size_t)size, "round %u: byte %zu of %d is wrong", round, wrong, size);
}

int main(int argc, char **argv)
{
	unsigned int round = 0;
	double until;
	int is_over = 0;

	out = malloc(LARGEST);
	in = malloc(LARGEST);
	signal(SIGUSR1, have_enough);
	check_start(&argc, &argv);
	until = MPI_Wtime() + (argc > 1 ? atof(argv[1]) : 3);
	while (!is_over) {
		int ranks = 0, one = 1;

		ring(round);
		MPI_Allreduce(&one, &ranks, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		CHECK(ranks == check_size, "round %u: %d ranks took part", round, ranks);
		is_over = is_enough || MPI_Wtime() > until;
		MPI_Bcast(&is_over, 1, MPI_INT, 0, MPI_COMM_WORLD);
		if (!round++ && !check_rank) {
			printf("under way\n");
			fflush(stdout);
		}
	}
	free(out);
	free(in);
	return check_end("rally");
}
