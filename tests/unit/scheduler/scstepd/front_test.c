// SPDX-License-Identifier: BSD-3-Clause
/* front over a socketpair: scrun attaches to its own job alone, and waits for nothing else. */
#include "scheduler/scstepd/front.h"

#include <string.h>
#include <sys/socket.h>

#include "scheduler/proto/link.h"
#include "scheduler/proto/ops.h"
#include "tests/harness/tap.h"

#define JOB 7
#define TURNS 20 /* of the loop, in which all happens that is due */

/* One front, and the scrun that came last. */
struct pair {
	struct ev_loop *loop;
	struct front *front;
	struct link *scrun;
	unsigned int n_attached, n_gone, n_closed;
	char heard[32]; /* by scrun, last */
};

static void attached(const json_t *head, void *owner)
{
	((struct pair *)owner)->n_attached++;
}

static void drained(void *owner)
{
}

static void gone(void *owner)
{
	((struct pair *)owner)->n_gone++;
}

static const struct front_events events = {.attached = attached, .drained = drained, .gone = gone};

static void hear(struct link *link, const char *op, json_t *head, const char *body,
		 size_t body_size, void *owner)
{
	struct pair *pair = owner;

	snprintf(pair->heard, sizeof(pair->heard), "%s", op);
}

static void closed(struct link *link, int error, const char *why, void *owner)
{
	struct pair *pair = owner;

	pair->n_closed++;
	pair->scrun = NULL;
}

static const struct link_events scrun_events = {.message = hear, .closed = closed};
static const struct link_events nothing;

static void settle(const struct pair *pair)
{
	for (int i = 0; i < TURNS; i++)
		ev_run(pair->loop, EVRUN_NOWAIT);
}

/* A scrun that says it belongs to @job. */
static void scrun_comes(struct pair *pair, json_int_t job)
{
	int fds[2];

	must(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds));
	pair->scrun = link_local(pair->loop, fds[0], 1, &scrun_events, pair);
	front_enter(pair->front, link_local(pair->loop, fds[1], 1, &nothing, NULL));
	is_int(link_send(pair->scrun, json_pack("{s:s, s:I}", "op", OP_ATTACH, "id", job), NULL, 0),
	       0);
	settle(pair);
}

TAP_TEST(front__scrun_of_another_job)
{
	struct pair pair = {.loop = ev_loop_new(EVFLAG_AUTO)};

	pair.front = front_open(JOB, &events, &pair);
	must(pair.front);
	front_send(pair.front, json_pack("{s:s}", "op", OP_NOTE), NULL, 0);
	scrun_comes(&pair, JOB + 1);
	is_int(pair.n_attached, 0);
	is_str(pair.heard, OP_ERROR);
	is_int(pair.n_closed, 1);
	/* The job goes on to wait for its own. */
	is_int(pair.n_gone, 0);
	ok(front_is_awaited(pair.front));
	scrun_comes(&pair, JOB);
	is_int(pair.n_attached, 1);
	is_str(pair.heard, OP_NOTE);
	must(pair.scrun);
	link_close(pair.scrun, 0.);
	settle(&pair);
	is_int(pair.n_gone, 1);
	front_close(pair.front);
	ev_loop_destroy(pair.loop);
}

TAP_TEST(front__a_message_that_makes_no_sense)
{
	struct pair pair = {.loop = ev_loop_new(EVFLAG_AUTO)};

	pair.front = front_open(JOB, &events, &pair);
	must(pair.front);
	/* Before it is attached another one may come. */
	scrun_comes(&pair, -1);
	is_str(pair.heard, OP_ERROR);
	is_int(pair.n_gone, 0);
	scrun_comes(&pair, JOB);
	is_int(pair.n_attached, 1);
	/* Then the job ends with it. */
	link_send(pair.scrun, json_pack("{s:s, s:i}", "op", OP_SIGNAL, "signal", 65), NULL, 0);
	settle(&pair);
	is_int(pair.n_closed, 2);
	is_int(pair.n_gone, 1);
	front_close(pair.front);
	ev_loop_destroy(pair.loop);
}
