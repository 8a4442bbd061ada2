// SPDX-License-Identifier: BSD-3-Clause
/*
 * peer - the life of peers: adding, death, deletion; lending a flow to a peer that becomes active
 * and taking it back when it is quiet. Knows no packet format.
 */
#include "pmcore/channel/ack.h"
#include "pmcore/channel/chan_private.h"
#include "pmcore/channel/credit.h"
#include "pmcore/channel/inbox.h"
#include "pmcore/channel/memory.h"
#include "pmcore/channel/peer.h"
#include "pmcore/channel/pull.h"
#include "pmcore/channel/recvwin.h"
#include "pmcore/channel/road.h"
#include "pmcore/channel/sendwin.h"
#include "pmcore/channel/serve.h"
#include "pmcore/channel/share.h"
#include "pmcore/channel/stripe.h"

static size_t flow_size(const struct chan *chan)
{
	uint32_t window = chan->config.window;

	return sizeof(struct chan_flow) + window * sizeof(struct tx_slot) +
	       chan_bitmap_words(chan) * sizeof(uint64_t) + window * sizeof(struct rx_packet *);
}

static struct chan_flow *flow_alloc(struct chan *chan)
{
	struct chan_flow *flow = chan->flow_pool;

	if (flow) {
		chan->flow_pool = flow->pool;
		return flow;
	}
	flow = chan_alloc(chan, flow_size(chan));
	if (!flow)
		return NULL;
	flow->bitmap = (uint64_t *)(flow->slots + chan->config.window);
	flow->hold = (struct rx_packet **)(flow->bitmap + chan_bitmap_words(chan));
	return flow;
}

/* When many are active, those that rest make room, the longest active first. */
static void reclaim(struct chan *chan)
{
	struct chan_flow *flow;
	int i;

	for (i = 0; i < 2 && chan->n_flows >= CHAN_IDLE_FLOWS; i++) {
		flow = dlist_entry(chan->flows.next, struct chan_flow, link);
		if (!flow->reserved && peer_is_quiet(flow->peer)) {
			peer_detach(chan, flow->peer);
		} else {
			dlist_del(&flow->link);
			dlist_add_tail(&chan->flows, &flow->link);
		}
	}
}

/*
 * A flow in the pool has an empty bitmap, no held packet and only free slots, so little is reset.
 */
struct chan_flow *peer_attach(struct chan *chan, struct chan_peer *peer)
{
	struct chan_flow *flow;

	reclaim(chan);
	flow = flow_alloc(chan);
	if (!flow)
		return NULL;
	flow->peer = peer;
	flow->pool = NULL;
	flow->used_ns = chan->now;
	flow->heard_ns = chan->now;
	flow->timer_ns = 0;
	flow->backoff = 0;
	flow->pause_ns = 0;
	flow->ack_ns = 0;
	flow->unacked = 0;
	flow->bare_acks = 0;
	flow->news = 0;
	flow->echo = 0;
	flow->heard.echo = UINT8_MAX;
	flow->ack_rail = 0;
	flow->is_ack_now = false;
	flow->is_unheard = false;
	flow->credit_told = (uint16_t)peer->rx_credit;
	flow->ops = 0;
	flow->owed = 0;
	flow->is_silent = false;
	flow->reserved = 0;
	dlist_init(&flow->serves);
	dlist_init(&flow->pulls);
	dlist_init(&flow->pulling);
	peer->flow = flow;
	sendwin_init(chan, flow);
	stripe_init(chan, peer);
	road_init(chan, peer);
	dlist_add_tail(&chan->flows, &flow->link);
	chan->n_flows++;
	share_out(chan);
	chan_wake_at(chan, chan->now + CHAN_IDLE_NS);
	return flow;
}

bool peer_is_quiet(const struct chan_peer *peer)
{
	const struct chan_flow *flow = peer->flow;

	return !flow ||
	       (peer->tx_una == peer->tx_next && !flow->ctrl.count && !flow->msgs.count &&
		!flow->news && !flow->is_ack_now && !flow->ack_ns && !flow->early && !flow->held &&
		!flow->ops && !peer->is_awaited && dlist_is_empty(&flow->serves));
}

void peer_detach(struct chan *chan, struct chan_peer *peer)
{
	struct chan_flow *flow = peer->flow;

	if (!flow)
		return;
	if (chan->run_peer == peer)
		chan->run_peer = NULL;
	dlist_del(&flow->link);
	dlist_del(&flow->pulling);
	dlist_del(&peer->ready);
	chan->n_flows--;
	flow->peer = NULL;
	flow->pool = chan->flow_pool;
	chan->flow_pool = flow;
	peer->flow = NULL;
	share_out(chan);
}

int chan_peer_add(struct chan *chan, uint32_t node, void *dev_peer, uint32_t rails, uint32_t mtu,
		  struct chan_peer **ret_peer)
{
	struct chan_peer *peer;
	int rc;

	rails &= (1u << chan->config.n_rails) - 1;
	if (!rails || mtu < WIRE_OVERHEAD + 64 || node == chan->config.self)
		return -EINVAL;
	peer = chan_alloc(chan, sizeof(*peer));
	if (!peer)
		return -ENOMEM;
	rc = nodemap_put(&chan->peers, node, peer);
	if (rc) {
		chan_free(chan, peer, sizeof(*peer));
		return rc;
	}
	dlist_init(&peer->ready);
	peer->node = node;
	peer->dev = dev_peer;
	peer->rails = (uint8_t)rails;
	peer->mtu = mtu;
	credit_init(chan, peer);
	chan->stats->peers++;
	*ret_peer = peer;
	return 0;
}

/*
 * Everything queued, in flight, half received or half done with the peer; with @is_all also what
 * was not read yet.
 */
static void peer_clear(struct chan *chan, struct chan_peer *peer, bool is_all)
{
	pull_peer_gone(chan, peer);
	if (peer->flow) {
		serve_clear(chan, peer);
		sendwin_clear(chan, peer);
		ack_clear(peer->flow);
		recvwin_clear(chan, peer);
	}
	if (is_all)
		inbox_drop(chan, peer);
}

void chan_peer_del(struct chan *chan, struct chan_peer *peer)
{
	if (!peer)
		return;
	peer_clear(chan, peer, true);
	peer_detach(chan, peer);
	dlist_del(&peer->ready);
	if (chan->last == peer)
		chan->last = NULL;
	nodemap_remove(&chan->peers, peer->node);
	chan->stats->peers--;
	chan_free(chan, peer, sizeof(*peer));
}

void peer_kill(struct chan *chan, struct chan_peer *peer, int error)
{
	if (peer->is_dead)
		return;
	peer->is_dead = true;
	chan->stats->peers_dead++;
	peer_clear(chan, peer, false);
	/* A flow with packets lent by chan_reserve is needed until they come back. */
	if (peer->flow && !peer->flow->reserved)
		peer_detach(chan, peer);
	chan->ops.peer_dead(chan->arg, peer, error);
}

void chan_peer_dead(struct chan *chan, struct chan_peer *peer, int error)
{
	peer_kill(chan, peer, error);
}

struct chan_peer *chan_peer_find(const struct chan *chan, uint32_t node)
{
	return nodemap_get(&chan->peers, node);
}

uint32_t chan_peer_node(const struct chan_peer *peer)
{
	return peer->node;
}

void *chan_peer_dev(const struct chan_peer *peer)
{
	return peer->dev;
}

bool chan_peer_is_dead(const struct chan_peer *peer)
{
	return peer->is_dead;
}

uint32_t chan_peer_mtu(const struct chan_peer *peer)
{
	return chan_payload_max(peer);
}

size_t chan_idle_peer_bytes(void)
{
	return sizeof(struct chan_peer);
}

uint64_t chan_memory(const struct chan *chan)
{
	uint64_t slots = chan->peers.slots ? (uint64_t)chan->peers.mask + 1 : 0;

	return chan->memory + slots * sizeof(struct nodemap_slot);
}

void chan_test_set_seq(struct chan *chan, struct chan_peer *peer, uint32_t tx, uint32_t rx)
{
	uint32_t rail;

	assert(!peer->flow);
	peer->tx_una = peer->tx_next = peer->tx_mseq = tx;
	peer->rx_next = peer->rx_mseq = peer->rx_done = rx;
	peer->tx_credit = tx + chan->config.credit;
	peer->rx_credit = rx + chan->config.credit;
	for (rail = 0; rail < WIRE_RAILS; rail++) {
		peer->rail_tx[rail] = peer->rail_acked[rail] = tx;
		peer->rail_rx[rail] = rx;
	}
}

void peers_destroy(struct chan *chan)
{
	struct chan_flow *flow;
	struct chan_peer *peer;
	uint32_t cursor = 0;

	while ((peer = nodemap_next(&chan->peers, &cursor))) {
		peer_clear(chan, peer, true);
		peer_detach(chan, peer);
		dlist_del(&peer->ready);
		chan_free(chan, peer, sizeof(*peer));
	}
	nodemap_fini(&chan->peers);
	while ((flow = chan->flow_pool)) {
		chan->flow_pool = flow->pool;
		chan_free(chan, flow, flow_size(chan));
	}
}
