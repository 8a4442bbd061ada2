/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * exchange - whom a node of a job talks to in a regular pattern, and whose turn it is. In each step
 * every partner gets one thing; one that has no room is tried again while the others go on. Pure:
 * sends nothing.
 *
 *   all-to-all   all others, beginning with the next node, so that not all talk to the same one
 *   neighbours   in a grid of nodes whose ends are joined, both ways along every dimension
 */
#ifndef TOOLS_EXCHANGE_H
#define TOOLS_EXCHANGE_H

#include <stdbool.h>
#include <stdint.h>

#define EXCHANGE_DIMS 6
#define EXCHANGE_TEXT 80 /* of a grid, with its end */

/* A grid of nodes, numbered with the last dimension fastest, as MPI_Cart_create does. */
struct exchange_grid {
	uint32_t n_dims; /* 0 = there is none */
	uint32_t dims[EXCHANGE_DIMS];
};

struct exchange {
	uint32_t n;     /* partners; a node counts as often as it stands in @node */
	uint32_t *node; /* they */
	bool *is_done;  /* of each: has its share of this step */
	uint32_t left;  /* that have not */
	uint32_t at;    /* where to look next */
};

/* "4x4x4"; 0 or -EINVAL. */
int exchange_read_grid(const char *text, struct exchange_grid *ret_grid);
void exchange_grid_text(const struct exchange_grid *grid, char text[EXCHANGE_TEXT]);
/* Its nodes. */
uint64_t exchange_volume(const struct exchange_grid *grid);
/* The node one step from @node along a dimension; itself where the extent is 1. */
uint32_t exchange_neighbour(const struct exchange_grid *grid, uint32_t node, uint32_t dimension,
			    bool is_up);

/* 0 or -ENOMEM. A node alone is its own partner. */
int exchange_open_all(struct exchange *ex, uint32_t self, uint32_t nodes);
/* The same; with an extent of 2 a node is met both ways, with 1 not at all. */
int exchange_open_neighbours(struct exchange *ex, const struct exchange_grid *grid, uint32_t self);
void exchange_close(struct exchange *ex);

/* The place in @node of a partner without its share, each time the one after the last. */
uint32_t exchange_due(struct exchange *ex);
/* The partner at that place has its share; after the last one the next step begins. */
void exchange_done(struct exchange *ex, uint32_t place);

#endif
