// SPDX-License-Identifier: BSD-3-Clause
/*
 * The ranks pass data round in steps, of which each depends on all before. Rank 0 prints a line for
 * each step, and adds it to a file. Each rank checks each byte that it gets. Arguments: the file,
 * steps, and how long a step computes, in microseconds; without them a few steps and no file. The
 * program's end and its file do not depend on time, hosts or devices.
 */
#include "tests/mpi/check.h"

#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BYTES_MAX (96 << 10) /* of a message: some go at once, others are announced */
#define MESSAGES 4           /* at once, to each neighbour */
#define STEPS 10
#define KEPT (1 << 20) /* bytes that a rank carries from step to step */

static unsigned char out[MESSAGES][BYTES_MAX], in[MESSAGES][BYTES_MAX];
static uint64_t kept[KEPT / sizeof(uint64_t)];

static uint64_t mix(uint64_t x)
{
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdull;
	x ^= x >> 33;
	return x * 0xc4ceb9fe1a85ec53ull;
}

static int bytes_of(int step, int message)
{
	return (int)(mix((uint64_t)step * MESSAGES + (uint64_t)message) % BYTES_MAX) + 1;
}

static unsigned char byte_of(int step, int message, int rank, int at)
{
	return (unsigned char)(mix(((uint64_t)step << 32) + (uint64_t)(rank * MESSAGES + message)) +
			       (uint64_t)at * 7);
}

static void exchange(int step, int rank, int n_ranks)
{
	int to = (rank + 1) % n_ranks, from = (rank + n_ranks - 1) % n_ranks, n;
	MPI_Request requests[2 * MESSAGES];

	for (int m = 0; m < MESSAGES; m++) {
		n = bytes_of(step, m);
		for (int i = 0; i < n; i++)
			out[m][i] = byte_of(step, m, rank, i);
		MPI_Irecv(in[m], BYTES_MAX, MPI_BYTE, from, m, MPI_COMM_WORLD, &requests[m]);
		MPI_Isend(out[m], n, MPI_BYTE, to, m, MPI_COMM_WORLD, &requests[MESSAGES + m]);
	}
	MPI_Waitall(2 * MESSAGES, requests, MPI_STATUSES_IGNORE);
	for (int m = 0; m < MESSAGES; m++) {
		n = bytes_of(step, m);
		for (int i = 0; i < n; i++)
			CHECK(in[m][i] == byte_of(step, m, from, i),
			      "step %d, rank %d: byte %d of %d of message %d", step, rank, i, n, m);
	}
}

/* All that a rank carries changes in each step. */
static uint64_t compute(int step, int rank, long pause_us)
{
	struct timespec pause = {.tv_sec = pause_us / 1000000,
				 .tv_nsec = pause_us % 1000000 * 1000};
	uint64_t sum = 0;

	for (size_t i = 0; i < KEPT / sizeof(*kept); i++) {
		kept[i] = mix(kept[i] + (uint64_t)step + i * (uint64_t)(rank + 1));
		sum += kept[i];
	}
	nanosleep(&pause, NULL);
	return sum;
}

static void write_down(FILE *file, int step, uint64_t sum)
{
	if (file) {
		fprintf(file, "step %d: %016llx\n", step, (unsigned long long)sum);
		CHECK(!fflush(file), "the file can't be written");
	}
	printf("step %d: %016llx\n", step, (unsigned long long)sum);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	int rank, n_ranks, steps;
	long pause_us;
	uint64_t sum, total;
	FILE *file = NULL;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
	CHECK(argc == 1 || argc == 4, "usage: chronicle [FILE STEPS MICROSECONDS]");
	steps = argc > 1 ? atoi(argv[2]) : STEPS;
	pause_us = argc > 1 ? atol(argv[3]) : 0;
	if (!rank && argc > 1) {
		file = fopen(argv[1], "w");
		CHECK(file, "%s can't be opened", argv[1]);
	}
	for (int step = 0; step < steps; step++) {
		exchange(step, rank, n_ranks);
		sum = compute(step, rank, pause_us);
		MPI_Reduce(&sum, &total, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
		if (!rank)
			write_down(file, step, total);
	}
	if (file)
		fclose(file);
	MPI_Finalize();
	if (!rank)
		puts("OK chronicle");
	return 0;
}
