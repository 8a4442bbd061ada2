/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * grids - full grids with things broken in them, for tests of routing. Hosts are counted from 1,
 * the last dimension fastest; the rails of a dimension follow those of the dimension before.
 */
#ifndef TESTS_HARNESS_GRIDS_H
#define TESTS_HARNESS_GRIDS_H

#include "pm-ethernet/walk.h"

struct grids {
	struct eth_walk walk; /* ready; sees what is broken */
	uint32_t n_hosts, n_rails;
	struct eth_point *points; /* by id - 1 */
	uint8_t *closed;          /* by id - 1: bit r: nothing comes or goes by rail r */
};

/* 0; -EINVAL: more hosts or rails than there may be, or none; -ENOMEM. */
int grids_open(struct grids *g, uint32_t n_dims, const uint32_t dims[ETH_DIMS],
	       const uint32_t lanes[ETH_DIMS]);
void grids_close(struct grids *g);

/* Break things: a host; its NIC on a rail; the switch of a rail that it is on. */
void grids_kill_host(struct grids *g, uint32_t id);
void grids_kill_nic(struct grids *g, uint32_t id, uint32_t rail);
void grids_kill_line(struct grids *g, uint32_t rail, uint32_t id);
/* All is well again. */
void grids_heal(struct grids *g);

/* Whether a host can be reached by anything at all. */
bool grids_is_alive(const struct grids *g, uint32_t id);
/* Coordinates in which two hosts differ. */
uint32_t grids_distance(const struct grids *g, uint32_t a, uint32_t b);

#endif
