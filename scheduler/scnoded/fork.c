/* SPDX-License-Identifier: BSD-3-Clause */
#include "scheduler/scnoded/fork.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "scheduler/scnoded/cores.h"

#define GROUPS_MAX 65536
#define CORD_FD 3
#define FILES_MAX 1048576

/* As execve() wants them: not constant. */
static char name[] = "scstepd";
static char search[] = "PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";

/* Everything the child needs, made before the fork: other threads may hold the allocator's lock. */
struct birth {
	uid_t uid;
	gid_t gid;
	gid_t *groups;
	int n_groups;              /* -1: we are not root, and stay who we are */
	const unsigned long *mask; /* of processors; NULL: any */
	size_t mask_bytes;
	char program[PATH_MAX];
	char *argv[2];
	char *env[8];
	char munge[PATH_MAX], home[PATH_MAX], user[256];
};

static bool find_program(const struct scnoded *d, char *path, size_t size)
{
	ssize_t n;

	if (d->options.scstepd)
		return snprintf(path, size, "%s", d->options.scstepd) < (int)size;
	n = readlink("/proc/self/exe", path, size - sizeof("scstepd"));
	if (n <= 0)
		return false;
	path[n] = 0;
	strcpy(strrchr(path, '/') + 1, "scstepd");
	return true;
}

/* NULL, or what is wrong with the user on this host. */
static char *find_user(const struct step *step, struct birth *b)
{
	const struct passwd *who = getpwuid(step->order->uid);
	int n = GROUPS_MAX;

	b->uid = step->order->uid;
	b->gid = step->order->gid;
	b->n_groups = -1;
	if (!who)
		return daemon_text(
			"host %s: there is no user %u here; make the same users on all hosts",
			step->daemon->name, b->uid);
	snprintf(b->user, sizeof(b->user), "USER=%s", who->pw_name);
	snprintf(b->home, sizeof(b->home), "HOME=%s", who->pw_dir);
	if (geteuid())
		return b->uid == geteuid()
			       ? NULL
			       : daemon_text("host %s: this scnoded runs jobs of user %u only",
					     step->daemon->name, geteuid());
	b->groups = calloc(GROUPS_MAX, sizeof(*b->groups));
	if (!b->groups || getgrouplist(who->pw_name, b->gid, b->groups, &n) < 0)
		return daemon_text("host %s: the groups of user %s cannot be listed",
				   step->daemon->name, who->pw_name);
	b->n_groups = n;
	return NULL;
}

static char *prepare(const struct step *step, struct birth *b)
{
	const char *socket = step->daemon->options.munge_socket;
	int n = 0;

	if (!find_program(step->daemon, b->program, sizeof(b->program)) || access(b->program, X_OK))
		return daemon_text(
			"host %s: %s: %m; install scstepd there, or name it with --scstepd",
			step->daemon->name, b->program);
	b->argv[0] = name;
	b->env[n++] = search;
	b->env[n++] = b->user;
	b->env[n++] = b->home;
	if (socket) {
		snprintf(b->munge, sizeof(b->munge), "SCORE_MUNGE_SOCKET=%s", socket);
		b->env[n++] = b->munge;
	}
	b->mask = cores_mask(step->daemon->cores, &b->mask_bytes);
	return find_user(step, b);
}

/* As root jobs get all they may lock and open; else it stays as it is. */
static void raise_limits(void)
{
	struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY}, files = {65536, FILES_MAX};

	setrlimit(RLIMIT_MEMLOCK, &all);
	setrlimit(RLIMIT_NOFILE, &files);
}

static _Noreturn void be_born(const struct birth *b, int cord, const int go[2])
{
	sigset_t none;
	char byte;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	setsid();
	/* Even a job that is not bound keeps to the processors that jobs may use. */
	if (b->mask)
		sched_setaffinity(0, b->mask_bytes, (const cpu_set_t *)b->mask);
	/* In the job's group before anything of the job runs. A scnoded that dies before lets go by the pipe's end. */
	close(go[1]);
	if (read(go[0], &byte, 1) != 1)
		_exit(1);
	if (b->n_groups >= 0) {
		raise_limits();
		if (setgroups((size_t)b->n_groups, b->groups) ||
		    setresgid(b->gid, b->gid, b->gid) || setresuid(b->uid, b->uid, b->uid))
			_exit(1);
	}
	if (cord == CORD_FD)
		fcntl(cord, F_SETFD, 0);
	else
		dup2(cord, CORD_FD);
	close_range(CORD_FD + 1, ~0u, 0);
	execve(b->program, b->argv, b->env);
	_exit(1);
}

static char *give_birth(struct step *step, const struct birth *b, const int cord[2],
			const int go[2])
{
	char *text = NULL;
	pid_t pid = fork();
	int err;

	if (!pid)
		be_born(b, cord[1], go);
	if (pid < 0)
		return daemon_text("host %s: no process for scstepd: %m", step->daemon->name);
	step->pid = pid;
	err = cgroup_put_step(step->group, pid);
	if (err)
		text = daemon_text("host %s: scstepd cannot be put into its cgroup: %s",
				   step->daemon->name, strerror(-err));
	else if (write(go[1], "g", 1) != 1)
		text = daemon_text("host %s: scstepd cannot be let go: %m", step->daemon->name);
	return text;
}

char *fork_step(struct step *step, int *cord)
{
	struct birth b = {.groups = NULL};
	int pair[2], go[2];
	char *text = prepare(step, &b);

	if (!text && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		text = daemon_text("host %s: no socket pair: %m", step->daemon->name);
	if (text) {
		free(b.groups);
		return text;
	}
	if (pipe2(go, O_CLOEXEC)) {
		text = daemon_text("host %s: no pipe: %m", step->daemon->name);
	} else {
		text = give_birth(step, &b, pair, go);
		close(go[0]);
		close(go[1]);
	}
	close(pair[1]);
	free(b.groups);
	if (text)
		close(pair[0]);
	else
		*cord = pair[0];
	return text;
}
