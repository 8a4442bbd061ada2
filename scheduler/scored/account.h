/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * account - what one user costs scored: connections, jobs that wait, locks, bytes, and time of the
 * loop. Knows the limits, and nothing of what was asked for.
 */
#ifndef SCHEDULER_SCORED_ACCOUNT_H
#define SCHEDULER_SCORED_ACCOUNT_H

#include "scheduler/scored/scored.h"

/*
 * Bytes of a request: as many arguments and variables as execve() takes with the usual stack of 8
 * MiB, and some.
 */
#define ACCOUNT_FRAME_MAX (9u << 18)
#define ACCOUNT_VALUES_MAX 65536   /* values of a request: each costs as much as many bytes */
#define ACCOUNT_TURN_NS 5000000ull /* of the loop, then the others come first */

struct account {
	LIST_ENTRY(account) all;
	struct scored *scored;
	uid_t uid;
	size_t links, waiting, jobs, locks;
	size_t yielding;         /* of its links, as users.c counts them for another one */
	size_t followers;        /* of its links: they are told the activity */
	struct link_quota bytes; /* of its connections' buffers and its jobs */
	double turn;             /* ev_now() of the loop's round in which it spent: */
	uint64_t spent_ns;
	bool is_resting; /* its requests wait for so long */
	ev_timer rest;
};

/* That of a user, made if he has none. NULL: no memory. */
struct account *account_of(struct scored *d, uid_t uid);
bool account_is_limited(const struct account *account);
/* It goes if nothing is left of its user. */
void account_settle(struct account *account);

/*
 * Whether all users together have as many connections as scored has descriptors for, so that one
 * more of this one takes another's place.
 */
bool account_is_crowded(const struct account *account);
/* Whether one more connection is too many; then @why names the limit and what helps. */
bool account_has_links(const struct account *account, char *why, size_t why_size);
/*
 * Whether users have so many connections that those of their jobs have to be counted, before one
 * more job of this one is taken.
 */
bool account_shares_places(const struct account *account);
/*
 * Whether one more job is too many, where @own of the @all connections of users' jobs are this
 * user's; then @why names the limit and what helps.
 */
bool account_takes_share(const struct account *account, size_t own, size_t all, char *why,
			 size_t why_size);
/* Whether a job that @uid wants to submit is too much; then @why names the limit and what helps. */
bool account_refuses(struct scored *d, uid_t uid, const struct job *job, char *why,
		     size_t why_size);
/* A job of its user waits, waits no more, is forgotten. */
void account_charge(struct scored *d, struct sjob *job);
void account_unqueue(struct sjob *job);
void account_discharge(struct sjob *job);
/*
 * A lock of its user of about so many bytes: whether it is too much; it is charged, and is no more.
 */
bool account_refuses_lock(const struct account *account, size_t bytes, char *why, size_t why_size);
void account_charge_lock(struct account *account, size_t bytes);
void account_discharge_lock(struct account *account, size_t bytes);
/* Why link_limit() has stopped a request of it: errno, as refused() tells. */
void account_explain(const struct account *account, int error, char *why, size_t why_size);

/* About as many bytes as a job takes. */
size_t account_size(const struct job *job);
/* A request took so long. users_rest() hears when the account begins and ends to rest. */
void account_spend(struct account *account, uint64_t ns);

#endif
