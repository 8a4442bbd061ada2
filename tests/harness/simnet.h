/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * simnet - a network in virtual time: nodes x rails, each rail a switch with one cable per node. A
 * packet is serialised by the sender's NIC, may be lost, damaged, doubled or delayed on the way to
 * the switch, waits at the switch's output port (tail drop), is serialised again and arrives. A
 * rail is FIFO per sender unless told otherwise. Everything follows from one seed and the calls.
 *
 * It is also the packet device: transmit buffers from a pool per node with the `busy` rules of
 * pm_device.h, lent receive buffers of exactly the packet's size. Breaking a rule fails the test.
 */
#ifndef TESTS_HARNESS_SIMNET_H
#define TESTS_HARNESS_SIMNET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pmcore/include/pm_device.h"

#define SIMNET_RAILS 8

struct simnet;

/* How a rail behaves; may be changed at any time through simnet_rail(). Probabilities are 0..1. */
struct simnet_rail {
	uint64_t rate;           /* bytes per second of every cable, 0 = infinite */
	uint64_t latency_ns;     /* sender to switch to receiver, without serialisation */
	uint64_t jitter_ns;      /* up to that much is added, FIFO kept */
	uint32_t queue_bytes;    /* an output port's queue, 0 = endless */
	uint32_t nic_packets;    /* posts a NIC holds before it says -EAGAIN, 0 = 256 */
	uint32_t overhead_bytes; /* of a packet on the wire beside its own */
	double loss;             /* a packet vanishes */
	double duplicate;        /* a packet comes twice */
	double corrupt;          /* one to three bits of it flip */
	double reorder;          /* a packet is held back and overtaken: FIFO is violated */
	uint64_t reorder_ns;     /* held back up to that long */
	uint64_t loss_mask;      /* bit n % 64 set: the n-th packet of the rail vanishes */
};

struct simnet_config {
	uint32_t nodes;
	uint32_t rails;      /* 1..SIMNET_RAILS */
	uint32_t mtu;        /* room of a transmit buffer, bytes */
	uint32_t tx_buffers; /* of each node */
	uint32_t rx_buffers; /* of each node: more packets that wait or are held are dropped */
	uint64_t seed;
	struct simnet_rail rail[SIMNET_RAILS];
};

/* A packet on its way, for the hook. */
struct simnet_transit {
	uint32_t src, dst, rail;
	uint32_t len;        /* bytes */
	const uint8_t *data; /* as it left the sender */
	uint64_t n;          /* how many went from src to dst on the rail before */
};

/* The fate of that packet, preset by the rail's settings; the hook may change it. */
struct simnet_fate {
	bool is_lost;
	uint32_t copies;   /* beside the first */
	uint64_t delay_ns; /* more than usual; later packets of the sender's rail wait as well */
};

struct simnet_ops {
	/* Something arrived at the node: simnet_receive has it. */
	void (*arrived)(void *arg, uint32_t node);
	/* A NIC or the pool that refused before has room again. */
	void (*has_room)(void *arg, uint32_t node);
	/* May be NULL. */
	void (*transit)(void *arg, const struct simnet_transit *transit, struct simnet_fate *fate);
};

/* Counts of packets so far. */
struct simnet_count {
	uint64_t posted, arrived;
	uint64_t lost, tail_dropped, no_buffer,
		unplugged; /* dropped: by chance, port, device, cable */
	uint64_t duplicated, corrupted;
	uint64_t bytes; /* arrived */
};

struct simnet *simnet_create(const struct simnet_config *config, const struct simnet_ops *ops,
			     void *arg);
/* Fails the test if a buffer is missing; the engines must be destroyed before. */
void simnet_destroy(struct simnet *net);

/* The packet device of a node. */
struct pm_packet *simnet_alloc(struct simnet *net, uint32_t node);
void simnet_free(struct simnet *net, uint32_t node, struct pm_packet *packet);
int simnet_post(struct simnet *net, uint32_t node, uint32_t rail, uint32_t dst,
		struct pm_packet *packet);
int simnet_receive(struct simnet *net, uint32_t node, struct pm_rx *ret);
void simnet_return(struct simnet *net, uint32_t node, uint64_t token);
/* Packets that arrived and were not taken by simnet_receive. */
uint32_t simnet_waiting(const struct simnet *net, uint32_t node);
uint32_t simnet_tx_lent(const struct simnet *net, uint32_t node);
uint32_t simnet_rx_lent(const struct simnet *net, uint32_t node);

/* Virtual time in nanoseconds. */
uint64_t simnet_now(const struct simnet *net);
/* Time of the next event, UINT64_MAX if none. */
uint64_t simnet_next(const struct simnet *net);
/* Lets all happen up to @time, which then is now. */
void simnet_advance(struct simnet *net, uint64_t time);
/* Calls @fn at @time. */
void simnet_at(struct simnet *net, uint64_t time, void (*fn)(void *arg), void *arg);

struct simnet_rail *simnet_rail(struct simnet *net, uint32_t rail);
/* Plugs or unplugs a node's cable, both directions. */
void simnet_cable(struct simnet *net, uint32_t node, uint32_t rail, bool is_plugged);
/* Breaks or mends one direction between two nodes. */
void simnet_path(struct simnet *net, uint32_t src, uint32_t dst, uint32_t rail, bool is_whole);

const struct simnet_count *simnet_count(const struct simnet *net, uint32_t rail);
/* Digest of every packet posted with its time and place: equal runs have equal ones. */
uint64_t simnet_digest(const struct simnet *net);

#endif
