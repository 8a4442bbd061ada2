// SPDX-License-Identifier: BSD-3-Clause
/*
 * mpi_spin FILE - barriers and allreduces without a pause, each rank busy all the time, until a
 * signal ends the job. Rank 0 counts those done in FILE, a 64-bit number in the order of the
 * machine, so that whoever measures reads it at moments of its own, while the job runs or stands.
 */
#include <fcntl.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

/* NULL with errno if the file can't be had. */
static _Atomic uint64_t *map_count(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	void *count = MAP_FAILED;

	if (fd < 0)
		return NULL;
	if (!ftruncate(fd, sizeof(uint64_t)))
		count = mmap(NULL, sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return count == MAP_FAILED ? NULL : count;
}

static _Noreturn void spin(_Atomic uint64_t *count)
{
	long mine = 1, all;

	for (uint64_t done = 1;; done++) {
		MPI_Barrier(MPI_COMM_WORLD);
		MPI_Allreduce(&mine, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
		atomic_store_explicit(count, done, memory_order_relaxed);
	}
}

int main(int argc, char **argv)
{
	static _Atomic uint64_t uncounted;
	_Atomic uint64_t *count = &uncounted;
	int rank;

	if (argc != 2) {
		fprintf(stderr, "usage: mpi_spin FILE\n");
		return 2;
	}
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (rank == 0)
		count = map_count(argv[1]);
	if (!count) {
		fprintf(stderr, "mpi_spin: %s: %s\n", argv[1], strerror(errno));
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	spin(count);
}
