// SPDX-License-Identifier: BSD-3-Clause
/*
 * Boxes found among random holes, and grids of hosts folded onto them; small spaces against all
 * that there is.
 */
#include "scheduler/gang/box.h"

#include <stdlib.h>
#include <string.h>

#include "scheduler/gang/fold.h"
#include "tests/harness/tap.h"

#define SHAPES 256

static uint32_t volume_of(const struct box_space *space)
{
	uint32_t n = 1;

	for (uint32_t d = 0; d < space->n_dims; d++)
		n *= space->dims[d];
	return n;
}

/* The points of a box; their number. */
static uint32_t points_of(const struct box_space *space, const struct box *box, uint32_t *ret)
{
	uint32_t n = box_volume(&box->shape), at[BOX_DIMS];
	struct box_space inside = {.n_dims = BOX_DIMS};

	memcpy(inside.dims, box->shape.extent, sizeof(inside.dims));
	for (uint32_t k = 0; k < n; k++) {
		box_coordinates(&inside, k, at);
		ret[k] = box_point(space, box, at);
	}
	return n;
}

static uint32_t point_at(const struct box_space *space, const uint32_t at[BOX_DIMS])
{
	uint32_t point = 0;

	for (uint32_t d = 0; d < space->n_dims; d++)
		point = point * space->dims[d] + at[d];
	return point;
}

/* Marks the relays of the way from @from to @to, which corrects the coordinates in order. */
static void mark_relays(const struct box_space *space, const uint32_t from[BOX_DIMS],
			const uint32_t to[BOX_DIMS], uint8_t *marks, long *count_of)
{
	uint32_t at[BOX_DIMS];

	memcpy(at, from, sizeof(at));
	for (uint32_t d = 0; d < space->n_dims; d++) {
		uint32_t point;

		if (at[d] == to[d])
			continue;
		at[d] = to[d];
		point = point_at(space, at);
		*count_of += !marks[point];
		marks[point] = 1;
	}
}

/* Points that relay for a pair of the @n given ones without being one of them; -1: no memory. */
static long bystanders(const struct box_space *space, const uint32_t *points, size_t n)
{
	uint32_t from[BOX_DIMS], to[BOX_DIMS], all = 1;
	uint8_t *marks;
	long found = 0;

	for (uint32_t d = 0; d < space->n_dims; d++)
		all *= space->dims[d];
	marks = calloc(all, 1);
	if (!marks)
		return -1;
	for (size_t i = 0; i < n; i++)
		marks[points[i]] = 1;
	for (size_t i = 0; i < n; i++) {
		box_coordinates(space, points[i], from);
		for (size_t k = 0; k < n; k++) {
			box_coordinates(space, points[k], to);
			mark_relays(space, from, to, marks, &found);
		}
	}
	free(marks);
	return found;
}

static void check_box(const struct box_space *space, const bool *is_free, const struct box *box)
{
	uint32_t all = volume_of(space), *points = calloc(all, sizeof(*points)), n;
	bool *seen = calloc(all, sizeof(*seen));

	n = points_of(space, box, points);
	for (uint32_t k = 0; k < n; k++) {
		ok(points[k] < all && is_free[points[k]] && !seen[points[k]]);
		seen[points[k]] = true;
	}
	is_int(bystanders(space, points, n), 0);
	free(points);
	free(seen);
}

TAP_TEST(box_shapes__fewest_relays_first)
{
	struct box_space space = {.n_dims = 3, .dims = {16, 16, 10}};
	struct box_shape shapes[SHAPES];
	size_t n = box_shapes(&space, 16, shapes, SHAPES);

	must(n > 2);
	is_int(shapes[0].extent[0], 16);
	is_int(shapes[0].extent[1], 1);
	for (size_t i = 0; i < n; i++)
		is_int(box_volume(&shapes[i]), 16);
	is_int(box_shapes(&space, 17, shapes, SHAPES), 0);
	is_int(box_shapes(&space, 2560, shapes, SHAPES), 1);
	is_int(box_shapes(&space, 0, shapes, SHAPES), 0);
}

TAP_TEST(box_find__an_empty_space_is_filled_from_its_low_end)
{
	struct box_space space = {.n_dims = 3, .dims = {4, 4, 4}};
	struct box_shape shape = {{2, 3, 1, 1, 1, 1}};
	bool is_free[64];
	struct box box;

	memset(is_free, 1, sizeof(is_free));
	must(box_find(&space, is_free, &shape, &box) == 0);
	is_int(box.at[0][0], 0);
	is_int(box.at[0][1], 1);
	is_int(box.at[1][2], 2);
	is_int(box.at[2][0], 0);
	check_box(&space, is_free, &box);
	is_int(box_find(&space, is_free, &(struct box_shape){{5, 1, 1, 1, 1, 1}}, &box), -2);
}

TAP_TEST(box_find__coordinates_need_not_be_adjacent)
{
	struct box_space space = {.n_dims = 2, .dims = {4, 4}};
	struct box_shape shape = {{2, 2, 1, 1, 1, 1}};
	bool is_free[16] = {0};
	struct box box;

	is_free[1 * 4 + 0] = is_free[1 * 4 + 3] = is_free[3 * 4 + 0] = is_free[3 * 4 + 3] = true;
	must(box_find(&space, is_free, &shape, &box) == 0);
	is_int(box.at[0][0], 1);
	is_int(box.at[0][1], 3);
	is_int(box.at[1][1], 3);
	is_free[3 * 4 + 3] = false;
	is_int(box_find(&space, is_free, &shape, &box), -2);
}

/* Whether any choice of coordinates is a box: all subsets of all dimensions of a 4x4x4 at most. */
static bool is_there_any(const struct box_space *space, const bool *is_free,
			 const struct box_shape *shape)
{
	for (uint32_t x = 0; x < 1u << space->dims[0]; x++)
		for (uint32_t y = 0; y < 1u << space->dims[1]; y++)
			for (uint32_t z = 0; z < 1u << space->dims[2]; z++) {
				bool is_all = true;

				if (__builtin_popcount(x) != (int)shape->extent[0] ||
				    __builtin_popcount(y) != (int)shape->extent[1] ||
				    __builtin_popcount(z) != (int)shape->extent[2])
					continue;
				for (uint32_t p = 0; p < volume_of(space) && is_all; p++) {
					uint32_t at[BOX_DIMS];

					box_coordinates(space, p, at);
					if (x >> at[0] & y >> at[1] & z >> at[2] & 1)
						is_all = is_free[p];
				}
				if (is_all)
					return true;
			}
	return false;
}

TAP_TEST(box_find__misses_few_of_those_that_are_there)
{
	uint64_t random = tap_seed();
	uint32_t there = 0, found = 0;

	for (uint32_t round = 0; round < 1500; round++) {
		struct box_space space = {.n_dims = 3, .dims = {4, 3, 3}};
		struct box_shape shape = {{1, 1, 1, 1, 1, 1}};
		bool is_free[36];
		struct box box;
		int err;

		for (uint32_t d = 0; d < 3; d++)
			shape.extent[d] = 1 + (uint32_t)tap_rand(&random) % space.dims[d];
		for (uint32_t p = 0; p < 36; p++)
			is_free[p] = (uint32_t)tap_rand(&random) % 10 < 6 + round % 4;
		err = box_find(&space, is_free, &shape, &box);
		if (!err)
			check_box(&space, is_free, &box);
		if (!is_there_any(&space, is_free, &shape)) {
			is_int(err, -2);
			continue;
		}
		there++;
		found += !err;
	}
	tap_diag("found %u of %u", found, there);
	ok(there > 500 && found * 100 > there * 85);
}

TAP_TEST(box_find__large_space_with_jobs_in_it)
{
	struct box_space space = {.n_dims = 3, .dims = {16, 16, 10}};
	bool *is_free = malloc(2560);
	uint64_t random = tap_seed();
	struct box_shape shapes[SHAPES];
	uint32_t used = 0, *points = calloc(2560, sizeof(*points));
	struct box box;

	memset(is_free, 1, 2560);
	for (uint32_t job = 0; job < 200; job++) {
		uint32_t wanted = 1 + (uint32_t)tap_rand(&random) % 96;
		size_t n = box_shapes(&space, wanted, shapes, SHAPES), i = 0;

		while (i < n && box_find(&space, is_free, &shapes[i], &box))
			i++;
		if (i == n)
			continue;
		check_box(&space, is_free, &box);
		points_of(&space, &box, points);
		for (uint32_t k = 0; k < wanted; k++)
			is_free[points[k]] = false;
		used += wanted;
	}
	tap_diag("%u of 2560 hosts are used by boxes, each job relaying through its own", used);
	ok(used > 1920);
	free(points);
	free(is_free);
}

TAP_TEST(bystanders__a_diagonal_has_some)
{
	struct box_space space = {.n_dims = 2, .dims = {3, 3}};
	uint32_t diagonal[] = {0, 4, 8}, row[] = {3, 4, 5};

	is_int(bystanders(&space, diagonal, 3), 6);
	is_int(bystanders(&space, row, 3), 0);
}

/* ---- folding ---- */

TAP_TEST(fold_hosts__ranks_of_a_host_are_a_block)
{
	struct fold_grid grid = {.n_dims = 3, .dims = {8, 8, 4}}, hosts;

	is_int(fold_hosts(&grid, 1, &hosts), 0);
	is_mem(hosts.dims, grid.dims, sizeof(grid.dims));
	is_int(fold_hosts(&grid, 2, &hosts), 0);
	is_int(hosts.dims[2], 2);
	is_int(fold_hosts(&grid, 8, &hosts), 0);
	is_int(hosts.dims[2], 1);
	is_int(hosts.dims[1], 4);
	is_int(fold_hosts(&grid, 3, &hosts), -22);
	is_int(fold_hosts(&grid, 512, &hosts), -22);
}

static uint32_t differing(const uint32_t a[BOX_DIMS], const uint32_t b[BOX_DIMS])
{
	uint32_t n = 0;

	for (uint32_t d = 0; d < BOX_DIMS; d++)
		n += a[d] != b[d];
	return n;
}

/* Each place once, and neighbours of the grid one coordinate apart. */
static void check_fold(const struct fold_grid *hosts, const struct fold *fold)
{
	struct box_space grid = {.n_dims = hosts->n_dims}, box = {.n_dims = BOX_DIMS};
	uint32_t n = box_volume(&fold->shape);
	bool *seen = calloc(n, sizeof(*seen));

	memcpy(grid.dims, hosts->dims, sizeof(grid.dims));
	memcpy(box.dims, fold->shape.extent, sizeof(box.dims));
	is_int(volume_of(&grid), n);
	for (uint32_t k = 0; k < n; k++) {
		uint32_t at[BOX_DIMS], here[BOX_DIMS], there[BOX_DIMS], step = 1, place = 0;

		fold_place(hosts, fold, k, here);
		for (uint32_t d = 0; d < BOX_DIMS; d++) {
			ok(here[d] < box.dims[d]);
			place = place * box.dims[d] + here[d];
		}
		ok(place < n && !seen[place]);
		seen[place] = true;
		box_coordinates(&grid, k, at);
		for (uint32_t i = hosts->n_dims; i--; step *= hosts->dims[i]) {
			if (at[i] + 1 == hosts->dims[i])
				continue;
			fold_place(hosts, fold, k + step, there);
			is_int(differing(here, there), 1);
		}
	}
	free(seen);
}

TAP_TEST(fold_place__neighbours_share_a_switch)
{
	struct box_space pacs = {.n_dims = 3, .dims = {16, 16, 10}};
	struct fold_grid grids[] = {
		{1, {64}},         {1, {2560}},       {2, {32, 8}},         {3, {8, 8, 4}},
		{3, {16, 16, 10}}, {4, {4, 4, 4, 4}}, {5, {2, 2, 2, 2, 5}}, {2, {1, 7}},
	};
	struct fold ways[64];

	for (size_t g = 0; g < sizeof(grids) / sizeof(grids[0]); g++) {
		size_t n = fold_ways(&grids[g], &pacs, ways, 64);

		okf(n > 0, "grid %zu", g);
		for (size_t i = 0; i < n; i++)
			check_fold(&grids[g], &ways[i]);
	}
}

TAP_TEST(fold_ways__whole_dimensions_first)
{
	struct box_space pacs = {.n_dims = 3, .dims = {16, 16, 10}};
	struct fold_grid grid = {3, {8, 8, 4}}, long_one = {1, {17}};
	struct fold ways[64];

	must(fold_ways(&grid, &pacs, ways, 64) > 1);
	is_int(ways[0].digit[0][0] * ways[0].digit[0][1] * ways[0].digit[0][2], 8);
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t used = 0;

		for (uint32_t d = 0; d < 3; d++)
			used += ways[0].digit[i][d] > 1;
		is_int(used, 1);
	}
	is_int(fold_ways(&long_one, &pacs, ways, 64), 0);
}
