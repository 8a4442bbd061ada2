// SPDX-License-Identifier: BSD-3-Clause
/* Messages about locks: to clients that wait, to clients that are refused, to all. */
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pmcore/util/clock.h"
#include "scheduler/proto/ops.h"
#include "scheduler/scored/locks_inside.h"
#include "scheduler/scored/nodes.h"

#define REASONS_MAX 8 /* of one answer: sentences about who is in the way */
#define REASON_SIZE 512

static const char *host_name(const struct scored *d, uint32_t host)
{
	return d->nodes[host]->name;
}

/* Once for each lock: it may take long where users are in a directory service. */
const char *locks_user(struct lock *lock)
{
	const struct passwd *who = lock->user ? NULL : getpwuid(lock->lease.uid);

	if (!lock->user)
		lock->user = who ? daemon_text("%s", who->pw_name)
				 : daemon_text("user %u", lock->lease.uid);
	return lock->user;
}

void locks_say(struct lock *lock, char *to, size_t size)
{
	const char *reason = lock->request->reason;
	time_t since = (time_t)lock->since;
	struct tm parts;
	char when[32] = "?";

	if (localtime_r(&since, &parts))
		strftime(when, sizeof(when), "%F %H:%M", &parts);
	snprintf(to, size, "%s by %s since %s%s%s", lock->lease.is_held ? "locked" : "wanted",
		 locks_user(lock), when, *reason ? ": " : "", reason);
}

static void say_hosts(const char *first, size_t n, char *to, size_t size)
{
	if (n > 1)
		snprintf(to, size, "%s and %zu more", first, n - 1);
	else
		snprintf(to, size, "%s", first);
}

void locks_say_hosts(const struct lock *lock, char *to, size_t size)
{
	say_hosts(host_name(lock->scored, lock->lease.hosts[0]), lock->lease.n_hosts, to, size);
}

/* ---- who is in the way ---- */

/*
 * On some of the hosts that a lock wants: another lock, a job, or neither: they may not be given to
 * who wants any.
 */
struct reason {
	struct lock *lock;
	uint64_t job;
	uid_t uid;      /* of the job */
	uint32_t first; /* host */
	size_t n;       /* hosts */
};

static const struct sjob *job_on(const struct scored *d, const struct node *node)
{
	const struct sjob *job;

	TAILQ_FOREACH(job, &d->placed, placed)
		for (size_t h = 0; h < job->n_hosts; h++)
			if (job->hosts[h].node == node && !job->hosts[h].is_gone)
				return job;
	return NULL;
}

/* False: the host can be had. */
static bool reason_on(const struct lock *lock, uint32_t host, struct reason *ret)
{
	const struct scored *d = lock->scored;
	const struct leases *leases = &d->locks->leases;
	const struct lease *lease = &lock->lease, *other = leases_in_way(leases, lease, host);
	const struct sjob *job = NULL;

	if (lease->is_exclusive && d->nodes[host]->n_jobs)
		job = job_on(d, d->nodes[host]);
	*ret = (struct reason){.first = host, .n = 1};
	if (other && !(lease->is_forced && job))
		ret->lock = other->owner;
	else if (job) {
		ret->job = job->id;
		ret->uid = job->uid;
	}
	return ret->lock || ret->job ||
	       (lease->n_wanted < lease->n_hosts && !leases->is_usable(leases->arg, host));
}

/* One for each who is in the way, as many as there is room for; returns how many. */
static size_t find_reasons(const struct lock *lock, struct reason *reasons)
{
	struct reason one;
	size_t n = 0, i;

	for (size_t h = 0; h < lock->lease.n_hosts; h++) {
		if (!reason_on(lock, lock->lease.hosts[h], &one))
			continue;
		for (i = 0; i < n; i++)
			if (reasons[i].lock == one.lock && reasons[i].job == one.job)
				break;
		if (i < n)
			reasons[i].n++;
		else if (n < REASONS_MAX)
			reasons[n++] = one;
	}
	return n;
}

static void say_reason(const struct scored *d, const struct reason *reason, char *to, size_t size)
{
	char hosts[300], lock[400];
	const char *have = reason->n > 1 ? "have" : "has", *are = reason->n > 1 ? "are" : "is";

	say_hosts(host_name(d, reason->first), reason->n, hosts, sizeof(hosts));
	if (reason->lock) {
		locks_say(reason->lock, lock, sizeof(lock));
		snprintf(to, size, "%s %s %s", hosts, are, lock);
	} else if (reason->job) {
		snprintf(to, size, "%s %s job %llu of user %u", hosts, have,
			 (unsigned long long)reason->job, reason->uid);
	} else {
		snprintf(to, size, "%s %s down or takes no jobs", hosts, are);
	}
}

json_t *locks_tell_waiting(const struct lock *lock)
{
	struct reason reasons[REASONS_MAX];
	size_t n = find_reasons(lock, reasons);
	json_t *holders = json_array();
	char text[REASON_SIZE];

	for (size_t i = 0; i < n; i++) {
		say_reason(lock->scored, &reasons[i], text, sizeof(text));
		json_array_append_new(holders, json_string(text));
	}
	return json_pack("{s:s, s:I, s:o}", "op", OP_WAITING, "position",
			 (json_int_t)leases_position(&lock->scored->locks->leases, &lock->lease),
			 "holders", holders);
}

void locks_explain(const struct lock *lock, char *to, size_t size)
{
	struct reason reasons[REASONS_MAX];
	size_t n = find_reasons(lock, reasons), used = 0;
	const struct lease *lease = &lock->lease;
	char text[REASON_SIZE];

	if (lease->n_wanted < lease->n_hosts)
		used = (size_t)snprintf(to, size, "%zu of %zu hosts%s are not free; ",
					lease->n_wanted, lease->n_hosts,
					lease->may_scatter ? "" : " side by side");
	for (size_t i = 0; i < n && used < size; i++) {
		say_reason(lock->scored, &reasons[i], text, sizeof(text));
		used += (size_t)snprintf(to + used, size - used, "%s; ", text);
	}
	if (used < size)
		snprintf(to + used, size - used, "msgb shows all locks");
}

/* ---- all ---- */

static json_t *names_of(const struct scored *d, const struct lease *lease)
{
	json_t *names = json_array();

	for (size_t i = 0; i < lease->n_hosts; i++)
		json_array_append_new(names, json_string(host_name(d, lease->hosts[i])));
	return names;
}

static json_t *entry_of(const struct scored *d, const struct lease *lease)
{
	const struct lock *lock = lease->owner;

	return json_pack("{s:I, s:o, s:s, s:s, s:s, s:I}", "uid", (json_int_t)lease->uid, "hosts",
			 names_of(d, lease), "mode", lease->is_exclusive ? "exclusive" : "shared",
			 "reason", lock->request->reason, "place", lock->request->place, "since",
			 (json_int_t)lock->since);
}

static json_t *all_held(const struct scored *d)
{
	double now = awake_now(&d->awake, clock_monotonic_ns());
	const struct lease *lease;
	json_t *held = json_array();

	TAILQ_FOREACH(lease, &d->locks->leases.held, entry) {
		json_t *entry = entry_of(d, lease);
		double left = lease->expires - now;

		json_object_set_new(entry, "id", json_integer((json_int_t)lease->id));
		json_object_set_new(entry, "left_s", json_integer(left > 0 ? (json_int_t)left : 0));
		json_array_append_new(held, entry);
	}
	return held;
}

static json_t *all_waiting(const struct scored *d)
{
	const struct lease *lease;
	json_t *waiting = json_array();
	json_int_t position = 0;

	TAILQ_FOREACH(lease, &d->locks->leases.waiting, entry) {
		json_t *entry = entry_of(d, lease);

		json_object_set_new(entry, "position", json_integer(position++));
		json_object_set_new(entry, "count", json_integer((json_int_t)lease->n_wanted));
		json_array_append_new(waiting, entry);
	}
	return waiting;
}

static json_t *all_jobs(const struct scored *d)
{
	const struct sjob *job;
	json_t *jobs = json_array();

	TAILQ_FOREACH(job, &d->placed, placed) {
		json_t *hosts = json_array();

		for (size_t h = 0; h < job->n_hosts; h++)
			if (!job->hosts[h].is_gone)
				json_array_append_new(hosts, json_string(job->hosts[h].node->name));
		json_array_append_new(jobs, json_pack("{s:I, s:I, s:o}", "id", (json_int_t)job->id,
						      "uid", (json_int_t)job->uid, "hosts", hosts));
	}
	return jobs;
}

json_t *locks_tell_all(const struct scored *d)
{
	return json_pack("{s:s, s:o, s:o, s:o, s:I}", "op", OP_LOCKS, "locks", all_held(d),
			 "waiting", all_waiting(d), "jobs", all_jobs(d), "now_ns",
			 (json_int_t)clock_realtime_ns());
}

json_t *locks_of_node(const struct scored *d, const struct node *node)
{
	const struct leases *leases = d->locks ? &d->locks->leases : NULL;
	const struct lease *lease = leases && node->number < leases->n_hosts
					    ? leases->hosts[node->number].exclusive
					    : NULL;
	const struct lock *lock = lease ? lease->owner : NULL;

	return lock ? json_pack("{s:I, s:I, s:s, s:I}", "id", (json_int_t)lease->id, "uid",
				(json_int_t)lease->uid, "reason", lock->request->reason, "since",
				(json_int_t)lock->since)
		    : NULL;
}
