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
	unsigned int n_attached, n_gone, n_closed, n_parted, n_drained, n_said;
	char heard[32];     /* by scrun, last */
	char all_heard[64]; /* since it came */
};

static void attached(const json_t *head, void *owner)
{
	((struct pair *)owner)->n_attached++;
}

static void drained(void *owner)
{
	((struct pair *)owner)->n_drained++;
}

static void parted(void *owner)
{
	((struct pair *)owner)->n_parted++;
}

static void say(const char *op, const json_t *head, const char *body, size_t size, void *owner)
{
	((struct pair *)owner)->n_said++;
}

static void gone(void *owner)
{
	((struct pair *)owner)->n_gone++;
}

static const struct front_events events = {.attached = attached,
					   .message = say,
					   .drained = drained,
					   .gone = gone,
					   .parted = parted};

static void hear(struct link *link, const char *op, json_t *head, const char *body,
		 size_t body_size, void *owner)
{
	struct pair *pair = owner;

	size_t used = strlen(pair->all_heard);

	snprintf(pair->heard, sizeof(pair->heard), "%s", op);
	snprintf(pair->all_heard + used, sizeof(pair->all_heard) - used, "%s ", op);
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

	pair->all_heard[0] = '\0';
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

/* ---- scrun leaves, and comes again ---- */

static void front_begin(struct pair *pair)
{
	*pair = (struct pair){.loop = ev_loop_new(EVFLAG_AUTO)};
	pair->front = front_open(JOB, &events, pair);
	must(pair->front);
}

static void front_end(struct pair *pair)
{
	front_close(pair->front);
	if (pair->scrun)
		link_close(pair->scrun, 0.);
	settle(pair);
	ev_loop_destroy(pair->loop);
}

static void scrun_goes(struct pair *pair)
{
	must(pair->scrun);
	link_close(pair->scrun, 1.);
	pair->scrun = NULL;
	settle(pair);
}

static void send_to_scrun(const struct pair *pair, const char *op)
{
	front_send(pair->front, json_pack("{s:s}", "op", op), NULL, 0);
}

TAP_TEST(front_part__what_is_sent_meanwhile_waits_for_scrun)
{
	struct pair pair;

	front_begin(&pair);
	scrun_comes(&pair, JOB);
	is_int(pair.n_attached, 1);
	send_to_scrun(&pair, OP_OUT);
	ok(!front_part(pair.front));
	ok(front_is_full(pair.front));
	send_to_scrun(&pair, OP_RANK_ENDED);
	settle(&pair);
	/* The output was sent before, and has come before. */
	is_str(pair.all_heard, "out leave ");
	is_int(pair.n_parted, 0);
	/* scrun's last words before it closes the link are taken. */
	link_send(pair.scrun, json_pack("{s:s}", "op", OP_IN), "word", 4);
	scrun_goes(&pair);
	is_int(pair.n_said, 1);
	is_int(pair.n_parted, 1);
	is_int(pair.n_gone, 0);
	ok(front_is_awaited(pair.front) && front_is_full(pair.front));
	send_to_scrun(&pair, OP_NOTE);
	scrun_comes(&pair, JOB);
	is_int(pair.n_attached, 2);
	is_str(pair.all_heard, "rank_ended note ");
	ok(!front_is_full(pair.front) && !front_is_awaited(pair.front));
	is_int(pair.n_drained, 2);
	/* From now on its end is that of the job. */
	scrun_goes(&pair);
	is_int(pair.n_gone, 1);
	is_int(pair.n_parted, 1);
	front_end(&pair);
}

/* Nothing is to be closed, and no event follows. */
TAP_TEST(front_part__scrun_has_not_come_yet)
{
	struct pair pair;

	front_begin(&pair);
	ok(front_part(pair.front));
	settle(&pair);
	is_int(pair.n_parted + pair.n_gone, 0);
	scrun_comes(&pair, JOB);
	is_int(pair.n_attached, 1);
	front_end(&pair);
}

TAP_TEST(front_part__one_that_has_not_said_who_it_is)
{
	struct pair pair;
	int fds[2];

	front_begin(&pair);
	must(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds));
	pair.scrun = link_local(pair.loop, fds[0], 1, &scrun_events, &pair);
	front_enter(pair.front, link_local(pair.loop, fds[1], 1, &nothing, NULL));
	ok(front_part(pair.front));
	settle(&pair);
	is_int(pair.n_closed, 1);
	is_int(pair.n_parted + pair.n_gone, 0);
	scrun_comes(&pair, JOB);
	is_int(pair.n_attached, 1);
	front_end(&pair);
}

/* It was told to leave, in vain: when it does so it comes again. */
TAP_TEST(front_part__scrun_leaves_too_late)
{
	struct pair pair;

	front_begin(&pair);
	scrun_comes(&pair, JOB);
	ok(!front_part(pair.front));
	send_to_scrun(&pair, OP_NOTE);
	scrun_goes(&pair);
	is_int(pair.n_gone, 0);
	scrun_comes(&pair, JOB);
	is_int(pair.n_attached, 2);
	is_str(pair.all_heard, "note ");
	front_end(&pair);
}

/* On a slow way: the first link still brings input. */
TAP_TEST(front_part__back_before_its_first_link_has_ended)
{
	struct pair pair;
	struct link *first;
	int fds[2];

	front_begin(&pair);
	scrun_comes(&pair, JOB);
	first = pair.scrun;
	ok(!front_part(pair.front));
	must(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds));
	link_local(pair.loop, fds[0], 1, &scrun_events, &pair);
	front_enter(pair.front, link_local(pair.loop, fds[1], 1, &nothing, NULL));
	settle(&pair);
	/* It is shown out without a word, for a word would end its job. */
	is_str(pair.all_heard, "leave ");
	is_int(pair.n_closed, 1);
	is_int(pair.n_attached, 1);
	pair.scrun = first;
	link_send(pair.scrun, json_pack("{s:s}", "op", OP_IN), "word", 4);
	scrun_goes(&pair);
	is_int(pair.n_said, 1);
	is_int(pair.n_parted, 1);
	scrun_comes(&pair, JOB);
	is_int(pair.n_attached, 2);
	front_end(&pair);
}

/* It is stopped, and the job ends meanwhile: its last words wait. */
TAP_TEST(front_part__scrun_is_awaited_until_it_has_left)
{
	struct pair pair;

	front_begin(&pair);
	scrun_comes(&pair, JOB);
	ok(!front_is_awaited(pair.front));
	ok(!front_part(pair.front));
	ok(front_is_awaited(pair.front));
	scrun_goes(&pair);
	ok(front_is_awaited(pair.front));
	front_end(&pair);
}

TAP_TEST(front_part__a_scrun_that_makes_no_sense)
{
	struct pair pair;

	front_begin(&pair);
	scrun_comes(&pair, JOB);
	ok(!front_part(pair.front));
	link_send(pair.scrun, json_pack("{s:s, s:i}", "op", OP_SIGNAL, "signal", 65), NULL, 0);
	settle(&pair);
	is_int(pair.n_gone, 1);
	is_int(pair.n_parted, 0);
	ok(!front_is_full(pair.front));
	front_end(&pair);
}
