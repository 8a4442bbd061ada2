// SPDX-License-Identifier: BSD-3-Clause
/*
 * remote: callers by connections that the test plays, and scremotes that are children of it. The
 * clock stands still until the test moves it.
 */
#include "scheduler/scnoded/remote.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pmcore/util/clock.h"
#include "scheduler/proto/files.h"
#include "scheduler/proto/ops.h"
#include "scheduler/scnoded/spawn.h"
#include "scheduler/scnoded/errlog.h"
#include "scheduler/scnoded/agent_group.h"
#include "tests/harness/stillclock.h"
#include "tests/harness/tap.h"

#define USER 1000
#define CALLERS 10

/* One caller. */
struct link {
	const struct link_events *events;
	void *owner;
	uid_t uid;
	const char *role;
	bool is_closed;
	double linger_s;
	size_t frame, values; /* its limits */
	char error[32], text[300];
};

static struct world {
	struct scnoded d;
	struct link callers[CALLERS],
		taken;  /* taken: a connection that was given up, and refused */
	int give_up_rc; /* 0: a socket */
	const char *spawn_failure;
	int agent_group_errno; /* 0: there are agent groups */
	unsigned int n_spawned, n_left, n_errlogs;
	double grace_s; /* of the last agent group that was left */
	bool lives;     /* the scremote, until it is killed */
	int code;       /* that it exits with */
	pid_t pid;      /* of the last one in an agent group */
	int told[2];    /* by the scremote: what it was born with */
} w;

/* ---- connections ---- */

void link_set(struct link *link, const struct link_events *events, void *owner)
{
	link->events = events;
	link->owner = owner;
}

void link_limit(struct link *link, size_t frame, size_t values, struct link_quota *quota)
{
	link->frame = frame;
	link->values = values;
}

int link_send(struct link *link, json_t *head, const void *body, size_t size)
{
	is_str(json_string_value(json_object_get(head, "op")), OP_ERROR);
	snprintf(link->error, sizeof(link->error), "%s",
		 json_string_value(json_object_get(head, "error")));
	snprintf(link->text, sizeof(link->text), "%s",
		 json_string_value(json_object_get(head, "text")));
	json_decref(head);
	return 0;
}

void link_close(struct link *link, double linger_s)
{
	ok(!link->is_closed);
	link->is_closed = true;
	link->linger_s = linger_s;
}

uid_t link_uid(const struct link *link)
{
	return link->uid;
}

const char *link_role(const struct link *link)
{
	return link->role;
}

int link_give_up(struct link *link, struct seal *seal)
{
	if (w.give_up_rc)
		return w.give_up_rc;
	memset(seal, 's', sizeof(*seal));
	seal->is_open = true;
	seal->is_ended = false;
	link->is_closed = true;
	return open("/dev/null", O_RDWR | O_CLOEXEC);
}

struct link *link_take_over(struct ev_loop *loop, int fd, uid_t uid, const struct seal *seal,
			    const struct link_events *events, void *owner)
{
	is_int(seal->pull_key[0], 's');
	ok(seal->is_open && !seal->is_ended);
	close(fd);
	w.taken.uid = uid;
	return &w.taken;
}

/* ---- agent groups, spawns and last words ---- */

struct agent_groups *agent_groups_open(struct ev_loop *loop, enum cgroup_form form,
				       const char *parent, uint32_t tasks)
{
	return (struct agent_groups *)&w;
}

void agent_groups_close(struct agent_groups *agent_groups)
{
}

void agent_groups_end(struct agent_groups *agent_groups)
{
}

struct agent_group *agent_group_make(struct agent_groups *agent_groups, uid_t uid)
{
	errno = w.agent_group_errno;
	return w.agent_group_errno ? NULL : (struct agent_group *)&w;
}

pid_t agent_group_fork(const struct agent_group *agent_group)
{
	w.pid = fork();
	return w.pid;
}

void agent_group_leave(struct agent_group *agent_group, double grace_s)
{
	w.n_left++;
	w.grace_s = grace_s;
}

struct errlog *errlog_open(struct ev_loop *loop, uid_t uid, int *ret_end)
{
	w.n_errlogs++;
	*ret_end = open("/dev/null", O_WRONLY | O_CLOEXEC);
	return (struct errlog *)&w;
}

void errlog_close(struct errlog *errlog)
{
	w.n_errlogs--;
}

char *spawn_prepare(struct spawn *ret, const struct scnoded *d, const char *name, const char *said,
		    uid_t uid, gid_t gid, const char *what)
{
	is_str(name, "scremote");
	*ret = (struct spawn){.uid = uid, .in = -1, .err = -1};
	w.n_spawned++;
	return w.spawn_failure ? strdup(w.spawn_failure) : NULL;
}

void spawn_fini(struct spawn *spawn)
{
}

void spawn_begin(void)
{
}

/* In the child: tells its arguments, its seal, and whether it is nice. */
void spawn_exec(const struct spawn *spawn, char *const *argv, int fd)
{
	char seal[sizeof(struct seal) + 1];
	ssize_t n = read(spawn->in, seal, sizeof(seal));
	char text[200];
	int size;

	size = snprintf(text, sizeof(text), "%s %s %s %s %s %s, seal %s, nice %d, fd %s", argv[0],
			argv[1], argv[2], argv[3], argv[4], argv[5],
			n == (ssize_t)sizeof(struct seal) && seal[0] == 's' ? "well" : "broken",
			getpriority(PRIO_PROCESS, 0), fcntl(fd, F_GETFD) < 0 ? "none" : "there");
	if (write(w.told[1], text, (size_t)size) != size)
		_exit(1);
	while (w.lives)
		pause();
	_exit(w.code);
}

/* ---- the daemon ---- */

static void begin(void)
{
	memset(&w, 0, sizeof(w));
	ok(!pipe2(w.told, O_CLOEXEC));
	w.d.loop = ev_default_loop(EVFLAG_AUTO);
	w.d.options.cgroup = "score";
	snprintf(w.d.name, sizeof(w.d.name), "n1");
	awake_begin(&w.d.awake, clock_monotonic_ns(), 1);
	w.d.remote = remote_open(&w.d);
	ok(w.d.remote != NULL);
}

static void finish(void)
{
	remote_close(w.d.remote);
	is_int(w.n_errlogs, 0);
	for (size_t i = 0; i < CALLERS; i++)
		ok(!w.callers[i].role || w.callers[i].is_closed);
	close(w.told[0]);
	close(w.told[1]);
}

static void pass(double seconds)
{
	ev_now_update(w.d.loop);
	stillclock_ns += (uint64_t)(seconds * 1e9);
	for (int i = 0; i < 3; i++)
		ev_run(w.d.loop, EVRUN_NOWAIT);
}

static struct link *comes(size_t i, uid_t uid)
{
	struct link *link = &w.callers[i];

	*link = (struct link){.uid = uid, .role = "scout"};
	/* Its time begins now. */
	ev_now_update(w.d.loop);
	remote_caller(w.d.remote, link);
	return link;
}

static void says(struct link *link, const char *op)
{
	json_t *head = json_pack("{s:s}", "op", op);

	link->events->message(link, op, head, "", 0, link->owner);
	json_decref(head);
}

static void is_refused(const struct link *link, const char *error, const char *text)
{
	is_str(link->error, error);
	is_str(link->text, text);
	ok(link->is_closed || link == &w.taken);
	/* The answer is to arrive. */
	ok(link->linger_s > 0);
}

/* The words of the scremote about its spawn. */
static const char *born(void)
{
	static char text[200];
	ssize_t n = read(w.told[0], text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	return text;
}

static void lock(bool is_held)
{
	json_t *head = is_held ? json_pack("{s:i, s:s}", "uid", USER + 1, "text", "locked by ann")
			       : json_object();

	is_int(hostlock_take(&w.d.lock_told, head), 0);
	json_decref(head);
}

/* ---- callers ---- */

TAP_TEST(remote_caller__says_nothing)
{
	struct link *first, *second;

	begin();
	first = comes(0, USER);
	ok(first->frame > 0 && first->values > 0);
	pass(2);
	second = comes(1, USER);
	pass(REMOTE_SAY_S - 2.01);
	ok(!first->is_closed);
	pass(0.02);
	ok(first->is_closed && !second->is_closed);
	is_str(first->error, "");
	pass(2);
	ok(second->is_closed);
	finish();
}

TAP_TEST(remote_caller__hangs_up)
{
	struct link *link;

	begin();
	link = comes(0, USER);
	link->events->closed(link, 0, "gone", link->owner);
	link->is_closed = true;
	pass(REMOTE_SAY_S + 1);
	finish();
}

TAP_TEST(remote_caller__crowd)
{
	struct rlimit usual, few;

	begin();
	must(!getrlimit(RLIMIT_NOFILE, &usual));
	few = (struct rlimit){4 * FILES_PARTS, usual.rlim_max};
	must(!setrlimit(RLIMIT_NOFILE, &few));
	/* Those that have gone leave their places. */
	for (size_t i = 5; i < 9; i++) {
		struct link *link = comes(i, USER);

		link->events->closed(link, 0, "gone", link->owner);
		link->is_closed = true;
	}
	for (size_t i = 0; i < 4; i++)
		comes(i, USER);
	ok(!w.callers[0].is_closed);
	comes(4, USER);
	ok(w.callers[0].is_closed);
	for (size_t i = 1; i < 5; i++)
		ok(!w.callers[i].is_closed);
	setrlimit(RLIMIT_NOFILE, &usual);
	finish();
}

TAP_TEST(remote_caller__another_request)
{
	struct link *link;

	begin();
	link = comes(0, USER);
	says(link, OP_ATTACH);
	is_str(link->error, "EPROTO");
	ok(strstr(link->text, "nothing to tell a \"scout\" who says \"attach\"") != NULL);
	link = comes(1, USER);
	link->role = "tool";
	says(link, OP_REMOTE);
	is_str(link->error, "EPROTO");
	is_int(w.n_spawned, 0);
	finish();
}

TAP_TEST(remote__not_here)
{
	struct link *link;

	begin();
	w.d.options.has_no_remote = true;
	link = comes(0, USER);
	says(link, OP_REMOTE);
	is_refused(link, "EPERM",
		   "host n1: its scnoded starts nothing for scout (--no-remote); "
		   "use scout -rsh ssh");
	finish();
}

/* ---- a host that is locked ---- */

TAP_TEST(remote__kept_off_by_a_lock)
{
	struct link *link;

	begin();
	lock(true);
	link = comes(0, USER);
	/* Its own time for words is over by then, and does not count any more. */
	pass(REMOTE_SAY_S - 0.5);
	says(link, OP_REMOTE);
	pass(REMOTE_LOCK_S - 0.01);
	ok(!link->is_closed);
	/* Asking again gives no more time. */
	says(link, OP_REMOTE);
	pass(0.02);
	is_refused(link, "EBUSY", "host n1 is locked by ann; msgb shows all locks");
	is_int(w.n_spawned, 0);
	finish();
}

TAP_TEST(remote_look__the_lock_is_over)
{
	struct link *kept, *silent;

	begin();
	lock(true);
	kept = comes(0, USER);
	silent = comes(1, USER);
	says(kept, OP_REMOTE);
	remote_look(w.d.remote);
	is_int(w.n_spawned, 0);
	lock(false);
	remote_look(w.d.remote);
	is_int(w.n_spawned, 1);
	ok(strstr(born(), "scremote") != NULL);
	ok(kept->is_closed && !silent->is_closed);
	while (!w.n_left)
		ev_run(w.d.loop, EVRUN_ONCE);
	finish();
}

/* ---- scremotes ---- */

/* The user who has the host alone is as fast as jobs are; root and our own user always are. */
static int nice_of(uid_t uid, bool is_locked)
{
	const char *nice;
	struct link *link;

	begin();
	lock(is_locked);
	link = comes(0, uid);
	says(link, OP_REMOTE);
	nice = strstr(born(), "nice ");
	while (!w.n_left)
		ev_run(w.d.loop, EVRUN_ONCE);
	finish();
	return nice ? atoi(nice + 5) : -1;
}

TAP_TEST(remote__who_is_nice)
{
	int ours = getpriority(PRIO_PROCESS, 0);

	is_int(nice_of(USER, false), REMOTE_NICE);
	is_int(nice_of(USER + 1, true), ours);
	is_int(nice_of(0, true), ours);
	is_int(nice_of(geteuid(), false), ours);
}

TAP_TEST(remote__scremote_has_the_connection_and_its_seal)
{
	struct link *link;
	const char *text;

	begin();
	link = comes(0, USER);
	says(link, OP_REMOTE);
	text = born();
	okf(strstr(text, "scremote --fd 3 --sealed --host n1, seal well") == text, "%s", text);
	okf(strstr(text, "fd there") != NULL, "%s", text);
	is_str(link->error, "");
	/* It has ended as it should: its commands' children stay. */
	while (!w.n_left)
		ev_run(w.d.loop, EVRUN_ONCE);
	ok(w.grace_s == AGENT_GROUP_STAYS);
	is_int(w.n_errlogs, 0);
	finish();
}

/* Then all that its commands have started ends, too. */
TAP_TEST(remote__scremote_that_is_cut)
{
	begin();
	w.lives = true;
	says(comes(0, USER), OP_REMOTE);
	born();
	remote_end_all(w.d.remote);
	while (!w.n_left)
		ev_run(w.d.loop, EVRUN_ONCE);
	ok(w.grace_s == AGENT_GROUP_GRACE_S);
	w.lives = false;
	w.code = REMOTE_EXIT_CUT;
	says(comes(1, USER), OP_REMOTE);
	while (w.n_left < 2)
		ev_run(w.d.loop, EVRUN_ONCE);
	ok(w.grace_s == AGENT_GROUP_GRACE_S);
	w.code = 1;
	says(comes(2, USER), OP_REMOTE);
	while (w.n_left < 3)
		ev_run(w.d.loop, EVRUN_ONCE);
	ok(w.grace_s == AGENT_GROUP_STAYS);
	finish();
}

/* Those that live go on without this scnoded. */
TAP_TEST(remote_close__scremotes_stay)
{
	begin();
	w.lives = true;
	says(comes(0, USER), OP_REMOTE);
	born();
	finish();
	is_int(w.n_left, 1);
	ok(w.grace_s == AGENT_GROUP_STAYS);
	must(!kill(w.pid, 0));
	kill(w.pid, SIGKILL);
	is_int(waitpid(w.pid, NULL, 0), w.pid);
}

TAP_TEST(remote__too_many_of_one_user)
{
	struct link *link;

	begin();
	for (int i = 0; i < REMOTE_USER_MAX; i++)
		says(comes(0, USER), OP_REMOTE);
	link = comes(1, USER);
	says(link, OP_REMOTE);
	is_refused(link, "EAGAIN", "host n1: 64 scouts of user 1000 are there already; end some");
	/* Others are not meant. */
	link = comes(2, USER + 1);
	says(link, OP_REMOTE);
	is_str(link->error, "");
	while (w.n_left < REMOTE_USER_MAX + 1)
		ev_run(w.d.loop, EVRUN_ONCE);
	link = comes(3, USER);
	says(link, OP_REMOTE);
	is_str(link->error, "");
	while (w.n_left < REMOTE_USER_MAX + 2)
		ev_run(w.d.loop, EVRUN_ONCE);
	finish();
}

TAP_TEST(remote__scremote_that_cannot_be_born)
{
	struct link *link;

	begin();
	w.spawn_failure = "host n1: no scremote";
	link = comes(0, USER);
	says(link, OP_REMOTE);
	is_refused(link, geteuid() ? "EPERM" : "ENOENT", "host n1: no scremote");
	w.spawn_failure = NULL;
	w.give_up_rc = -EBUSY;
	link = comes(1, USER);
	says(link, OP_REMOTE);
	is_refused(link, "EPROTO", "remote: something was sent before the answer has come");
	w.give_up_rc = 0;
	w.agent_group_errno = ENOSPC;
	says(comes(2, USER), OP_REMOTE);
	is_refused(&w.taken, "EAGAIN",
		   "host n1: no control group for scremote: No space left on device");
	is_int(w.taken.uid, USER);
	is_int(w.n_errlogs, 0);
	finish();
}

TAP_TEST(remote__host_without_control_groups)
{
	begin();
	w.agent_group_errno = ENOTSUP;
	says(comes(0, USER), OP_REMOTE);
	ok(strstr(born(), "seal well") != NULL);
	while (w.n_errlogs)
		ev_run(w.d.loop, EVRUN_ONCE);
	is_int(w.n_left, 0);
	finish();
}
