// SPDX-License-Identifier: BSD-3-Clause
/*
 * mtl_pm_death - what happens when a peer dies: people are told, and all that waits for it ends
 * with an error.
 */
#include "mpi-glue/mtl/mtl_pm.h"
#include "mpi-glue/mtl/mtl_pm_context.h"
#include "mpi-glue/common/job.h"

#include <errno.h>
#include <stdlib.h>

/* Receives posted for the dead process end; those from any source can still be served by others. */
static void end_posted(pmNode node)
{
	struct mtl_pm_comm *c;

	TAILQ_FOREACH(c, &mtl_pm.comms, link) {
		const struct table *bins = &c->matching->bins;

		for (uint32_t i = 0; bins->slots && i <= bins->mask; i++) {
			int32_t rank = (int32_t)bins->slots[i].key;
			struct match_entry *e;
			pmNode its_node;

			if (!bins->slots[i].value || ompi_comm_peer_invalid(c->comm, rank) ||
			    !mtl_pm_node_of_rank(c->comm, rank, &its_node) || its_node != node)
				continue;
			while ((e = match_take_posted(c->matching, rank)))
				mtl_pm_receive_finish(mtl_pm_receive_of_match(e), EPIPE);
		}
	}
}

/* Operations the peer knows by number: sends that wait for its answer, receives it streams to. */
static void end_numbered(struct mtl_pm_peer *peer)
{
	for (uint32_t i = 0; i < mtl_pm.ids.size; i++) {
		struct mtl_pm_request *req = mtl_pm.ids.slots[i].object;

		if (!req)
			continue;
		if (req->is_receive && req->receive.peer == peer)
			mtl_pm_receive_rest_done(&req->receive, EPIPE);
		else if (!req->is_receive && req->send.peer == peer)
			mtl_pm_send_finish(&req->send, EPIPE);
	}
}

static void end_half_arrived(struct mtl_pm_peer *peer)
{
	struct mtl_pm_message *m = peer->open;
	struct mtl_pm_request *filling = peer->filling;

	peer->filling = NULL;
	if (filling)
		mtl_pm_receive_head_done(&filling->receive, EPIPE);
	peer->open = NULL;
	if (!m)
		return;
	if (m->claimed)
		mtl_pm_receive_head_done(&m->claimed->receive, EPIPE);
	match_discard(&m->match);
	mtl_pm_message_drop(m);
}

static void say(pmNode node, const char *why)
{
	char *host = mtl_pm_host_of_node(node);

	mtl_pm_say("peer died", ompi_process_info.nodename, job_node_rank(node),
		   host ? host : "unknown host", why);
	free(host);
}

void mtl_pm_peer_died(pmNode node, const char *why)
{
	struct mtl_pm_peer *peer = mtl_pm_peer_of_node(node);

	mtl_pm.deaths++;
	if (!peer || peer->is_dead)
		return;
	peer->is_dead = true;
	/* nothing goes by the short way, also after PM has got other devices */
	mtl_pm_peer_choke(peer, true);
	if (!mtl_pm.client || mtl_pm.is_used)
		say(node, why);
	if (mtl_pm.client)
		mtl_pm.client->died(peer, why);
	while (!TAILQ_EMPTY(&peer->sends))
		mtl_pm_send_finish(TAILQ_FIRST(&peer->sends), EPIPE);
	while (!TAILQ_EMPTY(&peer->streams))
		mtl_pm_send_finish(TAILQ_FIRST(&peer->streams), EPIPE);
	mtl_pm_drop_gathered(peer);
	mtl_pm_push_notes(peer);
	end_numbered(peer);
	end_half_arrived(peer);
	end_posted(node);
}
