/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * locks - the leases of hosts that users have and wait for (gang/leases.h): who may take, renew and
 * give back which, kept in the journal. Tells waiting connections what becomes of them, and
 * placement where no job may start.
 */
#ifndef SCHEDULER_SCORED_LOCKS_H
#define SCHEDULER_SCORED_LOCKS_H

#include <jansson.h>

#include "scheduler/scored/scored.h"

struct lock;

/* Takes in what the journal has, each with its whole time again. 0 or -errno with a sentence. */
int locks_open(struct scored *d, char *why, size_t why_size);
/* Forgets all; the journal has them. */
void locks_close(struct scored *d);

/*
 * A request of a connection, answered over it; false: @op is none of ours. Its lock that waits is
 * in *@waits, which stays where it is until locks_forget().
 */
bool locks_request(struct scored *d, struct link *link, struct lock **waits, const char *op,
		   const json_t *head);
/* The connection of a waiting one is gone. */
void locks_forget(struct lock *lock);
/* Hosts may have become free; jobs_plan() has it called before the loop sleeps. */
void locks_look(struct scored *d);
/* Ends the locks that were not renewed. Called every beat. */
void locks_beat(struct scored *d);

/* The lock that keeps a job of that number off a host; NULL: none. */
struct lock *locks_keep_off(const struct scored *d, const struct node *node, uint64_t job);
/* "locked by ann since 2026-11-23 12:03: disks", or "wanted by ..." of one that waits. */
void locks_say(struct lock *lock, char *to, size_t size);
/* The lock that has the host alone, {id, uid, reason, since}, for reports; NULL: none. */
json_t *locks_of_node(const struct scored *d, const struct node *node);

#endif
