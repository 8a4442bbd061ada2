// SPDX-License-Identifier: BSD-3-Clause
/*
 * socket - opens, configures and closes the sockets of a udp device. Knows
 * every socket option used; moves no packet.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "pm-udp/device.h"
#include "pmcore/util/conf.h"
#include "pmcore/util/forked.h"

#ifndef UDP_GRO
#define UDP_GRO 104
#endif

/*
 * Enough for a rail of 10 Gbit/s between two polls, little enough that a slow rail soon says it is
 * full and the others take over; the kernel doubles it for its own overhead.
 */
#define SEND_BUFFER (128 << 10)
/* All senders of a job at once; the kernel cuts it to net.core.rmem_max. */
#define RECEIVE_BUFFER (8 << 20)
/* Ports tried from udp.port on: one for each process of the host. */
#define PORT_SPAN 1024

static int set(int fd, int level, int option, int value)
{
	return setsockopt(fd, level, option, &value, sizeof(value)) ? -errno : 0;
}

static int get(int fd, int level, int option)
{
	int value = 0;
	socklen_t len = sizeof(value);

	return getsockopt(fd, level, option, &value, &len) ? -errno : value;
}

static int udp_socket(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_UDP);

	return fd < 0 ? -errno : fd;
}

static int bind_to(int fd, uint32_t address, uint16_t port)
{
	struct sockaddr_in sin = {
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(address)};

	return bind(fd, (struct sockaddr *)&sin, sizeof(sin)) ? -errno : 0;
}

static uint16_t port_of(int fd)
{
	struct sockaddr_in sin = {0};
	socklen_t len = sizeof(sin);

	return getsockname(fd, (struct sockaddr *)&sin, &len) ? 0 : ntohs(sin.sin_port);
}

/* The port we had (resume), else the configured range, else any. */
static int bind_receiver(struct pmu_dev *d, int fd, uint32_t address)
{
	uint32_t first = d->env.conf->udp_port;
	int err;

	if (d->port && !bind_to(fd, address, d->port))
		return 0;
	if (!first)
		return bind_to(fd, address, 0);
	for (uint32_t port = first; port < first + PORT_SPAN && port <= 65535; port++) {
		err = bind_to(fd, address, (uint16_t)port);
		if (err != -EADDRINUSE)
			return err;
	}
	return -EADDRINUSE;
}

static int open_receiver(struct pmu_dev *d)
{
	struct pmu_rx *rx = &d->rx;
	/* a single rail needs no note in each packet about where it went to */
	bool is_single = d->dev.n_rails == 1;
	uint32_t address = is_single ? d->rails[0].iface.address : INADDR_ANY;
	int err;

	rx->fd = udp_socket();
	if (rx->fd < 0)
		return rx->fd;
	if (set(rx->fd, SOL_SOCKET, SO_RCVBUFFORCE, RECEIVE_BUFFER))
		set(rx->fd, SOL_SOCKET, SO_RCVBUF, RECEIVE_BUFFER);
	rx->receive_buffer = get(rx->fd, SOL_SOCKET, SO_RCVBUF);
	rx->has_gro = d->env.conf->udp_gso && !set(rx->fd, IPPROTO_UDP, UDP_GRO, 1);
	rx->has_pktinfo = !is_single;
	/* a port that stays bound hides our death: see error.c */
	err = forked_close(rx->fd);
	if (!err && rx->has_pktinfo)
		err = set(rx->fd, IPPROTO_IP, IP_PKTINFO, 1);
	if (!err)
		err = bind_receiver(d, rx->fd, address);
	if (err)
		return err;
	d->port = port_of(rx->fd);
	return 0;
}

/* Two interfaces in one subnet: the source address alone does not choose the one to leave by. */
static bool is_ambiguous(const struct pmu_dev *d, uint32_t rail)
{
	const struct pmu_iface *a = &d->rails[rail].iface;

	for (uint32_t r = 0; r < d->dev.n_rails; r++) {
		const struct pmu_iface *b = &d->rails[r].iface;
		unsigned int prefix = a->prefix < b->prefix ? a->prefix : b->prefix;

		if (a->index != b->index && prefix && !((a->address ^ b->address) >> (32 - prefix)))
			return true;
	}
	return false;
}

static int open_sender(struct pmu_dev *d, uint32_t r)
{
	struct pmu_rail *rail = &d->rails[r];
	int err;

	if (!rail->iface.index)
		return 0;
	rail->fd = udp_socket();
	if (rail->fd < 0)
		return rail->fd;
	set(rail->fd, SOL_SOCKET, SO_SNDBUF, SEND_BUFFER);
	rail->send_buffer = get(rail->fd, SOL_SOCKET, SO_SNDBUF);
	/* nobody sends to this socket on purpose */
	set(rail->fd, SOL_SOCKET, SO_RCVBUF, 1);
	/* don't fragment, and trust the published sizes more than what a router once said */
	err = set(rail->fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE);
	if (!err)
		err = set(rail->fd, IPPROTO_IP, IP_RECVERR, 1);
	if (!err && is_ambiguous(d, r))
		err = set(rail->fd, IPPROTO_IP, IP_UNICAST_IF,
			  (int)htonl((uint32_t)rail->iface.index));
	if (!err)
		err = bind_to(rail->fd, rail->iface.address, 0);
	if (err)
		return err;
	rail->has_gso = d->env.conf->udp_gso && get(rail->fd, IPPROTO_UDP, UDP_SEGMENT) >= 0;
	rail->is_blocked = false;
	rail->segment = 0;
	pmu_connect_forget(rail, NULL);
	return 0;
}

int pmu_sockets_open(struct pmu_dev *d)
{
	char text[16];
	int err = open_receiver(d);

	if (err) {
		uint32_t first = d->env.conf->udp_port, last = first + PORT_SPAN - 1;

		if (first && err == -EADDRINUSE)
			snprintf(d->env.why, d->env.why_size,
				 "udp: all ports from %u to %u are in use; choose another udp.port",
				 first, last < 65535 ? last : 65535);
		else
			snprintf(d->env.why, d->env.why_size,
				 "udp: the receiving socket can't be opened: %s", strerror(-err));
		goto close;
	}
	for (uint32_t r = 0; r < d->dev.n_rails; r++) {
		err = open_sender(d, r);
		if (err) {
			snprintf(
				d->env.why, d->env.why_size,
				"udp: no socket on %s (%s): %s; bring the interface up or leave it "
				"out of udp.rails",
				d->rails[r].iface.name,
				pmu_addr_text(d->rails[r].iface.address, text), strerror(-err));
			goto close;
		}
	}
	return 0;

close:
	pmu_sockets_close(d);
	return err;
}

void pmu_sockets_close(struct pmu_dev *d)
{
	/* closing does not take them out of the epoll set while a child has them open */
	if (d->is_watched)
		pmu_sleep_unwatch(d);
	if (d->rx.fd >= 0) {
		forked_keep(d->rx.fd);
		close(d->rx.fd);
	}
	d->rx.fd = -1;
	for (uint32_t r = 0; r < PM_RAILS_MAX; r++) {
		if (d->rails[r].fd >= 0)
			close(d->rails[r].fd);
		d->rails[r].fd = -1;
	}
}
