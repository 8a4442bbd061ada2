// SPDX-License-Identifier: BSD-3-Clause
/*
 * stall - queue pairs whose work does not come back after their port failed. A device tries again
 * what is not acknowledged and reports it in the end. Soft-RoCE of Linux 6.1 does not always do so.
 * A send that finds no route, because the link has just gone down, stops the queue pair. Those
 * before it that were not acknowledged are then neither tried again nor reported. So when a port
 * fails or comes back, every request that its queue pairs have posted by then has to come back. A
 * connection whose queue pair brings none back is lost, and made again by the next pair of rails.
 * While the port is down the same becomes of what is posted later, so a connection that has nothing
 * under way leaves it as well, where another port leads to the peer.
 */
#include <stdio.h>

#include "pm-verbs/conn/connection.h"
#include "pm-verbs/conn/lanes.h"
#include "pm-verbs/conn/silence.h"
#include "pm-verbs/conn/stall.h"
#include "pm-verbs/hw/watch.h"

static void lose(struct pmv_link *link, struct pmv_qp *qp)
{
	const struct pmv_port *port = &qp->rail->port;
	const char *stuck = qp->n_watched ? ": nothing is acknowledged since its link failed" : "";
	char why[192];

	pmv_watch_end(link, qp);
	snprintf(why, sizeof(why), "%s:%u%s%s", port->device, port->number,
		 qp->rail->is_down ? " (its link is down)" : "", stuck);
	pmv_lane_rest(link, qp);
	pmv_connection_lost(link, qp->peer, UINT64_MAX, why);
}

/* Or will be by what is posted next. */
static bool is_stuck(const struct pmv_link *link, const struct pmv_qp *qp)
{
	if (qp->n_watched)
		return qp->n_watched == qp->n_seen;
	return qp->rail->is_down && !pmv_is_cut_off(link, qp->peer);
}

void pmv_stall_timers(struct pmv_link *link, uint64_t now)
{
	struct pmv_qp *next;

	for (struct pmv_qp *qp = link->qps; qp && link->n_stalling; qp = next) {
		next = qp->next;
		if (!qp->stall_ns || now < qp->stall_ns)
			continue;
		if (is_stuck(link, qp)) {
			lose(link, qp);
			/* with it others may have gone that were lanes of the same connection */
			next = link->qps;
			continue;
		}
		pmv_watch_again(link, qp, now);
	}
}
