// SPDX-License-Identifier: BSD-3-Clause
/*
 * dump - the engine's state as text for pmDumpContext: one line for the engine, one per peer, one
 * per rail in use. Changes nothing.
 */
#include "pmcore/channel/chan_private.h"

#include <inttypes.h>

#include "pmcore/util/text.h"

static void dump_flow(struct text *text, const struct chan *chan, const struct chan_peer *peer)
{
	const struct chan_flow *flow = peer->flow;
	uint32_t i;

	text_add(text,
		 "    in flight %u of %u, queued %u + %u control, early %u, held %u, backoff %u\n",
		 flow->in_flight, peer->limit, flow->msgs.count, flow->ctrl.count, flow->early,
		 flow->held, flow->backoff);
	for (i = 0; i < chan->config.n_rails; i++) {
		if (!(peer->rails >> i & 1))
			continue;
		text_add(text,
			 "    rail %u sent %u answered %u received %u in flight %u bytes%s%s\n", i,
			 peer->rail_tx[i], peer->rail_acked[i], peer->rail_rx[i],
			 flow->rail[i].bytes, peer->out_rails >> i & 1 ? ", out" : "",
			 chan->up >> i & 1 ? "" : ", no carrier");
	}
}

static void dump_peer(struct text *text, const struct chan *chan, const struct chan_peer *peer)
{
	text_add(text,
		 "  peer %u%s seq %u..%u message %u credit %u, received %u message %u credit %u",
		 peer->node, peer->is_dead ? " dead" : "", peer->tx_una, peer->tx_next,
		 peer->tx_mseq, peer->tx_credit - peer->tx_mseq, peer->rx_next, peer->rx_mseq,
		 peer->rx_credit - peer->rx_mseq);
	text_add(text, ", rtt %u us +- %u\n", peer->srtt_ns / 1000, peer->rttvar_ns / 1000);
	if (peer->flow)
		dump_flow(text, chan, peer);
}

int chan_dump(const struct chan *chan, char *buf, size_t room)
{
	struct text text = {.buf = buf, .room = room};
	const struct chan_peer *peer;
	uint32_t cursor = 0;

	text_add(
		&text,
		"channel node %u window %u rails %u%s: peers %u, active %u, buffers held %u of %u, "
		"asked for %" PRIu64 " bytes, memory %" PRIu64 " bytes\n",
		chan->config.self, chan->config.window, chan->config.n_rails,
		chan->is_stopped ? " stopped" : "", chan->peers.count, chan->n_flows, chan->rx_used,
		chan->config.rx_buffers, chan->outstanding, chan_memory(chan));
	while ((peer = nodemap_next(&chan->peers, &cursor)))
		if (peer->tx_next != peer->tx_una || peer->flow || peer->is_dead)
			dump_peer(&text, chan, peer);
	return (int)text.len;
}
