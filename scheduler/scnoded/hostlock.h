/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hostlock - the lock that one user has of this host alone, as scored tells it: commands of others
 * have no place here meanwhile. Time is an argument: that of awake.h. Pure.
 */
#ifndef SCHEDULER_SCNODED_HOSTLOCK_H
#define SCHEDULER_SCNODED_HOSTLOCK_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#define HOSTLOCK_TEXT_MAX 512
/* without scored a lock holds for so long: a lease that nobody renews is over by then */
#define HOSTLOCK_STALE_S 60.0

/* Zeroed: there is none. */
struct hostlock {
	bool is_held;
	uid_t uid;
	char text[HOSTLOCK_TEXT_MAX]; /* "locked by ann since ...: reason" */
	double until;                 /* while scored is away; 0 = it is there */
};

/* Takes OP_HOST_LOCK. 0, or -EPROTO, and what was known stays. */
int hostlock_take(struct hostlock *lock, const json_t *head);
/* Scored is there again, and tells what there is. */
void hostlock_clear(struct hostlock *lock);
/* Scored is away. */
void hostlock_lose(struct hostlock *lock, double now);
/* Whether another user than @uid has the host alone. Root and our own user are not kept off. */
bool hostlock_keeps_off(const struct hostlock *lock, uid_t uid, double now);
/* Whether @uid has it alone. */
bool hostlock_is_of(const struct hostlock *lock, uid_t uid);

#endif
