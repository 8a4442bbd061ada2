// SPDX-License-Identifier: BSD-3-Clause
/*
 * connection - the life of the queue pair towards one peer:
 *
 *   IDLE --connect--> GREETING --both connected--> READY --lost--> DRAINING --all came back--> GREETING ...
 *                                                         --closed in agreement (closing.c)--> IDLE
 *
 * Each goes by a number, its epoch, which both sides know; the pair of rails follows from it, so that a
 * connection that broke is made anew on the next pair. Numbers of pairs of which a port is down are left out.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pm-verbs/completion.h"
#include "pm-verbs/connection.h"
#include "pm-verbs/export.h"
#include "pm-verbs/greeter.h"
#include "pm-verbs/lanes.h"
#include "pm-verbs/leave.h"
#include "pm-verbs/patience.h"
#include "pm-verbs/peer.h"
#include "pm-verbs/pool.h"
#include "pm-verbs/rail.h"
#include "pm-verbs/rma.h"
#include "pm-verbs/roster.h"
#include "pm-verbs/rx.h"
#include "pm-verbs/state.h"
#include "pm-verbs/shared.h"
#include "pm-verbs/stall.h"
#include "pm-verbs/tx.h"
#include "pm-verbs/wireup.h"

#define INLINE_WANTED 128 /* bytes; a device that has less is used without */
#define READS 4           /* RDMA reads under way: every device answers as many */

uint64_t pmv_random(struct pmv_link *link)
{
	uint64_t z = link->rng += 0x9e3779b97f4a7c15ull; /* splitmix64 */

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

uint32_t pmv_qp_depth(const struct pmv_link *link)
{
	return link->n_credits + PMV_PIECES + 1;
}

uint32_t pmv_connection_completions(const struct pmv_link *link, bool is_shared)
{
	return pmv_qp_depth(link) + (is_shared ? 0 : link->n_credits);
}

static uint32_t pair_of(const struct pmv_link *link, const struct pm_link_peer *peer,
			uint32_t epoch)
{
	return (epoch + link->env.self + peer->node) % peer->n_pairs;
}

uint32_t pmv_connection_pair(const struct pmv_link *link, const struct pm_link_peer *peer)
{
	return pair_of(link, peer, peer->epoch);
}

/*
 * The number of the next connection: that of a pair of rails of which ours is up, if there is one. The other side does
 * the same with its own, and whoever hears of a higher number takes that.
 */
static uint32_t next_epoch(struct pmv_link *link, const struct pm_link_peer *peer)
{
	uint32_t first = peer->epoch + 1;

	/* what a port said unheard: two sides that leave out each other's choice would never agree */
	pmv_events(link);
	for (uint32_t epoch = first; epoch < first + peer->n_pairs; epoch++)
		if (!link->rails[peer->pairs[pair_of(link, peer, epoch)].ours].is_down)
			return epoch;
	return first;
}

static struct ibv_qp *create(struct pmv_link *link, const struct pmv_qp *want)
{
	struct pmv_rail *rail = want->rail;
	struct ibv_qp_init_attr attr = {
		.send_cq = rail->cq,
		.recv_cq = rail->cq,
		.srq = want->is_shared ? rail->shared.srq : NULL,
		.cap = {.max_send_wr = want->lane ? PMV_PIECES : pmv_qp_depth(link),
			.max_recv_wr = want->is_shared ? 0 : link->n_credits,
			.max_send_sge = 1,
			.max_recv_sge = want->is_shared ? 0 : 1,
			.max_inline_data = rail->max_inline},
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp *qp;

	/* nobody sends to a lane, but none is what not every device takes for an answer */
	if (want->lane)
		attr.cap.max_recv_wr = 1;

	if (rail->max_inline == UINT32_MAX)
		attr.cap.max_inline_data = INLINE_WANTED;
	qp = link->v->create_qp(rail->pd, &attr);
	if (!qp && rail->max_inline == UINT32_MAX) {
		attr.cap.max_inline_data = 0;
		qp = link->v->create_qp(rail->pd, &attr);
	}
	if (qp)
		rail->max_inline = attr.cap.max_inline_data;
	return qp;
}

int pmv_qp_to_init(struct pmv_link *link, struct pmv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = qp->rail->port.number,
		.qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE,
	};

	return -link->v->modify_qp(qp->qp, &attr,
				   IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
					   IBV_QP_ACCESS_FLAGS);
}

/* Receives for all that the peer may send: what is still held gives its place back later. */
static int post_receives(struct pmv_link *link, struct pm_link_peer *peer)
{
	while (peer->qp->n_receives < link->n_credits - peer->n_held) {
		struct pmv_slot *slot = pmv_slot_get(link);

		if (!slot)
			return -ENOMEM;
		if (!pmv_post_receive(link, peer->qp, slot)) {
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
	peer->owed = peer->owed_control = 0;
	return err;
}

int pmv_qp_make(struct pmv_link *link, const struct pmv_qp *want, struct pmv_qp **ret_qp)
{
	struct pmv_qp *qp = malloc(sizeof(*qp));
	int err = qp ? pmv_rail_reserve(link, want->rail, want->completions) : -ENOMEM;

	if (err) {
		free(qp);
		return err;
	}
	*qp = *want;
	errno = 0;
	qp->qp = create(link, want);
	if (!qp->qp) {
		want->rail->cq_used -= want->completions;
		free(qp);
		return errno ? -errno : -EIO;
	}
	qp->probe.kind = PMV_WORK_PROBE;
	qp->probe.qp = qp;
	qp->next = link->qps;
	link->qps = qp;
	link->n_qps++;
	*ret_qp = qp;
	return 0;
}

static int open_end(struct pmv_link *link, struct pm_link_peer *peer)
{
	struct pmv_rail *rail = &link->rails[peer->pairs[pmv_connection_pair(link, peer)].ours];
	struct pmv_qp want = {
		.rail = rail, .peer = peer, .is_shared = pmv_shared_ready(link, rail)};
	int err;

	want.completions = pmv_connection_completions(link, want.is_shared);
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
	return peer->stage == PMV_IDLE && peer->state == PMV_PEER_ALIVE && !peer->is_leaving;
}

void pmv_connect(struct pmv_link *link, struct pm_link_peer *peer)
{
	if (may_connect(peer) && pmv_roster_enter(link, peer))
		pmv_connection_begin(link, peer);
}

void pmv_connection_begin(struct pmv_link *link, struct pm_link_peer *peer)
{
	uint64_t now = pmv_now(link);
	uint32_t n_others = link->n_qps;
	int err;

	if (!may_connect(peer))
		return;
	peer->epoch = next_epoch(link, peer);
	peer->psn = pmv_random(link) & 0xffffff;
	err = open_end(link, peer);
	if (err == -ENOMEM && pmv_roster_lower(link, n_others)) {
		pmv_connection_end(link, peer);
		pmv_connect(link, peer);
		return;
	}
	if (err) {
		pmv_peer_lose(link, peer, "no queue pair for it can be made: %s%s", strerror(-err),
			      err == -ENOMEM ? ": allow more locked memory (ulimit -l)" : "");
		return;
	}
	peer->stage = PMV_GREETING;
	link->n_greeting++;
	pmv_roster_began(link, peer);
	peer->greeted = 0;
	peer->pause_ns = PMV_GREET_MIN_NS;
	peer->next_greeting_ns = now + peer->pause_ns;
	pmv_patience_begin(link, peer, now);
	pmv_greet(link, peer, 0);
}

static enum ibv_mtu mtu_of(uint32_t bytes)
{
	enum ibv_mtu mtu = IBV_MTU_256;

	while (mtu < IBV_MTU_4096 && 128u << mtu < bytes)
		mtu++;
	return mtu;
}

static int to_receive(struct pmv_link *link, struct pmv_qp *qp, const struct pmv_end *end,
		      const struct pmv_qp_start *theirs)
{
	const struct pmv_rail *rail = qp->rail;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = mtu_of(end->mtu),
		.dest_qp_num = theirs->number,
		.rq_psn = theirs->psn,
		.max_dest_rd_atomic = (uint8_t)rail->max_reads,
		.min_rnr_timer = 12,
	};

	pmv_path_to(rail, end, &attr.ah_attr);
	return -link->v->modify_qp(qp->qp, &attr,
				   IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
					   IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
					   IBV_QP_MIN_RNR_TIMER);
}

static int to_send(struct pmv_link *link, struct pmv_qp *qp, uint32_t psn)
{
	uint32_t reads = qp->rail->max_reads;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.timeout = 16, /* 4.096 us << 16: 0.27 s */
		.retry_cnt =
			6, /* the 7 that other fields have for ever means so here too to rdma_rxe */
		.rnr_retry = 7, /* for ever: credits see to it that there are receives */
		.sq_psn = psn,
		.max_rd_atomic = (uint8_t)(reads < READS ? reads : READS),
	};

	return -link->v->modify_qp(qp->qp, &attr,
				   IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
					   IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
					   IBV_QP_MAX_QP_RD_ATOMIC);
}

int pmv_qp_connect(struct pmv_link *link, struct pmv_qp *qp, uint32_t pair, uint32_t psn,
		   const struct pmv_qp_start *theirs)
{
	const struct pm_link_peer *peer = qp->peer;
	int err = to_receive(link, qp, &peer->address.rails[peer->pairs[pair].theirs], theirs);

	if (!err)
		err = to_send(link, qp, psn);
	qp->is_connected = !err;
	return err;
}

int pmv_connect_to(struct pmv_link *link, struct pm_link_peer *peer,
		   const struct pmv_greeting *greeting)
{
	const struct pmv_qp_start theirs = {greeting->qp, greeting->psn};
	int err;

	if (greeting->received < peer->first || greeting->received - peer->first > peer->posted.n) {
		pmv_peer_kill(link, peer, "it counts messages that were never sent");
		return -EPIPE;
	}
	err = pmv_qp_connect(link, peer->qp, pmv_connection_pair(link, peer), peer->psn, &theirs);
	if (err) {
		char why[sizeof(peer->why)];

		/* the next pair of rails may do */
		snprintf(why, sizeof(why), "its queue pair cannot be connected: %s",
			 strerror(-err));
		pmv_connection_lost(link, peer, UINT64_MAX, why);
		return err;
	}
	pmv_roster_heard(link, peer);
	peer->credits = greeting->credits;
	pmv_settle(link, peer, greeting->received);
	return 0;
}

void pmv_connection_ready(struct pmv_link *link, struct pm_link_peer *peer)
{
	if (peer->stage != PMV_GREETING)
		return;
	peer->stage = PMV_READY;
	link->n_greeting--;
	pmv_patience_undoubt(link, peer);
	peer->since_ns = pmv_now(link);
	peer->used = 0;
	pmv_pump(link, peer);
	pmv_rma_pump(link, peer);
	/* buffers may have been released since the greeting told how many there are */
	pmv_return_credits(link, peer);
}

/* ---- the end of one ---- */

void pmv_qp_destroy(struct pmv_link *link, struct pmv_qp *qp)
{
	struct pmv_qp **at = &link->qps;
	int err;
	uint32_t number;

	while (*at != qp)
		at = &(*at)->next;
	*at = qp->next;
	link->n_qps--;
	pmv_stall_end(link, qp);
	qp->rail->cq_used -= qp->completions;
	link->is_crowded = true;
	number = qp->qp->qp_num;
	err = link->v->destroy_qp(qp->qp);
	if (err)
		pmv_note_refusal(link, "a queue pair is not destroyed", err);
	if (qp->is_shared)
		pmv_shared_leave(link, qp->rail, number);
	free(qp);
}

/* Whether a connection that ended in agreement is missed. Posted messages may have arrived: the next one tells. */
static bool is_missed(const struct pm_link_peer *peer)
{
	return peer->is_called || peer->queue.head || peer->posted.head || peer->ops;
}

/* The next one, if it is wanted. One that was lost keeps its place: the other side may wait there. */
static void go_on(struct pmv_link *link, struct pm_link_peer *peer)
{
	if (peer->is_parted && !is_missed(peer))
		return;
	if (!peer->is_parted && pmv_roster_has_place(link, peer))
		pmv_connection_begin(link, peer);
	else
		pmv_connect(link, peer);
}

/* All of the old connection has come back: what it knew is void, and the next one begins. */
static void drained(struct pmv_link *link, struct pm_link_peer *peer)
{
	peer->stage = PMV_IDLE;
	peer->credits = 0;
	pmv_slots_put(link, &peer->control);
	pmv_rma_lost(link, peer);
	pmv_export_forget(link, peer);
	if (peer->failures > PMV_FAILURES_MAX) {
		char why[sizeof(peer->why)];

		strcpy(why, peer->why);
		pmv_peer_lose(link, peer, "connections to it broke %u times in a row: %.120s",
			      peer->failures, why);
		return;
	}
	go_on(link, peer);
}

void pmv_qp_ended(struct pmv_link *link, struct pmv_qp *qp)
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

void pmv_qp_returned(struct pmv_link *link, struct pmv_qp *qp)
{
	if (!qp->is_failed || qp->n_sends || qp->n_receives)
		return;
	/* before it was connected nobody knew that it may send to it */
	if (qp->is_shared && qp->is_connected)
		pmv_shared_end(link, qp);
	else
		pmv_qp_ended(link, qp);
}

int pmv_qp_fail(struct pmv_link *link, struct pmv_qp *qp)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
	int err;

	if (qp->is_failed)
		return 0;
	qp->is_failed = true;
	pmv_stall_end(link, qp);
	err = -link->v->modify_qp(qp->qp, &attr, IBV_QP_STATE);
	qp->is_stuck = err != 0;
	return err;
}

/* The peer counts no more among those in its stage. */
static void leave_stage(struct pmv_link *link, struct pm_link_peer *peer)
{
	link->n_greeting -= peer->stage == PMV_GREETING;
	link->n_closing -= peer->stage == PMV_CLOSING;
	pmv_patience_undoubt(link, peer);
	pmv_roster_heard(link, peer);
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
	peer->lost_ns = lost_ns;
	if (why)
		snprintf(peer->why, sizeof(peer->why), "%s", why);
	drain(link, peer);
}

static void part(struct pmv_link *link, struct pm_link_peer *peer, uint64_t lost_ns)
{
	peer->is_parted = true;
	peer->lost_ns = lost_ns;
	link->stats->connections_closed++;
	drain(link, peer);
}

void pmv_connection_part(struct pmv_link *link, struct pm_link_peer *peer)
{
	part(link, peer, UINT64_MAX);
	pmv_patience_parted(link, peer);
}

void pmv_connection_yield(struct pmv_link *link, struct pm_link_peer *peer, uint64_t now)
{
	uint64_t left = peer->patience_ns;

	if (left != UINT64_MAX)
		left = left > now ? left - now : 1;
	part(link, peer, left);
}

void pmv_connection_end(struct pmv_link *link, struct pm_link_peer *peer)
{
	struct pmv_qp *qp = peer->qp;

	leave_stage(link, peer);
	pmv_roster_leave(link, peer);
	pmv_lanes_end(link, peer);
	peer->is_called = peer->is_parted = false;
	peer->stage = PMV_IDLE;
	peer->qp = NULL;
	if (!qp)
		return;
	qp->peer = NULL;
	/* one that can't be stopped is destroyed when the link is closed */
	if (!pmv_qp_fail(link, qp))
		pmv_qp_returned(link, qp);
}
