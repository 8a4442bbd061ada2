/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * movers - users who wait until the ranks of a running job have stood still, for whatever reason. A
 * job has one at a time, and a connection waits for one job.
 */
#ifndef SCHEDULER_SCORED_MOVERS_H
#define SCHEDULER_SCORED_MOVERS_H

#include "scheduler/scored/scored.h"

/*
 * Why the ranks can't be asked now, to be freed, and *ret_error is the name of an errno. NULL: they
 * can. @user: NULL if nobody would wait.
 */
char *movers_check(const struct user *user, const struct sjob *job, const char **ret_error);
/* The same of a job that is to be written to disk. */
char *movers_check_images(const struct user *user, const struct sjob *job, const char **ret_error);
/* Asks the job's leader; takes @head, which is without the job and the number of the request. */
void movers_ask(struct sjob *job, json_t *head);
/* @user waits from now on. NULL is fine. */
void movers_tie(struct user *user, struct sjob *job);
/* Whether that is the answer to the request that is under way. */
bool movers_is_answer(const struct sjob *job, const struct node *node, uint64_t serial);
/* The one who waits, if any, is told, and waits no more. Takes @head. */
void movers_answer(struct sjob *job, json_t *head);
void movers_refuse(struct sjob *job, const char *error, const char *text);
/* The user is no more. */
void movers_forget_user(struct user *user);

#endif
