// SPDX-License-Identifier: BSD-3-Clause
/*
 * Tests of pm-ethernet/daemon/grid.c: who belongs on which rail. Maps and board are
 * tests/system/hypercrossbar.t.
 */
#include "pm-ethernet/daemon/grid.h"

#include <string.h>

#include "tests/harness/tap.h"

/*
 * 2x3, ids along the last dimension; host 4 is defect, we are 2 at 0,1. Rails 0 and 2 are of x, 1
 * of y.
 */
static struct eth_point points[6];
static struct ethd d;

static void set_up(void)
{
	memset(&d, 0, sizeof(d));
	for (uint16_t i = 0; i < 6; i++)
		points[i] = (struct eth_point){.at = {i / 3, i % 3}, .is_known = i != 3};
	d.host = 2;
	d.n_rails = 3;
	d.options.points = points;
	d.options.grid = (struct eth_grid){.n_dims = 2,
					   .n_points = 6,
					   .dims = {2, 3},
					   .own = points[1],
					   .n_lanes = {2, 1},
					   .rail = {{0, 2}, {1}},
					   .dim = {0, 1, 0},
					   .lane = {0, 0, 1}};
	for (uint32_t r = 0; r < 3; r++)
		d.rails[r] = (struct ethd_rail){.name = {'e', 't', 'h', '1' + r}, .mtu = 1500};
}

/* The fault that is reported when @rail hears host @id by its rail @theirs; "" = none. */
static const char *fault(uint32_t id, uint32_t rail, uint8_t theirs)
{
	static struct ethd_peer peer;
	static char why[512];

	peer = (struct ethd_peer){.id = id, .host_name = "other"};
	peer.ears[rail] = (struct ethd_ear){.rail = theirs, .rail_name = "eth9", .is_alive = true};
	why[0] = 0;
	ok(ethd_grid_fault(&d, rail, &peer, why, sizeof(why)) == (why[0] != 0));
	return why;
}

TAP_TEST(ethd_grid_place__own_lines_only)
{
	set_up();
	is_int(ethd_grid_place(&d, 0, 5), 1);
	is_int(ethd_grid_place(&d, 2, 5), 1);
	is_int(ethd_grid_place(&d, 1, 5), -1);
	is_int(ethd_grid_place(&d, 1, 1), 0);
	is_int(ethd_grid_place(&d, 1, 3), 2);
	is_int(ethd_grid_place(&d, 0, 6), -1);
	is_int(ethd_grid_place(&d, 1, 2), -1);
	is_int(ethd_grid_place(&d, 0, 4), -1);
	is_int(ethd_grid_place(&d, 0, 0), -1);
	is_int(ethd_grid_place(&d, 0, 7), -1);
}

TAP_TEST(ethd_grid_fault__wiring_as_configured)
{
	set_up();
	is_str(fault(5, 0, 0), "");
	is_str(fault(5, 0, 2), ""); /* lanes in one segment */
	is_str(fault(1, 1, 1), "");
}

TAP_TEST(ethd_grid_fault__names_place_and_remedy)
{
	const char *why;

	set_up();
	why = fault(6, 0, 0);
	okf(strstr(why, "eth1") && strstr(why, "host 6") && strstr(why, "1,2") &&
		    strstr(why, "0,1") && strstr(why, "; correct"),
	    "%s", why);
	why = fault(5, 1, 1);
	okf(strstr(why, "eth2") && strstr(why, "dimension 1"), "%s", why);
	why = fault(5, 0, 1);
	okf(strstr(why, "eth9") && strstr(why, "order of the NICs"), "%s", why);
	why = fault(5, 0, 200);
	okf(strstr(why, "rail 200"), "%s", why);
	why = fault(4, 1, 1);
	okf(strstr(why, "no place in the topology"), "%s", why);
	why = fault(99, 1, 1);
	okf(strstr(why, "no place in the topology"), "%s", why);
}

TAP_TEST(ethd_grid_digest__tells_grids_apart)
{
	uint64_t one, other;

	set_up();
	one = ethd_grid_digest(&d.options);
	ok(one && one == ethd_grid_digest(&d.options));
	points[5].is_known = 0;
	other = ethd_grid_digest(&d.options);
	ok(other && other != one);
	points[5].is_known = 1;
	d.options.grid.own = points[0];
	ok(ethd_grid_digest(&d.options) != one);
	d.options.grid.n_dims = 0;
	ok(!ethd_grid_digest(&d.options));
}

TAP_TEST(ethd_grid_heard__nothing_without_a_grid)
{
	struct ethd_peer peer = {.id = 5};

	set_up();
	ethd_grid_heard(&d, &peer, 0);
	ethd_grid_follow(&d, 0);
	ethd_grid_close(&d);
	ok(!d.grid);
}
