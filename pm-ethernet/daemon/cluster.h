/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cluster - what cluster.json (see cluster.toml(5)) says about this host's Ethernet rails. Reads
 * the file and gives texts as they would stand on the command line; judges none of them.
 */
#ifndef PM_ETHERNET_DAEMON_CLUSTER_H
#define PM_ETHERNET_DAEMON_CLUSTER_H

#include <stddef.h>

#include "pm-ethernet/daemon/names.h"
#include "pm-ethernet/grid.h"

/* "" = the file doesn't say. */
struct ethd_cluster {
	char nics[256]; /* names with commas */
	char type[16];
	char mode[16];
	char direct[16];
	char watch[16];
	uint32_t host_id;     /* in a grid; 0: the file doesn't say */
	struct eth_grid grid; /* n_dims 0: the file has none */
	struct eth_point
		*points; /* of all hosts of the grid; NULL without one. The caller frees it */
	struct ethd_names names; /* the same of their names */
};

/*
 * Looks host @host up, by its whole name or what stands before the first dot. -EINVAL with a
 * sentence.
 */
int ethd_cluster_read(const char *path, const char *host, struct ethd_cluster *ret, char *why,
		      size_t why_size);

#endif
