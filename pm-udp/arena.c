// SPDX-License-Identifier: BSD-3-Clause
/*
 * arena - the memory of the transmit buffers: a file in memory, so that the kernel can be told to
 * send pages of it without a copy (show.c). Blocks follow each other without a gap where their size
 * is a number of pages, as it is for 64 packets of MTU 1500. Knows no socket.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "pm-udp/device.h"

/* Bytes that were sent rest until so many others have been: docs/bench/tried.md. */
#define REST_BYTES (1u << 20)

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8u /* Linux 6.3 */
#endif

/*
 * A hole in the file: the old pages live on as long as the network reads them, and new ones come at
 * the next write.
 */
static bool renew(struct packetblocks *pool, uint32_t block)
{
	struct pmu_arena *arena =
		(struct pmu_arena *)((uint8_t *)pool - offsetof(struct pmu_arena, pool));

	return !fallocate(arena->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			  (off_t)(block * arena->stride), (off_t)arena->stride);
}

/* A file beyond the user's limit (ulimit -f) would end the process. */
static bool is_allowed(size_t size)
{
	struct rlimit limit;

	return !getrlimit(RLIMIT_FSIZE, &limit) &&
	       (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= size);
}

static int make_file(size_t size)
{
	int fd = is_allowed(size) ? memfd_create("pm-udp packets", MFD_CLOEXEC | MFD_NOEXEC_SEAL)
				  : -1;

	if (fd >= 0 && ftruncate(fd, (off_t)size)) {
		close(fd);
		return -1;
	}
	return fd;
}

static int map(struct pmu_arena *arena, bool wants_file)
{
	void *bytes;

	arena->fd = wants_file ? make_file(arena->size) : -1;
	bytes = mmap(NULL, arena->size, PROT_READ | PROT_WRITE,
		     arena->fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, arena->fd, 0);
	if (bytes == MAP_FAILED)
		return -ENOMEM;
	arena->bytes = bytes;
	return 0;
}

int pmu_arena_open(struct pmu_arena *arena, uint32_t n_packets, uint32_t payload, bool wants_file)
{
	uint32_t n_blocks = (n_packets + PACKETBLOCK_MAX - 1) / PACKETBLOCK_MAX;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	arena->n_packets = n_blocks * PACKETBLOCK_MAX;
	arena->stride = ((size_t)PACKETBLOCK_MAX * payload + page - 1) & ~(page - 1);
	arena->size = n_blocks * arena->stride;
	arena->packets = calloc(arena->n_packets, sizeof(*arena->packets));
	if (!arena->packets ||
	    packetblocks_init(&arena->pool, arena->packets, n_blocks, PACKETBLOCK_MAX,
			      (uint32_t)(REST_BYTES / arena->stride) + 1) ||
	    map(arena, wants_file))
		return -ENOMEM;
	arena->pool.renew = renew;
	for (uint32_t i = 0; i < arena->n_packets; i++) {
		arena->packets[i].data = arena->bytes + i / PACKETBLOCK_MAX * arena->stride +
					 (size_t)(i % PACKETBLOCK_MAX) * payload;
		arena->packets[i].room = payload;
	}
	return 0;
}

void pmu_arena_close(struct pmu_arena *arena)
{
	if (arena->bytes)
		munmap(arena->bytes, arena->size);
	if (arena->fd >= 0)
		close(arena->fd);
	packetblocks_fini(&arena->pool);
	free(arena->packets);
}
