/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * filesize - whether this process may make a file that large. A file longer than RLIMIT_FSIZE
 * (ulimit -f) is not only refused: the kernel sends SIGXFSZ, which ends a program that never asked
 * for a file.
 */
#ifndef PM_UTIL_FILESIZE_H
#define PM_UTIL_FILESIZE_H

#include <errno.h>
#include <stdint.h>
#include <sys/resource.h>

/* 0, or -EFBIG: do not try. */
static inline int filesize_check(uint64_t size)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur >= size ? 0 : -EFBIG;
}

#endif
