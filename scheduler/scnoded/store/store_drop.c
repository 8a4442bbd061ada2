// SPDX-License-Identifier: BSD-3-Clause
/*
 * store_drop - removes trees, and what is not committed of a place. Other hosts may remove the same
 * at the same time: what is missing is fine, and so is a directory that somebody has just filled.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scheduler/scnoded/store/store_inside.h"

#define DEPTH_MAX 64 /* the images of a dump have no directories at all */

static int empty_directory(int fd, int depth);

static bool is_mount(int fd)
{
	struct statx st;

	return !statx(fd, "", AT_EMPTY_PATH, 0, &st) && st.stx_attributes & STATX_ATTR_MOUNT_ROOT;
}

/* Removes the directory @name but not what is mounted on it. */
static int drop_directory(int fd, const char *name, int depth)
{
	int below = store_below(fd, name), err;

	if (below < 0)
		return below == -ENOENT ? 0 : below;
	if (depth == DEPTH_MAX || is_mount(below)) {
		close(below);
		return depth == DEPTH_MAX ? -ELOOP : -EBUSY;
	}
	err = empty_directory(below, depth);
	if (!err && unlinkat(fd, name, AT_REMOVEDIR) && errno != ENOENT)
		err = -errno;
	return err;
}

static int drop_entry(int fd, const char *name, int depth)
{
	if (!unlinkat(fd, name, 0) || errno == ENOENT)
		return 0;
	/* EPERM is what POSIX says of a directory. */
	if (errno != EISDIR && errno != EPERM)
		return -errno;
	return drop_directory(fd, name, depth);
}

/* Goes on after an error, so that as much room as possible becomes free. Closes @fd. */
static int empty_directory(int fd, int depth)
{
	DIR *dir = store_list(fd);
	const char *name;
	int err = 0;

	if (!dir)
		return -errno;
	while ((name = store_next(dir))) {
		int failed = 0;

		if (depth || strcmp(name, STORE_WRITER))
			failed = drop_entry(dirfd(dir), name, depth + 1);
		if (!err)
			err = failed;
	}
	if (!err)
		err = -errno;
	if (!err && !depth && unlinkat(dirfd(dir), STORE_WRITER, 0) && errno != ENOENT)
		err = -errno;
	closedir(dir);
	return err;
}

int store_drop(int fd, const char *name)
{
	int err = drop_directory(fd, name, 0);

	/* A link or a file in place of the directory goes, and nothing behind it. */
	if (err == -ENOTDIR || err == -ELOOP)
		err = unlinkat(fd, name, 0) && errno != ENOENT ? err : 0;
	return err;
}

/* Those that a host is about to make are called INDEX.HOST. */
static bool is_half_made(const char *name, const char *index)
{
	size_t n = strlen(index);

	return !strncmp(name, index, n) && name[n] == '.';
}

int store_drop_fresh(const struct store_dirs *dirs, const struct store_names *names)
{
	const char *name;
	int err, fd;
	DIR *dir;

	if (dirs->fresh < 0)
		return 0;
	err = store_drop(dirs->fresh, names->index);
	fd = store_below(dirs->job, names->fresh);
	if (fd < 0)
		return err ? err : fd == -ENOENT ? 0 : fd;
	dir = store_list(fd);
	if (!dir)
		return -errno;
	while (!err && (name = store_next(dir)))
		if (is_half_made(name, names->index))
			err = store_drop(dirs->fresh, name);
	closedir(dir);
	return err;
}

void store_drop_empty(const struct store_dirs *dirs, const struct store_names *names)
{
	if (dirs->job < 0)
		return;
	unlinkat(dirs->job, names->fresh, AT_REMOVEDIR);
	unlinkat(dirs->job, names->round, AT_REMOVEDIR);
	unlinkat(dirs->top, names->job, AT_REMOVEDIR);
}
