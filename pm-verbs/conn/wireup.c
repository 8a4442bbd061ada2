// SPDX-License-Identifier: BSD-3-Clause
/*
 * wireup - greetings: how two links tell each other their ends of a connection, by datagrams that
 * may get lost, come twice or cross. Each side repeats its own until it has heard that the other
 * one is connected to it; who is ready answers whoever does not know it yet. There is no server and
 * no client, so two first greetings that cross are simply each other's answer.
 */
#include <string.h>

#include "pm-verbs/conn/closing.h"
#include "pm-verbs/conn/connection.h"
#include "pm-verbs/conn/greeting.h"
#include "pm-verbs/conn/life.h"
#include "pm-verbs/conn/pair.h"
#include "pm-verbs/conn/peer.h"
#include "pm-verbs/conn/places.h"
#include "pm-verbs/conn/silence.h"
#include "pm-verbs/conn/wireup.h"
#include "pm-verbs/hw/events.h"

static uint32_t own_flags(const struct pm_link_peer *peer)
{
	if (peer->stage == PMV_READY)
		return PMV_HAVE_YOURS | PMV_READY_HERE;
	return peer->qp && peer->qp->is_connected ? PMV_HAVE_YOURS : 0;
}

/* Of the connection that we greet for, or that is there. */
static void take_greeting(struct pmv_link *link, struct pm_link_peer *peer,
			  const struct pmv_greeting *g)
{
	if (peer->stage == PMV_GREETING) {
		if (!peer->qp->is_connected && pmv_connect_to(link, peer, g))
			return;
		if (g->flags & PMV_HAVE_YOURS)
			pmv_connection_ready(link, peer);
	}
	if (!(g->flags & PMV_READY_HERE) &&
	    (peer->stage == PMV_GREETING || peer->stage == PMV_READY))
		pmv_greet(link, peer, own_flags(peer));
}

/* The peer wants a connection: it gets one, or hears that it has to wait, and that we live. */
static void answer_call(struct pmv_link *link, struct pm_link_peer *peer)
{
	pmv_places_call(peer);
	pmv_connect(link, peer);
	if (peer->is_waiting)
		pmv_greet(link, peer, PMV_WAIT);
}

/*
 * Whether the greeting is of the newest record that we know of theirs, and for this one of ours.
 * Greetings may come late, or be sent again by whoever saw them: none of those may end what is
 * there.
 */
static bool is_current(struct pmv_link *link, struct pm_link_peer *peer,
		       const struct pmv_greeting *g)
{
	if (g->life < peer->their_life)
		return false;
	if (peer->their_life && g->life > peer->their_life) {
		pmv_peer_replaced(link, peer, g->life);
		return false;
	}
	if (!g->heard || g->heard == peer->life)
		return true;
	/* it knows a record of ours that is no more, and shall hear of this one */
	if (peer->stage == PMV_IDLE)
		answer_call(link, peer);
	return false;
}

/* The peer lives, and has no place for us yet. */
static void be_patient(struct pmv_link *link, struct pm_link_peer *peer)
{
	if (peer->stage != PMV_GREETING)
		return;
	pmv_silence_set(peer, UINT64_MAX);
	pmv_silence_begin(link, peer, pmv_now(link));
}

/* A late one about a connection that was there and has ended in agreement. */
static bool is_of_the_past(const struct pm_link_peer *peer, const struct pmv_greeting *g)
{
	return peer->is_parted && peer->is_closed && g->epoch <= peer->epoch && g->flags;
}

static void handle(struct pmv_link *link, struct pm_link_peer *peer, const struct pmv_greeting *g)
{
	if (g->flags & PMV_GOODBYE) {
		if (g->life == peer->their_life)
			pmv_peer_goodbye(link, peer);
		return;
	}
	/* what it sent before it left is taken first; one that came back repeats this */
	if (pmv_life_is_passing(peer->state) || !is_current(link, peer, g))
		return;
	peer->their_life = g->life;
	if (!pmv_peer_is_open(peer))
		return;
	if (g->flags == PMV_WAIT) {
		be_patient(link, peer);
		return;
	}
	if (g->epoch > peer->epoch) {
		pmv_pair_follow(peer, g->epoch);
		pmv_places_call(peer);
		pmv_close_replaced(peer);
		/* ... or its call had waited for too long */
		pmv_connection_lost(link, peer, UINT64_MAX,
				    peer->stage == PMV_GREETING ? NULL
								: "the other side began anew");
	}
	/* the peer repeats what comes while the old connection is still draining */
	if (peer->stage == PMV_IDLE && !is_of_the_past(peer, g))
		answer_call(link, peer);
	if (g->epoch == peer->epoch)
		take_greeting(link, peer, g);
}

void pmv_greeting_arrived(struct pmv_link *link, const uint8_t *bytes, size_t len)
{
	struct pmv_greeting greeting;
	struct pm_link_peer *peer;

	if (pmv_greeting_get(bytes, len, link->env.job_key, &greeting)) {
		link->stats->forged++;
		return;
	}
	if (greeting.to != link->env.self)
		return;
	peer = pmv_peer_meet(link, greeting.from);
	if (peer && !pmv_peer_is_dead(peer) && !pmv_peer_is_lost(peer))
		handle(link, peer, &greeting);
}

static bool is_silent_too_long(struct pmv_link *link, const struct pm_link_peer *peer, uint64_t now)
{
	if (now < peer->give_up_ns)
		return false;
	/* a port may have failed and said so unheard */
	pmv_events(link);
	return now >= peer->give_up_ns;
}

static void greet_again(struct pmv_link *link, struct pm_link_peer *peer, uint64_t now)
{
	if (is_silent_too_long(link, peer, now)) {
		char why[sizeof(peer->why)];

		strcpy(why, peer->why);
		pmv_peer_lose(link, peer, "it does not answer%s%.150s", why[0] ? ": " : "", why);
		return;
	}
	pmv_silence_doubt(link, peer, now);
	if (now >= peer->next_greeting_ns)
		pmv_greet_again(link, peer, own_flags(peer), now);
}

void pmv_greeting_timers(struct pmv_link *link, uint64_t now)
{
	for (struct pm_link_peer *p = link->peers; p && link->n_greeting; p = p->next)
		if (p->stage == PMV_GREETING)
			greet_again(link, p, now);
}

uint64_t pmv_greeting_deadline(struct pmv_link *link, uint64_t now)
{
	uint64_t next = UINT64_MAX;

	for (struct pm_link_peer *p = link->peers; p && link->n_greeting; p = p->next) {
		/* the next greeting looks at doubts too */
		uint64_t at = p->next_greeting_ns < p->give_up_ns ? p->next_greeting_ns
								  : p->give_up_ns;

		if (p->stage == PMV_GREETING && at < next)
			next = at;
	}
	if (next == UINT64_MAX)
		return next;
	return next > now ? next - now : 0;
}
