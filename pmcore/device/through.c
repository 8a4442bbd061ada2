// SPDX-License-Identifier: BSD-3-Clause
/*
 * through - see through.h. Every function hands its arguments to the same operation of the lower
 * device.
 */
#include "pmcore/device/through.h"

static struct through *of(struct pm_dev *dev)
{
	return (struct through *)dev;
}

int through_address(struct pm_dev *dev, void *buf, size_t room)
{
	return of(dev)->lower->ops->address(of(dev)->lower, buf, room);
}

int through_peer_add(struct pm_dev *dev, uint32_t node, const void *addr, size_t len,
		     struct pm_dev_peer **ret_peer, uint32_t *ret_rails)
{
	struct pm_dev *lower = of(dev)->lower;

	return lower->ops->peer_add(lower, node, addr, len, ret_peer, ret_rails);
}

void through_peer_del(struct pm_dev *dev, struct pm_dev_peer *peer)
{
	of(dev)->lower->ops->peer_del(of(dev)->lower, peer);
}

uint32_t through_mtu(struct pm_dev *dev, struct pm_dev_peer *peer)
{
	return of(dev)->lower->ops->mtu(of(dev)->lower, peer);
}

struct pm_packet *through_tx_alloc(struct pm_dev *dev)
{
	return of(dev)->lower->ops->tx_alloc(of(dev)->lower);
}

struct pm_packet *through_tx_alloc_bulk(struct pm_dev *dev)
{
	return of(dev)->lower->ops->tx_alloc_bulk(of(dev)->lower);
}

void through_tx_free(struct pm_dev *dev, struct pm_packet *packet)
{
	of(dev)->lower->ops->tx_free(of(dev)->lower, packet);
}

int through_tx_post(struct pm_dev *dev, uint32_t rail, struct pm_dev_peer *peer,
		    struct pm_packet *packet)
{
	return of(dev)->lower->ops->tx_post(of(dev)->lower, rail, peer, packet);
}

void through_tx_kick(struct pm_dev *dev)
{
	of(dev)->lower->ops->tx_kick(of(dev)->lower);
}

int through_peer_event(struct pm_dev *dev, uint32_t *ret_node)
{
	return of(dev)->lower->ops->peer_event(of(dev)->lower, ret_node);
}

enum pm_rail_state through_rail_state(struct pm_dev *dev, uint32_t rail)
{
	return of(dev)->lower->ops->rail_state(of(dev)->lower, rail);
}

int through_poll_fds(struct pm_dev *dev, int *fds, int room)
{
	return of(dev)->lower->ops->poll_fds(of(dev)->lower, fds, room);
}

int through_arm(struct pm_dev *dev)
{
	return of(dev)->lower->ops->arm(of(dev)->lower);
}

void through_disarm(struct pm_dev *dev)
{
	of(dev)->lower->ops->disarm(of(dev)->lower);
}

int through_suspend(struct pm_dev *dev)
{
	return of(dev)->lower->ops->suspend(of(dev)->lower);
}

int through_resume(struct pm_dev *dev)
{
	return of(dev)->lower->ops->resume(of(dev)->lower);
}

void through_rx_return(struct pm_dev *dev, uint64_t token)
{
	of(dev)->lower->ops->rx_return(of(dev)->lower, token);
}
