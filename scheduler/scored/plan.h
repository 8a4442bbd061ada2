/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan - where a job may run: which hosts are candidates, how many ranks and cores on each. Asks
 * the matrix, changes no job.
 */
#ifndef SCHEDULER_SCORED_PLAN_H
#define SCHEDULER_SCORED_PLAN_H

#include "scheduler/scored/scored.h"

/* The place that was found for a job. */
struct plan {
	struct matrix_host
		*place;  /* of n hosts; owned by the caller, matrix_place_fini() and free() */
	uint32_t *ranks; /* on each of them; owned */
	size_t n;
};

/*
 * Finds a place for @job and enters it into the matrix. 0; -EBUSY not now, and @why says what it
 * waits for; -EINVAL never, with a sentence; -ENOMEM.
 */
int plan_place(struct scored *d, uint64_t id, const struct job *job, struct plan *ret, char *why,
	       size_t why_size);
/* Whether it could ever run on the hosts that are known: 0, or -EINVAL with a sentence. */
int plan_check(struct scored *d, const struct job *job, char *why, size_t why_size);
/* The order for that place. NULL: no memory. @job is taken over by it only then. */
struct order *plan_order(struct scored *d, uint64_t id, uid_t uid, gid_t gid, struct job *job,
			 const struct plan *plan);
void plan_fini(struct plan *plan);
/* The hosts of the plan, for struct sjob. NULL: no memory. */
struct sjob_host *plan_hosts(const struct scored *d, const struct plan *plan);

/*
 * A place for a job of which there is a checkpoint: the same ranks on as many hosts, with as many
 * cores. Hosts of @order are preferred; others must share the directory of its images. @hosts: an
 * expression of the only ones that may be taken; NULL: those that the job could have at first. As
 * plan_place().
 */
int plan_again(struct scored *d, const struct order *order, const char *hosts, struct plan *ret,
	       char *why, size_t why_size);
/* The hosts of @order are those of @plan now. 0; -ENOMEM, and only to be freed then. */
int plan_readdress(const struct scored *d, struct order *order, const struct plan *plan);

#endif
