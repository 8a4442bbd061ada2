// SPDX-License-Identifier: BSD-3-Clause
/*
 * places - the bound of queue pairs. A peer that needs a connection when all places are taken
 * waits, first come first served; evict.c decides which connection gives up its place.
 *
 * A greeting goes out with a queue pair already, so two links that are full of those, each waiting
 * for a place at another one, would wait for ever. So one place is never taken by a peer that we
 * call: whoever calls us gets that one, and has its own already, and no circle closes.
 */
#include "pm-verbs/conn/places.h"

#include <sys/resource.h>

#include "pm-verbs/conn/closing.h"
#include "pm-verbs/hw/link.h"
#include "pm-verbs/hw/qp.h"

/* Connections when nobody says and there is room. */
#define MOST 256        /* 40 MiB of buffers */
#define MOST_SHARED 512 /* who shares receives has queue pairs alone for them */

static uint32_t least_of(uint64_t a, uint64_t b)
{
	return (uint32_t)(a < b ? a : b);
}

uint32_t pmv_places_most(const struct pmv_places_limits *limits)
{
	uint32_t most = limits->asked ? limits->asked : limits->bytes ? MOST : MOST_SHARED;
	uint32_t processes = limits->processes ? limits->processes : 1;

	most = least_of(most, limits->max_qp / processes);
	most = least_of(most, limits->max_cqe / limits->cqe);
	/*
	 * the other quarter of that half is for what is sent, and for regions (local.c has the
	 * first half)
	 */
	if (!limits->asked && limits->bytes)
		most = least_of(most, limits->lock_limit / 4 / limits->bytes);
	return most ? most : 1;
}

/*
 * The receives are shared on all rails. If this fails later, the bound is lowered as buffers run
 * out.
 */
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

void pmv_places_init(struct pmv_link *link)
{
	uint64_t receives = (uint64_t)link->n_credits * link->buffer_bytes * link->n_rails;
	struct rlimit lock = {RLIM_INFINITY, RLIM_INFINITY};
	struct pmv_places_limits limits = {
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
	link->n_most = pmv_places_most(&limits);
	link->waiting_tail = &link->waiting;
	link->turn = 1;
}

bool pmv_places_lower(struct pmv_link *link, uint32_t n)
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

bool pmv_places_has_place(const struct pmv_link *link, const struct pm_link_peer *peer)
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

bool pmv_places_enter(struct pmv_link *link, struct pm_link_peer *peer)
{
	link->is_crowded = true;
	if (peer->is_waiting)
		return false;
	if (!link->waiting && pmv_places_has_place(link, peer))
		return true;
	peer->next_waiting = NULL;
	*link->waiting_tail = peer;
	link->waiting_tail = &peer->next_waiting;
	peer->is_waiting = true;
	peer->since_ns = pmv_now(link);
	link->n_waiting++;
	return false;
}

void pmv_places_leave(struct pmv_link *link, struct pm_link_peer *peer)
{
	struct pm_link_peer **at = &link->waiting;

	peer->is_called = false;
	if (!peer->is_waiting)
		return;
	while (*at != peer)
		at = &(*at)->next_waiting;
	unlink_waiting(link, at);
}

void pmv_places_began(struct pmv_link *link, struct pm_link_peer *peer)
{
	peer->is_calling = !peer->is_called;
	link->n_calling += peer->is_calling;
	peer->is_called = false;
	peer->since_ns = pmv_now(link);
	/*
	 * links with one place that call in a circle would give up in step, and call the next ones
	 * in step
	 */
	peer->call_ns = PMV_AGREE_NS / 2 + pmv_random(link) % PMV_AGREE_NS;
	peer->used = 0;
}

void pmv_places_ready(struct pmv_link *link, struct pm_link_peer *peer)
{
	peer->since_ns = pmv_now(link);
	peer->used = 0;
}

void pmv_places_heard(struct pmv_link *link, struct pm_link_peer *peer)
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

struct pm_link_peer *pmv_places_next(struct pmv_link *link)
{
	struct pm_link_peer **at = &link->waiting;
	struct pm_link_peer *peer;

	if (link->n_qps >= link->n_most)
		return NULL;
	while (*at && (!is_served(link, *at) || !pmv_places_has_place(link, *at)))
		at = &(*at)->next_waiting;
	peer = *at;
	if (peer)
		unlink_waiting(link, at);
	return peer;
}

uint32_t pmv_places_wanted(const struct pmv_link *link)
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

bool pmv_places_is_call_waiting(const struct pmv_link *link)
{
	const struct pm_link_peer *p = link->waiting;

	while (p && (p->is_called || !is_served(link, p)))
		p = p->next_waiting;
	return p && link->n_calling >= most_calls(link);
}
