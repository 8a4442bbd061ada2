// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scnoded/remote.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pmcore/util/clock.h"
#include "scheduler/proto/files.h"
#include "scheduler/proto/frame.h"
#include "scheduler/proto/head.h"
#include "scheduler/proto/messages_check.h"
#include "scheduler/proto/ops.h"
#include "scheduler/proto/signals.h"
#include "scheduler/scnoded/spawn.h"
#include "scheduler/scnoded/limit.h"
#include "scheduler/scnoded/errlog.h"
#include "scheduler/scnoded/agent_group.h"

#define VALUES_MAX 64 /* of a caller's message */
#define LINGER_S 1.0  /* for the answer that refuses him */

/* A caller whose request is not known yet. */
struct caller {
	TAILQ_ENTRY(caller) all;
	struct remote *remote;
	struct link *link;
	bool is_kept_off; /* by the host's lock, so far */
	ev_timer limit;
};

/* A scremote that lives. */
struct child {
	TAILQ_ENTRY(child) all;
	struct remote *remote;
	uid_t uid;
	struct agent_group *agent_group; /* NULL: there are no cgroups */
	struct errlog *errlog;
	ev_child end;
};

/* The connection of a caller, to be spoken to by a scremote. */
struct given_up {
	int fd;
	uid_t uid;
	struct seal seal;
};

struct remote {
	struct scnoded *daemon;
	TAILQ_HEAD(, caller) callers;
	size_t n_callers;
	TAILQ_HEAD(, child) children;
	struct agent_groups *agent_groups;
};

/* ---- callers ---- */

static void forget(struct caller *caller, double linger)
{
	struct remote *remote = caller->remote;

	TAILQ_REMOVE(&remote->callers, caller, all);
	remote->n_callers--;
	ev_timer_stop(remote->daemon->loop, &caller->limit);
	if (caller->link)
		link_close(caller->link, linger);
	free(caller);
}

static void say_error(struct link *link, int error, const char *text)
{
	link_send(link,
		  json_pack("{s:s, s:s, s:s}", "op", OP_ERROR, "error", strerrorname_np(error),
			    "text", text),
		  NULL, 0);
}

/* Takes the text. */
static void refuse(struct caller *caller, int error, char *text)
{
	say_error(caller->link, error, text);
	free(text);
	forget(caller, LINGER_S);
}

static void too_late(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct caller *caller = timer->data;
	const struct scnoded *d = caller->remote->daemon;

	(void)loop;
	(void)events;
	if (caller->is_kept_off)
		refuse(caller, EBUSY,
		       daemon_text("host %s is %s; msgb shows all locks", d->name,
				   d->lock_told.text));
	else
		forget(caller, 0);
}

/* ---- scremotes ---- */

static size_t count(const struct remote *remote, uid_t uid)
{
	const struct child *child;
	size_t n = 0;

	TAILQ_FOREACH(child, &remote->children, all)
		n += child->uid == uid;
	return n;
}

static void forget_child(struct child *child, bool is_cut)
{
	if (child->agent_group)
		agent_group_leave(child->agent_group,
				  is_cut ? AGENT_GROUP_GRACE_S : AGENT_GROUP_STAYS);
	errlog_close(child->errlog);
	TAILQ_REMOVE(&child->remote->children, child, all);
	free(child);
}

/*
 * One that has ended as it should has seen the ends of its commands: what these have left was meant
 * to stay.
 */
static void ended(struct ev_loop *loop, ev_child *watcher, int events)
{
	bool is_cut = !WIFEXITED(watcher->rstatus) ||
		      WEXITSTATUS(watcher->rstatus) == REMOTE_EXIT_CUT;

	(void)events;
	ev_child_stop(loop, watcher);
	forget_child(watcher->data, is_cut);
}

/*
 * A pipe in which @seal lies, so that nobody reads it on a command line or in a file. -1: there is
 * none.
 */
static int pipe_with(const struct seal *seal)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC))
		return -1;
	if (write(fds[1], seal, sizeof(*seal)) != (ssize_t)sizeof(*seal))
		fds[0] = -1;
	close(fds[1]);
	return fds[0];
}

static _Noreturn void run_child(struct spawn *spawn, char *host, const struct given_up *given,
				bool is_nice)
{
	static char name[] = "scremote", fd_option[] = "--fd", fd_number[] = "3",
		    sealed_option[] = "--sealed", host_option[] = "--host";
	char *const argv[] = {name, fd_option, fd_number, sealed_option, host_option, host, NULL};

	spawn_begin();
	spawn->in = pipe_with(&given->seal);
	if (spawn->in < 0)
		_exit(1);
	/* Its user can't take that back. Without it the command runs all the same. */
	if (is_nice)
		(void)setpriority(PRIO_PROCESS, 0, REMOTE_NICE);
	spawn_exec(spawn, argv, given->fd);
}

/* NULL; or why not, the caller's. */
static char *prepare(struct child *child, struct spawn *spawn)
{
	struct scnoded *d = child->remote->daemon;

	child->errlog = errlog_open(d->loop, child->uid, &spawn->err);
	if (!child->errlog)
		return daemon_text("host %s: no pipe for scremote: %m", d->name);
	child->agent_group = agent_group_make(child->remote->agent_groups, child->uid);
	if (!child->agent_group && errno != ENOTSUP)
		return daemon_text("host %s: no control group for scremote: %m", d->name);
	return NULL;
}

static char *start_child(struct child *child, struct spawn *spawn, const struct given_up *given)
{
	struct scnoded *d = child->remote->daemon;
	bool is_nice = child->uid && child->uid != geteuid() &&
		       !hostlock_is_of(&d->lock_told, child->uid);
	char *text = prepare(child, spawn);
	pid_t pid;

	if (text)
		return text;
	pid = child->agent_group ? agent_group_fork(child->agent_group) : signals_fork();
	if (!pid)
		run_child(spawn, d->name, given, is_nice);
	if (pid < 0)
		return daemon_text("host %s: no process for scremote: %s", d->name, strerror(-pid));
	ev_child_init(&child->end, ended, pid, 0);
	child->end.data = child;
	ev_child_start(d->loop, &child->end);
	return NULL;
}

/* NULL; or why not, the caller's. */
static char *fork_for(struct remote *remote, struct spawn *spawn, const struct given_up *given)
{
	struct child *child = calloc(1, sizeof(*child));
	char *text;

	if (!child)
		return daemon_text("host %s: no memory", remote->daemon->name);
	child->remote = remote;
	child->uid = given->uid;
	TAILQ_INSERT_TAIL(&remote->children, child, all);
	text = start_child(child, spawn, given);
	if (spawn->err >= 0)
		close(spawn->err);
	if (text)
		forget_child(child, true);
	return text;
}

/* A caller that does not hear it has gone. */
static void refuse_socket(struct remote *remote, const struct given_up *given, char *text)
{
	static const struct link_events nothing;
	struct link *link = link_take_over(remote->daemon->loop, given->fd, given->uid,
					   &given->seal, &nothing, NULL);

	if (link) {
		say_error(link, EAGAIN, text);
		link_close(link, LINGER_S);
	}
	free(text);
}

static void hand_over(struct caller *caller, struct spawn *spawn)
{
	struct remote *remote = caller->remote;
	struct given_up given = {.uid = link_uid(caller->link)};
	char *text;

	given.fd = link_give_up(caller->link, &given.seal);
	if (given.fd < 0) {
		refuse(caller, EPROTO,
		       daemon_text("remote: something was sent before the answer has come"));
		return;
	}
	caller->link = NULL;
	forget(caller, 0);
	text = fork_for(remote, spawn, &given);
	if (text)
		refuse_socket(remote, &given, text);
	else
		close(given.fd);
	seal_forget(&given.seal);
}

/* ---- what a caller wants ---- */

/* He waits for a moment, and is refused then, or started after all. */
static void keep_off(struct caller *caller)
{
	struct ev_loop *loop = caller->remote->daemon->loop;

	if (caller->is_kept_off)
		return;
	caller->is_kept_off = true;
	ev_timer_stop(loop, &caller->limit);
	ev_timer_set(&caller->limit, REMOTE_LOCK_S, 0.);
	ev_timer_start(loop, &caller->limit);
}

static void start(struct caller *caller)
{
	const struct scnoded *d = caller->remote->daemon;
	uid_t uid = link_uid(caller->link);
	struct spawn spawn;
	char *text;

	if (hostlock_keeps_off(&d->lock_told, uid, awake_now(&d->awake, clock_monotonic_ns()))) {
		keep_off(caller);
		return;
	}

	if (d->options.has_no_remote) {
		refuse(caller, EPERM,
		       daemon_text("host %s: its scnoded starts nothing for scout (--no-remote); "
				   "use scout -rsh ssh",
				   d->name));
		return;
	}
	if (count(caller->remote, uid) >= REMOTE_USER_MAX) {
		refuse(caller, EAGAIN,
		       daemon_text("host %s: %d scouts of user %u are there already; end some",
				   d->name, REMOTE_USER_MAX, uid));
		return;
	}
	text = spawn_prepare(&spawn, d, "scremote", d->options.scremote, uid, SPAWN_USUAL_GROUP,
			     "commands");
	if (text)
		refuse(caller, geteuid() && uid != geteuid() ? EPERM : ENOENT, text);
	else
		hand_over(caller, &spawn);
	spawn_fini(&spawn);
}

static void message(struct link *link, const char *op, json_t *head, const char *body, size_t size,
		    void *owner)
{
	struct caller *caller = owner;
	char why[256];

	(void)body;
	(void)size;
	if (!strcmp(link_role(link), "scout") &&
	    messages_check(MESSAGES_SCOUT_TO_SCNODED, head, why, sizeof(why)) == ON_REMOTE)
		start(caller);
	else
		refuse(caller, EPROTO,
		       daemon_text("host %s: its scnoded has nothing to tell a \"%s\" who says "
				   "\"%.*s\"; both sides must be of one version of OpenSCore",
				   caller->remote->daemon->name, link_role(link),
				   head_cut(op, HEAD_OP_SHOWN), op));
}

static void closed(struct link *link, int error, const char *why, void *owner)
{
	struct caller *caller = owner;

	(void)link;
	(void)error;
	(void)why;
	caller->link = NULL;
	forget(caller, 0);
}

static const struct link_events events = {.message = message, .closed = closed};

void remote_caller(struct remote *remote, struct link *link)
{
	struct scnoded *d = remote->daemon;
	struct caller *caller = calloc(1, sizeof(*caller));

	if (!caller) {
		link_close(link, 0);
		return;
	}
	/* Honest ones say it at once: whoever comes last has the best chance to be one. */
	if (remote->n_callers && files_full(remote->n_callers, REMOTE_CALLERS_MAX))
		forget(TAILQ_FIRST(&remote->callers), 0);
	caller->remote = remote;
	TAILQ_INSERT_TAIL(&remote->callers, caller, all);
	remote->n_callers++;
	ev_timer_init(&caller->limit, too_late, REMOTE_SAY_S, 0.);
	caller->limit.data = caller;
	ev_timer_start(d->loop, &caller->limit);
	caller->link = link;
	link_limit(link, FRAME_MAX_STRANGER, VALUES_MAX, NULL);
	link_set(link, &events, caller);
}

void remote_look(struct remote *remote)
{
	struct caller *caller, *next;

	for (caller = TAILQ_FIRST(&remote->callers); caller; caller = next) {
		next = TAILQ_NEXT(caller, all);
		if (caller->is_kept_off)
			start(caller);
	}
}

/* ---- up and down ---- */

struct remote *remote_open(struct scnoded *d)
{
	struct remote *remote = calloc(1, sizeof(*remote));

	if (!remote)
		return NULL;
	remote->daemon = d;
	TAILQ_INIT(&remote->callers);
	TAILQ_INIT(&remote->children);
	remote->agent_groups = agent_groups_open(d->loop, d->form, d->options.cgroup,
						 limit_of(d->options.n_processes, 0));
	if (!remote->agent_groups) {
		free(remote);
		return NULL;
	}
	return remote;
}

void remote_end_all(struct remote *remote)
{
	const struct child *child;

	TAILQ_FOREACH(child, &remote->children, all)
		kill(child->end.pid, SIGTERM);
	agent_groups_end(remote->agent_groups);
}

void remote_close(struct remote *remote)
{
	struct child *child;

	if (!remote)
		return;
	while (!TAILQ_EMPTY(&remote->callers))
		forget(TAILQ_FIRST(&remote->callers), 0);
	while ((child = TAILQ_FIRST(&remote->children))) {
		ev_child_stop(remote->daemon->loop, &child->end);
		forget_child(child, false);
	}
	agent_groups_close(remote->agent_groups);
	free(remote);
}
