// SPDX-License-Identifier: BSD-3-Clause
#include "pm-verbs/datagram/door.h"

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

#define KNOCK_NS 50000000ull      /* between two knocks at a door that has answered: 50 ms */
#define STRANGER_NS 1000000000ull /* ... that has not: 1 s */
#define REFUSALS 2                /* in a row: gone */
#define ANSWERS 16                /* at once */

/* The messages, little-endian: knocks, and answers with the node of the knock that they answer. */
struct words {
	uint32_t what; /* enum word */
	uint32_t node; /* who is knocked at */
	uint64_t tag;  /* SipHash of both under the job's key */
};
_Static_assert(sizeof(struct words) == 16, "a word has 16 bytes");
enum word { KNOCK, KNOCK_AND_ANSWER, ANSWER };

static int udp_socket(void)
{
	return socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_UDP);
}

static int set(int fd, int level, int option, int value)
{
	return setsockopt(fd, level, option, &value, sizeof(value));
}

void pmvd_door_open(struct pmvd_dev *d)
{
	struct sockaddr_in at = {.sin_family = AF_INET};
	socklen_t len = sizeof(at);

	d->knock_fd = udp_socket();
	d->door_fd = udp_socket();
	/* a child that lives on would hide our death */
	if (d->knock_fd < 0 || d->door_fd < 0 || set(d->knock_fd, IPPROTO_IP, IP_RECVERR, 1) ||
	    forked_close(d->door_fd) || bind(d->door_fd, (struct sockaddr *)&at, sizeof(at)) ||
	    getsockname(d->door_fd, (struct sockaddr *)&at, &len)) {
		pmvd_door_close(d);
		return;
	}
	d->door = ntohs(at.sin_port);
}

void pmvd_door_close(struct pmvd_dev *d)
{
	if (d->knock_fd >= 0)
		close(d->knock_fd);
	if (d->door_fd >= 0) {
		forked_keep(d->door_fd);
		close(d->door_fd);
	}
	d->knock_fd = d->door_fd = -1;
	d->door = 0;
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

static uint64_t tag_of(const struct pmvd_dev *d, const struct words *words)
{
	const uint64_t key = d->env.job_key;

	return htole64(siphash(key, ~key, words, offsetof(struct words, tag)));
}

/* Also lost ones do no harm; an error is one of an earlier knock, which the error queue has. */
static void say(const struct pmvd_dev *d, int fd, enum word what, uint32_t node,
		const struct sockaddr_in *to)
{
	struct words words = {htole32(what), htole32(node), 0};

	words.tag = tag_of(d, &words);
	(void)!sendto(fd, &words, sizeof(words), MSG_DONTWAIT | MSG_NOSIGNAL,
		      (const struct sockaddr *)to, sizeof(*to));
}

/*
 * Takes what somebody says; false: nobody does. Of another length, or from outside of the job, it
 * means nothing.
 */
static bool hear(const struct pmvd_dev *d, int fd, struct words *ret, struct sockaddr_in *ret_from)
{
	struct words words[2]; /* room to see that there is more */
	socklen_t len = sizeof(*ret_from);
	ssize_t n =
		recvfrom(fd, words, sizeof(words), MSG_DONTWAIT, (struct sockaddr *)ret_from, &len);

	*ret = (struct words){.what = UINT32_MAX};
	if (n == sizeof(words[0]) && words[0].tag == tag_of(d, &words[0]))
		*ret = (struct words){le32toh(words[0].what), le32toh(words[0].node), 0};
	return n >= 0;
}

void pmvd_door_knock(struct pmvd_dev *d, struct pmvd_peer *peer)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(peer->door)};

	peer->is_in_doubt = false;
	peer->knock_ns = clock_monotonic_ns() + (peer->is_door_known ? KNOCK_NS : STRANGER_NS);
	to.sin_addr.s_addr = host_of(d, peer);
	if (d->knock_fd < 0 || !peer->door || !to.sin_addr.s_addr)
		return;
	if (!peer->is_refused)
		peer->refusals = 0;
	peer->is_refused = false;
	d->knocks++;
	say(d, d->knock_fd, peer->is_door_known ? KNOCK : KNOCK_AND_ANSWER, peer->node, &to);
}

/* At one of those that packets went to, in turn. */
static void knock_somewhere(struct pmvd_dev *d)
{
	uint64_t now = clock_monotonic_ns();

	for (uint32_t k = 0; k < d->n_peers; k++) {
		struct pmvd_peer *peer = d->peers[d->next_knock++ % d->n_peers];

		if (!peer->is_in_doubt || now < peer->knock_ns)
			continue;
		pmvd_door_knock(d, peer);
		return;
	}
}

static void answer(struct pmvd_dev *d)
{
	struct sockaddr_in from;
	struct words words;

	for (int i = 0; i < ANSWERS && hear(d, d->door_fd, &words, &from); i++)
		if (words.what == KNOCK_AND_ANSWER && words.node == d->env.self)
			say(d, d->door_fd, ANSWER, words.node, &from);
}

/* By the node it names: the host may answer from another of its addresses. */
static void hear_answers(struct pmvd_dev *d)
{
	struct sockaddr_in from;
	struct words words;

	for (int i = 0; i < ANSWERS && hear(d, d->knock_fd, &words, &from); i++)
		for (uint32_t k = 0; k < d->n_peers; k++) {
			struct pmvd_peer *peer = d->peers[k];

			if (words.what != ANSWER || peer->node != words.node ||
			    htons(peer->door) != from.sin_port)
				continue;
			peer->is_door_known = true;
			peer->knock_ns = 0;
		}
}

/* The next door that was not opened; 0: no more, -1: another report. */
static int next_refusal(struct pmvd_dev *d, struct sockaddr_in *ret_door)
{
	union {
		char room[CMSG_SPACE(sizeof(struct sock_extended_err) +
				     sizeof(struct sockaddr_in6))];
		struct cmsghdr align;
	} control;
	uint8_t byte;
	struct iovec iov = {&byte, sizeof(byte)};
	struct msghdr h = {.msg_name = ret_door,
			   .msg_namelen = sizeof(*ret_door),
			   .msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = &control,
			   .msg_controllen = sizeof(control)};

	if (recvmsg(d->knock_fd, &h, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
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

static struct pmvd_peer *behind(const struct pmvd_dev *d, const struct sockaddr_in *door)
{
	for (uint32_t i = 0; i < d->n_peers; i++)
		if (d->peers[i]->door && htons(d->peers[i]->door) == door->sin_port &&
		    host_of(d, d->peers[i]) == door->sin_addr.s_addr)
			return d->peers[i];
	return NULL;
}

static void explain(struct pmvd_dev *d, const struct pmvd_peer *peer,
		    const struct sockaddr_in *door)
{
	char text[INET_ADDRSTRLEN] = "";

	inet_ntop(AF_INET, &door->sin_addr, text, sizeof(text));
	snprintf(d->env.why, d->env.why_size,
		 "node %u: its process is gone (%s answers that nobody listens on port %u); look "
		 "for its exit on that host",
		 peer->node, text, ntohs(door->sin_port));
}

int pmvd_door_event(struct pm_dev *dev, uint32_t *ret_node)
{
	struct pmvd_dev *d = pmvd_of(dev);
	struct sockaddr_in door = {0};
	int got;

	if (d->knock_fd < 0)
		return 0;
	answer(d);
	hear_answers(d);
	while ((got = next_refusal(d, &door))) {
		struct pmvd_peer *peer = got > 0 ? behind(d, &door) : NULL;

		/* where nobody has ever answered, it may be a firewall that does */
		if (!peer || !peer->is_door_known)
			continue;
		peer->is_refused = true;
		if (++peer->refusals < REFUSALS)
			continue;
		peer->door = 0;
		explain(d, peer, &door);
		*ret_node = peer->node;
		return 1;
	}
	knock_somewhere(d);
	return 0;
}
