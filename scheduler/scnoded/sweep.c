// SPDX-License-Identifier: BSD-3-Clause
/*
 * A segment belongs to nobody when no process of its owner maps it or has it open. It can't be told
 * by name whose it was: Open MPI names it by a number of its own. Names change hands while we look.
 * So all is removed with the rights of its owner alone, so that the kernel keeps us from files of
 * others. Only a file that is still the one that we saw is removed.
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
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "scheduler/proto/signals.h"
#include "scheduler/scnoded/record.h"

#define DIRECTORY "/dev/shm"
#define SWEPT "openscore.swept." /* and our pid: what an end in between leaves is swept next time */
#define SEGMENTS_MAX 4096        /* at once; the user's next job takes away more */

/* Of Open MPI 4 and 5, of PM and pmstat, of MPICH. */
static const char *const prefixes[] = {"vader_segment.", "sm_segment.", "osc_sm.",
				       "osc_rdma",       "openscore.",  "openscore-stat.",
				       "mpich_shar_tmp", "open_mpi.",   NULL};

struct segment {
	char name[NAME_MAX + 1];
	char folder[NAME_MAX + 1]; /* "": in the directory itself */
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

static void add(struct segments *s, const char *folder, const char *name, const struct stat *st)
{
	struct segment *all = s->n < SEGMENTS_MAX ? realloc(s->all, (s->n + 1) * sizeof(*all))
						  : NULL;

	if (!all)
		return;
	s->all = all;
	all[s->n] = (struct segment){.device = st->st_dev, .inode = st->st_ino};
	snprintf(all[s->n].folder, sizeof(all->folder), "%s", folder);
	snprintf(all[s->n++].name, sizeof(all->name), "%s", name);
}

/* The user's folder, which may change while we look: no link is followed. */
static int open_folder(int dir_fd, const char *name, uid_t uid)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) || st.st_uid != uid)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* PM keeps what belongs together in a folder. */
static void find_segments(int dir_fd, const char *folder, uid_t uid, struct segments *s)
{
	int fd = fcntl(dir_fd, F_DUPFD_CLOEXEC, 0), below;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	struct stat st;

	while (dir && s->n < SEGMENTS_MAX && (entry = readdir(dir))) {
		if ((!*folder && !is_segment(entry->d_name)) ||
		    fstatat(dir_fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) || st.st_uid != uid)
			continue;
		if (!S_ISDIR(st.st_mode)) {
			add(s, folder, entry->d_name, &st);
		} else if (!*folder && (below = open_folder(dir_fd, entry->d_name, uid)) >= 0) {
			find_segments(below, entry->d_name, uid, s);
			close(below);
		}
	}
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
}

static void mark(struct segments *s, dev_t device, ino_t inode)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->all[i].inode == inode && s->all[i].device == device)
			s->all[i].is_used = true;
}

/* proc(5): address perms offset device inode path */
static void mark_maps(struct segments *s, const char *pid)
{
	char path[64], line[PATH_MAX + 128];
	unsigned int high, low;
	unsigned long inode;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%s/maps", pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (strstr(line, DIRECTORY) &&
		    sscanf(line, "%*s %*s %*s %x:%x %lu", &high, &low, &inode) == 3)
			mark(s, makedev(high, low), inode);
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
			mark(s, st.st_dev, st.st_ino);
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
		/*
		 * A process that has changed its user may still use its segments. /proc shows it as
		 * root's then.
		 */
		if (st.st_uid != uid && st.st_uid != 0)
			continue;
		mark_maps(s, entry->d_name);
		mark_files(s, entry->d_name);
	}
	if (dir)
		closedir(dir);
}

/* The segments of one folder are used together. */
static bool is_used(const struct segments *s, const struct segment *segment)
{
	for (size_t i = 0; *segment->folder && i < s->n; i++)
		if (s->all[i].is_used && !strcmp(s->all[i].folder, segment->folder))
			return true;
	return segment->is_used;
}

/* Whether that name leads to the segment that we saw. */
static bool is_same(int dir_fd, const char *name, const struct segment *segment, uid_t uid)
{
	struct stat st;

	return !fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) && st.st_dev == segment->device &&
	       st.st_ino == segment->inode && st.st_uid == uid;
}

/*
 * Linux removes names, not inodes: the file gets a name that nobody waits for, and its own back if
 * it is another one.
 */
static void remove_file(int dir_fd, const struct segment *segment, uid_t uid)
{
	char aside[64];

	snprintf(aside, sizeof(aside), SWEPT "%d", getpid());
	if (!is_same(dir_fd, segment->name, segment, uid) ||
	    renameat2(dir_fd, segment->name, dir_fd, aside, RENAME_NOREPLACE))
		return;
	if (is_same(dir_fd, aside, segment, uid))
		unlinkat(dir_fd, aside, 0);
	else
		renameat2(dir_fd, aside, dir_fd, segment->name, RENAME_NOREPLACE);
}

static void remove_one(int dir_fd, const struct segment *segment, uid_t uid)
{
	int folder;

	if (!*segment->folder) {
		remove_file(dir_fd, segment, uid);
		return;
	}
	folder = open_folder(dir_fd, segment->folder, uid);
	if (folder < 0)
		return;
	remove_file(folder, segment, uid);
	close(folder);
	/* Until the last one is gone, this does nothing. */
	unlinkat(dir_fd, segment->folder, AT_REMOVEDIR);
}

/* As the user, who cannot remove what is another's in a directory with the sticky bit. */
static void remove_unused(int dir_fd, const struct segments *s, uid_t uid)
{
	uid_t ours = (uid_t)setfsuid(uid);

	if ((uid_t)setfsuid((uid_t)-1) == uid)
		for (size_t i = 0; i < s->n; i++)
			if (!is_used(s, &s->all[i]))
				remove_one(dir_fd, &s->all[i], uid);
	setfsuid(ours);
}

void sweep_shared_memory(uid_t uid)
{
	int dir = open(DIRECTORY, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct segments s = {0};

	if (dir < 0)
		return;
	find_segments(dir, "", uid, &s);
	if (s.n) {
		mark_used(&s, uid);
		remove_unused(dir, &s, uid);
	}
	free(s.all);
	close(dir);
}

pid_t sweep_begin(const char *run, uint64_t id, uid_t uid)
{
	pid_t pid = signals_fork();

	if (pid > 0)
		return pid;
	if (!pid) {
		/* Else the lock of the run directory would be ours as well. */
		close_range(STDERR_FILENO + 1, ~0u, 0);
		signals_reset();
	}
	sweep_shared_memory(uid);
	record_remove(run, id);
	if (!pid)
		_exit(0);
	return -1;
}
