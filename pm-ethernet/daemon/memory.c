// SPDX-License-Identifier: BSD-3-Clause
/*
 * A lease for writing is granted only if no other open file of the same inode can be read or
 * written, and a mapping keeps its open file. The file that memfd_create makes is not counted
 * there, so processes get one by /proc.
 */
#include "pm-ethernet/daemon/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK_BYTES 512u /* of st_blocks */

int ethd_memory_make(const char *name, uint64_t bytes)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING), err;

	if (fd < 0)
		return -errno;
	if (!ftruncate(fd, (off_t)bytes) &&
	    !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

int ethd_memory_lend(int fd)
{
	char path[64];
	int lent;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	lent = open(path, O_RDWR | O_CLOEXEC);
	return lent < 0 ? -errno : lent;
}

bool ethd_memory_is_filled(int fd, uint64_t bytes)
{
	struct stat st;

	return !fstat(fd, &st) && (uint64_t)st.st_blocks * BLOCK_BYTES >= bytes;
}

int ethd_memory_is_lent(int fd)
{
	int ours = ethd_memory_lend(fd), err = 0;

	/* such as no descriptor being left for us */
	if (ours < 0)
		return 1;
	if (fcntl(ours, F_SETLEASE, F_WRLCK))
		err = -errno;
	/* the lease goes with its file */
	close(ours);
	return err == -EAGAIN ? 1 : err;
}

void ethd_memory_drop(int fd)
{
	struct stat st;

	if (fd < 0)
		return;
	/* a descriptor made with O_PATH would keep the pages: it is none that the lease hears of */
	if (!fstat(fd, &st))
		(void)fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, st.st_size);
	close(fd);
}
