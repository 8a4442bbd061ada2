// SPDX-License-Identifier: BSD-3-Clause
/*
 * The lists say who has and wants what; the array of hosts is an index of them, so that a job's
 * placement looks once.
 */
#include "scheduler/gang/leases.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

void leases_init(struct leases *l)
{
	TAILQ_INIT(&l->held);
	TAILQ_INIT(&l->waiting);
}

void leases_fini(struct leases *l)
{
	free(l->hosts);
	l->hosts = NULL;
	l->n_hosts = 0;
}

/* ---- the index ---- */

static int know_hosts(struct leases *l, const struct lease *lease)
{
	struct lease_host *hosts;
	size_t n = l->n_hosts;

	for (size_t i = 0; i < lease->n_hosts; i++)
		n = lease->hosts[i] >= n ? lease->hosts[i] + 1 : n;
	if (n == l->n_hosts)
		return 0;
	hosts = realloc(l->hosts, n * sizeof(*hosts));
	if (!hosts)
		return -ENOMEM;
	memset(hosts + l->n_hosts, 0, (n - l->n_hosts) * sizeof(*hosts));
	l->hosts = hosts;
	l->n_hosts = n;
	return 0;
}

/* The list is in order of age: who stands there already is older. */
static void note_wanted(struct leases *l, struct lease *lease)
{
	for (size_t i = 0; i < lease->n_hosts; i++) {
		struct lease_host *host = &l->hosts[lease->hosts[i]];

		if (!host->wanted)
			host->wanted = lease;
		if (!host->wanted_exclusive && lease->is_exclusive)
			host->wanted_exclusive = lease;
	}
}

static void note_all_wanted(struct leases *l)
{
	struct lease *lease;

	for (size_t h = 0; h < l->n_hosts; h++)
		l->hosts[h].wanted = l->hosts[h].wanted_exclusive = NULL;
	TAILQ_FOREACH(lease, &l->waiting, entry)
		note_wanted(l, lease);
}

static void note_held(struct leases *l, struct lease *lease, bool is_held)
{
	for (size_t i = 0; i < lease->n_hosts; i++) {
		struct lease_host *host = &l->hosts[lease->hosts[i]];

		if (lease->is_exclusive)
			host->exclusive = is_held ? lease : NULL;
		else
			host->n_shared += is_held ? 1u : (uint32_t)-1;
	}
}

static void insert(struct lease_list *list, struct lease *lease)
{
	struct lease *after = TAILQ_LAST(list, lease_list);

	while (after && after->id > lease->id)
		after = TAILQ_PREV(after, lease_list, entry);
	if (after)
		TAILQ_INSERT_AFTER(list, after, lease, entry);
	else
		TAILQ_INSERT_HEAD(list, lease, entry);
}

/* ---- who may have what ---- */

static bool is_own(const struct lease_host *host, const struct lease *lease)
{
	return !lease->is_exclusive && host->exclusive && host->exclusive->uid == lease->uid;
}

/*
 * A lease that holds the host and excludes @lease, or NULL. The list is searched for a shared one.
 */
static struct lease *holder_in_way(const struct leases *l, const struct lease *lease, uint32_t h)
{
	const struct lease_host *host = &l->hosts[h];
	struct lease *other;

	if (host->exclusive)
		return is_own(host, lease) ? NULL : host->exclusive;
	if (!lease->is_exclusive || !host->n_shared)
		return NULL;
	TAILQ_FOREACH(other, &l->held, entry)
		for (size_t i = 0; i < other->n_hosts; i++)
			if (other->hosts[i] == h)
				return other;
	return NULL;
}

static struct lease *elder_in_way(const struct leases *l, const struct lease *lease, uint32_t h)
{
	const struct lease_host *host = &l->hosts[h];
	struct lease *elder = lease->is_exclusive ? host->wanted : host->wanted_exclusive;

	return elder && elder->id < lease->id && !is_own(host, lease) ? elder : NULL;
}

struct lease *leases_in_way(const struct leases *l, const struct lease *lease, uint32_t h)
{
	struct lease *other = holder_in_way(l, lease, h);

	return other ? other : elder_in_way(l, lease, h);
}

static bool is_free(const struct leases *l, const struct lease *lease, uint32_t h, bool by_force)
{
	const struct lease_host *host = &l->hosts[h];

	if (lease->n_wanted < lease->n_hosts && !l->is_usable(l->arg, h))
		return false;
	if (lease->is_exclusive && l->has_job(l->arg, h))
		return false;
	if (by_force)
		return true;
	if (host->exclusive ? !is_own(host, lease) : lease->is_exclusive && host->n_shared)
		return false;
	return !elder_in_way(l, lease, h);
}

/*
 * Moves the hosts that it can have to the front of its list, in their order; else the list is as it
 * was.
 */
static bool choose(const struct leases *l, struct lease *lease, bool by_force)
{
	size_t found = 0, first = 0;

	for (size_t i = 0; i < lease->n_hosts && found < lease->n_wanted; i++) {
		if (is_free(l, lease, lease->hosts[i], by_force)) {
			first = found++ ? first : i;
			continue;
		}
		if (!lease->may_scatter)
			found = 0;
	}
	if (found < lease->n_wanted)
		return false;
	for (size_t i = first, at = 0; at < lease->n_wanted; i++)
		if (is_free(l, lease, lease->hosts[i], by_force)) {
			uint32_t host = lease->hosts[i];

			lease->hosts[i] = lease->hosts[at];
			lease->hosts[at++] = host;
		}
	return true;
}

static void take_from_others(struct leases *l, const struct lease *lease, struct lease_list *losers)
{
	for (size_t i = 0; i < lease->n_hosts; i++) {
		struct lease *loser;

		while ((loser = holder_in_way(l, lease, lease->hosts[i]))) {
			leases_remove(l, loser);
			loser->is_held = false;
			TAILQ_INSERT_TAIL(losers, loser, entry);
		}
	}
}

void leases_renew(struct lease *lease, double now)
{
	lease->expires = now + lease->lease_s;
	if (lease->lasts_s > 0 && lease->expires > lease->ends)
		lease->expires = lease->ends;
}

static void hold(struct leases *l, struct lease *lease, double now)
{
	lease->is_held = true;
	lease->ends = now + lease->lasts_s;
	leases_renew(lease, now);
	insert(&l->held, lease);
	note_held(l, lease, true);
}

/* ---- what happens ---- */

int leases_add(struct leases *l, struct lease *lease)
{
	assert(lease->n_wanted && lease->n_wanted <= lease->n_hosts);
	if (know_hosts(l, lease))
		return -ENOMEM;
	lease->is_held = false;
	insert(&l->waiting, lease);
	note_all_wanted(l);
	return 0;
}

int leases_restore(struct leases *l, struct lease *lease, double now)
{
	if (know_hosts(l, lease))
		return -ENOMEM;
	hold(l, lease, now);
	return 0;
}

struct lease *leases_next(struct leases *l, double now, struct lease_list *losers)
{
	struct lease *lease;

	TAILQ_FOREACH(lease, &l->waiting, entry)
		if (choose(l, lease, false) || (lease->is_forced && choose(l, lease, true)))
			break;
	if (!lease)
		return NULL;
	TAILQ_REMOVE(&l->waiting, lease, entry);
	lease->n_hosts = lease->n_wanted;
	note_all_wanted(l);
	take_from_others(l, lease, losers);
	hold(l, lease, now);
	return lease;
}

void leases_remove(struct leases *l, struct lease *lease)
{
	if (lease->is_held) {
		TAILQ_REMOVE(&l->held, lease, entry);
		note_held(l, lease, false);
		return;
	}
	TAILQ_REMOVE(&l->waiting, lease, entry);
	note_all_wanted(l);
}

struct lease *leases_expired(const struct leases *l, double now)
{
	struct lease *lease;

	TAILQ_FOREACH(lease, &l->held, entry)
		if (now >= lease->expires)
			break;
	return lease;
}

/* ---- what others ask ---- */

struct lease *leases_find(const struct leases *l, uint64_t id)
{
	struct lease *lease;

	TAILQ_FOREACH(lease, &l->held, entry)
		if (lease->id == id)
			return lease;
	TAILQ_FOREACH(lease, &l->waiting, entry)
		if (lease->id == id)
			return lease;
	return NULL;
}

size_t leases_position(const struct leases *l, const struct lease *lease)
{
	const struct lease *other;
	size_t position = 0;

	TAILQ_FOREACH(other, &l->waiting, entry)
		position += other->id < lease->id;
	return position;
}

struct lease *leases_keep_off(const struct leases *l, uint32_t h, uint64_t job)
{
	const struct lease_host *host = h < l->n_hosts ? &l->hosts[h] : NULL;

	if (!host)
		return NULL;
	if (host->exclusive)
		return host->exclusive;
	return host->wanted_exclusive && host->wanted_exclusive->id < job ? host->wanted_exclusive
									  : NULL;
}
