/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * meet - a set of ranks meets: each host brings what its ranks have, the tree joins it on the way
 * up, the root tells all. PMIx's fence, connect and disconnect and PMI-1's barrier are meetings.
 * Any number may be under way; meetings of the same kind and set are told apart by their serial
 * number, which every host counts for itself.
 */
#ifndef SCHEDULER_SCSTEPD_MEET_H
#define SCHEDULER_SCSTEPD_MEET_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/scstepd/tree.h"
#include "scheduler/scstepd/world.h"

#define MEET_SET_MAX (1u << 20)   /* bytes of the text of a set */
#define MEET_OPEN_MAX 65536       /* meetings under way */
#define MEET_DATA_MAX (15u << 20) /* bytes of all together: one frame */

struct meet;
/* error: 0 or errno. */
typedef void meet_done(int error, const char *data, size_t size, void *arg);

struct meet_rank {
	uint32_t world;
	uint32_t rank; /* MEET_ALL_RANKS: all of the world */
};
#define MEET_ALL_RANKS UINT32_MAX

struct meet *meet_open(const struct worlds *worlds, size_t here, struct tree *tree);
void meet_close(struct meet *meet);

/*
 * The set as text, the same whatever the order: "0", "0:1-3,7;2". NULL with errno. free() it. Sorts
 * @ranks.
 */
char *meet_set(const struct worlds *worlds, struct meet_rank *ranks, size_t n);

/*
 * This host's part of the meeting @op (OP_FENCE, ...) of @set is complete. @done is called once,
 * never from within. 0 or -errno: -EINVAL a set that makes no sense, -ENOSPC too many, -ENOMEM.
 */
int meet_join(struct meet *meet, const char *op, const char *set, const void *data, size_t size,
	      meet_done *done, void *arg);
/* From the tree: a child's part, and the root's word. Wrong ones: -EPROTO. */
int meet_combine(struct meet *meet, const char *op, size_t child, const json_t *head,
		 const char *body, size_t size);
int meet_told(struct meet *meet, const json_t *head, const char *body, size_t size);

#endif
