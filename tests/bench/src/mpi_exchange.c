// SPDX-License-Identifier: BSD-3-Clause
/*
 * mpi_exchange [-c MICROSECONDS] ... BYTES... - time of one exchange between ranks 0 and 1 of any
 * MPI, for many sizes in one run. Each rank starts to receive and to send one message, computes for
 * a while if -c says so, and waits for both. Prints one JSON line per size, with the median over
 * batches in microseconds.
 */
#include "tests/bench/src/compute.h"
#include "tests/bench/src/sweep.h"

struct exchange {
	size_t bytes;
	long steps; /* of computation between start and wait */
	char *out, *in;
};

static void run(void *what, int n)
{
	struct exchange *e = what;
	volatile double sink;
	int other = !check_rank;

	for (int i = 0; i < n && check_rank < 2; i++) {
		MPI_Request requests[2];

		MPI_Irecv(e->in, (int)e->bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD, &requests[0]);
		sweep_write(e->out, e->bytes, i);
		MPI_Isend(e->out, (int)e->bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD, &requests[1]);
		sink = compute(e->steps);
		MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
	}
	(void)sink;
}

static void check(void *what, int seed)
{
	struct exchange *e = what;

	memcpy(e->out, sweep_data(2 * seed + check_rank), e->bytes);
	memcpy(e->in, sweep_data(2 * seed + 7), e->bytes);
	run(e, 1);
	if (check_rank < 2)
		sweep_must_hold(e->in, e->bytes, 2 * seed + !check_rank);
}

static void usage(void)
{
	if (check_rank == 0)
		fprintf(stderr,
			"usage: mpi_exchange [-c MICROSECONDS] " SWEEP_USAGE " BYTES...\n"
			"  -c  time of the computation between start and wait\n" SWEEP_HELP);
	MPI_Finalize();
	exit(2);
}

static void measure(struct exchange *e, size_t bytes, double compute_us)
{
	struct sweep_work work = {.what = e, .most = 1 << 20, .run = run, .check = check};
	struct sweep_result result;

	e->bytes = bytes;
	e->steps = compute_us > 0 ? compute_steps_of(compute_us) : 0;
	result = sweep_measure(&work);
	sweep_print(bytes, "us", result.us, &result);
}

int main(int argc, char **argv)
{
	struct exchange e = {0};
	double compute_us = 0;
	size_t most;
	int option;

	check_start(&argc, &argv);
	while ((option = getopt(argc, argv, "c:" SWEEP_OPTIONS)) != -1) {
		if (option == 'c')
			compute_us = atof(optarg);
		else if (!sweep_option(option, optarg))
			usage();
	}
	most = sweep_most(argv + optind, usage);
	sweep_start(most);
	e.out = sweep_memory(most);
	e.in = sweep_memory(most);
	for (int i = optind; i < argc; i++)
		measure(&e, sweep_bytes(argv[i]), compute_us);
	MPI_Finalize();
	return 0;
}
