/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * route - where a frame for a far host goes next, pure: the same lines run in the kernel programs,
 * in libpm and in tests over random grids. The file that includes this one defines
 * eth_route_is_open, which tells what links are open, and its argument, struct eth_route_env. A
 * macro of that name before the #include makes it inline.
 *
 * Coordinates are corrected in the order of the dimensions, as in CP-PACS and PM/Ethernet-HXB. A
 * frame then only ever waits for a link of a later dimension, so relays never wait in a circle.
 * That is Dally and Seitz, "Deadlock-Free Message Routing", 1987, with dimensions in place of
 * virtual channels.
 *
 * A neighbour that does not answer is passed on another lane, else by one detour. A detour puts one
 * dimension last; the frame says which ("late", 0 = none, else the dimension + 1) for the rest of
 * its way.
 *   - Other coordinates differ as well: those first, the blocked dimension is late.
 *   - None does, or those are blocked too: aside in another dimension, which is late; then what
 *     differs,
 *     across; then back. The step aside itself says ETH_LATE_ASIDE as well: it is the one link that
 *     goes in a
 *     late dimension before others, and would close circles if it were taken for the step back.
 * So a frame is in order of dimensions, or makes its step aside, or is in order with one dimension
 * last. Each of the three is followed by a later one only, and the late dimension stays what it
 * became. With buffers apart for each value of late nothing waits in a circle, whatever fails and
 * when. (Ours drop what they can't hold, and wait for nobody.)
 *
 * A frame passes n_dims + 2 links at most: the detour may begin where all other dimensions are
 * corrected. With two dimensions or more of two points or more, one failure (a host, a NIC, a
 * switch) parts no two living hosts. Of several, those that block the detour as well are not
 * passed: no way, and said so.
 */
#ifndef PM_ETHERNET_ROUTE_H
#define PM_ETHERNET_ROUTE_H

#include "pm-ethernet/grid.h"

#define ETH_ASIDE_TRIES 16 /* points of a dimension tried for a step aside */
#define ETH_LATE_ASIDE 8u  /* late: this link is the step aside */

struct eth_way {
	uint32_t rail; /* of this host */
	uint32_t to;   /* coordinate of the neighbour there */
	uint32_t late; /* for the frame to say, 0..15 */
};

struct eth_route_env;
#ifndef eth_route_is_open
/* Whether the neighbour at coordinate @to of our line of @rail is open. */
int eth_route_is_open(const struct eth_route_env *env, uint32_t rail, uint32_t to);
#endif

#ifndef eth_route_index
/* @i, which is below @n; a kernel program shows that to its verifier. */
#define eth_route_index(i, n) (i)
#endif

#define ETH_ROUTE static inline __attribute__((always_inline))
/* A member of an array by dimension. */
#define ETH_ROUTE_OF(array, dim) (array)[eth_route_index(dim, ETH_DIMS)]

/* The first dimension in which we differ from @dst, passing over the late one; ETH_DIMS: none. */
ETH_ROUTE uint32_t eth_route_differs(const struct eth_grid *grid, const struct eth_point *dst,
				     uint32_t late)
{
	for (uint32_t d = 0; d < ETH_DIMS; d++)
		if (d < grid->n_dims && d + 1 != late && grid->own.at[d] != dst->at[d])
			return d;
	return ETH_DIMS;
}

/* To the coordinate @to of our line of @dim, on @lane or the next one that is open. 0 or -1. */
ETH_ROUTE int eth_route_across(const struct eth_route_env *env, const struct eth_grid *grid,
			       uint32_t dim, uint32_t lane, uint32_t to, struct eth_way *way)
{
	uint32_t n = dim < ETH_DIMS ? ETH_ROUTE_OF(grid->n_lanes, dim) : 0;

	for (uint32_t i = 0; i < ETH_RAILS && i < n; i++) {
		uint32_t at = (lane + i) % n;

		way->rail = ETH_ROUTE_OF(grid->rail, dim)[eth_route_index(at, ETH_RAILS)];
		way->to = to;
		if (eth_route_is_open(env, way->rail, to))
			return 0;
	}
	return -1;
}

#ifndef ETH_ROUTE_ACROSS
/* The same; a kernel program makes a function of it that its verifier walks once. */
#define ETH_ROUTE_ACROSS eth_route_across
#endif

/*
 * One step along another dimension than @dim, to where @salt says or the next point that is open.
 */
ETH_ROUTE int eth_route_aside(const struct eth_route_env *env, const struct eth_grid *grid,
			      uint32_t dim, uint32_t lane, uint32_t salt, struct eth_way *way)
{
	for (uint32_t i = 1; i < ETH_DIMS && i < grid->n_dims; i++) {
		uint32_t aside = (dim + i) % grid->n_dims;
		uint32_t others = ETH_ROUTE_OF(grid->dims, aside) - 1u;

		for (uint32_t t = 0; t < ETH_ASIDE_TRIES && t < others; t++) {
			uint32_t step = 1 + (salt + t) % others;
			uint32_t to = (ETH_ROUTE_OF(grid->own.at, aside) + step) % (others + 1);

			way->late = (aside + 1) | ETH_LATE_ASIDE;
			if (!ETH_ROUTE_ACROSS(env, grid, aside, lane, to, way))
				return 0;
		}
	}
	return -1;
}

/*
 * The next hop of a frame that is here on its way to @dst, which is another host. @lane: of the
 * rail that its sender chose. @late: as the frame says. @salt: any number that is the same for all
 * frames of a pair of hosts. 0 and *way, or -1: none is open. It has no side effect, and needs no
 * more than its arguments.
 */
ETH_ROUTE int eth_route(const struct eth_route_env *env, const struct eth_grid *grid,
			const struct eth_point *dst, uint32_t lane, uint32_t late, uint32_t salt,
			struct eth_way *way)
{
	uint32_t dim, other;

	late &= ~ETH_LATE_ASIDE;
	dim = eth_route_differs(grid, dst, late);
	way->late = late;
	if (dim == ETH_DIMS && late)
		dim = late - 1;
	if (dim >= ETH_DIMS || ETH_ROUTE_OF(grid->own.at, dim) == ETH_ROUTE_OF(dst->at, dim))
		return -1;
	if (!ETH_ROUTE_ACROSS(env, grid, dim, lane, ETH_ROUTE_OF(dst->at, dim), way))
		return 0;
	if (late)
		return -1;
	way->late = dim + 1;
	other = eth_route_differs(grid, dst, way->late);
	if (other < ETH_DIMS &&
	    !ETH_ROUTE_ACROSS(env, grid, other, lane, ETH_ROUTE_OF(dst->at, other), way))
		return 0;
	return eth_route_aside(env, grid, dim, lane, salt, way);
}

/* A number that is the same for all frames of a pair of hosts, and spreads the pairs. */
ETH_ROUTE uint32_t eth_route_salt(uint32_t src_host, uint32_t dst_host)
{
	return (src_host * 2654435769u ^ dst_host * 2246822519u) >> 8;
}

#endif
