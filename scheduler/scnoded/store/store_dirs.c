// SPDX-License-Identifier: BSD-3-Clause
/* store_dirs - the directories above the images of a host, and small files in them. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scheduler/scnoded/store/store_inside.h"

#define DIRECTORY (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

void store_name(const struct store_place *place, struct store_names *ret)
{
	snprintf(ret->job, sizeof(ret->job), "%llu", (unsigned long long)place->job);
	snprintf(ret->round, sizeof(ret->round), "%llu", (unsigned long long)place->round);
	snprintf(ret->fresh, sizeof(ret->fresh), "%s.new", ret->round);
	snprintf(ret->index, sizeof(ret->index), "%u", place->index);
}

bool store_number(const char *name, uint64_t *ret, const char **ret_rest)
{
	char *end;

	/* as we write them: no sign, no blank, no zero in front */
	if (!isdigit((unsigned char)name[0]) || (name[0] == '0' && isdigit((unsigned char)name[1])))
		return false;
	errno = 0;
	*ret = strtoull(name, &end, 10);
	*ret_rest = end;
	return !errno;
}

int store_top(const char *directory)
{
	int fd = open(directory, DIRECTORY);
	struct stat st;
	int err;

	if (fd < 0)
		return -errno;
	err = fstat(fd, &st) ? -errno : 0;
	/* images hold the memory of a job, and the keys in it */
	if (!err && (st.st_uid != geteuid() || st.st_mode & 077))
		err = -EPERM;
	if (!err)
		return fd;
	close(fd);
	return err;
}

int store_below(int fd, const char *name)
{
	int below = openat(fd, name, DIRECTORY);

	return below < 0 ? -errno : below;
}

static int open_level(int fd, const char *name, bool makes, int *ret)
{
	if (fd < 0)
		return 0;
	if (makes && mkdirat(fd, name, 0700) && errno != EEXIST)
		return -errno;
	*ret = store_below(fd, name);
	/* Just made and missing again: another host has seen it empty. */
	if (*ret >= 0 || (*ret == -ENOENT && !makes))
		return 0;
	return *ret;
}

int store_dirs_open(struct store_dirs *ret, const struct store_place *place, enum store_make make)
{
	struct store_names names;
	int err;

	store_name(place, &names);
	*ret = (struct store_dirs){.top = store_top(place->directory), -1, -1, -1};
	err = ret->top < 0 ? ret->top : 0;
	if (!err)
		err = open_level(ret->top, names.job, make != STORE_MAKE_NONE, &ret->job);
	if (!err)
		err = open_level(ret->job, names.fresh, make == STORE_MAKE_FRESH, &ret->fresh);
	if (!err)
		err = open_level(ret->job, names.round, make == STORE_MAKE_ROUND, &ret->round);
	if (err)
		store_dirs_close(ret);
	return err;
}

void store_dirs_close(const struct store_dirs *dirs)
{
	const int fds[] = {dirs->top, dirs->job, dirs->fresh, dirs->round};

	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

DIR *store_list(int fd)
{
	DIR *dir = fdopendir(fd);

	if (!dir)
		close(fd);
	return dir;
}

const char *store_next(DIR *dir)
{
	const struct dirent *entry;

	do {
		errno = 0;
		entry = readdir(dir);
	} while (entry && (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")));
	return entry ? entry->d_name : NULL;
}

static int write_all(int fd, const char *bytes, size_t size)
{
	while (size) {
		ssize_t n = write(fd, bytes, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		bytes += n;
		size -= (size_t)n;
	}
	return fsync(fd) ? -errno : 0;
}

int store_write(int fd, const char *name, const void *bytes, size_t size)
{
	int file = openat(fd, name,
			  O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	int err;

	if (file < 0)
		return -errno;
	err = write_all(file, bytes, size);
	if (close(file) && !err)
		err = -errno;
	return err;
}

int store_writer(int fd, const char *index, char ret[HOSTFILE_TEXT_MAX])
{
	ssize_t n;
	int file, below = store_below(fd, index);

	ret[0] = 0;
	if (below < 0)
		return below;
	file = openat(below, STORE_WRITER, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	close(below);
	if (file < 0)
		return -errno;
	n = read(file, ret, HOSTFILE_TEXT_MAX - 1);
	ret[n > 0 ? n : 0] = 0;
	close(file);
	return n < 0 ? -EIO : 0;
}
