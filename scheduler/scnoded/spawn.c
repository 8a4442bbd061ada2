// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scnoded/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "scheduler/proto/signals.h"

#define GROUPS_USUAL 64 /* more than most users have */
#define FILES_MAX 1048576

/* As execve() wants it: not constant. */
static char search[] = "PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";

static bool find_program(const char *name, const char *said, char *path, size_t size)
{
	ssize_t n;

	if (said)
		return snprintf(path, size, "%s", said) < (int)size;
	n = readlink("/proc/self/exe", path, size - strlen(name) - 1);
	if (n <= 0)
		return false;
	path[n] = 0;
	strcpy(strrchr(path, '/') + 1, name);
	return true;
}

/*
 * Of a user of root's scnoded. Room for all that Linux allows would be a quarter of a megabyte for
 * each program.
 */
static bool list_groups(struct spawn *spawn, const char *user)
{
	int room = GROUPS_USUAL, n;

	for (;;) {
		gid_t *groups = reallocarray(spawn->groups, (size_t)room, sizeof(*groups));

		if (!groups)
			return false;
		spawn->groups = groups;
		n = room;
		if (getgrouplist(user, spawn->gid, spawn->groups, &n) >= 0)
			break;
		if (n <= room)
			return false;
		room = n;
	}
	spawn->n_groups = n;
	return true;
}

/* NULL, or what is wrong with the user on this host. */
static char *find_user(struct spawn *spawn, const struct scnoded *d, uid_t uid, gid_t gid,
		       const char *what)
{
	const struct passwd *who = getpwuid(uid);

	if (!who)
		return daemon_text(
			"host %s: there is no user %u here; make the same users on all hosts",
			d->name, uid);
	spawn->uid = uid;
	spawn->gid = gid == SPAWN_USUAL_GROUP ? who->pw_gid : gid;
	spawn->n_groups = -1;
	snprintf(spawn->user, sizeof(spawn->user), "USER=%s", who->pw_name);
	snprintf(spawn->home, sizeof(spawn->home), "HOME=%s", who->pw_dir);
	if (geteuid())
		return uid == geteuid()
			       ? NULL
			       : daemon_text("host %s: this scnoded runs %s of user %u only",
					     d->name, what, geteuid());
	if (!list_groups(spawn, who->pw_name))
		return daemon_text("host %s: the groups of user %s cannot be listed", d->name,
				   who->pw_name);
	return NULL;
}

char *spawn_prepare(struct spawn *ret, const struct scnoded *d, const char *name, const char *said,
		    uid_t uid, gid_t gid, const char *what)
{
	const char *socket = d->options.munge_socket;

	*ret = (struct spawn){.n_groups = -1, .in = -1, .err = -1};
	if (!find_program(name, said, ret->program, sizeof(ret->program)) ||
	    access(ret->program, X_OK))
		return daemon_text("host %s: %s: %m; install %s there, or name it with --%s",
				   d->name, ret->program, name, name);
	spawn_set(ret, search);
	spawn_set(ret, ret->user);
	spawn_set(ret, ret->home);
	if (socket) {
		snprintf(ret->munge, sizeof(ret->munge), "SCORE_MUNGE_SOCKET=%s", socket);
		spawn_set(ret, ret->munge);
	}
	return find_user(ret, d, uid, gid, what);
}

void spawn_set(struct spawn *spawn, char *variable)
{
	spawn->env[spawn->n_env++] = variable;
}

void spawn_fini(struct spawn *spawn)
{
	free(spawn->groups);
	spawn->groups = NULL;
}

void spawn_begin(void)
{
	signals_reset();
	setsid();
}

/* As root users get all they may lock and open; else it stays as it is. */
static void raise_limits(void)
{
	struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY}, files = {65536, FILES_MAX};

	setrlimit(RLIMIT_MEMLOCK, &all);
	setrlimit(RLIMIT_NOFILE, &files);
}

/*
 * A user may read and write what his processes hold, so they get nothing of ours but the way to the
 * log.
 */
static void leave_streams(const struct spawn *spawn)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0 || dup2(spawn->in >= 0 ? spawn->in : null, STDIN_FILENO) < 0 ||
	    dup2(null, STDOUT_FILENO) < 0)
		_exit(1);
	if (spawn->err >= 0 && dup2(spawn->err, STDERR_FILENO) < 0)
		_exit(1);
}

/*
 * When memory is short the kernel takes users' processes before the daemon, whose score they have
 * inherited.
 */
static void be_killed_first(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, "0", 1) < 0)
		errno = 0;
	close(fd);
}

/*
 * libc's would tell the threads of the daemon, which it may believe to have still: see
 * agent_group_fork().
 */
static void become_user(const struct spawn *spawn)
{
	if (syscall(SYS_setgroups, (size_t)spawn->n_groups, spawn->groups) ||
	    syscall(SYS_setresgid, spawn->gid, spawn->gid, spawn->gid) ||
	    syscall(SYS_setresuid, spawn->uid, spawn->uid, spawn->uid))
		_exit(1);
}

_Noreturn void spawn_exec(const struct spawn *spawn, char *const *argv, int fd)
{
	leave_streams(spawn);
	if (spawn->n_groups >= 0) {
		be_killed_first();
		raise_limits();
		become_user(spawn);
	}
	if (fd == SPAWN_FD)
		fcntl(fd, F_SETFD, 0);
	else
		dup2(fd, SPAWN_FD);
	close_range(SPAWN_FD + 1, ~0u, 0);
	execve(spawn->program, argv, spawn->env);
	_exit(1);
}
