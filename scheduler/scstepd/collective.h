/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * collective - a set of ranks meets: each host brings what its ranks have, the tree joins it on the
 * way up, the root tells all. PMIx's fence, connect and disconnect and PMI-1's barrier are
 * collectives. Any number may be under way; collectives of the same kind and set are told apart by
 * their serial number, which every host counts for itself.
 */
#ifndef SCHEDULER_SCSTEPD_COLLECTIVE_H
#define SCHEDULER_SCSTEPD_COLLECTIVE_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/scstepd/tree.h"
#include "scheduler/scstepd/world.h"

#define COLLECTIVE_SET_MAX (1u << 20)   /* bytes of the text of a set */
#define COLLECTIVE_OPEN_MAX 65536       /* collectives under way */
#define COLLECTIVE_DATA_MAX (15u << 20) /* bytes of all together: one frame */

struct collectives;
/* error: 0 or errno. */
typedef void collective_done(int error, const char *data, size_t size, void *arg);

struct collective_rank {
	uint32_t world;
	uint32_t rank; /* COLLECTIVE_ALL_RANKS: all of the world */
};
#define COLLECTIVE_ALL_RANKS UINT32_MAX

struct collectives *collective_open(const struct worlds *worlds, size_t here, struct tree *tree);
void collective_close(struct collectives *collectives);

/*
 * The set as text, the same whatever the order: "0", "0:1-3,7;2". NULL with errno. free() it. Sorts
 * @ranks.
 */
char *collective_set(const struct worlds *worlds, struct collective_rank *ranks, size_t n);

/*
 * This host's part of the collective @op (OP_FENCE, ...) of @set is complete. @done is called once,
 * never from within. 0 or -errno: -EINVAL a set that makes no sense, -ENOSPC too many, -ENOMEM.
 */
int collective_join(struct collectives *collectives, const char *op, const char *set,
		    const void *data, size_t size, collective_done *done, void *arg);
/* From the tree: a child's part, and the root's word. Wrong ones: -EPROTO. */
int collective_combine(struct collectives *collectives, const char *op, size_t child,
		       const json_t *head, const char *body, size_t size);
int collective_told(struct collectives *collectives, const json_t *head, const char *body,
		    size_t size);

#endif
