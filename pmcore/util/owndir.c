// SPDX-License-Identifier: BSD-3-Clause
#include "pmcore/util/owndir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A slash at the end would follow a link. */
static int copy_bare(const char *path, char *bare)
{
	size_t length = strlen(path);

	while (length > 1 && path[length - 1] == '/')
		length--;
	if (length >= PATH_MAX)
		return -ENAMETOOLONG;
	memcpy(bare, path, length);
	bare[length] = 0;
	return 0;
}

/* Writes a fault of the directory and its remedy; "" = there is none. */
static void judge(const struct stat *st, char *wrong, size_t size)
{
	wrong[0] = 0;
	if (S_ISLNK(st->st_mode))
		snprintf(wrong, size, "it is a symbolic link; name the directory itself");
	else if (!S_ISDIR(st->st_mode))
		snprintf(wrong, size, "it is no directory; remove it");
	else if (st->st_uid != geteuid())
		snprintf(wrong, size, "it belongs to user %u, and we are user %u; remove it",
			 st->st_uid, geteuid());
	else if (st->st_mode & (S_IWGRP | S_IWOTH))
		snprintf(wrong, size, "group or others may write there (mode %04o); chmod go-w it",
			 st->st_mode & 07777);
}

int owndir_open(const char *path, mode_t mode, const char *what, const char *option, char *why,
		size_t why_size)
{
	char bare[PATH_MAX], wrong[128];
	struct stat st;
	int err = copy_bare(path, bare);

	if (!err && ((mkdir(bare, mode) && errno != EEXIST) || lstat(bare, &st)))
		err = -errno;
	if (err) {
		snprintf(why, why_size,
			 "%s %s: %s; look after the directory above it, or choose another with %s",
			 what, path, strerror(-err), option);
		return err;
	}
	judge(&st, wrong, sizeof(wrong));
	if (!wrong[0])
		return 0;
	snprintf(why, why_size, "%s %s: %s, or choose another with %s", what, path, wrong, option);
	return -EPERM;
}

int owndir_file(const char *directory, const char *name, char *why, size_t why_size)
{
	char path[PATH_MAX];
	struct stat st;
	int fd, err = 0;

	if (snprintf(path, sizeof(path), "%s/%s", directory, name) >= (int)sizeof(path)) {
		snprintf(why, why_size, "%s/%s: the path is too long; choose a shorter one",
			 directory, name);
		return -ENAMETOOLONG;
	}
	/*
	 * O_PATH opens no device and waits for no FIFO. fchmod() does not take such a descriptor,
	 * its name does.
	 */
	fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 || fstat(fd, &st))
		err = -errno;
	else if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_nlink != 1)
		err = -EPERM;
	else if (st.st_mode & 077 && chmod(path, st.st_mode & 0700))
		err = -errno;
	if (fd >= 0)
		close(fd);
	if (err)
		snprintf(why, why_size, "%s: %s; remove that file, which we did not make", path,
			 err == -EPERM ? "it is not ours alone" : strerror(-err));
	return err;
}
