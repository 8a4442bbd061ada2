// SPDX-License-Identifier: BSD-3-Clause
/* Tests of pm-ethernet/daemon/memory.c. */
#include "pm-ethernet/daemon/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/harness/tap.h"

#define BYTES (64ull << 10)

static int make(void)
{
	int fd = ethd_memory_make("memory-test", BYTES);

	if (fd < 0)
		abort();
	return fd;
}

TAP_TEST(ethd_memory_make__has_its_size_for_good)
{
	int fd = make(), lent = ethd_memory_lend(fd);

	is_int(lseek(fd, 0, SEEK_END), BYTES);
	is_int(ftruncate(lent, 0) ? errno : 0, EPERM);
	is_int(ftruncate(lent, 2 * BYTES) ? errno : 0, EPERM);
	close(lent);
	close(fd);
}

TAP_TEST(ethd_memory_is_filled__when_every_page_is_there)
{
	int fd = make();

	ok(!ethd_memory_is_filled(fd, BYTES));
	must(fallocate(fd, 0, 0, BYTES - 4096) == 0);
	ok(!ethd_memory_is_filled(fd, BYTES));
	must(fallocate(fd, 0, 0, BYTES) == 0);
	ok(ethd_memory_is_filled(fd, BYTES));
	must(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 4096, 4096) == 0);
	ok(!ethd_memory_is_filled(fd, BYTES));
	close(fd);
	ok(!ethd_memory_is_filled(fd, BYTES));
}

TAP_TEST(ethd_memory_is_lent__while_it_is_open_elsewhere)
{
	int fd = make(), lent, copy;

	is_int(ethd_memory_is_lent(fd), 0);
	lent = ethd_memory_lend(fd);
	must(lent >= 0);
	is_int(ethd_memory_is_lent(fd), 1);
	copy = dup(lent);
	close(lent);
	is_int(ethd_memory_is_lent(fd), 1);
	close(copy);
	is_int(ethd_memory_is_lent(fd), 0);
	/* and again: to look leaves nothing behind */
	is_int(ethd_memory_is_lent(fd), 0);
	close(fd);
	/* it can't be told, as when we have no descriptor left */
	is_int(ethd_memory_is_lent(fd), 1);
}

TAP_TEST(ethd_memory_is_lent__while_it_is_mapped_or_open_for_reading)
{
	int fd = make(), lent = ethd_memory_lend(fd), reader;
	void *at = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, lent, 0);
	char path[64];

	must(at != MAP_FAILED);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", lent);
	reader = open(path, O_RDONLY | O_CLOEXEC);
	must(reader >= 0);
	close(lent);
	is_int(ethd_memory_is_lent(fd), 1);
	close(reader);
	is_int(ethd_memory_is_lent(fd), 1);
	munmap(at, BYTES);
	is_int(ethd_memory_is_lent(fd), 0);
	close(fd);
}

/* Such a descriptor keeps the file and is no lease's business. */
TAP_TEST(ethd_memory_drop__frees_pages_that_a_path_keeps)
{
	int fd = make(), kept, again;
	char path[64];

	must(fallocate(fd, 0, 0, BYTES) == 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	kept = open(path, O_PATH | O_CLOEXEC);
	must(kept >= 0);
	is_int(ethd_memory_is_lent(fd), 0);
	ethd_memory_drop(fd);
	is_int(fcntl(fd, F_GETFD), -1);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", kept);
	again = open(path, O_RDWR | O_CLOEXEC);
	must(again >= 0);
	ok(!ethd_memory_is_filled(again, 4096));
	close(again);
	close(kept);
	ethd_memory_drop(-1);
}
