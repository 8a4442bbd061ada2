// SPDX-License-Identifier: BSD-3-Clause
/*
 * link over socketpairs: messages both ways, descriptors, back pressure, ends, and closing from
 * every callback.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "scheduler/proto/frame.h"
#include "scheduler/proto/link.h"
#include "tests/harness/tap.h"

#define LIMIT_S 20. /* a test that takes longer hangs */

/* One side, and what happened to it. */
struct side {
	struct link *link;
	unsigned int n_messages, n_drained, n_closed, n_fds;
	size_t body_bytes;
	bool is_body_wrong;
	int fds[LINK_FDS_MAX];
	int error;
	char why[256], last_op[32];
	const char *close_in; /* the callback that closes the link */
	double linger;
	struct ev_loop *loop;
	unsigned int stop_after; /* messages */
};

static void close_if(struct side *side, const char *callback)
{
	if (side->close_in && !strcmp(side->close_in, callback)) {
		link_close(side->link, side->linger);
		side->link = NULL;
		ev_break(side->loop, EVBREAK_ALL);
	}
}

static void on_message(struct link *link, const char *op, json_t *head, const char *body,
		       size_t body_size, void *owner)
{
	struct side *side = owner;

	side->n_messages++;
	snprintf(side->last_op, sizeof(side->last_op), "%s", op);
	for (size_t i = 0; i < body_size; i += 997)
		if (body[i] != (char)(side->body_bytes + i))
			side->is_body_wrong = true;
	side->body_bytes += body_size;
	close_if(side, "message");
	if (side->n_messages == side->stop_after)
		ev_break(side->loop, EVBREAK_ALL);
}

static void on_fds(struct link *link, const int *fds, int n, void *owner)
{
	struct side *side = owner;

	for (int i = 0; i < n; i++)
		side->fds[i] = fds[i];
	side->n_fds += (unsigned int)n;
	close_if(side, "fds");
}

static void on_drained(struct link *link, void *owner)
{
	struct side *side = owner;

	side->n_drained++;
	ok(!link_is_full(link));
	close_if(side, "drained");
	if (!side->close_in)
		ev_break(side->loop, EVBREAK_ALL);
}

static void on_closed(struct link *link, int error, const char *why, void *owner)
{
	struct side *side = owner;

	side->n_closed++;
	side->error = error;
	snprintf(side->why, sizeof(side->why), "%s", why);
	close_if(side, "closed");
	side->link = NULL;
	ev_break(side->loop, EVBREAK_ALL);
}

static const struct link_events events = {
	.message = on_message,
	.fds = on_fds,
	.drained = on_drained,
	.closed = on_closed,
};

/* Two sides in one loop. */
struct pair {
	struct ev_loop *loop;
	struct side a, b;
	ev_timer limit;
};

static void on_limit(struct ev_loop *loop, ev_timer *timer, int revents)
{
	okf(false, "it took more than %g s", LIMIT_S);
	ev_break(loop, EVBREAK_ALL);
}

static void run(struct pair *pair)
{
	ev_timer_init(&pair->limit, on_limit, LIMIT_S, 0.);
	ev_now_update(pair->loop);
	ev_timer_start(pair->loop, &pair->limit);
	ev_run(pair->loop, 0);
	ev_timer_stop(pair->loop, &pair->limit);
}

/* Lets everything happen that is due. */
static void settle(struct pair *pair)
{
	for (int i = 0; i < 20; i++)
		ev_run(pair->loop, EVRUN_NOWAIT);
}

static void setup(struct pair *pair)
{
	int fds[2];

	memset(pair, 0, sizeof(*pair));
	pair->loop = ev_loop_new(EVFLAG_AUTO);
	ok(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds));
	pair->a.loop = pair->b.loop = pair->loop;
	pair->a.link = link_local(pair->loop, fds[0], 1, &events, &pair->a);
	pair->b.link = link_local(pair->loop, fds[1], 2, &events, &pair->b);
	ok(pair->a.link && pair->b.link);
}

static void teardown(struct pair *pair)
{
	if (pair->a.link)
		link_close(pair->a.link, 0.);
	if (pair->b.link)
		link_close(pair->b.link, 0.);
	settle(pair);
	ev_loop_destroy(pair->loop);
}

static json_t *head_of(const char *op)
{
	return json_pack("{s:s}", "op", op);
}

/* Sends @size bytes whose values tell their place in the stream. */
static int send_pattern(struct side *from, size_t *sent, size_t size)
{
	char *body = malloc(size);
	int err;

	for (size_t i = 0; i < size; i++)
		body[i] = (char)(*sent + i);
	err = link_send(from->link, head_of("out"), body, size);
	*sent += size;
	free(body);
	return err;
}

TAP_TEST(link_send__both_ways)
{
	struct pair pair;

	setup(&pair);
	is_int(link_uid(pair.a.link), 1);
	is_int(link_gid(pair.a.link), getgid());
	is_str(link_peer(pair.a.link), "local");
	is_str(link_role(pair.a.link), "");
	is_int(link_send(pair.a.link, head_of("first"), NULL, 0), 0);
	is_int(link_send(pair.b.link, head_of("second"), NULL, 0), 0);
	settle(&pair);
	is_str(pair.b.last_op, "first");
	is_str(pair.a.last_op, "second");
	teardown(&pair);
}

TAP_TEST(link_send__no_head)
{
	struct pair pair;

	setup(&pair);
	is_int(link_send(pair.a.link, NULL, NULL, 0), -ENOMEM);
	teardown(&pair);
}

TAP_TEST(link_send__too_long)
{
	struct pair pair;
	char *body = calloc(1, FRAME_MAX);
	size_t room = FRAME_MAX - FRAME_HEAD_BYTES - 10;

	setup(&pair);
	is_int(link_send(pair.a.link, head_of("a"), body, FRAME_MAX), -EMSGSIZE);
	is_int(link_send(pair.a.link, head_of("a"), body, room + 1), -EMSGSIZE);
	is_int(link_send(pair.a.link, head_of("a"), body, room), 0);
	pair.a.close_in = "never";
	pair.b.stop_after = 1;
	run(&pair);
	is_int(pair.b.body_bytes, room);
	free(body);
	teardown(&pair);
}

TAP_TEST(link_send__bodies_of_many_sizes)
{
	struct pair pair;
	uint64_t seed = tap_seed();
	size_t sent = 0;

	setup(&pair);
	for (int i = 0; i < 300; i++)
		is_int(send_pattern(&pair.a, &sent, tap_rand(&seed) % 100000 + 1), 0);
	pair.b.stop_after = 300;
	pair.a.close_in = "never";
	run(&pair);
	is_int(pair.b.n_messages, 300);
	is_int(pair.b.body_bytes, sent);
	ok(!pair.b.is_body_wrong);
	teardown(&pair);
}

TAP_TEST(link_is_full__until_drained)
{
	struct pair pair;
	size_t sent = 0;

	setup(&pair);
	link_pause(pair.b.link, true);
	while (!link_is_full(pair.a.link))
		is_int(send_pattern(&pair.a, &sent, 65536), 0);
	settle(&pair);
	ok(link_is_full(pair.a.link));
	is_int(pair.a.n_drained, 0);
	is_int(pair.b.n_messages, 0);
	link_pause(pair.b.link, false);
	run(&pair);
	is_int(pair.a.n_drained, 1);
	settle(&pair);
	is_int(pair.b.body_bytes, sent);
	teardown(&pair);
}

TAP_TEST(link_pause__100_mb_through_a_slow_reader)
{
	enum { TOTAL = 100 << 20 };
	struct pair pair;
	size_t sent = 0;
	unsigned int n_full = 0;

	setup(&pair);
	pair.a.close_in = "never";
	for (unsigned int i = 0; pair.b.body_bytes < TOTAL && i < 1000000; i++) {
		while (sent < TOTAL && !link_is_full(pair.a.link))
			if (!is_int(send_pattern(&pair.a, &sent, 65536), 0))
				break;
		n_full += link_is_full(pair.a.link);
		link_pause(pair.b.link, i % 3);
		ev_run(pair.loop, EVRUN_NOWAIT);
	}
	is_int(pair.b.body_bytes, TOTAL);
	ok(!pair.b.is_body_wrong);
	ok(n_full > 0 && pair.a.n_drained > 0);
	teardown(&pair);
}

TAP_TEST(link_pause__frames_that_have_come_wait)
{
	struct pair pair;

	setup(&pair);
	link_pause(pair.b.link, true);
	for (int i = 0; i < 3; i++)
		link_send(pair.a.link, head_of("x"), NULL, 0);
	settle(&pair);
	is_int(pair.b.n_messages, 0);
	link_pause(pair.b.link, false);
	is_int(pair.b.n_messages, 0);
	settle(&pair);
	is_int(pair.b.n_messages, 3);
	teardown(&pair);
}

static int new_file(void)
{
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

TAP_TEST(link_send_fds__at_once_and_behind_a_queue)
{
	struct pair pair;
	size_t sent = 0;
	int fds[2] = {new_file(), new_file()};

	setup(&pair);
	pair.a.close_in = "never";
	is_int(link_send_fds(pair.a.link, head_of("door"), fds, 2), 0);
	link_pause(pair.b.link, true);
	while (!link_is_full(pair.a.link))
		send_pattern(&pair.a, &sent, 65536);
	is_int(link_send_fds(pair.a.link, head_of("door"), fds, 1), 0);
	link_send(pair.a.link, head_of("last"), NULL, 0);
	close(fds[0]);
	close(fds[1]);
	link_pause(pair.b.link, false);
	for (int i = 0; i < 1000 && strcmp(pair.b.last_op, "last"); i++)
		ev_run(pair.loop, EVRUN_NOWAIT);
	is_str(pair.b.last_op, "last");
	is_int(pair.b.n_fds, 3);
	is_int(pair.b.body_bytes, sent);
	ok(fcntl(pair.b.fds[0], F_GETFD) == FD_CLOEXEC);
	ok(fcntl(pair.b.fds[1], F_GETFD) == FD_CLOEXEC);
	teardown(&pair);
}

/* Sends bytes that a foreign program might write: the link must close with error @want. */
static void hostile(const char *bytes, size_t size, int want)
{
	struct pair pair;
	int fds[2];

	setup(&pair);
	ok(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds));
	link_close(pair.b.link, 0.);
	settle(&pair);
	pair.b = (struct side){.loop = pair.loop};
	pair.b.link = link_local(pair.loop, fds[0], 1, &events, &pair.b);
	is_int(write(fds[1], bytes, size), size);
	run(&pair);
	is_int(pair.b.n_closed, 1);
	is_int(pair.b.error, want);
	tap_diag("%s", pair.b.why);
	close(fds[1]);
	teardown(&pair);
}

TAP_TEST(link_local__hostile_bytes)
{
	hostile("\xff\xff\xff\xff", 4, EMSGSIZE);
	hostile("\0\0\0\0", 4, EPROTO);
	hostile("\0\0\0\x06\0\0\0\2{}", 10, EPROTO);
	hostile("\0\0\0\x16\0\0\0\x12{\"op\":\"a\",\"fds\":1}", 26, EPROTO);
	hostile("\0\0\0\x18\0\0\0\x14{\"op\":\"a\",\"fds\":999}", 28, EPROTO);
	hostile("\0\0\0\x17\0\0\0\x13{\"op\":\"a\",\"fds\":-1}", 27, EPROTO);
}

TAP_TEST(link_local__descriptors_nobody_claims)
{
	struct pair pair;
	int fds[2];

	setup(&pair);
	ok(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds));
	link_close(pair.b.link, 0.);
	settle(&pair);
	pair.b = (struct side){.loop = pair.loop};
	pair.b.link = link_local(pair.loop, fds[0], 1, &events, &pair.b);
	for (int i = 0; i < 20; i++) {
		char control[CMSG_SPACE(sizeof(int))] = {0};
		char byte = i == 3 ? 0x12 : 0;
		struct iovec iov = {&byte, 1};
		struct msghdr msg = {.msg_iov = &iov,
				     .msg_iovlen = 1,
				     .msg_control = control,
				     .msg_controllen = sizeof(control)};
		struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(cmsg), &fds[1], sizeof(int));
		is_int(sendmsg(fds[1], &msg, MSG_NOSIGNAL), 1);
	}
	run(&pair);
	is_int(pair.b.error, EPROTO);
	close(fds[1]);
	teardown(&pair);
}

TAP_TEST(link_closed__other_side_closes)
{
	struct pair pair;

	setup(&pair);
	link_send(pair.a.link, head_of("last"), NULL, 0);
	link_close(pair.a.link, 0.);
	pair.a.link = NULL;
	is_int(pair.b.n_closed, 0);
	run(&pair);
	is_str(pair.b.last_op, "last");
	is_int(pair.b.n_closed, 1);
	is_int(pair.b.error, 0);
	ok(strstr(pair.b.why, "closed the connection") != NULL);
	teardown(&pair);
}

TAP_TEST(link_closed__in_the_middle_of_a_message)
{
	struct pair pair;
	size_t sent = 0;

	setup(&pair);
	link_pause(pair.b.link, true);
	send_pattern(&pair.a, &sent, 1 << 20);
	link_close(pair.a.link, 0.);
	pair.a.link = NULL;
	link_pause(pair.b.link, false);
	run(&pair);
	is_int(pair.b.n_messages, 0);
	is_int(pair.b.error, ECONNRESET);
	teardown(&pair);
}

TAP_TEST(link_send__to_a_side_that_is_gone)
{
	struct pair pair;

	setup(&pair);
	link_send(pair.b.link, head_of("still read"), NULL, 0);
	link_close(pair.b.link, 0.);
	pair.b.link = NULL;
	is_int(link_send(pair.a.link, head_of("x"), NULL, 0), -EPIPE);
	is_int(pair.a.n_closed, 0);
	is_int(link_send(pair.a.link, head_of("x"), NULL, 0), -EPIPE);
	run(&pair);
	is_str(pair.a.last_op, "still read");
	is_int(pair.a.n_closed, 1);
	teardown(&pair);
}

TAP_TEST(link_drained__when_a_full_link_breaks)
{
	struct pair pair;
	size_t sent = 0;

	setup(&pair);
	while (!link_is_full(pair.a.link))
		send_pattern(&pair.a, &sent, 65536);
	link_pause(pair.a.link, true);
	link_close(pair.b.link, 0.);
	pair.b.link = NULL;
	run(&pair);
	is_int(pair.a.n_drained, 1);
	is_int(pair.a.n_closed, 0);
	link_pause(pair.a.link, false);
	run(&pair);
	is_int(pair.a.n_closed, 1);
	teardown(&pair);
}

TAP_TEST(link_close__lingers_until_all_is_sent)
{
	struct pair pair;
	size_t sent = 0;

	setup(&pair);
	link_pause(pair.b.link, true);
	for (int i = 0; i < 64; i++)
		send_pattern(&pair.a, &sent, 65536);
	link_send(pair.b.link, head_of("never read"), NULL, 0);
	link_close(pair.a.link, 10.);
	pair.a.link = NULL;
	link_pause(pair.b.link, false);
	run(&pair);
	is_int(pair.b.body_bytes, sent);
	is_int(pair.b.n_closed, 1);
	is_int(pair.b.error, 0);
	is_int(pair.a.n_messages, 0);
	ev_run(pair.loop, 0); /* ends, for nothing is left */
	teardown(&pair);
}

TAP_TEST(link_close__lingers_no_longer_than_told)
{
	struct pair pair;
	size_t sent = 0;

	setup(&pair);
	link_pause(pair.b.link, true);
	for (int i = 0; i < 64; i++)
		send_pattern(&pair.a, &sent, 65536);
	link_close(pair.a.link, 0.05);
	pair.a.link = NULL;
	ev_run(pair.loop, 0);
	link_pause(pair.b.link, false);
	run(&pair);
	is_int(pair.b.n_closed, 1);
	ok(pair.b.body_bytes < sent);
	teardown(&pair);
}

TAP_TEST(link_close__in_message)
{
	for (int linger = 0; linger < 2; linger++) {
		struct pair pair;

		setup(&pair);
		pair.b.close_in = "message";
		pair.b.linger = linger;
		for (int i = 0; i < 3; i++)
			link_send(pair.a.link, head_of("x"), "body", 4);
		run(&pair);
		is_int(pair.b.n_messages, 1);
		run(&pair);
		is_int(pair.a.n_closed, 1);
		is_int(pair.b.n_closed, 0);
		teardown(&pair);
	}
}

TAP_TEST(link_close__in_fds)
{
	struct pair pair;
	int fd = new_file();

	setup(&pair);
	pair.b.close_in = "fds";
	link_send_fds(pair.a.link, head_of("door"), &fd, 1);
	close(fd);
	run(&pair);
	is_int(pair.b.n_fds, 1);
	is_int(pair.b.n_messages, 0);
	close(pair.b.fds[0]);
	teardown(&pair);
}

TAP_TEST(link_close__in_drained)
{
	for (int linger = 0; linger < 2; linger++) {
		struct pair pair;
		size_t sent = 0;

		setup(&pair);
		pair.a.close_in = "drained";
		pair.a.linger = linger * 10;
		while (!link_is_full(pair.a.link))
			send_pattern(&pair.a, &sent, 65536);
		run(&pair);
		ok(!pair.a.link);
		run(&pair);
		is_int(pair.b.n_closed, 1);
		ok(linger ? pair.b.body_bytes == sent : pair.b.body_bytes < sent);
		teardown(&pair);
	}
}

TAP_TEST(link_close__in_closed)
{
	for (int linger = 0; linger < 2; linger++) {
		struct pair pair;

		setup(&pair);
		pair.b.close_in = "closed";
		pair.b.linger = linger;
		link_close(pair.a.link, 0.);
		pair.a.link = NULL;
		run(&pair);
		is_int(pair.b.n_closed, 1);
		teardown(&pair);
	}
}

TAP_TEST(link_close__before_closed_was_called)
{
	struct pair pair;

	setup(&pair);
	link_close(pair.b.link, 0.);
	pair.b.link = NULL;
	link_send(pair.a.link, head_of("x"), NULL, 0);
	link_close(pair.a.link, 1.);
	pair.a.link = NULL;
	ev_run(pair.loop, 0);
	is_int(pair.a.n_closed, 0);
	teardown(&pair);
}

TAP_TEST(link_set__other_owner)
{
	struct pair pair;
	struct side other = {0};

	setup(&pair);
	link_set(pair.b.link, &events, &other);
	link_send(pair.a.link, head_of("x"), NULL, 0);
	settle(&pair);
	is_int(other.n_messages, 1);
	is_int(pair.b.n_messages, 0);
	teardown(&pair);
}
