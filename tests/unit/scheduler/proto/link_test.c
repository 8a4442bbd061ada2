// SPDX-License-Identifier: BSD-3-Clause
/*
 * link, door and auth over loopback with a munged of the test's own: the handshake both ways, and everything that may be
 * wrong with the other side or with munged.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scheduler/proto/door.h"
#include "scheduler/proto/frame.h"
#include "scheduler/proto/handshake.h"
#include "scheduler/proto/link.h"
#include "tests/harness/tap.h"

#define LIMIT_S 20.
#define MUNGED "/usr/sbin/munged"
#define NOBODY 65534

/* --- a munged of our own ------------------------------------------------------------------------ */

struct munged {
	char dir[64], path[96];
	pid_t pid;
};

static void write_key(const char *dir)
{
	char path[128], key[1024];
	FILE *file;

	snprintf(path, sizeof(path), "%s/key", dir);
	file = fopen(path, "w");
	for (size_t i = 0; i < sizeof(key); i++)
		key[i] = (char)(i * 7 + 1);
	ok(file && fwrite(key, sizeof(key), 1, file) == 1);
	fclose(file);
	chmod(path, 0400);
}

static void run_munged(const char *dir)
{
	char option[5][160];
	static const char *const names[5] = {"socket", "key-file", "pid-file", "log-file",
					     "seed-file"};
	static const char *const files[5] = {"s", "key", "pid", "log", "seed"};
	char *argv[] = {(char *)(uintptr_t)MUNGED,
			(char *)(uintptr_t) "--foreground",
			(char *)(uintptr_t) "--force",
			option[0],
			option[1],
			option[2],
			option[3],
			option[4],
			NULL};

	for (int i = 0; i < 5; i++)
		snprintf(option[i], sizeof(option[i]), "--%s=%s/%s", names[i], dir, files[i]);
	if (!freopen("/dev/null", "w", stderr))
		_exit(126);
	execv(MUNGED, argv);
	_exit(127);
}

/* It says nothing when it is up: its socket tells. */
static bool is_up(const char *path)
{
	struct stat st;

	for (int i = 0; i < 1000; i++) {
		if (!stat(path, &st) && S_ISSOCK(st.st_mode))
			return true;
		usleep(5000);
	}
	return false;
}

static bool munged_start(struct munged *munged)
{
	if (access(MUNGED, X_OK)) {
		tap_skip("%s is not there (install munge)", MUNGED);
		return false;
	}
	snprintf(munged->dir, sizeof(munged->dir), "/tmp/munged-test-XXXXXX");
	if (!ok(mkdtemp(munged->dir) != NULL))
		return false;
	chmod(munged->dir, 0755);
	write_key(munged->dir);
	snprintf(munged->path, sizeof(munged->path), "%s/s", munged->dir);
	munged->pid = fork();
	if (!munged->pid)
		run_munged(munged->dir);
	return ok(is_up(munged->path));
}

static void munged_kill(struct munged *munged)
{
	if (munged->pid <= 0)
		return;
	kill(munged->pid, SIGKILL);
	waitpid(munged->pid, NULL, 0);
	munged->pid = 0;
}

static void munged_stop(struct munged *munged)
{
	static const char *const files[] = {"s", "s.lock", "key", "pid", "log", "seed"};
	char path[128];

	munged_kill(munged);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", munged->dir, files[i]);
		unlink(path);
	}
	rmdir(munged->dir);
}

/* --- a server and a client in one loop ---------------------------------------------------------- */

struct side {
	struct ev_loop *loop;
	struct link *link;
	unsigned int n_ready, n_messages, n_closed;
	uid_t uid;
	char role[64];
	char last_op[32];
	size_t body_bytes;
	int error;
	char why[512];
	bool is_echo, closes_when_ready;
	const char *break_at; /* "ready", "message", "closed" end ev_run() */
};

struct world {
	struct ev_loop *loop;
	struct munged munged;
	struct auth *auth;
	struct door *door;
	struct side server, client;
	uint64_t job;
	unsigned int n_entered;
	char address[64];
	ev_timer limit;
};

static void break_if(struct side *side, const char *at)
{
	if (side->break_at && !strcmp(side->break_at, at))
		ev_break(side->loop, EVBREAK_ALL);
}

static void on_ready(struct link *link, void *owner)
{
	struct side *side = owner;

	side->n_ready++;
	side->uid = link_uid(link);
	snprintf(side->role, sizeof(side->role), "%s", link_role(link));
	if (side->closes_when_ready) {
		link_close(link, 1.);
		side->link = NULL;
	}
	break_if(side, "ready");
}

static void on_message(struct link *link, const char *op, json_t *head, const char *body,
		       size_t body_size, void *owner)
{
	struct side *side = owner;

	side->n_messages++;
	side->body_bytes += body_size;
	snprintf(side->last_op, sizeof(side->last_op), "%s", op);
	if (side->is_echo)
		is_int(link_send(link, json_incref(head), body, body_size), 0);
	break_if(side, "message");
}

static void on_closed(struct link *link, int error, const char *why, void *owner)
{
	struct side *side = owner;

	side->n_closed++;
	side->error = error;
	snprintf(side->why, sizeof(side->why), "%s", why);
	side->link = NULL;
	break_if(side, "closed");
}

static const struct link_events events = {
	.ready = on_ready,
	.message = on_message,
	.closed = on_closed,
};

static void on_enter(int fd, uint64_t job, void *owner)
{
	struct world *world = owner;

	world->job = job;
	world->n_entered++;
	world->server.link = link_accept(world->loop, world->auth, fd, &events, &world->server);
}

static void on_limit(struct ev_loop *loop, ev_timer *timer, int revents)
{
	okf(false, "it took more than %g s", LIMIT_S);
	ev_break(loop, EVBREAK_ALL);
}

static void run(struct world *world)
{
	ev_timer_init(&world->limit, on_limit, LIMIT_S, 0.);
	ev_now_update(world->loop);
	ev_timer_start(world->loop, &world->limit);
	ev_run(world->loop, 0);
	ev_timer_stop(world->loop, &world->limit);
}

static void settle(struct world *world)
{
	for (int i = 0; i < 50; i++)
		ev_run(world->loop, EVRUN_NOWAIT);
}

static bool setup(struct world *world)
{
	memset(world, 0, sizeof(*world));
	if (!munged_start(&world->munged))
		return false;
	world->loop = ev_loop_new(EVFLAG_AUTO);
	world->server.loop = world->client.loop = world->loop;
	world->auth = auth_open(world->loop, world->munged.path);
	world->door = door_open(world->loop, "127.0.0.1:0", on_enter, world);
	if (!ok(world->auth && world->door))
		return false;
	snprintf(world->address, sizeof(world->address), "127.0.0.1:%d", door_port(world->door));
	return true;
}

static void teardown(struct world *world)
{
	if (world->client.link)
		link_close(world->client.link, 0.);
	if (world->server.link)
		link_close(world->server.link, 0.);
	settle(world);
	door_close(world->door);
	auth_close(world->auth);
	ev_loop_destroy(world->loop);
	munged_stop(&world->munged);
}

static void connect_client(struct world *world, const char *break_at)
{
	world->client.break_at = break_at;
	world->client.link = link_connect(world->loop, world->auth, world->address, 42, "tool",
					  (uid_t)-1, &events, &world->client);
	ok(world->client.link != NULL);
}

/* A plain connection to the door, without any of our code behind it. */
static int stranger(const struct world *world)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
				 .sin_port = htons((uint16_t)door_port(world->door)),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ok(fd >= 0 && !connect(fd, (struct sockaddr *)&at, sizeof(at)));
	return fd;
}

static int greeted_stranger(struct world *world)
{
	char bytes[PREAMBLE_BYTES];
	unsigned int before = world->n_entered;
	int fd = stranger(world);

	preamble_encode(bytes, 0);
	is_int(send(fd, bytes, sizeof(bytes), 0), sizeof(bytes));
	while (world->n_entered == before)
		ev_run(world->loop, EVRUN_ONCE);
	return fd;
}

/* --- the handshake ------------------------------------------------------------------------------ */

TAP_TEST(link_connect__handshake_both_ways)
{
	struct world world;

	if (!setup(&world))
		return;
	world.server.is_echo = true;
	connect_client(&world, "message");
	is_int(link_send(world.client.link, json_pack("{s:s}", "op", "early"), "body", 4), 0);
	is_int(world.client.n_ready, 0);
	run(&world);
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
	teardown(&world);
}

TAP_TEST(link_connect__by_name)
{
	struct world world;

	if (!setup(&world))
		return;
	snprintf(world.address, sizeof(world.address), "localhost:%d", door_port(world.door));
	connect_client(&world, "ready");
	run(&world);
	is_int(world.client.n_ready, 1);
	teardown(&world);
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

	if (!setup(&world))
		return;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(world.address, sizeof(world.address), "%s", cases[i].address);
		connect_client(&world, "closed");
		is_int(world.client.n_closed, i);
		run(&world);
		is_int(world.client.n_closed, i + 1);
		okf(world.client.error == cases[i].error, "%s: %d", cases[i].address,
		    world.client.error);
		okf(strstr(world.client.why, cases[i].says) != NULL, "%s", world.client.why);
	}
	teardown(&world);
}

TAP_TEST(link_close__in_ready_and_before)
{
	struct world world;

	if (!setup(&world))
		return;
	world.server.closes_when_ready = true;
	connect_client(&world, "closed");
	run(&world);
	is_int(world.client.n_ready, 1);
	is_int(world.client.error, 0);
	connect_client(&world, "closed");
	link_close(world.client.link, 0.);
	world.client.link = NULL;
	settle(&world);
	teardown(&world);
}

TAP_TEST(link_close__lingers_through_the_handshake)
{
	struct world world;

	if (!setup(&world))
		return;
	connect_client(&world, NULL);
	world.server.break_at = "closed";
	link_send(world.client.link, json_pack("{s:s}", "op", "last"), NULL, 0);
	link_close(world.client.link, 5.);
	world.client.link = NULL;
	run(&world);
	is_str(world.server.last_op, "last");
	is_int(world.client.n_ready, 0);
	teardown(&world);
}

/* Reads what the door's side says first, answers with @credential, and looks how that ends. */
static void answer_with(struct world *world, int fd, const char *credential, const char *says)
{
	json_t *head = json_pack("{s:s, s:s, s:s, s:s}", "op", "hello", "nonce",
				 "00112233445566778899aabbccddeeff", "role", "tool", "credential",
				 credential);
	unsigned int before = world->server.n_closed;
	size_t size = 0;
	char *bytes = frame_encode(head, 0, &size), got[4096] = "";
	ssize_t n;

	is_int(send(fd, bytes, size, 0), size);
	free(bytes);
	json_decref(head);
	world->server.break_at = "closed";
	run(world);
	is_int(world->server.n_closed, before + 1);
	is_int(world->server.error, EACCES);
	okf(strstr(world->server.why, says) != NULL, "%s", world->server.why);
	n = recv(fd, got, sizeof(got) - 1, MSG_WAITALL);
	ok(n > 0 && memmem(got, (size_t)n, "refused", 7) &&
	   memmem(got, (size_t)n, says, strlen(says)));
	close(fd);
}

static void on_made(const struct auth_answer *answer, void *owner)
{
	snprintf(owner, 2048, "%s", answer->error ? answer->why : answer->text);
}

static void make(struct world *world, char credential[2048], const char *payload, uid_t reader)
{
	credential[0] = '\0';
	ok(auth_make(world->auth, payload, reader, on_made, credential) != NULL);
	while (!credential[0])
		ev_run(world->loop, EVRUN_ONCE);
}

TAP_TEST(link_accept__credentials_that_are_worth_nothing_here)
{
	char credential[2048];
	struct world world;

	if (!setup(&world))
		return;
	answer_with(&world, greeted_stranger(&world), "MUNGE:no:", "munge refuses");
	make(&world, credential, "connect tool 00 11 127.0.0.1:1", (uid_t)-1);
	answer_with(&world, greeted_stranger(&world), credential, "another connection");
	answer_with(&world, greeted_stranger(&world), credential, "replayed");
	make(&world, credential, "connect tool 00 11 127.0.0.1:1", NOBODY);
	if (geteuid())
		answer_with(&world, greeted_stranger(&world), credential, "unauthorized");
	teardown(&world);
}

/* A credential for this very connection, but for another address: what a man in the middle has. */
TAP_TEST(link_accept__credential_for_another_address)
{
	char hello[1024], credential[2048], payload[512];
	struct world world;
	struct frame frame;
	size_t used;
	int fd;

	if (!setup(&world))
		return;
	fd = greeted_stranger(&world);
	must(frame_decode(&frame, hello, (size_t)recv(fd, hello, sizeof(hello), 0), FRAME_MAX,
			  &used) == 1);
	snprintf(payload, sizeof(payload),
		 "connect tool %s 00112233445566778899aabbccddeeff 10.1.2.3:7710",
		 json_string_value(json_object_get(frame.head, "nonce")));
	json_decref(frame.head);
	make(&world, credential, payload, (uid_t)-1);
	answer_with(&world, fd, credential, "10.1.2.3:7710");
	teardown(&world);
}

/* --- strangers ---------------------------------------------------------------------------------- */

static void hostile(struct world *world, const char *bytes, size_t size, int error)
{
	unsigned int before = world->server.n_closed;
	int fd = greeted_stranger(world);

	world->server.break_at = "closed";
	is_int(send(fd, bytes, size, 0), size);
	run(world);
	is_int(world->server.n_closed, before + 1);
	is_int(world->server.error, error);
	close(fd);
}

TAP_TEST(link_accept__hostile_strangers)
{
	struct world world;

	if (!setup(&world))
		return;
	hostile(&world, "\0\0\x20\0", 4, EMSGSIZE);
	hostile(&world, "GET / HTTP/1.1\r\n", 16, EMSGSIZE);
	hostile(&world, "\0\0\0\0", 4, EPROTO);
	hostile(&world, "\0\0\0\x0e\0\0\0\x0a{\"op\":\"x\"}", 18, EPROTO);
	is_int(world.server.n_ready, 0);
	teardown(&world);
}

TAP_TEST(link_accept__half_open_and_slow)
{
	struct world world;
	int fd, slow;

	if (!setup(&world))
		return;
	fd = greeted_stranger(&world);
	shutdown(fd, SHUT_WR);
	world.server.break_at = "closed";
	run(&world);
	is_int(world.server.error, ECONNRESET);
	slow = greeted_stranger(&world);
	is_int(send(slow, "\0", 1, 0), 1);
	run(&world);
	is_int(world.server.error, ETIMEDOUT);
	close(fd);
	close(slow);
	teardown(&world);
}

TAP_TEST(door__slow_and_wrong_preambles)
{
	struct world world;
	char byte;
	int slow, wrong, gone;

	if (!setup(&world))
		return;
	slow = stranger(&world);
	wrong = stranger(&world);
	gone = stranger(&world);
	is_int(send(slow, "OSC", 3, 0), 3);
	is_int(send(wrong, "OSCORE2\n12345678", 16, 0), 16);
	close(gone);
	ev_sleep(0.01);
	settle(&world);
	is_int(recv(wrong, &byte, 1, MSG_DONTWAIT), 0);
	is_int(recv(slow, &byte, 1, MSG_DONTWAIT), -1);
	while (recv(slow, &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN)
		ev_run(world.loop, EVRUN_ONCE);
	is_int(world.n_entered, 0);
	close(slow);
	close(wrong);
	teardown(&world);
}

TAP_TEST(door__preamble_in_pieces)
{
	char bytes[PREAMBLE_BYTES];
	struct world world;
	int fd;

	if (!setup(&world))
		return;
	fd = stranger(&world);
	preamble_encode(bytes, 0x0102030405060708);
	for (size_t i = 0; i < sizeof(bytes); i++) {
		is_int(world.n_entered, 0);
		is_int(send(fd, bytes + i, 1, 0), 1);
		settle(&world);
	}
	is_int(world.n_entered, 1);
	is_int(world.job, 0x0102030405060708);
	close(fd);
	teardown(&world);
}

TAP_TEST(door__bad_places)
{
	struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);
	struct door *any = door_open(loop, "0", on_enter, NULL);
	char text[64];

	must(any != NULL);
	ok(door_port(any) > 0);
	snprintf(text, sizeof(text), "127.0.0.1:%d", door_port(any));
	ok(!door_open(loop, text, on_enter, NULL));
	is_int(errno, EADDRINUSE);
	ok(!door_open(loop, "nonsense:x", on_enter, NULL));
	is_int(errno, EINVAL);
	ok(!door_open(loop, "192.0.2.1:0", on_enter, NULL));
	is_int(errno, EADDRNOTAVAIL);
	door_close(any);
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
	if (!setup(&world))
		return;
	for (int i = 0; i < IDLE; i++) {
		fds[i] = i % 2 ? stranger(&world) : greeted_stranger(&world);
		ev_run(world.loop, EVRUN_NOWAIT);
	}
	world.server.is_echo = true;
	connect_client(&world, "message");
	link_send(world.client.link, json_pack("{s:s}", "op", "request"), NULL, 0);
	run(&world);
	is_str(world.client.last_op, "request");
	for (int i = 0; i < IDLE; i++)
		close(fds[i]);
	world.server.break_at = NULL;
	settle(&world);
	teardown(&world);
}

/* --- munged ------------------------------------------------------------------------------------- */

TAP_TEST(link_connect__munged_is_dead)
{
	struct world world;

	if (!setup(&world))
		return;
	munged_kill(&world.munged);
	connect_client(&world, "closed");
	run(&world);
	is_int(world.client.error, EAGAIN);
	ok(strstr(world.client.why, world.munged.path) != NULL);
	tap_diag("%s", world.client.why);
	teardown(&world);
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

	if (!setup(&world))
		return;
	kill(world.munged.pid, SIGSTOP);
	ev_timer_init(&tick, on_tick, 0.01, 0.01);
	tick.data = &n_ticks;
	ev_timer_start(world.loop, &tick);
	connect_client(&world, "closed");
	run(&world);
	ev_timer_stop(world.loop, &tick);
	is_int(world.client.n_closed, 1);
	okf(world.client.error == EAGAIN, "%d %s", world.client.error, world.client.why);
	okf(n_ticks > 50, "%u ticks", n_ticks);
	kill(world.munged.pid, SIGCONT);
	connect_client(&world, "ready");
	run(&world);
	is_int(world.client.n_ready, 1);
	teardown(&world);
}

/* --- users -------------------------------------------------------------------------------------- */

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
		other.door = door_open(other.loop, "127.0.0.1:0", on_enter, &other);
		*port = door_port(other.door);
		if (write(pipes[1], port, sizeof(*port)) != sizeof(*port))
			_exit(1);
		ev_run(other.loop, 0);
		_exit(0);
	}
	is_int(read(pipes[0], port, sizeof(*port)), sizeof(*port));
	close(pipes[0]);
	close(pipes[1]);
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
	if (!setup(&world))
		return;
	pid = serve_as(&world, NOBODY, &port);
	snprintf(world.address, sizeof(world.address), "127.0.0.1:%d", port);
	connect_client(&world, "closed");
	run(&world);
	is_int(world.client.error, EACCES);
	ok(strstr(world.client.why, "65534") != NULL);
	world.client.break_at = "ready";
	world.client.link = link_connect(world.loop, world.auth, world.address, 0, "tool", NOBODY,
					 &events, &world.client);
	run(&world);
	is_int(world.client.n_ready, 1);
	is_int(world.client.uid, NOBODY);
	is_int(link_gid(world.client.link), NOBODY);
	kill(pid, SIGTERM);
	waitpid(pid, NULL, 0);
	teardown(&world);
}

TAP_TEST(link_accept__says_who_connects)
{
	struct world world;
	pid_t pid;

	if (geteuid()) {
		tap_skip("needs root, to be somebody else as well");
		return;
	}
	if (!setup(&world))
		return;
	pid = fork();
	if (!pid) {
		struct world other = {.loop = ev_loop_new(EVFLAG_AUTO)};

		if (setgid(NOBODY) || setuid(NOBODY))
			_exit(1);
		other.client.loop = other.loop;
		snprintf(other.address, sizeof(other.address), "%s", world.address);
		other.auth = auth_open(other.loop, world.munged.path);
		connect_client(&other, "closed");
		ev_run(other.loop, 0);
		_exit(other.client.n_ready == 1 ? 0 : 1);
	}
	world.server.break_at = "ready";
	run(&world);
	is_int(world.server.n_ready, 1);
	is_int(world.server.uid, NOBODY);
	kill(pid, SIGTERM);
	waitpid(pid, NULL, 0);
	teardown(&world);
}
