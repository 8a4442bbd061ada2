// SPDX-License-Identifier: BSD-3-Clause
/*
 * roster - the bound of queue pairs. A peer that needs a connection when all places are taken waits, first come first
 * served. The connection that was used least recently is closed: at once if nothing of it is under way, else when it
 * has had its place for PMV_SLICE_NS and a peer has waited as long. So peers that are never idle take turns.
 *
 * A greeting goes out with a queue pair already, so two links that are full of those, each waiting for a place at
 * another one, would wait for ever. So one place is never taken by a peer that we call: whoever calls us gets that one,
 * and has its own already, and no circle closes. A node that computes answers no call: after about
 * PMV_AGREE_NS a call gives its place to others and waits again. That also opens the circles of links that may have a
 * single connection, and as each draws its own time, not in step.
 */
#include "pm-verbs/roster.h"

#include <sys/resource.h>

#include "pm-verbs/closing.h"
#include "pm-verbs/connection.h"
#include "pm-verbs/link.h"
#include "pm-verbs/qp.h"

/* Connections when nobody says and there is room. */
#define MOST 256        /* 40 MiB of buffers */
#define MOST_SHARED 512 /* who shares receives has queue pairs alone for them */

static uint32_t least_of(uint64_t a, uint64_t b)
{
	return (uint32_t)(a < b ? a : b);
}

uint32_t pmv_roster_most(const struct pmv_roster_limits *limits)
{
	uint32_t most = limits->asked ? limits->asked : limits->bytes ? MOST : MOST_SHARED;
	uint32_t processes = limits->processes ? limits->processes : 1;

	most = least_of(most, limits->max_qp / processes);
	most = least_of(most, limits->max_cqe / limits->cqe);
	/* the other quarter of that half is for what is sent, and for regions (local.c has the first half) */
	if (!limits->asked && limits->bytes)
		most = least_of(most, limits->lock_limit / 4 / limits->bytes);
	return most ? most : 1;
}

/* The receives are shared on all rails. If this fails later, the bound is lowered as buffers run out. */
static bool is_shared(const struct pmv_link *link)
{
	for (uint32_t i = 0; i < link->n_rails; i++)
		if (!link->rails[i].shared.most)
			return false;
	return true;
}

/* Completions that the rail's queue has for connections. */
static uint32_t completions_left(const struct pmv_rail *rail)
{
	uint32_t used = rail->cq_used + rail->shared.room;

	return used < rail->max_cqe ? rail->max_cqe - used : 0;
}

void pmv_roster_init(struct pmv_link *link)
{
	uint64_t receives = (uint64_t)link->n_credits * link->buffer_bytes * link->n_rails;
	struct rlimit lock = {RLIM_INFINITY, RLIM_INFINITY};
	struct pmv_roster_limits limits = {
		.asked = link->env.conf->verbs_connections,
		.max_qp = UINT32_MAX,
		.max_cqe = UINT32_MAX,
		.cqe = pmv_qp_completions(link, is_shared(link)),
		.bytes = is_shared(link) ? 0 : receives,
		.processes = link->env.local,
	};

	getrlimit(RLIMIT_MEMLOCK, &lock);
	limits.lock_limit = lock.rlim_cur == RLIM_INFINITY ? UINT64_MAX : lock.rlim_cur;
	for (uint32_t i = 0; i < link->n_rails; i++) {
		const struct pmv_rail *rail = &link->rails[i];

		limits.max_qp = least_of(limits.max_qp, rail->max_qp);
		limits.max_cqe = least_of(limits.max_cqe, completions_left(rail));
	}
	link->n_most = pmv_roster_most(&limits);
	link->waiting_tail = &link->waiting;
	link->turn = 1;
}

bool pmv_roster_lower(struct pmv_link *link, uint32_t n)
{
	if (n)
		link->n_most = n;
	return n;
}

/* ---- who waits ---- */

/* Calls that may be unanswered at once: all places but one, if there are several. */
static uint32_t most_calls(const struct pmv_link *link)
{
	return link->n_most > 1 ? link->n_most - 1 : 1;
}

bool pmv_roster_has_place(const struct pmv_link *link, const struct pm_link_peer *peer)
{
	return link->n_qps < link->n_most &&
	       (peer->is_called || link->n_calling < most_calls(link));
}

static void unlink_waiting(struct pmv_link *link, struct pm_link_peer **at)
{
	struct pm_link_peer *peer = *at;

	*at = peer->next_waiting;
	if (!*at)
		link->waiting_tail = at;
	peer->is_waiting = false;
	link->n_waiting--;
}

bool pmv_roster_enter(struct pmv_link *link, struct pm_link_peer *peer)
{
	link->is_crowded = true;
	if (peer->is_waiting)
		return false;
	if (!link->waiting && pmv_roster_has_place(link, peer))
		return true;
	peer->next_waiting = NULL;
	*link->waiting_tail = peer;
	link->waiting_tail = &peer->next_waiting;
	peer->is_waiting = true;
	peer->since_ns = pmv_now(link);
	link->n_waiting++;
	return false;
}

void pmv_roster_leave(struct pmv_link *link, struct pm_link_peer *peer)
{
	struct pm_link_peer **at = &link->waiting;

	if (!peer->is_waiting)
		return;
	while (*at != peer)
		at = &(*at)->next_waiting;
	unlink_waiting(link, at);
}

void pmv_roster_began(struct pmv_link *link, struct pm_link_peer *peer)
{
	peer->is_calling = !peer->is_called;
	link->n_calling += peer->is_calling;
	peer->is_called = peer->is_closed = peer->is_close_posted = false;
	peer->since_ns = pmv_now(link);
	/* links with one place that call in a circle would give up in step, and call the next ones in step */
	peer->call_ns = PMV_AGREE_NS / 2 + pmv_random(link) % PMV_AGREE_NS;
	peer->used = 0;
	link->stats->connections_reopened += peer->is_parted;
	peer->is_parted = false;
}

void pmv_roster_heard(struct pmv_link *link, struct pm_link_peer *peer)
{
	if (!peer->is_calling)
		return;
	peer->is_calling = false;
	link->n_calling--;
	link->is_crowded = true;
}

/* On a link that stands still, messages stay where they are; operations and other nodes don't. */
static bool is_served(const struct pmv_link *link, const struct pm_link_peer *peer)
{
	return !link->is_stopped || peer->is_called || peer->ops;
}

static void give_places(struct pmv_link *link)
{
	struct pm_link_peer **at = &link->waiting;

	while (*at && link->n_qps < link->n_most) {
		struct pm_link_peer *peer = *at;

		if (!is_served(link, peer) || !pmv_roster_has_place(link, peer)) {
			at = &peer->next_waiting;
			continue;
		}
		unlink_waiting(link, at);
		pmv_connection_begin(link, peer);
	}
}

/* ---- who gives way ---- */

/* Places that those who wait could take now. */
static uint32_t wanted(const struct pmv_link *link)
{
	uint32_t most = most_calls(link), n = 0;
	/* the bound may have been lowered below the calls that there are */
	uint32_t may_call = most > link->n_calling ? most - link->n_calling : 0;

	for (const struct pm_link_peer *p = link->waiting; p && n < link->n_most;
	     p = p->next_waiting) {
		if (!is_served(link, p) || (!p->is_called && !may_call))
			continue;
		may_call -= !p->is_called;
		n++;
	}
	return n;
}

/* Places that become free soon. */
static uint32_t ending(const struct pmv_link *link, uint64_t now)
{
	uint32_t n = 0;

	for (const struct pmv_qp *qp = link->qps; qp; qp = qp->next)
		if (qp->is_failed)
			n += !qp->is_stuck;
		else if (qp->peer && qp->peer->stage == PMV_CLOSING)
			n += pmv_close_is_young(qp->peer, now);
	return n;
}

/* Nothing of the connection is under way, as far as can be seen: a peer that has a key of ours may be using it. */
static bool is_idle(const struct pm_link_peer *peer)
{
	return !peer->queue.head && !peer->control.head && !peer->n_lent && !peer->ops &&
	       !peer->n_told && !peer->qp->n_sends;
}

static bool is_slice_over(uint64_t since, uint64_t now)
{
	return now >= since + PMV_SLICE_NS;
}

/* When a peer that we greet has been silent for too long: if it is connected to us, it may believe that all is well. */
static uint64_t silent_at(const struct pm_link_peer *peer)
{
	return peer->since_ns + (peer->qp->is_connected ? PMV_SILENT_NS : peer->call_ns);
}

static bool is_unanswered(const struct pm_link_peer *peer, uint64_t now)
{
	return peer->stage == PMV_GREETING && now >= silent_at(peer);
}

/* Whether the peer's connection may be closed, given how long the first in the row has waited. */
static bool may_give_way(const struct pm_link_peer *peer, const struct pm_link_peer *first,
			 uint64_t now)
{
	if (is_unanswered(peer, now))
		return true;
	if (peer->stage != PMV_READY || peer->is_leaving)
		return false;
	if (is_idle(peer))
		return peer->used || is_slice_over(peer->since_ns, now);
	return is_slice_over(peer->since_ns, now) && is_slice_over(first->since_ns, now);
}

/* The better one to close: one that is idle, then the one unused for longer. */
static bool is_before(const struct pm_link_peer *a, const struct pm_link_peer *b)
{
	return is_idle(a) != is_idle(b) ? is_idle(a) : a->used < b->used;
}

static struct pm_link_peer *choose(const struct pmv_link *link, uint64_t now)
{
	struct pm_link_peer *best = NULL;

	for (const struct pmv_qp *qp = link->qps; qp; qp = qp->next)
		if (qp->peer && may_give_way(qp->peer, link->waiting, now) &&
		    (!best || is_before(qp->peer, best)))
			best = qp->peer;
	return best;
}

static void make_room(struct pmv_link *link, uint64_t now)
{
	uint32_t want = wanted(link);
	struct pm_link_peer *peer;

	for (uint32_t n = ending(link, now); n < want && (peer = choose(link, now)); n++)
		if (peer->stage == PMV_GREETING)
			pmv_connection_yield(link, peer, now);
		else
			pmv_close(link, peer, now);
}

/* One that we would call waits until another call is answered. */
static bool is_call_waiting(const struct pmv_link *link)
{
	const struct pm_link_peer *p = link->waiting;

	while (p && (p->is_called || !is_served(link, p)))
		p = p->next_waiting;
	return p && link->n_calling >= most_calls(link);
}

static void end_oldest_call(struct pmv_link *link, uint64_t now)
{
	struct pm_link_peer *oldest = NULL;

	for (const struct pmv_qp *qp = link->qps; qp; qp = qp->next)
		if (qp->peer && qp->peer->is_calling && is_unanswered(qp->peer, now) &&
		    (!oldest || qp->peer->since_ns < oldest->since_ns))
			oldest = qp->peer;
	if (oldest)
		pmv_connection_yield(link, oldest, now);
}

void pmv_roster_turn(struct pmv_link *link)
{
	link->is_crowded = false;
	give_places(link);
	if (link->waiting)
		make_room(link, pmv_now(link));
	if (is_call_waiting(link))
		end_oldest_call(link, pmv_now(link));
}

/* ---- time ---- */

void pmv_roster_timers(struct pmv_link *link, uint64_t now)
{
	pmv_close_timers(link, now);
	if (link->waiting)
		pmv_roster_turn(link);
}

/* When something may have to be done about the peer's connection. */
static uint64_t deadline_of(const struct pm_link_peer *peer, const struct pm_link_peer *first)
{
	if (peer->stage == PMV_CLOSING)
		return peer->since_ns + PMV_AGREE_NS;
	if (first && peer->stage == PMV_GREETING)
		return silent_at(peer);
	if (first && peer->stage == PMV_READY)
		return PMV_SLICE_NS +
		       (peer->since_ns > first->since_ns ? peer->since_ns : first->since_ns);
	return UINT64_MAX;
}

uint64_t pmv_roster_deadline(const struct pmv_link *link, uint64_t now)
{
	uint64_t next = UINT64_MAX;

	for (const struct pmv_qp *qp = link->qps; qp; qp = qp->next) {
		uint64_t at = qp->peer ? deadline_of(qp->peer, link->waiting) : UINT64_MAX;

		/* what is over has been looked at: it waits for an event */
		if (at > now && at < next)
			next = at;
	}
	return next == UINT64_MAX ? next : next - now;
}
