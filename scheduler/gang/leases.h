/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * leases - who has which hosts for a while: exclusive leases, which keep jobs and everybody else
 * away, and shared ones, which stand beside jobs and each other. Requests that can't be met wait in
 * a row; nobody overtakes an older one over a host that both want, so nobody starves. Hosts, jobs
 * and users are numbers, time is an argument. Pure.
 *
 * A user's shared leases stand beside his own exclusive one: what runs under his lock uses its
 * hosts.
 *
 *   leases_add(), then leases_next() until it returns NULL; again after each leases_remove() and
 *   whenever a job has ended.
 */
#ifndef SCHEDULER_GANG_LEASES_H
#define SCHEDULER_GANG_LEASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

struct lease {
	TAILQ_ENTRY(lease) entry;
	uint64_t id; /* who came first has the lower one; jobs are numbered with them */
	uint32_t uid;
	bool is_exclusive;
	bool is_forced;   /* takes from others what it wants; jobs alone it waits for */
	bool may_scatter; /* its hosts need not be neighbours in the list */
	bool is_held;     /* else it waits */
	/* each once; waiting: the candidates, held: what it has. Borrowed, and cut to n_wanted */
	uint32_t *hosts;
	size_t n_hosts;
	size_t n_wanted; /* 1 to n_hosts; fewer: any, as far as leases.is_usable agrees */
	double lease_s;
	double lasts_s; /* however often it is renewed; 0 = as long as that */
	double expires; /* held: unless it is renewed */
	double ends;    /* held, with lasts_s: then at the latest */
	void *owner;    /* of the caller */
};
TAILQ_HEAD(lease_list, lease);

/* The leases of a host: its holders, and the oldest requests for it. */
struct lease_host {
	struct lease *exclusive;        /* the lease that has it alone */
	uint32_t n_shared;              /* leases that have it beside others */
	struct lease *wanted;           /* the oldest request for it, */
	struct lease *wanted_exclusive; /* of those that want it alone */
};

/* Zeroed but for the callbacks, and leases_init(). */
struct leases {
	struct lease_list held, waiting; /* both by id */
	struct lease_host *hosts;        /* by number; owned */
	size_t n_hosts;
	bool (*has_job)(void *arg, uint32_t host);
	bool (*is_usable)(void *arg, uint32_t host); /* may be given to a lease that wants any */
	void *arg;
};

void leases_init(struct leases *leases);
void leases_fini(struct leases *leases);

/* It waits. 0 or -ENOMEM. */
int leases_add(struct leases *leases, struct lease *lease);
/* It is held, as it was before a restart. 0 or -ENOMEM. */
int leases_restore(struct leases *leases, struct lease *lease, double now);
/*
 * The oldest waiting one whose hosts can be had is held now; NULL: none. From whom a forced one
 * took a host is no longer held, and stands in @losers: the caller's.
 */
struct lease *leases_next(struct leases *leases, double now, struct lease_list *losers);
/* Given back, or no longer wanted. */
void leases_remove(struct leases *leases, struct lease *lease);
void leases_renew(struct lease *lease, double now);
/* A held one whose time is over; NULL: none. */
struct lease *leases_expired(const struct leases *leases, double now);

/* NULL: neither held nor waiting. */
struct lease *leases_find(const struct leases *leases, uint64_t id);
/* Counted from 0. */
size_t leases_position(const struct leases *leases, const struct lease *lease);
/*
 * The lease that keeps a job of that number off the host: it has the host alone, or is an older
 * request for that. NULL: none.
 */
struct lease *leases_keep_off(const struct leases *leases, uint32_t host, uint64_t job);
/*
 * The lease that blocks a waiting one on a host: a holder or an older request. NULL: none, or only
 * a job does.
 */
struct lease *leases_in_way(const struct leases *leases, const struct lease *lease, uint32_t host);

#endif
