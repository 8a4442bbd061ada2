// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scored/network.h"

#include <stdlib.h>
#include <string.h>

#include "tests/harness/tap.h"

static char lan[] = "lan", fast[] = "fast", udp[] = "udp", ethernet[] = "ethernet";
static struct cluster_network networks[] = {{lan, udp}, {fast, ethernet}};
static const struct cluster desk = {.networks = networks, .n_networks = 2};

static void means(const struct cluster *cluster, const char *request, const char *devices)
{
	char why[512] = "";
	char *text = network_devices(cluster, request, why, sizeof(why));

	if (okf(text != NULL, "%s: %s", request, why))
		is_str(text, devices);
	free(text);
}

static void is_refused(const struct cluster *cluster, const char *request, const char *sentence)
{
	char why[512] = "";
	char *text = network_devices(cluster, request, why, sizeof(why));

	ok(!text);
	is_str(why, sentence);
	free(text);
}

TAP_TEST(network_devices__networks_of_the_cluster)
{
	means(&desk, "lan", "self+shmem+udp");
	means(&desk, "fast+lan", "self+shmem+ethernet+udp");
}

TAP_TEST(network_devices__devices_as_they_are)
{
	means(&desk, "udp", "udp");
	means(&desk, "udp+self", "udp+self");
	means(&desk, "verbs+udp", "verbs+udp");
	means(&desk, "self+fast", "self+ethernet");
	means(NULL, "shmem+udp+shmem", "shmem+udp");
}

TAP_TEST(network_devices__unknown)
{
	static const struct cluster bare;

	is_refused(
		&desk, "infiniband",
		"network infiniband: no network of the cluster, which has lan, fast; nor a device "
		"of PM: self, shmem, verbs, ethernet, udp");
	is_refused(&desk, "lan+",
		   "network : no network of the cluster, which has lan, fast; nor a device of PM: "
		   "self, shmem, verbs, ethernet, udp");
	is_refused(&bare, "lan",
		   "network lan: the cluster's file names no network, and it is no device of PM: "
		   "self, shmem, verbs, ethernet, udp");
	is_refused(
		NULL, "lan",
		"network lan: this scored has no cluster.json (--config) that names networks, and "
		"it is no device of PM: self, shmem, verbs, ethernet, udp");
}
