/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * box - where jobs fit on a hypercrossbar: product sets of coordinates, S1 x S2 x ... x Sd. Frames
 * between two hosts of such a set, routed in the order of the dimensions, are relayed by hosts of
 * the set alone, so jobs in boxes do not disturb each other. The coordinates of a set need not be
 * adjacent, as each line of hosts is one switch: there is far less to fragment than on a torus.
 * Pure: no host, no job, no clock.
 *
 * A point is a number: its coordinates with the last dimension fastest.
 */
#ifndef SCHEDULER_GANG_BOX_H
#define SCHEDULER_GANG_BOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BOX_DIMS 6
#define BOX_POINTS_MAX 65536
#define BOX_LINE_MAX 1024 /* points of a dimension */

struct box_space {
	uint32_t n_dims;         /* 1..BOX_DIMS */
	uint32_t dims[BOX_DIMS]; /* points of each; their product is at most BOX_POINTS_MAX */
};

/* Number of coordinates of each dimension; 1 for dimensions that the space does not have. */
struct box_shape {
	uint32_t extent[BOX_DIMS];
};

/* A box that was found: extent[] coordinates of each dimension, ascending. */
struct box {
	struct box_shape shape;
	uint16_t at[BOX_DIMS][BOX_LINE_MAX];
};

uint32_t box_volume(const struct box_shape *shape);
/*
 * The shapes of @n points that fit the space, those with the fewest relays first; their number, at
 * most @room are written. 0: no product of extents is @n.
 */
size_t box_shapes(const struct box_space *space, uint32_t n, struct box_shape *ret, size_t room);
/*
 * Looks for a box of that shape among the points for which is_free[] is set. It takes away, one by
 * one, the coordinate with the largest share of points that are not free. So it can miss a box in a
 * space full of holes, but never where the free points are a box themselves. 0; -ENOENT; -ENOMEM.
 */
int box_find(const struct box_space *space, const bool *is_free, const struct box_shape *shape,
	     struct box *ret);
/* The point at place @at[] of the box: @at[d] below the extent. */
uint32_t box_point(const struct box_space *space, const struct box *box,
		   const uint32_t at[BOX_DIMS]);
/* The coordinates of a point. */
void box_coordinates(const struct box_space *space, uint32_t point, uint32_t ret[BOX_DIMS]);

#endif
