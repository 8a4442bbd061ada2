// SPDX-License-Identifier: BSD-3-Clause
#include "pm-shmem/cma.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "pmcore/util/clock.h"
#include "pmcore/util/copy.h"

#define MEASURE_BYTES (1u << 20)
#define MEASURE_ROUNDS 5

int pms_cma_read(uint32_t pid, uint64_t remote, void *local, size_t len)
{
	while (len > 0) {
		struct iovec to = {.iov_base = local, .iov_len = len};
		struct iovec from = {.iov_base = (void *)(uintptr_t)remote, .iov_len = len};
		ssize_t n = process_vm_readv((pid_t)pid, &to, 1, &from, 1, 0);

		if (n <= 0)
			return n < 0 ? -errno : -EFAULT;
		local = (uint8_t *)local + n;
		remote += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}

int pms_cma_write(uint32_t pid, uint64_t remote, const void *local, size_t len)
{
	while (len > 0) {
		struct iovec from = {.iov_base = (void *)(uintptr_t)local, .iov_len = len};
		struct iovec to = {.iov_base = (void *)(uintptr_t)remote, .iov_len = len};
		ssize_t n = process_vm_writev((pid_t)pid, &from, 1, &to, 1, 0);

		if (n <= 0)
			return n < 0 ? -errno : -EFAULT;
		local = (const uint8_t *)local + n;
		remote += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}

static uint64_t shorter(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/*
 * Both ways of moving a megabyte, on one core and within one process. One is the kernel's cost of
 * finding and pinning pages. The other is two passes of memcpy, of which the ring overlaps one with
 * the other on two cores.
 */
static enum pms_large compare(uint8_t *from, uint8_t *to, uint8_t *ring)
{
	uint64_t by_ring = UINT64_MAX, by_cma = UINT64_MAX;

	for (int round = 0; round < MEASURE_ROUNDS; round++) {
		uint64_t start = clock_monotonic_ns(), middle;

		for (uint32_t i = 0; i < MEASURE_BYTES; i += PMS_CHUNK_BYTES) {
			uint8_t *chunk = ring + i % (PMS_CHUNKS * PMS_CHUNK_BYTES);

			copy_bytes(chunk, from + i, PMS_CHUNK_BYTES);
			copy_bytes(to + i, chunk, PMS_CHUNK_BYTES);
		}
		middle = clock_monotonic_ns();
		if (pms_cma_read((uint32_t)getpid(), (uintptr_t)from, to, MEASURE_BYTES))
			return PMS_LARGE_RING;
		by_ring = shorter(by_ring, (middle - start) / 2);
		by_cma = shorter(by_cma, clock_monotonic_ns() - middle);
	}
	return by_cma < by_ring ? PMS_LARGE_CMA : PMS_LARGE_RING;
}

enum pms_large pms_cma_measure(void)
{
	size_t size = 2 * MEASURE_BYTES + PMS_CHUNKS * PMS_CHUNK_BYTES;
	uint8_t *memory = malloc(size);
	enum pms_large large;

	if (!memory)
		return PMS_LARGE_RING;
	memset(memory, 1, size);
	large = compare(memory, memory + MEASURE_BYTES, memory + 2 * MEASURE_BYTES);
	free(memory);
	return large;
}
