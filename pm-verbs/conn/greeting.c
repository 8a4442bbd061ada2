// SPDX-License-Identifier: BSD-3-Clause
/*
 * greeting - one greeting to a peer: what it says, and by which pair of rails it goes. wireup.c
 * decides when.
 */
#include "pm-verbs/conn/greeting.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "pm-verbs/conn/pair.h"
#include "pm-verbs/hw/greeter.h"

/*
 * Which pair of rails the next greeting takes: first that of the connection, later the others in
 * turn.
 */
static uint32_t next_pair(const struct pmv_link *link, const struct pm_link_peer *peer)
{
	return (peer->epoch + link->env.self + peer->node + peer->greeted / 2) % peer->n_pairs;
}

static struct pmv_path *path_of(struct pmv_link *link, struct pm_link_peer *peer, uint32_t pair)
{
	struct pmv_rail *rail = &link->rails[peer->pairs[pair].ours];

	if (peer->paths[pair])
		return peer->paths[pair];
	peer->paths[pair] =
		pmv_path_open(link, rail, &peer->address.rails[peer->pairs[pair].theirs]);
	if (!peer->paths[pair])
		snprintf(peer->why, sizeof(peer->why), "no way to it by %s:%u: %s",
			 rail->port.device, rail->port.number, strerror(errno));
	return peer->paths[pair];
}

/* A greeting that can't be sent now is sent again as one that got lost. */
void pmv_greet(struct pmv_link *link, struct pm_link_peer *peer, uint32_t flags)
{
	uint32_t pair = next_pair(link, peer);
	struct pmv_rail *rail = &link->rails[peer->pairs[pair].ours];
	struct pmv_path *path = path_of(link, peer, pair);
	const struct pmv_greeting greeting = {
		.flags = flags,
		.from = link->env.self,
		.to = peer->node,
		/* who waits has not begun it yet */
		.epoch = peer->epoch + (flags == PMV_WAIT),
		.life = peer->life,
		.heard = peer->their_life,
		.qp = peer->qp ? peer->qp->qp->qp_num : 0,
		.psn = peer->psn,
		.credits = peer->qp ? peer->offered : 0,
		.received = peer->received,
	};
	uint8_t bytes[PMV_GREETING_BYTES];

	peer->greeted++;
	if (rail->greeter_state == PMV_GREETER_BROKEN) {
		snprintf(peer->why, sizeof(peer->why), "no greetings go by %s:%u: %.90s",
			 rail->port.device, rail->port.number, rail->greeter_why);
		return;
	}
	if (!path)
		return;
	pmv_greeting_put(bytes, &greeting, link->env.job_key);
	pmv_greeter_send(link, rail, path, pmv_pair_end(peer, pair)->qp, bytes, sizeof(bytes));
}

void pmv_greet_first(struct pmv_link *link, struct pm_link_peer *peer, uint64_t now)
{
	peer->greeted = 0;
	peer->pause_ns = PMV_GREET_MIN_NS;
	peer->next_greeting_ns = now + peer->pause_ns;
	pmv_greet(link, peer, 0);
}

void pmv_greet_again(struct pmv_link *link, struct pm_link_peer *peer, uint32_t flags, uint64_t now)
{
	uint64_t pause_ns = peer->pause_ns * 2;

	peer->pause_ns = pause_ns < PMV_GREET_MAX_NS ? pause_ns : PMV_GREET_MAX_NS;
	peer->next_greeting_ns = now + peer->pause_ns;
	pmv_greet(link, peer, flags);
}
