// SPDX-License-Identifier: BSD-3-Clause
/*
 * mpi_pattern -c PATTERN ... BYTES... - time of patterns of MPI's point-to-point calls that the
 * other programs do not have, for many sizes in one run of any MPI. Prints one JSON line per size,
 * with the median over batches in microseconds of one operation:
 *
 *   probe       each other rank asks rank 0, probes for the answer of BYTES before it has come, and receives it
 *   fan         rank 0 has a thread for each other rank; all send BYTES at once, and one thread waits for all sends
 *   allgatherv  rank i gives BYTES less i parts of them, of as many as there are ranks
 */
#include <pthread.h>

#include "tests/bench/src/sweep.h"

#define RANKS_MAX 64

struct work {
	const struct pattern *pattern;
	size_t bytes;
	unsigned char *out, *in;
	int counts[RANKS_MAX], places[RANKS_MAX]; /* of allgatherv */
	MPI_Request requests[RANKS_MAX];          /* of fan, by receiver */
	pthread_t threads[RANKS_MAX];
	pthread_barrier_t begin, sent, end;
	int operations; /* of this batch; 0: the threads shall end */
};

struct pattern {
	const char *name;
	void (*prepare)(struct work *w);
	void (*run)(struct work *w, int n);
	void (*check)(const struct work *w, int seed);
	void (*end)(struct work *w);
};

struct fan_thread {
	struct work *work;
	int to;
};

/* --- probe ------------------------------------------------------------------------------------ */

static void probe(struct work *w, int n)
{
	MPI_Status status;

	for (int i = 0; i < n; i++) {
		for (int r = 1; r < check_size && !check_rank; r++) {
			MPI_Recv(NULL, 0, MPI_BYTE, r, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			MPI_Send(w->out, (int)w->bytes, MPI_BYTE, r, 1, MPI_COMM_WORLD);
		}
		if (!check_rank)
			continue;
		MPI_Send(NULL, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
		MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
		MPI_Recv(w->in, (int)w->bytes, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG,
			 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
}

static void check_others(const struct work *w, int seed)
{
	if (check_rank)
		sweep_must_hold(w->in, w->bytes, seed);
}

/* --- fan -------------------------------------------------------------------------------------- */

static void *fan_thread(void *arg)
{
	struct fan_thread *f = arg;
	struct work *w = f->work;

	for (;;) {
		pthread_barrier_wait(&w->begin);
		if (!w->operations)
			break;
		for (int i = 0; i < w->operations; i++) {
			MPI_Isend(w->out, (int)w->bytes, MPI_BYTE, f->to, 1, MPI_COMM_WORLD,
				  &w->requests[f->to - 1]);
			pthread_barrier_wait(&w->sent);
			if (f->to == 1)
				MPI_Waitall(check_size - 1, w->requests, MPI_STATUSES_IGNORE);
			pthread_barrier_wait(&w->sent);
		}
		pthread_barrier_wait(&w->end);
	}
	free(f);
	return NULL;
}

static void fan_begin(struct work *w)
{
	if (check_rank)
		return;
	pthread_barrier_init(&w->begin, NULL, (unsigned)check_size);
	pthread_barrier_init(&w->end, NULL, (unsigned)check_size);
	pthread_barrier_init(&w->sent, NULL, (unsigned)check_size - 1);
	for (int r = 1; r < check_size; r++) {
		struct fan_thread *f = malloc(sizeof(*f));

		CHECK(f, "no memory for thread %d", r);
		*f = (struct fan_thread){w, r};
		CHECK(!pthread_create(&w->threads[r], NULL, fan_thread, f),
		      "thread %d cannot start", r);
	}
}

static void fan(struct work *w, int n)
{
	for (int i = 0; i < n && check_rank; i++)
		MPI_Recv(w->in, (int)w->bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	if (check_rank)
		return;
	w->operations = n;
	pthread_barrier_wait(&w->begin);
	pthread_barrier_wait(&w->end);
}

static void fan_end(struct work *w)
{
	if (check_rank)
		return;
	w->operations = 0;
	pthread_barrier_wait(&w->begin);
	for (int r = 1; r < check_size; r++)
		pthread_join(w->threads[r], NULL);
	pthread_barrier_destroy(&w->begin);
	pthread_barrier_destroy(&w->end);
	pthread_barrier_destroy(&w->sent);
}

/* --- allgatherv ------------------------------------------------------------------------------- */

static void share_out(struct work *w)
{
	int at = 0;

	for (int r = 0; r < check_size; r++) {
		w->counts[r] = (int)(w->bytes - w->bytes / (size_t)check_size * (size_t)r);
		w->places[r] = at;
		at += w->counts[r];
	}
}

static void allgatherv(struct work *w, int n)
{
	for (int i = 0; i < n; i++)
		MPI_Allgatherv(w->out, w->counts[check_rank], MPI_BYTE, w->in, w->counts, w->places,
			       MPI_BYTE, MPI_COMM_WORLD);
}

static void check_all(const struct work *w, int seed)
{
	for (int r = 0; r < check_size; r++)
		sweep_must_hold(w->in + w->places[r], (size_t)w->counts[r], seed);
}

/* --- sizes ------------------------------------------------------------------------------------ */

static const struct pattern patterns[] = {
	{"probe", NULL, probe, check_others, NULL},
	{"fan", fan_begin, fan, check_others, fan_end},
	{"allgatherv", share_out, allgatherv, check_all, NULL},
};

static void run(void *what, int n)
{
	struct work *w = what;

	w->pattern->run(w, n);
}

static void check(void *what, int seed)
{
	struct work *w = what;

	memcpy(w->out, sweep_data(seed), w->bytes);
	w->pattern->run(w, 1);
	w->pattern->check(w, seed);
}

static void usage(void)
{
	if (check_rank == 0)
		fprintf(stderr, "usage: mpi_pattern -c probe|fan|allgatherv " SWEEP_USAGE
				" BYTES...\n" SWEEP_HELP);
	MPI_Finalize();
	exit(2);
}

static void measure(struct work *w, size_t bytes)
{
	struct sweep_work work = {.what = w, .most = 1 << 20, .run = run, .check = check};
	struct sweep_result result;

	w->bytes = bytes;
	if (w->pattern->prepare)
		w->pattern->prepare(w);
	result = sweep_measure(&work);
	if (w->pattern->end)
		w->pattern->end(w);
	sweep_print(bytes, "us", result.us, &result);
}

static const struct pattern *find(const char *name)
{
	for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++)
		if (!strcmp(patterns[i].name, name))
			return &patterns[i];
	return NULL;
}

int main(int argc, char **argv)
{
	static struct work w;
	size_t most;
	int option;

	/* only fan has threads that call MPI */
	if (argc > 2 && !strcmp(argv[2], "fan"))
		check_start_threaded(&argc, &argv);
	else
		check_start(&argc, &argv);
	while ((option = getopt(argc, argv, "c:" SWEEP_OPTIONS)) != -1) {
		if (option == 'c')
			w.pattern = find(optarg);
		else if (!sweep_option(option, optarg))
			usage();
	}
	if (!w.pattern || check_size > RANKS_MAX)
		usage();
	most = sweep_most(argv + optind, usage);
	sweep_start(most);
	w.out = sweep_memory(most);
	w.in = sweep_memory((size_t)check_size * most);
	for (int i = optind; i < argc; i++)
		measure(&w, sweep_bytes(argv[i]));
	MPI_Finalize();
	return 0;
}
