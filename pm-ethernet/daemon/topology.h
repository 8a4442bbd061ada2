/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * topology - the hypercrossbar of a cluster.json: its shape, where every host stands, and how the
 * rails of this host lie in it. Turns text into numbers or into a sentence; knows no NIC.
 */
#ifndef PM_ETHERNET_DAEMON_TOPOLOGY_H
#define PM_ETHERNET_DAEMON_TOPOLOGY_H

#include <jansson.h>
#include <stddef.h>

#include "pm-ethernet/grid.h"

/* Id of a host in a grid: ids of cluster.json begin with 0, which is nobody's here. */
#define ETHD_TOPOLOGY_ID(id_in_file) ((uint32_t)(id_in_file) + 1)

/*
 * Reads the grid as @host sees it, an entry of @all's hosts with rails of the network named
 * @network. 0: *ret and the points, which the caller frees; or n_dims 0 and no points where the
 * file has no topology or the network's rails have no dimensions. -EINVAL or -ENOMEM with a
 * sentence that names the place and the remedy.
 */
int ethd_topology_read(const json_t *all, const json_t *host, const char *network,
		       struct eth_grid *ret, struct eth_point **ret_points, char *why,
		       size_t why_size);

#endif
