// SPDX-License-Identifier: BSD-3-Clause
/*
 * traffic - what becomes of a peer's messages and operations when its connection comes, goes or
 * ends: connections call these through link->from_conn, and know nothing of what goes over them.
 */
#include "pm-verbs/data/traffic.h"

#include "pm-verbs/data/export.h"
#include "pm-verbs/data/rma.h"
#include "pm-verbs/data/rx.h"
#include "pm-verbs/data/tx.h"
#include "pm-verbs/hw/pool.h"

static void settle(struct pmv_link *link, struct pm_link_peer *peer, uint64_t received,
		   uint32_t credits)
{
	peer->credits = credits;
	pmv_settle(link, peer, received);
}

static void ready(struct pmv_link *link, struct pm_link_peer *peer)
{
	/* the other side has compared what has arrived here with what it has sent */
	peer->is_forged = false;
	pmv_pump(link, peer);
	pmv_rma_pump(link, peer);
	/* buffers may have been released since the greeting told how many there are */
	pmv_return_credits(link, peer);
}

static void drained(struct pmv_link *link, struct pm_link_peer *peer)
{
	peer->credits = 0;
	peer->owed = peer->owed_control = 0;
	pmv_slots_put(link, &peer->control);
	pmv_rma_lost(link, peer);
	pmv_export_forget(link, peer);
}

/* Messages that are not posted yet go to the new record. */
static void renewed(struct pmv_link *link, struct pm_link_peer *peer)
{
	pmv_posted_drop(link, peer);
	pmv_slots_put(link, &peer->control);
	/* parts may be under way, and the regions are gone with the record */
	pmv_rma_abort(link, peer);
	pmv_export_forget(link, peer);
	peer->first = peer->received = 0;
	peer->is_forged = false;
	peer->owed = peer->owed_control = 0;
}

static void given_up(struct pmv_link *link, struct pm_link_peer *peer)
{
	pmv_tx_drop(link, peer);
	pmv_rma_abort(link, peer);
	pmv_export_forget(link, peer);
}

const struct pmv_conn_callbacks pmv_traffic = {
	.settle = settle,
	.ready = ready,
	.lane_ready = pmv_rma_pump,
	.closing = pmv_pump,
	.drained = drained,
	.renewed = renewed,
	.given_up = given_up,
	.deleted = pmv_rx_drop,
	.send_control = pmv_send_control,
};
