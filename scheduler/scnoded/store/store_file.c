// SPDX-License-Identifier: BSD-3-Clause
/* store_file - one file of a dump: its size and its checksum, and which need not have one. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pmcore/util/crc32c.h"
#include "scheduler/scnoded/store/store_inside.h"

#define CHUNK (1u << 20)

int store_file(int fd, const char *name)
{
	/* O_NONBLOCK: a FIFO is not waited for */
	int err, file = openat(fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	/* ENXIO is a socket, or a device that nobody drives. */
	if (file < 0)
		return errno == ELOOP || errno == ENXIO ? -EBADF : -errno;
	err = fstat(file, &st) ? -errno : S_ISREG(st.st_mode) ? 0 : -EBADF;
	if (!err)
		return file;
	close(file);
	return err;
}

int store_sum(int file, uint64_t *ret_size, uint32_t *ret_crc)
{
	char *chunk = malloc(CHUNK);
	uint64_t size = 0;
	uint32_t crc = 0;
	ssize_t n = 1;

	if (!chunk)
		return -ENOMEM;
	posix_fadvise(file, 0, 0, POSIX_FADV_SEQUENTIAL);
	while (n > 0) {
		n = read(file, chunk, CHUNK);
		if (n < 0 && errno == EINTR) {
			n = 1;
			continue;
		}
		if (n > 0) {
			crc = crc32c(crc, chunk, (size_t)n);
			size += (uint64_t)n;
		}
	}
	n = n < 0 ? -errno : 0;
	free(chunk);
	if (n)
		return (int)n;
	*ret_size = size;
	*ret_crc = crc;
	return 0;
}

int store_compare(const void *a, const void *b)
{
	const struct hostfile_file *one = a, *two = b;

	return strcmp(one->name, two->name);
}

bool store_is_beside(const char *name)
{
	static const char *const beside[] = {STORE_WRITER, HOSTFILE_NAME,
					     /* what CRIU writes at a restart */
					     "restore.log", "restore.said", "stats-restore"};

	for (size_t i = 0; i < sizeof(beside) / sizeof(beside[0]); i++)
		if (!strcmp(name, beside[i]))
			return true;
	return false;
}
