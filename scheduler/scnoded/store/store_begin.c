// SPDX-License-Identifier: BSD-3-Clause
/* store_begin - a place for the images of a dump, and the way to it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "scheduler/scnoded/store/store_inside.h"

#define RESERVE_SHARE 20 /* of the file system is left free */

/* The parents of the directory are somebody else's to make. */
static char *make_top(const struct store_place *place, const char *host)
{
	int fd;

	if (mkdir(place->directory, 0700) && errno != EEXIST)
		return store_failed(place, host, errno, "the directory cannot be made");
	fd = store_top(place->directory);
	if (fd == -ENOTDIR || fd == -ELOOP)
		return store_wrong(place, host,
				   "it is no directory, or a symbolic link; name the directory "
				   "itself");
	if (fd < 0)
		return store_failed(place, host, -fd, "the directory cannot be used");
	close(fd);
	return NULL;
}

static char *judge_room(const struct store_place *place, const char *host, int fd, uint64_t bytes)
{
	struct statvfs fs;
	uint64_t room, left;

	if (fstatvfs(fd, &fs))
		return store_failed(place, host, errno, "its free space cannot be seen");
	/* Jobs of users fill no disk to the last block. */
	left = fs.f_blocks / RESERVE_SHARE;
	left = fs.f_bavail > left ? fs.f_bavail - left : 0;
	if (__builtin_mul_overflow(left, (uint64_t)fs.f_frsize, &room) || room >= bytes)
		return NULL;
	return store_wrong(place, host,
			   "the images need %llu bytes and %llu are free: %llu are missing; make "
			   "room there, or choose another directory",
			   (unsigned long long)bytes, (unsigned long long)room,
			   (unsigned long long)(bytes - room));
}

static char *clear(const struct store_place *place, const char *host, uint64_t bytes)
{
	struct store_names names;
	struct store_dirs dirs;
	char *text = NULL;
	int err = store_dirs_open(&dirs, place, STORE_MAKE_NONE);

	if (err)
		return store_failed(place, host, -err, "it cannot be looked at");
	store_name(place, &names);
	if (dirs.round >= 0 && !faccessat(dirs.round, names.index, F_OK, AT_SYMLINK_NOFOLLOW))
		text = store_wrong(place, host,
				   "there is one with this number already; move directory %s away",
				   names.job);
	err = text ? 0 : store_drop_fresh(&dirs, &names);
	if (err)
		text = store_failed(place, host, -err, "what an earlier dump left stays");
	if (!text)
		text = judge_room(place, host, dirs.top, bytes);
	store_dirs_close(&dirs);
	return text;
}

/* INDEX never is without its writer, so it gets its name when that is in it. */
static int fill(int fresh, const char *half, const char *index, const char *host)
{
	int err, fd = store_below(fresh, half);

	if (fd < 0)
		return fd;
	err = store_write(fd, STORE_WRITER, host, strlen(host));
	if (!err && fsync(fd))
		err = -errno;
	close(fd);
	if (!err && (renameat(fresh, half, fresh, index) || fsync(fresh)))
		err = -errno;
	return err;
}

static int make_once(const struct store_place *place, const char *host)
{
	char half[16 + HOSTFILE_TEXT_MAX];
	struct store_names names;
	struct store_dirs dirs;
	int err = store_dirs_open(&dirs, place, STORE_MAKE_FRESH);

	if (err)
		return err;
	store_name(place, &names);
	snprintf(half, sizeof(half), "%s.%s", names.index, host);
	err = mkdirat(dirs.fresh, half, 0700) ? -errno : fill(dirs.fresh, half, names.index, host);
	if (err) {
		store_drop_fresh(&dirs, &names);
		store_drop_empty(&dirs, &names);
	}
	store_dirs_close(&dirs);
	return err;
}

char *store_begin(const struct store_place *place, const char *host, uint64_t bytes)
{
	char *text = make_top(place, host);
	int err = -ENOENT;

	if (!text)
		text = clear(place, host, bytes);
	if (text)
		return text;
	for (int i = 0; err == -ENOENT && i < STORE_TRIES; i++)
		err = make_once(place, host);
	return err ? store_failed(place, host, -err, "no directory can be made for the images")
		   : NULL;
}

int store_open(const struct store_place *place, bool is_committed)
{
	struct store_names names;
	struct store_dirs dirs;
	int fd, err = store_dirs_open(&dirs, place, STORE_MAKE_NONE);

	if (err)
		return err;
	store_name(place, &names);
	fd = is_committed ? dirs.round : dirs.fresh;
	fd = fd < 0 ? -ENOENT : store_below(fd, names.index);
	store_dirs_close(&dirs);
	return fd;
}
