// SPDX-License-Identifier: BSD-3-Clause
/*
 * sleep - one epoll descriptor for all sockets: arrivals, errors, room in a full send buffer, and
 * news of the interfaces. The kernel calls on the set at each packet that a watched socket sends or
 * gets, which takes 0.14 us of half a round trip. So the sockets are in the set only while somebody
 * sleeps, and a little longer: a program that sleeps at each message keeps them there.
 */
#include <errno.h>
#include <sys/epoll.h>

#include "pm-udp/device.h"

/* Receive calls after a sleep, until the sockets leave the set: about 40 us of polling. */
#define PATIENCE 256

/* An event bears the number of a rail, for its sending socket, or one of these. */
#define ID_RECEIVER PM_RAILS_MAX
#define ID_LINK (PM_RAILS_MAX + 1)

static int control(struct pmu_dev *d, int op, int fd, uint32_t events, uint32_t id)
{
	struct epoll_event event = {.events = events, .data.u32 = id};

	return epoll_ctl(d->epoll_fd, op, fd, &event) ? -errno : 0;
}

int pmu_sleep_watch_link(struct pmu_dev *d, int fd)
{
	return control(d, EPOLL_CTL_ADD, fd, EPOLLIN, ID_LINK);
}

int pmu_sleep_fds(struct pm_dev *dev, int *fds, int room)
{
	if (room < 1)
		return 0;
	fds[0] = pmu_of(dev)->epoll_fd;
	return 1;
}

void pmu_sleep_unwatch(struct pmu_dev *d)
{
	control(d, EPOLL_CTL_DEL, d->rx.fd, 0, 0);
	for (uint32_t r = 0; r < d->dev.n_rails; r++)
		if (d->rails[r].fd >= 0)
			control(d, EPOLL_CTL_DEL, d->rails[r].fd, 0, 0);
	d->is_watched = false;
}

/* False: not all sockets could be watched, so none is. Errors of a socket are always told. */
static bool watch(struct pmu_dev *d)
{
	int err = control(d, EPOLL_CTL_ADD, d->rx.fd, EPOLLIN, ID_RECEIVER);

	d->is_receive_off = false;
	for (uint32_t r = 0; r < d->dev.n_rails && !err; r++) {
		d->rails[r].is_watched = false;
		if (d->rails[r].fd >= 0)
			err = control(d, EPOLL_CTL_ADD, d->rails[r].fd, 0, r);
	}
	d->is_watched = !err;
	if (err)
		pmu_sleep_unwatch(d);
	return !err;
}

static void watch_room(struct pmu_dev *d, uint32_t r, bool is_on)
{
	struct pmu_rail *rail = &d->rails[r];

	if (rail->fd < 0 || rail->is_watched == is_on)
		return;
	if (!control(d, EPOLL_CTL_MOD, rail->fd, is_on ? EPOLLOUT : 0, r))
		rail->is_watched = is_on;
}

static void watch_arrivals(struct pmu_dev *d, bool is_on)
{
	if (d->rx.fd < 0 || d->is_receive_off == !is_on)
		return;
	if (!control(d, EPOLL_CTL_MOD, d->rx.fd, is_on ? EPOLLIN : 0, ID_RECEIVER))
		d->is_receive_off = !is_on;
}

/* Takes what epoll has to tell; 1 when it is something for the channel. */
static int take_events(struct pmu_dev *d)
{
	struct epoll_event events[PM_RAILS_MAX + 2];
	int n = epoll_wait(d->epoll_fd, events, PM_RAILS_MAX + 2, 0), is_work = 0;

	for (int i = 0; i < n; i++) {
		uint32_t id = events[i].data.u32;

		if (id == ID_RECEIVER) {
			is_work = 1;
		} else if (id == ID_LINK) {
			pmu_link_update(d);
			is_work = 1;
		} else {
			if (events[i].events & EPOLLERR)
				pmu_error_drain(d, id);
			if (events[i].events & EPOLLOUT)
				is_work = 1;
		}
	}
	return is_work || d->n_gone;
}

void pmu_sleep_disarm(struct pm_dev *dev)
{
	struct pmu_dev *d = pmu_of(dev);

	if (!d->is_watched)
		return;
	for (uint32_t r = 0; r < d->dev.n_rails; r++)
		watch_room(d, r, false);
	watch_arrivals(d, true);
	d->unwatch_at = d->rx.calls + PATIENCE;
}

int pmu_sleep_arm(struct pm_dev *dev)
{
	struct pmu_dev *d = pmu_of(dev);
	bool has_room = pmu_rx_has_room(d);

	if (pmu_rx_is_pending(d) && has_room)
		return 1;
	if (d->rx.fd >= 0 && !d->is_watched && !watch(d))
		return 1;
	for (uint32_t r = 0; r < d->dev.n_rails; r++)
		if (d->tx_waiting >> r & 1)
			watch_room(d, r, !pmu_tx_flush(d, r));
	/*
	 * without a free buffer an arrival is no reason to wake: the user has to release some first
	 */
	watch_arrivals(d, has_room);
	d->unwatch_at = UINT64_MAX;
	if (!take_events(d))
		return 0;
	pmu_sleep_disarm(dev);
	return 1;
}
