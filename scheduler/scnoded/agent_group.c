// SPDX-License-Identifier: BSD-3-Clause
/*
 * Agent groups lie where groups of jobs lie. If the pids controller is v1's it knows the user's
 * group only: counting is all it is there for.
 */
#include "scheduler/scnoded/agent_group.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pmcore/util/clock.h"
#include "scheduler/proto/signals.h"
#include "scheduler/scnoded/hierarchy.h"
#include "scheduler/scnoded/limit.h"

#define LOOK_S 0.5
#define END_LOOK_S 0.02
#define END_S (AGENT_GROUP_GRACE_S + 2.0)
#define USER_PREFIX "scout-"
#define AGENT_GROUP_PREFIX "pen-"
#define PATH_SIZE (PATH_MAX / 2)

struct agent_group {
	TAILQ_ENTRY(agent_group) all;
	struct agent_groups *agent_groups;
	char user[PATH_SIZE];            /* the group of its user's agent groups */
	char path[PATH_SIZE + NAME_MAX]; /* its own */
	char counted[PATH_SIZE];         /* the user's group in v1's pids; "" = not there */
	bool is_left;                    /* its scremote has ended */
	double killed_at;                /* clock_monotonic_s(); 0: never */
};

struct agent_groups {
	struct ev_loop *loop;
	enum cgroup_form form;
	char root[PATH_SIZE / 2];    /* "": no cgroups */
	char counted[PATH_SIZE / 2]; /* the same in v1's pids; "" = not there, or not needed */
	uint32_t tasks;
	uint64_t last; /* number of an agent group */
	TAILQ_HEAD(, agent_group) all;
	ev_timer look;
};

/* ---- the end ---- */

static void forget(struct agent_group *agent_group)
{
	TAILQ_REMOVE(&agent_group->agent_groups->all, agent_group, all);
	free(agent_group);
}

/* Whether it is gone, with its user's group if that was the last. */
static bool remove_agent_group(const struct agent_group *agent_group)
{
	if (rmdir(agent_group->path) && errno != ENOENT)
		return false;
	/* Others of the user may be in these. */
	rmdir(agent_group->user);
	if (agent_group->counted[0])
		rmdir(agent_group->counted);
	return true;
}

static void write_state(const struct agent_group *agent_group, bool is_frozen)
{
	char path[PATH_MAX];
	bool is_v1 = agent_group->agent_groups->form == CGROUP_V1;

	snprintf(path, sizeof(path), "%s/%s", agent_group->path,
		 is_v1 ? "freezer.state" : "cgroup.freeze");
	if (is_v1)
		hierarchy_write(path, is_frozen ? "FROZEN" : "THAWED");
	else
		hierarchy_write(path, is_frozen ? "1" : "0");
}

/* A frozen process starts no new one while the others are being killed. */
static void kill_all(const struct agent_group *agent_group)
{
	write_state(agent_group, true);
	hierarchy_kill(agent_group->agent_groups->form, agent_group->path);
	write_state(agent_group, false);
}

static void look(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct agent_groups *agent_groups = timer->data;
	struct agent_group *agent_group, *next;
	bool is_any_left = false;

	(void)events;
	for (agent_group = TAILQ_FIRST(&agent_groups->all); agent_group; agent_group = next) {
		next = TAILQ_NEXT(agent_group, all);
		if (agent_group->killed_at > 0 && agent_group->killed_at <= clock_monotonic_s())
			kill_all(agent_group);
		if (agent_group->is_left && remove_agent_group(agent_group))
			forget(agent_group);
		else
			is_any_left |= agent_group->is_left || agent_group->killed_at > 0;
	}
	if (!is_any_left)
		ev_timer_stop(loop, timer);
}

void agent_group_leave(struct agent_group *agent_group, double grace_s)
{
	struct agent_groups *agent_groups = agent_group->agent_groups;

	if (remove_agent_group(agent_group)) {
		forget(agent_group);
		return;
	}
	agent_group->is_left = true;
	if (grace_s >= 0 && agent_group->killed_at <= 0)
		agent_group->killed_at = clock_monotonic_s() + grace_s;
	if (!ev_is_active(&agent_groups->look))
		ev_timer_again(agent_groups->loop, &agent_groups->look);
}

static void tired(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)loop;
	(void)events;
	*(bool *)timer->data = true;
}

void agent_groups_end(struct agent_groups *agent_groups)
{
	bool is_tired = false;
	struct agent_group *agent_group;
	ev_timer timeout;

	ev_now_update(agent_groups->loop);
	TAILQ_FOREACH(agent_group, &agent_groups->all, all)
		agent_group->killed_at =
			clock_monotonic_s() + (agent_group->is_left ? 0 : AGENT_GROUP_GRACE_S);
	ev_timer_init(&timeout, tired, END_S, 0);
	timeout.data = &is_tired;
	ev_timer_start(agent_groups->loop, &timeout);
	agent_groups->look.repeat = END_LOOK_S;
	ev_timer_again(agent_groups->loop, &agent_groups->look);
	while (!is_tired && !TAILQ_EMPTY(&agent_groups->all))
		ev_run(agent_groups->loop, EVRUN_ONCE);
	ev_timer_stop(agent_groups->loop, &timeout);
}

/* ---- the beginning ---- */

static struct agent_group *new_agent_group(struct agent_groups *agent_groups, const char *user,
					   const char *name)
{
	struct agent_group *agent_group = calloc(1, sizeof(*agent_group));

	if (!agent_group)
		return NULL;
	agent_group->agent_groups = agent_groups;
	snprintf(agent_group->user, sizeof(agent_group->user), "%s/%s", agent_groups->root, user);
	snprintf(agent_group->path, sizeof(agent_group->path), "%s/%s", agent_group->user, name);
	if (agent_groups->counted[0])
		snprintf(agent_group->counted, sizeof(agent_group->counted), "%s/%s",
			 agent_groups->counted, user);
	TAILQ_INSERT_TAIL(&agent_groups->all, agent_group, all);
	return agent_group;
}

/* The user's group with its limit, where there can be one: if not, main() has said so. */
static int make_user(struct agent_group *agent_group, uid_t uid)
{
	const char *counted = agent_group->counted[0] ? agent_group->counted : agent_group->user;

	if (!uid)
		agent_group->counted[0] = 0;
	if (mkdir(agent_group->user, 0755) && errno != EEXIST)
		return -errno;
	if (agent_group->counted[0])
		hierarchy_make(agent_group->counted);
	if (uid)
		limit_group(counted, agent_group->agent_groups->tasks);
	return 0;
}

struct agent_group *agent_group_make(struct agent_groups *agent_groups, uid_t uid)
{
	char user[32], name[32];
	struct agent_group *agent_group;
	int err;

	if (!agent_groups->root[0]) {
		errno = ENOTSUP;
		return NULL;
	}
	snprintf(user, sizeof(user), USER_PREFIX "%u", uid);
	snprintf(name, sizeof(name), AGENT_GROUP_PREFIX "%llx",
		 (unsigned long long)++agent_groups->last);
	agent_group = new_agent_group(agent_groups, user, name);
	if (!agent_group) {
		errno = ENOMEM;
		return NULL;
	}
	err = make_user(agent_group, uid);
	if (!err && mkdir(agent_group->path, 0755))
		err = -errno;
	if (err) {
		remove_agent_group(agent_group);
		forget(agent_group);
		errno = -err;
		return NULL;
	}
	return agent_group;
}

/* The calling process. */
static void enter(const char *group)
{
	char path[PATH_MAX + 16];
	int fd;

	/* Neither snprintf() nor malloc(): see spawn.h. */
	stpcpy(stpcpy(path, group), "/cgroup.procs");
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	/* A process that is not let in goes on outside the group, as on a host without groups. */
	if (write(fd, "0", 1) < 0)
		errno = 0;
	close(fd);
}

/*
 * A process that is born in a group need not be moved to it: for the first to be moved in a while
 * the kernel lets all readers of its locks pass, 10 ms. v1 can't do that.
 */
static pid_t fork_into(const char *group)
{
	int dir = open(group, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct clone_args args = {
		.flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (uint64_t)dir};
	pid_t pid;

	if (dir < 0)
		return -1;
	pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (pid)
		close(dir);
	return pid;
}

pid_t agent_group_fork(const struct agent_group *agent_group)
{
	sigset_t before;
	pid_t pid = -1;

	signals_hold(&before);
	if (agent_group->agent_groups->form != CGROUP_V1)
		pid = fork_into(agent_group->path);
	if (pid < 0) {
		pid = fork();
		if (!pid)
			enter(agent_group->path);
	}
	if (!pid && agent_group->counted[0])
		enter(agent_group->counted);
	if (!pid)
		return 0;
	pid = pid < 0 ? -errno : pid;
	signals_release(&before);
	return pid;
}

/* ---- up and down ---- */

/*
 * Finds the agent groups that an earlier scnoded has left in a user's group. Their scremotes may
 * still run, and only their keepers end them.
 */
static void find_agent_groups(struct agent_groups *agent_groups, const char *user)
{
	char path[PATH_SIZE];
	const struct dirent *entry;
	struct agent_group *agent_group;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/%s", agent_groups->root, user);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, AGENT_GROUP_PREFIX, strlen(AGENT_GROUP_PREFIX)) != 0)
			continue;
		agent_group = new_agent_group(agent_groups, user, entry->d_name);
		if (agent_group)
			agent_group_leave(agent_group, AGENT_GROUP_STAYS);
	}
	if (dir)
		closedir(dir);
}

static void find_users(struct agent_groups *agent_groups)
{
	const struct dirent *entry;
	DIR *dir = opendir(agent_groups->root);

	while (dir && (entry = readdir(dir)))
		if (!strncmp(entry->d_name, USER_PREFIX, strlen(USER_PREFIX)))
			find_agent_groups(agent_groups, entry->d_name);
	if (dir)
		closedir(dir);
}

static void find_place(struct agent_groups *agent_groups, const char *parent)
{
	char mount[PATH_MAX / 8];

	if (agent_groups->form == CGROUP_NONE ||
	    !hierarchy_root(agent_groups->form, parent, agent_groups->root,
			    sizeof(agent_groups->root))) {
		agent_groups->root[0] = 0;
		return;
	}
	if ((agent_groups->form == CGROUP_V1 || !limit_offer(agent_groups->root)) &&
	    hierarchy_mount("cgroup", "pids", mount, sizeof(mount)))
		snprintf(agent_groups->counted, sizeof(agent_groups->counted), "%s/%s", mount,
			 parent);
}

struct agent_groups *agent_groups_open(struct ev_loop *loop, enum cgroup_form form,
				       const char *parent, uint32_t tasks)
{
	struct agent_groups *agent_groups = calloc(1, sizeof(*agent_groups));

	if (!agent_groups)
		return NULL;
	agent_groups->loop = loop;
	agent_groups->form = form;
	agent_groups->tasks = tasks;
	/* No later scnoded gives a number again that is still there. */
	agent_groups->last = clock_realtime_ns();
	TAILQ_INIT(&agent_groups->all);
	ev_init(&agent_groups->look, look);
	agent_groups->look.repeat = LOOK_S;
	agent_groups->look.data = agent_groups;
	find_place(agent_groups, parent);
	if (agent_groups->root[0])
		find_users(agent_groups);
	return agent_groups;
}

void agent_groups_close(struct agent_groups *agent_groups)
{
	struct agent_group *agent_group;

	if (!agent_groups)
		return;
	ev_timer_stop(agent_groups->loop, &agent_groups->look);
	while ((agent_group = TAILQ_FIRST(&agent_groups->all))) {
		remove_agent_group(agent_group);
		forget(agent_group);
	}
	free(agent_groups);
}
