// SPDX-License-Identifier: BSD-3-Clause
/*
 * chanlink_engine - what the channel engine calls: packets and peers of the device below, and the
 * peers found dead.
 */
#include "pmcore/device/chanlink_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void chanlink_start(struct chanlink *c)
{
	c->is_kick_due = false;
	c->n_posted = 0;
	c->ops->tx_kick(c->dev);
}

int chanlink_add_peer(struct chanlink *c, uint32_t node, const void *addr, size_t len,
		      struct chan_peer **ret_peer)
{
	struct pm_dev_peer *dev_peer;
	uint32_t rails = 0;
	int err = c->ops->peer_add(c->dev, node, addr, len, &dev_peer, &rails);

	if (err)
		return err;
	err = chan_peer_add(c->chan, node, dev_peer, rails, c->ops->mtu(c->dev, dev_peer),
			    ret_peer);
	if (err)
		c->ops->peer_del(c->dev, dev_peer);
	else
		/* as long as nobody is reached by it, not even a cheap look is worth its while */
		c->link.is_expensive = !c->dev->is_cheap;
	return err;
}

static struct pm_packet *op_tx_alloc(void *arg)
{
	struct chanlink *c = arg;

	return c->ops->tx_alloc(c->dev);
}

static struct pm_packet *op_tx_alloc_bulk(void *arg)
{
	struct chanlink *c = arg;

	return c->ops->tx_alloc_bulk(c->dev);
}

static uint32_t op_tx_alloc_run(void *arg, bool is_bulk, uint32_t n, struct pm_packet **ret_packets)
{
	struct chanlink *c = arg;

	return c->ops->tx_alloc_run(c->dev, is_bulk, n, ret_packets);
}

static void op_tx_free_run(void *arg, struct pm_packet *const *packets, uint32_t n)
{
	struct chanlink *c = arg;

	c->ops->tx_free_run(c->dev, packets, n);
}

static void op_tx_free(void *arg, struct pm_packet *packet)
{
	struct chanlink *c = arg;

	c->ops->tx_free(c->dev, packet);
}

static int op_tx_post(void *arg, uint32_t rail, void *dev_peer, struct pm_packet *packet)
{
	struct chanlink *c = arg;
	int err = c->ops->tx_post(c->dev, rail, dev_peer, packet);

	if (err == -EAGAIN && c->is_kick_due) {
		/* the ring may be full only because nobody started it yet */
		chanlink_start(c);
		err = c->ops->tx_post(c->dev, rail, dev_peer, packet);
	}
	if (err) {
		c->is_full = true;
	} else if (c->is_single) {
		/* what the engine has to note down about it can be done while it is on its way */
		c->is_single = false;
		chanlink_start(c);
	} else if (++c->n_posted >= c->dev->burst && c->dev->burst) {
		chanlink_start(c);
	} else {
		c->is_kick_due = true;
	}
	return err;
}

static uint32_t op_tx_post_run(void *arg, uint32_t rail, void *dev_peer,
			       struct pm_packet *const *packets, uint32_t n)
{
	struct chanlink *c = arg;
	uint32_t burst = c->dev->burst, done = 0, want, got;

	c->is_single = false;
	while (done < n) {
		want = burst && n - done > burst - c->n_posted ? burst - c->n_posted : n - done;
		got = c->ops->tx_post_run(c->dev, rail, dev_peer, packets + done, want);
		done += got;
		c->n_posted += got;
		c->is_kick_due |= got > 0;
		if (got < want && !c->is_kick_due) {
			c->is_full = true;
			break;
		}
		/*
		 * as much as leaves best in one piece, or the ring may be full only because nobody
		 * started it yet
		 */
		if (got < want || (burst && c->n_posted >= burst))
			chanlink_start(c);
	}
	return done;
}

static void op_rx_return(void *arg, uint64_t token)
{
	struct chanlink *c = arg;

	c->ops->rx_return(c->dev, token);
}

static struct chan_peer *op_unknown_peer(void *arg, uint32_t node)
{
	struct chanlink *c = arg;
	struct chan_peer *peer;
	const void *addr;
	size_t len;

	if (c->env.address_of(c->env.address_arg, node, c->layers.all[0].ops.name, &addr, &len))
		return NULL;
	return chanlink_add_peer(c, node, addr, len, &peer) ? NULL : peer;
}

static void op_peer_dead(void *arg, struct chan_peer *peer, int error)
{
	struct chanlink *c = arg;
	struct chanlink_dead *grown;

	if (c->n_dead == c->room_dead) {
		uint32_t room = c->room_dead ? 2 * c->room_dead : 16;

		grown = realloc(c->dead, room * sizeof(*grown));
		if (!grown)
			return; /* the peer still gives -EPIPE to whoever sends to it */
		c->dead = grown;
		c->room_dead = room;
	}
	grown = &c->dead[c->n_dead++];
	*grown = (struct chanlink_dead){chan_peer_node(peer), error == ETIMEDOUT, NULL};
	if (!grown->is_silent)
		grown->why = strdup(c->env.why);
}

static uint64_t op_clock_ns(void *arg)
{
	struct chanlink *c = arg;

	return ticks_ns(&c->clock.ticks);
}

const struct chan_ops chanlink_engine_ops = {
	.tx_alloc = op_tx_alloc,
	.tx_alloc_bulk = op_tx_alloc_bulk,
	.tx_free = op_tx_free,
	.tx_alloc_run = op_tx_alloc_run,
	.tx_free_run = op_tx_free_run,
	.tx_post = op_tx_post,
	.tx_post_run = op_tx_post_run,
	.rx_return = op_rx_return,
	.unknown_peer = op_unknown_peer,
	.peer_dead = op_peer_dead,
	.clock_ns = op_clock_ns,
};
