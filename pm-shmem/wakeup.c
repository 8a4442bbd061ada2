// SPDX-License-Identifier: BSD-3-Clause
#include "pm-shmem/wakeup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static void fifo_name(uint32_t index, char name[24])
{
	snprintf(name, 24, "wake.%u", index);
}

/* Read-write also for those who only write: a write to a FIFO without reader would be a SIGPIPE. */
static int fifo_open(int dir, const char *name, int *ret_fd)
{
	int fd = openat(dir, name, O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || !S_ISFIFO(st.st_mode) || st.st_uid != geteuid()) {
		close(fd);
		return -EPERM;
	}
	*ret_fd = fd;
	return 0;
}

int pms_fifo_create(int dir, uint32_t index, int *ret_fd)
{
	char name[24];

	fifo_name(index, name);
	/* what is there belonged to a process that was killed */
	if (unlinkat(dir, name, 0) && errno != ENOENT)
		return -errno;
	if (mkfifoat(dir, name, 0600))
		return -errno;
	return fifo_open(dir, name, ret_fd);
}

void pms_fifo_remove(int dir, uint32_t index)
{
	char name[24];

	fifo_name(index, name);
	unlinkat(dir, name, 0);
}

void pms_sleep_begin(struct pms_slot *self, uint32_t count)
{
	atomic_store_explicit(&self->sleeping, count, memory_order_relaxed);
	atomic_thread_fence(memory_order_seq_cst);
}

void pms_sleep_end(struct pms_slot *self, int fifo)
{
	char bytes[64];

	atomic_store_explicit(&self->sleeping, 0, memory_order_relaxed);
	while (read(fifo, bytes, sizeof(bytes)) == sizeof(bytes))
		;
}

bool pms_wake_slow(struct pms_waker *waker, int dir, uint32_t index)
{
	uint32_t count = atomic_load_explicit(&waker->slot->sleeping, memory_order_relaxed);
	char name[24];
	ssize_t n;

	if (!count)
		return false;
	if (waker->fd < 0) {
		fifo_name(index, name);
		/* gone with its process: liveness will tell */
		if (fifo_open(dir, name, &waker->fd))
			return false;
	}
	/* a full FIFO (EAGAIN) is readable, which is all that is wanted */
	n = write(waker->fd, "", 1);
	/*
	 * Byte first, flag second: killed in between, the sleeper wakes and the next sender does it
	 * again. The count keeps a late waker from clearing the flag of a later sleep.
	 */
	atomic_compare_exchange_strong(&waker->slot->sleeping, &count, 0);
	return n == 1;
}
