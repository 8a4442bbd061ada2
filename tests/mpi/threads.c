// SPDX-License-Identifier: BSD-3-Clause
/*
 * MPI_THREAD_MULTIPLE: pairs of threads exchange messages of all protocols at once, each pair with
 * its own tag, while other threads probe, send in bursts and run collectives on communicators of
 * their own.
 */
#include "tests/mpi/check.h"

#include <pthread.h>

enum {
	PAIRS = 3,
	ROUNDS = 150,
	MOST = 120000,
	BURST = 24,
	LONG_ROUNDS = 10,
	BLOCK = 64,
	BLOCKS = 8192
};

static MPI_Comm own[PAIRS];

static size_t length_of(int i)
{
	static const size_t lengths[] = {8, 700, 5000, 20000, MOST};

	return lengths[i % 5];
}

static void *exchange(void *arg)
{
	int tag = (int)(intptr_t)arg;
	int partner = check_rank ^ 1;
	char *out = malloc(MOST), *in = malloc(MOST);

	for (int i = 0; i < ROUNDS && partner < check_size; i++) {
		size_t len = length_of(i + tag);
		MPI_Request req;
		MPI_Status st;

		fill(out, len, (uint64_t)(check_rank * ROUNDS + i));
		MPI_Irecv(in, MOST, MPI_BYTE, i % 2 ? partner : MPI_ANY_SOURCE, tag, MPI_COMM_WORLD,
			  &req);
		if (i % 3)
			MPI_Send(out, (int)len, MPI_BYTE, partner, tag, MPI_COMM_WORLD);
		else
			MPI_Ssend(out, (int)len, MPI_BYTE, partner, tag, MPI_COMM_WORLD);
		MPI_Wait(&req, &st);
		CHECK(first_wrong(in, len, (uint64_t)(partner * ROUNDS + i)) == len,
		      "thread %d round %d length %zu", tag, i, len);
	}
	free(out);
	free(in);
	return NULL;
}

/* Long messages that only their receiver has to unpack, of several threads at once. */
static void *unpack(void *arg)
{
	int tag = 300 + (int)(intptr_t)arg;
	int partner = check_rank ^ 1;
	char *out = malloc(BLOCK * BLOCKS), *in = malloc(2 * BLOCK * BLOCKS);
	MPI_Datatype every_other;

	MPI_Type_vector(BLOCKS, BLOCK, 2 * BLOCK, MPI_BYTE, &every_other);
	MPI_Type_commit(&every_other);
	for (int i = 0; i < LONG_ROUNDS && partner < check_size; i++) {
		size_t wrong = 0;
		MPI_Request req;

		fill(out, BLOCK * BLOCKS, (uint64_t)(check_rank * LONG_ROUNDS + i));
		MPI_Irecv(in, 1, every_other, partner, tag, MPI_COMM_WORLD, &req);
		MPI_Send(out, BLOCK * BLOCKS, MPI_BYTE, partner, tag, MPI_COMM_WORLD);
		MPI_Wait(&req, MPI_STATUS_IGNORE);
		for (size_t k = 0; k < BLOCK * BLOCKS; k++)
			wrong += (unsigned char)in[k / BLOCK * 2 * BLOCK + k % BLOCK] !=
				 pattern((uint64_t)(partner * LONG_ROUNDS + i), k);
		CHECK(!wrong, "thread %d round %d: %zu bytes", tag, i, wrong);
	}
	MPI_Type_free(&every_other);
	free(out);
	free(in);
	return NULL;
}

static void *reduce(void *arg)
{
	int n = (int)(intptr_t)arg;

	for (int i = 0; i < ROUNDS; i++) {
		int value = check_rank + i, sum;

		MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, own[n]);
		CHECK(sum == check_size * (check_size - 1) / 2 + i * check_size, "round %d: %d", i,
		      sum);
	}
	return NULL;
}

static void *probe(void *arg)
{
	int partner = check_rank ^ 1;

	for (int i = 0; i < ROUNDS && partner < check_size; i++) {
		MPI_Message msg;
		MPI_Request req;
		int value, tag = 100;

		MPI_Isend(&i, 1, MPI_INT, partner, tag, MPI_COMM_WORLD, &req);
		MPI_Mprobe(partner, tag, MPI_COMM_WORLD, &msg, MPI_STATUS_IGNORE);
		MPI_Mrecv(&value, 1, MPI_INT, &msg, MPI_STATUS_IGNORE);
		MPI_Wait(&req, MPI_STATUS_IGNORE);
		CHECK(value == i, "probe %d got %d", i, value);
	}
	return NULL;
}

/* A message that is held back for one thread is sent by any thread that polls. */
static void *burst(void *arg)
{
	int partner = check_rank ^ 1, tag = 200;
	MPI_Request req[2 * BURST];
	int out[BURST], in[BURST];

	for (int i = 0; i < ROUNDS && partner < check_size; i++) {
		for (int k = 0; k < BURST; k++) {
			out[k] = i * BURST + k;
			MPI_Isend(&out[k], 1, MPI_INT, partner, tag, MPI_COMM_WORLD, &req[k]);
		}
		for (int k = 0; k < BURST; k++)
			MPI_Irecv(&in[k], 1, MPI_INT, partner, tag, MPI_COMM_WORLD,
				  &req[BURST + k]);
		MPI_Waitall(2 * BURST, req, MPI_STATUSES_IGNORE);
		for (int k = 0; k < BURST; k++)
			CHECK(in[k] == i * BURST + k, "burst %d: %d instead of %d", i, in[k],
			      i * BURST + k);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[3 * PAIRS + 2];

	check_start_threaded(&argc, &argv);
	for (int i = 0; i < PAIRS; i++)
		MPI_Comm_dup(MPI_COMM_WORLD, &own[i]);
	for (int i = 0; i < PAIRS; i++) {
		pthread_create(&thread[3 * i], NULL, exchange, (void *)(intptr_t)(i + 1));
		pthread_create(&thread[3 * i + 1], NULL, reduce, (void *)(intptr_t)i);
		pthread_create(&thread[3 * i + 2], NULL, unpack, (void *)(intptr_t)i);
	}
	pthread_create(&thread[3 * PAIRS], NULL, probe, NULL);
	pthread_create(&thread[3 * PAIRS + 1], NULL, burst, NULL);
	for (int i = 0; i < 3 * PAIRS + 2; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < PAIRS; i++)
		MPI_Comm_free(&own[i]);
	return check_end("threads");
}
