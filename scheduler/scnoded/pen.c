// SPDX-License-Identifier: BSD-3-Clause
/*
 * Pens lie where groups of jobs lie. If the pids controller is v1's it knows the user's group only:
 * counting is all it is there for.
 */
#include "scheduler/scnoded/pen.h"

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
#define END_S (PEN_GRACE_S + 2.0)
#define USER_PREFIX "scout-"
#define PEN_PREFIX "pen-"
#define PATH_SIZE (PATH_MAX / 2)

struct pen {
	TAILQ_ENTRY(pen) all;
	struct pens *pens;
	char user[PATH_SIZE];            /* the group of its user's pens */
	char path[PATH_SIZE + NAME_MAX]; /* its own */
	char counted[PATH_SIZE];         /* the user's group in v1's pids; "" = not there */
	bool is_left;                    /* its scremote has ended */
	double killed_at;                /* clock_monotonic_s(); 0: never */
};

struct pens {
	struct ev_loop *loop;
	enum cgroup_form form;
	char root[PATH_SIZE / 2];    /* "": no cgroups */
	char counted[PATH_SIZE / 2]; /* the same in v1's pids; "" = not there, or not needed */
	uint32_t tasks;
	uint64_t last; /* number of a pen */
	TAILQ_HEAD(, pen) all;
	ev_timer look;
};

/* ---- the end ---- */

static void forget(struct pen *pen)
{
	TAILQ_REMOVE(&pen->pens->all, pen, all);
	free(pen);
}

/* Whether it is gone, with its user's group if that was the last. */
static bool remove_pen(const struct pen *pen)
{
	if (rmdir(pen->path) && errno != ENOENT)
		return false;
	/* Others of the user may be in these. */
	rmdir(pen->user);
	if (pen->counted[0])
		rmdir(pen->counted);
	return true;
}

static void write_state(const struct pen *pen, bool is_frozen)
{
	char path[PATH_MAX];
	bool is_v1 = pen->pens->form == CGROUP_V1;

	snprintf(path, sizeof(path), "%s/%s", pen->path, is_v1 ? "freezer.state" : "cgroup.freeze");
	if (is_v1)
		hierarchy_write(path, is_frozen ? "FROZEN" : "THAWED");
	else
		hierarchy_write(path, is_frozen ? "1" : "0");
}

/* A frozen process starts no new one while the others are being killed. */
static void kill_all(const struct pen *pen)
{
	write_state(pen, true);
	hierarchy_kill(pen->pens->form, pen->path);
	write_state(pen, false);
}

static void look(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct pens *pens = timer->data;
	struct pen *pen, *next;
	bool is_any_left = false;

	(void)events;
	for (pen = TAILQ_FIRST(&pens->all); pen; pen = next) {
		next = TAILQ_NEXT(pen, all);
		if (pen->killed_at > 0 && pen->killed_at <= clock_monotonic_s())
			kill_all(pen);
		if (pen->is_left && remove_pen(pen))
			forget(pen);
		else
			is_any_left |= pen->is_left || pen->killed_at > 0;
	}
	if (!is_any_left)
		ev_timer_stop(loop, timer);
}

void pen_leave(struct pen *pen, double grace_s)
{
	struct pens *pens = pen->pens;

	if (remove_pen(pen)) {
		forget(pen);
		return;
	}
	pen->is_left = true;
	if (grace_s >= 0 && pen->killed_at <= 0)
		pen->killed_at = clock_monotonic_s() + grace_s;
	if (!ev_is_active(&pens->look))
		ev_timer_again(pens->loop, &pens->look);
}

static void tired(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)loop;
	(void)events;
	*(bool *)timer->data = true;
}

void pens_end(struct pens *pens)
{
	bool is_tired = false;
	struct pen *pen;
	ev_timer patience;

	ev_now_update(pens->loop);
	TAILQ_FOREACH(pen, &pens->all, all)
		pen->killed_at = clock_monotonic_s() + (pen->is_left ? 0 : PEN_GRACE_S);
	ev_timer_init(&patience, tired, END_S, 0);
	patience.data = &is_tired;
	ev_timer_start(pens->loop, &patience);
	pens->look.repeat = END_LOOK_S;
	ev_timer_again(pens->loop, &pens->look);
	while (!is_tired && !TAILQ_EMPTY(&pens->all))
		ev_run(pens->loop, EVRUN_ONCE);
	ev_timer_stop(pens->loop, &patience);
}

/* ---- the beginning ---- */

static struct pen *new_pen(struct pens *pens, const char *user, const char *name)
{
	struct pen *pen = calloc(1, sizeof(*pen));

	if (!pen)
		return NULL;
	pen->pens = pens;
	snprintf(pen->user, sizeof(pen->user), "%s/%s", pens->root, user);
	snprintf(pen->path, sizeof(pen->path), "%s/%s", pen->user, name);
	if (pens->counted[0])
		snprintf(pen->counted, sizeof(pen->counted), "%s/%s", pens->counted, user);
	TAILQ_INSERT_TAIL(&pens->all, pen, all);
	return pen;
}

/* The user's group with its limit, where there can be one: if not, main() has said so. */
static int make_user(struct pen *pen, uid_t uid)
{
	const char *counted = pen->counted[0] ? pen->counted : pen->user;

	if (!uid)
		pen->counted[0] = 0;
	if (mkdir(pen->user, 0755) && errno != EEXIST)
		return -errno;
	if (pen->counted[0])
		hierarchy_make(pen->counted);
	if (uid)
		limit_group(counted, pen->pens->tasks);
	return 0;
}

struct pen *pen_make(struct pens *pens, uid_t uid)
{
	char user[32], name[32];
	struct pen *pen;
	int err;

	if (!pens->root[0]) {
		errno = ENOTSUP;
		return NULL;
	}
	snprintf(user, sizeof(user), USER_PREFIX "%u", uid);
	snprintf(name, sizeof(name), PEN_PREFIX "%llx", (unsigned long long)++pens->last);
	pen = new_pen(pens, user, name);
	if (!pen) {
		errno = ENOMEM;
		return NULL;
	}
	err = make_user(pen, uid);
	if (!err && mkdir(pen->path, 0755))
		err = -errno;
	if (err) {
		remove_pen(pen);
		forget(pen);
		errno = -err;
		return NULL;
	}
	return pen;
}

/* The calling process. */
static void enter(const char *group)
{
	char path[PATH_MAX + 16];
	int fd;

	/* Neither snprintf() nor malloc(): see birth.h. */
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

pid_t pen_fork(const struct pen *pen)
{
	sigset_t before;
	pid_t pid = -1;

	signals_hold(&before);
	if (pen->pens->form != CGROUP_V1)
		pid = fork_into(pen->path);
	if (pid < 0) {
		pid = fork();
		if (!pid)
			enter(pen->path);
	}
	if (!pid && pen->counted[0])
		enter(pen->counted);
	if (!pid)
		return 0;
	pid = pid < 0 ? -errno : pid;
	signals_release(&before);
	return pid;
}

/* ---- up and down ---- */

/*
 * Finds the pens that an earlier scnoded has left in a user's group. Their scremotes may still run,
 * and only their keepers end them.
 */
static void find_pens(struct pens *pens, const char *user)
{
	char path[PATH_SIZE];
	const struct dirent *entry;
	struct pen *pen;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/%s", pens->root, user);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, PEN_PREFIX, strlen(PEN_PREFIX)) != 0)
			continue;
		pen = new_pen(pens, user, entry->d_name);
		if (pen)
			pen_leave(pen, PEN_STAYS);
	}
	if (dir)
		closedir(dir);
}

static void find_users(struct pens *pens)
{
	const struct dirent *entry;
	DIR *dir = opendir(pens->root);

	while (dir && (entry = readdir(dir)))
		if (!strncmp(entry->d_name, USER_PREFIX, strlen(USER_PREFIX)))
			find_pens(pens, entry->d_name);
	if (dir)
		closedir(dir);
}

static void find_place(struct pens *pens, const char *parent)
{
	char mount[PATH_MAX / 8];

	if (pens->form == CGROUP_NONE ||
	    !hierarchy_root(pens->form, parent, pens->root, sizeof(pens->root))) {
		pens->root[0] = 0;
		return;
	}
	if ((pens->form == CGROUP_V1 || !limit_offer(pens->root)) &&
	    hierarchy_mount("cgroup", "pids", mount, sizeof(mount)))
		snprintf(pens->counted, sizeof(pens->counted), "%s/%s", mount, parent);
}

struct pens *pens_open(struct ev_loop *loop, enum cgroup_form form, const char *parent,
		       uint32_t tasks)
{
	struct pens *pens = calloc(1, sizeof(*pens));

	if (!pens)
		return NULL;
	pens->loop = loop;
	pens->form = form;
	pens->tasks = tasks;
	/* No later scnoded gives a number again that is still there. */
	pens->last = clock_realtime_ns();
	TAILQ_INIT(&pens->all);
	ev_init(&pens->look, look);
	pens->look.repeat = LOOK_S;
	pens->look.data = pens;
	find_place(pens, parent);
	if (pens->root[0])
		find_users(pens);
	return pens;
}

void pens_close(struct pens *pens)
{
	struct pen *pen;

	if (!pens)
		return;
	ev_timer_stop(pens->loop, &pens->look);
	while ((pen = TAILQ_FIRST(&pens->all))) {
		remove_pen(pen);
		forget(pen);
	}
	free(pens);
}
