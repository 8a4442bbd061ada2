/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hxbnet - a hypercrossbar of hosts in virtual time: per host and rail a NIC, per axis-parallel
 * line and lane a switch with a finite queue before each output port (tail drop). Hosts pass on
 * what is for others by the routing function of pm-ethernet, as its kernel programs do: no process
 * has a part in it. Everything follows from one seed and the calls. To its users it is a packet
 * device with the calls of simnet.
 *
 * A frame's way begins: posted -> the NIC's queue (a turn each for the host's own frames and for
 * those it relays) -> cable -> output port of the line's switch -> cable. There it is received, or
 * goes on: the relay's ring -> forwarded after a cost -> the next NIC's queue. Switches share no
 * memory between ports and don't pause senders.
 *
 * Hosts are numbered with the first coordinate running fastest, rails by dimension, then lane.
 */
#ifndef TESTS_SIM_HXBNET_H
#define TESTS_SIM_HXBNET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pm-ethernet/grid.h"
#include "pmcore/include/pm_device.h"

struct hxbnet;

struct hxbnet_config {
	uint32_t n_dims;         /* 1..ETH_DIMS */
	uint32_t dims[ETH_DIMS]; /* points of each */
	uint32_t lanes;          /* rails of each dimension; ETH_RAILS in all at most */
	uint32_t mtu;            /* room of a transmit buffer, bytes */
	uint32_t tx_buffers;     /* of each host */
	uint32_t rx_buffers;     /* of each host: more frames that wait or are held are dropped */
	uint64_t seed;
	uint64_t rate;           /* bytes per second of a switch's output port */
	uint64_t nic_rate;       /* of a NIC, 0 = infinite */
	uint64_t latency_ns;     /* NIC to switch to NIC, without serialisation */
	uint32_t queue_bytes;    /* of an output port, as on the wire */
	uint32_t overhead_bytes; /* of a frame on the wire beside the packet */
	uint32_t nic_packets;    /* own frames that a NIC holds before it says -EAGAIN */
	/*
	 * Bytes that a socket may have before the first switch, all rails together, as the kernel
	 * counts them; 0 = no limit. The limit matters where there is no NIC in between, as in labs
	 * of namespaces. Frames beyond the limit wait in a ring that holds ring_ahead of them.
	 */
	uint32_t socket_bytes, ring_ahead;
	uint32_t relay_packets; /* relayed frames that a NIC holds before it drops them */
	uint32_t ring_packets;  /* frames that may wait for the host to pass them on */
	uint64_t relay_ns;      /* it takes so long for each, one after the other */
	uint64_t detect_ns;     /* until neighbours see that a way closed or opened */
	double loss;            /* a frame vanishes between NIC and switch, 0..1 */
};

struct hxbnet_ops {
	/* Something arrived at the host: hxbnet_receive has it. */
	void (*arrived)(void *arg, uint32_t host);
	/* A NIC or the pool that refused before has room again. */
	void (*has_room)(void *arg, uint32_t host);
};

/* Counts of frames so far. */
struct hxbnet_count {
	uint64_t posted, arrived;
	uint64_t links;                     /* put on a cable by a NIC */
	uint64_t relayed;                   /* passed on by a host */
	uint64_t detours;                   /* left the default way */
	uint64_t tail_dropped;              /* by an output port */
	uint64_t dropped_in[ETH_DIMS];      /* of these, by dimension */
	uint64_t lost;                      /* by chance */
	uint64_t dark;                      /* on a dead cable, line or host */
	uint64_t no_way, no_ttl, no_buffer; /* by hosts: route, hop limit, device of the receiver */
	uint64_t relay_dropped;             /* by a relay: its ring or its NIC was full */
	uint64_t carried_in[ETH_DIMS];      /* bytes on output ports, as on the wire */
	uint64_t backlog_max;               /* bytes before an output port */
};

/* 1 Gbit/s, 128 KiB a port, 20 us, jumbo frames; no dimensions yet. */
struct hxbnet_config hxbnet_defaults(void);

struct hxbnet *hxbnet_create(const struct hxbnet_config *config, const struct hxbnet_ops *ops,
			     void *arg);
/* Fails the test if a buffer is missing; the engines must be destroyed before. */
void hxbnet_destroy(struct hxbnet *net);

uint32_t hxbnet_hosts(const struct hxbnet_config *config);
uint32_t hxbnet_n_rails(const struct hxbnet_config *config);
/* Bit per rail that a host has for another: those of the first dimension they differ in. */
uint32_t hxbnet_rails(const struct hxbnet *net, uint32_t host, uint32_t dst);
/* The host at a coordinate of this host's line of a dimension. */
uint32_t hxbnet_neighbour(const struct hxbnet *net, uint32_t host, uint32_t dim, uint32_t to);
/* Calls @hop for each link of the way a frame takes now. The links, or -1: no way. */
int hxbnet_walk(const struct hxbnet *net, uint32_t src, uint32_t dst, uint32_t rail,
		void (*hop)(void *arg, uint32_t from, uint32_t rail, uint32_t to), void *arg);

/* The packet device of a host. */
struct pm_packet *hxbnet_alloc(struct hxbnet *net, uint32_t host);
void hxbnet_free(struct hxbnet *net, uint32_t host, struct pm_packet *packet);
int hxbnet_post(struct hxbnet *net, uint32_t host, uint32_t rail, uint32_t dst,
		struct pm_packet *packet);
int hxbnet_receive(struct hxbnet *net, uint32_t host, struct pm_rx *ret);
void hxbnet_return(struct hxbnet *net, uint32_t host, uint64_t token);
uint32_t hxbnet_tx_lent(const struct hxbnet *net, uint32_t host);
uint32_t hxbnet_rx_lent(const struct hxbnet *net, uint32_t host);

uint64_t hxbnet_now(const struct hxbnet *net);
/* Time of the next event, UINT64_MAX if none. */
uint64_t hxbnet_next(const struct hxbnet *net);
void hxbnet_advance(struct hxbnet *net, uint64_t time);

/* A host dies with all its NICs, or is back. */
void hxbnet_host(struct hxbnet *net, uint32_t host, bool is_up);
/* Only its process is gone, or there again: it relays. */
void hxbnet_process(struct hxbnet *net, uint32_t host, bool is_there);
/* The switch of a rail that the host is on. */
void hxbnet_line(struct hxbnet *net, uint32_t host, uint32_t rail, bool is_up);
/* One cable; its host sees that at once. */
void hxbnet_cable(struct hxbnet *net, uint32_t host, uint32_t rail, bool is_plugged);

const struct hxbnet_count *hxbnet_count(const struct hxbnet *net);
/* Digest of every packet posted with its time and place: equal runs have equal ones. */
uint64_t hxbnet_digest(const struct hxbnet *net);

#endif
