/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * control_world - what stands around control.c in tests of it: a daemon with one step, whose
 * scstepd is the test. Links, control groups, steps and the link to scored are fakes. The socket
 * for scstepds that come back is real. The clock stands still.
 */
#ifndef TESTS_UNIT_SCHEDULER_SCNODED_CONTROL_WORLD_H
#define TESTS_UNIT_SCHEDULER_SCNODED_CONTROL_WORLD_H

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scheduler/proto/head.h"
#include "scheduler/proto/ops.h"
#include "scheduler/scnoded/control.h"
#include "scheduler/scnoded/images.h"
#include "scheduler/scnoded/parted.h"
#include "scheduler/scnoded/steps.h"
#include "scheduler/scnoded/uplink.h"
#include "tests/harness/stillclock.h"
#include "tests/harness/tap.h"

#define JOB 7
#define FIRST_PID 1000 /* of the job */
#define N_PIDS 3
#define LINKS 4

struct link {
	const struct link_events *events;
	void *owner;
	int fd;
	uid_t uid;
	bool is_closed, is_full;
};

static struct world {
	struct scnoded d;
	struct step step;
	struct order order;
	struct link links[LINKS];
	size_t n_links;
	bool has_no_memory; /* for links */
	int first_fd;       /* that was free before */
	char run[64];
	/* Calls of the other parts, in order. */
	char put[64];    /* pids */
	size_t n_put;    /* the same, counted */
	int put_error;   /* of the next; 0: it works */
	char sent[500];  /* to scstepd */
	char told[1200]; /* to scored */
	char said[300];  /* in the log */
	char left[200];  /* why the step is ended */
	size_t n_kills, n_awaited, n_returns, n_invited, n_announced, n_parted;
	void (*woken)(struct step *step); /* of the last that has parted */
	bool is_dumped;                   /* just now */
	bool is_alive;                    /* some rank */
} w;

static void note(char *to, size_t size, const char *format, ...)
{
	size_t used = strlen(to);
	va_list args;

	va_start(args, format);
	vsnprintf(to + used, size - used, format, args);
	va_end(args);
}

#define NOTE(to, ...) note(w.to, sizeof(w.to), __VA_ARGS__)

/* ---- the daemon's other parts ---- */

void daemon_say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(w.said, sizeof(w.said), format, args);
	va_end(args);
}

char *daemon_text(const char *format, ...)
{
	char *text = NULL;
	va_list args;

	va_start(args, format);
	ok(vasprintf(&text, format, args) >= 0);
	va_end(args);
	return text;
}

struct link *link_local(struct ev_loop *loop, int fd, uid_t uid, const struct link_events *events,
			void *owner)
{
	struct link *link = &w.links[w.n_links];

	ok(loop == w.d.loop && w.n_links < LINKS);
	if (w.has_no_memory) {
		close(fd);
		return NULL;
	}
	w.n_links++;
	*link = (struct link){.events = events, .owner = owner, .fd = fd, .uid = uid};
	return link;
}

void link_set(struct link *link, const struct link_events *events, void *owner)
{
	link->events = events;
	link->owner = owner;
}

void link_close(struct link *link, double linger_s)
{
	(void)linger_s;
	ok(!link->is_closed);
	link->is_closed = true;
	close(link->fd);
}

int link_send(struct link *link, json_t *head, const void *body, size_t body_size)
{
	(void)body, (void)body_size;
	ok(link && link == w.step.control && !link->is_closed);
	NOTE(sent, "%s", json_string_value(json_object_get(head, "op")));
	if (json_object_get(head, "text"))
		NOTE(sent, " %s: %s", head_text(head, "error"),
		     json_string_value(json_object_get(head, "text")));
	NOTE(sent, ";");
	json_decref(head);
	return 0;
}

bool link_is_full(const struct link *link)
{
	return link->is_full;
}

ssize_t cgroup_pids(const struct cgroup *group, pid_t **pids)
{
	ok(group == w.step.group);
	*pids = calloc(N_PIDS, sizeof(**pids));
	for (int i = 0; *pids && i < N_PIDS; i++)
		(*pids)[i] = FIRST_PID + i;
	return *pids ? N_PIDS : -ENOMEM;
}

/* A process of another namespace is listed as 0; in a container the first one may be there. */
bool cgroup_has(const pid_t *pids, size_t n, pid_t pid)
{
	is_int(n, N_PIDS);
	return pid <= 1 || (pid >= pids[0] && pid <= pids[n - 1]);
}

int cgroup_put_rank(struct cgroup *group, pid_t pid)
{
	ok(group == w.step.group);
	if (w.put_error)
		return w.put_error;
	NOTE(put, "%d;", (int)pid);
	w.n_put++;
	return 0;
}

int cgroup_kill(struct cgroup *group)
{
	ok(group == w.step.group);
	w.n_kills++;
	return 0;
}

bool cgroup_is_empty(const struct cgroup *group)
{
	ok(group == w.step.group);
	return !w.is_alive;
}

struct step *steps_find(const struct scnoded *d, uint64_t id)
{
	struct step *step;

	TAILQ_FOREACH(step, &d->steps, all)
		if (step->id == id)
			return step;
	return NULL;
}

void steps_tie(struct step *step, struct link *link)
{
	if (step->control)
		link_close(step->control, 0);
	step->control = link;
}

void steps_invite(const struct step *step)
{
	ok(step == &w.step && step->control);
	w.n_invited++;
}

void parted_announced(struct step *step, const json_t *head)
{
	ok(step == &w.step);
	is_int(json_array_size(json_object_get(head, "ranks")), 1);
	w.n_announced++;
	step->parted = (struct parted *)&w;
}

void parted_closed(struct step *step, void (*woken)(struct step *step))
{
	ok(step == &w.step && step->parted && !step->control);
	w.woken = woken;
	w.n_parted++;
}

json_t *parted_back(struct step *step)
{
	json_t *head = w.is_dumped ? NULL : json_pack("{s:s}", "op", OP_REJOINED);

	if (!head)
		return NULL;
	if (step->parted)
		json_object_set_new(head, "text", json_string("found"));
	step->parted = NULL;
	return head;
}

void images_missed(struct step *step, const char *why)
{
	ok(step == &w.step && (!why || !strcmp(why, "found")));
}

void steps_leave(struct step *step, const char *text)
{
	if (!step->is_leaving)
		NOTE(left, "%s;", text ? text : "no reason");
	step->is_leaving = true;
}

void steps_await_return(struct step *step)
{
	ok(step == &w.step);
	w.n_returns++;
}

void steps_await_end(struct step *step)
{
	ok(step == &w.step);
	w.n_awaited++;
}

void uplink_tell_started(struct scnoded *d, uint64_t id)
{
	ok(d == &w.d);
	NOTE(told, "started %d;", (int)id);
}

void uplink_tell_failed(struct scnoded *d, uint64_t id, int code, const char *text)
{
	ok(d == &w.d);
	NOTE(told, "failed %d %d %s;", (int)id, code, text);
}

void uplink_tell_ended(struct scnoded *d, uint64_t id, int code, const char *text)
{
	ok(d == &w.d);
	NOTE(told, "ended %d %d %s;", (int)id, code, text);
}

void uplink_tell_migrated(struct scnoded *d, uint64_t id, uint64_t serial, bool is_changed,
			  const char *text, double stood_s)
{
	ok(d == &w.d);
	NOTE(told, "migrated %d %d %d %.3f %s;", (int)id, (int)serial, is_changed, stood_s, text);
}

/* ---- the scstepd ---- */

static void pass(double seconds)
{
	stillclock_ns += (uint64_t)(seconds * 1e9);
	ev_run(w.d.loop, EVRUN_NOWAIT);
}

static int free_fd(void)
{
	int fd = dup(0);

	close(fd);
	return fd;
}

/* A step on the leader's host whose scstepd is this process. */
static void begin_alone(void)
{
	memset(&w, 0, sizeof(w));
	strcpy(w.run, "/tmp/control_test.XXXXXX");
	ok(mkdtemp(w.run) != NULL);
	w.d = (struct scnoded){.loop = ev_loop_new(EVFLAG_AUTO), .name = "n1", .rejoin_fd = -1};
	w.d.options.run = w.run;
	/* The loop opens its own descriptors when it runs. */
	ev_run(w.d.loop, EVRUN_NOWAIT);
	w.first_fd = free_fd();
	TAILQ_INIT(&w.d.steps);
	w.order.uid = getuid();
	w.step = (struct step){.daemon = &w.d,
			       .id = JOB,
			       .order = &w.order,
			       .pid = getpid(),
			       .group = (struct cgroup *)&w.put};
	TAILQ_INSERT_TAIL(&w.d.steps, &w.step, all);
	control_init(&w.step);
	is_int(control_open(&w.d), 0);
}

static void begin(void)
{
	begin_alone();
	control_tie(&w.step, dup(0));
	ok(w.step.control == &w.links[0]);
	is_int(w.links[0].uid, getuid());
}

static void they_close(struct link *link, int error)
{
	link->is_closed = true;
	link->events->closed(link, error, "that is why", link->owner);
	close(link->fd);
}

static void finish(void)
{
	for (size_t i = 0; i < w.n_links; i++)
		if (!w.links[i].is_closed)
			they_close(&w.links[i], 0);
	control_close(&w.d);
	is_int(free_fd(), w.first_fd);
	ev_timer_stop(w.d.loop, &w.step.killing);
	/* No watcher is left. */
	ok(!ev_run(w.d.loop, EVRUN_NOWAIT));
	ev_loop_destroy(w.d.loop);
	/* Nor is the socket. */
	is_int(rmdir(w.run), 0);
}

static void says_at(struct link *link, const char *text)
{
	json_t *head = json_loads(text, 0, NULL);

	ok(head != NULL);
	link->events->message(link, json_string_value(json_object_get(head, "op")), head, "", 0,
			      link->owner);
	json_decref(head);
}

static void says(const char *text)
{
	says_at(w.step.control, text);
}

#endif
