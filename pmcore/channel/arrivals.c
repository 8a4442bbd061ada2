// SPDX-License-Identifier: BSD-3-Clause
/*
 * arrivals - which packets have come, by sequence number: all before rx_next, and of those behind
 * it the ones in a bitmap. Knows nothing of what is in them.
 */
#include "pmcore/channel/arrivals.h"
#include "pmcore/channel/chan_private.h"

/* The bits of a window smaller than a word go round within it. */
static uint64_t small_bits(uint64_t word, uint32_t window, uint32_t at)
{
	uint64_t valid = (1ull << window) - 1;

	return at ? ((word >> at) | (word << (window - at))) & valid : word & valid;
}

uint64_t arrivals_bits(const struct chan *chan, const struct chan_flow *flow, uint32_t seq)
{
	uint32_t words = chan_bitmap_words(chan);
	uint32_t at = seq & chan->mask;
	uint32_t shift = at & 63;
	uint64_t bits;

	if (chan->config.window < 64)
		return small_bits(flow->bitmap[0], chan->config.window, at);
	bits = flow->bitmap[at >> 6] >> shift;
	if (shift)
		bits |= flow->bitmap[((at >> 6) + 1) & (words - 1)] << (64 - shift);
	return bits;
}

bool arrivals_has(const struct chan *chan, const struct chan_flow *flow, uint32_t seq)
{
	uint32_t at = seq & chan->mask;

	return flow->bitmap[at >> 6] >> (at & 63) & 1;
}

void arrivals_add(struct chan *chan, struct chan_peer *peer, uint32_t seq)
{
	struct chan_flow *flow = peer->flow;
	uint32_t at = seq & chan->mask;

	if (seq != peer->rx_next) {
		flow->bitmap[at >> 6] |= 1ull << (at & 63);
		flow->early++;
		return;
	}
	peer->rx_next++;
	while (flow->early && arrivals_has(chan, flow, peer->rx_next)) {
		at = peer->rx_next & chan->mask;
		flow->bitmap[at >> 6] &= ~(1ull << (at & 63));
		flow->early--;
		peer->rx_next++;
	}
}

void arrivals_clear(const struct chan *chan, struct chan_flow *flow)
{
	memset(flow->bitmap, 0, chan_bitmap_words(chan) * sizeof(uint64_t));
	flow->early = 0;
}
