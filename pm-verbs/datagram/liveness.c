// SPDX-License-Identifier: BSD-3-Clause
#include "pm-verbs/datagram/liveness.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <linux/errqueue.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "pmcore/util/clock.h"
#include "pmcore/util/forked.h"
#include "pmcore/util/siphash.h"

#define PROBE_NS 50000000ull           /* between two probes of a peer that has answered: 50 ms */
#define PROBE_UNKNOWN_NS 1000000000ull /* ... that has not: 1 s */
#define REFUSALS 2                     /* in a row: gone */
#define ANSWERS 16                     /* at once */

/* Little-endian: probes, and answers with the node of the probe that they answer. */
struct message {
	uint32_t what; /* enum what */
	uint32_t node; /* the one that is probed */
	uint64_t tag;  /* SipHash of both under the job's key */
};
_Static_assert(sizeof(struct message) == 16, "wire size");
enum what { PROBE, PROBE_AND_ANSWER, ANSWER };

static int udp_socket(void)
{
	return socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_UDP);
}

static int set(int fd, int level, int option, int value)
{
	return setsockopt(fd, level, option, &value, sizeof(value));
}

void pmvd_liveness_open(struct pmvd_dev *d)
{
	struct sockaddr_in at = {.sin_family = AF_INET};
	socklen_t len = sizeof(at);

	d->probe_fd = udp_socket();
	d->answer_fd = udp_socket();
	/* a child that lives on would hide our death */
	if (d->probe_fd < 0 || d->answer_fd < 0 || set(d->probe_fd, IPPROTO_IP, IP_RECVERR, 1) ||
	    forked_close(d->answer_fd) || bind(d->answer_fd, (struct sockaddr *)&at, sizeof(at)) ||
	    getsockname(d->answer_fd, (struct sockaddr *)&at, &len)) {
		pmvd_liveness_close(d);
		return;
	}
	d->liveness_port = ntohs(at.sin_port);
}

void pmvd_liveness_close(struct pmvd_dev *d)
{
	if (d->probe_fd >= 0)
		close(d->probe_fd);
	if (d->answer_fd >= 0) {
		forked_keep(d->answer_fd);
		close(d->answer_fd);
	}
	d->probe_fd = d->answer_fd = -1;
	d->liveness_port = 0;
}

/*
 * The peer's host on a rail of ours that works: its IPv4 address in network byte order, 0 = none.
 */
static uint32_t host_of(const struct pmvd_dev *d, const struct pmvd_peer *peer)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	for (uint32_t r = 0; r < d->dev.n_rails; r++) {
		const uint8_t *gid = peer->ways[r].end.gid;
		uint32_t address;

		if (!(peer->rails >> r & 1) || d->rails[r].is_port_down ||
		    memcmp(gid, mapped, sizeof(mapped)) != 0)
			continue;
		memcpy(&address, gid + sizeof(mapped), sizeof(address));
		return address;
	}
	return 0;
}

static uint64_t tag_of(const struct pmvd_dev *d, const struct message *message)
{
	const uint64_t key = d->env.job_key;

	return htole64(siphash(key, ~key, message, offsetof(struct message, tag)));
}

/* Also lost ones do no harm; an error is one of an earlier probe, which the error queue has. */
static void say(const struct pmvd_dev *d, int fd, enum what what, uint32_t node,
		const struct sockaddr_in *to)
{
	struct message message = {htole32(what), htole32(node), 0};

	message.tag = tag_of(d, &message);
	(void)!sendto(fd, &message, sizeof(message), MSG_DONTWAIT | MSG_NOSIGNAL,
		      (const struct sockaddr *)to, sizeof(*to));
}

/*
 * Takes what somebody says; false: nobody does. Of another length, or from outside of the job, it
 * means nothing.
 */
static bool hear(const struct pmvd_dev *d, int fd, struct message *ret,
		 struct sockaddr_in *ret_from)
{
	struct message message[2]; /* room to see that there is more */
	socklen_t len = sizeof(*ret_from);
	ssize_t n = recvfrom(fd, message, sizeof(message), MSG_DONTWAIT,
			     (struct sockaddr *)ret_from, &len);

	*ret = (struct message){.what = UINT32_MAX};
	if (n == sizeof(message[0]) && message[0].tag == tag_of(d, &message[0]))
		*ret = (struct message){le32toh(message[0].what), le32toh(message[0].node), 0};
	return n >= 0;
}

void pmvd_liveness_probe(struct pmvd_dev *d, struct pmvd_peer *peer)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(peer->liveness_port)};

	peer->is_in_doubt = false;
	peer->probe_ns = clock_monotonic_ns() + (peer->has_answered ? PROBE_NS : PROBE_UNKNOWN_NS);
	to.sin_addr.s_addr = host_of(d, peer);
	if (d->probe_fd < 0 || !peer->liveness_port || !to.sin_addr.s_addr)
		return;
	if (!peer->is_refused)
		peer->refusals = 0;
	peer->is_refused = false;
	d->probes++;
	say(d, d->probe_fd, peer->has_answered ? PROBE : PROBE_AND_ANSWER, peer->node, &to);
}

/* At one of those that packets went to, in turn. */
static void probe_next(struct pmvd_dev *d)
{
	uint64_t now = clock_monotonic_ns();

	for (uint32_t k = 0; k < d->n_peers; k++) {
		struct pmvd_peer *peer = d->peers[d->next_probe++ % d->n_peers];

		if (!peer->is_in_doubt || now < peer->probe_ns)
			continue;
		pmvd_liveness_probe(d, peer);
		return;
	}
}

static void answer(struct pmvd_dev *d)
{
	struct sockaddr_in from;
	struct message message;

	for (int i = 0; i < ANSWERS && hear(d, d->answer_fd, &message, &from); i++)
		if (message.what == PROBE_AND_ANSWER && message.node == d->env.self)
			say(d, d->answer_fd, ANSWER, message.node, &from);
}

/* By the node it names: the host may answer from another of its addresses. */
static void hear_answers(struct pmvd_dev *d)
{
	struct sockaddr_in from;
	struct message message;

	for (int i = 0; i < ANSWERS && hear(d, d->probe_fd, &message, &from); i++)
		for (uint32_t k = 0; k < d->n_peers; k++) {
			struct pmvd_peer *peer = d->peers[k];

			if (message.what != ANSWER || peer->node != message.node ||
			    htons(peer->liveness_port) != from.sin_port)
				continue;
			peer->has_answered = true;
			peer->probe_ns = 0;
		}
}

/* The next port that refused a probe; 0: no more, -1: another report. */
static int next_refusal(struct pmvd_dev *d, struct sockaddr_in *ret_port)
{
	union {
		char room[CMSG_SPACE(sizeof(struct sock_extended_err) +
				     sizeof(struct sockaddr_in6))];
		struct cmsghdr align;
	} control;
	uint8_t byte;
	struct iovec iov = {&byte, sizeof(byte)};
	struct msghdr h = {.msg_name = ret_port,
			   .msg_namelen = sizeof(*ret_port),
			   .msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = &control,
			   .msg_controllen = sizeof(control)};

	if (recvmsg(d->probe_fd, &h, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
		return 0;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&h); c; c = CMSG_NXTHDR(&h, c)) {
		struct sock_extended_err e;

		if (c->cmsg_level != IPPROTO_IP || c->cmsg_type != IP_RECVERR)
			continue;
		memcpy(&e, CMSG_DATA(c), sizeof(e));
		if (e.ee_origin == SO_EE_ORIGIN_ICMP && e.ee_type == ICMP_DEST_UNREACH &&
		    e.ee_code == ICMP_PORT_UNREACH)
			return 1;
	}
	return -1;
}

static struct pmvd_peer *behind(const struct pmvd_dev *d, const struct sockaddr_in *port)
{
	for (uint32_t i = 0; i < d->n_peers; i++)
		if (d->peers[i]->liveness_port &&
		    htons(d->peers[i]->liveness_port) == port->sin_port &&
		    host_of(d, d->peers[i]) == port->sin_addr.s_addr)
			return d->peers[i];
	return NULL;
}

static void explain(struct pmvd_dev *d, const struct pmvd_peer *peer,
		    const struct sockaddr_in *port)
{
	char text[INET_ADDRSTRLEN] = "";

	inet_ntop(AF_INET, &port->sin_addr, text, sizeof(text));
	snprintf(d->env.why, d->env.why_size,
		 "node %u: its process is gone (%s answers that nobody listens on port %u); look "
		 "for its exit on that host",
		 peer->node, text, ntohs(port->sin_port));
}

int pmvd_liveness_event(struct pm_dev *dev, uint32_t *ret_node)
{
	struct pmvd_dev *d = pmvd_of(dev);
	struct sockaddr_in port = {0};
	int got;

	if (d->probe_fd < 0)
		return 0;
	answer(d);
	hear_answers(d);
	while ((got = next_refusal(d, &port))) {
		struct pmvd_peer *peer = got > 0 ? behind(d, &port) : NULL;

		/* where nobody has ever answered, it may be a firewall that does */
		if (!peer || !peer->has_answered)
			continue;
		peer->is_refused = true;
		if (++peer->refusals < REFUSALS)
			continue;
		peer->liveness_port = 0;
		explain(d, peer, &port);
		*ret_node = peer->node;
		return 1;
	}
	probe_next(d);
	return 0;
}
