// SPDX-License-Identifier: BSD-3-Clause
#include "pm-shmem/liveness.h"

#include <errno.h>
#include <fcntl.h>

#include "pm-shmem/layout.h"

static int lock_op(int fd, int op, short type, uint32_t start, uint32_t len, short *ret_type)
{
	struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = len};

	while (fcntl(fd, op, &lock))
		if (errno != EINTR)
			return errno == EACCES ? -EAGAIN : -errno;
	if (ret_type)
		*ret_type = lock.l_type;
	return 0;
}

int pms_lock(int fd)
{
	return lock_op(fd, F_OFD_SETLKW, F_WRLCK, 0, 1, NULL);
}

int pms_trylock(int fd)
{
	return lock_op(fd, F_OFD_SETLK, F_WRLCK, 0, 1, NULL);
}

void pms_unlock(int fd)
{
	lock_op(fd, F_OFD_SETLK, F_UNLCK, 0, 1, NULL);
}

int pms_slot_lock(int fd, uint32_t index)
{
	return lock_op(fd, F_OFD_SETLK, F_WRLCK, 1 + index, 1, NULL);
}

static bool is_held(int fd, uint32_t start, uint32_t len)
{
	short type = F_WRLCK;

	/* a test that cannot be made finds nobody dead */
	return lock_op(fd, F_OFD_GETLK, F_WRLCK, start, len, &type) || type != F_UNLCK;
}

bool pms_slot_is_held(int fd, uint32_t index)
{
	return is_held(fd, 1 + index, 1);
}

bool pms_any_slot_is_held(int fd)
{
	return is_held(fd, 1, PMS_SLOTS);
}
