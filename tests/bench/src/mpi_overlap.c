// SPDX-License-Identifier: BSD-3-Clause
/*
 * mpi_overlap [-b | -w SIDE] [-c MICROSECONDS] ... BYTES... - how much of a message moves while the
 * ranks compute, of any MPI, for many sizes in one run. Rank 0 starts to send, rank 1 starts to
 * receive; both compute, which calls nothing, and wait. A short answer ends the operation. With -b
 * both ranks send and receive.
 *
 * The same is measured without the computation first, which is the time of the communication. The
 * computation takes that long too, unless -c says how long. Prints one JSON line per size: "us" is
 * the time from the start to the answer, "overlap" the same as a multiple of the longer one of
 * communication and computation (with -w, of the communication). 1 is a message that moves by
 * itself. With computation and communication of the same length, 2 is a message of which nothing
 * moves meanwhile.
 *
 * With -w only one side computes, the sender or the receiver. It is rank 1 then, and "us" is the
 * time that the other side takes from its start to the end of its wait.
 */
#include "tests/bench/src/compute.h"
#include "tests/bench/src/sweep.h"

struct overlap {
	size_t bytes;
	long steps;   /* of computation between start and wait */
	bool is_peer; /* only rank 1 computes */
	bool sends, receives;
	char *out, *in;
	double waited_s; /* by rank 0 in timed operations, */
	long n_waited;   /* of which there were so many */
};

static int start(struct overlap *o, int i, MPI_Request requests[2])
{
	int other = !check_rank, started = 0;

	if (o->receives)
		MPI_Irecv(o->in, (int)o->bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD,
			  &requests[started++]);
	if (o->sends) {
		sweep_write(o->out, o->bytes, i);
		MPI_Isend(o->out, (int)o->bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD,
			  &requests[started++]);
	}
	return started;
}

static void say(int from)
{
	char word = 0;

	if (check_rank == from)
		MPI_Send(&word, 1, MPI_BYTE, !from, 2, MPI_COMM_WORLD);
	else
		MPI_Recv(&word, 1, MPI_BYTE, from, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void run(void *what, int n)
{
	struct overlap *o = what;
	bool computes = check_rank == 1 || !o->is_peer;
	volatile double sink;

	for (int i = 0; i < n && check_rank < 2; i++) {
		MPI_Request requests[2];
		double since;
		int started;

		if (o->is_peer)
			say(1);
		since = MPI_Wtime();
		started = start(o, i, requests);
		if (computes)
			sink = compute(o->steps);
		MPI_Waitall(started, requests, MPI_STATUSES_IGNORE);
		if (sweep.is_timed) {
			o->waited_s += MPI_Wtime() - since;
			o->n_waited++;
		}
		say(o->is_peer ? 0 : 1);
	}
	(void)sink;
}

static void check(void *what, int seed)
{
	struct overlap *o = what;

	memcpy(o->out, sweep_data(2 * seed + check_rank), o->bytes);
	memcpy(o->in, sweep_data(2 * seed + 7), o->bytes);
	run(o, 1);
	if (o->receives)
		sweep_must_hold(o->in, o->bytes, 2 * seed + !check_rank);
}

static void usage(void)
{
	if (check_rank == 0)
		fprintf(stderr,
			"usage: mpi_overlap [-b | -w SIDE] [-c MICROSECONDS] " SWEEP_USAGE
			" BYTES...\n"
			"  -b  both ways at once\n"
			"  -w  only that side computes: sender or receiver; the time of the other\n"
			"      side counts\n"
			"  -c  time of the computation (default: that of the "
			"communication)\n" SWEEP_HELP);
	MPI_Finalize();
	exit(2);
}

/* All ranks compute as long as rank 0 says. */
static double agreed(double us)
{
	MPI_Bcast(&us, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	return us;
}

/* Rank 0's time of an operation, or of its part in it, us. */
static double time_of(struct overlap *o, const struct sweep_work *work, struct sweep_result *result)
{
	o->waited_s = 0;
	o->n_waited = 0;
	*result = sweep_measure(work);
	return o->is_peer ? o->waited_s / (double)o->n_waited * 1e6 : result->us;
}

static void measure(struct overlap *o, size_t bytes, double compute_us)
{
	struct sweep_work work = {.what = o, .most = 1 << 20, .run = run, .check = check};
	struct sweep_result alone, together;
	double alone_us, us, longer_us;
	char more[128];

	o->bytes = bytes;
	o->steps = 0;
	alone_us = time_of(o, &work, &alone);
	compute_us = agreed(compute_us > 0 ? compute_us : alone_us);
	o->steps = compute_steps_of(compute_us);
	us = time_of(o, &work, &together);
	together.before_ns = alone.before_ns;
	longer_us = compute_us > alone_us && !o->is_peer ? compute_us : alone_us;
	snprintf(more, sizeof(more),
		 ", \"communication_us\": %.4f, \"computation_us\": %.4f, \"overlap\": %.4f",
		 alone_us, compute_us, us / longer_us);
	sweep_print_more(bytes, "us", us, more, &together);
}

static bool is_side(const char *word)
{
	return !strcmp(word, "sender") || !strcmp(word, "receiver");
}

int main(int argc, char **argv)
{
	struct overlap o = {0};
	double compute_us = 0;
	const char *side = NULL;
	bool is_both = false;
	int option, sender;
	size_t most;

	check_start(&argc, &argv);
	while ((option = getopt(argc, argv, "bw:c:" SWEEP_OPTIONS)) != -1) {
		if (option == 'b')
			is_both = true;
		else if (option == 'w')
			side = optarg;
		else if (option == 'c')
			compute_us = atof(optarg);
		else if (!sweep_option(option, optarg))
			usage();
	}
	if (side && (is_both || !is_side(side)))
		usage();
	most = sweep_most(argv + optind, usage);
	sweep_start(most);
	o.is_peer = side != NULL;
	sender = side && !strcmp(side, "sender");
	o.sends = check_rank == sender || (check_rank < 2 && is_both);
	o.receives = check_rank == !sender || (check_rank < 2 && is_both);
	o.out = sweep_memory(most);
	o.in = sweep_memory(most);
	for (int i = optind; i < argc; i++)
		measure(&o, sweep_bytes(argv[i]), compute_us);
	MPI_Finalize();
	return 0;
}
