// SPDX-License-Identifier: BSD-3-Clause
/*
 * mpi_window [-b] [-e] [-w WINDOW] ... BYTES... - bandwidth between ranks 0 and 1 of any MPI with
 * many messages in flight, for many sizes in one run. Rank 0 sends WINDOW messages at once, then
 * one short answer ends the window; with -b both ranks send at once. The receiver has posted as
 * many receives before; with -e it posts each of them when the one before it is over. Each message
 * has memory of its own. Prints one JSON line per size, with the median over batches in MB/s
 * (10^6), both directions together.
 */
#include "tests/bench/src/sweep.h"

#define WINDOW_MAX 1024

struct window {
	size_t bytes; /* of a message */
	size_t step;  /* from one message's memory to the next one's */
	int n;        /* messages */
	bool sends, receives;
	bool is_each; /* one receive after the other */
	char *out, *in;
	MPI_Request requests[2 * WINDOW_MAX];
};

static void receive(struct window *w, int k, int other, MPI_Request *request)
{
	MPI_Irecv(w->in + (size_t)k * w->step, (int)w->bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD,
		  request);
}

static void receive_each(struct window *w, int other)
{
	MPI_Request request;

	for (int k = 0; k < w->n; k++) {
		receive(w, k, other, &request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	}
}

static void run(void *what, int n)
{
	struct window *w = what;
	char answer = 0;
	int other = !check_rank;

	for (int i = 0; i < n && check_rank < 2; i++) {
		int started = 0;

		for (int k = 0; k < w->n && w->receives && !w->is_each; k++)
			receive(w, k, other, &w->requests[started++]);
		for (int k = 0; k < w->n && w->sends; k++) {
			char *out = w->out + (size_t)k * w->step;

			sweep_write(out, w->bytes, i);
			MPI_Isend(out, (int)w->bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD,
				  &w->requests[started++]);
		}
		if (w->receives && w->is_each)
			receive_each(w, other);
		MPI_Waitall(started, w->requests, MPI_STATUSES_IGNORE);
		if (check_rank == 0)
			MPI_Recv(&answer, 1, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		else
			MPI_Send(&answer, 1, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
	}
}

static int seed_of(int seed, int rank, int k)
{
	return (2 * seed + rank) * 64 + k;
}

static void check(void *what, int seed)
{
	struct window *w = what;

	for (int k = 0; k < w->n; k++) {
		if (w->sends)
			memcpy(w->out + (size_t)k * w->step,
			       sweep_data(seed_of(seed, check_rank, k)), w->bytes);
		if (w->receives)
			memcpy(w->in + (size_t)k * w->step, sweep_data(seed_of(seed, 7, k)),
			       w->bytes);
	}
	run(w, 1);
	for (int k = 0; k < w->n && w->receives; k++)
		sweep_must_hold(w->in + (size_t)k * w->step, w->bytes,
				seed_of(seed, !check_rank, k));
}

static void usage(void)
{
	if (check_rank == 0)
		fprintf(stderr,
			"usage: mpi_window [-b] [-e] [-w WINDOW] " SWEEP_USAGE " BYTES...\n"
			"  -b  both ways at once\n"
			"  -e  receive one message after the other\n"
			"  -w  messages in flight (default: 64; at most 1024)\n" SWEEP_HELP);
	MPI_Finalize();
	exit(2);
}

static void measure(struct window *w, size_t bytes, bool is_both)
{
	struct sweep_work work = {.what = w, .most = 1 << 20, .run = run, .check = check};
	struct sweep_result result;

	w->bytes = bytes;
	w->step = (bytes + 63) & ~(size_t)63;
	result = sweep_measure(&work);
	sweep_print(bytes, "mb_per_s", (double)bytes * w->n * (is_both ? 2 : 1) / result.us,
		    &result);
}

int main(int argc, char **argv)
{
	static struct window w = {.n = 64};
	bool is_both = false;
	size_t most;
	int option;

	check_start(&argc, &argv);
	while ((option = getopt(argc, argv, "bew:" SWEEP_OPTIONS)) != -1) {
		if (option == 'b')
			is_both = true;
		else if (option == 'e')
			w.is_each = true;
		else if (option == 'w')
			w.n = atoi(optarg);
		else if (!sweep_option(option, optarg))
			usage();
	}
	if (w.n < 1 || w.n > WINDOW_MAX)
		usage();
	most = sweep_most(argv + optind, usage);
	sweep_start(most);
	w.sends = check_rank == 0 || (check_rank == 1 && is_both);
	w.receives = check_rank == 1 || (check_rank == 0 && is_both);
	w.out = sweep_memory((most + 63) * (size_t)w.n);
	w.in = sweep_memory((most + 63) * (size_t)w.n);
	for (int i = optind; i < argc; i++)
		measure(&w, sweep_bytes(argv[i]), is_both);
	MPI_Finalize();
	return 0;
}
