/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * control_world - what stands around control.c in tests of it. The test is scnoded, over a
 * socketpair or over its socket in the file system. The parts of the step write down what they are
 * told. The clock stands still until the test moves it. For one file of a test program.
 */
#ifndef TESTS_UNIT_SCHEDULER_SCSTEPD_CONTROL_WORLD_H
#define TESTS_UNIT_SCHEDULER_SCSTEPD_CONTROL_WORLD_H

#include "scheduler/scstepd/control.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "scheduler/proto/acceptor.h"
#include "scheduler/proto/files.h"
#include "scheduler/proto/head.h"
#include "scheduler/proto/link.h"
#include "scheduler/proto/ops.h"
#include "scheduler/scstepd/course.h"
#include "scheduler/scstepd/leader.h"
#include "scheduler/scstepd/standstill.h"
#include "tests/harness/munged.h"
#include "tests/harness/stillclock.h"
#include "tests/unit/scheduler/scstepd/fake_step.h"

#define NOBODY 65534
#define TRIES 15 /* to reach scnoded anew */
#define SCNODED 0

static struct {
	struct link *scnoded; /* its side */
	struct world second;
	struct rank ranks[3];
	unsigned int n_orders, n_stops, n_killed, n_signals, n_notes, n_callers, n_returned,
		n_asked;
	char adopted[200]; /* "0 1:why ": what course_adopted() was told */
	int code, signo;
	char text[600], role[32], devices[64];
	char dir[64], tmpdir[96];
	int listener;
	struct link *caller;
	unsigned int n_greeted;
	ev_prepare tick;
} t;

void course_order(struct step *step, json_t *head)
{
	t.n_orders += json_is_object(json_object_get(head, "order"));
}

void course_adopted(struct step *step, uint32_t world, const char *failure)
{
	size_t used = strlen(t.adopted);

	snprintf(t.adopted + used, sizeof(t.adopted) - used, "%u%s%s ", world, failure ? ":" : "",
		 failure ? failure : "");
}

void standstill_ask(struct standstill *standstill, const json_t *head)
{
	t.n_asked++;
	snprintf(t.devices, sizeof(t.devices), "%s", head_text(head, "devices"));
}

int standstill_moved(struct standstill *standstill, uint32_t incarnation, const char *devices)
{
	return 0;
}

void course_returned(struct step *step, const char *why)
{
	t.n_returned++;
	snprintf(t.text, sizeof(t.text), "%s", why ? why : "well");
}

void course_caller(struct step *step, struct link *link)
{
	t.n_callers++;
	snprintf(t.role, sizeof(t.role), "%s", link_role(link));
	link_close(link, 0);
}

void course_stop(struct step *step, int code, const char *text)
{
	t.n_stops++;
	t.code = code;
	snprintf(t.text, sizeof(t.text), "%s", text);
}

void step_killed(struct step *step)
{
	t.n_killed++;
}

void leader_signal(struct leader *leader, int signo)
{
	t.n_signals++;
	t.signo = signo;
}

bool leader_told(struct leader *leader, const char *op, size_t from, const json_t *head,
		 const char *body, size_t size)
{
	t.n_notes += !strcmp(op, OP_NOTE) && from == fake.step.here;
	return true;
}

size_t ranks_count(const struct ranks *ranks)
{
	return sizeof(t.ranks) / sizeof(*t.ranks);
}

struct rank *ranks_at(const struct ranks *ranks, size_t i)
{
	return &t.ranks[i];
}

/* ---- scnoded ---- */

static inline void hear(struct link *link, const char *op, json_t *head, const char *body,
			size_t size, void *owner)
{
	fake_keep(SCNODED, json_incref(head), body, size);
}

static inline void hung_up(struct link *link, int error, const char *why, void *owner)
{
	t.scnoded = NULL;
}

static const struct link_events scnoded_events = {.message = hear, .closed = hung_up};

/* Timers of no time at all are due when the clock has moved. */
static inline void on_tick(struct ev_loop *loop, ev_prepare *watcher, int events)
{
	stillclock_ns++;
}

static inline void begin(void)
{
	int fds[2];

	memset(&t, 0, sizeof(t));
	t.listener = -1;
	fake_open(2, 1);
	ev_prepare_init(&t.tick, on_tick);
	ev_prepare_start(fake.step.loop, &t.tick);
	t.second.number = 1;
	for (uint32_t i = 0; i < 3; i++)
		t.ranks[i] =
			(struct rank){.world = i < 2 ? worlds_get(&fake.step.worlds, 0) : &t.second,
				      .pid = (pid_t)(100 + i)};
	snprintf(t.dir, sizeof(t.dir), "/tmp/control-test-XXXXXX");
	must(mkdtemp(t.dir));
	snprintf(t.tmpdir, sizeof(t.tmpdir), "%s/jobs/70000/tmp", t.dir);
	fake.step.tmpdir = t.tmpdir;
	must(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds));
	fake.step.control = control_open(&fake.step, fds[0]);
	t.scnoded = link_local(fake.step.loop, fds[1], 0, &scnoded_events, NULL);
	ok(fake.step.control && t.scnoded);
}

static inline void finish(void)
{
	char path[96];

	control_close(fake.step.control);
	if (t.scnoded)
		link_close(t.scnoded, 0);
	if (t.listener >= 0)
		close(t.listener);
	snprintf(path, sizeof(path), "%s/scnoded.sock", t.dir);
	unlink(path);
	rmdir(t.dir);
	fake_turn();
	auth_close(fake.step.auth);
	ok(!fake.first);
	fake_close();
}

static inline void says(const char *text)
{
	is_int(link_send(t.scnoded, json_loads(text, 0, NULL), NULL, 0), 0);
	fake_turn();
}

static inline void pass(double seconds)
{
	stillclock_ns += (uint64_t)(seconds * 1e9);
	fake_turn();
}

static inline void scnoded_goes(void)
{
	link_close(t.scnoded, 0);
	t.scnoded = NULL;
	fake_turn();
}

#endif
