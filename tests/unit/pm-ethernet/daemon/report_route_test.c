// SPDX-License-Identifier: BSD-3-Clause
/*
 * Tests of pm-ethernet/daemon/report_route.c: ways from a corner of 3x3, and what is said of closed
 * links.
 */
#include "pm-ethernet/daemon/report_route.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pm-ethernet/daemon/discover.h"
#include "pm-ethernet/daemon/grid.h"
#include "tests/harness/tap.h"

/*
 * Hosts n0 to n8 have ids 1 to 9, the last dimension fastest; we are n0. Rails 0 and 2 are of x, 1
 * of y.
 */
static struct eth_point points[9];
static struct ethd_neighbour lines[3][3];
static struct ethd_discover discover;
static struct ethd_grid grid = {.lines = {lines[0], lines[1], lines[2]}};
static struct ethd d;
static char why[256];

static void read_names(void)
{
	json_t *hosts = json_array();

	for (int i = 0; i < 9; i++) {
		char name[] = {'n', (char)('0' + i), 0};

		json_array_append_new(hosts, json_pack("{s:i, s:s}", "id", i, "name", name));
	}
	ethd_names_free(&d.options.names);
	must(!ethd_names_read(hosts, &d.options.names));
	json_decref(hosts);
}

/* All is open. */
static void set_up(void)
{
	d.host = 1;
	d.n_rails = 3;
	d.grid = &grid;
	d.discover = &discover;
	d.options.points = points;
	d.options.grid = (struct eth_grid){.n_dims = 2,
					   .n_points = 9,
					   .dims = {3, 3},
					   .n_lanes = {2, 1},
					   .rail = {{0, 2}, {1}},
					   .dim = {0, 1, 0},
					   .lane = {0, 0, 1}};
	for (uint16_t i = 0; i < 9; i++)
		points[i] = (struct eth_point){.at = {i / 3, i % 3}, .is_known = 1};
	d.options.grid.own = points[0];
	for (uint32_t r = 0; r < 3; r++) {
		d.rails[r] = (struct ethd_rail){.name = {'e', 't', 'h', (char)('1' + r)},
						.mtu = 1500,
						.is_up = true,
						.is_programmed = true};
		for (uint32_t at = 0; at < 3; at++)
			lines[r][at] = (struct ethd_neighbour){.id = !at      ? 0
								     : r == 1 ? at + 1
									      : 3 * at + 1,
							       .is_heard = at,
							       .is_open = at,
							       .mtu = 1500};
	}
	read_names();
}

static void shut(uint32_t rail, uint32_t at)
{
	lines[rail][at].is_open = false;
}

/* The way of a lane to a host, as "n3 n6"; with "!" at its end if it does not get there. */
static const char *hosts_of(const char *about, size_t lane)
{
	static char text[64];
	json_t *report = json_object(), *hop, *way;
	size_t i;

	text[0] = 0;
	is_int(ethd_report_route(&d, about, report, why, sizeof(why)), 0);
	way = json_array_get(json_object_get(report, "ways"), lane);
	json_array_foreach(json_object_get(way, "hops"), i, hop) {
		strcat(text, i ? " " : "");
		strcat(text, json_string_value(json_object_get(hop, "to_name")));
	}
	if (!json_is_true(json_object_get(way, "is_reached")))
		strcat(text, "!");
	ok(json_is_string(json_object_get(way, "why_not")) == (strchr(text, '!') != NULL));
	json_decref(report);
	return text;
}

static void is_one_of(const char *text, const char *one, const char *other)
{
	okf(!strcmp(text, one) || !strcmp(text, other), "%s", text);
}

/* The part that is dead at the first closed link of the report, "" = none is closed. */
static const char *dead_of(const char *about)
{
	static char text[16];
	json_t *report = json_object();
	const char *dead;

	is_int(ethd_report_route(&d, about, report, why, sizeof(why)), 0);
	dead = json_string_value(json_object_get(
		json_array_get(json_object_get(json_array_get(json_object_get(report, "ways"), 0),
					       "closed"),
			       0),
		"dead"));
	strcpy(text, dead ? dead : "");
	json_decref(report);
	return text;
}

TAP_TEST(ethd_report_route__usual_way)
{
	set_up();
	is_str(hosts_of("n8", 0), "n6 n8");
	is_str(hosts_of("n8", 1), "n6 n8");
	is_str(hosts_of("n3", 0), "n3");
	is_str(hosts_of("n2", 0), "n2");
	is_str(dead_of("n8"), "");
}

TAP_TEST(ethd_report_route__by_name_id_and_coordinates)
{
	set_up();
	is_str(hosts_of("9", 0), "n6 n8");
	is_str(hosts_of("2,2", 0), "n6 n8");
}

TAP_TEST(ethd_report_route__who_is_nobody)
{
	static const char *const nobody[] = {"",    "n9", "n",  "0",     "10",   "9x",
					     "3,0", "1",  "1,", "1,1,1", "-1,1", " 1,1"};

	set_up();
	for (size_t i = 0; i < sizeof(nobody) / sizeof(nobody[0]); i++) {
		json_t *report = json_object();
		bool is_own = !strcmp(nobody[i], "1"); /* our own id */

		why[0] = 0;
		is_int(ethd_report_route(&d, nobody[i], report, why, sizeof(why)),
		       is_own ? 0 : -EINVAL);
		okf(is_own || strstr(why, "no host"), "%s: %s", nobody[i], why);
		json_decref(report);
	}
	d.grid = NULL;
	is_int(ethd_report_route(&d, "n1", NULL, why, sizeof(why)), -EOPNOTSUPP);
}

TAP_TEST(ethd_report_route__other_lane)
{
	set_up();
	shut(0, 2);
	is_str(hosts_of("n8", 0), "n6 n8");
	is_str(dead_of("n8"), "link");
}

TAP_TEST(ethd_report_route__around_a_dead_relay)
{
	set_up();
	shut(0, 2);
	shut(2, 2);
	is_str(hosts_of("n8", 0), "n2 n8");
	is_str(dead_of("n8"), "host");
	/* which step aside is a matter of the pair of hosts */
	is_one_of(hosts_of("n6", 0), "n1 n7!", "n2 n8!");
}

TAP_TEST(ethd_report_route__dead_line_and_rail)
{
	set_up();
	for (uint32_t at = 1; at < 3; at++) {
		shut(0, at);
		shut(2, at);
	}
	is_one_of(hosts_of("n6", 0), "n1 n7 n6", "n2 n8 n6");
	is_str(dead_of("n6"), "line");
	d.rails[0].is_up = false;
	is_str(dead_of("n6"), "rail");
}

TAP_TEST(ethd_report_route__nothing_is_open)
{
	set_up();
	for (uint32_t at = 1; at < 3; at++)
		for (uint32_t rail = 0; rail < 3; rail++)
			shut(rail, at);
	is_str(hosts_of("n8", 0), "!");
}

TAP_TEST(ethd_report_route__to_a_defect_host)
{
	set_up();
	points[8] = (struct eth_point){.is_known = 0};
	is_str(hosts_of("n8", 0), "!");
}
