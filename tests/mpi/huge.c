// SPDX-License-Identifier: BSD-3-Clause
/*
 * One message of more than 2 GiB (and more than 4 GiB with the argument "5"): in one piece, and in
 * a layout with holes on both sides. Needs two buffers of that size in memory.
 */
#include "tests/mpi/check.h"

enum { CHUNK = 1 << 20 };

/* A layout of @chunks blocks of 1 MiB, 1 MiB + @gap bytes apart. */
static MPI_Datatype blocks(int chunks, int gap)
{
	MPI_Datatype block, t;

	/* As a vector of bytes it overflows Open MPI 4.1's count of elements. */
	MPI_Type_contiguous(CHUNK, MPI_BYTE, &block);
	MPI_Type_create_hvector(chunks, 1, CHUNK + gap, block, &t);
	MPI_Type_commit(&t);
	MPI_Type_free(&block);
	return t;
}

static void mark(char *buf, int chunks, int gap, int round)
{
	for (int i = 0; i < chunks; i++) {
		char *p = buf + (size_t)i * (size_t)(CHUNK + gap);

		for (int at = 0; at < CHUNK; at += 4096)
			*(int *)(p + at) = i * 1024 + at / 4096 + round;
		p[CHUNK - 1] = (char)(i + round);
	}
}

static void check_marks(const char *buf, int chunks, int gap, int round)
{
	for (int i = 0; i < chunks; i++) {
		const char *p = buf + (size_t)i * (size_t)(CHUNK + gap);

		for (int at = 0; at < CHUNK; at += 4096)
			CHECK(*(const int *)(p + at) == i * 1024 + at / 4096 + round,
			      "byte %d of MiB %d", at, i);
		CHECK(p[CHUNK - 1] == (char)(i + round), "last byte of MiB %d", i);
	}
}

int main(int argc, char **argv)
{
	static const int gaps[3][2] = {{0, 0}, {64, 0}, {0, 64}};
	int gib = argc > 1 ? atoi(argv[1]) : 2;
	int chunks = gib * 1024 + 3;
	char *buf;

	check_start(&argc, &argv);
	buf = check_rank < 2 ? calloc((size_t)chunks, CHUNK + 64) : NULL;
	CHECK(check_rank > 1 || buf, "no memory");
	for (int round = 0; round < 3; round++) {
		if (check_rank < 2) {
			int gap = gaps[round][check_rank];
			MPI_Datatype t = blocks(chunks, gap);
			MPI_Status st;
			MPI_Count got;

			if (check_rank == 0) {
				mark(buf, chunks, gap, round);
				MPI_Send(buf, 1, t, 1, 0, MPI_COMM_WORLD);
			} else {
				MPI_Recv(buf, 1, t, 0, 0, MPI_COMM_WORLD, &st);
				MPI_Get_elements_x(&st, MPI_BYTE, &got);
				CHECK(got == (MPI_Count)chunks * CHUNK, "%lld bytes",
				      (long long)got);
				check_marks(buf, chunks, gap, round);
			}
			MPI_Type_free(&t);
		}
	}
	free(buf);
	return check_end("huge");
}
