// SPDX-License-Identifier: BSD-3-Clause
/*
 * link - whether the rails' interfaces are up. A netlink socket tells that something changed, the
 * flags are then read again; without one (refused in some containers) they are read at the same low
 * rate. The fast path pays nothing: rail_state looks at a clock first.
 */
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "pm-udp/device.h"
#include "pmcore/util/clock.h"

#define CHECK_NS 5000000ull  /* between looks at the netlink socket */
#define FLAGS_NS 50000000ull /* between readings of the flags, without one */

static void read_flags(struct pmu_dev *d)
{
	for (uint32_t r = 0; r < d->dev.n_rails; r++) {
		struct pmu_rail *rail = &d->rails[r];
		struct ifreq req = {0};

		rail->is_up = false;
		if (rail->fd < 0)
			continue;
		snprintf(req.ifr_name, sizeof(req.ifr_name), "%s", rail->iface.name);
		if (!ioctl(rail->fd, SIOCGIFFLAGS, &req))
			rail->is_up = (req.ifr_flags & IFF_UP) && (req.ifr_flags & IFF_RUNNING);
	}
}

void pmu_link_open(struct pmu_dev *d)
{
	struct sockaddr_nl to = {.nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_ROUTE);

	d->link_fd = -1;
	if (fd >= 0 && !bind(fd, (struct sockaddr *)&to, sizeof(to)) &&
	    !pmu_sleep_watch_link(d, fd))
		d->link_fd = fd;
	else if (fd >= 0)
		close(fd);
	read_flags(d);
}

void pmu_link_close(struct pmu_dev *d)
{
	if (d->link_fd >= 0)
		close(d->link_fd);
	d->link_fd = -1;
}

/* Empties the netlink socket; true when it had something to say (or lost it: ENOBUFS). */
static bool has_news(struct pmu_dev *d)
{
	char buf[8192];
	bool is_news = false;

	if (d->link_fd < 0)
		return true;
	for (;;) {
		ssize_t n = recv(d->link_fd, buf, sizeof(buf), MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != ENOBUFS)
			return is_news;
		is_news = true;
	}
}

void pmu_link_update(struct pmu_dev *d)
{
	if (has_news(d))
		read_flags(d);
}

enum pm_rail_state pmu_link_state(struct pm_dev *dev, uint32_t r)
{
	struct pmu_dev *d = pmu_of(dev);
	uint64_t now = clock_monotonic_ns();

	if (now >= d->link_check) {
		d->link_check = now + (d->link_fd < 0 ? FLAGS_NS : CHECK_NS);
		pmu_link_update(d);
	}
	return d->rails[r].is_up ? PM_RAIL_UP : PM_RAIL_DOWN;
}
