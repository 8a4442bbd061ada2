// SPDX-License-Identifier: BSD-3-Clause
/* link_world - see link_world.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scheduler/proto/acceptor.h"
#include "scheduler/proto/frame.h"
#include "scheduler/proto/handshake.h"
#include "scheduler/proto/link.h"
#include "tests/harness/tap.h"
#include "tests/unit/scheduler/proto/link_world.h"

#define LIMIT_S 20.

/*
 * --- a server and a client in one loop ----------------------------------------------------------
 */

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

const struct link_events world_events = {
	.ready = on_ready,
	.message = on_message,
	.closed = on_closed,
};

void world_enter(int fd, uint64_t job, void *owner)
{
	struct world *world = owner;

	world->job = job;
	world->n_entered++;
	world->server.link = link_accept(world->loop, world->auth, fd,
					 world->serves ? world->serves : job, &world_events,
					 &world->server);
}

static void on_limit(struct ev_loop *loop, ev_timer *timer, int revents)
{
	okf(false, "it took more than %g s", LIMIT_S);
	ev_break(loop, EVBREAK_ALL);
}

void world_run(struct world *world)
{
	ev_timer_init(&world->limit, on_limit, LIMIT_S, 0.);
	ev_now_update(world->loop);
	ev_timer_start(world->loop, &world->limit);
	ev_run(world->loop, 0);
	ev_timer_stop(world->loop, &world->limit);
}

void world_settle(struct world *world)
{
	for (int i = 0; i < 50; i++)
		ev_run(world->loop, EVRUN_NOWAIT);
}

bool world_setup(struct world *world)
{
	memset(world, 0, sizeof(*world));
	if (!munged_start(&world->munged))
		return false;
	world->asks = 42;
	world->loop = ev_loop_new(EVFLAG_AUTO);
	world->server.loop = world->client.loop = world->loop;
	world->auth = auth_open(world->loop, world->munged.path);
	world->acceptor = acceptor_open(world->loop, "127.0.0.1:0", world_enter, world);
	if (!ok(world->auth && world->acceptor))
		return false;
	snprintf(world->address, sizeof(world->address), "127.0.0.1:%d",
		 acceptor_port(world->acceptor));
	return true;
}

void world_teardown(struct world *world)
{
	if (world->client.link)
		link_close(world->client.link, 0.);
	if (world->server.link)
		link_close(world->server.link, 0.);
	world_settle(world);
	acceptor_close(world->acceptor);
	auth_close(world->auth);
	ev_loop_destroy(world->loop);
	munged_stop(&world->munged);
}

void world_connect(struct world *world, const char *break_at)
{
	world->client.break_at = break_at;
	world->client.link = link_connect(world->loop, world->auth, world->address, world->asks,
					  "tool", (uid_t)-1, &world_events, &world->client);
	ok(world->client.link != NULL);
}

/* A plain connection to the acceptor, without any of our code behind it. */
int world_stranger(const struct world *world)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
				 .sin_port = htons((uint16_t)acceptor_port(world->acceptor)),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ok(fd >= 0 && !connect(fd, (struct sockaddr *)&at, sizeof(at)));
	return fd;
}

int world_greeted_stranger(struct world *world)
{
	char bytes[PREAMBLE_BYTES];
	unsigned int before = world->n_entered;
	int fd = world_stranger(world);

	preamble_encode(bytes, 0);
	is_int(send(fd, bytes, sizeof(bytes), 0), sizeof(bytes));
	while (world->n_entered == before)
		ev_run(world->loop, EVRUN_ONCE);
	return fd;
}
