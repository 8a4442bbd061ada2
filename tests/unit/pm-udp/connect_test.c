// SPDX-License-Identifier: BSD-3-Clause
/*
 * Tests of pm-udp/connect.c: when a rail's socket is connected, to whom, and what still reaches
 * others.
 */
#include "pm-udp/device.h"

#include <arpa/inet.h>
#include <netinet/udp.h>
#include <unistd.h>

#include "tests/harness/tap.h"

#define ENOUGH 16 /* messages in a row */

/* A rail on loopback, and two peers with a receiving socket each. */
struct bed {
	struct pmu_rail rail;
	struct pmu_peer *peer[2];
	int fd[2];
};

static int bound(uint16_t *ret_port)
{
	struct sockaddr_in sin = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(sin);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	is_int(bind(fd, (struct sockaddr *)&sin, sizeof(sin)), 0);
	is_int(getsockname(fd, (struct sockaddr *)&sin, &len), 0);
	*ret_port = ntohs(sin.sin_port);
	return fd;
}

static void bed_open(struct bed *b)
{
	uint16_t port;

	*b = (struct bed){.rail.has_gso = true};
	b->rail.fd = bound(&port);
	for (int i = 0; i < 2; i++) {
		b->peer[i] = calloc(1, sizeof(*b->peer[i]) + sizeof(uint32_t));
		b->fd[i] = bound(&b->peer[i]->port);
		b->peer[i]->address[0] = INADDR_LOOPBACK;
		b->peer[i]->payload = 1464;
	}
}

static void bed_close(struct bed *b)
{
	for (int i = 0; i < 2; i++) {
		free(b->peer[i]);
		close(b->fd[i]);
	}
	close(b->rail.fd);
}

/* Looks as often; what the last look said. */
static bool look(struct bed *b, int peer, int times)
{
	bool is_connected = false;

	while (times--)
		is_connected = pmu_connect_look(&b->rail, b->peer[peer], 0);
	return is_connected;
}

static void arrives(struct bed *b, int peer)
{
	char byte = 0;

	is_int(recv(b->fd[peer], &byte, 1, MSG_DONTWAIT), 1);
}

static int segment_of_socket(const struct bed *b)
{
	int value = -1;
	socklen_t len = sizeof(value);

	is_int(getsockopt(b->rail.fd, IPPROTO_UDP, UDP_SEGMENT, &value, &len), 0);
	return value;
}

TAP_TEST(pmu_connect_look__after_a_streak)
{
	struct bed b;

	bed_open(&b);
	ok(!look(&b, 0, ENOUGH - 1));
	ok(look(&b, 0, 1));
	is_int(send(b.rail.fd, "x", 1, 0), 1);
	arrives(&b, 0);
	is_int(b.rail.segment, 1464);
	is_int(segment_of_socket(&b), 1464);
	bed_close(&b);
}

TAP_TEST(pmu_connect_look__peers_in_turn)
{
	struct bed b;

	bed_open(&b);
	for (int i = 0; i < 4 * ENOUGH; i++)
		ok(!look(&b, i & 1, 1));
	look(&b, 0, ENOUGH);
	for (int i = 0; i < 4 * ENOUGH; i++) {
		ok(!look(&b, 1, 1));
		ok(look(&b, 0, 1));
	}
	bed_close(&b);
}

TAP_TEST(pmu_connect_look__another_peer)
{
	struct sockaddr_in to;
	struct bed b;

	bed_open(&b);
	look(&b, 0, ENOUGH);
	to = pmu_address_of(b.peer[1], 0);
	is_int(sendto(b.rail.fd, "x", 1, 0, (struct sockaddr *)&to, sizeof(to)), 1);
	arrives(&b, 1);
	ok(look(&b, 1, ENOUGH));
	is_int(send(b.rail.fd, "x", 1, 0), 1);
	arrives(&b, 1);
	bed_close(&b);
}

TAP_TEST(pmu_connect_forget__the_peer_goes)
{
	struct bed b;

	bed_open(&b);
	look(&b, 0, ENOUGH);
	pmu_connect_forget(&b.rail, b.peer[1]);
	ok(b.rail.connected == b.peer[0]);
	pmu_connect_forget(&b.rail, b.peer[0]);
	ok(!b.rail.connected);
	ok(!look(&b, 0, 1));
	bed_close(&b);
}

TAP_TEST(pmu_connect_whole__short_messages_pass)
{
	struct bed b;

	bed_open(&b);
	look(&b, 0, ENOUGH);
	b.rail.has_gso = false;
	pmu_connect_whole(&b.rail);
	is_int(b.rail.segment, 0);
	is_int(segment_of_socket(&b), 0);
	ok(look(&b, 1, ENOUGH));
	is_int(b.rail.segment, 0);
	bed_close(&b);
}
