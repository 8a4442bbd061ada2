/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * users_connection - a user's connection to scored: what is told over it, and when requests are
 * read from it. Does not know what is requested.
 */
#ifndef SCHEDULER_SCORED_USERS_CONNECTION_H
#define SCHEDULER_SCORED_USERS_CONNECTION_H

#include <jansson.h>

#include "scheduler/scored/scored.h"

/* One connection. */
struct user {
	LIST_ENTRY(user) all;
	struct scored *scored;
	struct link *link;
	struct account *account;
	bool is_behind;             /* does not read our answers */
	struct sjob *job;           /* what it has submitted and waits for */
	struct lock *waits;         /* for this lock; NULL: for none */
	struct sjob *moves;         /* it waits until its ranks have stood still; NULL: for none */
	LIST_ENTRY(user) following; /* if it is told the activity: */
	uint32_t ticks,
		ticks_left; /* of activity.h: between two reports, 0 = never; until the next */
};

/* Takes the reference. */
void users_say(const struct user *user, json_t *head);
/* Reads requests only of a user who reads the answers, and while it is his turn. */
void users_watch(const struct user *user);
/* Requests of that account wait, or wait no more. */
void users_rest(const struct account *account);

/* To the scrun that waits for the job. */
void users_tell_queued(struct scored *d, struct user *user, const struct sjob *job);
void users_tell_placed(struct user *user, const struct sjob *job);
void users_tell_ended(struct user *user, const struct sjob *job);
/* The job is no more. */
void users_forget_job(struct user *user);

#endif
