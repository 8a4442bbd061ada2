// SPDX-License-Identifier: BSD-3-Clause
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "scheduler/scnoded/holdings/survey_inside.h"

#define LINES_BETWEEN_LOOKS 256 /* at the clock: an epoll has a line for each descriptor */
#define SECTOR 512

static void take_fdinfo(const struct survey *s, const struct procline_fdinfo *info,
			struct held_file *file)
{
	const struct procline_mount *mount = survey_mount(s, info->mount);

	file->offset = info->offset;
	file->flags = info->flags;
	file->watches = info->watches;
	file->target = info->target;
	file->is_locked = info->is_locked;
	file->is_mounted = mount != NULL;
	file->is_queue = mount && mount->is_queue;
}

static void add_watch(struct survey *s, size_t process, int fd, const struct procline_watch *watch)
{
	struct held_watch *added = holdings_add_watch(s->holdings);

	if (added)
		*added = (struct held_watch){.process = process,
					     .fd = fd,
					     .target = watch->target,
					     .nth = (uint32_t)s->holdings->n_watches,
					     .device = watch->device,
					     .inode = watch->inode};
}

static int compare_watches(const void *a, const void *b)
{
	const struct held_watch *left = a, *right = b;

	if (left->target != right->target)
		return left->target < right->target ? -1 : 1;
	return (left->nth > right->nth) - (left->nth < right->nth);
}

/*
 * Those of one epoll. The kernel lists them by the address of the file, so those with one number
 * may lie apart; it counts them in its own order, in which they have come.
 */
static void number_watches(struct held_watch *watches, size_t n)
{
	qsort(watches, n, sizeof(*watches), compare_watches);
	for (size_t i = 0; i < n; i++)
		watches[i].nth = i && watches[i - 1].target == watches[i].target
					 ? watches[i - 1].nth + 1
					 : 0;
}

/* The two directories of a process: /proc/PID/fd and /proc/PID/fdinfo. */
struct place {
	size_t process;
	int fds, infos;
};

/* 0, or errno; then it adds no watch. */
static int read_fdinfo(struct survey *s, const struct place *place, int fd,
		       struct procline_fdinfo *ret)
{
	size_t n_before = s->holdings->n_watches;
	struct procline_watch watch;
	char name[16], line[512];
	int info, err = 0;
	FILE *file;

	snprintf(name, sizeof(name), "%d", fd);
	info = openat(place->infos, name, O_RDONLY | O_CLOEXEC);
	file = info < 0 ? NULL : fdopen(info, "r");
	if (!file) {
		err = errno;
		if (info >= 0)
			close(info);
		return err;
	}
	errno = 0;
	for (int i = 1; fgets(line, sizeof(line), file); i++) {
		if (i % LINES_BETWEEN_LOOKS == 0 && !survey_goes_on(s))
			break;
		procline_fdinfo(line, ret);
		if (procline_watch(line, &watch))
			add_watch(s, place->process, fd, &watch);
	}
	if (ferror(file)) {
		err = errno ? errno : EIO;
		s->holdings->n_watches = n_before;
	}
	fclose(file);
	if (s->holdings->n_watches > n_before)
		number_watches(s->holdings->watches + n_before, s->holdings->n_watches - n_before);
	return err;
}

/* 0, or errno. */
static int read_status(const struct place *place, const char *name, struct held_file *file)
{
	struct statx st;

	/* A file server, which might be away, is not asked again. */
	if (statx(place->fds, name, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_BASIC_STATS, &st))
		return errno;
	file->mode = st.stx_mode;
	file->device = makedev(st.stx_dev_major, st.stx_dev_minor);
	file->special = makedev(st.stx_rdev_major, st.stx_rdev_minor);
	file->inode = st.stx_ino;
	file->size = st.stx_size;
	file->allocated = st.stx_blocks * SECTOR;
	file->links = st.stx_nlink;
	return 0;
}

/* There is no getxattrat() in older kernels. */
static ssize_t read_protocol(pid_t pid, int fd, char *name, size_t size)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
	return getxattr(path, "system.sockprotoname", name, size);
}

/* The name of a descriptor; of a socket its protocol. 0, or errno, then with the name "". */
static int read_name(const struct survey *s, const struct place *place, const char *fd,
		     uint32_t mode, char *name, size_t size)
{
	pid_t pid = s->holdings->processes[place->process].pid;
	ssize_t n = S_ISSOCK(mode) ? read_protocol(pid, atoi(fd), name, size - 1)
				   : readlinkat(place->fds, fd, name, size - 1);

	int err = n < 0 ? errno : 0;

	name[n < 0 ? 0 : n] = 0;
	/* Of sockets some have no such name; a path may be longer than the kernel tells. */
	if (!survey_is_gone(err) && (S_ISSOCK(mode) || err == ENAMETOOLONG))
		return 0;
	return err;
}

/*
 * A descriptor that is closed meanwhile is left out; one that can't be looked at is not, such as
 * one of a FUSE file system that root may not use. False: there is trouble.
 */
static bool read_file(struct survey *s, const struct place *place, const char *fd)
{
	struct held_file read = {.process = place->process, .fd = atoi(fd)}, *file;
	int err_status = read_status(place, fd, &read), err_name, err_info;
	struct procline_fdinfo info = {0};
	char name[PATH_MAX + 1];

	if (survey_is_gone(err_status))
		return true;
	err_name = read_name(s, place, fd, read.mode, name, sizeof(name));
	if (survey_is_gone(err_name))
		return true;
	err_info = read_fdinfo(s, place, read.fd, &info);
	if (survey_is_gone(err_info))
		return true;
	read.err = err_status ? err_status : err_name ? err_name : err_info;
	take_fdinfo(s, &info, &read);
	read.name = holdings_text(s->holdings, name);
	file = read.name ? holdings_add_file(s->holdings) : NULL;
	if (!file) {
		free(read.name);
		return false;
	}
	*file = read;
	return true;
}

static void read_all(struct survey *s, size_t process, DIR *fds, DIR *infos)
{
	struct place place = {.process = process, .fds = dirfd(fds), .infos = dirfd(infos)};
	const struct dirent *entry;

	while ((entry = readdir(fds)) && survey_goes_on(s))
		if (isdigit((unsigned char)*entry->d_name) && !read_file(s, &place, entry->d_name))
			break;
}

static DIR *open_directory(struct held_process *p, const char *name)
{
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/%s", p->pid, name);
	dir = opendir(path);
	if (!dir && errno != ENOENT && errno != ESRCH)
		p->err = errno;
	return dir;
}

void survey_files(struct survey *s, size_t process)
{
	struct held_process *p = &s->holdings->processes[process];
	DIR *fds, *infos;

	if (p->err || p->state == 'Z' || p->state == 'X')
		return;
	fds = open_directory(p, "fd");
	infos = open_directory(p, "fdinfo");
	if (fds && infos)
		read_all(s, process, fds, infos);
	if (fds)
		closedir(fds);
	if (infos)
		closedir(infos);
}
