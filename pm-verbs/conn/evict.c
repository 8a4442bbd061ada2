// SPDX-License-Identifier: BSD-3-Clause
/*
 * evict - which connection gives up its place to a peer that waits for one: the connection that was
 * used least recently. It is closed at once if nothing of it is under way, else when it has had its
 * place for PMV_SLICE_NS and a peer has waited as long. So peers that are never idle take turns.
 *
 * A node that computes answers no call: after about PMV_AGREE_NS a call gives its place to others
 * and waits again. That also opens the circles of links that may have a single connection, and as
 * each draws its own time, not in step.
 */
#include "pm-verbs/conn/evict.h"

#include "pm-verbs/conn/closing.h"
#include "pm-verbs/conn/connection.h"
#include "pm-verbs/conn/places.h"

/* a sign that the other side knows of our queue pair is waited for 1 s */
#define SILENT_NS 1000000000ull

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

/*
 * Nothing of the connection is under way, as far as can be seen: a peer that has a key of ours may
 * be using it.
 */
static bool is_idle(const struct pm_link_peer *peer)
{
	return !peer->queue.head && !peer->control.head && !peer->n_lent && !peer->ops &&
	       !peer->n_told && !peer->qp->n_sends;
}

static bool is_slice_over(uint64_t since, uint64_t now)
{
	return now >= since + PMV_SLICE_NS;
}

/*
 * When a peer that we greet has been silent for too long: if it is connected to us, it may believe
 * that all is well.
 */
static uint64_t silent_at(const struct pm_link_peer *peer)
{
	return peer->since_ns + (peer->qp->is_connected ? SILENT_NS : peer->call_ns);
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
	if (peer->stage != PMV_READY || peer->state == PMV_PEER_LEAVING)
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
	uint32_t want = pmv_places_wanted(link);
	struct pm_link_peer *peer;

	for (uint32_t n = ending(link, now); n < want && (peer = choose(link, now)); n++)
		if (peer->stage == PMV_GREETING)
			pmv_connection_yield(link, peer, now);
		else
			pmv_close(link, peer, now);
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

void pmv_evict_turn(struct pmv_link *link)
{
	struct pm_link_peer *peer;

	link->is_crowded = false;
	while ((peer = pmv_places_next(link)))
		pmv_connection_begin(link, peer);
	if (link->waiting)
		make_room(link, pmv_now(link));
	if (pmv_places_is_call_waiting(link))
		end_oldest_call(link, pmv_now(link));
}

/* ---- time ---- */

void pmv_evict_timers(struct pmv_link *link, uint64_t now)
{
	pmv_close_timers(link, now);
	if (link->waiting)
		pmv_evict_turn(link);
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

uint64_t pmv_evict_deadline(const struct pmv_link *link, uint64_t now)
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
