// SPDX-License-Identifier: BSD-3-Clause
/*
 * closing - the end of a connection in agreement, for the sake of its place:
 *
 *   READY --CLOSE sent, or theirs came--> CLOSING --both acknowledged--> DRAINING --> IDLE
 *
 * CLOSE is the last message of each side, so a side that has the other's has all its messages. Both
 * may send it at once: there is no answer that differs from it. A process that computes takes no
 * messages, yet its device does: after PMV_AGREE_NS a side ends the connection alone if its own
 * CLOSE was acknowledged or the other's is there. Messages that the other side still sends then are
 * sent again over the next connection, by the counts.
 */
#include "pm-verbs/conn/closing.h"

#include "pm-verbs/conn/connection.h"

void pmv_close(struct pmv_link *link, struct pm_link_peer *peer, uint64_t now)
{
	peer->stage = PMV_CLOSING;
	peer->since_ns = now;
	link->n_closing++;
	link->from_conn->closing(link, peer);
}

/* Whether our CLOSE, and so all before it, has been acknowledged. */
static bool is_acknowledged(const struct pm_link_peer *peer)
{
	return peer->is_close_posted && !peer->posted.head;
}

void pmv_close_acknowledged(struct pmv_link *link, struct pm_link_peer *peer)
{
	if (peer->is_closed && is_acknowledged(peer))
		pmv_connection_part(link, peer);
}

void pmv_close_arrived(struct pmv_link *link, struct pm_link_peer *peer)
{
	peer->is_closed = true;
	if (peer->stage == PMV_READY)
		pmv_close(link, peer, pmv_now(link));
	else if (peer->stage == PMV_CLOSING)
		pmv_close_acknowledged(link, peer);
}

bool pmv_close_is_young(const struct pm_link_peer *peer, uint64_t now)
{
	return now < peer->since_ns + PMV_AGREE_NS;
}

void pmv_close_timers(struct pmv_link *link, uint64_t now)
{
	struct pmv_qp *next;

	for (struct pmv_qp *qp = link->qps; qp && link->n_closing; qp = next) {
		struct pm_link_peer *peer = qp->peer;

		next = qp->next;
		/* once for each connection: its lanes, which go with it, come before it */
		if (!peer || qp->lane || peer->stage != PMV_CLOSING ||
		    pmv_close_is_young(peer, now))
			continue;
		/* else the device tells soon whether the other one lives */
		if (peer->is_closed || is_acknowledged(peer))
			pmv_connection_part(link, peer);
	}
}
