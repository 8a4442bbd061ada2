// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scnoded/store/place.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scheduler/proto/daemon.h"

#define NEW ".new"
#define DIRECTORY (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define WRITER_MAX 256

/* ---- names ---- */

void place_round_name(uint64_t round, bool is_committed, char ret[PLACE_NAME_MAX])
{
	snprintf(ret, PLACE_NAME_MAX, "%" PRIu64 "%s", round, is_committed ? "" : NEW);
}

uint64_t place_round(const char *name, bool *ret_is_committed)
{
	char *end;
	uint64_t round;

	if (!isdigit((unsigned char)*name))
		return 0;
	errno = 0;
	round = strtoull(name, &end, 10);
	*ret_is_committed = !*end;
	return errno || (*end && strcmp(end, NEW)) ? 0 : round;
}

/* ---- to open ---- */

/* Takes @parent, which may be an error. */
static int open_below(int parent, const char *name, bool is_made)
{
	int fd;

	if (parent < 0)
		return parent;
	if (is_made && mkdirat(parent, name, 0700) && errno != EEXIST)
		fd = -errno;
	else
		fd = openat(parent, name, DIRECTORY);
	fd = fd == -1 ? -errno : fd;
	close(parent);
	return fd;
}

int place_open_all(const struct store_place *place)
{
	int fd = open(place->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int place_open_job(const struct store_place *place, bool is_made)
{
	char name[PLACE_NAME_MAX];

	snprintf(name, sizeof(name), "%" PRIu64, place->job);
	return open_below(place_open_all(place), name, is_made);
}

int place_open_round(const struct store_place *place, bool is_committed, bool is_made)
{
	char name[PLACE_NAME_MAX];

	place_round_name(place->round, is_committed, name);
	return open_below(place_open_job(place, is_made), name, is_made);
}

int place_open(const struct store_place *place, bool is_committed)
{
	char name[PLACE_NAME_MAX];

	snprintf(name, sizeof(name), "%u", place->index);
	return open_below(place_open_round(place, is_committed, false), name, false);
}

/* ---- to remove ---- */

static int remove_file(int fd, const char *name, void *owner)
{
	(void)owner;
	return unlinkat(fd, name, 0) && errno != ENOENT ? -errno : 0;
}

int place_remove(int parent, const char *name)
{
	int fd = openat(parent, name, DIRECTORY), err;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	err = place_each(fd, remove_file, NULL);
	close(fd);
	if (err)
		return err;
	return unlinkat(parent, name, AT_REMOVEDIR) && errno != ENOENT ? -errno : 0;
}

/* A directory that another host has files in, or removes at the same time, is none of ours. */
void place_prune(const struct store_place *place, bool is_committed)
{
	char round[PLACE_NAME_MAX], job[PLACE_NAME_MAX];
	int fd = place_open_job(place, false);

	place_round_name(place->round, is_committed, round);
	snprintf(job, sizeof(job), "%" PRIu64, place->job);
	if (fd >= 0) {
		unlinkat(fd, round, AT_REMOVEDIR);
		fsync(fd);
		close(fd);
	}
	fd = place_open_all(place);
	if (fd >= 0) {
		unlinkat(fd, job, AT_REMOVEDIR);
		close(fd);
	}
}

/* ---- files ---- */

int place_each(int fd, int (*each)(int fd, const char *name, void *owner), void *owner)
{
	int copy = openat(fd, ".", DIRECTORY), err = 0;
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *entry;

	if (!dir) {
		err = -errno;
		if (copy >= 0)
			close(copy);
		return err;
	}
	while (!err && (entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			err = each(fd, entry->d_name, owner);
	closedir(dir);
	return err;
}

static char *read_all(int fd, size_t size)
{
	char *text = malloc(size + 1);
	size_t at = 0;
	ssize_t n = 1;

	while (text && at < size && (n = read(fd, text + at, size - at)) > 0)
		at += (size_t)n;
	if (text && n >= 0) {
		text[at] = 0;
		return text;
	}
	free(text);
	return NULL;
}

char *place_read(int fd, const char *name, size_t max)
{
	int file = openat(fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	char *text = NULL;
	struct stat st;

	if (file < 0)
		return NULL;
	if (!fstat(file, &st)) {
		if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size > max)
			errno = EINVAL;
		else
			text = read_all(file, (size_t)st.st_size);
	}
	close(file);
	return text;
}

static int write_all(int fd, const char *text)
{
	size_t left = strlen(text);
	ssize_t n = 0;

	for (; left && (n = write(fd, text, left)) > 0; text += n)
		left -= (size_t)n;
	return left || fsync(fd) ? -errno : 0;
}

int place_write(int fd, const char *name, const char *text)
{
	char other[NAME_MAX + 1];
	int file, err;

	snprintf(other, sizeof(other), "%s" NEW, name);
	file = openat(fd, other, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (file < 0)
		return -errno;
	err = write_all(file, text);
	close(file);
	if (!err && (renameat(fd, other, fd, name) || fsync(fd)))
		err = -errno;
	if (err)
		unlinkat(fd, other, 0);
	return err;
}

bool place_is_of(int fd, const char *host)
{
	char *name = place_read(fd, PLACE_WRITER, WRITER_MAX);
	bool is_of = name && !strcmp(name, host);

	free(name);
	return is_of;
}

/* ---- errors ---- */

static const char *remedy(int error)
{
	switch (error) {
	case ENOSPC:
	case EDQUOT:
		return "make room on that file system, or choose another directory with "
		       "--checkpoints of scnoded";
	case EACCES:
	case EPERM:
	case EROFS:
		return "scnoded must be root there and may write to it; choose another directory "
		       "with --checkpoints of scnoded";
	default:
		return "look after that file system, or choose another directory with "
		       "--checkpoints of scnoded";
	}
}

char *place_complaint(const struct store_place *place, const char *what, int error)
{
	error = error < 0 ? -error : error;
	return daemon_text("images of job %" PRIu64 ", checkpoint %" PRIu64 ", in %s: %s: %s; %s",
			   place->job, place->round, place->directory, what, strerror(error),
			   remedy(error));
}
