// SPDX-License-Identifier: BSD-3-Clause
/* pair - which pair of rails a connection takes: its number, the epoch, decides. */
#include "pm-verbs/conn/pair.h"

#include "pm-verbs/hw/events.h"

static uint32_t pair_of(const struct pmv_link *link, const struct pm_link_peer *peer,
			uint32_t epoch)
{
	return (epoch + link->env.self + peer->node) % peer->n_pairs;
}

uint32_t pmv_pair_of(const struct pmv_link *link, const struct pm_link_peer *peer)
{
	return pair_of(link, peer, peer->epoch);
}

const struct pmv_end *pmv_pair_end(const struct pm_link_peer *peer, uint32_t pair)
{
	return &peer->address.rails[peer->pairs[pair].theirs];
}

static uint32_t next_epoch(struct pmv_link *link, const struct pm_link_peer *peer)
{
	uint32_t first = peer->epoch + 1;

	/*
	 * what a port said unheard: two sides that leave out each other's choice would never agree
	 */
	pmv_events(link);
	for (uint32_t epoch = first; epoch < first + peer->n_pairs; epoch++)
		if (!link->rails[peer->pairs[pair_of(link, peer, epoch)].ours].is_down)
			return epoch;
	return first;
}

void pmv_pair_next(struct pmv_link *link, struct pm_link_peer *peer)
{
	peer->epoch = next_epoch(link, peer);
}
