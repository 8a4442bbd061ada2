/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * checkpoint - has a running job written to disk by its hosts. Their order is round.h's; here are
 * the messages and the journal.
 */
#ifndef SCHEDULER_SCORED_CHECKPOINT_H
#define SCHEDULER_SCORED_CHECKPOINT_H

#include "scheduler/scored/scored.h"

/*
 * NULL: it is under way, and @user is answered when it is over. @user NULL: nobody is, and a
 * failure goes to job->image_failure. Else why not, to be freed, and *ret_error is the name of an
 * errno.
 */
char *checkpoint_ask(struct scored *d, struct user *user, struct sjob *job, const char **ret_error);
/* A host tells how a stage has ended: OP_IMAGED. */
void checkpoint_told(struct scored *d, struct node *node, const json_t *head);
/* The ranks have stood still, as the leader's host tells. False: not for a checkpoint. */
bool checkpoint_stood(struct scored *d, struct node *node, const json_t *head);
/*
 * The job is no more. Its hosts drop what they have not committed, and all of a job that went
 * well.
 */
void checkpoint_forget_job(struct scored *d, struct sjob *job);
/* The link to that host was lost: what it is to do for a checkpoint may never reach it. */
void checkpoint_forget_node(struct scored *d, const struct node *node);

#endif
