/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * clusterfile - cluster.json as a tree, without what only other hosts need: of 65536 hosts with all their rails the
 * whole tree would be hundreds of MiB. Knows which key holds the hosts; judges nothing.
 */
#ifndef PM_ETHERNET_DAEMON_CLUSTERFILE_H
#define PM_ETHERNET_DAEMON_CLUSTERFILE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Is the @entry of a host that of @name, or of what stands in it before the first dot? */
bool ethd_clusterfile_is_host(const json_t *entry, const char *name);

/*
 * The object that the file holds; of its hosts only those of the name @host keep their rails, addresses and options.
 * NULL with a sentence that names the line.
 */
json_t *ethd_clusterfile_load(const char *path, const char *host, char *why, size_t why_size);

#endif
