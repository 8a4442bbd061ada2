// SPDX-License-Identifier: BSD-3-Clause
/*
 * connection - the life of the queue pair towards one peer:
 *
 *   IDLE --connect--> GREETING --both connected--> READY --lost--> DRAINING --all came back-->
 *   GREETING ...
 *                                                         --closed in agreement (closing.c)--> IDLE
 *
 * Each goes by a number, its epoch, which both sides know; the pair of rails follows from it, so
 * that a connection that broke is made anew on the next pair. Numbers of pairs of which a port is
 * down are left out.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pm-verbs/conn/closing.h"
#include "pm-verbs/conn/connection.h"
#include "pm-verbs/conn/greeting.h"
#include "pm-verbs/conn/lanes.h"
#include "pm-verbs/conn/life.h"
#include "pm-verbs/conn/pair.h"
#include "pm-verbs/conn/places.h"
#include "pm-verbs/conn/silence.h"
#include "pm-verbs/hw/link.h"
#include "pm-verbs/hw/pool.h"
#include "pm-verbs/hw/qp.h"
#include "pm-verbs/hw/shared.h"

/* Receives for all that the peer may send: what is still held gives its place back later. */
static int post_receives(struct pmv_link *link, struct pm_link_peer *peer)
{
	while (peer->qp->n_receives < link->n_credits - peer->n_held) {
		struct pmv_slot *slot = pmv_slot_get(link);

		if (!slot)
			return -ENOMEM;
		if (!pmv_qp_post_receive(link, peer->qp, slot)) {
			pmv_slot_put(link, slot);
			return -EIO;
		}
	}
	return 0;
}

static int offer_receives(struct pmv_link *link, struct pm_link_peer *peer)
{
	int err = peer->qp->is_shared ? 0 : post_receives(link, peer);

	peer->offered = link->n_credits - peer->n_held;
	return err;
}

static int open_end(struct pmv_link *link, struct pm_link_peer *peer)
{
	struct pmv_rail *rail = &link->rails[peer->pairs[pmv_pair_of(link, peer)].ours];
	struct pmv_qp want = {
		.rail = rail, .peer = peer, .is_shared = pmv_shared_ready(link, rail)};
	int err;

	want.completions = pmv_qp_completions(link, want.is_shared);
	err = pmv_qp_make(link, &want, &peer->qp);
	if (err)
		return err;
	/* before anything else may fail: it leaves when it is destroyed */
	err = want.is_shared ? pmv_shared_join(link, peer->qp) : 0;
	if (!err)
		err = pmv_qp_to_init(link, peer->qp);
	return err ? err : offer_receives(link, peer);
}

static bool may_connect(const struct pm_link_peer *peer)
{
	return peer->stage == PMV_IDLE && pmv_peer_is_open(peer) && peer->state != PMV_PEER_LEAVING;
}

void pmv_connect(struct pmv_link *link, struct pm_link_peer *peer)
{
	if (may_connect(peer) && pmv_places_enter(link, peer))
		pmv_connection_begin(link, peer);
}

void pmv_connection_begin(struct pmv_link *link, struct pm_link_peer *peer)
{
	uint64_t now = pmv_now(link);
	uint32_t n_others = link->n_qps;
	int err;

	if (!may_connect(peer))
		return;
	pmv_pair_next(link, peer);
	peer->psn = pmv_random(link) & 0xffffff;
	err = open_end(link, peer);
	if ((err == -ENOMEM || err == -EAGAIN) && pmv_places_lower(link, n_others)) {
		pmv_connection_end(link, peer);
		pmv_connect(link, peer);
		return;
	}
	if (err) {
		pmv_peer_lose(link, peer, "no queue pair for it can be made: %s%s",
			      err == -EAGAIN ? PMV_NO_MORE : strerror(-err),
			      err == -ENOMEM ? ": allow more locked memory (ulimit -l)" : "");
		return;
	}
	peer->stage = PMV_GREETING;
	link->n_greeting++;
	link->stats->connections_reopened += peer->is_parted;
	peer->is_parted = false;
	pmv_close_reset(peer);
	pmv_places_began(link, peer);
	pmv_silence_begin(link, peer, now);
	pmv_greet_first(link, peer, now);
}

const char *pmv_remedy(const struct pm_link_peer *peer)
{
	/* its packets are ordinary ones of UDP */
	for (uint32_t i = 0; i < peer->n_pairs; i++)
		if (pmv_pair_end(peer, i)->protocol == PMV_ROCE_V2)
			return "let no user of the hosts send to UDP port 4791";
	return "its device or the fabric loses or forges some: see \"rdma statistic\"";
}

static void agree_on_tokens(struct pmv_link *link, struct pm_link_peer *peer,
			    const struct pmv_greeting *greeting)
{
	const struct pmv_direction out = {.epoch = peer->epoch,
					  .from_qp = peer->qp->qp->qp_num,
					  .from_psn = peer->psn,
					  .to_qp = greeting->qp,
					  .to_psn = greeting->psn};
	const struct pmv_direction in = {.epoch = peer->epoch,
					 .from_qp = greeting->qp,
					 .from_psn = greeting->psn,
					 .to_qp = peer->qp->qp->qp_num,
					 .to_psn = peer->psn};

	peer->token_out = pmv_token(link->env.job_key, &out);
	peer->token_in = pmv_token(link->env.job_key, &in);
}

int pmv_connect_to(struct pmv_link *link, struct pm_link_peer *peer,
		   const struct pmv_greeting *greeting)
{
	const struct pmv_qp_start theirs = {greeting->qp, greeting->psn};
	int err;

	if (greeting->received < peer->first) {
		pmv_peer_kill(link, peer,
			      "messages that its device has acknowledged are lost, as where "
			      "packets are forged: %s",
			      pmv_remedy(peer));
		return -EPIPE;
	}
	if (greeting->received - peer->first > peer->posted.n) {
		pmv_peer_kill(link, peer, "it counts messages that were never sent");
		return -EPIPE;
	}
	err = pmv_qp_connect(link, peer->qp, pmv_pair_end(peer, pmv_pair_of(link, peer)), peer->psn,
			     &theirs);
	if (err) {
		char why[sizeof(peer->why)];

		/* the next pair of rails may do */
		snprintf(why, sizeof(why), "its queue pair cannot be connected: %s",
			 strerror(-err));
		pmv_connection_lost(link, peer, UINT64_MAX, why);
		return err;
	}
	agree_on_tokens(link, peer, greeting);
	pmv_places_heard(link, peer);
	link->from_conn->settle(link, peer, greeting->received, greeting->credits);
	return 0;
}

void pmv_connection_ready(struct pmv_link *link, struct pm_link_peer *peer)
{
	if (peer->stage != PMV_GREETING)
		return;
	peer->stage = PMV_READY;
	link->n_greeting--;
	pmv_silence_undoubt(link, peer);
	pmv_places_ready(link, peer);
	link->from_conn->ready(link, peer);
}

/* ---- the end of one ---- */

/*
 * Whether a connection that ended in agreement is missed. Posted messages may have arrived: the
 * next one tells.
 */
static bool is_missed(const struct pm_link_peer *peer)
{
	return peer->is_called || peer->queue.head || peer->posted.head || peer->ops ||
	       peer->is_forged;
}

/*
 * The next one, if it is wanted. One that was lost keeps its place: the other side may wait there.
 */
static void go_on(struct pmv_link *link, struct pm_link_peer *peer)
{
	if (peer->is_parted && !is_missed(peer))
		return;
	if (!peer->is_parted && pmv_places_has_place(link, peer))
		pmv_connection_begin(link, peer);
	else
		pmv_connect(link, peer);
}

/* All of the old connection has come back: what it knew is void, and the next one begins. */
static void drained(struct pmv_link *link, struct pm_link_peer *peer)
{
	peer->stage = PMV_IDLE;
	link->from_conn->drained(link, peer);
	if (peer->failures > PMV_FAILURES_MAX) {
		char why[sizeof(peer->why)];

		strcpy(why, peer->why);
		pmv_peer_lose(link, peer, "connections to it broke %u times in a row: %.120s",
			      peer->failures, why);
		return;
	}
	go_on(link, peer);
}

void pmv_connection_qp_ended(struct pmv_link *link, struct pmv_qp *qp)
{
	struct pm_link_peer *peer = qp->peer;

	if (peer && qp->lane)
		pmv_lane_ended(peer, qp);
	else if (peer)
		peer->qp = NULL;
	pmv_qp_destroy(link, qp);
	if (peer && peer->stage == PMV_DRAINING && !peer->qp && !pmv_lanes_count(peer))
		drained(link, peer);
}

/* The peer counts no more among those in its stage. */
static void leave_stage(struct pmv_link *link, struct pm_link_peer *peer)
{
	link->n_greeting -= peer->stage == PMV_GREETING;
	link->n_closing -= peer->stage == PMV_CLOSING;
	pmv_silence_undoubt(link, peer);
	pmv_places_heard(link, peer);
}

static void drain(struct pmv_link *link, struct pm_link_peer *peer)
{
	int err;

	leave_stage(link, peer);
	peer->stage = PMV_DRAINING;
	err = pmv_qp_fail(link, peer->qp);
	if (!err)
		err = pmv_lanes_fail(link, peer);
	if (err) {
		pmv_peer_kill(link, peer, "its queue pair cannot be stopped: %s", strerror(-err));
		return;
	}
	/* the connection's own is last: with it the next one may begin */
	pmv_lanes_returned(link, peer);
	pmv_qp_returned(link, peer->qp);
}

void pmv_connection_lost(struct pmv_link *link, struct pm_link_peer *peer, uint64_t lost_ns,
			 const char *why)
{
	if (peer->stage == PMV_IDLE || peer->stage == PMV_DRAINING)
		return;
	/* the other side had sent all, so it may have gone first */
	if (peer->stage == PMV_CLOSING && peer->is_closed) {
		pmv_connection_part(link, peer);
		return;
	}
	peer->failures++;
	pmv_silence_set(peer, lost_ns);
	if (why)
		snprintf(peer->why, sizeof(peer->why), "%s", why);
	drain(link, peer);
}

void pmv_connection_qp_lost(struct pmv_link *link, struct pmv_qp *qp, const char *why)
{
	pmv_connection_lost(link, qp->peer, UINT64_MAX, why);
}

static void part(struct pmv_link *link, struct pm_link_peer *peer, uint64_t lost_ns)
{
	peer->is_parted = true;
	pmv_silence_set(peer, lost_ns);
	link->stats->connections_closed++;
	drain(link, peer);
}

void pmv_connection_part(struct pmv_link *link, struct pm_link_peer *peer)
{
	part(link, peer, UINT64_MAX);
	pmv_silence_parted(link, peer);
}

void pmv_connection_yield(struct pmv_link *link, struct pm_link_peer *peer, uint64_t now)
{
	uint64_t left = peer->give_up_ns;

	if (left != UINT64_MAX)
		left = left > now ? left - now : 1;
	part(link, peer, left);
}

void pmv_connection_end(struct pmv_link *link, struct pm_link_peer *peer)
{
	struct pmv_qp *qp = peer->qp;

	leave_stage(link, peer);
	pmv_places_leave(link, peer);
	pmv_lanes_end(link, peer);
	peer->is_parted = false;
	peer->stage = PMV_IDLE;
	peer->qp = NULL;
	if (!qp)
		return;
	qp->peer = NULL;
	/* one that can't be stopped is destroyed when the link is closed */
	if (!pmv_qp_fail(link, qp))
		pmv_qp_returned(link, qp);
}
