// SPDX-License-Identifier: BSD-3-Clause
/*
 * link_give_up over socketpairs: who has the socket next reads what comes next, and nothing is lost
 * or said in between.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "scheduler/proto/link.h"
#include "tests/harness/tap.h"

#define TURNS 20 /* of the loop, in which all happens that is due */

/* Two sides in one loop; b gives up at each message. */
struct pair {
	struct ev_loop *loop;
	struct link *a, *b;
	int given[4]; /* what link_give_up() said at each */
	unsigned int n_given, n_closed;
};

static void give_up(struct link *link, const char *op, json_t *head, const char *body,
		    size_t body_size, void *owner)
{
	struct pair *pair = owner;

	pair->given[pair->n_given++] = link_give_up(link, NULL);
	if (pair->given[pair->n_given - 1] >= 0)
		pair->b = NULL;
}

static void closed(struct link *link, int error, const char *why, void *owner)
{
	struct pair *pair = owner;

	pair->n_closed++;
	*(link == pair->a ? &pair->a : &pair->b) = NULL;
}

static const struct link_events events = {.message = give_up, .closed = closed};

static void settle(struct pair *pair)
{
	for (int i = 0; i < TURNS; i++)
		ev_run(pair->loop, EVRUN_NOWAIT);
}

static void setup(struct pair *pair)
{
	int fds[2];

	*pair = (struct pair){.loop = ev_loop_new(EVFLAG_AUTO)};
	ok(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds));
	pair->a = link_local(pair->loop, fds[0], 1, &events, pair);
	pair->b = link_local(pair->loop, fds[1], 2, &events, pair);
	ok(pair->a && pair->b);
}

static void teardown(struct pair *pair)
{
	if (pair->a)
		link_close(pair->a, 0.);
	if (pair->b)
		link_close(pair->b, 0.);
	settle(pair);
	ev_loop_destroy(pair->loop);
}

static void say(struct pair *pair, const char *op)
{
	is_int(link_send(pair->a, json_pack("{s:s}", "op", op), NULL, 0), 0);
}

TAP_TEST(link_give_up__the_next_one_reads_what_comes)
{
	struct pair pair;
	char bytes[64];

	setup(&pair);
	say(&pair, "yours");
	settle(&pair);
	is_int(pair.n_given, 1);
	must(pair.given[0] >= 0 && !pair.b);
	say(&pair, "next");
	ok(read(pair.given[0], bytes, sizeof(bytes)) > 8);
	is_mem(bytes + 8, "{\"op\":\"next\"}", 13);
	settle(&pair);
	is_int(pair.n_closed, 0);
	is_int(write(pair.given[0], bytes, 21), 21);
	close(pair.given[0]);
	teardown(&pair);
}

TAP_TEST(link_give_up__when_more_has_come)
{
	struct pair pair;

	setup(&pair);
	say(&pair, "yours");
	say(&pair, "early");
	settle(&pair);
	is_int(pair.n_given, 2);
	is_int(pair.given[0], -EBUSY);
	/* With the second all has been handed out. */
	ok(pair.given[1] >= 0);
	close(pair.given[1]);
	teardown(&pair);
}

TAP_TEST(link_give_up__when_more_has_to_go)
{
	static char much[4 * LINK_FULL];
	struct pair pair;

	setup(&pair);
	is_int(link_send(pair.b, json_pack("{s:s}", "op", "much"), much, sizeof(much)), 0);
	is_int(link_give_up(pair.b, NULL), -EBUSY);
	is_int(link_send(pair.b, json_pack("{s:s}", "op", "more"), NULL, 0), 0);
	teardown(&pair);
}
