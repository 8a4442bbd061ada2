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

#define FDINFO_LINES_MAX 1024 /* of an epoll with many descriptors; what we look for comes first */
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

static bool read_fdinfo(pid_t pid, int fd, struct procline_fdinfo *ret)
{
	char path[64], line[512];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", pid, fd);
	file = fopen(path, "re");
	if (!file)
		return false;
	*ret = (struct procline_fdinfo){0};
	for (int i = 0; i < FDINFO_LINES_MAX && fgets(line, sizeof(line), file); i++)
		procline_fdinfo(line, ret);
	fclose(file);
	return true;
}

static bool read_status(const char *path, struct held_file *file)
{
	struct statx st;

	/* What is known without asking a file server again, which might be away. */
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
	    !read_fdinfo(pid, fd, &info))
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
