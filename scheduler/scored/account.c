// SPDX-License-Identifier: BSD-3-Clause
/*
 * The daemon's own user and root are not limited: they could end it as well.
 */
#include "scheduler/scored/account.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scheduler/proto/files.h"
#include "scheduler/scored/share.h"
#include "scheduler/scored/users_connection.h"

#define TEXT_COST 32 /* of a text beside its bytes: the pointer to it, and the allocator's */
#define MIB (1u << 20)

bool account_is_limited(const struct account *a)
{
	return a->uid && a->uid != geteuid();
}

static void rested(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct account *a = timer->data;

	(void)loop;
	(void)events;
	a->is_resting = false;
	users_rest(a);
}

struct account *account_of(struct scored *d, uid_t uid)
{
	struct account *a;

	LIST_FOREACH(a, &d->accounts, all)
		if (a->uid == uid)
			return a;
	a = calloc(1, sizeof(*a));
	if (!a)
		return NULL;
	a->scored = d;
	a->uid = uid;
	a->bytes.max = account_is_limited(a) ? d->options.user_memory : SIZE_MAX;
	ev_timer_init(&a->rest, rested, 0, 0);
	a->rest.data = a;
	LIST_INSERT_HEAD(&d->accounts, a, all);
	return a;
}

void account_settle(struct account *a)
{
	if (a->links || a->jobs || a->locks)
		return;
	ev_timer_stop(a->scored->loop, &a->rest);
	LIST_REMOVE(a, all);
	free(a);
}

static size_t count_links(const struct scored *d)
{
	const struct account *a;
	size_t n = 0;

	LIST_FOREACH(a, &d->accounts, all)
		n += account_is_limited(a) ? a->links : 0;
	return n;
}

bool account_is_crowded(const struct account *a)
{
	const struct scored_options *o = &a->scored->options;

	return account_is_limited(a) && o->all_links && count_links(a->scored) >= o->all_links;
}

bool account_has_links(const struct account *a, char *why, size_t why_size)
{
	const struct scored_options *o = &a->scored->options;

	if (!account_is_limited(a))
		return false;
	if (account_is_crowded(a)) {
		files_say(EMFILE);
		snprintf(why, why_size,
			 "users have %u connections to scored, as many as its limit of open files "
			 "allows; "
			 "try again when some have ended, or have that limit raised (LimitNOFILE= "
			 "of scored)",
			 o->all_links);
		return true;
	}
	if (a->links < o->user_links)
		return false;
	snprintf(why, why_size,
		 "user %u has %u connections to scored already, as many as --user-connections of "
		 "scored "
		 "allows; "
		 "end some of your scruns",
		 a->uid, o->user_links);
	return true;
}

bool account_shares_places(const struct account *a)
{
	size_t places = a->scored->options.all_links;

	/* Jobs that leave half of the places to others are never too many: share.h. */
	return account_is_limited(a) && places && count_links(a->scored) > places / 2;
}

bool account_takes_share(const struct account *a, size_t own, size_t all, char *why,
			 size_t why_size)
{
	uint32_t places = a->scored->options.all_links;

	if (share_allows(places, own, all))
		return false;
	files_say(EMFILE);
	snprintf(why, why_size,
		 "jobs hold %zu of the %u connections that scored has for users, %zu of them jobs "
		 "of user %u, and some have to be left to others; submit when jobs have ended, or "
		 "have scored's limit of open files raised (LimitNOFILE= in its unit)",
		 all, places, own, a->uid);
	return true;
}

void account_explain(const struct account *a, int error, char *why, size_t why_size)
{
	if (error == EMSGSIZE)
		snprintf(why, why_size,
			 "a request of more than %u KiB: arguments and environment of a job may "
			 "not be "
			 "larger; "
			 "hand over less, in files for instance",
			 ACCOUNT_FRAME_MAX >> 10);
	else if (error == E2BIG)
		snprintf(why, why_size,
			 "a request of more than %u values: a job may not have more arguments and "
			 "variables; "
			 "hand over less, in files for instance",
			 ACCOUNT_VALUES_MAX);
	else
		snprintf(
			why, why_size,
			"jobs, locks and requests of user %u take %zu MiB of scored's memory, of "
			"%zu that "
			"--user-memory of scored allows; submit more when some have ended, or with "
			"less "
			"arguments and environment",
			a->uid, a->bytes.used / MIB, a->bytes.max / MIB);
}

static bool lacks_room(const struct account *a, size_t bytes, char *why, size_t why_size)
{
	if (a->bytes.used + bytes <= a->bytes.max)
		return false;
	account_explain(a, EDQUOT, why, why_size);
	return true;
}

static bool has_jobs(const struct account *a, size_t bytes, char *why, size_t why_size)
{
	const struct scored_options *o = &a->scored->options;

	if (!account_is_limited(a))
		return false;
	if (a->waiting >= o->user_jobs) {
		snprintf(why, why_size,
			 "user %u has %u jobs waiting, as many as --user-jobs of scored allows; "
			 "submit "
			 "more when some have started, or take some out with scancel",
			 a->uid, o->user_jobs);
		return true;
	}
	return lacks_room(a, bytes, why, why_size);
}

static size_t size_of(char *const *texts)
{
	size_t size = sizeof(*texts);

	for (; texts && *texts; texts++)
		size += strlen(*texts) + TEXT_COST;
	return size;
}

size_t account_size(const struct job *job)
{
	size_t size = sizeof(*job) + sizeof(struct sjob) + size_of(job->env) + strlen(job->name) +
		      strlen(job->cwd) + job->n_limits * sizeof(*job->limits);

	for (size_t i = 0; i < job->n_apps; i++)
		size += sizeof(*job->apps) + size_of(job->apps[i].argv) + size_of(job->apps[i].env);
	return size;
}

void account_charge(struct scored *d, struct sjob *job)
{
	job->account = account_of(d, job->uid);
	if (!job->account)
		return;
	job->bytes = account_size(job->job);
	job->account->bytes.used += job->bytes;
	job->account->jobs++;
	job->account->waiting++;
}

void account_unqueue(struct sjob *job)
{
	if (job->account)
		job->account->waiting--;
}

void account_discharge(struct sjob *job)
{
	if (!job->account)
		return;
	job->account->bytes.used -= job->bytes;
	job->account->jobs--;
	account_settle(job->account);
}

bool account_refuses(struct scored *d, uid_t uid, const struct job *job, char *why, size_t why_size)
{
	struct account *a = account_of(d, uid);
	bool is_refused;

	if (!a) {
		snprintf(why, why_size, "scored has no memory");
		return true;
	}
	is_refused = has_jobs(a, account_size(job), why, why_size);
	account_settle(a);
	return is_refused;
}

bool account_refuses_lock(const struct account *a, size_t bytes, char *why, size_t why_size)
{
	const struct scored_options *o = &a->scored->options;

	if (!account_is_limited(a))
		return false;
	if (a->locks >= o->user_jobs) {
		snprintf(why, why_size,
			 "user %u has or waits for %u locks, as many as --user-jobs of scored "
			 "allows; give some back",
			 a->uid, o->user_jobs);
		return true;
	}
	return lacks_room(a, bytes, why, why_size);
}

void account_charge_lock(struct account *a, size_t bytes)
{
	a->locks++;
	a->bytes.used += bytes;
}

void account_discharge_lock(struct account *a, size_t bytes)
{
	a->locks--;
	a->bytes.used -= bytes;
	account_settle(a);
}

void account_spend(struct account *a, uint64_t ns)
{
	struct ev_loop *loop = a->scored->loop;

	if (a->turn != ev_now(loop))
		a->spent_ns = 0;
	a->turn = ev_now(loop);
	a->spent_ns += ns;
	if (!account_is_limited(a) || a->is_resting || a->spent_ns < ACCOUNT_TURN_NS)
		return;
	a->is_resting = true;
	/* As long as it has had: half of the loop is others', however much it asks. */
	ev_now_update(loop);
	ev_timer_set(&a->rest, (double)a->spent_ns / 1e9, 0);
	ev_timer_start(loop, &a->rest);
	users_rest(a);
}
