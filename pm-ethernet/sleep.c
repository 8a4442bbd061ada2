/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sleep - one epoll descriptor for all sockets: arrivals, and room for those whose kernel side was full. Room
 * is watched by edges: the level only tells of the ring, while what was short is the socket's buffer.
 */
#include <errno.h>
#include <sys/epoll.h>

#include "pm-ethernet/device.h"

int eth_sleep_open(struct eth_dev *d)
{
	d->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	return d->epoll_fd < 0 ? -errno : 0;
}

static int watch(struct eth_dev *d, uint32_t i, int op, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.u32 = i};

	if (epoll_ctl(d->epoll_fd, op, d->sockets[i].fd, &event))
		return -errno;
	d->sockets[i].watched = events;
	return 0;
}

/* A closed socket leaves the set by itself. */
int eth_sleep_watch(struct eth_dev *d)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < d->n_sockets; i++)
		err = watch(d, i, EPOLL_CTL_ADD, EPOLLIN);
	return err;
}

int eth_sleep_fds(struct pm_dev *dev, int *fds, int room)
{
	if (room < 1)
		return 0;
	fds[0] = eth_of(dev)->epoll_fd;
	return 1;
}

static void set(struct eth_dev *d, uint32_t events, uint32_t waiting)
{
	for (uint32_t i = 0; i < d->n_sockets; i++) {
		uint32_t wanted = waiting >> i & 1 ? events | EPOLLOUT | EPOLLET : events;

		if (d->sockets[i].fd >= 0 && d->sockets[i].watched != wanted)
			watch(d, i, EPOLL_CTL_MOD, wanted);
	}
}

void eth_sleep_disarm(struct pm_dev *dev)
{
	set(eth_of(dev), EPOLLIN, 0);
}

int eth_sleep_arm(struct pm_dev *dev)
{
	struct eth_dev *d = eth_of(dev);
	struct epoll_event events[ETH_RAILS];
	bool has_room = eth_rx_has_room(d);
	uint32_t waiting = 0;

	if (has_room && eth_rx_is_pending(d))
		return 1;
	for (uint32_t i = 0; i < d->n_sockets; i++) {
		eth_rx_refill(d, i);
		if (d->sockets[i].outstanding)
			eth_completion_reap(d, i);
		if (d->tx_waiting >> i & 1 && !eth_tx_flush(d, i))
			waiting |= 1u << i;
	}
	/* without room an arrival is no reason to wake: the user has to release something first */
	set(d, has_room ? EPOLLIN : 0, waiting);
	/* takes the edges that were there already; only from now on they mean news */
	epoll_wait(d->epoll_fd, events, ETH_RAILS, 0);
	for (uint32_t i = 0; i < d->n_sockets; i++)
		if (waiting >> i & 1 && eth_tx_flush(d, i)) {
			eth_sleep_disarm(dev);
			return 1;
		}
	if (has_room && eth_rx_is_pending(d)) {
		eth_sleep_disarm(dev);
		return 1;
	}
	return 0;
}
