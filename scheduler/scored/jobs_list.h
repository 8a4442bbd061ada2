/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jobs_list - every job that waits, runs or ends, by its number and by its hosts, and whether those
 * that wait are to be looked at. Knows nothing of what becomes of a job.
 */
#ifndef SCHEDULER_SCORED_JOBS_LIST_H
#define SCHEDULER_SCORED_JOBS_LIST_H

#include "scheduler/scored/scored.h"

/* Into the lists; its id and hosts are set. */
void jobs_enlist(struct scored *d, struct sjob *job);
/* One of the list that has just got its hosts. */
void jobs_enlist_placed(struct scored *d, struct sjob *job);
/* Out of the lists and of memory. */
void jobs_forget(struct scored *d, struct sjob *job);
/* Nothing of a job is left on that host. */
void jobs_leave(struct sjob_host *host);

struct sjob *jobs_find(const struct scored *d, uint64_t id);
/* Its part on that host; NULL: it is not there. */
struct sjob_host *jobs_part_on(const struct sjob *job, const struct node *node);
/* Its part on that host, and the job; NULL: it is unknown, or not there. */
struct sjob_host *jobs_host(const struct scored *d, const struct node *node, uint64_t id,
			    struct sjob **job);
/* Whether a job has cores there. */
bool jobs_uses(const struct scored *d, const struct node *node);

/* A place may have become free: looked at before the loop sleeps, for a few ms at a time. */
void jobs_plan(struct scored *d);
/* The same when no place has become free: those that were tried already are not tried again. */
void jobs_plan_soon(struct scored *d);

#endif
