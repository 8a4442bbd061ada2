// SPDX-License-Identifier: BSD-3-Clause
/* Tests of names that change hands while the segments of a user are swept. */
#include "scheduler/scnoded/sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/harness/tap.h"

#define OWNER 65531 /* no process is theirs */
#define OTHER 65532

static char path[96];  /* of the segment */
static char taken[96]; /* another file, which takes the segment's name; "" = it has happened */
static ino_t inode;    /* of that */

/* The last moment before the name is touched. */
static void take_name(const char *name)
{
	const char *mine = strrchr(path, '/') + 1;
	uid_t sweeper;

	if (!taken[0] || strcmp(name, mine) != 0)
		return;
	sweeper = (uid_t)setfsuid(0);
	ok(!syscall(SYS_rename, taken, path));
	setfsuid(sweeper);
	taken[0] = 0;
}

int unlinkat(int dir, const char *name, int flags)
{
	take_name(name);
	return (int)syscall(SYS_unlinkat, dir, name, flags);
}

int renameat2(int from, const char *name, int to, const char *new, unsigned int flags)
{
	take_name(name);
	return (int)syscall(SYS_renameat2, from, name, to, new, flags);
}

static void make_file(const char *at, uid_t uid)
{
	int fd = open(at, O_CREAT | O_EXCL | O_WRONLY, 0600);
	struct stat st;

	ok(fd >= 0 && !fchown(fd, uid, uid) && !fstat(fd, &st));
	inode = st.st_ino;
	close(fd);
}

static bool is_there(const char *at)
{
	struct stat st;

	return !lstat(at, &st) && st.st_ino == inode;
}

static bool begin(void)
{
	if (geteuid() != 0) {
		tap_skip("needs root to give files away");
		return false;
	}
	snprintf(path, sizeof(path), "/dev/shm/vader_segment.sweep-%d", getpid());
	taken[0] = 0;
	return true;
}

TAP_TEST(sweep_shared_memory__of_one_user)
{
	char other[96];

	if (!begin())
		return;
	snprintf(other, sizeof(other), "/dev/shm/sm_segment.sweep-%d", getpid());
	make_file(path, OWNER);
	make_file(other, OTHER);
	sweep_shared_memory(OWNER);
	is_int(access(path, F_OK), -1);
	is_int(access(other, F_OK), 0);
	sweep_shared_memory(OTHER);
	is_int(access(other, F_OK), -1);
	snprintf(other, sizeof(other), "/dev/shm/open_mpi.sweep-%d", getpid());
	make_file(other, OTHER);
	sweep_shared_memory(OTHER);
	is_int(access(other, F_OK), -1);
	is_int(setfsuid((uid_t)-1), 0); /* the daemon has its own rights again */
}

TAP_TEST(sweep_shared_memory__folder_of_segments)
{
	char folder[64];

	if (!begin())
		return;
	snprintf(folder, sizeof(folder), "/dev/shm/openscore.sweep-%d", getpid());
	is_int(mkdir(folder, 0700), 0);
	is_int(chown(folder, OWNER, OWNER), 0);
	snprintf(path, sizeof(path), "%s/segment", folder);
	make_file(path, OWNER);
	sweep_shared_memory(OWNER);
	is_int(access(folder, F_OK), -1);
}

static void taken_by(uid_t uid)
{
	char before[96];

	snprintf(before, sizeof(before), "/dev/shm/sweep-test-%d", getpid());
	make_file(path, OWNER);
	make_file(before, uid);
	strcpy(taken, before);
	sweep_shared_memory(OWNER);
	ok(!taken[0]); /* it was about to be removed */
	ok(is_there(path));
	unlink(path);
	unlink(before);
}

/* How often the segment's name was taken from a file since the directory is watched. */
static int count_moves(int fd)
{
	char room[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	ssize_t size;
	int n = 0;

	while ((size = read(fd, room, sizeof(room))) > 0)
		for (char *at = room; at < room + size;) {
			const struct inotify_event *event = (const void *)at;

			n += event->len && !strcmp(event->name, strrchr(path, '/') + 1);
			at += sizeof(*event) + event->len;
		}
	return n;
}

TAP_TEST(sweep_shared_memory__name_is_of_another_user_by_then)
{
	int moves;

	if (!begin())
		return;
	moves = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	ok(inotify_add_watch(moves, "/dev/shm", IN_MOVED_FROM) >= 0);
	taken_by(OTHER);
	is_int(count_moves(moves), 0); /* not even for a moment */
	close(moves);
}

TAP_TEST(sweep_shared_memory__name_is_of_another_file_by_then)
{
	if (begin())
		taken_by(OWNER);
}

TAP_TEST(sweep_shared_memory__another_file_in_a_folder)
{
	char folder[64];

	if (!begin())
		return;
	snprintf(folder, sizeof(folder), "/dev/shm/openscore.sweep-%d", getpid());
	is_int(mkdir(folder, 0700), 0);
	is_int(chown(folder, OWNER, OWNER), 0);
	snprintf(path, sizeof(path), "%s/segment", folder);
	taken_by(OWNER);
	is_int(rmdir(folder), 0);
}
