// SPDX-License-Identifier: BSD-3-Clause
/* control, connections for the job: who is greeted, who is let in, and who is known already. */
#include "tests/unit/scheduler/scstepd/control_world.h"

/* A pair whose one end goes to the control link with a message of that name. The other one. */
static int knock(const char *head, int n)
{
	int fds[2], sent[LINK_FDS_MAX];

	ok(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds));
	for (int i = 0; i < n; i++)
		sent[i] = fds[1];
	is_int(link_send_fds(t.scnoded, json_loads(head, 0, NULL), sent, n), 0);
	close(fds[1]);
	fake_turn();
	return fds[0];
}

/* Whether the control link greets it: 1, nothing so far: 0, it is shown out: -1. */
static int is_greeted(int fd)
{
	char byte;
	ssize_t n;

	fake_turn();
	n = recv(fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK);
	return n > 0 ? 1 : n < 0 && errno == EAGAIN ? 0 : -1;
}

TAP_TEST(control__caller_is_greeted)
{
	int fd;

	begin();
	fake.step.auth = auth_open(fake.step.loop, "/no/such/munged");
	fd = knock("{\"op\":\"door\"}", 1);
	is_int(is_greeted(fd), 1);
	is_int(t.n_callers, 0);
	close(fd);
	fake_turn();
	finish();
}

TAP_TEST(control__callers_that_are_not_let_in)
{
	int fd, other;

	begin();
	fake.step.auth = auth_open(fake.step.loop, "/no/such/munged");
	fd = knock("{\"op\":\"door\"}", 2);
	is_int(is_greeted(fd), -1);
	close(fd);
	fake.step.order = NULL;
	fd = knock("{\"op\":\"door\"}", 1);
	is_int(is_greeted(fd), -1);
	close(fd);
	fake.step.order = &fake.small.order;
	/* A descriptor that came with something else stays until the next ones come. */
	fd = knock("{\"op\":\"rejoined\"}", 1);
	other = knock("{\"op\":\"door\"}", 1);
	is_int(is_greeted(fd), -1);
	is_int(is_greeted(other), 1);
	/* A message without its descriptor. */
	says("{\"op\":\"door\"}");
	is_int(is_greeted(other), 1);
	close(fd);
	close(other);
	is_int(t.n_stops, 0);
	finish();
}

/* From the time on when links go: those who are let in would be links more. */
TAP_TEST(control_shut__callers_are_sent_away)
{
	int before, fd;
	char byte;

	begin();
	fake.step.auth = auth_open(fake.step.loop, "/no/such/munged");
	before = knock("{\"op\":\"door\"}", 1);
	while (is_greeted(before) > 0)
		is_int(recv(before, &byte, 1, 0), 1);
	is_int(is_greeted(before), 0);
	control_shut(fake.step.control, true);
	is_int(is_greeted(before), -1);
	fd = knock("{\"op\":\"door\"}", 1);
	is_int(is_greeted(fd), -1);
	close(fd);
	is_int(t.n_stops, 0);
	control_shut(fake.step.control, false);
	fd = knock("{\"op\":\"door\"}", 1);
	is_int(is_greeted(fd), 1);
	close(fd);
	close(before);
	finish();
}

TAP_TEST(control__crowd_at_the_door)
{
	struct rlimit usual, few;
	int fds[9];

	begin();
	fake.step.auth = auth_open(fake.step.loop, "/no/such/munged");
	must(!getrlimit(RLIMIT_NOFILE, &usual));
	few = (struct rlimit){8 * FILES_PARTS, usual.rlim_max};
	must(!setrlimit(RLIMIT_NOFILE, &few));
	for (int i = 0; i < 8; i++)
		fds[i] = knock("{\"op\":\"door\"}", 1);
	for (int i = 0; i < 8; i++)
		is_int(is_greeted(fds[i]), 1);
	fds[8] = knock("{\"op\":\"door\"}", 1);
	/* The greeting, which came before it had to go, is read first. */
	while (is_greeted(fds[0]) > 0) {
		char byte;

		is_int(recv(fds[0], &byte, 1, 0), 1);
	}
	is_int(is_greeted(fds[0]), -1);
	for (int i = 1; i < 9; i++)
		is_int(is_greeted(fds[i]), 1);
	setrlimit(RLIMIT_NOFILE, &usual);
	for (int i = 0; i < 9; i++)
		close(fds[i]);
	finish();
}

static void at_the_port(int fd, uint64_t job, void *owner)
{
	is_int(job, 70000);
	is_int(link_send_fds(t.scnoded, json_pack("{s:s}", "op", OP_DOOR), &fd, 1), 0);
	close(fd);
}

static void greeted(struct link *link, void *owner)
{
	t.n_greeted++;
}

static void shown_out(struct link *link, int error, const char *why, void *owner)
{
	t.caller = NULL;
}

static const struct link_events caller_events = {.ready = greeted, .closed = shown_out};

TAP_TEST(control__caller_that_is_known)
{
	struct munged munged;
	struct acceptor *acceptor;
	char address[64];

	if (!munged_start(&munged))
		return;
	begin();
	fake.step.auth = auth_open(fake.step.loop, munged.path);
	acceptor = acceptor_open(fake.step.loop, "127.0.0.1:0", at_the_port, NULL);
	must(fake.step.auth && acceptor);
	snprintf(address, sizeof(address), "127.0.0.1:%d", acceptor_port(acceptor));
	t.caller = link_connect(fake.step.loop, fake.step.auth, address, 70000, "scrun", (uid_t)-1,
				&caller_events, NULL);
	while (!t.n_callers && t.caller)
		ev_run(fake.step.loop, EVRUN_ONCE);
	is_int(t.n_callers, 1);
	is_str(t.role, "scrun");
	while (t.caller)
		ev_run(fake.step.loop, EVRUN_ONCE);
	is_int(t.n_greeted, 1);
	acceptor_close(acceptor);
	finish();
	munged_stop(&munged);
}
