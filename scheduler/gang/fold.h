/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fold - lays a Cartesian grid of processes onto a box of hosts, so that neighbours in the grid are
 * neighbours in the network. Ranks keep the order of MPI_Cart_create (the last dimension fastest)
 * and the ranks of a host stay consecutive; what is chosen is which host stands where. Pure.
 *
 * A dimension of the grid may be folded over several dimensions of the network: its positions are
 * then counted in a reflected mixed-radix Gray code (D. Knuth, The Art of Computer Programming 4A,
 * 7.2.1.1, algorithm H), in which successors differ in one digit, and hosts that differ in one
 * coordinate share a switch.
 */
#ifndef SCHEDULER_GANG_FOLD_H
#define SCHEDULER_GANG_FOLD_H

#include "scheduler/gang/box.h"

#define FOLD_DIMS BOX_DIMS

/* A Cartesian grid, of processes or of hosts. */
struct fold_grid {
	uint32_t n_dims; /* 1..FOLD_DIMS */
	uint32_t dims[FOLD_DIMS];
};

/*
 * digit[i][d]: points of dimension d of the network that dimension i of the grid of hosts is
 * counted in.
 */
struct fold {
	uint32_t n_dims; /* of the grid */
	uint32_t digit[FOLD_DIMS][BOX_DIMS];
	struct box_shape shape; /* of the box: the products over i */
};

/*
 * The grid of hosts, when each host takes @per_host consecutive ranks of the grid of processes: 0.
 * -EINVAL: the ranks of a host are no block of the grid, as 3 ranks per host of 8x8x4.
 */
int fold_hosts(const struct fold_grid *processes, uint32_t per_host, struct fold_grid *ret);
/*
 * The ways to fold the grid of hosts onto the space, those with the fewest splits first. Their
 * number, at most @room.
 */
size_t fold_ways(const struct fold_grid *hosts, const struct box_space *space, struct fold *ret,
		 size_t room);
/*
 * Where host @k of the grid (the last dimension fastest) stands in the box: ret[d] below
 * shape.extent[d].
 */
void fold_place(const struct fold_grid *hosts, const struct fold *fold, uint32_t k,
		uint32_t ret[BOX_DIMS]);

#endif
