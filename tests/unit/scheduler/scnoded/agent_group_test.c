// SPDX-License-Identifier: BSD-3-Clause
/* Each form of cgroups that this machine has, with real processes. */
#include "scheduler/scnoded/agent_group.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scheduler/scnoded/hierarchy.h"
#include "tests/harness/tap.h"

#define USER 65534
#define TASKS 16
#define LIMIT_S 10.0

static char parent[64];
static struct ev_loop *loop;

/* ---- until something is so ---- */

static bool is_late;

static void on_late(struct ev_loop *l, ev_timer *timer, int events)
{
	(void)l;
	(void)timer;
	(void)events;
	is_late = true;
}

/* The path of the user's group. */
static void user_path(enum cgroup_form form, unsigned uid, char *path, size_t size)
{
	char root[PATH_MAX / 2];

	must(hierarchy_root(form, parent, root, sizeof(root)));
	snprintf(path, size, "%s/scout-%u", root, uid);
}

static bool is_there(enum cgroup_form form, unsigned uid)
{
	char path[PATH_MAX];

	user_path(form, uid, path, sizeof(path));
	return !access(path, F_OK);
}

static bool goes_away(enum cgroup_form form, unsigned uid)
{
	ev_timer limit;

	is_late = false;
	ev_now_update(loop);
	ev_timer_init(&limit, on_late, LIMIT_S, 0);
	ev_timer_start(loop, &limit);
	while (!is_late && is_there(form, uid))
		ev_run(loop, EVRUN_ONCE);
	ev_timer_stop(loop, &limit);
	return !is_there(form, uid);
}

/* ---- processes ---- */

/* Two more, of which one has a session of its own and no parent; both hold @tell. */
static _Noreturn void be_agent(int tell)
{
	if (!fork()) {
		setsid();
		if (fork())
			_exit(0);
	} else {
		fork();
	}
	if (write(tell, "r", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

/* Its pid; all three are there. *@ret_end ends when all of them have. */
static pid_t start_agent(const struct agent_group *agent_group, int *ret_end)
{
	int ends[2];
	char bytes[3];
	size_t n = 0;
	pid_t agent;

	if (pipe(ends))
		return -1;
	agent = agent_group_fork(agent_group);
	if (!agent) {
		close(ends[0]);
		be_agent(ends[1]);
	}
	close(ends[1]);
	while (n < 3 && read(ends[0], bytes + n, 1) == 1)
		n++;
	is_int(n, 3);
	*ret_end = ends[0];
	return agent;
}

static void end_agent(pid_t agent)
{
	kill(agent, SIGKILL);
	is_int(waitpid(agent, NULL, 0), agent);
}

static bool has_ended(int end)
{
	struct pollfd closed = {.fd = end};
	bool has = poll(&closed, 1, (int)(LIMIT_S * 1000)) == 1;

	close(end);
	return has;
}

/* ---- each form ---- */

static void cut(enum cgroup_form form)
{
	struct agent_groups *agent_groups = agent_groups_open(loop, form, parent, TASKS);
	struct agent_group *agent_group = agent_group_make(agent_groups, USER);
	pid_t agent;
	int end;

	must(agent_group);
	agent = start_agent(agent_group, &end);
	end_agent(agent);
	agent_group_leave(agent_group, 0.1);
	ok(goes_away(form, USER));
	ok(has_ended(end));
	agent_groups_close(agent_groups);
}

static void kept(enum cgroup_form form)
{
	struct agent_groups *agent_groups = agent_groups_open(loop, form, parent, TASKS), *later;
	struct agent_group *agent_group = agent_group_make(agent_groups, USER);
	pid_t agent;
	int end;

	must(agent_group);
	agent = start_agent(agent_group, &end);
	end_agent(agent);
	agent_group_leave(agent_group, AGENT_GROUP_STAYS);
	agent_groups_close(agent_groups);
	ok(is_there(form, USER));
	later = agent_groups_open(loop, form, parent, TASKS);
	/* A new one beside it is removed alone. */
	agent_group = agent_group_make(later, USER);
	must(agent_group);
	agent_group_leave(agent_group, AGENT_GROUP_STAYS);
	ok(is_there(form, USER));
	agent_groups_end(later);
	ok(!is_there(form, USER));
	ok(has_ended(end));
	agent_groups_close(later);
}

/* Forks until it may not, and tells how often it could. */
static _Noreturn void be_bomb(int tell)
{
	unsigned char n = 0;

	for (; n < 4 * TASKS; n++) {
		pid_t child = fork();

		if (!child)
			for (;;)
				pause();
		if (child < 0)
			break;
	}
	if (write(tell, &n, 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

/* How many processes can be forked in that agent group. */
static unsigned char forks(const struct agent_group *agent_group)
{
	unsigned char n = 0;
	int tell[2];
	pid_t agent;

	if (pipe(tell))
		return 0;
	agent = agent_group_fork(agent_group);
	if (!agent)
		be_bomb(tell[1]);
	is_int(read(tell[0], &n, 1), 1);
	end_agent(agent);
	close(tell[0]);
	close(tell[1]);
	return n;
}

static void bounded(enum cgroup_form form)
{
	struct agent_groups *agent_groups = agent_groups_open(loop, form, parent, TASKS);
	struct agent_group *first = agent_group_make(agent_groups, USER),
			   *second = agent_group_make(agent_groups, USER);
	struct agent_group *root = agent_group_make(agent_groups, 0);
	unsigned char n;

	must(first && second && root);
	n = forks(first);
	okf(n < TASKS && n >= TASKS / 2 - 1, "a user's group: %u forks of %d", n, TASKS);
	n = forks(second);
	okf(n < TASKS / 2, "another group of the same user: %u more", n);
	is_int(forks(root), 4 * TASKS);
	agent_group_leave(first, AGENT_GROUP_STAYS);
	agent_group_leave(second, AGENT_GROUP_STAYS);
	agent_group_leave(root, AGENT_GROUP_STAYS);
	agent_groups_end(agent_groups);
	ok(!is_there(form, USER) && !is_there(form, 0));
	agent_groups_close(agent_groups);
}

static void each(enum cgroup_form form)
{
	char root[PATH_MAX / 2], why[512], counted[PATH_MAX];

	snprintf(parent, sizeof(parent), "openscore-group-%d", getpid());
	if (geteuid() || !hierarchy_root(form, parent, root, sizeof(root)) ||
	    cgroup_probe(parent, why, sizeof(why)) == CGROUP_NONE || hierarchy_make(root)) {
		tap_skip("cgroups of form %s cannot be made here: needs root and such a mount",
			 cgroup_form_name(form));
		return;
	}
	loop = ev_loop_new(EVFLAG_AUTO);
	cut(form);
	kept(form);
	if (cgroup_can_limit(form, parent))
		bounded(form);
	ev_loop_destroy(loop);
	for (enum cgroup_form f = CGROUP_V1; f <= CGROUP_V2; f++)
		if (hierarchy_root(f, parent, root, sizeof(root)))
			rmdir(root);
	if (hierarchy_mount("cgroup", "pids", root, sizeof(root))) {
		snprintf(counted, sizeof(counted), "%s/%s", root, parent);
		rmdir(counted);
	}
}

TAP_TEST(agent_group__v2)
{
	each(CGROUP_V2);
}

TAP_TEST(agent_group__v1)
{
	each(CGROUP_V1);
}

TAP_TEST(agent_group__no_cgroups)
{
	struct agent_groups *agent_groups =
		agent_groups_open(EV_DEFAULT, CGROUP_NONE, "openscore", TASKS);

	errno = 0;
	ok(!agent_group_make(agent_groups, USER));
	is_int(errno, ENOTSUP);
	agent_groups_end(agent_groups);
	agent_groups_close(agent_groups);
}
