/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the MPI test programs: a check that ends the job with place and values, patterns, and
 * the one OK line. Each program takes any number of ranks >= 2 unless it says otherwise.
 */
#ifndef TESTS_MPI_CHECK_H
#define TESTS_MPI_CHECK_H

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int check_rank, check_size;

/* Ends the job unless @cond holds; the rest is a printf text with the values. */
#define CHECK(cond, ...)                                                                           \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			fprintf(stderr, "%s:%d: rank %d: %s: ", __FILE__, __LINE__, check_rank,    \
				#cond);                                                            \
			fprintf(stderr, __VA_ARGS__);                                              \
			fputc('\n', stderr);                                                       \
			MPI_Abort(MPI_COMM_WORLD, 1);                                              \
		}                                                                                  \
	} while (0)

static inline void check_start(int *argc, char ***argv)
{
	MPI_Init(argc, argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
	MPI_Comm_size(MPI_COMM_WORLD, &check_size);
	CHECK(check_size >= 2, "start me with at least 2 ranks");
}

/* The same for programs whose threads call MPI at the same time. */
static inline void check_start_threaded(int *argc, char ***argv)
{
	int provided;

	MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
	MPI_Comm_size(MPI_COMM_WORLD, &check_size);
	CHECK(check_size >= 2, "start me with at least 2 ranks");
	CHECK(provided == MPI_THREAD_MULTIPLE, "MPI_THREAD_MULTIPLE is wanted, %d is provided",
	      provided);
}

static inline int check_end(const char *name)
{
	MPI_Barrier(MPI_COMM_WORLD);
	if (check_rank == 0)
		printf("OK %s %d ranks\n", name, check_size);
	MPI_Finalize();
	return 0;
}

/* Byte @i of the pattern @seed: neither constant nor periodic in powers of two. */
static inline unsigned char pattern(uint64_t seed, size_t i)
{
	return (unsigned char)((i * 0x9e3779b1u + seed * 0x85ebca6bu) >> 13);
}

static inline void fill(void *buf, size_t len, uint64_t seed)
{
	for (size_t i = 0; i < len; i++)
		((unsigned char *)buf)[i] = pattern(seed, i);
}

/* Index of the first wrong byte, or @len. */
static inline size_t first_wrong(const void *buf, size_t len, uint64_t seed)
{
	size_t i = 0;

	while (i < len && ((const unsigned char *)buf)[i] == pattern(seed, i))
		i++;
	return i;
}

#endif
