// SPDX-License-Identifier: BSD-3-Clause
/*
 * mpi_collective -c OPERATION ... BYTES... - time of one collective operation over all ranks of any
 * MPI, for many sizes in one run. Prints one JSON line per size, with the median over batches in
 * microseconds.
 *
 * BYTES are what a rank sends to one other: of bcast, reduce and allreduce the whole message, of
 * alltoall, allgather and reduce_scatter a block. Barrier sends none, whatever BYTES is. The root
 * of bcast and reduce goes round the ranks, so that nobody can run ahead of the others.
 *
 * Sums are of doubles, of bytes where BYTES is no multiple of 8. All values are small integers, so
 * every order of adding gives the same sum.
 */
#include "tests/bench/src/sweep.h"

#define VALUES 4 /* of an element are 0 to VALUES - 1; the bytes of 85 ranks can be added */

struct work {
	const struct operation *operation;
	size_t bytes;
	size_t elements; /* of a block, for sums */
	MPI_Datatype type;
	unsigned char *out, *in;
};

struct operation {
	const char *name;
	bool is_sum;
	bool has_block_out; /* for each rank one, else a single one */
	bool has_block_in;
	void (*run)(const struct work *work, int root);
	/* element @i that this rank must get, when every rank sends value_of(rank, i) */
	int (*expected)(const struct work *work, size_t i);
};

/* --- operations ------------------------------------------------------------------------------- */

static int value_of(int rank, size_t i)
{
	return (int)((i * 7 + (size_t)rank * 5 + i / 251) % VALUES);
}

static int sum_of(size_t i)
{
	int sum = 0;

	for (int rank = 0; rank < check_size; rank++)
		sum += value_of(rank, i);
	return sum;
}

static void barrier(const struct work *work, int root)
{
	(void)work;
	(void)root;
	MPI_Barrier(MPI_COMM_WORLD);
}

/* Its buffer is the one that is received into, also at the root. */
static void bcast(const struct work *work, int root)
{
	MPI_Bcast(root == check_rank ? work->out : work->in, (int)work->bytes, MPI_BYTE, root,
		  MPI_COMM_WORLD);
}

static void reduce(const struct work *work, int root)
{
	MPI_Reduce(work->out, work->in, (int)work->elements, work->type, MPI_SUM, root,
		   MPI_COMM_WORLD);
}

static void allreduce(const struct work *work, int root)
{
	(void)root;
	MPI_Allreduce(work->out, work->in, (int)work->elements, work->type, MPI_SUM,
		      MPI_COMM_WORLD);
}

static void alltoall(const struct work *work, int root)
{
	(void)root;
	MPI_Alltoall(work->out, (int)work->bytes, MPI_BYTE, work->in, (int)work->bytes, MPI_BYTE,
		     MPI_COMM_WORLD);
}

static void allgather(const struct work *work, int root)
{
	(void)root;
	MPI_Allgather(work->out, (int)work->bytes, MPI_BYTE, work->in, (int)work->bytes, MPI_BYTE,
		      MPI_COMM_WORLD);
}

static void reduce_scatter(const struct work *work, int root)
{
	(void)root;
	MPI_Reduce_scatter_block(work->out, work->in, (int)work->elements, work->type, MPI_SUM,
				 MPI_COMM_WORLD);
}

/* The operations are checked with the last rank as the root. */
static int last_rank(void)
{
	return check_size - 1;
}

static int from_root(const struct work *work, size_t i)
{
	(void)work;
	return value_of(last_rank(), i);
}

static int sum_everywhere(const struct work *work, size_t i)
{
	(void)work;
	return sum_of(i);
}

/* Block @i / bytes is that of a rank, which sent it as its own block number check_rank. */
static int block_for_us(const struct work *work, size_t i)
{
	size_t rank = i / work->bytes;

	return value_of((int)rank, (size_t)check_rank * work->bytes + i % work->bytes);
}

static int block_of_each(const struct work *work, size_t i)
{
	return value_of((int)(i / work->bytes), i % work->bytes);
}

static int our_sums(const struct work *work, size_t i)
{
	return sum_of((size_t)check_rank * work->elements + i);
}

static const struct operation operations[] = {
	{"barrier", false, false, false, barrier, NULL},
	{"bcast", false, false, false, bcast, from_root},
	{"reduce", true, false, false, reduce, sum_everywhere},
	{"allreduce", true, false, false, allreduce, sum_everywhere},
	{"alltoall", false, true, true, alltoall, block_for_us},
	{"allgather", false, false, true, allgather, block_of_each},
	{"reduce_scatter", true, true, false, reduce_scatter, our_sums},
};

#define OPERATIONS (int)(sizeof(operations) / sizeof(*operations))

/* --- data ------------------------------------------------------------------------------------- */

static size_t element_bytes(const struct work *work)
{
	return work->operation->is_sum ? work->bytes / work->elements : 1;
}

static void put(const struct work *work, void *buf, size_t i, int value)
{
	if (element_bytes(work) == sizeof(double))
		((double *)buf)[i] = value;
	else
		((unsigned char *)buf)[i] = (unsigned char)value;
}

static int get(const struct work *work, const void *buf, size_t i)
{
	if (element_bytes(work) == sizeof(double))
		return (int)((const double *)buf)[i];
	return ((const unsigned char *)buf)[i];
}

static size_t bytes_of(const struct work *work, bool has_block)
{
	return work->bytes * (has_block ? (size_t)check_size : 1);
}

/* Only the root has what reduce gives; the root of bcast has it already. */
static bool is_checked(const struct work *work)
{
	if (work->operation->run == reduce)
		return check_rank == last_rank();
	return work->operation->run != bcast || check_rank != last_rank();
}

static void check(void *what, int seed)
{
	struct work *work = what;
	size_t out = bytes_of(work, work->operation->has_block_out) / element_bytes(work);
	size_t in = bytes_of(work, work->operation->has_block_in) / element_bytes(work);

	for (size_t i = 0; i < out; i++)
		put(work, work->out, i, value_of(check_rank, i));
	memset(work->in, 0xa5 + seed, bytes_of(work, work->operation->has_block_in));
	work->operation->run(work, last_rank());
	for (size_t i = 0; i < in && work->operation->expected && is_checked(work); i++) {
		int value = get(work, work->in, i);

		CHECK(value == work->operation->expected(work, i),
		      "wrong data of %s: element %zu of %zu is %d, expected %d",
		      work->operation->name, i, in, value, work->operation->expected(work, i));
	}
}

/* --- run -------------------------------------------------------------------------------------- */

static void run(void *what, int n)
{
	struct work *work = what;
	size_t out = bytes_of(work, work->operation->has_block_out);

	for (int i = 0; i < n; i++) {
		int root = i % check_size;

		/* small values: of larger ones the sums would be no integers */
		if (work->operation->run != bcast || root == check_rank)
			sweep_write(work->out, out, 0);
		work->operation->run(work, root);
	}
}

static void usage(void)
{
	if (check_rank == 0)
		fprintf(stderr, "usage: mpi_collective -c OPERATION " SWEEP_USAGE " BYTES...\n"
				"  -c  barrier, bcast, reduce, allreduce, alltoall, allgather, "
				"reduce_scatter\n" SWEEP_HELP);
	MPI_Finalize();
	exit(2);
}

static const struct operation *find(const char *name)
{
	for (int i = 0; i < OPERATIONS; i++)
		if (!strcmp(operations[i].name, name))
			return &operations[i];
	usage();
	return NULL;
}

static void measure(struct work *work, size_t bytes)
{
	struct sweep_work job = {work, 1 << 20, NULL, run, check};
	bool is_double = bytes % sizeof(double) == 0;
	struct sweep_result result;

	work->bytes = bytes;
	work->elements = bytes / (is_double ? sizeof(double) : 1);
	work->type = is_double ? MPI_DOUBLE : MPI_UINT8_T;
	result = sweep_measure(&job);
	sweep_print(bytes, "us", result.us, &result);
}

int main(int argc, char **argv)
{
	struct work work = {.operation = NULL};
	size_t most;
	int option;

	check_start(&argc, &argv);
	while ((option = getopt(argc, argv, "c:" SWEEP_OPTIONS)) != -1) {
		if (option == 'c')
			work.operation = find(optarg);
		else if (!sweep_option(option, optarg))
			usage();
	}
	if (!work.operation)
		usage();
	most = sweep_most(argv + optind, usage);
	sweep_start(most);
	work.out = sweep_memory(most * (size_t)check_size);
	work.in = sweep_memory(most * (size_t)check_size);
	for (int i = optind; i < argc; i++)
		measure(&work, sweep_bytes(argv[i]));
	MPI_Finalize();
	return 0;
}
