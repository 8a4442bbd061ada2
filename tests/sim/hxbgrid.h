/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hxbgrid - the geometry of a simulated hypercrossbar, what of it is broken, and what the hosts
 * know of that. Asks pm-ethernet's routing function; knows no frame and no queue.
 */
#ifndef TESTS_SIM_HXBGRID_H
#define TESTS_SIM_HXBGRID_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/sim/hxbnet.h"

/* The state of a host, cable or switch. */
struct hxbgrid_state {
	uint64_t since; /* when it changed last, 0 = never */
	bool is_down;
};

struct hxbgrid {
	struct eth_grid shape; /* as a host has it; @own is filled in for each question */
	struct eth_point *points;
	uint32_t stride[ETH_DIMS];
	uint32_t n_hosts, n_rails, lanes;
	uint64_t detect_ns;
	bool was_hurt;                /* something has been down */
	struct hxbgrid_state *hosts;  /* by host */
	struct hxbgrid_state *cables; /* by host, then rail */
	struct hxbgrid_state *lines;  /* by the line's first host, then rail */
};

void hxbgrid_init(struct hxbgrid *grid, const struct hxbnet_config *config);
void hxbgrid_fini(struct hxbgrid *grid);

uint32_t hxbgrid_neighbour(const struct hxbgrid *grid, uint32_t host, uint32_t dim, uint32_t to);
uint32_t hxbgrid_rails(const struct hxbgrid *grid, uint32_t host, uint32_t dst);
/*
 * The next hop of a frame of @src for @dst that is at @at, by what is known there now. *late is
 * read and written. 0, or -1: no way.
 */
int hxbgrid_route(const struct hxbgrid *grid, uint64_t now, uint32_t at, uint32_t src, uint32_t dst,
		  uint32_t rail, uint32_t *late, uint32_t *ret_rail, uint32_t *ret_to);

/* The truth: the host and its cable are whole, and the switch behind it. */
bool hxbgrid_is_whole(const struct hxbgrid *grid, uint32_t host, uint32_t rail);
bool hxbgrid_lives(const struct hxbgrid *grid, uint32_t host);

void hxbgrid_host(struct hxbgrid *grid, uint64_t now, uint32_t host, bool is_up);
void hxbgrid_line(struct hxbgrid *grid, uint64_t now, uint32_t host, uint32_t rail, bool is_up);
void hxbgrid_cable(struct hxbgrid *grid, uint64_t now, uint32_t host, uint32_t rail, bool is_up);

#endif
