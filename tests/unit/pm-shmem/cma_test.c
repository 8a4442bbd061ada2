// SPDX-License-Identifier: BSD-3-Clause
#include "pm-shmem/cma.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/harness/tap.h"

#define SIZE 300000

static uint8_t from[SIZE], to[SIZE];

static bool is_permitted(void)
{
	if (pms_cma_read((uint32_t)getpid(), (uintptr_t)from, to, 8) == 0)
		return true;
	tap_skip("process_vm_readv is refused here");
	return false;
}

TAP_TEST(cma__both_ways)
{
	pid_t pid;
	int fds[2];

	if (!is_permitted())
		return;
	for (int i = 0; i < SIZE; i++)
		from[i] = (uint8_t)(i * 7 + i / 256);
	must(!pipe(fds));
	pid = fork();
	if (!pid) {
		char byte;

		_exit(read(fds[0], &byte, 1) == 1 ? memcmp(to, from, SIZE) != 0 : 2);
	}
	must(pid > 0);
	is_int(pms_cma_read((uint32_t)pid, (uintptr_t)from, to, SIZE), 0);
	is_mem(to, from, SIZE);
	is_int(pms_cma_write((uint32_t)pid, (uintptr_t)to, from, SIZE), 0);
	is_int(write(fds[1], "", 1), 1);
	for (int status = 1; waitpid(pid, &status, 0) == pid;)
		is_int(status, 0);
}

TAP_TEST(cma__no_such_process)
{
	pid_t pid;

	if (!is_permitted())
		return;
	pid = fork();
	if (!pid)
		_exit(0);
	must(pid > 0);
	waitpid(pid, NULL, 0);
	is_int(pms_cma_read((uint32_t)pid, (uintptr_t)from, to, SIZE), -ESRCH);
	is_int(pms_cma_write((uint32_t)pid, (uintptr_t)from, to, SIZE), -ESRCH);
}

TAP_TEST(cma__memory_that_is_not_there)
{
	uint8_t *hole =
		mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (!is_permitted())
		return;
	munmap(hole + 4096, 4096);
	/* the second half fails after the first has been copied */
	is_int(pms_cma_read((uint32_t)getpid(), (uintptr_t)hole, to, 2 * 4096), -EFAULT);
	is_int(pms_cma_write((uint32_t)getpid(), (uintptr_t)hole, to, 2 * 4096), -EFAULT);
	munmap(hole, 4096);
}

TAP_TEST(cma_measure__decides)
{
	enum pms_large large = pms_cma_measure();

	ok(large == PMS_LARGE_RING || large == PMS_LARGE_CMA);
	tap_diag("large data by %s", large == PMS_LARGE_RING ? "ring" : "cma");
}
