// SPDX-License-Identifier: BSD-3-Clause
#include "pm-shmem/directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pm-shmem/liveness.h"
#include "pmcore/util/siphash.h"

#define SEGMENT "segment"
#define OPEN_TRIES 100 /* races lost against leavers in a row before we give up */

__attribute__((format(printf, 3, 4))) static void explain(char *why, size_t size,
							  const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why, size, format, args);
	va_end(args);
}

uint64_t pms_job_hash(uint64_t job_key, uint64_t value)
{
	return siphash(job_key, 0, &value, sizeof(value));
}

/* Whether what is open belongs to us alone: anybody can make files in /dev/shm before us. */
static bool is_private(int fd, mode_t type)
{
	struct stat st;

	return !fstat(fd, &st) && (st.st_mode & S_IFMT) == type && st.st_uid == geteuid() &&
	       !(st.st_mode & (S_IRWXG | S_IRWXO));
}

/* Opens a directory below @parent that is private. */
static int open_private(int parent, const char *name, int *ret_fd)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return errno == ELOOP || errno == ENOTDIR ? -EPERM : -errno;
	if (!is_private(fd, S_IFDIR)) {
		close(fd);
		return -EPERM;
	}
	*ret_fd = fd;
	return 0;
}

static int open_segment(int dir, int flags, int *ret_fd)
{
	int fd = openat(dir, SEGMENT, O_RDWR | O_NOFOLLOW | O_CLOEXEC | flags, 0600);

	if (fd < 0)
		return errno == ELOOP || errno == EISDIR ? -EPERM : -errno;
	if (!is_private(fd, S_IFREG)) {
		close(fd);
		return -EPERM;
	}
	*ret_fd = fd;
	return 0;
}

/*
 * Whether the open file still is what the name leads to: the last process of a job may just have
 * removed it, and another made a new one.
 */
static bool is_current(const struct pms_directory *dir)
{
	struct stat open_file, named, open_dir, named_dir;

	return !fstat(dir->file, &open_file) && !fstat(dir->fd, &open_dir) &&
	       !fstatat(dir->fd, SEGMENT, &named, AT_SYMLINK_NOFOLLOW) &&
	       !fstatat(dir->parent, dir->name, &named_dir, AT_SYMLINK_NOFOLLOW) &&
	       open_file.st_ino == named.st_ino && open_dir.st_ino == named_dir.st_ino;
}

/* One attempt; -ESTALE: it was removed meanwhile, try again. */
static int try_open(struct pms_directory *dir)
{
	int err;

	if (mkdirat(dir->parent, dir->name, 0700) && errno != EEXIST)
		return -errno;
	err = open_private(dir->parent, dir->name, &dir->fd);
	if (err)
		return err == -ENOENT ? -ESTALE : err;
	err = open_segment(dir->fd, O_CREAT, &dir->file);
	if (!err) {
		err = pms_lock(dir->file);
		if (!err && is_current(dir))
			return 0;
		close(dir->file);
	}
	close(dir->fd);
	return !err || err == -ENOENT ? -ESTALE : err;
}

int pms_directory_open(const char *parent, uint64_t job_key, struct pms_directory *dir, char *why,
		       size_t why_size)
{
	int err, tries = 0;

	dir->parent = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir->parent < 0) {
		err = -errno;
		explain(why, why_size,
			"shmem.dir=%s: %s: name a directory on a tmpfs, or leave shmem out of "
			"devices",
			parent, strerror(-err));
		return err;
	}
	snprintf(dir->name, sizeof(dir->name), "openscore.%u.%016llx", (unsigned int)geteuid(),
		 (unsigned long long)pms_job_hash(job_key, 0));
	do {
		err = try_open(dir);
	} while (err == -ESTALE && ++tries < OPEN_TRIES);
	if (!err)
		return 0;
	if (err == -EPERM)
		explain(why, why_size,
			"%s/%s: not a private directory of ours (mode 0700, no symbolic link): "
			"remove it, "
			"or set shmem.dir",
			parent, dir->name);
	else
		explain(why, why_size,
			"%s/%s: %s: check space and permissions of %s, or set shmem.dir", parent,
			dir->name, strerror(-err), parent);
	close(dir->parent);
	return err;
}

void pms_directory_close(struct pms_directory *dir)
{
	close(dir->file);
	close(dir->fd);
	close(dir->parent);
}

/* Calls unlinkat for each entry whose name starts with @prefix. */
static void unlink_all(int dir, const char *prefix)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!stream) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((entry = readdir(stream)))
		if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0)
			unlinkat(dir, entry->d_name, 0);
	closedir(stream);
}

void pms_directory_clean(struct pms_directory *dir)
{
	unlink_all(dir->fd, "wake.");
}

void pms_directory_remove(struct pms_directory *dir)
{
	pms_directory_clean(dir);
	unlinkat(dir->fd, SEGMENT, 0);
	unlinkat(dir->parent, dir->name, AT_REMOVEDIR);
}

static void sweep_one(int parent, const char *name)
{
	struct pms_directory dir = {.parent = parent};

	snprintf(dir.name, sizeof(dir.name), "%s", name);
	if (open_private(parent, name, &dir.fd))
		return;
	if (open_segment(dir.fd, 0, &dir.file)) {
		/* made and never filled; fails when somebody is just doing so */
		unlinkat(parent, name, AT_REMOVEDIR);
	} else {
		if (!pms_trylock(dir.file) && is_current(&dir) && !pms_any_slot_is_held(dir.file))
			pms_directory_remove(&dir);
		close(dir.file);
	}
	close(dir.fd);
}

void pms_directory_sweep(const struct pms_directory *own)
{
	int fd = openat(own->parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	char prefix[32];

	if (!stream) {
		if (fd >= 0)
			close(fd);
		return;
	}
	snprintf(prefix, sizeof(prefix), "openscore.%u.", (unsigned int)geteuid());
	while ((entry = readdir(stream)))
		if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0 &&
		    strlen(entry->d_name) < sizeof(own->name) &&
		    strcmp(entry->d_name, own->name) != 0)
			sweep_one(own->parent, entry->d_name);
	closedir(stream);
}
