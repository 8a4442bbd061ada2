// SPDX-License-Identifier: BSD-3-Clause
/* Tests of cluster/space.c: shapes and places, and values that must become neither. */
#include "cluster/space.h"

#include <errno.h>
#include <string.h>

#include "tests/harness/tap.h"

static char why[256];

static int read_text(const char *text, struct cluster_space *ret)
{
	json_t *all = json_loads(text, 0, NULL);
	int err;

	ok(all);
	why[0] = 0;
	err = cluster_space_read(all, ret, why, sizeof(why));
	json_decref(all);
	return err;
}

static int place(const struct cluster_space *space, const char *text, uint16_t ret[CLUSTER_DIMS])
{
	json_t *host = json_loads(text, 0, NULL);
	int stands;

	ok(host);
	why[0] = 0;
	stands = cluster_space_place(space, host, ret, why, sizeof(why));
	json_decref(host);
	return stands;
}

TAP_TEST(cluster_space_read__flat_or_a_shape)
{
	struct cluster_space space = {.n_dims = 9};

	is_int(read_text("{}", &space), 0);
	is_int(space.n_dims, 0);
	is_int(read_text("{\"topology\": null}", &space), 0);
	is_int(space.n_dims, 0);
	is_int(read_text("{\"topology\": {\"kind\": \"hypercrossbar\", \"dims\": [16, 1024, 1]}}",
			 &space),
	       0);
	is_int(space.n_dims, 3);
	is_int(space.dims[0], 16);
	is_int(space.dims[1], 1024);
	is_int(space.dims[2], 1);
	is_int(space.dims[3], 0);
}

TAP_TEST(cluster_space_read__refuses)
{
	static const struct {
		const char *topology, *says;
	} bad[] = {
		{"5", "kind is ?"},
		{"{\"kind\": \"torus\", \"dims\": [2]}", "kind is torus"},
		{"{\"kind\": \"hypercrossbar\"}", "dims has 0 items"},
		{"{\"kind\": \"hypercrossbar\", \"dims\": [1,1,1,1,1,1,1]}", "dims has 7 items"},
		{"{\"kind\": \"hypercrossbar\", \"dims\": [2, 1025]}",
		 "dimension y has 1025 points"},
		{"{\"kind\": \"hypercrossbar\", \"dims\": [0]}", "dimension x has 0 points"},
		{"{\"kind\": \"hypercrossbar\", \"dims\": [\"2\"]}", "dimension x has 0 points"},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct cluster_space space = {.n_dims = 9};
		char text[256];

		snprintf(text, sizeof(text), "{\"topology\": %s}", bad[i].topology);
		is_int(read_text(text, &space), -EINVAL);
		is_int(space.n_dims, 0);
		okf(strstr(why, bad[i].says) != NULL, "%s: %s", bad[i].topology, why);
	}
}

TAP_TEST(cluster_space_place__of_one_host)
{
	static const struct cluster_space space = {.n_dims = 2, .dims = {2, 3}}, flat;
	uint16_t at[CLUSTER_DIMS] = {7, 7, 7, 7, 7, 7};

	is_int(place(&space, "{\"name\": \"n0\", \"coords\": [1, 2]}", at), 1);
	is_int(at[0], 1);
	is_int(at[1], 2);
	is_int(at[2], 0);
	is_int(place(&space, "{\"name\": \"login\"}", at), 0);
	is_int(at[0], 0);
	is_int(place(&space, "{\"name\": \"login\", \"coords\": null}", at), 0);
	is_int(place(&flat, "{\"name\": \"n0\", \"coords\": [1, 2]}", at), 0);
}

TAP_TEST(cluster_space_place__refuses)
{
	static const struct cluster_space space = {.n_dims = 2, .dims = {2, 3}};
	static const struct {
		const char *coords, *says;
	} bad[] = {
		{"[1]", "host n0: 1 coords for 2"},
		{"[1, 1, 1]", "3 coords for 2"},
		{"5", "0 coords for 2"},
		{"[2, 0]", "coordinate x is outside of 0 to 1"},
		{"[0, 3]", "coordinate y is outside of 0 to 2"},
		{"[0, -1]", "coordinate y is outside"},
		{"[0, \"1\"]", "coordinate y is outside"},
	};
	uint16_t at[CLUSTER_DIMS];
	char text[256];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(text, sizeof(text), "{\"name\": \"n0\", \"coords\": %s}", bad[i].coords);
		is_int(place(&space, text, at), -EINVAL);
		okf(strstr(why, bad[i].says) != NULL, "%s: %s", bad[i].coords, why);
	}
}
