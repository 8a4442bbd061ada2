// SPDX-License-Identifier: BSD-3-Clause
/*
 * error - what the network reports back: the error queues of the sending sockets. "Port
 * unreachable" that persists means that the peer's process is gone; unreachable hosts and nets are
 * trouble of a rail or a route, which the channel finds out by itself. Read only after the kernel
 * signalled an error.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/errqueue.h>
#include <netinet/ip_icmp.h>
#include <stdio.h>
#include <string.h>

#include "pm-udp/device.h"
#include "pmcore/util/clock.h"

/*
 * A process is gone after that many reports that span at least that time. A single one may stem
 * from the moment in which its socket is opened anew. Reports older than the memory do not count.
 */
#define REFUSALS 3
#define REFUSAL_SPAN_MS 5
#define REFUSAL_MEMORY_MS 10000

static struct pmu_peer *find_peer(const struct pmu_dev *d, uint32_t rail, uint32_t address,
				  uint16_t port)
{
	for (uint32_t i = 0; i < d->n_peers; i++) {
		struct pmu_peer *peer = d->peers[i];

		if (peer->port == port && peer->rails >> rail & 1 && peer->address[rail] == address)
			return peer;
	}
	return NULL;
}

static void refused(struct pmu_dev *d, struct pmu_peer *peer)
{
	uint32_t now = (uint32_t)(clock_monotonic_ns() / 1000000);

	if (peer->is_gone)
		return;
	if (!peer->refusals || now - peer->refused_since > REFUSAL_MEMORY_MS) {
		peer->refusals = 0;
		peer->refused_since = now;
	}
	if (peer->refusals < UINT8_MAX)
		peer->refusals++;
	if (peer->refusals < REFUSALS || now - peer->refused_since < REFUSAL_SPAN_MS ||
	    d->n_gone == PMU_GONE_MAX)
		return;
	peer->is_gone = true;
	d->gone[d->n_gone++] = peer->node;
}

void pmu_error_note(struct pmu_dev *d, uint32_t rail, const struct pmu_peer *peer, int error)
{
	char text[16];

	snprintf(d->trouble, sizeof(d->trouble), "%s to node %u at %s: %s",
		 d->rails[rail].iface.name, peer->node, pmu_addr_text(peer->address[rail], text),
		 strerror(error));
}

static void note_report(struct pmu_dev *d, uint32_t rail, uint32_t address,
			const struct sock_extended_err *e)
{
	char text[16], size[48] = "";

	d->route_troubles++;
	if (e->ee_errno == EMSGSIZE)
		snprintf(size, sizeof(size), ", the path takes udp.mtu=%u", e->ee_info);
	snprintf(d->trouble, sizeof(d->trouble), "%s to %s: %s%s", d->rails[rail].iface.name,
		 pmu_addr_text(address, text), strerror((int)e->ee_errno), size);
}

/*
 * One report; 1 if it is news from the network, 0 if it only repeats what the send call returned.
 */
static int take_report(struct pmu_dev *d, uint32_t rail, const struct sockaddr_in *to,
		       const struct sock_extended_err *e)
{
	uint32_t address = ntohl(to->sin_addr.s_addr);
	struct pmu_peer *peer;

	if (e->ee_origin != SO_EE_ORIGIN_ICMP) {
		if (e->ee_errno == EMSGSIZE)
			note_report(d, rail, address, e);
		return 0;
	}
	if (e->ee_type == ICMP_DEST_UNREACH && e->ee_code == ICMP_PORT_UNREACH) {
		peer = find_peer(d, rail, address, ntohs(to->sin_port));
		if (peer)
			refused(d, peer);
	} else {
		note_report(d, rail, address, e);
	}
	return 1;
}

int pmu_error_drain(struct pmu_dev *d, uint32_t r)
{
	struct pmu_rail *rail = &d->rails[r];
	int news = 0;

	while (rail->fd >= 0) {
		struct sockaddr_in to = {0};
		uint8_t packet[64];
		union {
			char room[CMSG_SPACE(sizeof(struct sock_extended_err) +
					     sizeof(struct sockaddr_in6))];
			struct cmsghdr align;
		} control;
		struct iovec iov = {packet, sizeof(packet)};
		struct msghdr h = {.msg_name = &to,
				   .msg_namelen = sizeof(to),
				   .msg_iov = &iov,
				   .msg_iovlen = 1,
				   .msg_control = &control,
				   .msg_controllen = sizeof(control)};

		if (recvmsg(rail->fd, &h, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) {
			int pending = 0;
			socklen_t len = sizeof(pending);

			/*
			 * also take an error that has no report, or epoll would signal it forever
			 */
			getsockopt(rail->fd, SOL_SOCKET, SO_ERROR, &pending, &len);
			break;
		}
		rail->errors++;
		for (struct cmsghdr *c = CMSG_FIRSTHDR(&h); c; c = CMSG_NXTHDR(&h, c)) {
			struct sock_extended_err e;

			if (c->cmsg_level != IPPROTO_IP || c->cmsg_type != IP_RECVERR)
				continue;
			memcpy(&e, CMSG_DATA(c), sizeof(e));
			news += take_report(d, r, &to, &e);
		}
	}
	return news;
}

int pmu_error_event(struct pm_dev *dev, uint32_t *ret_node)
{
	struct pmu_dev *d = pmu_of(dev);

	if (!d->n_gone)
		return 0;
	*ret_node = d->gone[--d->n_gone];
	for (uint32_t i = 0; i < d->n_peers; i++) {
		const struct pmu_peer *peer = d->peers[i];
		char text[16] = "?";

		if (peer->node != *ret_node)
			continue;
		if (peer->rails)
			pmu_addr_text(peer->address[__builtin_ctz(peer->rails)], text);
		snprintf(
			d->env.why, d->env.why_size,
			"node %u: its process is gone (%s answers that nobody listens on port %u); "
			"look for its exit on that host",
			peer->node, text, peer->port);
	}
	return 1;
}
