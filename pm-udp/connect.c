// SPDX-License-Identifier: BSD-3-Clause
/*
 * connect - to which peer the sending socket of a rail is connected. A message to that peer needs
 * no address, so the kernel looks for no route: this saves a tenth of a short message. A connected
 * socket still sends to others, with an address. Knows no packet.
 */
#include <arpa/inet.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include "pm-udp/device.h"

/*
 * A peer that got so many messages in a row is likely to get the next ones, too. A connect costs
 * about 1 us.
 */
#define CONNECT_AFTER 16

struct sockaddr_in pmu_address_of(const struct pmu_peer *peer, uint32_t r)
{
	return (struct sockaddr_in){.sin_family = AF_INET,
				    .sin_port = htons(peer->port),
				    .sin_addr.s_addr = htonl(peer->address[r])};
}

static int set_segment(const struct pmu_rail *rail, uint32_t bytes)
{
	int value = (int)bytes;

	return setsockopt(rail->fd, IPPROTO_UDP, UDP_SEGMENT, &value, sizeof(value));
}

static void connect_to(struct pmu_rail *rail, struct pmu_peer *peer, uint32_t r)
{
	struct sockaddr_in to = pmu_address_of(peer, r);

	/* without a route now, messages go on to carry the address, and their errors are told */
	if (connect(rail->fd, (struct sockaddr *)&to, sizeof(to)))
		return;
	rail->connected = peer;
	if (rail->has_gso)
		rail->segment = set_segment(rail, peer->payload) ? 0 : peer->payload;
}

bool pmu_connect_look(struct pmu_rail *rail, struct pmu_peer *peer, uint32_t r)
{
	if (rail->connected == peer) {
		rail->streak = 0;
		return true;
	}
	if (rail->recent != peer) {
		rail->recent = peer;
		rail->streak = 0;
	}
	if (++rail->streak < CONNECT_AFTER)
		return false;
	rail->streak = 0;
	connect_to(rail, peer, r);
	return rail->connected == peer;
}

void pmu_connect_forget(struct pmu_rail *rail, const struct pmu_peer *peer)
{
	if (!peer || rail->connected == peer)
		rail->connected = NULL;
	if (!peer || rail->recent == peer)
		rail->recent = NULL;
	rail->streak = 0;
}

void pmu_connect_whole(struct pmu_rail *rail)
{
	if (rail->segment)
		(void)set_segment(rail, 0);
	rail->segment = 0;
}
