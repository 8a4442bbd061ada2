// SPDX-License-Identifier: BSD-3-Clause
/*
 * grants - what a peer told of its regions: address, length and verbs keys, one for the
 * connection's own rail and one for each lane that asked. They are kept until the owner revokes
 * them or the connection ends.
 */
#include "pm-verbs/data/grants.h"

#include <stdlib.h>

#define GRANTS_MAX 256 /* kept per peer when an operation begins */

struct pmv_grant *pmv_grant_find(const struct pm_link_peer *peer, uint64_t rkey)
{
	for (struct pmv_grant *g = peer->grants; g; g = g->next)
		if (g->region.rkey == rkey)
			return g;
	return NULL;
}

bool pmv_grant_keep(struct pm_link_peer *peer, const struct pmv_control *control)
{
	struct pmv_grant *grant = pmv_grant_find(peer, control->rkey);

	if (!grant) {
		grant = calloc(1, sizeof(*grant));
		if (!grant)
			return false;
		grant->next = peer->grants;
		peer->grants = grant;
		peer->n_grants++;
	}
	grant->region = *control;
	return true;
}

void pmv_grant_lane(struct pm_link_peer *peer, const struct pmv_control *control)
{
	struct pmv_grant *grant = pmv_grant_find(peer, control->rkey);
	uint32_t pair = control->lane - 1;

	/* revoked, or dropped as the oldest */
	if (!grant)
		return;
	grant->keys[pair] = control->key;
	if (control->error)
		grant->refused |= 1u << pair;
	else
		grant->known |= 1u << pair;
}

static void drop(struct pm_link_peer *peer, struct pmv_grant **at)
{
	struct pmv_grant *grant = *at;

	*at = grant->next;
	peer->n_grants--;
	free(grant);
}

void pmv_revoked(struct pm_link_peer *peer, uint64_t rkey)
{
	for (struct pmv_grant **at = &peer->grants; *at; at = &(*at)->next)
		if ((*at)->region.rkey == rkey) {
			drop(peer, at);
			return;
		}
}

void pmv_grants_trim(struct pm_link_peer *peer)
{
	while (peer->n_grants > GRANTS_MAX) {
		struct pmv_grant **at = &peer->grants;

		while ((*at)->next)
			at = &(*at)->next;
		drop(peer, at);
	}
}

void pmv_grants_drop(struct pm_link_peer *peer)
{
	while (peer->grants)
		drop(peer, &peer->grants);
}
