// SPDX-License-Identifier: BSD-3-Clause
/*
 * Two nodes whose ports do not fit together: with verbs alone a sentence says why, with another
 * device that is used.
 */
#include "tests/harness/tap.h"
#include "tests/unit/pm-verbs/fake_verbs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pm.h"

/* Node 0 uses fake0, node 1 fake1. */
static pmContext open_node(pmNode self, const char *devices)
{
	char config[80];
	struct pmOptions options = {
		.size = sizeof(options), .job_key = 5, .self = self, .config = config};
	pmContext ctx = PM_CONTEXT_NONE;

	snprintf(config, sizeof(config), "devices=self+%s,verbs.devices=fake%u,udp.rails=lo",
		 devices, self);
	unsetenv("PM_OPTIONS");
	is_int(pmOpenContext(&options, &ctx), PM_SUCCESS);
	return ctx;
}

/* Node 0 meets node 1: the name of the device that is used, or "" and why there is none. */
static void meet(const char *devices, const char *want_device, const char *want_why)
{
	pmContext a = open_node(0, devices), b = open_node(1, devices);
	uint8_t address[PM_ADDRESS_MAX];
	size_t len = sizeof(address);
	const char *name = "";
	int err;

	is_int(pmGetAddress(b, address, &len), PM_SUCCESS);
	err = pmAddNode(a, 1, address, len);
	is_int(err, *want_device ? PM_SUCCESS : EHOSTUNREACH);
	if (err)
		okf(strstr(pmLastError(), want_why) != NULL, "\"%s\"", pmLastError());
	else
		is_int(pmGetDeviceName(a, 1, &name), PM_SUCCESS);
	is_str(name, want_device);
	is_int(pmCloseContext(a), PM_SUCCESS);
	is_int(pmCloseContext(b), PM_SUCCESS);
}

static void is_unfit(const char *why)
{
	meet("verbs", "", why);
	meet("verbs+udp", "udp", "");
	is_int(fake.live, 0);
	fake_end();
}

TAP_TEST(fallback__ports_that_fit)
{
	fake_begin(2);
	meet("verbs+udp", "verbs", "");
	fake_end();
}

TAP_TEST(fallback__roce_v1_and_v2)
{
	fake_begin(2);
	for (int i = 0; i < fake.ports[1].n_gids; i++)
		fake.ports[1].gids[i].gid_type = IBV_GID_TYPE_ROCE_V1;
	is_unfit("this port speaks RoCE v2 and the other RoCE v1: choose alike by verbs.gid");
}

TAP_TEST(fallback__mtu)
{
	fake_begin(2);
	fake.ports[1].attr.active_mtu = IBV_MTU_4096;
	is_unfit("the MTU is 1024 bytes on this port and 4096 on the other: make them equal");
}

TAP_TEST(fallback__subnets_of_infiniband)
{
	fake_begin(2);
	for (int p = 0; p < 2; p++) {
		fake.ports[p].attr.link_layer = IBV_LINK_LAYER_INFINIBAND;
		fake.ports[p].n_gids = 1;
		fake.ports[p].gids[0].gid_type = IBV_GID_TYPE_IB;
		fake.ports[p].gids[0].gid.raw[7] = (uint8_t)p;
	}
	is_unfit("the ports are in different subnets, prefix fe80:..:0000 here and fe80:..:0001 "
		 "there");
}
