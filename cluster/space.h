/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * space - the shape of a hypercrossbar in cluster.json, and where a host stands in it. Turns the
 * file's values into numbers within bounds, or into a sentence; knows no rail and no job.
 */
#ifndef CLUSTER_SPACE_H
#define CLUSTER_SPACE_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#define CLUSTER_DIMS 6
#define CLUSTER_LINE_MAX 1024 /* points of a dimension at most */

struct cluster_space {
	uint32_t n_dims;             /* 0..CLUSTER_DIMS; 0: the cluster is flat */
	uint16_t dims[CLUSTER_DIMS]; /* points of each, 1..CLUSTER_LINE_MAX */
};

/* "topology" of @all, which may be missing or null. 0, or -EINVAL with a sentence. */
int cluster_space_read(const json_t *all, struct cluster_space *ret, char *why, size_t why_size);

/*
 * The coordinates of @host, an entry of "hosts"; 0 in dimensions that there are not. 1; 0: it has
 * none, or the space is flat, and @ret is all 0; -EINVAL with a sentence.
 */
int cluster_space_place(const struct cluster_space *space, const json_t *host,
			uint16_t ret[CLUSTER_DIMS], char *why, size_t why_size);

#endif
