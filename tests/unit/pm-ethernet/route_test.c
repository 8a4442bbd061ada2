// SPDX-License-Identifier: BSD-3-Clause
/*
 * Properties of eth_route over whole grids: what is reached, by how many links, and that nothing
 * waits in a circle.
 */
#include "pm-ethernet/walk.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/harness/grids.h"
#include "tests/harness/tap.h"

#define EXTENT_MAX 16
#define LATES 16

/* ---- random grids ---- */

static uint32_t below(uint64_t *rand, uint32_t n)
{
	return (uint32_t)(tap_rand(rand) % n);
}

/* 1..6 dimensions, several lanes in some, at most @hosts_max hosts. */
static void random_grid(struct grids *g, uint64_t *rand, uint32_t hosts_max)
{
	uint32_t dims[ETH_DIMS], lanes[ETH_DIMS];
	uint32_t n = 1 + below(rand, ETH_DIMS), hosts = 1, spare = ETH_RAILS - n;

	for (uint32_t d = 0; d < n; d++) {
		uint32_t most = hosts_max / hosts;

		dims[d] = 1 + below(rand, most < EXTENT_MAX ? most : EXTENT_MAX);
		if (dims[d] > 4 && n > 2)
			dims[d] = 2 + below(rand, 3) % most;
		hosts *= dims[d];
		lanes[d] = 1 + below(rand, spare < 3 ? spare + 1 : 4);
		spare -= lanes[d] - 1;
	}
	is_int(grids_open(g, n, dims, lanes), 0);
}

/* Kills a host, a NIC or a line. */
static void break_something(struct grids *g, uint64_t *rand)
{
	uint32_t id = 1 + below(rand, g->n_hosts), rail = below(rand, g->n_rails);

	switch (below(rand, 3)) {
	case 0:
		grids_kill_host(g, id);
		break;
	case 1:
		grids_kill_nic(g, id, rail);
		break;
	default:
		grids_kill_line(g, rail, id);
	}
}

static const char *shape_of(const struct grids *g)
{
	static char text[80];
	const struct eth_grid *grid = &g->walk.grid;
	size_t used = 0;

	for (uint32_t d = 0; d < grid->n_dims; d++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%u*%u",
					 d ? " x " : "", grid->dims[d], grid->n_lanes[d]);
	return text;
}

/* ---- who waits for whom ---- */

/* Channels are (host, rail, to, late); a relay holds a frame of one until the next has room. */
struct waits {
	uint64_t *edges; /* channel << 32 | the one it waits for */
	size_t n, room;
	uint32_t n_channels;
};

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void drop_doubles(struct waits *w)
{
	size_t n = 0;

	if (!w->n)
		return;
	qsort(w->edges, w->n, sizeof(*w->edges), by_number);
	for (size_t i = 1; i < w->n; i++)
		if (w->edges[i] != w->edges[n])
			w->edges[++n] = w->edges[i];
	w->n = n + 1;
}

static void waits_add(struct waits *w, uint32_t channel, uint32_t next)
{
	if (w->n == w->room) {
		drop_doubles(w);
		if (w->n >= w->room / 2) {
			w->room = w->room ? 2 * w->room : 4096;
			w->edges = realloc(w->edges, w->room * sizeof(*w->edges));
		}
		if (!w->edges)
			abort();
	}
	w->edges[w->n++] = (uint64_t)channel << 32 | next;
}

static uint32_t channel_of(const struct grids *g, const struct eth_hop *hop, uint32_t to_host)
{
	uint32_t to = g->points[to_host - 1].at[g->walk.grid.dim[hop->rail]];

	return (((hop->host - 1) * ETH_RAILS + hop->rail) * EXTENT_MAX + to) * LATES + hop->late;
}

static void waits_of_way(struct waits *w, const struct grids *g, const struct eth_hop *hops,
			 uint32_t n)
{
	for (uint32_t i = 0; i + 2 <= n; i++)
		waits_add(w, channel_of(g, &hops[i], hops[i + 1].host),
			  channel_of(g, &hops[i + 1], hops[i + 2].host));
}

/*
 * Takes away channels that nobody waits for until none is left (Kahn, 1962). Returns the number of
 * waits that stay: 0 when there is no circle. The list is empty afterwards.
 */
static size_t waits_in_circles(struct waits *w)
{
	uint32_t *waited = calloc(w->n_channels, sizeof(*waited));
	uint32_t *first = calloc(w->n_channels + 1, sizeof(*first));
	uint32_t *free_ones = calloc(w->n_channels, sizeof(*free_ones)), n_free = 0;
	size_t left;

	drop_doubles(w);
	left = w->n;
	for (size_t i = 0; i < w->n; i++) {
		first[(w->edges[i] >> 32) + 1]++;
		waited[(uint32_t)w->edges[i]]++;
	}
	for (uint32_t c = 0; c < w->n_channels; c++) {
		first[c + 1] += first[c];
		if (!waited[c])
			free_ones[n_free++] = c;
	}
	while (n_free) {
		uint32_t c = free_ones[--n_free];

		for (uint32_t i = first[c]; i < first[c + 1]; i++, left--)
			if (!--waited[(uint32_t)w->edges[i]])
				free_ones[n_free++] = (uint32_t)w->edges[i];
	}
	free(waited);
	free(first);
	free(free_ones);
	w->n = 0;
	return left;
}

static struct waits waits_in(const struct grids *g)
{
	return (struct waits){.n_channels = g->n_hosts * ETH_RAILS * EXTENT_MAX * LATES};
}

TAP_TEST(waits_in_circles__finds_one)
{
	struct waits w = {.n_channels = 8};

	waits_add(&w, 1, 2);
	waits_add(&w, 2, 3);
	waits_add(&w, 2, 3);
	waits_add(&w, 3, 4);
	waits_add(&w, 1, 4);
	is_int(waits_in_circles(&w), 0);
	waits_add(&w, 1, 2);
	waits_add(&w, 2, 3);
	waits_add(&w, 3, 2);
	is_int(waits_in_circles(&w), 2);
	free(w.edges);
}

/* ---- whole grids ---- */

struct tally {
	uint64_t pairs;     /* of living hosts, each lane counted */
	uint64_t unreached; /* of these */
	uint64_t parted;    /* of those, not connected by anything */
	uint32_t longest;   /* way, links */
};

/* Which hosts hang together, by open links: a number per host that is equal for those. */
static uint32_t root_of(uint32_t *parents, uint32_t id)
{
	while (parents[id] != id)
		id = parents[id] = parents[parents[id]];
	return id;
}

static uint32_t *islands(const struct grids *g)
{
	const struct eth_grid *grid = &g->walk.grid;
	uint32_t *parents = calloc(g->n_hosts + 1, sizeof(*parents));

	for (uint32_t id = 1; id <= g->n_hosts; id++)
		parents[id] = id;
	for (uint32_t id = 1; id <= g->n_hosts; id++)
		for (uint32_t rail = 0; rail < g->n_rails; rail++) {
			struct eth_point point = g->points[id - 1];
			uint32_t dim = grid->dim[rail], other;

			for (uint16_t to = 0; to < g->points[id - 1].at[dim]; to++) {
				point.at[dim] = to;
				other = eth_walk_host_at(&g->walk, &point);
				if (g->walk.is_open(g->walk.arg, id, rail, other))
					parents[root_of(parents, id)] = root_of(parents, other);
			}
		}
	return parents;
}

/* One way: it ends at its goal or where it says so, and is no longer than it may be. */
static bool walk_one(const struct grids *g, uint32_t src, uint32_t dst, uint32_t lane,
		     struct waits *w, struct tally *tally)
{
	struct eth_hop hops[ETH_WALK_MAX + 1];
	uint32_t n = 0;
	int err = eth_walk(&g->walk, src, dst, lane, hops, &n);

	okf(!err || err == -EHOSTUNREACH, "%s: %u to %u: %d", shape_of(g), src, dst, err);
	okf(n <= g->walk.grid.n_dims + 2, "%s: %u to %u: %u links", shape_of(g), src, dst, n);
	if (n > tally->longest)
		tally->longest = n;
	waits_of_way(w, g, hops, n);
	return !err;
}

/* All ways between living hosts of a grid as it is. */
static void walk_all(const struct grids *g, struct waits *w, struct tally *tally)
{
	const struct eth_grid *grid = &g->walk.grid;
	uint32_t *parents = islands(g);

	for (uint32_t src = 1; src <= g->n_hosts; src++)
		for (uint32_t dst = 1; dst <= g->n_hosts; dst++) {
			if (src == dst || !grids_is_alive(g, src) || !grids_is_alive(g, dst))
				continue;
			for (uint32_t lane = 0; lane < 1 + (g->n_rails > grid->n_dims); lane++) {
				tally->pairs++;
				if (walk_one(g, src, dst, lane, w, tally))
					continue;
				tally->unreached++;
				tally->parted += root_of(parents, src) != root_of(parents, dst);
			}
		}
	free(parents);
}

TAP_TEST(eth_route__all_are_reached_on_the_shortest_way)
{
	uint64_t rand = tap_seed();

	for (int round = 0; round < 40 && !tap_has_failed(); round++) {
		struct waits w;
		struct grids g;

		random_grid(&g, &rand, 96);
		w = waits_in(&g);
		for (uint32_t i = 0; i < g.n_hosts * g.n_hosts; i++) {
			uint32_t src = 1 + i / g.n_hosts, dst = 1 + i % g.n_hosts, n = 0;
			struct eth_hop hops[ETH_WALK_MAX + 1];

			is_int(eth_walk(&g.walk, src, dst, i % 5, hops, &n), 0);
			is_int(n, grids_distance(&g, src, dst));
			for (uint32_t k = 0; k < n; k++)
				is_int(hops[k].late, 0);
			waits_of_way(&w, &g, hops, n);
		}
		okf(!waits_in_circles(&w), "%s: a circle", shape_of(&g));
		free(w.edges);
		grids_close(&g);
	}
}

/* ---- one failure ---- */

/* Breaks the @i-th thing of a grid; false: there are not so many. */
static bool break_nth(struct grids *g, uint32_t i)
{
	if (i < g->n_hosts) {
		grids_kill_host(g, 1 + i);
		return true;
	}
	i -= g->n_hosts;
	if (i < g->n_hosts * g->n_rails) {
		grids_kill_nic(g, 1 + i / g->n_rails, i % g->n_rails);
		return true;
	}
	i -= g->n_hosts * g->n_rails;
	if (i >= g->n_hosts * g->n_rails)
		return false;
	/* by the first of its hosts; the others stand for nothing broken */
	if (!g->points[i / g->n_rails].at[g->walk.grid.dim[i % g->n_rails]])
		grids_kill_line(g, i % g->n_rails, 1 + i / g->n_rails);
	return true;
}

static void one_failure_each(struct grids *g)
{
	struct waits w = waits_in(g);
	struct tally tally = {0};

	for (uint32_t i = 0; break_nth(g, i) && !tap_has_failed(); i++) {
		walk_all(g, &w, &tally);
		grids_heal(g);
	}
	okf(!tally.unreached, "%s: %llu ways unreached", shape_of(g),
	    (unsigned long long)tally.unreached);
	/* of all failures together: they come and go while frames are on their way */
	okf(!waits_in_circles(&w), "%s: a circle", shape_of(g));
	free(w.edges);
}

/*
 * All shapes of 2..6 dimensions of 2..4 points that are small enough, with one lane and with more.
 */
TAP_TEST(eth_route__one_failure_parts_nobody)
{
	uint32_t shapes = 0;

	for (uint32_t code = 0; code < 4096 && !tap_has_failed(); code++) {
		uint32_t dims[ETH_DIMS], one[ETH_DIMS], more[ETH_DIMS], n = 0, hosts = 1;
		struct grids g;

		for (uint32_t rest = code; n < ETH_DIMS && rest & 3; rest >>= 2)
			hosts *= dims[n++] = 1 + (rest & 3);
		if (n < 2 || code >> 2 * n || hosts > (n < 5 ? 27 : 32))
			continue;
		for (uint32_t d = 0; d < n; d++) {
			one[d] = 1;
			more[d] = 1 + (d < ETH_RAILS - n && d % 2 == code % 2);
		}
		is_int(grids_open(&g, n, dims, one), 0);
		one_failure_each(&g);
		grids_close(&g);
		shapes++;
		if (hosts > 16)
			continue;
		is_int(grids_open(&g, n, dims, more), 0);
		one_failure_each(&g);
		grids_close(&g);
	}
	tap_diag("%u shapes", shapes);
	ok(shapes > 10);
}

TAP_TEST(eth_route__one_failure_of_large_grids)
{
	uint64_t rand = tap_seed();

	for (int round = 0; round < 20 && !tap_has_failed(); round++) {
		struct tally tally = {0};
		uint32_t wide = 0;
		struct waits w;
		struct grids g;

		random_grid(&g, &rand, 128);
		w = waits_in(&g);
		for (uint32_t d = 0; d < g.walk.grid.n_dims; d++)
			wide += g.walk.grid.dims[d] > 1;
		break_something(&g, &rand);
		walk_all(&g, &w, &tally);
		/* with one dimension there is no way around */
		if (wide > 1)
			okf(!tally.unreached, "%s: %llu ways unreached", shape_of(&g),
			    (unsigned long long)tally.unreached);
		okf(!waits_in_circles(&w), "%s: a circle", shape_of(&g));
		free(w.edges);
		grids_close(&g);
	}
}

/* ---- many failures ---- */

/* Breaks up to @most things, several times over; the waits of all times together. */
static void some_failures_each(struct grids *g, uint64_t *rand, uint32_t most, struct tally *tally)
{
	struct waits w = waits_in(g);

	for (uint32_t time = 0; time < 4; time++) {
		for (uint32_t n = 1 + below(rand, most); n; n--)
			break_something(g, rand);
		walk_all(g, &w, tally);
		grids_heal(g);
	}
	okf(!waits_in_circles(&w), "%s: a circle", shape_of(g));
	free(w.edges);
}

TAP_TEST(eth_route__many_failures_end_in_no_way_and_no_circle)
{
	uint64_t rand = tap_seed();

	for (uint32_t most = 2; most <= 32 && !tap_has_failed(); most *= 2) {
		struct tally tally = {0};

		for (int round = 0; round < 16 && !tap_has_failed(); round++) {
			struct grids g;

			random_grid(&g, &rand, 96);
			some_failures_each(&g, &rand, most, &tally);
			grids_close(&g);
		}
		tap_diag("up to %u failures: of %llu ways %llu are parted, %llu (%.3f %%) more are "
			 "not "
			 "found; links at most %u",
			 most, (unsigned long long)tally.pairs, (unsigned long long)tally.parted,
			 (unsigned long long)(tally.unreached - tally.parted),
			 100.0 * (double)(tally.unreached - tally.parted) / (double)tally.pairs,
			 tally.longest);
		ok(tally.longest <= ETH_TTL);
		ok(tally.parted <= tally.unreached);
	}
}

/* A grid of 4x4 and its middle broken: circles of steps aside and back would be here. */
TAP_TEST(eth_route__no_circle_of_steps_aside)
{
	uint64_t rand = tap_seed();
	uint32_t dims[ETH_DIMS] = {4, 4}, lanes[ETH_DIMS] = {1, 1};
	struct tally tally = {0};
	struct waits w;
	struct grids g;

	is_int(grids_open(&g, 2, dims, lanes), 0);
	w = waits_in(&g);
	for (int time = 0; time < 400; time++) {
		for (uint32_t n = 2 + below(&rand, 6); n; n--)
			grids_kill_nic(&g, 1 + below(&rand, g.n_hosts), below(&rand, 2));
		walk_all(&g, &w, &tally);
		grids_heal(&g);
	}
	is_int(waits_in_circles(&w), 0);
	is_int(tally.longest, 4);
	free(w.edges);
	grids_close(&g);
}

/* ---- single steps ---- */

TAP_TEST(eth_walk__strangers_and_itself)
{
	uint32_t dims[ETH_DIMS] = {2, 2}, lanes[ETH_DIMS] = {1, 1}, n = 7;
	struct eth_hop hops[ETH_WALK_MAX + 1];
	struct grids g;

	is_int(grids_open(&g, 2, dims, lanes), 0);
	is_int(eth_walk(&g.walk, 3, 3, 0, hops, &n), 0);
	is_int(n, 0);
	is_int(hops[0].host, 3);
	is_int(eth_walk(&g.walk, 3, 5, 0, hops, &n), -ENOENT);
	is_int(eth_walk(&g.walk, 0, 3, 0, hops, &n), -ENOENT);
	/* the point at the other side is closed both ways: what was reached is said */
	grids_kill_host(&g, 4);
	is_int(eth_walk(&g.walk, 1, 4, 0, hops, &n), -EHOSTUNREACH);
	is_int(hops[n].host, 2);
	grids_close(&g);
}

TAP_TEST(eth_walk_init__wrong_grids)
{
	struct eth_point points[2] = {{.is_known = 1}, {.is_known = 1}};
	struct eth_grid grid = {.n_dims = 1, .n_points = 2, .dims = {2}, .n_lanes = {1}};
	struct eth_walk walk;

	is_int(eth_walk_init(&walk, &grid, points), -EEXIST);
	points[1].is_known = 0;
	is_int(eth_walk_init(&walk, &grid, points), 0);
	is_int(eth_walk_host_at(&walk, &points[1]), 1);
	eth_walk_fini(&walk);
	grid.rail[0][0] = ETH_RAILS;
	is_int(eth_walk_init(&walk, &grid, points), -EINVAL);
	grid.rail[0][0] = 0;
	grid.n_dims = ETH_DIMS + 1;
	is_int(eth_walk_init(&walk, &grid, points), -EINVAL);
}
