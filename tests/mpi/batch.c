// SPDX-License-Identifier: BSD-3-Clause
/*
 * batch HOW - threads that wait on one core: their messages arrive, and are they scheduled as
 * batch? HOW is "batch", they are; "other", they are not; "idle", the policy that the program has
 * chosen stays; "one", a thread alone is not. A rank without a partner takes no part.
 */
#include "tests/mpi/check.h"

#include <pthread.h>
#include <sched.h>

enum { THREADS = 3, ROUNDS = 300 };

static int before, expected;
static pthread_barrier_t all_play;

static void check_policy(const char *thread, int policy)
{
	CHECK(sched_getscheduler(0) == policy, "%s has the policy %d", thread,
	      sched_getscheduler(0));
}

static void play(int tag, int rounds)
{
	int partner = check_rank ^ 1;

	for (int i = 0; i < rounds && partner < check_size; i++) {
		int value = i + tag, got = -1;
		MPI_Request req;

		MPI_Irecv(&got, 1, MPI_INT, partner, tag, MPI_COMM_WORLD, &req);
		MPI_Send(&value, 1, MPI_INT, partner, tag, MPI_COMM_WORLD);
		MPI_Wait(&req, MPI_STATUS_IGNORE);
		CHECK(got == value, "round %d: %d", i, got);
	}
}

/* All threads call MPI before the first one goes on, and none ends before all have played. */
static void *play_and_look(void *arg)
{
	int tag = (int)(intptr_t)arg;

	play(tag, 1);
	pthread_barrier_wait(&all_play);
	play(tag, ROUNDS);
	pthread_barrier_wait(&all_play);
	if ((check_rank ^ 1) < check_size)
		check_policy("a thread", expected);
	return NULL;
}

static void play_together(int n)
{
	pthread_t threads[THREADS];

	pthread_barrier_init(&all_play, NULL, (unsigned)n);
	for (int i = 1; i < n; i++)
		pthread_create(&threads[i], NULL, play_and_look, (void *)(intptr_t)(i + 1));
	play_and_look((void *)(intptr_t)1);
	for (int i = 1; i < n; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&all_play);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "batch";
	struct sched_param none = {0};
	cpu_set_t core;

	CPU_ZERO(&core);
	CPU_SET(sched_getcpu(), &core);
	if (sched_setaffinity(0, sizeof(core), &core))
		return 1;
	if (!strcmp(how, "idle") && sched_setscheduler(0, SCHED_IDLE, &none))
		return 1;
	before = expected = sched_getscheduler(0);
	check_start_threaded(&argc, &argv);
	check_policy("main", before);
	if (!strcmp(how, "batch"))
		expected = SCHED_BATCH;
	play_together(strcmp(how, "one") ? THREADS : 1);
	return check_end("batch");
}
