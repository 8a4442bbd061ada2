// SPDX-License-Identifier: BSD-3-Clause
/* link_limit: what somebody may not send who is limited, told to the owner and to nobody else. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "scheduler/proto/frame.h"
#include "scheduler/proto/link.h"
#include "tests/harness/tap.h"

#define FRAME 65536
#define VALUES 100

/* The limited side. The other one is a plain socket, or a link. */
struct side {
	struct link *link;
	unsigned int n_messages, n_refused, n_closed;
	int refused, closed;
	bool does_answer;
};

static void on_message(struct link *link, const char *op, json_t *head, const char *body,
		       size_t body_size, void *owner)
{
	struct side *side = owner;

	side->n_messages++;
	ok(link_begun_ns(link) > 0);
}

static void on_refused(struct link *link, int error, void *owner)
{
	struct side *side = owner;

	side->n_refused++;
	side->refused = error;
	if (!side->does_answer)
		return;
	link_send(link, json_pack("{s:s}", "op", "sorry"), NULL, 0);
	link_close(link, 1.);
	side->link = NULL;
}

static void on_closed(struct link *link, int error, const char *why, void *owner)
{
	struct side *side = owner;

	side->n_closed++;
	side->closed = error;
	side->link = NULL;
}

static const struct link_events events = {.message = on_message,
					  .refused = on_refused,
					  .closed = on_closed};

struct pair {
	struct ev_loop *loop;
	struct side side, other;
	struct link_quota quota;
};

static void settle(struct pair *pair)
{
	for (int i = 0; i < 200; i++)
		ev_run(pair->loop, EVRUN_NOWAIT);
}

static bool setup(struct pair *pair, size_t quota)
{
	int fds[2];

	*pair = (struct pair){.loop = ev_loop_new(EVFLAG_AUTO), .quota = {.max = quota}};
	if (!ok(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds)))
		return false;
	pair->side.link = link_local(pair->loop, fds[0], 1, &events, &pair->side);
	pair->other.link = link_local(pair->loop, fds[1], 1, &events, &pair->other);
	link_limit(pair->side.link, FRAME, VALUES, &pair->quota);
	return ok(pair->side.link && pair->other.link);
}

static void teardown(struct pair *pair)
{
	if (pair->side.link)
		link_close(pair->side.link, 0.);
	if (pair->other.link)
		link_close(pair->other.link, 0.);
	settle(pair);
	is_int(pair->quota.used, 0);
	ev_loop_destroy(pair->loop);
}

static json_t *with_values(size_t n)
{
	json_t *values = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(values, json_integer(0));
	return json_pack("{s:s, s:o}", "op", "x", "values", values);
}

static json_t *with_text(size_t n)
{
	char *text = malloc(n + 1);
	json_t *head;

	memset(text, ',', n);
	text[n] = 0;
	head = json_pack("{s:s, s:s}", "op", "x", "text", text);
	free(text);
	return head;
}

static int send_and_settle(struct pair *pair, json_t *head)
{
	is_int(link_send(pair->other.link, head, NULL, 0), 0);
	settle(pair);
	return pair->side.refused;
}

TAP_TEST(link_limit__what_it_lets_through)
{
	struct pair pair;

	must(setup(&pair, 1 << 20));
	is_int(send_and_settle(&pair, with_values(VALUES - 10)), 0);
	is_int(send_and_settle(&pair, with_text(FRAME - 100)), 0);
	is_int(pair.side.n_messages, 2);
	/* Empty buffers are given back. */
	is_int(pair.quota.used, 0);
	teardown(&pair);
}

TAP_TEST(link_limit__too_long)
{
	struct pair pair;

	must(setup(&pair, 1 << 20));
	is_int(send_and_settle(&pair, with_text(FRAME)), EMSGSIZE);
	is_int(pair.side.n_refused, 1);
	is_int(pair.side.n_closed, 1);
	is_int(pair.side.closed, EMSGSIZE);
	teardown(&pair);
}

TAP_TEST(link_limit__too_many_values)
{
	struct pair pair;

	must(setup(&pair, 1 << 20));
	is_int(send_and_settle(&pair, with_values(VALUES + 1)), E2BIG);
	is_int(pair.side.n_messages, 0);
	is_int(pair.side.closed, E2BIG);
	teardown(&pair);
}

/* Half a message is enough to be over it. */
TAP_TEST(link_limit__quota)
{
	struct pair pair;

	must(setup(&pair, FRAME / 2));
	is_int(send_and_settle(&pair, with_text(FRAME - 100)), EDQUOT);
	is_int(pair.side.closed, EDQUOT);
	teardown(&pair);
}

TAP_TEST(link_limit__answers_that_nobody_reads)
{
	struct pair pair;

	must(setup(&pair, 1 << 20));
	link_pause(pair.other.link, true);
	for (int i = 0; i < 40; i++)
		is_int(link_send(pair.side.link, with_text(FRAME), NULL, 0), 0);
	okf(pair.quota.used > 1 << 20, "%zu bytes", pair.quota.used);
	link_pause(pair.other.link, false);
	settle(&pair);
	is_int(pair.quota.used, 0);
	is_int(pair.other.n_messages, 40);
	teardown(&pair);
}

TAP_TEST(link_limit__owner_answers_and_closes)
{
	struct pair pair;

	must(setup(&pair, 1 << 20));
	pair.side.does_answer = true;
	is_int(send_and_settle(&pair, with_values(VALUES + 1)), E2BIG);
	is_int(pair.side.n_closed, 0);
	is_int(pair.other.n_messages, 1);
	is_int(pair.other.n_closed, 1);
	teardown(&pair);
}

TAP_TEST(link_limit__taken_off)
{
	struct pair pair;

	must(setup(&pair, 1 << 20));
	link_pause(pair.other.link, true);
	is_int(link_send(pair.side.link, with_text(1 << 20), NULL, 0), 0);
	ok(pair.quota.used > 0);
	link_limit(pair.side.link, 0, 0, NULL);
	is_int(pair.quota.used, 0);
	is_int(send_and_settle(&pair, with_values(VALUES + 1)), 0);
	is_int(pair.side.n_messages, 1);
	teardown(&pair);
}
