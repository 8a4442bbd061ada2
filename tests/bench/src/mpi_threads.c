// SPDX-License-Identifier: BSD-3-Clause
/*
 * mpi_threads [-T THREADS] [-w WINDOW] [-p] [-c] [-s] ... BYTES... - messages between the threads
 * of ranks 0 and 1 of any MPI with MPI_THREAD_MULTIPLE, for many sizes in one run. Thread k of rank
 * 0 has thread k of rank 1 as its partner, with a tag of its own, or with a communicator of its own
 * (-c).
 *
 * Each thread of rank 0 sends WINDOW messages at once, its partner has as many receives posted, and
 * one short answer ends the window. The result is the rate of all threads together. With -p each
 * pair plays ping-pong instead, all pairs at the same time; the result is half the round trip.
 * Prints one JSON line per size, with the median over batches. An operation is a window, or a round
 * trip, of all threads.
 *
 * Open MPI lets one thread poll for all threads that wait, and wakes the others. With -s the
 * threads test their requests in a loop instead, as task runtimes do, and all of them poll.
 */
#include <pthread.h>

#include "tests/bench/src/sweep.h"

#define THREADS_MAX 64
#define WINDOW_MAX 1024
#define BATCH_S 5e-3 /* waking the threads is a small part of it */

struct worker {
	struct threads *all;
	pthread_t thread;
	MPI_Comm comm;
	int tag; /* of messages; the next one is that of answers */
	char *out, *in;
	MPI_Request requests[WINDOW_MAX];
};

struct threads {
	int n, window;
	bool is_pingpong;
	bool tests; /* its requests in a loop, instead of a wait */
	size_t bytes;
	size_t step;    /* from one message's memory to the next one's */
	int operations; /* of this batch; 0: the threads shall end */
	pthread_barrier_t begin, end;
	struct worker workers[THREADS_MAX];
};

/* --- threads ---------------------------------------------------------------------------------- */

static void await(const struct threads *t, int n, MPI_Request *requests)
{
	int is_done = 0;

	if (!t->tests)
		MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
	while (t->tests && !is_done)
		MPI_Testall(n, requests, &is_done, MPI_STATUSES_IGNORE);
}

static void receive_one(const struct threads *t, void *to, size_t bytes, int tag, MPI_Comm comm)
{
	MPI_Request request;

	MPI_Irecv(to, (int)bytes, MPI_BYTE, !check_rank, tag, comm, &request);
	await(t, 1, &request);
}

static void send_window(struct worker *w, const struct threads *t)
{
	char answer;

	for (int k = 0; k < t->window; k++)
		MPI_Isend(w->out + (size_t)k * t->step, (int)t->bytes, MPI_BYTE, 1, w->tag, w->comm,
			  &w->requests[k]);
	await(t, t->window, w->requests);
	receive_one(t, &answer, 1, w->tag + 1, w->comm);
}

static void receive_window(struct worker *w, const struct threads *t)
{
	char answer = 0;

	for (int k = 0; k < t->window; k++)
		MPI_Irecv(w->in + (size_t)k * t->step, (int)t->bytes, MPI_BYTE, 0, w->tag, w->comm,
			  &w->requests[k]);
	await(t, t->window, w->requests);
	MPI_Send(&answer, 1, MPI_BYTE, 0, w->tag + 1, w->comm);
}

static void send_ball(const struct worker *w, const struct threads *t)
{
	MPI_Send(w->out, (int)t->bytes, MPI_BYTE, 1, w->tag, w->comm);
	receive_one(t, w->in, t->bytes, w->tag, w->comm);
}

static void return_ball(const struct worker *w, const struct threads *t)
{
	receive_one(t, w->in, t->bytes, w->tag, w->comm);
	MPI_Send(w->out, (int)t->bytes, MPI_BYTE, 0, w->tag, w->comm);
}

static void operate(struct worker *w, const struct threads *t)
{
	if (t->is_pingpong && check_rank == 0)
		send_ball(w, t);
	else if (t->is_pingpong)
		return_ball(w, t);
	else if (check_rank == 0)
		send_window(w, t);
	else
		receive_window(w, t);
}

static void *work_for(void *arg)
{
	struct worker *w = arg;
	struct threads *t = w->all;

	for (;;) {
		pthread_barrier_wait(&t->begin);
		if (!t->operations)
			return NULL;
		for (int i = 0; i < t->operations; i++)
			operate(w, t);
		pthread_barrier_wait(&t->end);
	}
}

static void run(void *what, int n)
{
	struct threads *t = what;

	if (check_rank > 1)
		return;
	t->operations = n;
	pthread_barrier_wait(&t->begin);
	pthread_barrier_wait(&t->end);
}

static void start(struct threads *t, size_t room, bool has_own)
{
	pthread_barrier_init(&t->begin, NULL, (unsigned)t->n + 1);
	pthread_barrier_init(&t->end, NULL, (unsigned)t->n + 1);
	for (int k = 0; k < t->n; k++) {
		struct worker *w = &t->workers[k];

		w->all = t;
		w->tag = 2 * k;
		w->comm = MPI_COMM_WORLD;
		if (has_own)
			MPI_Comm_dup(MPI_COMM_WORLD, &w->comm);
		w->out = sweep_memory(room);
		w->in = sweep_memory(room);
		CHECK(!pthread_create(&w->thread, NULL, work_for, w), "thread %d cannot start", k);
	}
}

static void stop(struct threads *t)
{
	t->operations = 0;
	pthread_barrier_wait(&t->begin);
	for (int k = 0; k < t->n; k++) {
		pthread_join(t->workers[k].thread, NULL);
		if (t->workers[k].comm != MPI_COMM_WORLD)
			MPI_Comm_free(&t->workers[k].comm);
	}
}

/* --- data ------------------------------------------------------------------------------------- */

static int seed_of(int seed, int rank, int worker, int k)
{
	return ((seed * 4 + rank) * THREADS_MAX + worker) * WINDOW_MAX + k;
}

static void check(void *what, int seed)
{
	struct threads *t = what;
	int messages = t->is_pingpong ? 1 : t->window;

	for (int i = 0; i < t->n * messages; i++) {
		struct worker *w = &t->workers[i / messages];
		int k = i % messages;

		memcpy(w->out + (size_t)k * t->step,
		       sweep_data(seed_of(seed, check_rank, i / messages, k)), t->bytes);
		memcpy(w->in + (size_t)k * t->step, sweep_data(seed_of(seed, 3, i / messages, k)),
		       t->bytes);
	}
	run(t, 1);
	for (int i = 0; i < t->n * messages; i++) {
		struct worker *w = &t->workers[i / messages];
		int k = i % messages;

		if (check_rank == 1 || (check_rank == 0 && t->is_pingpong))
			sweep_must_hold(w->in + (size_t)k * t->step, t->bytes,
					seed_of(seed, !check_rank, i / messages, k));
	}
}

/* --- sizes ------------------------------------------------------------------------------------ */

static void usage(void)
{
	if (check_rank == 0)
		fprintf(stderr,
			"usage: mpi_threads [-T THREADS] [-w WINDOW] [-p] [-c] [-s] " SWEEP_USAGE
			" BYTES...\n"
			"  -T  threads of each rank (default: 2; at most 64)\n"
			"  -w  messages in flight of each thread (default: 64; at most 1024)\n"
			"  -p  ping-pong, all pairs of threads at the same time\n"
			"  -c  each pair has a communicator of its own\n"
			"  -s  threads test in a loop instead of waiting\n" SWEEP_HELP);
	MPI_Finalize();
	exit(2);
}

static void measure(struct threads *t, size_t bytes)
{
	struct sweep_work work = {.what = t, .most = 1 << 20, .run = run, .check = check};
	struct sweep_result result;

	t->bytes = bytes;
	t->step = (bytes + 63) & ~(size_t)63;
	result = sweep_measure(&work);
	if (t->is_pingpong)
		sweep_print(bytes, "half_rtt_us", result.us / 2, &result);
	else
		sweep_print(bytes, "messages_per_s", 1e6 * t->n * t->window / result.us, &result);
}

int main(int argc, char **argv)
{
	static struct threads t = {.n = 2, .window = 64};
	bool has_own = false;
	size_t most;
	int option;

	check_start_threaded(&argc, &argv);
	while ((option = getopt(argc, argv, "T:w:pcs" SWEEP_OPTIONS)) != -1) {
		if (option == 'T')
			t.n = atoi(optarg);
		else if (option == 'w')
			t.window = atoi(optarg);
		else if (option == 'p')
			t.is_pingpong = true;
		else if (option == 'c')
			has_own = true;
		else if (option == 's')
			t.tests = true;
		else if (!sweep_option(option, optarg))
			usage();
	}
	if (t.n < 1 || t.n > THREADS_MAX || t.window < 1 || t.window > WINDOW_MAX)
		usage();
	most = sweep_most(argv + optind, usage);
	sweep.batch_s = BATCH_S;
	sweep_start(most);
	start(&t, (most + 63) * (size_t)t.window, has_own);
	for (int i = optind; i < argc; i++)
		measure(&t, sweep_bytes(argv[i]));
	stop(&t);
	MPI_Finalize();
	return 0;
}
