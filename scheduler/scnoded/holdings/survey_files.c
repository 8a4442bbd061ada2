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
	const struct holdings *h = s->holdings;
	uint32_t nth = 0;
	struct held_watch *added;

	/* The kernel lists those with one number one behind the other. */
	if (h->n_watches) {
		const struct held_watch *before = &h->watches[h->n_watches - 1];

		if (before->process == process && before->fd == fd &&
		    before->target == watch->target)
			nth = before->nth + 1;
	}
	added = holdings_add_watch(s->holdings);

	if (added)
		*added = (struct held_watch){.process = process,
					     .fd = fd,
					     .target = watch->target,
					     .nth = nth,
					     .device = watch->device,
					     .inode = watch->inode};
}

static bool read_fdinfo(struct survey *s, size_t process, int fd, struct procline_fdinfo *ret)
{
	struct procline_watch watch;
	char path[64], line[512];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", s->holdings->processes[process].pid, fd);
	file = fopen(path, "re");
	if (!file)
		return false;
	*ret = (struct procline_fdinfo){0};
	for (int i = 1; fgets(line, sizeof(line), file); i++) {
		if (i % LINES_BETWEEN_LOOKS == 0 && !survey_goes_on(s))
			break;
		procline_fdinfo(line, ret);
		if (procline_watch(line, &watch))
			add_watch(s, process, fd, &watch);
	}
	fclose(file);
	return true;
}

static bool read_status(const char *path, struct held_file *file)
{
	struct statx st;

	/* A file server, which might be away, is not asked again. */
	if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_BASIC_STATS, &st))
		return false;
	file->mode = st.stx_mode;
	file->device = makedev(st.stx_dev_major, st.stx_dev_minor);
	file->special = makedev(st.stx_rdev_major, st.stx_rdev_minor);
	file->inode = st.stx_ino;
	file->size = st.stx_size;
	file->allocated = st.stx_blocks * SECTOR;
	file->links = st.stx_nlink;
	return true;
}

/* The name of a descriptor; of a socket its protocol. */
static bool read_name(const char *path, uint32_t mode, char *name, size_t size)
{
	ssize_t n = S_ISSOCK(mode) ? getxattr(path, "system.sockprotoname", name, size - 1)
				   : readlink(path, name, size - 1);

	/* Of sockets some have no such name; a path may be longer than the kernel tells. */
	if (n < 0 && (errno == ENOENT || errno == ESRCH))
		return false;
	if (n < 0)
		n = 0;
	name[n] = 0;
	return true;
}

/* A descriptor that is closed meanwhile is left out. */
static bool read_file(struct survey *s, size_t process, int fd)
{
	pid_t pid = s->holdings->processes[process].pid;
	struct held_file read = {.process = process, .fd = fd}, *file;
	struct procline_fdinfo info;
	char path[64], name[PATH_MAX + 1];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
	if (!read_status(path, &read) || !read_name(path, read.mode, name, sizeof(name)) ||
	    !read_fdinfo(s, process, fd, &info))
		return true;
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

void survey_files(struct survey *s, size_t process)
{
	struct held_process *p = &s->holdings->processes[process];
	const struct dirent *entry;
	char path[64];
	DIR *dir;

	if (p->err || p->state == 'Z' || p->state == 'X')
		return;
	snprintf(path, sizeof(path), "/proc/%d/fd", p->pid);
	dir = opendir(path);
	if (!dir && errno != ENOENT && errno != ESRCH)
		p->err = errno;
	while (dir && (entry = readdir(dir)) && survey_goes_on(s))
		if (isdigit((unsigned char)*entry->d_name) &&
		    !read_file(s, process, atoi(entry->d_name)))
			break;
	if (dir)
		closedir(dir);
}
