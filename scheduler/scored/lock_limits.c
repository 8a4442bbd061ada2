// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scored/lock_limits.h"

#include <stdio.h>

#include "pmcore/util/clock.h"
#include "scheduler/scored/locks_inside.h"
#include "scheduler/scored/operators.h"

static bool is_limited(const struct lock *lock)
{
	const struct scored *d = lock->scored;

	return !operators_has(d->operators, lock->lease.uid, clock_monotonic_s());
}

void lock_limits_set(struct lock *lock, double held_s)
{
	double left_s = lock->scored->options.user_lock_s - held_s;

	if (!is_limited(lock))
		return;
	if (lock->request->lease_s > LOCK_LIMITS_LEASE_S)
		lock->request->lease_s = LOCK_LIMITS_LEASE_S;
	lock->lease.lease_s = lock->request->lease_s;
	lock->lease.lasts_s = left_s > 1 ? left_s : 1;
}

static uint32_t hosts_max(const struct scored *d)
{
	uint32_t half = 0;

	if (d->options.user_lock_hosts)
		return d->options.user_lock_hosts;
	for (size_t i = 0; i < d->n_nodes; i++)
		half += d->nodes[i]->is_listed;
	half = (half + 1) / 2;
	return half > LOCK_LIMITS_HOSTS_MIN ? half : LOCK_LIMITS_HOSTS_MIN;
}

static size_t count(const struct lease_list *list, uint32_t uid)
{
	const struct lease *lease;
	size_t n = 0;

	TAILQ_FOREACH(lease, list, entry)
		if (lease->uid == uid && lease->is_exclusive)
			n += lease->n_wanted;
	return n;
}

bool lock_limits_refuse(const struct lock *lock, char *why, size_t why_size)
{
	const struct leases *leases = &lock->scored->locks->leases;
	const struct lease *lease = &lock->lease;
	uint32_t max = hosts_max(lock->scored);
	size_t n = lease->n_wanted + count(&leases->held, lease->uid) +
		   count(&leases->waiting, lease->uid);

	if (!lease->is_exclusive || n <= max || !is_limited(lock))
		return false;
	snprintf(why, why_size,
		 "user %u has and wants %zu hosts alone, and --user-lock-hosts of scored allows "
		 "%u; lock fewer at once, or ask an operator",
		 lease->uid, n, max);
	return true;
}

bool lock_limits_explain(struct lock *lock, double now, char *why, size_t why_size)
{
	const struct lease *lease = &lock->lease;
	bool is_at_end = lease->lasts_s > 0 && now >= lease->ends;
	char hosts[300];

	locks_say_hosts(lock, hosts, sizeof(hosts));
	if (is_at_end)
		snprintf(why, why_size,
			 "lock %llu of %s has lasted %u s, as long as --user-lock-time of scored "
			 "allows: ask for it again, behind those who wait",
			 (unsigned long long)lease->id, hosts, lock->scored->options.user_lock_s);
	else
		snprintf(why, why_size,
			 "lock %llu of %s, %s's, was not renewed for %d s and is over",
			 (unsigned long long)lease->id, hosts, locks_user(lock),
			 lock->request->lease_s);
	return is_at_end;
}
