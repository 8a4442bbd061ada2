// SPDX-License-Identifier: BSD-3-Clause
/*
 * mpi_rma -c OPERATION [-p] [-w PUTS] ... BYTES... - one-sided communication of rank 0 with the
 * memory of rank 1, of any MPI, for many sizes in one run. Rank 1 waits in MPI meanwhile. All ranks
 * are in one epoch of MPI_Win_lock_all.
 *
 * Prints one JSON line per size, with the median over batches. It has the time of put, get and
 * fetch until the operation is flushed, in us, and the rate of a burst of PUTS puts with one flush,
 * in MB/s (10^6). It names Open MPI's component that serves the window.
 */
#include "tests/bench/src/sweep.h"

#define PUTS_MAX 4096

struct rma {
	enum operation { NONE, PUT, GET, FETCH, BURST } operation;
	bool is_private; /* memory that the process has made, not MPI */
	size_t bytes;    /* of one operation */
	size_t step;     /* from one put's memory to the next one's */
	int n;           /* operations before a flush */
	char *local;     /* memory of rank 0 */
	char *window;    /* this rank's part of the window */
	MPI_Win win;
};

static const char *const names[] =
	{[PUT] = "put", [GET] = "get", [FETCH] = "fetch", [BURST] = "burst"};

/* --- operations ------------------------------------------------------------------------------- */

static MPI_Datatype type_of(size_t bytes)
{
	return bytes == sizeof(uint32_t) ? MPI_UINT32_T : MPI_UINT64_T;
}

static void start(struct rma *r, int k)
{
	static const uint32_t one32 = 1;
	static const uint64_t one64 = 1;
	size_t at = (size_t)k * r->step;
	int bytes = (int)r->bytes;

	if (r->operation == GET)
		MPI_Get(r->local + at, bytes, MPI_BYTE, 1, (MPI_Aint)at, bytes, MPI_BYTE, r->win);
	else if (r->operation == FETCH)
		MPI_Fetch_and_op(bytes == sizeof(one32) ? (const void *)&one32 : &one64,
				 r->local + at, type_of(r->bytes), 1, (MPI_Aint)at, MPI_SUM,
				 r->win);
	else
		MPI_Put(r->local + at, bytes, MPI_BYTE, 1, (MPI_Aint)at, bytes, MPI_BYTE, r->win);
}

static void run(void *what, int n)
{
	struct rma *r = what;
	bool writes = r->operation == PUT || r->operation == BURST;

	for (int i = 0; i < n && check_rank == 0; i++) {
		for (int k = 0; k < r->n; k++) {
			if (writes)
				sweep_write(r->local + (size_t)k * r->step, r->bytes, i);
			start(r, k);
		}
		MPI_Win_flush(1, r->win);
	}
}

/* --- data ------------------------------------------------------------------------------------- */

static int seed_of(int seed, int rank, int k)
{
	return (2 * seed + rank) * 64 + k;
}

/* Data in the memory of rank 0, or in the window of rank 1, before an operation. */
static void lay(struct rma *r, char *memory, int seed)
{
	for (int k = 0; k < r->n; k++)
		memcpy(memory + (size_t)k * r->step, sweep_data(seed_of(seed, check_rank, k)),
		       r->bytes);
}

static void add_one(char *memory, size_t bytes)
{
	uint32_t *word = (uint32_t *)(uintptr_t)memory;
	uint64_t *longer = (uint64_t *)(uintptr_t)memory;

	if (bytes == sizeof(*word))
		*word += 1;
	else
		*longer += 1;
}

/* The window must hold one more than what rank 1 has laid into it. */
static void must_be_counted(const struct rma *r, int seed)
{
	uint64_t before = 0;

	memcpy(&before, sweep_data(seed_of(seed, 1, 0)), r->bytes);
	add_one((char *)&before, r->bytes);
	CHECK(memcmp(r->window, &before, r->bytes) == 0, "fetch and add: the sum is wrong");
}

static void must_hold(const struct rma *r, const char *memory, int seed, int rank)
{
	for (int k = 0; k < r->n; k++)
		sweep_must_hold(memory + (size_t)k * r->step, r->bytes, seed_of(seed, rank, k));
}

/* Between what this rank does to its window and what others do to it. */
static void meet(const struct rma *r)
{
	MPI_Win_sync(r->win);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_sync(r->win);
}

static void check(void *what, int seed)
{
	struct rma *r = what;

	if (check_rank < 2)
		lay(r, check_rank == 0 ? r->local : r->window, seed);
	meet(r);
	run(r, 1);
	meet(r);
	if (check_rank == 0 && (r->operation == GET || r->operation == FETCH))
		must_hold(r, r->local, seed, 1);
	else if (check_rank == 1 && r->operation == FETCH)
		must_be_counted(r, seed);
	else if (check_rank == 1)
		must_hold(r, r->window, seed, r->operation == GET ? 1 : 0);
	meet(r);
}

/* --- the window ------------------------------------------------------------------------------- */

static void open_window(struct rma *r, size_t bytes)
{
	r->local = sweep_memory(bytes);
	if (r->is_private) {
		r->window = sweep_memory(bytes);
		MPI_Win_create(r->window, (MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD,
			       &r->win);
	} else {
		MPI_Win_allocate((MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &r->window,
				 &r->win);
	}
	MPI_Win_lock_all(0, r->win);
}

/* Open MPI names a window by its component and a number, but for osc/sm, which gives no name. */
static const char *component(const struct rma *r)
{
	static char name[MPI_MAX_OBJECT_NAME + 1];
	int length;

	MPI_Win_get_name(r->win, name, &length);
	name[strcspn(name, " ")] = '\0';
	return length ? name : "sm";
}

static void measure(struct rma *r, size_t bytes)
{
	struct sweep_work work = {.what = r, .most = 1 << 20, .run = run, .check = check};
	struct sweep_result result;
	char more[MPI_MAX_OBJECT_NAME + 16];

	r->bytes = bytes;
	r->step = (bytes + 63) & ~(size_t)63;
	result = sweep_measure(&work);
	snprintf(more, sizeof(more), ", \"osc\": \"%s\"", component(r));
	if (r->operation == BURST)
		sweep_print_more(bytes, "mb_per_s", (double)bytes * r->n / result.us, more,
				 &result);
	else
		sweep_print_more(bytes, "us", result.us, more, &result);
}

/* --- options ---------------------------------------------------------------------------------- */

static void usage(void)
{
	if (check_rank == 0)
		fprintf(stderr,
			"usage: mpi_rma -c OPERATION [-p] [-w PUTS] " SWEEP_USAGE " BYTES...\n"
			"  -c  put, get, fetch (and add; 4 or 8 bytes), burst (of puts)\n"
			"  -p  a window of memory that MPI has not allocated\n"
			"  -w  puts of a burst (default: 100; at most 4096)\n" SWEEP_HELP);
	MPI_Finalize();
	exit(2);
}

static enum operation find(const char *name)
{
	for (enum operation operation = PUT; operation <= BURST; operation++)
		if (!strcmp(names[operation], name))
			return operation;
	return NONE;
}

int main(int argc, char **argv)
{
	static struct rma r;
	int option, puts = 100;
	size_t most;

	check_start(&argc, &argv);
	while ((option = getopt(argc, argv, "c:pw:" SWEEP_OPTIONS)) != -1) {
		if (option == 'c')
			r.operation = find(optarg);
		else if (option == 'p')
			r.is_private = true;
		else if (option == 'w')
			puts = atoi(optarg);
		else if (!sweep_option(option, optarg))
			usage();
	}
	if (r.operation == NONE || puts < 1 || puts > PUTS_MAX)
		usage();
	r.n = r.operation == BURST ? puts : 1;
	most = sweep_most(argv + optind, usage);
	for (int i = optind; i < argc && r.operation == FETCH; i++)
		if (sweep_bytes(argv[i]) != 4 && sweep_bytes(argv[i]) != 8)
			usage();
	sweep_start(most);
	open_window(&r, (most + 63) * (size_t)r.n);
	for (int i = optind; i < argc; i++)
		measure(&r, sweep_bytes(argv[i]));
	MPI_Win_unlock_all(r.win);
	MPI_Win_free(&r.win);
	MPI_Finalize();
	return 0;
}
