// SPDX-License-Identifier: BSD-3-Clause
/*
 * exchange - grids are read, neighbours are each other's, and every partner gets one share per
 * step.
 */
#include "pmcore/tools/common/exchange.h"

#include <errno.h>

#include "tests/harness/tap.h"

static struct exchange_grid grid_of(const char *text)
{
	struct exchange_grid grid = {.n_dims = 0};

	is_int(exchange_read_grid(text, &grid), 0);
	return grid;
}

TAP_TEST(exchange_read_grid__good)
{
	struct exchange_grid grid = grid_of("16x10x1");
	char text[EXCHANGE_TEXT];

	is_int(grid.n_dims, 3);
	is_int(grid.dims[0], 16);
	is_int(grid.dims[2], 1);
	is_int(exchange_volume(&grid), 160);
	exchange_grid_text(&grid, text);
	is_str(text, "16x10x1");
	grid = grid_of("65536x65535");
	is_int(exchange_volume(&grid), 65536ll * 65535);
	grid = grid_of("1x2x3x4x5x6");
	is_int(grid.n_dims, EXCHANGE_DIMS);
}

TAP_TEST(exchange_read_grid__refused)
{
	static const char *const texts[] = {
		"",    "x",     "4x", "x4", "4xx4",          "4y4",
		"0x4", "65537", "-4", " 4", "1x1x1x1x1x1x1", "65536x65536",
		NULL};
	struct exchange_grid grid = {.n_dims = 77};

	for (int i = 0; texts[i]; i++)
		okf(exchange_read_grid(texts[i], &grid) == -EINVAL, "'%s'", texts[i]);
	is_int(grid.n_dims, 77);
}

TAP_TEST(exchange_neighbour__by_hand)
{
	struct exchange_grid grid = grid_of("2x3x4"); /* node = 12 x + 4 y + z */

	is_int(exchange_neighbour(&grid, 0, 2, true), 1);
	is_int(exchange_neighbour(&grid, 0, 2, false), 3);
	is_int(exchange_neighbour(&grid, 3, 2, true), 0);
	is_int(exchange_neighbour(&grid, 0, 1, true), 4);
	is_int(exchange_neighbour(&grid, 1, 1, false), 9);
	is_int(exchange_neighbour(&grid, 5, 0, true), 17);
	is_int(exchange_neighbour(&grid, 17, 0, true), 5);
	is_int(exchange_neighbour(&grid, 17, 0, false), 5);
}

TAP_TEST(exchange_neighbour__there_and_back)
{
	static const char *const texts[] = {"4x4x4", "1x5", "2x1x3", "7", "2x2x2x2x2x2", NULL};

	for (int i = 0; texts[i]; i++) {
		struct exchange_grid grid = grid_of(texts[i]);

		for (uint32_t node = 0; node < exchange_volume(&grid); node++)
			for (uint32_t d = 0; d < grid.n_dims; d++) {
				uint32_t up = exchange_neighbour(&grid, node, d, true);
				uint32_t back = exchange_neighbour(&grid, up, d, false);

				if (back != node || up >= exchange_volume(&grid) ||
				    (up == node) != (grid.dims[d] == 1))
					okf(0, "%s: node %u, dimension %u: %u, %u", texts[i], node,
					    d, up, back);
			}
		okf(1, "%s", texts[i]);
	}
}

static void check_partners(const struct exchange *ex, const uint32_t *wanted, uint32_t n)
{
	is_int(ex->n, n);
	for (uint32_t i = 0; i < n && i < ex->n; i++)
		okf(ex->node[i] == wanted[i], "partner %u is %u, wanted %u", i, ex->node[i],
		    wanted[i]);
}

TAP_TEST(exchange_open_all__begins_with_the_next)
{
	struct exchange ex;

	must(is_int(exchange_open_all(&ex, 2, 4), 0));
	check_partners(&ex, (uint32_t[]){3, 0, 1}, 3);
	exchange_close(&ex);
}

TAP_TEST(exchange_open__alone)
{
	struct exchange_grid grid = grid_of("1x1");
	struct exchange ex;

	must(is_int(exchange_open_all(&ex, 0, 1), 0));
	check_partners(&ex, (uint32_t[]){0}, 1);
	exchange_close(&ex);
	must(is_int(exchange_open_neighbours(&ex, &grid, 0), 0));
	check_partners(&ex, (uint32_t[]){0}, 1);
	exchange_close(&ex);
}

TAP_TEST(exchange_open_neighbours__extents_1_2_3)
{
	struct exchange_grid grid = grid_of("1x2x3"); /* node = 3 y + z */
	struct exchange ex;

	must(is_int(exchange_open_neighbours(&ex, &grid, 5), 0));
	check_partners(&ex, (uint32_t[]){2, 2, 3, 4}, 4);
	exchange_close(&ex);
}

TAP_TEST(exchange_due__one_share_per_step)
{
	struct exchange ex;
	uint32_t busy;

	must(is_int(exchange_open_all(&ex, 0, 4), 0));
	for (int step = 0; step < 2; step++) {
		busy = exchange_due(&ex); /* has no room now: it comes again behind the others */
		is_int(ex.node[busy], 1);
		for (uint32_t node = 2; node < 4; node++) {
			uint32_t place = exchange_due(&ex);

			is_int(ex.node[place], node);
			exchange_done(&ex, place);
		}
		is_int(exchange_due(&ex), busy);
		is_int(exchange_due(&ex), busy);
		exchange_done(&ex, busy);
	}
	is_int(ex.left, 3);
	exchange_close(&ex);
}
