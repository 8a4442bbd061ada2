// SPDX-License-Identifier: BSD-3-Clause
/*
 * verbs_peers - what a verbs link needs for its peers, by the fake provider of the unit tests. One
 * link knows PEERS others and talks to the first TALKING of them. Each of these is a link of its
 * own and answers. One JSON object tells what the link has after each of the three steps.
 *
 *	verbs_peers PEERS TALKING [OPTIONS]		options as in pm_options(5)
 *
 *	memory		bytes, as the link tells, registered ones included
 *	registered	bytes that the device may write or read
 *	queue_pairs	of peers, without the one that greetings go by
 *	requests	places of their queues
 *	completions	places of the completion queues
 *
 * Exit status: 0, 1 something went wrong, 2 wrong arguments.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "pmcore/tools/common/json.h"
#include "tests/unit/pm-verbs/fake_private.h"
#include "tests/unit/pm-verbs/links.h"

#define OPS (&pm_verbs_ops)
#define PEERS_MAX 65536
#define PATIENCE 100000 /* looks at both sides until a message is there */

/* A link and what it was opened with; number 0 is the one that is looked at. */
static struct node *links;
static struct pm_link_peer **towards; /* its peers, by their numbers */

static bool make_links(uint32_t n, const char *options)
{
	struct rlimit files;

	/* each link has two descriptors of the provider */
	if (getrlimit(RLIMIT_NOFILE, &files))
		return false;
	files.rlim_cur = files.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &files))
		return false;
	links = calloc(n, sizeof(*links));
	for (uint32_t i = 0; links && i < n; i++) {
		int err = node_open(&links[i], i, options);

		if (!err)
			continue;
		fprintf(stderr, "verbs_peers: link %u: %s: %s\n", i, strerror(-err), links[i].why);
		return false;
	}
	return links;
}

/* Those that never say anything need no link: they have the address of one that does. */
static bool add_peers(uint32_t peers, uint32_t talking)
{
	towards = calloc(peers + 1, sizeof(*towards));
	for (uint32_t i = 1; towards && i <= peers; i++) {
		const struct node *there = &links[i <= talking ? i : 1];

		if (OPS->peer_add(links[0].link, i, there->address, there->address_len,
				  &towards[i]))
			return false;
	}
	for (uint32_t i = 1; towards && i <= talking; i++)
		if (OPS->peer_add(links[i].link, 0, links[0].address, links[0].address_len,
				  &links[i].peer[0]))
			return false;
	return towards;
}

static bool send(struct node *from, struct pm_link_peer *to)
{
	uint64_t cookie;
	void *buf;

	if (OPS->get_send(from->link, to, 8, &buf, &cookie))
		return false;
	memset(buf, 0, 8);
	return !OPS->send(from->link, to, cookie, 8);
}

/*
 * Until @at has taken a message. @other is looked at as well, and the @n first links in turn: they
 * have nothing to take, but their connections are closed for others.
 */
static bool receive(struct node *at, struct node *other, uint32_t n)
{
	struct pm_inbound in;

	for (int i = 0; i < PATIENCE; i++) {
		struct node *old = &links[(uint32_t)i % n];
		int got = OPS->receive(at->link, &in);

		if (got == 1) {
			OPS->release(at->link, in.cookie);
			return true;
		}
		if (got < 0 || OPS->receive(other->link, &in) < 0 ||
		    (old != at && OPS->receive(old->link, &in) < 0))
			return false;
	}
	return false;
}

static bool talk(uint32_t i)
{
	return send(&links[0], towards[i]) && receive(&links[i], &links[0], i) &&
	       send(&links[i], links[i].peer[0]) && receive(&links[0], &links[i], i);
}

/* ---- what the one link has ---- */

static bool is_ours(const struct ibv_context *context)
{
	const struct pmv_link *link = pmv_of(links[0].link);

	for (uint32_t i = 0; i < link->n_rails; i++)
		if (link->rails[i].context == context)
			return true;
	return false;
}

static void tell(struct json *json, const char *when)
{
	const struct pmv_link *link = pmv_of(links[0].link);
	uint64_t registered = 0, pairs = 0, requests = 0, completions = 0;

	for (const struct fake_mr *mr = fake_world.mrs; mr; mr = mr->next)
		if (is_ours(mr->base.context))
			registered += mr->base.length;
	for (const struct fake_qp *qp = fake_world.qps; qp; qp = qp->next) {
		if (!is_ours(qp->base.context) || qp->base.qp_type != IBV_QPT_RC)
			continue;
		pairs++;
		requests += qp->cap.max_send_wr + qp->cap.max_recv_wr;
	}
	for (uint32_t i = 0; i < link->n_rails; i++)
		completions += (uint64_t)link->rails[i].cq->cqe;
	json_open(json, when, '{');
	json_count(json, "memory", OPS->memory(links[0].link));
	json_count(json, "registered", registered);
	json_count(json, "queue_pairs", pairs);
	json_count(json, "requests", requests);
	json_count(json, "completions", completions);
	json_close(json, '}');
}

static bool run(uint32_t peers, uint32_t talking, const char *options)
{
	struct json json = {.out = stdout};

	if (!make_links(talking + 1, options))
		return false;
	json_open(&json, NULL, '{');
	json_count(&json, "peers", peers);
	json_count(&json, "talking", talking);
	tell(&json, "alone");
	if (!add_peers(peers, talking))
		return false;
	tell(&json, "known");
	for (uint32_t i = 1; i <= talking; i++)
		if (!talk(i)) {
			fprintf(stderr, "verbs_peers: node %u does not answer: %s\n", i,
				towards[i]->why);
			return false;
		}
	tell(&json, "connected");
	json_close(&json, '}');
	json_end_line(&json);
	return true;
}

int main(int argc, char **argv)
{
	unsigned long peers = argc >= 3 ? strtoul(argv[1], NULL, 10) : 0;
	unsigned long talking = argc >= 3 ? strtoul(argv[2], NULL, 10) : 0;

	if (argc > 4 || !talking || talking > peers || peers > PEERS_MAX) {
		fprintf(stderr, "usage: verbs_peers PEERS TALKING [OPTIONS]\n");
		return 2;
	}
	fake_begin(1);
	/* the rest goes with the process */
	return run((uint32_t)peers, (uint32_t)talking, argc == 4 ? argv[3] : NULL) ? 0 : 1;
}
