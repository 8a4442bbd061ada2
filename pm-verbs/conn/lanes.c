// SPDX-License-Identifier: BSD-3-Clause
/*
 * lanes - further queue pairs of a connection, one for each other pair of rails, that large
 * one-sided operations are spread over. They are made over the connection and are a part of it:
 *
 *   none --we want it: LANE, or theirs came--> made --their end heard--> connected --they are
 *   connected--> ready
 *
 * Each side sends LANE twice: with its end, and when that is connected to the other one's. A side
 * that has no place for a lane sends an end of number 0. A lane that fails ends its connection,
 * with all lanes. The next connection keeps the rails of the old one if it was a lane that failed.
 */
#include "pm-verbs/conn/lanes.h"

#include <errno.h>
#include <stdlib.h>

#include "pm-verbs/conn/pair.h"
#include "pm-verbs/hw/link.h"
#include "pm-verbs/hw/qp.h"

#define REST_NS 30000000000ull  /* a pair of rails that failed is tried again after 30 s */
#define PAUSE_NS 10000000000ull /* ... one of which there was none after 10 s */

struct pmv_lane {
	struct pmv_qp *qp; /* NULL = there is none */
	uint32_t psn;      /* our first packet number */
	bool is_told;      /* they know that we are connected */
	bool is_ready;     /* so are they */
	uint64_t retry_ns; /* not tried before that */
};

struct pmv_lanes {
	struct pmv_lane by_pair[PM_RAILS_MAX];
	uint32_t n;        /* queue pairs */
	uint64_t retry_ns; /* the earliest of those that are missing may be tried */
};

uint32_t pmv_lanes_count(const struct pm_link_peer *peer)
{
	return peer->lanes ? peer->lanes->n : 0;
}

struct pmv_qp *pmv_lane_ready(const struct pm_link_peer *peer, uint32_t pair)
{
	const struct pmv_lane *lane = peer->lanes ? &peer->lanes->by_pair[pair] : NULL;

	return lane && lane->is_ready ? lane->qp : NULL;
}

static struct pmv_lanes *lanes_of(struct pm_link_peer *peer)
{
	if (!peer->lanes)
		peer->lanes = calloc(1, sizeof(*peer->lanes));
	return peer->lanes;
}

/* ---- one of them ---- */

/* Places are for connections first. */
static bool may_make(const struct pmv_link *link, const struct pm_link_peer *peer, uint32_t pair,
		     uint64_t now)
{
	return !link->waiting && link->n_qps < link->n_most / 2 &&
	       !link->rails[peer->pairs[pair].ours].is_down &&
	       now >= peer->lanes->by_pair[pair].retry_ns;
}

static void forget(struct pmv_lane *lane)
{
	*lane = (struct pmv_lane){.retry_ns = lane->retry_ns};
}

/* It goes, unused as it is, and is not tried for a while. */
static void give_up(struct pmv_link *link, struct pm_link_peer *peer, uint32_t pair)
{
	struct pmv_lane *lane = &peer->lanes->by_pair[pair];
	struct pmv_qp *qp = lane->qp;

	lane->retry_ns = pmv_now(link) + PAUSE_NS;
	if (!qp)
		return;
	pmv_lane_ended(peer, qp);
	pmv_qp_destroy(link, qp);
}

static int make(struct pmv_link *link, struct pm_link_peer *peer, uint32_t pair)
{
	struct pmv_lane *lane = &peer->lanes->by_pair[pair];
	const struct pmv_qp want = {.rail = &link->rails[peer->pairs[pair].ours],
				    .peer = peer,
				    .lane = (uint8_t)(pair + 1),
				    .completions = PMV_PIECES + 1};
	int err = pmv_qp_make(link, &want, &lane->qp);

	if (err)
		return err;
	peer->lanes->n++;
	lane->psn = pmv_random(link) & 0xffffff;
	return pmv_qp_to_init(link, lane->qp);
}

/* Says our end, or that there is none; false: the connection is lost, or the peer. */
static bool say(struct pmv_link *link, struct pm_link_peer *peer, uint32_t pair, uint32_t yours)
{
	const struct pmv_lane *lane = &peer->lanes->by_pair[pair];
	const struct pmv_control word = {
		.lane = pair + 1,
		.qp = lane->qp ? lane->qp->qp->qp_num : 0,
		.psn = lane->psn,
		.yours = yours,
	};

	return link->from_conn->send_control(link, peer, PMV_LANE, &word) &&
	       peer->stage == PMV_READY;
}

/* ---- beginning ---- */

static bool make_missing(struct pmv_link *link, struct pm_link_peer *peer, uint64_t now)
{
	uint32_t own = pmv_pair_of(link, peer);

	peer->lanes->retry_ns = now + PAUSE_NS;
	for (uint32_t pair = 0; pair < peer->n_pairs; pair++) {
		if (pair == own || peer->lanes->by_pair[pair].qp ||
		    !may_make(link, peer, pair, now))
			continue;
		if (make(link, peer, pair))
			give_up(link, peer, pair);
		else if (!say(link, peer, pair, 0))
			return false;
	}
	return true;
}

bool pmv_lanes_want(struct pmv_link *link, struct pm_link_peer *peer)
{
	uint64_t now;

	if (peer->n_pairs < 2 || pmv_lanes_count(peer) == peer->n_pairs - 1 || !lanes_of(peer))
		return true;
	now = pmv_now(link);
	return now < peer->lanes->retry_ns || make_missing(link, peer, now);
}

/* Theirs is there: so is ours, if it can be. */
static bool answer(struct pmv_link *link, struct pm_link_peer *peer, uint32_t pair,
		   const struct pmv_qp_start *theirs)
{
	struct pmv_lane *lane = &peer->lanes->by_pair[pair];
	bool is_possible = lane->qp ||
			   (may_make(link, peer, pair, pmv_now(link)) && !make(link, peer, pair));

	if (is_possible && !lane->qp->is_connected)
		is_possible = !pmv_qp_connect(link, lane->qp, pmv_pair_end(peer, pair), lane->psn,
					      theirs);
	if (!is_possible) {
		give_up(link, peer, pair);
		return say(link, peer, pair, 0);
	}
	if (lane->is_told)
		return true;
	lane->is_told = true;
	return say(link, peer, pair, theirs->number);
}

static bool is_lane_of(const struct pmv_link *link, const struct pm_link_peer *peer, uint32_t lane)
{
	return lane <= peer->n_pairs && lane - 1 != pmv_pair_of(link, peer);
}

int pmv_lane_heard(struct pmv_link *link, struct pm_link_peer *peer,
		   const struct pmv_control *control)
{
	const struct pmv_qp_start theirs = {control->qp, control->psn};
	uint32_t pair = control->lane - 1;
	struct pmv_lane *lane;

	/* one that is about to end needs none any more */
	if (peer->stage != PMV_READY)
		return 0;
	if (!lanes_of(peer))
		return -ENOMEM;
	lane = &peer->lanes->by_pair[pair];
	if (!is_lane_of(link, peer, control->lane) || (!control->qp && lane->is_ready))
		return -EPROTO;
	if (!control->qp) {
		give_up(link, peer, pair);
		return 0;
	}
	/* what it says of an end that is no more crossed what we said of that */
	if (control->yours && (!lane->qp || lane->qp->qp->qp_num != control->yours))
		return 0;
	if (!answer(link, peer, pair, &theirs))
		return 0;
	lane->is_ready |= lane->qp && control->yours;
	if (lane->is_ready)
		link->from_conn->lane_ready(link, peer);
	return 0;
}

/* ---- the end ---- */

void pmv_lane_rest(struct pmv_link *link, struct pmv_qp *qp)
{
	struct pm_link_peer *peer = qp->peer;
	uint32_t pair = qp->lane ? qp->lane - 1u : pmv_pair_of(link, peer);

	if (!peer->lanes)
		return;
	peer->lanes->by_pair[pair].retry_ns = pmv_now(link) + REST_NS;
	/* the number of the next connection leads to the same rails again */
	if (qp->lane)
		pmv_pair_keep(peer);
}

int pmv_lanes_fail(struct pmv_link *link, struct pm_link_peer *peer)
{
	int err = 0;

	for (uint32_t i = 0; i < peer->n_pairs && pmv_lanes_count(peer) && !err; i++)
		if (peer->lanes->by_pair[i].qp)
			err = pmv_qp_fail(link, peer->lanes->by_pair[i].qp);
	return err;
}

void pmv_lanes_returned(struct pmv_link *link, struct pm_link_peer *peer)
{
	for (uint32_t i = 0; i < peer->n_pairs && pmv_lanes_count(peer); i++)
		if (peer->lanes->by_pair[i].qp)
			pmv_qp_returned(link, peer->lanes->by_pair[i].qp);
}

void pmv_lane_ended(struct pm_link_peer *peer, const struct pmv_qp *qp)
{
	forget(&peer->lanes->by_pair[qp->lane - 1]);
	peer->lanes->n--;
	peer->lanes->retry_ns = 0;
}

void pmv_lanes_end(struct pmv_link *link, struct pm_link_peer *peer)
{
	for (uint32_t i = 0; i < peer->n_pairs && pmv_lanes_count(peer); i++) {
		struct pmv_qp *qp = peer->lanes->by_pair[i].qp;

		if (!qp)
			continue;
		pmv_lane_ended(peer, qp);
		qp->peer = NULL;
		/*
		 * as the connection's own: one that can't be stopped is destroyed when the link is
		 * closed
		 */
		if (!pmv_qp_fail(link, qp))
			pmv_qp_returned(link, qp);
	}
}

void pmv_lanes_free(struct pm_link_peer *peer)
{
	free(peer->lanes);
	peer->lanes = NULL;
}

uint64_t pmv_lanes_memory(const struct pm_link_peer *peer)
{
	return peer->lanes ? sizeof(*peer->lanes) : 0;
}
