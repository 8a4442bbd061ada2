// SPDX-License-Identifier: BSD-3-Clause
/*
 * channel - the engine as a whole: creation, signs of life that the user asks for, carrier,
 * quiescence.
 */
#include "pmcore/channel/ack.h"
#include "pmcore/channel/chan_private.h"
#include "pmcore/channel/channel.h"
#include "pmcore/channel/copier.h"
#include "pmcore/channel/emit.h"
#include "pmcore/channel/grant.h"
#include "pmcore/channel/inbox.h"
#include "pmcore/channel/outage.h"
#include "pmcore/channel/peer.h"
#include "pmcore/channel/pull.h"
#include "pmcore/channel/serve.h"
#include "pmcore/channel/share.h"
#include "pmcore/channel/stripe.h"
#include "pmcore/channel/submit.h"

#include <stdlib.h>

#define MS 1000000ull

static bool is_valid(const struct chan_config *config)
{
	uint32_t window = config->window;

	return window >= 8 && window <= WIRE_WINDOW_MAX && !(window & (window - 1)) &&
	       config->n_rails >= 1 && config->n_rails <= WIRE_RAILS &&
	       (config->bulk_rails + 1u) >> config->n_rails == 0 && config->credit >= 1 &&
	       config->credit <= window && config->rx_buffers >= 2 && config->regions;
}

static void set_defaults(struct chan *chan)
{
	struct chan_config *config = &chan->config;

	if (!config->rto_min_ns)
		config->rto_min_ns = 2 * MS;
	if (!config->rto_max_ns)
		config->rto_max_ns = 1000 * MS;
	if (config->rto_max_ns < config->rto_min_ns)
		config->rto_max_ns = config->rto_min_ns;
	if (!config->ack_delay_ns)
		config->ack_delay_ns = MS / 5;
	if (!config->ack_every)
		config->ack_every = 64;
	if (!config->probe_ns)
		config->probe_ns = 20 * MS;
	if (!config->pull_bytes)
		config->pull_bytes = 1 << 20;
	/* Acks must come well before the window closes. */
	chan->ack_every = config->ack_every;
	if (chan->ack_every > config->window / 4)
		chan->ack_every = config->window / 4;
	chan->mask = config->window - 1;
	chan->fill_most = config->burst && config->burst < CHAN_RUN ? config->burst : CHAN_RUN;
	chan->serve_burst = config->burst ? CHAN_BURSTS * config->burst : CHAN_BURST;
	chan->up = (uint8_t)((1u << config->n_rails) - 1);
	chan->n_links = config->n_rails - (uint32_t)__builtin_popcount(config->bulk_rails);
	chan->is_striping = chan->n_links > 1 || __builtin_popcount(config->bulk_rails) > 1;
	chan->stats = config->stats ? config->stats : &chan->no_stats;
	chan->rails = config->rails ? config->rails : chan->no_rails;
	chan->deadline = CHAN_NEVER;
	chan->cork_after = UINT32_MAX;
	chan->n_bursts = 1;
}

int chan_create(const struct chan_config *config, const struct chan_ops *ops, void *arg,
		struct chan **ret_chan)
{
	struct chan *chan;

	if (!is_valid(config))
		return -EINVAL;
	chan = calloc(1, sizeof(*chan));
	if (!chan)
		return -ENOMEM;
	chan->memory = sizeof(*chan);
	chan->config = *config;
	chan->ops = *ops;
	if (!ops->tx_alloc_bulk)
		chan->ops.tx_alloc_bulk = ops->tx_alloc;
	chan->arg = arg;
	set_defaults(chan);
	dlist_init(&chan->flows);
	dlist_init(&chan->ready);
	dlist_init(&chan->stalled);
	submit_init(chan);
	grant_init(chan);
	share_out(chan);
	if (pull_init(chan)) {
		free(chan);
		return -ENOMEM;
	}
	copier_init(&chan->copier, config->tx_buffers, chan->fill_most);
	emit_init(chan);
	*ret_chan = chan;
	return 0;
}

void chan_destroy(struct chan *chan)
{
	if (!chan)
		return;
	peers_destroy(chan);
	inbox_fini(chan);
	emit_fini(chan);
	pull_fini(chan);
	serve_fini(chan);
	assert(chan->memory == sizeof(*chan));
	free(chan);
}

/* Sends one of these on each rail in use. */
static int send_each(struct chan *chan, struct chan_peer *peer, uint64_t now,
		     int (*emit)(struct chan *chan, struct chan_peer *peer, uint8_t rails))
{
	uint8_t rails;
	int rc = -EAGAIN;

	chan->now = now;
	if (peer->is_dead)
		return -EPIPE;
	if (chan->is_stopped || !peer_flow(chan, peer))
		return -EAGAIN;
	for (rails = stripe_single(chan, stripe_rails(chan, peer)); rails;
	     rails &= (uint8_t)(rails - 1))
		if (!emit(chan, peer, rails & (uint8_t)-rails))
			rc = 0;
	return rc;
}

int chan_probe(struct chan *chan, struct chan_peer *peer, uint64_t now)
{
	return send_each(chan, peer, now, emit_knock);
}

int chan_ask(struct chan *chan, struct chan_peer *peer, uint64_t now)
{
	int rc;

	if (peer->is_asked && !peer->is_silent && !peer->is_dead) {
		peer->is_asked = false;
		return 0;
	}
	rc = send_each(chan, peer, now, emit_question);
	if (rc)
		return rc;
	peer->is_asked = peer->is_silent = true;
	return -EAGAIN;
}

void chan_await(struct chan *chan, struct chan_peer *peer, bool is_on, uint64_t now)
{
	if (is_on && !peer->is_awaited && peer->flow) {
		peer->flow->heard_ns = now;
		chan_wake_at(chan, now + chan->config.peer_timeout_ns / 4);
	}
	peer->is_awaited = is_on;
}

void chan_rail(struct chan *chan, uint32_t rail, bool is_up, uint64_t now)
{
	chan->now = now;
	if (rail < chan->config.n_rails)
		outage_carrier(chan, rail, is_up);
}

void chan_quiesce(struct chan *chan, bool is_stopped)
{
	struct chan_flow *flow;
	struct dlist *link;

	chan->is_stopped = is_stopped;
	for (link = chan->flows.next; link != &chan->flows; link = link->next) {
		flow = dlist_entry(link, struct chan_flow, link);
		if (flow->peer->is_dead)
			continue;
		if (is_stopped && flow->ack_ns)
			ack_now(chan, flow->peer);
		chan_ready(chan, flow->peer);
	}
}

bool chan_is_quiet(const struct chan *chan)
{
	const struct chan_flow *flow;
	const struct dlist *link;

	for (link = chan->flows.next; link != &chan->flows; link = link->next) {
		flow = dlist_entry(link, struct chan_flow, link);
		if (flow->in_flight || flow->ctrl.count || flow->news || flow->is_ack_now ||
		    flow->ack_ns || flow->early || flow->ops || !dlist_is_empty(&flow->serves))
			return false;
	}
	return true;
}

void chan_unexport(struct chan *chan, uint64_t rkey, const void *addr, uint64_t len)
{
	struct chan_flow *flow;
	struct dlist *link;

	pull_unexport(chan, rkey);
	for (link = chan->flows.next; link != &chan->flows; link = link->next) {
		flow = dlist_entry(link, struct chan_flow, link);
		if (!flow->peer->is_dead)
			serve_unexport(chan, flow->peer, rkey, addr, len);
	}
}
