// SPDX-License-Identifier: BSD-3-Clause
/*
 * Tests of pm-ethernet/daemon/topology.c, by way of cluster.c: grids, and files that must not
 * become one.
 */
#include "pm-ethernet/daemon/topology.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pm-ethernet/daemon/cluster.h"
#include "tests/harness/tap.h"

#define NETWORK "\"networks\": [{\"name\": \"raw\", \"type\": \"ethernet\"}]"
#define TOPOLOGY "\"topology\": {\"kind\": \"hypercrossbar\", \"dims\": [2, 3]}"
#define RAIL(n, device, dim)                                                                       \
	"{\"network\": \"raw\", \"rail\": " n ", \"device\": \"" device "\", \"dim\": " dim "}"
#define RAILS RAIL("0", "eth1", "0") ", " RAIL("1", "eth2", "1") ", " RAIL("2", "eth3", "0")
#define HOST(id, name, state, coords, rails)                                                       \
	"{\"id\": " id ", \"name\": \"" name "\", \"state\": \"" state "\", \"coords\": " coords   \
	", \"rails\": [" rails "]}"
#define N0 HOST("0", "n0", "up", "[0, 0]", RAILS)
#define N1 HOST("1", "n1", "up", "[1, 2]", RAILS)
#define FILE_OF(topology, hosts) "{" NETWORK ", " topology ", \"hosts\": [" hosts "]}"

static char why[512];

static int read_text(const char *text, const char *host, struct ethd_cluster *ret)
{
	char path[] = "/tmp/topology_test.XXXXXX";
	int fd = mkstemp(path), err = -EIO;
	size_t len = strlen(text);

	why[0] = 0;
	*ret = (struct ethd_cluster){.nics = ""};
	if (fd >= 0 && write(fd, text, len) == (ssize_t)len)
		err = ethd_cluster_read(path, host, ret, why, sizeof(why));
	if (fd >= 0) {
		close(fd);
		unlink(path);
	}
	return err;
}

TAP_TEST(ethd_topology_read__shape_points_and_rails)
{
	struct ethd_cluster c;

	is_int(read_text(FILE_OF(TOPOLOGY,
				 N0 "," N1 "," HOST("2", "bad", "defect", "[1, 1]",
						    "") ","
							"{\"id\": 3, \"name\": \"login\", "
							"\"state\": \"up\", \"rails\": []}"),
			 "n1", &c),
	       0);
	is_int(c.host_id, 2);
	is_int(c.grid.n_dims, 2);
	is_int(c.grid.n_points, 4);
	is_int(c.grid.dims[1], 3);
	is_int(c.grid.own.at[0], 1);
	is_int(c.grid.own.at[1], 2);
	is_int(c.grid.n_lanes[0], 2);
	is_int(c.grid.n_lanes[1], 1);
	is_int(c.grid.rail[0][1], 2);
	is_int(c.grid.dim[1], 1);
	is_int(c.grid.lane[2], 1);
	must(c.points);
	ok(c.points[0].is_known && c.points[1].is_known);
	ok(!c.points[2].is_known && !c.points[3].is_known);
	free(c.points);
	is_str(ethd_names_of(&c.names, 2), "n1");
	is_str(ethd_names_of(&c.names, 5), "");
	is_int(ethd_names_find(&c.names, "login"), 4);
	is_int(ethd_names_find(&c.names, "lo"), 0);
	is_int(ethd_names_find(&c.names, ""), 0);
	ethd_names_free(&c.names);
}

TAP_TEST(ethd_topology_read__no_grid_is_as_ever)
{
	struct ethd_cluster c;

	is_int(read_text(FILE_OF("\"topology\": null", N0), "n0", &c), 0);
	ok(!c.grid.n_dims && !c.points && !c.host_id);
	is_int(read_text(FILE_OF(TOPOLOGY, HOST("0", "n0", "up", "[0, 0]",
						"{\"network\": \"raw\", \"device\": \"eth1\"}")),
			 "n0", &c),
	       0);
	ok(!c.grid.n_dims && !c.points);
}

TAP_TEST(ethd_topology_read__refuses_with_place_and_remedy)
{
	static const struct {
		const char *text, *says;
	} all[] = {
		{FILE_OF("\"topology\": {\"kind\": \"torus\", \"dims\": [2]}", N0),
		 "kind is torus"},
		{FILE_OF("\"topology\": {\"kind\": \"hypercrossbar\"}", N0), "dims has 0 items"},
		{FILE_OF("\"topology\": {\"kind\": \"hypercrossbar\", \"dims\": [2,2,2,2,2,2,2]}",
			 N0),
		 "dims has 7 items"},
		{FILE_OF("\"topology\": {\"kind\": \"hypercrossbar\", \"dims\": [2, 1025]}", N0),
		 "dimension y has 1025 points"},
		{FILE_OF("\"topology\": {\"kind\": \"hypercrossbar\", \"dims\": [0]}", N0),
		 "dimension x has 0 points"},
		{FILE_OF(TOPOLOGY, N0 "," HOST("7", "n7", "up", "[1, 1]", "")), "host n7: its id"},
		{FILE_OF(TOPOLOGY, N0 "," HOST("0", "n9", "up", "[1, 1]", "")),
		 "the id 0 of another"},
		{FILE_OF(TOPOLOGY, N0 "," HOST("1", "n9", "up", "[1]", "")), "1 coords for 2"},
		{FILE_OF(TOPOLOGY, N0 "," HOST("1", "n9", "up", "[1, 3]", "")),
		 "coordinate y is outside of 0 to 2"},
		{FILE_OF(TOPOLOGY, N0 "," HOST("1", "n9", "up", "[-1, 0]", "")),
		 "coordinate x is outside"},
		{FILE_OF(TOPOLOGY, N0 "," HOST("1", "n9", "up", "[0, 0]", "")),
		 "stand at the same point"},
		{FILE_OF(TOPOLOGY, HOST("0", "n0", "defect", "[0, 0]", RAILS)), "marked as defect"},
		{FILE_OF(TOPOLOGY, HOST("0", "n0", "up", "[0, 0]", RAIL("0", "eth1", "0"))),
		 "no rail of network raw serves dimension y"},
		{FILE_OF(TOPOLOGY, HOST("0", "n0", "up", "[0, 0]",
					RAIL("0", "eth1", "0") "," RAIL("2", "eth2", "1"))),
		 "eth2 is rail 2 of its network"},
		{FILE_OF(TOPOLOGY, HOST("0", "n0", "up", "[0, 0]",
					RAIL("0", "eth1", "0") "," RAIL("1", "eth2", "7"))),
		 "rail eth2 has no dimension"},
	};
	struct ethd_cluster c;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		is_int(read_text(all[i].text, "n0", &c), -EINVAL);
		okf(strstr(why, all[i].says) != NULL, "%s: %s", all[i].says, why);
		ok(!c.points);
	}
}
