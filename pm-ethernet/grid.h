/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * grid - where hosts stand in a hypercrossbar, as the daemon, the kernel programs and the library
 * all see it. Each host is a point. The hosts of each axis-parallel line share a switch per rail of
 * that dimension, so a rail reaches every host that differs in this one coordinate alone. Plain
 * data.
 */
#ifndef PM_ETHERNET_GRID_H
#define PM_ETHERNET_GRID_H

#include "pm-ethernet/frame.h"

#define ETH_DIMS 6
#define ETH_LINE_MAX 1024    /* points of a dimension at most */
#define ETH_POINTS_MAX 65536 /* hosts of a grid at most; their ids are 1..65536 */

/* Where a host stands. Found by its id: entry id - 1 of a table. */
struct eth_point {
	uint16_t at[ETH_DIMS]; /* 0 in dimensions that there are not */
	uint16_t is_known;     /* 0: no such host, or one that must not be used */
	uint16_t pad;
};

/* The shape, and how this host's rails lie in it. Rails have the same numbers on all hosts. */
struct eth_grid {
	uint32_t n_dims;         /* 1..ETH_DIMS; 0: no grid, all hosts are heard on all rails */
	uint32_t n_points;       /* entries of the table of points */
	uint16_t dims[ETH_DIMS]; /* points of each dimension, 1..ETH_LINE_MAX */
	struct eth_point own;
	uint8_t n_lanes[ETH_DIMS]; /* rails of each dimension, 1..ETH_RAILS; they are its lanes */
	uint8_t rail[ETH_DIMS][ETH_RAILS]; /* by dimension and lane */
	uint8_t dim[ETH_RAILS];            /* by rail */
	uint8_t lane[ETH_RAILS];           /* by rail */
};

/*
 * The host that our line of a rail has at a coordinate: entry rail * ETH_LINE_MAX + coordinate of a
 * table. It stays in the table with its address while it does not answer.
 */
struct eth_neighbour {
	uint8_t mac[ETH_MAC]; /* all zero: never heard */
	uint8_t is_open;      /* answers, by a rail of ours that is up, with our MTU */
	uint8_t pad;
};

#endif
