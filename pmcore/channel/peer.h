/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * peer - the life of peers; peer.c says how.
 */
#ifndef PM_CHANNEL_PEER_H
#define PM_CHANNEL_PEER_H

#include "pmcore/channel/chan_private.h"

/* Gives the peer a flow if it has none; NULL: no memory. */
struct chan_flow *peer_attach(struct chan *chan, struct chan_peer *peer);
static inline struct chan_flow *peer_flow(struct chan *chan, struct chan_peer *peer)
{
	return likely(peer->flow != NULL) ? peer->flow : peer_attach(chan, peer);
}
/* Nothing is queued, in flight or owed. */
bool peer_is_quiet(const struct chan_peer *peer);
/* Gives the flow of a quiet peer back to the pool. */
void peer_detach(struct chan *chan, struct chan_peer *peer);
void peer_kill(struct chan *chan, struct chan_peer *peer, int error);
void peers_destroy(struct chan *chan);

/* For tests: the next sequence numbers in both directions of an unused peer. */
void chan_test_set_seq(struct chan *chan, struct chan_peer *peer, uint32_t tx, uint32_t rx);

#endif
