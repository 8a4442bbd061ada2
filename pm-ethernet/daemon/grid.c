// SPDX-License-Identifier: BSD-3-Clause
/*
 * A neighbour is written to the map before the board: who reads it there finds the programs ready.
 */
#include "pm-ethernet/daemon/grid.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PULSES_BYTES (ETH_NEIGHBOURS * sizeof(uint64_t))

/* FNV-1a */
static uint64_t digest(uint64_t so_far, const void *data, size_t size)
{
	const uint8_t *bytes = data;

	for (size_t i = 0; i < size; i++)
		so_far = (so_far ^ bytes[i]) * 0x100000001b3u;
	return so_far;
}

uint64_t ethd_grid_digest(const struct ethd_options *o)
{
	uint64_t all = 0xcbf29ce484222325u;

	if (!o->grid.n_dims)
		return 0;
	all = digest(all, &o->grid, sizeof(o->grid));
	return digest(all, o->points, o->grid.n_points * sizeof(struct eth_point)) | 1;
}

/* "2,0,1" */
static void put_point(const struct eth_grid *grid, const struct eth_point *point, char *ret,
		      size_t size)
{
	size_t used = 0;

	ret[0] = 0;
	for (uint32_t d = 0; d < grid->n_dims && used < size; d++)
		used += (size_t)snprintf(ret + used, size - used, d ? ",%u" : "%u", point->at[d]);
}

static const struct eth_point *point_of(const struct ethd *d, uint32_t id)
{
	const struct ethd_options *o = &d->options;

	if (!id || id > o->grid.n_points || !o->points[id - 1].is_known)
		return NULL;
	return &o->points[id - 1];
}

int ethd_grid_place(const struct ethd *d, uint32_t rail, uint32_t id)
{
	const struct eth_grid *grid = &d->options.grid;
	const struct eth_point *point = point_of(d, id);
	uint32_t dim = grid->dim[rail];

	if (!point || id == d->host)
		return -1;
	for (uint32_t i = 0; i < grid->n_dims; i++)
		if (i != dim && point->at[i] != grid->own.at[i])
			return -1;
	return point->at[dim];
}

bool ethd_grid_fault(const struct ethd *d, uint32_t rail, const struct ethd_peer *peer, char *ret,
		     size_t size)
{
	const struct eth_grid *grid = &d->options.grid;
	const struct eth_point *point = point_of(d, peer->id);
	const struct ethd_ear *ear = &peer->ears[rail];
	char theirs[64], own[64];

	put_point(grid, &grid->own, own, sizeof(own));
	if (!point) {
		snprintf(ret, size,
			 "%s hears host %u (%s), which has no place in the topology; correct the "
			 "cable, or cluster.toml on both hosts",
			 d->rails[rail].name, peer->id, peer->host_name);
		return true;
	}
	put_point(grid, point, theirs, sizeof(theirs));
	if (ethd_grid_place(d, rail, peer->id) < 0) {
		snprintf(ret, size,
			 "%s hears host %u (%s) of %s; from %s it must reach hosts that differ in "
			 "dimension %u alone; correct the cable, or the rails in cluster.toml",
			 d->rails[rail].name, peer->id, peer->host_name, theirs, own,
			 grid->dim[rail]);
		return true;
	}
	if (ear->rail >= ETH_RAILS || ear->rail >= d->n_rails ||
	    grid->dim[ear->rail] != grid->dim[rail]) {
		snprintf(ret, size,
			 "%s (rail %u, dimension %u) hears %s, which is rail %u of host %u (%s); "
			 "correct the cable, or the order of the NICs of one of the two",
			 d->rails[rail].name, rail, grid->dim[rail], ear->rail_name, ear->rail,
			 peer->id, peer->host_name);
		return true;
	}
	return false;
}

static bool is_open_now(const struct ethd *d, uint32_t rail, const struct ethd_neighbour *n)
{
	const struct ethd_rail *own = &d->rails[rail];

	if (!n->is_heard || !own->is_up || !own->is_programmed || n->mtu != own->mtu)
		return false;
	return d->options.watch_ns ? !n->pulse.is_silent : n->is_alive;
}

/* Tells programs and board of a neighbour. */
static void publish(struct ethd *d, uint32_t rail, uint32_t at)
{
	struct ethd_neighbour *n = &d->grid->lines[rail][at];
	struct eth_neighbour told = {.is_open = n->is_open};
	uint32_t place = rail * ETH_LINE_MAX + at;

	memcpy(told.mac, n->mac, ETH_MAC);
	if (bpf_map_update_elem(d->maps.neighbours, &place, &told, BPF_ANY))
		ethd_say("rail %s: kernel programs not told of a neighbour: %m",
			 d->rails[rail].name);
	eth_board_set_neighbour(d->board, rail, at, &told);
}

/* Decides whether the neighbour is open now; publishes it if that has changed, or if it is new. */
static void follow(struct ethd *d, uint32_t rail, uint32_t at, bool is_new)
{
	struct ethd_neighbour *n = &d->grid->lines[rail][at];
	bool is_open = is_open_now(d, rail, n);

	if (is_open == n->is_open && !is_new)
		return;
	n->is_open = is_open;
	publish(d, rail, at);
}

void ethd_grid_heard(struct ethd *d, struct ethd_peer *peer, uint32_t rail)
{
	struct ethd_ear *ear = &peer->ears[rail];
	struct ethd_neighbour *n;
	char why[512];
	bool is_new;

	if (!d->grid)
		return;
	if (ethd_grid_fault(d, rail, peer, why, sizeof(why))) {
		if (ear->is_alive && !ear->is_fault_told)
			ethd_say("%s", why);
		ear->is_fault_told = ear->is_alive;
		return;
	}
	ear->is_fault_told = false;
	n = &d->grid->lines[rail][ethd_grid_place(d, rail, peer->id)];
	is_new = !n->is_heard || memcmp(n->mac, ear->mac, ETH_MAC);
	memcpy(n->mac, ear->mac, ETH_MAC);
	n->mtu = ear->mtu;
	n->is_heard = true;
	n->is_alive = ear->is_alive;
	follow(d, rail, (uint32_t)ethd_grid_place(d, rail, peer->id), is_new);
}

void ethd_grid_follow(struct ethd *d, uint32_t rail)
{
	uint32_t n = d->options.grid.dims[d->options.grid.dim[rail]];

	for (uint32_t at = 0; d->grid && at < n; at++) {
		/* behind a cable that was away everybody has to show up anew */
		if (!d->rails[rail].is_up)
			d->grid->lines[rail][at].pulse = (struct ethd_pulse){.is_silent = true};
		follow(d, rail, at, false);
	}
}

void ethd_grid_judge(struct ethd *d, uint32_t rail)
{
	uint32_t n = d->options.grid.dims[d->options.grid.dim[rail]];
	struct ethd_grid *g = d->grid;

	for (uint32_t at = 0; at < n; at++) {
		struct ethd_neighbour *one = &g->lines[rail][at];

		if (!one->is_heard || !ethd_pulse_judge(&one->pulse, g->sent_ns[rail],
							g->pulses[rail * ETH_LINE_MAX + at]))
			continue;
		ethd_say("rail %s: the neighbour at %u %s", d->rails[rail].name, at,
			 one->pulse.is_silent ? "is silent" : "is back");
		follow(d, rail, at, false);
	}
}

/* The points, and then the grid: with it the programs begin to relay. */
static int fill_maps(const struct ethd *d)
{
	const struct eth_grid *grid = &d->options.grid;
	uint32_t zero = 0;

	for (uint32_t i = 0; i < grid->n_points; i++)
		if (bpf_map_update_elem(d->maps.points, &i, &d->options.points[i], BPF_ANY))
			return -errno;
	return bpf_map_update_elem(d->maps.grid, &zero, grid, BPF_ANY) ? -errno : 0;
}

/* Takes over the neighbours that an earlier daemon knew, for use until discovery hears them. */
static void adopt_line(struct ethd *d, uint32_t rail, uint32_t n_places)
{
	static const uint8_t no_mac[ETH_MAC];

	for (uint32_t at = 0; at < n_places; at++) {
		struct eth_neighbour told = eth_board_neighbour(d->board, rail, at);
		struct ethd_neighbour *n = &d->grid->lines[rail][at];

		memcpy(n->mac, told.mac, ETH_MAC);
		n->is_heard = memcmp(told.mac, no_mac, ETH_MAC) != 0;
		n->is_open = told.is_open;
		n->pulse.is_silent = n->is_heard && !told.is_open;
		n->mtu = d->rails[rail].mtu;
		/* it may have died between the map and the board */
		if (n->is_heard)
			publish(d, rail, at);
	}
}

/* Notes the ids of the hosts on our line of a rail. */
static void name_line(struct ethd *d, uint32_t rail)
{
	for (uint32_t id = 1; id <= d->options.grid.n_points; id++) {
		int at = ethd_grid_place(d, rail, id);

		if (at >= 0)
			d->grid->lines[rail][at].id = id;
	}
}

static int open_lines(struct ethd *d)
{
	const struct eth_grid *grid = &d->options.grid;

	for (uint32_t rail = 0; rail < d->n_rails; rail++) {
		uint32_t n = grid->dims[grid->dim[rail]];

		d->grid->lines[rail] = calloc(n, sizeof(struct ethd_neighbour));
		if (!d->grid->lines[rail])
			return -ENOMEM;
		name_line(d, rail);
		adopt_line(d, rail, n);
	}
	return 0;
}

int ethd_grid_open(struct ethd *d)
{
	const struct eth_grid *grid = &d->options.grid;
	void *pulses;
	int err;

	if (!grid->n_dims)
		return 0;
	d->grid = calloc(1, sizeof(*d->grid));
	if (!d->grid)
		return -ENOMEM;
	pulses = mmap(NULL, PULSES_BYTES, PROT_READ, MAP_SHARED, d->maps.pulses, 0);
	if (pulses == MAP_FAILED)
		return -errno;
	d->grid->pulses = pulses;
	memcpy(d->board->grid.points, d->options.points, grid->n_points * sizeof(struct eth_point));
	d->board->grid.grid = *grid;
	err = open_lines(d);
	return err ? err : fill_maps(d);
}

void ethd_grid_close(struct ethd *d)
{
	if (!d->grid)
		return;
	for (uint32_t rail = 0; rail < ETH_RAILS; rail++)
		free(d->grid->lines[rail]);
	if (d->grid->pulses)
		munmap((void *)d->grid->pulses, PULSES_BYTES);
	free(d->grid);
	d->grid = NULL;
}
