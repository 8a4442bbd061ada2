// SPDX-License-Identifier: BSD-3-Clause
/*
 * sleep - one epoll descriptor for all sockets: arrivals, and room for those whose kernel side was
 * full. Room is watched by edges: the level only tells of the ring, while what was short is the
 * socket's buffer. A socket is in the set only while somebody sleeps: the kernel would spend time
 * on it for every frame. So is the inbox, by edges too: to the kernel it is never empty while its
 * reader's position says that it sleeps.
 */
#include <errno.h>
#include <sys/epoll.h>

#include "pm-ethernet/device.h"

int eth_sleep_open(struct eth_dev *d)
{
	d->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	return d->epoll_fd < 0 ? -errno : 0;
}

/* Waits for events at a socket; 0 takes it out of the set. */
static void watch(struct eth_dev *d, uint32_t i, uint32_t events)
{
	struct eth_socket *s = &d->sockets[i];
	struct epoll_event event = {.events = events, .data.u32 = i};
	int op = !events ? EPOLL_CTL_DEL : s->watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;

	if (s->fd < 0 || s->watched == events)
		return;
	/* without memory for the entry the sleep is as long as the time limit */
	s->watched = epoll_ctl(d->epoll_fd, op, s->fd, &event) ? 0 : events;
}

/* The same for frames in the inbox; without one nothing is to be done. */
static void watch_inbox(struct eth_dev *d, bool is_on)
{
	struct eth_inbox *b = &d->inbox;
	struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.u32 = ETH_RAILS};

	if (b->fd < 0 || (!is_on && !b->is_watched))
		return;
	if (is_on)
		eth_inbox_sleep(b);
	else
		eth_inbox_awake(b);
	if (b->is_watched == is_on)
		return;
	b->is_watched =
		!epoll_ctl(d->epoll_fd, is_on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, b->fd, &event) &&
		is_on;
}

int eth_sleep_fds(struct pm_dev *dev, int *fds, int room)
{
	if (room < 1)
		return 0;
	fds[0] = eth_of(dev)->epoll_fd;
	return 1;
}

void eth_sleep_disarm(struct pm_dev *dev)
{
	struct eth_dev *d = eth_of(dev);

	for (uint32_t i = 0; i < d->n_sockets; i++)
		watch(d, i, 0);
	watch_inbox(d, false);
}

int eth_sleep_arm(struct pm_dev *dev)
{
	struct eth_dev *d = eth_of(dev);
	struct epoll_event events[ETH_RAILS + 1];
	bool has_room = eth_rx_has_room(d);
	uint32_t arrivals = has_room && !eth_has_inbox(d) ? EPOLLIN : 0, waiting = 0;

	if (has_room && eth_rx_is_pending(d))
		return 1;
	for (uint32_t i = 0; i < d->n_sockets; i++) {
		eth_rx_refill(d, i);
		if (d->sockets[i].outstanding)
			eth_completion_reap(d, i);
		if (d->tx_waiting >> i & 1 && !eth_tx_flush(d, i))
			waiting |= 1u << i;
	}
	eth_rx_look_after(d);
	/* without room an arrival is no reason to wake: the user has to release something first */
	for (uint32_t i = 0; i < d->n_sockets; i++)
		watch(d, i, arrivals | (waiting >> i & 1 ? EPOLLOUT | EPOLLET : 0));
	watch_inbox(d, has_room);
	/* takes the edges that were there already; only from now on they mean news */
	epoll_wait(d->epoll_fd, events, ETH_RAILS + 1, 0);
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
