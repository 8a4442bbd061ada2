// SPDX-License-Identifier: BSD-3-Clause
/*
 * link, acceptor and auth over loopback with a munged of the test's own: the handshake both ways,
 * and everything that may be wrong with the other side or with munged.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scheduler/proto/frame.h"
#include "tests/harness/setclock.h"
#include "tests/harness/tap.h"
#include "tests/unit/scheduler/proto/link_world.h"

#define HALF_S 3 /* of the time that a handshake or a preamble may take, and half a second more */

/* The clock goes on at once, and all happens that is due. */
static void pass(struct world *world, int seconds)
{
	setclock_passed_s += seconds;
	world_settle(world);
}

/*
 * --- the handshake ------------------------------------------------------------------------------
 */

TAP_TEST(link_connect__handshake_both_ways)
{
	struct world world;

	if (!world_setup(&world))
		return;
	world.server.is_echo = true;
	world_connect(&world, "message");
	is_int(link_send(world.client.link, json_pack("{s:s}", "op", "early"), "body", 4), 0);
	is_int(world.client.n_ready, 0);
	world_run(&world);
	is_int(world.client.n_ready, 1);
	is_int(world.server.n_ready, 1);
	is_int(world.job, 42);
	is_int(world.client.uid, geteuid());
	is_int(world.server.uid, geteuid());
	is_str(world.server.role, "tool");
	is_str(world.client.role, "");
	is_str(world.client.last_op, "early");
	is_int(world.client.body_bytes, 4);
	is_str(link_peer(world.client.link), world.address);
	ok(!strncmp(link_peer(world.server.link), "127.0.0.1:", 10));
	world_teardown(&world);
}

/*
 * Somebody on the way has written another job into the preamble, and the server of that one
 * answers.
 */
TAP_TEST(link_connect__led_to_another_job)
{
	struct world world;

	if (!world_setup(&world))
		return;
	world.serves = 43;
	world_connect(&world, "closed");
	world_run(&world);
	is_int(world.client.n_ready, 0);
	is_int(world.client.error, EACCES);
	okf(strstr(world.client.why, "another job") != NULL, "%s", world.client.why);
	is_int(world.server.n_ready, 0);
	is_int(world.server.error, EACCES);
	world_teardown(&world);
}

TAP_TEST(link_connect__by_name)
{
	struct world world;

	if (!world_setup(&world))
		return;
	snprintf(world.address, sizeof(world.address), "localhost:%d",
		 acceptor_port(world.acceptor));
	world_connect(&world, "ready");
	world_run(&world);
	is_int(world.client.n_ready, 1);
	world_teardown(&world);
}

TAP_TEST(link_connect__failures_are_named_later)
{
	static const struct {
		const char *address, *says;
		int error;
	} cases[] = {
		{"nonsense", "HOST:PORT", EINVAL},
		{"h:", "HOST:PORT", EINVAL},
		{"h:0", "HOST:PORT", EINVAL},
		{"h:99999", "HOST:PORT", EINVAL},
		{"::1:7710", "[IPv6]", EINVAL},
		{"[::1:7710", "[IPv6]", EINVAL},
		{":7710", "HOST:PORT", EINVAL},
		{"no.such.host.invalid:7710", "not known", ENOENT},
		{"127.0.0.1:1", "running there", ECONNREFUSED},
	};
	struct world world;

	if (!world_setup(&world))
		return;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(world.address, sizeof(world.address), "%s", cases[i].address);
		world_connect(&world, "closed");
		is_int(world.client.n_closed, i);
		world_run(&world);
		is_int(world.client.n_closed, i + 1);
		okf(world.client.error == cases[i].error, "%s: %d", cases[i].address,
		    world.client.error);
		okf(strstr(world.client.why, cases[i].says) != NULL, "%s", world.client.why);
	}
	world_teardown(&world);
}

TAP_TEST(link_close__in_ready_and_before)
{
	struct world world;

	if (!world_setup(&world))
		return;
	world.server.closes_when_ready = true;
	world_connect(&world, "closed");
	world_run(&world);
	is_int(world.client.n_ready, 1);
	is_int(world.client.error, 0);
	world_connect(&world, "closed");
	link_close(world.client.link, 0.);
	world.client.link = NULL;
	world_settle(&world);
	world_teardown(&world);
}

TAP_TEST(link_close__lingers_through_the_handshake)
{
	struct world world;

	if (!world_setup(&world))
		return;
	world_connect(&world, NULL);
	world.server.break_at = "closed";
	link_send(world.client.link, json_pack("{s:s}", "op", "last"), NULL, 0);
	link_close(world.client.link, 5.);
	world.client.link = NULL;
	world_run(&world);
	is_str(world.server.last_op, "last");
	is_int(world.client.n_ready, 0);
	world_teardown(&world);
}

/*
 * --- strangers ----------------------------------------------------------------------------------
 */

static void hostile(struct world *world, const char *bytes, size_t size, int error)
{
	unsigned int before = world->server.n_closed;
	int fd = world_greeted_stranger(world);

	world->server.break_at = "closed";
	is_int(send(fd, bytes, size, 0), size);
	world_run(world);
	is_int(world->server.n_closed, before + 1);
	is_int(world->server.error, error);
	close(fd);
}

TAP_TEST(link_accept__hostile_strangers)
{
	struct world world;

	if (!world_setup(&world))
		return;
	hostile(&world, "\0\0\x20\0", 4, EMSGSIZE);
	hostile(&world, "GET / HTTP/1.1\r\n", 16, EMSGSIZE);
	hostile(&world, "\0\0\0\0", 4, EPROTO);
	hostile(&world, "\0\0\0\x0e\0\0\0\x0a{\"op\":\"x\"}", 18, EPROTO);
	is_int(world.server.n_ready, 0);
	world_teardown(&world);
}

TAP_TEST(link_accept__half_open_and_slow)
{
	struct world world;
	int fd, slow;

	if (!world_setup(&world))
		return;
	fd = world_greeted_stranger(&world);
	shutdown(fd, SHUT_WR);
	world.server.break_at = "closed";
	world_run(&world);
	is_int(world.server.error, ECONNRESET);
	slow = world_greeted_stranger(&world);
	is_int(send(slow, "\0", 1, 0), 1);
	pass(&world, HALF_S);
	is_int(world.server.n_closed, 1);
	pass(&world, HALF_S);
	is_int(world.server.n_closed, 2);
	is_int(world.server.error, ETIMEDOUT);
	close(fd);
	close(slow);
	world_teardown(&world);
}

TAP_TEST(door__slow_and_wrong_preambles)
{
	struct world world;
	char byte;
	int slow, wrong, gone;

	if (!world_setup(&world))
		return;
	slow = world_stranger(&world);
	wrong = world_stranger(&world);
	gone = world_stranger(&world);
	is_int(send(slow, "OSC", 3, 0), 3);
	is_int(send(wrong, "OSCORE2\n12345678", 16, 0), 16);
	close(gone);
	while (recv(wrong, &byte, 1, MSG_DONTWAIT | MSG_PEEK) < 0 && errno == EAGAIN)
		ev_run(world.loop, EVRUN_ONCE);
	is_int(recv(wrong, &byte, 1, MSG_DONTWAIT), 0);
	pass(&world, HALF_S);
	is_int(recv(slow, &byte, 1, MSG_DONTWAIT), -1);
	pass(&world, HALF_S);
	is_int(recv(slow, &byte, 1, MSG_DONTWAIT), 0);
	is_int(world.n_entered, 0);
	close(slow);
	close(wrong);
	world_teardown(&world);
}

TAP_TEST(door__preamble_in_pieces)
{
	char bytes[PREAMBLE_BYTES];
	struct world world;
	int fd;

	if (!world_setup(&world))
		return;
	fd = world_stranger(&world);
	preamble_encode(bytes, 0x0102030405060708);
	for (size_t i = 0; i < sizeof(bytes); i++) {
		is_int(world.n_entered, 0);
		is_int(send(fd, bytes + i, 1, 0), 1);
		world_settle(&world);
	}
	is_int(world.n_entered, 1);
	is_int(world.job, 0x0102030405060708);
	close(fd);
	world_teardown(&world);
}

TAP_TEST(door__bad_places)
{
	struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);
	struct acceptor *any = acceptor_open(loop, "0", world_enter, NULL);
	char text[64];

	must(any != NULL);
	ok(acceptor_port(any) > 0);
	snprintf(text, sizeof(text), "127.0.0.1:%d", acceptor_port(any));
	ok(!acceptor_open(loop, text, world_enter, NULL));
	is_int(errno, EADDRINUSE);
	ok(!acceptor_open(loop, "nonsense:x", world_enter, NULL));
	is_int(errno, EINVAL);
	ok(!acceptor_open(loop, "192.0.2.1:0", world_enter, NULL));
	is_int(errno, EADDRNOTAVAIL);
	acceptor_close(any);
	ev_loop_destroy(loop);
}

TAP_TEST(door__1000_idle_strangers_while_one_is_served)
{
	enum { IDLE = 1000 };
	struct rlimit limit = {0};
	struct world world;
	static int fds[IDLE];

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_cur < 2 * IDLE + 100) {
		tap_skip("only %lu descriptors (ulimit -n)", (unsigned long)limit.rlim_cur);
		return;
	}
	if (!world_setup(&world))
		return;
	for (int i = 0; i < IDLE; i++) {
		fds[i] = i % 2 ? world_stranger(&world) : world_greeted_stranger(&world);
		ev_run(world.loop, EVRUN_NOWAIT);
	}
	world.server.is_echo = true;
	world_connect(&world, "message");
	link_send(world.client.link, json_pack("{s:s}", "op", "request"), NULL, 0);
	world_run(&world);
	is_str(world.client.last_op, "request");
	for (int i = 0; i < IDLE; i++)
		close(fds[i]);
	world.server.break_at = NULL;
	world_settle(&world);
	world_teardown(&world);
}

/*
 * --- munged -------------------------------------------------------------------------------------
 */

TAP_TEST(link_connect__munged_is_dead)
{
	struct world world;

	if (!world_setup(&world))
		return;
	munged_kill(&world.munged);
	world_connect(&world, "closed");
	world_run(&world);
	is_int(world.client.error, EAGAIN);
	ok(strstr(world.client.why, world.munged.path) != NULL);
	tap_diag("%s", world.client.why);
	world_teardown(&world);
}

static void on_tick(struct ev_loop *loop, ev_timer *timer, int revents)
{
	++*(unsigned int *)timer->data;
}

TAP_TEST(link_connect__munged_is_stopped_and_the_loop_goes_on)
{
	struct world world;
	unsigned int n_ticks = 0;
	ev_timer tick;

	if (!world_setup(&world))
		return;
	kill(world.munged.pid, SIGSTOP);
	ev_timer_init(&tick, on_tick, 0.01, 0.01);
	tick.data = &n_ticks;
	ev_timer_start(world.loop, &tick);
	world_connect(&world, "closed");
	while (n_ticks <= 50 && !world.client.n_closed)
		ev_run(world.loop, EVRUN_ONCE);
	is_int(world.client.n_closed, 0);
	pass(&world, 2 * HALF_S);
	ev_timer_stop(world.loop, &tick);
	is_int(world.client.n_closed, 1);
	okf(world.client.error == EAGAIN, "%d %s", world.client.error, world.client.why);
	okf(n_ticks > 50, "%u ticks", n_ticks);
	kill(world.munged.pid, SIGCONT);
	world_connect(&world, "ready");
	world_run(&world);
	is_int(world.client.n_ready, 1);
	world_teardown(&world);
}

/*
 * --- users --------------------------------------------------------------------------------------
 */

/* A server in a process of its own, as @uid; ends by our signal. */
static pid_t serve_as(struct world *world, uid_t uid, int *port)
{
	int pipes[2];
	pid_t pid;

	ok(!pipe(pipes));
	pid = fork();
	if (!pid) {
		struct world other = {.loop = ev_loop_new(EVFLAG_AUTO)};

		if (setgid(uid) || setuid(uid))
			_exit(1);
		other.server.loop = other.loop;
		other.auth = auth_open(other.loop, world->munged.path);
		other.acceptor = acceptor_open(other.loop, "127.0.0.1:0", world_enter, &other);
		*port = acceptor_port(other.acceptor);
		if (write(pipes[1], port, sizeof(*port)) != sizeof(*port))
			_exit(1);
		ev_run(other.loop, 0);
		_exit(0);
	}
	close(pipes[1]);
	is_int(read(pipes[0], port, sizeof(*port)), sizeof(*port));
	close(pipes[0]);
	return pid;
}

TAP_TEST(link_connect__only_to_whom_we_expect)
{
	struct world world;
	pid_t pid;
	int port = 0;

	if (geteuid()) {
		tap_skip("needs root, to be somebody else as well");
		return;
	}
	if (!world_setup(&world))
		return;
	pid = serve_as(&world, NOBODY, &port);
	snprintf(world.address, sizeof(world.address), "127.0.0.1:%d", port);
	world_connect(&world, "closed");
	world_run(&world);
	is_int(world.client.error, EACCES);
	ok(strstr(world.client.why, "65534") != NULL);
	world.client.break_at = "ready";
	world.client.link = link_connect(world.loop, world.auth, world.address, 0, "tool", NOBODY,
					 &world_events, &world.client);
	world_run(&world);
	is_int(world.client.n_ready, 1);
	is_int(world.client.uid, NOBODY);
	is_int(link_gid(world.client.link), NOBODY);
	kill(pid, SIGTERM);
	waitpid(pid, NULL, 0);
	world_teardown(&world);
}

TAP_TEST(link_accept__says_who_connects)
{
	struct world world;
	pid_t pid;

	if (geteuid()) {
		tap_skip("needs root, to be somebody else as well");
		return;
	}
	if (!world_setup(&world))
		return;
	pid = fork();
	if (!pid) {
		struct world other = {.loop = ev_loop_new(EVFLAG_AUTO)};

		if (setgid(NOBODY) || setuid(NOBODY))
			_exit(1);
		other.client.loop = other.loop;
		snprintf(other.address, sizeof(other.address), "%s", world.address);
		other.auth = auth_open(other.loop, world.munged.path);
		world_connect(&other, "closed");
		ev_run(other.loop, 0);
		_exit(other.client.n_ready == 1 ? 0 : 1);
	}
	world.server.break_at = "ready";
	world_run(&world);
	is_int(world.server.n_ready, 1);
	is_int(world.server.uid, NOBODY);
	kill(pid, SIGTERM);
	waitpid(pid, NULL, 0);
	world_teardown(&world);
}
