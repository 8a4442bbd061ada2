// SPDX-License-Identifier: BSD-3-Clause
#include <ctype.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "scheduler/scnoded/holdings/restorable_inside.h"

#define SILLY_DIGITS 8 /* at least, in a name that NFS makes up; CRIU wants 24 */

/* Numbers of devices: Documentation/admin-guide/devices.txt of the kernel. */
enum {
	MAJOR_MEM = 1,
	MAJOR_TTY = 4,
	MAJOR_TTY_AUX = 5,
	MAJOR_PTY_FIRST = 128,
	MAJOR_PTY_LAST = 143
};

static void refuse(const struct judge *j, const struct held_file *file, const char *what,
		   const char *remedy)
{
	judge_refuse(j, file->process, "holds %s (descriptor %d), which cannot be restored; %s",
		     what, file->fd, remedy);
}

static void judge_anonymous_inode(const struct judge *j, const struct held_file *file)
{
	static const char *const fine[] = {"anon_inode:[eventfd]", "anon_inode:[eventpoll]",
					   "anon_inode:[signalfd]", "anon_inode:[timerfd]"};
	char text[128];

	for (size_t i = 0; i < sizeof(fine) / sizeof(fine[0]); i++)
		if (!strcmp(file->name, fine[i]))
			return;
	refuse(j, file, judge_anonymous(file->name, text, sizeof(text)),
	       "close it before a checkpoint");
}

/* By its name, as an object that users name could have a line "Pid:" in its fdinfo. */
static bool is_pidfd(const char *name)
{
	return !strcmp(name, "anon_inode:[pidfd]") || judge_starts(name, "pidfd:[");
}

/* A pidfd of a process of the tree, or of one that has ended, is restored. */
static void judge_pidfd(const struct judge *j, const struct held_file *file)
{
	if (file->flags & O_EXCL) /* PIDFD_THREAD */
		refuse(j, file, "a pidfd of a single thread", "close it before a checkpoint");
	else if (file->target != -1 && !holdings_has(j->holdings, file->target))
		refuse(j, file, "a pidfd of a process outside the job",
		       "close it before a checkpoint");
}

static void judge_inotify(const struct judge *j, const struct held_file *file)
{
	if (file->watches)
		refuse(j, file, "an inotify with watches, which are for the files of this host",
		       "remove the watches before a checkpoint");
}

/* Whether it is fine. */
static bool judge_device(const struct judge *j, const struct held_file *file)
{
	static const unsigned fine[] = {3, 5, 7, 8, 9}; /* null, zero, full, random, urandom */
	unsigned number = major(file->special);

	for (size_t i = 0; i < sizeof(fine) / sizeof(fine[0]); i++)
		if (S_ISCHR(file->mode) && number == MAJOR_MEM && minor(file->special) == fine[i])
			return true;
	if (S_ISCHR(file->mode) && (number == MAJOR_TTY || number == MAJOR_TTY_AUX ||
				    (number >= MAJOR_PTY_FIRST && number <= MAJOR_PTY_LAST)))
		judge_refuse(j, file->process,
			     "holds the terminal %.*s (descriptor %d), which cannot be restored; "
			     "start the job without a terminal, and close others",
			     JUDGE_PATH_SHOWN, file->name, file->fd);
	else
		judge_refuse(
			j, file->process,
			"holds the %s %.*s (descriptor %d), which cannot be restored; close it "
			"before a checkpoint",
			judge_starts(file->name, "/dev/infiniband/") ? "RDMA device" : "device",
			JUDGE_PATH_SHOWN, file->name, file->fd);
	return false;
}

/*
 * Whether it is fine. If nobody has the other end, it has been closed, and is closed after a
 * restore, too.
 */
static bool judge_pipe(const struct judge *j, const struct held_file *file)
{
	const struct held_outsider *outsider = holdings_outsider(j->holdings, file->inode);

	if (outsider)
		judge_refuse(
			j, file->process,
			"holds a pipe (descriptor %d) whose other end process %d (%s) outside the "
			"job has, so it cannot be restored; close it before a checkpoint",
			file->fd, outsider->pid, outsider->name);
	return !outsider;
}

/* Without a name a file is stored in the image, if it isn't too large for that. */
static void judge_deleted(const struct judge *j, const struct held_file *file)
{
	if (file->links)
		judge_refuse(
			j, file->process,
			"holds %.*s (descriptor %d), which has other names but not this one any "
			"more, so it cannot be restored; close it before a checkpoint",
			JUDGE_PATH_SHOWN, file->name, file->fd);
	else if (file->allocated > j->terms->ghost_bytes)
		judge_refuse(
			j, file->process,
			"holds %.*s (descriptor %d): %llu bytes, more than the %llu that a file "
			"without a name may have; don't delete it while it is open",
			JUDGE_PATH_SHOWN, file->name, file->fd, (unsigned long long)file->allocated,
			(unsigned long long)j->terms->ghost_bytes);
}

bool judge_is_silly(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t n = 0;

	if (!judge_starts(name, ".nfs"))
		return false;
	name += strlen(".nfs");
	while (isxdigit((unsigned char)name[n]))
		n++;
	return n >= SILLY_DIGITS && !name[n];
}

/* A file of any type that has a path. */
static void judge_place(const struct judge *j, const struct held_file *file)
{
	if (!file->is_mounted)
		judge_refuse(
			j, file->process,
			"holds %.*s (descriptor %d) on a file system that is not mounted for the "
			"job, so it cannot be restored; open it by a path that the job has",
			JUDGE_PATH_SHOWN, file->name, file->fd);
	else if (judge_is_silly(file->name))
		judge_refuse(
			j, file->process,
			"holds %.*s (descriptor %d), which was deleted and NFS keeps while it is "
			"open, so it cannot be restored; close it before a checkpoint",
			JUDGE_PATH_SHOWN, file->name, file->fd);
	else if (judge_ends(file->name, " (deleted)"))
		judge_deleted(j, file);
}

/* One that can't be restored anywhere is not told a second time for its place. */
static void judge_special(const struct judge *j, const struct held_file *file)
{
	bool is_fine = S_ISFIFO(file->mode) ? judge_pipe(j, file) : judge_device(j, file);

	if (is_fine && *file->name == '/')
		judge_place(j, file);
}

static void judge_path(const struct judge *j, const struct held_file *file)
{
	if (judge_starts(file->name, "/memfd:"))
		return;
	if (judge_starts(file->name, "/secretmem"))
		refuse(j, file, "secret memory (memfd_secret)", "close it before a checkpoint");
	else if (file->is_queue)
		refuse(j, file, "a queue of POSIX messages", "close it before a checkpoint");
	else
		judge_place(j, file);
}

static void judge_kind(const struct judge *j, const struct held_file *file)
{
	char what[JUDGE_PATH_SHOWN + 64];

	if (is_pidfd(file->name))
		judge_pidfd(j, file);
	else if (!strcmp(file->name, "anon_inode:inotify"))
		judge_inotify(j, file);
	else if (judge_starts(file->name, "anon_inode:"))
		judge_anonymous_inode(j, file);
	else if (S_ISFIFO(file->mode) || S_ISCHR(file->mode) || S_ISBLK(file->mode))
		judge_special(j, file);
	else if (*file->name == '/')
		judge_path(j, file);
	else if (!*file->name)
		refuse(j, file, "a file whose path is longer than the kernel tells",
		       "close it before a checkpoint");
	else {
		strcpy(what, "the object of the kernel ");
		strncat(what, file->name, JUDGE_PATH_SHOWN);
		refuse(j, file, what, "close it before a checkpoint");
	}
}

static void judge_unseen(const struct judge *j, const struct held_file *file)
{
	judge_refuse(j, file->process,
		     "holds %.*s (descriptor %d), which scnoded can't look at: %s; close it before "
		     "a checkpoint",
		     JUDGE_PATH_SHOWN, *file->name ? file->name : "a file", file->fd,
		     strerror(file->err));
}

void judge_file(const struct judge *j, const struct held_file *file)
{
	if (file->err) {
		judge_unseen(j, file);
		return;
	}
	judge_kind(j, file);
	if (file->is_locked && !j->terms->keeps_locks)
		judge_refuse(
			j, file->process,
			"holds a lock of %.*s (descriptor %d), which would be lost; unlock the "
			"file before a checkpoint",
			JUDGE_PATH_SHOWN, file->name, file->fd);
}

void judge_watch(const struct judge *j, const struct held_watch *watch)
{
	if (!watch->is_held)
		judge_refuse(
			j, watch->process,
			"has an epoll (descriptor %d) that still watches descriptor %d, which is "
			"closed here but open elsewhere, so it cannot be restored; remove it from "
			"the epoll before it is closed",
			watch->fd, watch->target);
}
