// SPDX-License-Identifier: BSD-3-Clause
/*
 * silence - how long a node may be silent before it counts as dead. Two things answer for a node:
 * its device acknowledges what is sent over a connection, whatever the process does; its process
 * answers greetings, when it looks for messages. So silence means:
 *
 *   no answer to a first greeting       it may be computing: channel.peer_timeout
 *   no acknowledgement on a connection  the process is gone, and its queue pair with it:
 *   verbs.lost_timeout; or
 *                                       something between the two devices failed
 *   ... where that something shows      the connection is lost at our end alone, and the process may be computing
 *                                       as before: channel.peer_timeout again
 *
 * It shows when our own port says that it failed or came back, and when two hosts fall silent on
 * one rail at the same time. The port of one other host that fails can't be told from the death of
 * the process there.
 *
 * Where another device can take nodes over, going by that one is no death: no way means
 * verbs.lost_timeout then, also while our own ports are down. A silence that may mean that the
 * process computes is told after the same time. The other device then asks the process. When it has
 * answered there, it has verbs.lost_timeout once more to be heard here too. It also learns there if
 * the process is gone, of which our device knows nothing when there is no connection. As only who
 * has answered before is believed to be gone, peers are asked already when their connection is
 * closed.
 */
#include <stdio.h>
#include <string.h>

#include "pm-verbs/conn/life.h"
#include "pm-verbs/conn/silence.h"

/*
 * Age of a send at most when it fails unacknowledged: 7 tries, 0.27 s apart, which devices may
 * stretch to 4 times that.
 */
#define RETRIES_NS 8000000000ull
#define DOUBT_NS 1000000000ull /* between two times that receive() tells of a silent peer: 1 s */

static uint64_t lost_timeout(const struct pmv_link *link)
{
	const struct conf *conf = link->env.conf;

	return conf->verbs_lost_ms ? conf->verbs_lost_ms * 1000000ull : UINT64_MAX;
}

bool pmv_is_cut_off(const struct pmv_link *link, const struct pm_link_peer *peer)
{
	for (uint32_t i = 0; i < peer->n_pairs; i++)
		if (!link->rails[peer->pairs[i].ours].is_down)
			return false;
	return true;
}

/* When a peer that is greeted from @now on, and is silent, is given up; UINT64_MAX = never. */
static uint64_t give_up_time(const struct pmv_link *link, const struct pm_link_peer *peer,
			     uint64_t now)
{
	uint64_t timeout = link->env.conf->peer_timeout_ms * 1000000ull;
	uint64_t lost_ns = peer->lost_ns;

	if (link->env.can_leave && pmv_is_cut_off(link, peer) && lost_timeout(link) < lost_ns)
		lost_ns = lost_timeout(link);
	if (!timeout || lost_ns < timeout)
		timeout = lost_ns;
	return timeout == UINT64_MAX ? timeout : now + timeout;
}

void pmv_silence_begin(struct pmv_link *link, struct pm_link_peer *peer, uint64_t now)
{
	uint64_t lost = lost_timeout(link);

	pmv_silence_undoubt(link, peer);
	peer->give_up_ns = give_up_time(link, peer, now);
	peer->n_doubts = 0;
	peer->doubt_ns = link->env.can_leave && lost != UINT64_MAX ? now + lost : UINT64_MAX;
}

static void tell(struct pmv_link *link, struct pm_link_peer *peer)
{
	link->n_dying += !peer->is_doubted;
	peer->is_doubted = true;
}

void pmv_silence_doubt(struct pmv_link *link, struct pm_link_peer *peer, uint64_t now)
{
	if (now < peer->doubt_ns)
		return;
	peer->doubt_ns = now + DOUBT_NS;
	peer->n_doubts++;
	tell(link, peer);
}

void pmv_silence_parted(struct pmv_link *link, struct pm_link_peer *peer)
{
	if (link->env.can_leave && lost_timeout(link) != UINT64_MAX && !peer->is_vouched &&
	    pmv_peer_is_open(peer))
		tell(link, peer);
}

void pmv_silence_undoubt(struct pmv_link *link, struct pm_link_peer *peer)
{
	link->n_dying -= peer->is_doubted;
	peer->is_doubted = false;
}

void pmv_silence_lives(struct pm_link *base, struct pm_link_peer *peer)
{
	struct pmv_link *link = pmv_of(base);
	uint64_t end = pmv_now(link) + lost_timeout(link);

	peer->is_vouched = true;
	/* an answer that comes at once is one to what was asked before this silence */
	if (peer->stage != PMV_GREETING || peer->n_doubts < 2)
		return;
	pmv_silence_undoubt(link, peer);
	peer->doubt_ns = UINT64_MAX;
	if (end < peer->give_up_ns)
		peer->give_up_ns = end;
	snprintf(peer->why, sizeof(peer->why), "its process does by another device");
}

static bool leads_by(const struct pmv_link *link, const struct pm_link_peer *peer,
		     const struct pmv_rail *rail)
{
	for (uint32_t i = 0; i < peer->n_pairs; i++)
		if (&link->rails[peer->pairs[i].ours] == rail)
			return true;
	return false;
}

void pmv_silence_of_rail(struct pmv_link *link, struct pmv_rail *rail)
{
	uint64_t now = pmv_now(link);

	rail->failed_ns = now;
	for (struct pm_link_peer *p = link->peers; p; p = p->next) {
		if ((p->lost_ns == UINT64_MAX && !link->env.can_leave) || !leads_by(link, p, rail))
			continue;
		p->lost_ns = UINT64_MAX;
		if (p->stage == PMV_GREETING)
			pmv_silence_begin(link, p, now);
	}
}

/* Whether the host of another peer fell silent on the rail while this one's did. */
static bool is_another_silent(struct pmv_rail *rail, const struct pm_link_peer *peer, uint64_t now)
{
	const uint8_t *gid = peer->address.rails[0].gid;
	bool is = rail->silent_ns && now - rail->silent_ns < RETRIES_NS &&
		  memcmp(rail->silent_gid, gid, sizeof(rail->silent_gid)) != 0;

	memcpy(rail->silent_gid, gid, sizeof(rail->silent_gid));
	rail->silent_ns = now;
	return is;
}

uint64_t pmv_silence_lost(struct pmv_link *link, struct pmv_qp *qp)
{
	struct pmv_rail *rail = qp->rail;

	if (is_another_silent(rail, qp->peer, pmv_now(link)) && !link->env.can_leave)
		pmv_silence_of_rail(link, rail);
	if (rail->is_down || (rail->failed_ns && pmv_now(link) - rail->failed_ns < RETRIES_NS))
		return UINT64_MAX;
	return lost_timeout(link);
}
