/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * migrate - the ranks of a running job stand still for a moment: to change their devices, or to see
 * whether they can be written to disk.
 */
#ifndef SCHEDULER_SCORED_MIGRATE_H
#define SCHEDULER_SCORED_MIGRATE_H

#include "scheduler/scored/scored.h"

/*
 * The leader of the job is told. NULL: @user is answered when it has ended. Else why not, to be
 * freed, and *ret_error is the name of an errno.
 */
char *migrate_ask(struct user *user, struct sjob *job, const char *network, const char **ret_error);
/* The same, for whether the job can be written to disk. It goes on in any case. */
char *migrate_try(struct user *user, struct sjob *job, const char **ret_error);
/* From the leader's host. An answer that nobody waits for is ignored. */
void migrate_over(struct scored *d, struct node *node, uint64_t id, uint64_t serial,
		  bool is_changed, const char *text, double stood_s);
/* The job is no more. */
void migrate_forget_job(struct sjob *job);
/* The link to that host was lost: those who wait for jobs that it leads are told. */
void migrate_forget_node(struct scored *d, const struct node *node);

#endif
