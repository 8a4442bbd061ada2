/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * simwires - the network below a simulated job, one of two: flat (simnet) or a hypercrossbar
 * (hxbnet). sim.c calls through here the functions that both networks have; tests call the network
 * that they use.
 */
#ifndef TESTS_SIM_SIMWIRES_H
#define TESTS_SIM_SIMWIRES_H

#include "tests/sim/sim.h"

static inline struct pm_packet *wires_alloc(struct sim *sim, uint32_t node)
{
	return sim->hxb ? hxbnet_alloc(sim->hxb, node) : simnet_alloc(sim->net, node);
}

static inline void wires_free(struct sim *sim, uint32_t node, struct pm_packet *packet)
{
	if (sim->hxb)
		hxbnet_free(sim->hxb, node, packet);
	else
		simnet_free(sim->net, node, packet);
}

static inline int wires_post(struct sim *sim, uint32_t node, uint32_t rail, uint32_t dst,
			     struct pm_packet *packet)
{
	return sim->hxb ? hxbnet_post(sim->hxb, node, rail, dst, packet)
			: simnet_post(sim->net, node, rail, dst, packet);
}

static inline int wires_receive(struct sim *sim, uint32_t node, struct pm_rx *ret)
{
	return sim->hxb ? hxbnet_receive(sim->hxb, node, ret) : simnet_receive(sim->net, node, ret);
}

static inline void wires_return(struct sim *sim, uint32_t node, uint64_t token)
{
	if (sim->hxb)
		hxbnet_return(sim->hxb, node, token);
	else
		simnet_return(sim->net, node, token);
}

/* Bit per rail that leads from a node to another. */
static inline uint32_t wires_rails(const struct sim *sim, uint32_t node, uint32_t dst)
{
	return sim->hxb ? hxbnet_rails(sim->hxb, node, dst) : (1u << sim->config.net.rails) - 1;
}

static inline uint32_t wires_tx_lent(const struct sim *sim, uint32_t node)
{
	return sim->hxb ? hxbnet_tx_lent(sim->hxb, node) : simnet_tx_lent(sim->net, node);
}

static inline uint32_t wires_rx_lent(const struct sim *sim, uint32_t node)
{
	return sim->hxb ? hxbnet_rx_lent(sim->hxb, node) : simnet_rx_lent(sim->net, node);
}

static inline uint64_t wires_now(const struct sim *sim)
{
	return sim->hxb ? hxbnet_now(sim->hxb) : simnet_now(sim->net);
}

static inline uint64_t wires_next(const struct sim *sim)
{
	return sim->hxb ? hxbnet_next(sim->hxb) : simnet_next(sim->net);
}

static inline void wires_advance(struct sim *sim, uint64_t time)
{
	if (sim->hxb)
		hxbnet_advance(sim->hxb, time);
	else
		simnet_advance(sim->net, time);
}

/* A node's end of a rail. */
static inline void wires_cable(struct sim *sim, uint32_t node, uint32_t rail, bool is_plugged)
{
	if (sim->hxb)
		hxbnet_cable(sim->hxb, node, rail, is_plugged);
	else
		simnet_cable(sim->net, node, rail, is_plugged);
}

/* The node's process is gone. On a hypercrossbar its host goes on relaying. */
static inline void wires_gone(struct sim *sim, uint32_t node)
{
	uint32_t rail;

	if (sim->hxb)
		hxbnet_process(sim->hxb, node, false);
	for (rail = 0; !sim->hxb && rail < sim->config.net.rails; rail++)
		simnet_cable(sim->net, node, rail, false);
}

static inline void wires_destroy(struct sim *sim)
{
	if (sim->hxb)
		hxbnet_destroy(sim->hxb);
	else
		simnet_destroy(sim->net);
}

#endif
