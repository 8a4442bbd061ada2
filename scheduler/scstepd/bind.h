/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bind - which cores each rank of this host gets: the order's cores, restricted to what this
 * process may use at all (a container's limit, scnoded's list). Owns the topology. Binds nobody.
 */
#ifndef SCHEDULER_SCSTEPD_BIND_H
#define SCHEDULER_SCSTEPD_BIND_H

#include <hwloc.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/proto/order.h"

struct bind;

/*
 * @cpus: the machine's numbers one by one, "0,2,8"; "" = all that are allowed. NULL with a
 * sentence.
 */
struct bind *bind_open(const struct order *order, const char *cpus, char *why, size_t why_size);
void bind_close(struct bind *bind);

hwloc_topology_t bind_topology(const struct bind *bind);
/*
 * The cpus of the rank in @slot (0, 1, ... on this host, over all worlds). Never empty; valid until
 * bind_close().
 */
hwloc_const_cpuset_t bind_set(const struct bind *bind, uint32_t slot);
/* The same for sched_setaffinity(2): free() *@ret. Bytes or -ENOMEM. */
int bind_mask(const struct bind *bind, uint32_t slot, unsigned long **ret);
/* The same for people: "core 0-1 (cpu 0-3)", "not bound". free() it; NULL: no memory. */
char *bind_text(const struct bind *bind, uint32_t slot);

#endif
