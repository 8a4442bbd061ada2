// SPDX-License-Identifier: BSD-3-Clause
/*
 * The acceptor for parents in a tree of files: a crowd in front of it ends no file of who is known.
 */
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "scheduler/proto/frame.h"
#include "scheduler/scremote/agent.h"
#include "scheduler/scremote/parent.h"
#include "tests/harness/tap.h"
#include "tests/unit/scheduler/proto/link_world.h"

#define CROWD (PARENTS_MAX + 8)

/* Is among the parents when it is greeted. */
static int stranger(struct ev_loop *loop, const struct parents *parents)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
				 .sin_port = htons((uint16_t)parents_port(parents)),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char bytes[PREAMBLE_BYTES], greeting;

	ok(fd >= 0 && !connect(fd, (struct sockaddr *)&at, sizeof(at)));
	preamble_encode(bytes, 0);
	is_int(send(fd, bytes, sizeof(bytes), 0), sizeof(bytes));
	while (recv(fd, &greeting, 1, MSG_PEEK | MSG_DONTWAIT) < 0)
		ev_run(loop, EVRUN_ONCE);
	return fd;
}

TAP_TEST(parents__a_crowd_of_strangers)
{
	struct world world;
	struct agent agent = {0};
	struct side known = {.break_at = "ready"};
	char address[64];
	int crowd[CROWD];

	if (!world_setup(&world))
		return;
	agent.loop = known.loop = world.loop;
	agent.auth = world.auth;
	TAILQ_INIT(&agent.puts);
	agent.parents = parents_open(&agent);
	must(agent.parents != NULL);
	snprintf(address, sizeof(address), "127.0.0.1:%d", parents_port(agent.parents));
	known.link = link_connect(world.loop, world.auth, address, 0, "remote", (uid_t)-1,
				  &world_events, &known);
	world_run(&world);
	is_int(known.n_ready, 1);
	world_settle(&world);
	for (size_t i = 0; i < CROWD; i++)
		crowd[i] = stranger(world.loop, agent.parents);
	ev_run(world.loop, EVRUN_NOWAIT);
	is_int(known.n_closed, 0);
	for (size_t i = 0; i < CROWD; i++)
		close(crowd[i]);
	if (known.link)
		link_close(known.link, 0);
	parents_close(agent.parents);
	world_teardown(&world);
}
