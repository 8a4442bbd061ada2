// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scnoded/record.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "pmcore/util/owndir.h"
#include "scheduler/proto/daemon.h"

#define DIRECTORY (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define DEPTH_MAX 256
#define MOUNTS_MAX 256 /* on one directory */

void record_path(const char *run, uint64_t id, const char *file, char *path)
{
	snprintf(path, PATH_MAX, "%s/jobs/%llu%s%s", run, (unsigned long long)id, *file ? "/" : "",
		 file);
}

int record_open(const char *run, char *why, size_t why_size)
{
	char path[PATH_MAX];
	/* A user who may write there could give us orders. */
	int err = owndir_open(run, 0755, "run directory", "--run", why, why_size);

	if (err)
		return err;
	snprintf(path, sizeof(path), "%s/jobs", run);
	err = owndir_open(path, 0711, "directory of jobs", "--run", why, why_size);
	return err ? err : owndir_file(run, "lock", why, why_size);
}

void record_close(const char *run)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/jobs", run);
	if (rmdir(path))
		return;
	snprintf(path, sizeof(path), "%s/lock", run);
	unlink(path);
	rmdir(run);
}

/* When it was started, in ticks since boot; 0 = there is none. */
static unsigned long long started(pid_t pid)
{
	char path[64], line[1024];
	unsigned long long start = 0;
	const char *at;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	at = fgets(line, sizeof(line), file) ? strrchr(line, ')') : NULL;
	if (!at || sscanf(at,
			  ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
			  "%*d %*d %llu",
			  &start) != 1)
		start = 0;
	fclose(file);
	return start;
}

static int write_json(const char *run, uint64_t id, const char *file, const json_t *json)
{
	char path[PATH_MAX], temporary[PATH_MAX + 4];
	int fd, err;

	record_path(run, id, file, path);
	snprintf(temporary, sizeof(temporary), "%s.new", path);
	fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	errno = 0;
	err = json_dumpfd(json, fd, JSON_COMPACT) ? -(errno ? errno : EIO) : 0;
	if (close(fd) && !err)
		err = -errno;
	if (!err && rename(temporary, path))
		err = -errno;
	if (err)
		unlink(temporary);
	return err;
}

static int give_away(const char *path, const struct order *order)
{
	return chown(path, order->uid, order->gid) ? -errno : 0;
}

/* Pages and inodes of a tmpfs are in the memory group of the process that has made them. */
static int mount_tmp(const char *path, const struct order *order, uint64_t bytes)
{
	static bool is_said;
	char options[128];

	snprintf(options, sizeof(options), "mode=0700,uid=%u,gid=%u,size=%llu,nr_inodes=0",
		 order->uid, order->gid, (unsigned long long)bytes);
	if (!mount("openscore-job", path, "tmpfs", MS_NOSUID | MS_NODEV, options))
		return 0;
	/* Security modules say EACCES, filters of system calls either. */
	if (errno != EPERM && errno != EACCES && errno != ENODEV && errno != ENOSYS)
		return -errno;
	if (!is_said)
		daemon_say("jobs have no file system of their own for $TMPDIR: %m; one that fills "
			   "that of --run keeps others from starting here");
	is_said = true;
	return give_away(path, order);
}

static bool is_in_memory(const char *path)
{
	struct statfs fs;

	return !statfs(path, &fs) && fs.f_type == TMPFS_MAGIC;
}

/* A run directory on a disk is where its administrator wants temporary files to be. */
static int make_tmp(const char *path, const struct order *order, uint64_t bytes)
{
	if (mkdir(path, 0700))
		return -errno;
	if (geteuid())
		return 0;
	return bytes && is_in_memory(path) ? mount_tmp(path, order, bytes) : give_away(path, order);
}

/* The order's user may pass through, but what is mounted on them says who may do what in there. */
static int make_mount_points(const char *run, uint64_t id)
{
	static const char *const names[] = {RECORD_TMP, RECORD_SHM};
	char path[PATH_MAX];

	for (size_t i = 0; i < 2; i++) {
		record_path(run, id, names[i], path);
		if (mkdir(path, 0711))
			return -errno;
	}
	return 0;
}

int record_make(const char *run, const struct order *order, uint64_t tmp_bytes, char **tmp,
		char *why, size_t why_size)
{
	json_t *json = order_encode(order, order->here);
	char path[PATH_MAX];
	int err = json ? 0 : -ENOMEM;

	record_path(run, order->id, "", path);
	if (!err && mkdir(path, 0711))
		err = -errno;
	if (!err)
		err = write_json(run, order->id, "order.json", json);
	json_decref(json);
	record_path(run, order->id, RECORD_TMP, path);
	if (!err)
		err = order->job->wants_checkpoint ? make_mount_points(run, order->id)
						   : make_tmp(path, order, tmp_bytes);
	*tmp = err ? NULL : strdup(path);
	if (err || !*tmp) {
		snprintf(why, why_size, "%s: %s; %s", path, strerror(err ? -err : ENOMEM),
			 err == -ENOSPC ? "make room there" : "look after the run directory");
		record_remove(run, order->id);
		return err ? err : -ENOMEM;
	}
	return 0;
}

int record_process(const char *run, uint64_t id, pid_t pid)
{
	json_t *json =
		json_pack("{s:i, s:I}", "pid", (int)pid, "started", (json_int_t)started(pid));
	int err = json ? write_json(run, id, "process.json", json) : -ENOMEM;

	json_decref(json);
	return err;
}

void record_mark(const char *run, uint64_t id, const char *mark, bool is_set)
{
	char path[PATH_MAX];
	int fd;

	record_path(run, id, mark, path);
	if (!is_set) {
		unlink(path);
		return;
	}
	/* Without it a scnoded that is killed just now is less patient. */
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0)
		close(fd);
}

bool record_has_mark(const char *run, uint64_t id, const char *mark)
{
	char path[PATH_MAX];

	record_path(run, id, mark, path);
	return !access(path, F_OK);
}

static json_t *read_json(const char *run, uint64_t id, const char *file)
{
	char path[PATH_MAX];

	record_path(run, id, file, path);
	return json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
}

struct order *record_read(const char *run, uint64_t id, pid_t *pid)
{
	json_t *json = read_json(run, id, "order.json"),
	       *process = read_json(run, id, "process.json");
	struct order *order = NULL;
	char why[256];

	*pid = (pid_t)json_integer_value(json_object_get(process, "pid"));
	if (*pid <= 0 || started(*pid) != (unsigned long long)json_integer_value(
						  json_object_get(process, "started")))
		*pid = 0;
	if (json && order_decode(&order, json, why, sizeof(why)))
		order = NULL;
	json_decref(json);
	json_decref(process);
	return order;
}

/*
 * Removes the contents of the directory @fd, and closes it. Works with descriptors and follows no
 * link: processes of its owner may still run, and change names meanwhile. Entries that are too deep
 * are moved up into @top; true: one was moved.
 */
static bool empty_directory(int fd, int depth, int top)
{
	static unsigned int n_raised;
	DIR *dir = fdopendir(fd);
	const struct dirent *entry;
	bool is_raised = false;

	if (!dir) {
		close(fd);
		return false;
	}
	while ((entry = readdir(dir))) {
		char name[32];
		int below;

		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..") ||
		    !unlinkat(fd, entry->d_name, 0))
			continue;
		if (depth == DEPTH_MAX) {
			snprintf(name, sizeof(name), "deep-%u", n_raised++);
			is_raised |= !renameat(fd, entry->d_name, top, name);
			continue;
		}
		below = openat(fd, entry->d_name, DIRECTORY);
		if (below >= 0)
			is_raised |= empty_directory(below, depth + 1, top);
		/* A directory that cannot be removed now is tried again at the next start. */
		unlinkat(fd, entry->d_name, AT_REMOVEDIR);
	}
	closedir(dir);
	return is_raised;
}

/*
 * Processes that are left in it don't keep it. A user may have mounted more on top of it, by FUSE.
 */
static void unmount_tmp(const char *path)
{
	for (int n = 0; n < MOUNTS_MAX; n++) {
		if (!umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW))
			continue;
		/* EINVAL: it is a directory like others. */
		if (errno != EINVAL && errno != ENOENT && !geteuid())
			daemon_say("%s: cannot be unmounted: %m", path);
		return;
	}
}

void record_remove(const char *run, uint64_t id)
{
	char path[PATH_MAX];
	bool is_raised = true;
	int fd;

	record_path(run, id, RECORD_TMP, path);
	unmount_tmp(path);
	/* only a job's own namespace has something there; it would be the host's /dev/shm */
	record_path(run, id, RECORD_SHM, path);
	unmount_tmp(path);
	record_path(run, id, "", path);
	while (is_raised && (fd = open(path, DIRECTORY)) >= 0)
		is_raised = empty_directory(fd, 0, fd);
	rmdir(path);
}

size_t record_list(const char *run, uint64_t **ids)
{
	const struct dirent *entry;
	char path[PATH_MAX];
	size_t n = 0;
	DIR *dir;

	*ids = NULL;
	snprintf(path, sizeof(path), "%s/jobs", run);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		uint64_t *more;

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		more = realloc(*ids, (n + 1) * sizeof(**ids));
		if (!more)
			break;
		*ids = more;
		(*ids)[n++] = strtoull(entry->d_name, NULL, 10);
	}
	if (dir)
		closedir(dir);
	return n;
}
