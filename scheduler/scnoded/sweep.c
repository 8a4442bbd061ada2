/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A segment belongs to nobody when no process of its owner maps it or has it open. It can't be told by name whose
 * it was: Open MPI names it by a number of its own.
 */
#include "scheduler/scnoded/sweep.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIRECTORY "/dev/shm"

static const char *const prefixes[] = {"vader_segment.", "openscore.", "openscore-stat.",
				       "osc_rdma_", NULL};

struct segment {
	char name[NAME_MAX + 1];
	dev_t device;
	ino_t inode;
	bool is_used;
};

struct segments {
	struct segment *all;
	size_t n;
};

static bool is_segment(const char *name)
{
	for (size_t i = 0; prefixes[i]; i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

static void find_segments(int dir_fd, uid_t uid, struct segments *s)
{
	int fd = fcntl(dir_fd, F_DUPFD_CLOEXEC, 0);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	struct stat st;

	while (dir && (entry = readdir(dir))) {
		struct segment *all;

		if (!is_segment(entry->d_name) ||
		    fstatat(dir_fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) || st.st_uid != uid ||
		    !S_ISREG(st.st_mode))
			continue;
		all = realloc(s->all, (s->n + 1) * sizeof(*all));
		if (!all)
			break;
		s->all = all;
		all[s->n] = (struct segment){.device = st.st_dev, .inode = st.st_ino};
		snprintf(all[s->n++].name, sizeof(all->name), "%s", entry->d_name);
	}
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
}

static void mark(struct segments *s, ino_t inode)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->all[i].inode == inode)
			s->all[i].is_used = true;
}

/* proc(5): address perms offset device inode path */
static void mark_maps(struct segments *s, const char *pid)
{
	char path[64], line[PATH_MAX + 128];
	unsigned long inode;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%s/maps", pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (strstr(line, DIRECTORY) && sscanf(line, "%*s %*s %*s %*s %lu", &inode) == 1)
			mark(s, inode);
	if (file)
		fclose(file);
}

static void mark_files(struct segments *s, const char *pid)
{
	char path[64];
	const struct dirent *entry;
	struct stat st;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%s/fd", pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		if (isdigit((unsigned char)entry->d_name[0]) &&
		    !fstatat(dirfd(dir), entry->d_name, &st, 0))
			mark(s, st.st_ino);
	if (dir)
		closedir(dir);
}

static void mark_used(struct segments *s, uid_t uid)
{
	DIR *dir = opendir("/proc");
	const struct dirent *entry;
	struct stat st;

	while (dir && (entry = readdir(dir))) {
		if (!isdigit((unsigned char)entry->d_name[0]) ||
		    fstatat(dirfd(dir), entry->d_name, &st, 0))
			continue;
		/* Who has changed its user may still use what it made; its directory is root's then. */
		if (st.st_uid != uid && st.st_uid != 0)
			continue;
		mark_maps(s, entry->d_name);
		mark_files(s, entry->d_name);
	}
	if (dir)
		closedir(dir);
}

void sweep_shared_memory(uid_t uid)
{
	int dir = open(DIRECTORY, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct segments s = {0};

	if (dir < 0)
		return;
	find_segments(dir, uid, &s);
	if (s.n)
		mark_used(&s, uid);
	for (size_t i = 0; i < s.n; i++)
		if (!s.all[i].is_used)
			unlinkat(dir, s.all[i].name, 0);
	free(s.all);
	close(dir);
}
