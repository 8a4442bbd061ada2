// SPDX-License-Identifier: BSD-3-Clause
/*
 * Strangers in the lobby and in auth's queue, over loopback: one address of 127.0.0.0/8 for each
 * network.
 */
#include "scheduler/proto/lobby.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "scheduler/proto/files.h"
#include "scheduler/proto/frame.h"
#include "scheduler/proto/netaddr.h"
#include "tests/harness/tap.h"
#include "tests/unit/scheduler/proto/link_world.h"

#define EXTRA 6
#define GARBAGE 2456 /* credentials of a second of the attack that kept all scruns out */

struct hall {
	struct world world;
	struct lobby *lobby;
	struct acceptor *acceptor;
	int fds[LOBBY_MAX + EXTRA];
	int n_fds, n_known, n_failed, n_entered;
};

static void known(struct link *link, void *owner)
{
	struct hall *hall = owner;

	hall->n_known++;
	link_set(link, &world_events, &hall->world.server);
	hall->world.server.link = link;
}

static void failed(struct link *link, int error, const char *why, void *owner)
{
	struct hall *hall = owner;

	(void)link;
	(void)error;
	(void)why;
	hall->n_failed++;
}

static const struct lobby_events events = {.known = known, .failed = failed};

static void enter(int fd, uint64_t job, void *owner)
{
	struct hall *hall = owner;

	(void)job;
	hall->n_entered++;
	lobby_enter(hall->lobby, fd);
}

static struct hall *new_hall(void)
{
	struct hall *hall = calloc(1, sizeof(*hall));
	struct rlimit limit = {0};

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_cur < FILES_PARTS * (LOBBY_MAX + EXTRA)) {
		tap_skip("only %lu descriptors (ulimit -n)", (unsigned long)limit.rlim_cur);
		free(hall);
		return NULL;
	}
	if (!world_setup(&hall->world)) {
		free(hall);
		return NULL;
	}
	hall->world.asks = 0;
	hall->lobby = lobby_open(hall->world.loop, hall->world.auth, &events, hall);
	hall->acceptor = acceptor_open(hall->world.loop, "127.0.0.1:0", enter, hall);
	snprintf(hall->world.address, sizeof(hall->world.address), "127.0.0.1:%d",
		 acceptor_port(hall->acceptor));
	return hall;
}

static void end_hall(struct hall *hall)
{
	for (int i = 0; i < hall->n_fds; i++)
		close(hall->fds[i]);
	lobby_close(hall->lobby);
	acceptor_close(hall->acceptor);
	world_teardown(&hall->world);
	free(hall);
}

/* Somebody at 127.0.0.@last who sends a preamble and says nothing more. */
static int stranger(struct hall *hall, int last)
{
	struct sockaddr_in from = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(0x7f000000u | (uint32_t)last)};
	struct sockaddr_in at = {.sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				 .sin_port = htons((uint16_t)acceptor_port(hall->acceptor))};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), before = hall->n_entered;
	char bytes[PREAMBLE_BYTES];

	preamble_encode(bytes, 0);
	ok(!bind(fd, (struct sockaddr *)&from, sizeof(from)) &&
	   !connect(fd, (struct sockaddr *)&at, sizeof(at)) &&
	   send(fd, bytes, sizeof(bytes), 0) == sizeof(bytes));
	while (hall->n_entered == before)
		ev_run(hall->world.loop, EVRUN_ONCE);
	hall->fds[hall->n_fds++] = fd;
	return fd;
}

TAP_TEST(lobby_enter__each_network_displaces_its_own)
{
	struct hall *hall = new_hall();
	char said[2048] = "";
	int first;

	if (!hall)
		return;
	first = stranger(hall, 9);
	for (int i = 1; i < LOBBY_NET_MAX + EXTRA; i++)
		stranger(hall, 9);
	is_int(lobby_displaced(hall->lobby), EXTRA);
	ok(recv(first, said, sizeof(said) - 1, MSG_DONTWAIT) > 0);
	/* The greeting, then why it is shown out; lengths stand before both. */
	okf(memmem(said, sizeof(said), "too many connections", 20) != NULL, "not told why");
	is_int(recv(first, said, sizeof(said), MSG_DONTWAIT), 0);
	while (hall->n_fds < LOBBY_MAX + EXTRA)
		stranger(hall, 8);
	is_int(lobby_displaced(hall->lobby), 0);
	/* All places are taken: for somebody from elsewhere one of the many goes. */
	hall->world.server.is_echo = true;
	world_connect(&hall->world, "message");
	link_send(hall->world.client.link, json_pack("{s:s}", "op", "request"), NULL, 0);
	world_run(&hall->world);
	is_str(hall->world.client.last_op, "request");
	is_int(hall->n_known, 1);
	is_int(hall->n_failed, 0);
	is_int(lobby_displaced(hall->lobby), 1);
	end_hall(hall);
}

struct reader {
	struct world *world;
	int n_read; /* of the garbage */
	int before; /* n_read when the honest one was answered; -1 = not yet */
};

static void garbage_read(const struct auth_answer *answer, void *owner)
{
	struct reader *reader = owner;

	ok(answer->error);
	if (++reader->n_read == GARBAGE)
		ev_break(reader->world->loop, EVBREAK_ALL);
}

static void honest_read(const struct auth_answer *answer, void *owner)
{
	struct reader *reader = owner;

	ok(answer->error);
	reader->before = reader->n_read;
}

TAP_TEST(auth_read__strangers_have_turns_by_network)
{
	struct netaddr_net many = {{1}}, one = {{2}};
	struct world world;
	struct reader reader = {.world = &world, .before = -1};

	if (!world_setup(&world))
		return;
	for (int i = 0; i < GARBAGE; i++)
		ok(auth_read(world.auth, "MUNGE:garbage:", &many, garbage_read, &reader));
	ok(auth_read(world.auth, "MUNGE:other:", &one, honest_read, &reader));
	world_run(&world);
	okf(reader.before >= 0 && reader.before < GARBAGE / 2, "%d were read first", reader.before);
	ok(!auth_knows(world.auth, &many));
	world_teardown(&world);
}

TAP_TEST(auth_forget__of_one_that_waits)
{
	struct netaddr_net many = {{1}};
	struct auth_task *tasks[GARBAGE];
	struct world world;

	if (!world_setup(&world))
		return;
	for (int i = 0; i < GARBAGE; i++)
		tasks[i] = auth_read(world.auth, "MUNGE:garbage:", &many, garbage_read, NULL);
	for (int i = 0; i < GARBAGE; i++)
		auth_forget(tasks[i]);
	/* Nothing is asked any more: the loop has nobody to wait for. */
	acceptor_close(world.acceptor);
	ev_run(world.loop, 0);
	world.acceptor = acceptor_open(world.loop, "127.0.0.1:0", world_enter, &world);
	world_teardown(&world);
}
