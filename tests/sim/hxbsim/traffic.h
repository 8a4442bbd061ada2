/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * traffic - carries a pattern out. A host begins a round when all it sends and gets in the round
 * before (or --depth rounds before) has arrived, as a program does that waits for its messages.
 * There is no barrier.
 */
#ifndef HXBSIM_TRAFFIC_H
#define HXBSIM_TRAFFIC_H

#include "tests/sim/hxbsim/pattern.h"
#include "tests/sim/sim.h"

/* The data that goes from one host to another in a round. */
struct transfer {
	uint32_t src, dst, round;
	uint32_t left; /* reads to be done; messages count as one */
};

struct traffic {
	const struct settings *settings;
	struct pattern_plan plan;
	struct sim *sim;
	uint64_t begin_ns;
	uint32_t *round;   /* by host: the first that is not over for it */
	uint32_t *begun;   /* by host: rounds begun */
	uint32_t *left;    /* by host, then round: transfers to and from it */
	uint64_t *got;     /* by host: bytes */
	uint64_t *sent;    /* by host: bytes that arrived */
	uint64_t *last_ns; /* by host: when it got or sent the last */
	uint64_t n_transfers, n_done;
	uint32_t *partners; /* room for a list */
	struct sim_region **regions;
	uint8_t *source, *sink; /* memory that all share, for reads */
};

/* Orders the first round. */
void traffic_start(struct traffic *traffic, const struct settings *settings, struct sim *sim);
void traffic_fini(struct traffic *traffic);
bool traffic_is_done(const struct traffic *traffic);
/* Sets the callbacks that the traffic needs in the configuration of the simulation. */
void traffic_hooks(struct traffic *traffic, struct sim_config *config);
/* Bytes on the wire of a transfer, heads of its full packets included. */
double traffic_wire_bytes(const struct settings *settings);

#endif
