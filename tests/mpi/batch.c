/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * batch HOW - threads that wait on one core: their messages arrive, and are they scheduled as batch? HOW is "batch", they are;
 * "other", they are not; "idle", the policy that the program has chosen stays; "one", a thread alone is not.
 */
#include "tests/mpi/check.h"

#include <pthread.h>
#include <sched.h>

enum { THREADS = 3, ROUNDS = 300 };

static int expected;

static void check_policy(const char *who)
{
	CHECK(sched_getscheduler(0) == expected, "%s has the policy %d", who,
	      sched_getscheduler(0));
}

static void *play(void *arg)
{
	int tag = (int)(intptr_t)arg, partner = check_rank ^ 1;

	for (int i = 0; i < ROUNDS && partner < check_size; i++) {
		int value = i + tag, got = -1;
		MPI_Request req;

		MPI_Irecv(&got, 1, MPI_INT, partner, tag, MPI_COMM_WORLD, &req);
		MPI_Send(&value, 1, MPI_INT, partner, tag, MPI_COMM_WORLD);
		MPI_Wait(&req, MPI_STATUS_IGNORE);
		CHECK(got == value, "round %d: %d", i, got);
	}
	check_policy("a thread");
	return NULL;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "batch";
	int n = strcmp(how, "one") ? THREADS : 1;
	struct sched_param none = {0};
	pthread_t threads[THREADS];
	cpu_set_t core;

	CPU_ZERO(&core);
	CPU_SET(sched_getcpu(), &core);
	if (sched_setaffinity(0, sizeof(core), &core))
		return 1;
	if (!strcmp(how, "idle") && sched_setscheduler(0, SCHED_IDLE, &none))
		return 1;
	expected = sched_getscheduler(0);
	check_start_threaded(&argc, &argv);
	check_policy("main");
	if (!strcmp(how, "batch"))
		expected = SCHED_BATCH;
	for (int i = 1; i < n; i++)
		pthread_create(&threads[i], NULL, play, (void *)(intptr_t)(i + 1));
	play((void *)(intptr_t)1);
	for (int i = 1; i < n; i++)
		pthread_join(threads[i], NULL);
	return check_end("batch");
}
