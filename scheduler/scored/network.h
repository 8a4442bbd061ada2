/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * network - what a job means by the name of a network: devices of PM. Pure.
 */
#ifndef SCHEDULER_SCORED_NETWORK_H
#define SCHEDULER_SCORED_NETWORK_H

#include <stddef.h>

#include "scheduler/scored/cluster.h"

/*
 * The value of "devices" in PM_OPTIONS for @request: names with + between, each a network of the
 * cluster or a device. Networks alone are joined by what works within a host. free() it. NULL with
 * a sentence: unknown, or no memory. @cluster may be NULL.
 */
char *network_devices(const struct cluster *cluster, const char *request, char *why,
		      size_t why_size);

#endif
