// SPDX-License-Identifier: BSD-3-Clause
#include "pm-shmem/liveness.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/harness/tap.h"

static char path[64];

static int open_file(void)
{
	return open(path, O_RDWR | O_CLOEXEC);
}

static bool begin(int *ret_fd)
{
	snprintf(path, sizeof(path), "/dev/shm/pms-test-XXXXXX");
	*ret_fd = mkstemp(path);
	return ok(*ret_fd >= 0);
}

TAP_TEST(slot_lock__seen_by_other_descriptions_only)
{
	int fd, other;

	must(begin(&fd));
	other = open_file();
	is_int(pms_slot_lock(fd, 7), 0);
	ok(!pms_slot_is_held(fd, 7));
	ok(!pms_any_slot_is_held(fd));
	ok(pms_slot_is_held(other, 7));
	ok(!pms_slot_is_held(other, 6));
	ok(!pms_slot_is_held(other, 8));
	ok(pms_any_slot_is_held(other));
	is_int(pms_slot_lock(other, 7), -EAGAIN);
	is_int(pms_slot_lock(other, 255), 0);
	ok(pms_slot_is_held(fd, 255));
	close(fd);
	ok(!pms_slot_is_held(other, 7));
	close(other);
	unlink(path);
}

TAP_TEST(lock__excludes)
{
	int fd, other;

	must(begin(&fd));
	other = open_file();
	is_int(pms_lock(fd), 0);
	is_int(pms_trylock(other), -EAGAIN);
	ok(!pms_any_slot_is_held(other));
	pms_unlock(fd);
	is_int(pms_trylock(other), 0);
	close(fd);
	close(other);
	unlink(path);
}

TAP_TEST(slot_lock__dropped_by_kill)
{
	int fd, ready[2], status;
	pid_t pid;
	char byte;

	must(begin(&fd));
	must(!pipe(ready));
	pid = fork();
	if (!pid) {
		int own = open_file();

		if (pms_slot_lock(own, 3) || pms_lock(own) || write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	must(pid > 0);
	is_int(read(ready[0], &byte, 1), 1);
	ok(pms_slot_is_held(fd, 3));
	is_int(pms_trylock(fd), -EAGAIN);
	kill(pid, SIGKILL);
	/* waits for no longer than the kernel takes */
	is_int(pms_lock(fd), 0);
	waitpid(pid, &status, 0);
	ok(!pms_slot_is_held(fd, 3));
	close(fd);
	unlink(path);
}
