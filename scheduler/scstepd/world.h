/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * world - one PMIx namespace of the job: its programs, its ranks and the hosts they are on. World 0
 * is what scrun started, others were spawned. Ranks of a host are consecutive, programs have theirs
 * one after another. Knows no process. Worlds are told to all hosts, and stay until the job ends.
 */
#ifndef SCHEDULER_SCSTEPD_WORLD_H
#define SCHEDULER_SCSTEPD_WORLD_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/proto/order.h"

#define WORLDS_MAX JOB_WORLDS_MAX
#define WORLD_RANKS_MAX JOB_RANKS_MAX

struct world_host {
	uint32_t first; /* rank */
	uint32_t ranks;
	uint32_t before; /* ranks of earlier worlds on this host */
};

struct world {
	uint32_t number;
	char nspace[256];
	uint32_t n_ranks;
	size_t n_hosts;           /* of the order */
	struct world_host *hosts; /* one for each host of the order */
	struct job_app *apps;     /* world 0: the order's */
	size_t n_apps;
	bool is_spawned;
	uint32_t parent_world, parent_rank; /* if it is */
};

struct worlds {
	const struct order *order;
	struct world **all; /* [number]; NULL = not told yet */
	size_t n;
};

/* World 0 of @order, which must outlive them. 0 or -ENOMEM. */
int worlds_init(struct worlds *worlds, const struct order *order);
void worlds_fini(struct worlds *worlds);
/* NULL: no such world. */
struct world *worlds_get(const struct worlds *worlds, uint64_t number);
struct world *worlds_find(const struct worlds *worlds, const char *nspace);

/*
 * The next world at the root: places its ranks on the hosts that have the least so far. @apps:
 * array of objects argv [S], env [S], cwd S, ranks N. *@ret: what OP_WORLD tells (world, parent,
 * apps, placement). -EINVAL, -ENOSPC or -ENOMEM with a sentence.
 */
int world_plan(const struct worlds *worlds, const json_t *apps, uint32_t parent_world,
	       uint32_t parent_rank, json_t **ret, char *why, size_t why_size);
/* Adds the world that OP_WORLD tells. Everything is checked. */
int world_add(struct worlds *worlds, const json_t *told, struct world **ret, char *why,
	      size_t why_size);

size_t world_host_of(const struct world *world, uint32_t rank);
/*
 * The program of @rank; @ret_rank: rank within it, @ret_first: first rank of it. Either may be
 * NULL.
 */
size_t world_app_of(const struct world *world, uint32_t rank, uint32_t *ret_rank,
		    uint32_t *ret_first);

#endif
