/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * placement - which hosts of a hypercrossbar go together. They form a box (gang/box.h), so that a
 * job relays through its own hosts alone. The process grid of the job is folded onto the box where
 * there is one. Chooses for the matrix.
 */
#ifndef SCHEDULER_SCORED_PLACEMENT_H
#define SCHEDULER_SCORED_PLACEMENT_H

#include "scheduler/gang/fold.h"
#include "scheduler/scored/scored.h"

#define PLACEMENT_WAYS 64 /* shapes or foldings that are tried */

struct placement {
	const struct cluster *cluster;
	struct node *const *nodes;
	uint32_t n_wanted;     /* hosts */
	bool is_cart;          /* grid and folds are of use */
	struct fold_grid grid; /* of hosts */
	size_t n_folds;
	struct fold folds[PLACEMENT_WAYS];
};

/*
 * Prepares the search for @n hosts, with @per_host ranks on each. 0: placement_pick is of use.
 * -ENOENT: the choice does not matter here: one host, or no hypercrossbar, or the job wants any.
 * -EINVAL: the job's grid can't be laid onto the network, with a sentence.
 */
int placement_open(struct placement *placement, const struct scored *d, const struct job *job,
		   uint32_t n, uint32_t per_host, char *why, size_t why_size);
/* For struct matrix_request; @arg is the placement, hosts are numbers of nodes. */
bool placement_pick(void *arg, const uint32_t *fitting, size_t n, uint32_t *chosen);

#endif
