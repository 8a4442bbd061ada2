/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * readers - which hosts can read the images of a job: each host of its order its own ones, and
 * others those of a directory that they share with their writer.
 */
#ifndef SCHEDULER_SCORED_READERS_H
#define SCHEDULER_SCORED_READERS_H

#include "scheduler/scored/scored.h"

struct readers {
	const struct scored *scored;
	const struct order *order; /* of the job, as at its checkpoint */
};

/*
 * For struct matrix_request, with struct readers. Hosts of the order have the same ranks again, as
 * images may be on a host's own disk. Others have those that are left.
 */
bool readers_pick(void *arg, const uint32_t *fitting, size_t n, uint32_t *chosen);
/* Whether all hosts of the order are among @n numbers of nodes. */
bool readers_have_all(const struct readers *readers, const uint32_t *hosts, size_t n);
/*
 * Keeps those of *@n numbers of nodes that can read some of the images. A node that can't, or NULL:
 * all can.
 */
const struct node *readers_keep(const struct readers *readers, uint32_t *hosts, size_t *n);

#endif
