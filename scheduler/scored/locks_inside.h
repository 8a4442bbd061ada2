/* SPDX-License-Identifier: BSD-3-Clause */
/* locks_inside - what locks.c has, and locks_words.c tells of it. */
#ifndef SCHEDULER_SCORED_LOCKS_INSIDE_H
#define SCHEDULER_SCORED_LOCKS_INSIDE_H

#include "scheduler/gang/leases.h"
#include "scheduler/proto/lock_request.h"
#include "scheduler/scored/locks.h"

struct lock {
	struct lease lease; /* its owner is this */
	struct scored *scored;
	struct lock_request *request;
	struct account *account;
	size_t bytes;        /* charged */
	int64_t since;       /* seconds since the epoch: held, or waits */
	char *user;          /* its name, looked up when it is told first */
	struct link *link;   /* waiting: who is told */
	struct lock **waits; /* waiting: where the connection has it */
	json_t *told;        /* waiting: what was told last */
};

struct locks {
	struct leases leases;
	uint64_t looked; /* scored.plan_epoch then */
};

/* Its user's name, looked up at first. */
const char *locks_user(struct lock *lock);
/* OP_WAITING of one that waits. */
json_t *locks_tell_waiting(const struct lock *lock);
/* Why it can't be had now, as one sentence. */
void locks_explain(const struct lock *lock, char *to, size_t size);
/* Its hosts: "n3 and 4 more". */
void locks_say_hosts(const struct lock *lock, char *to, size_t size);
/* OP_LOCKS. */
json_t *locks_tell_all(const struct scored *d);

#endif
