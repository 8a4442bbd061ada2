// SPDX-License-Identifier: BSD-3-Clause
/*
 * mpi_halo [-d NEIGHBOURS] [-e] ... BYTES... - time of one halo exchange of any MPI, for many sizes
 * in one run. The ranks are a periodic grid of three dimensions. Each rank exchanges messages with
 * 2 neighbours (along x), 6 (faces) or 26 (faces, edges, corners). BYTES is what a face holds: n x
 * n doubles; an edge then holds n, a corner one. With -e every message has BYTES. Prints one JSON
 * line per size, with the median over batches in microseconds.
 */
#include <math.h>

#include "tests/bench/src/sweep.h"

#define MOST 26
#define DIMENSIONS 3

struct halo {
	int n; /* neighbours */
	bool is_equal;
	struct link {
		int direction[DIMENSIONS]; /* -1, 0 or 1 each */
		int to, from;              /* ranks, in that direction and in the opposite one */
		size_t bytes;
		char *out, *in;
	} links[MOST];
};

static int distance_of(const int direction[DIMENSIONS])
{
	return abs(direction[0]) + abs(direction[1]) + abs(direction[2]);
}

/* Faces first, then edges, then corners; of the faces those along x first. */
static void list_directions(struct halo *halo)
{
	int n = 0;

	for (int distance = 1; distance <= DIMENSIONS; distance++)
		for (int i = 0; i < 27; i++) {
			int direction[] = {i % 3 - 1, i / 3 % 3 - 1, i / 9 - 1};

			if (distance_of(direction) == distance)
				memcpy(halo->links[n++].direction, direction, sizeof(direction));
		}
	for (int i = 0, first = 0; i < 6; i++)
		if (halo->links[i].direction[0]) {
			struct link link = halo->links[i];

			halo->links[i] = halo->links[first];
			halo->links[first++] = link;
		}
}

/* The rank at @sign times the direction; the grid is periodic. */
static int rank_at(MPI_Comm grid, const int dims[DIMENSIONS], const int direction[DIMENSIONS],
		   int sign)
{
	int at[DIMENSIONS], rank;

	MPI_Cart_coords(grid, check_rank, DIMENSIONS, at);
	for (int i = 0; i < DIMENSIONS; i++)
		at[i] = (at[i] + sign * direction[i] + dims[i]) % dims[i];
	MPI_Cart_rank(grid, at, &rank);
	return rank;
}

/*
 * A dimension of one rank has no other rank along it. A direction that leads back to the rank
 * itself does so on all ranks. It then leads to the next rank instead, so every message goes to
 * another rank.
 */
static void find_ranks(struct halo *halo)
{
	int dims[DIMENSIONS] = {0}, periods[] = {1, 1, 1};
	MPI_Comm grid;

	MPI_Dims_create(check_size, DIMENSIONS, dims);
	MPI_Cart_create(MPI_COMM_WORLD, DIMENSIONS, dims, periods, 0, &grid);
	for (int i = 0; i < MOST; i++) {
		struct link *link = &halo->links[i];

		link->to = rank_at(grid, dims, link->direction, 1);
		link->from = rank_at(grid, dims, link->direction, -1);
		if (link->to == check_rank) {
			link->to = (check_rank + 1) % check_size;
			link->from = (check_rank + check_size - 1) % check_size;
		}
	}
	MPI_Comm_free(&grid);
}

static size_t bytes_of(const struct halo *halo, const struct link *link, size_t face)
{
	size_t edge = (size_t)sqrt((double)(face / sizeof(double)));

	if (halo->is_equal)
		return face;
	switch (distance_of(link->direction)) {
	case 1:
		return edge * edge * sizeof(double);
	case 2:
		return edge * sizeof(double);
	default:
		return sizeof(double);
	}
}

static void run(void *what, int n)
{
	struct halo *halo = what;

	for (int i = 0; i < n; i++) {
		MPI_Request requests[2 * MOST];
		int started = 0;

		for (int k = 0; k < halo->n; k++)
			MPI_Irecv(halo->links[k].in, (int)halo->links[k].bytes, MPI_BYTE,
				  halo->links[k].from, k, MPI_COMM_WORLD, &requests[started++]);
		for (int k = 0; k < halo->n; k++) {
			sweep_write(halo->links[k].out, halo->links[k].bytes, i);
			MPI_Isend(halo->links[k].out, (int)halo->links[k].bytes, MPI_BYTE,
				  halo->links[k].to, k, MPI_COMM_WORLD, &requests[started++]);
		}
		MPI_Waitall(started, requests, MPI_STATUSES_IGNORE);
	}
}

static int seed_of(int seed, int rank, int link)
{
	return (seed * 8 + rank) * 32 + link;
}

static void check(void *what, int seed)
{
	struct halo *halo = what;

	for (int k = 0; k < halo->n; k++) {
		struct link *link = &halo->links[k];

		memcpy(link->out, sweep_data(seed_of(seed, check_rank, k)), link->bytes);
		memcpy(link->in, sweep_data(seed_of(seed + 2, check_rank, k)), link->bytes);
	}
	run(halo, 1);
	for (int k = 0; k < halo->n; k++)
		sweep_must_hold(halo->links[k].in, halo->links[k].bytes,
				seed_of(seed, halo->links[k].from, k));
}

static void usage(void)
{
	if (check_rank == 0)
		fprintf(stderr, "usage: mpi_halo [-d NEIGHBOURS] [-e] " SWEEP_USAGE " BYTES...\n"
				"  -d  neighbours of each rank: 2, 6 (default) or 26\n"
				"  -e  every message has BYTES\n" SWEEP_HELP);
	MPI_Finalize();
	exit(2);
}

static void measure(struct halo *halo, size_t face)
{
	struct sweep_work work = {.what = halo, .most = 1 << 20, .run = run, .check = check};
	struct sweep_result result;

	for (int k = 0; k < halo->n; k++)
		halo->links[k].bytes = bytes_of(halo, &halo->links[k], face);
	result = sweep_measure(&work);
	sweep_print(face, "us", result.us, &result);
}

int main(int argc, char **argv)
{
	static struct halo halo = {.n = 6};
	size_t most;
	int option;

	check_start(&argc, &argv);
	while ((option = getopt(argc, argv, "d:e" SWEEP_OPTIONS)) != -1) {
		if (option == 'd')
			halo.n = atoi(optarg);
		else if (option == 'e')
			halo.is_equal = true;
		else if (!sweep_option(option, optarg))
			usage();
	}
	if (halo.n != 2 && halo.n != 6 && halo.n != MOST)
		usage();
	most = sweep_most(argv + optind, usage);
	sweep_start(most);
	list_directions(&halo);
	find_ranks(&halo);
	for (int k = 0; k < halo.n; k++) {
		halo.links[k].out = sweep_memory(most);
		halo.links[k].in = sweep_memory(most);
	}
	for (int i = optind; i < argc; i++)
		measure(&halo, sweep_bytes(argv[i]));
	MPI_Finalize();
	return 0;
}
