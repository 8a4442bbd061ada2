// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scored/users.h"

#include <errno.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pmcore/util/clock.h"
#include "scheduler/proto/files.h"
#include "scheduler/proto/head.h"
#include "scheduler/proto/messages_check.h"
#include "scheduler/proto/ops.h"
#include "scheduler/scored/account.h"
#include "scheduler/scored/activity.h"
#include "scheduler/scored/ask.h"
#include "scheduler/scored/jobs.h"
#include "scheduler/scored/jobs_list.h"
#include "scheduler/scored/locks.h"
#include "scheduler/scored/checkpoint.h"
#include "scheduler/scored/migrate.h"
#include "scheduler/scored/movers.h"
#include "scheduler/scored/restart.h"
#include "scheduler/scored/network.h"
#include "scheduler/scored/nodes.h"
#include "scheduler/scored/operators.h"
#include "scheduler/scored/report.h"
#include "scheduler/scored/users_connection.h"

#define GOODBYE_S 1.0 /* for who is shown out to read why */

static void refuse(const struct user *user, const char *error, const char *text)
{
	users_say(user, json_pack("{s:s, s:s, s:s}", "op", OP_ERROR, "error", error, "text", text));
}

/* Takes @text. */
static void refuse_taking(const struct user *user, const char *error, char *text)
{
	refuse(user, error, text);
	free(text);
}

static void spend(const struct user *user)
{
	account_spend(user->account, clock_monotonic_ns() - link_begun_ns(user->link));
}

static bool is_operator(const struct user *user)
{
	struct scored *d = user->scored;

	return operators_has(d->operators, link_uid(user->link), clock_monotonic_s());
}

static bool may_command(const struct user *user, const struct sjob *job)
{
	return link_uid(user->link) == job->uid || is_operator(user);
}

/*
 * The job of field "id". Jobs of others are refused with the same words as those that do not exist.
 */
static struct sjob *job_of(const struct user *user, const json_t *head)
{
	json_int_t id = json_integer_value(json_object_get(head, "id"));
	struct sjob *job = jobs_find(user->scored, (uint64_t)id);

	if (job && may_command(user, job))
		return job;
	refuse_taking(user, "ESRCH",
		      daemon_text("there is no job %lld of yours; scqueue shows those there are",
				  (long long)id));
	return NULL;
}

/* ---- places, where connections are many and descriptors few ---- */

static void leave(struct user *user)
{
	if (user->waits)
		locks_forget(user->waits);
	activity_leave(user);
	movers_forget_user(user);
	LIST_REMOVE(user, all);
	user->account->links--;
	account_settle(user->account);
	free(user);
}

/* He was told why. @linger: seconds that his last words may take. */
static void show_out(struct user *user, double linger)
{
	link_limit(user->link, 0, 0, NULL);
	link_close(user->link, linger);
	if (user->job)
		jobs_user_gone(user->scored, user->job);
	leave(user);
}

/* Jobs that run go on, whoever comes. */
static bool may_go(const struct user *user, const struct account *for_whom)
{
	return account_is_limited(user->account) && user->account->links > for_whom->links + 1 &&
	       (!user->job || user->job->state == SJOB_QUEUED);
}

/* Rather one without a job, and of the user with the most. */
static bool goes_before(const struct user *user, const struct user *other)
{
	if (!user->job != !other->job)
		return !user->job;
	return user->account->links > other->account->links;
}

/* The newest that may go of the user with the most. @has_job: only one with a job. NULL: none. */
static struct user *find_excess(const struct scored *d, const struct account *for_whom,
				bool has_job)
{
	struct user *user, *excess = NULL;

	/* The newest are first in the list. */
	LIST_FOREACH(user, &d->users, all)
		if (may_go(user, for_whom) && (user->job || !has_job) &&
		    (!excess || goes_before(user, excess)))
			excess = user;
	return excess;
}

/* Jobs that may go for one of @for_whom, until no user has more connections than that one. */
static size_t count_yielding(struct scored *d, const struct account *for_whom)
{
	const struct user *user;
	struct account *a;
	size_t n = 0;

	LIST_FOREACH(a, &d->accounts, all)
		a->yielding = 0;
	LIST_FOREACH(user, &d->users, all) {
		a = user->account;
		if (!user->job || !may_go(user, for_whom) ||
		    a->yielding >= a->links - for_whom->links - 1)
			continue;
		a->yielding++;
		n++;
	}
	return n;
}

static void take_place(struct scored *d, struct user *excess)
{
	char why[256];

	files_say(EMFILE);
	snprintf(why, sizeof(why),
		 "user %u has %zu connections to scored, whose limit of open files is reached, and "
		 "another user has fewer; try again with fewer at a time, or have that limit "
		 "raised (LimitNOFILE= of scored)",
		 excess->account->uid, excess->account->links);
	/* His scrun would else come again. */
	if (excess->job)
		jobs_end(d, excess->job, JOBS_EXIT_START, why);
	else
		refuse(excess, "EUSERS", why);
	/* Its descriptor is needed now. */
	show_out(excess, 0.);
}

/*
 * A user with more connections than @for_whom gives up the newest of those that may go, if
 * @for_whom still has fewer then. So each user gets some, however many others hold.
 */
static void make_place(struct scored *d, const struct account *for_whom)
{
	struct user *excess = find_excess(d, for_whom, false);

	if (excess)
		take_place(d, excess);
}

/* ---- requests ---- */

/* The job that a request asks for, with the devices of its network. NULL with a sentence. */
static struct job *take_job(const struct scored *d, const json_t *from, char *why, size_t why_size)
{
	struct job *job;
	char *devices;

	if (job_decode(&job, from, why, why_size))
		return NULL;
	if (!job->network)
		return job;
	devices = network_devices(d->cluster, job->network, why, why_size);
	if (!devices) {
		job_free(job);
		return NULL;
	}
	free(job->network);
	job->network = devices;
	return job;
}

/* Jobs of all limited users, whose connections have them; *@ret_own: those of @account. */
static size_t count_jobs(const struct scored *d, const struct account *account, size_t *ret_own)
{
	const struct user *user;
	size_t all = 0;

	*ret_own = 0;
	LIST_FOREACH(user, &d->users, all) {
		if (!user->job || !account_is_limited(user->account))
			continue;
		*ret_own += user->account == account;
		all++;
	}
	return all;
}

/* A job that waits holds its place like one that runs, but yields it to a user who has fewer. */
static bool lacks_place(const struct user *user, char *why, size_t why_size)
{
	const struct account *account = user->account;
	size_t own, all;

	if (!account_shares_places(account))
		return false;
	all = count_jobs(user->scored, account, &own);
	/* Too many even after all others have yielded. The sentence is of how it is now. */
	return account_takes_share(account, own, all - count_yielding(user->scored, account), why,
				   why_size) &&
	       account_takes_share(account, own, all, why, why_size);
}

/* For a job of @user that is taken in: as many jobs of others yield as must. */
static void take_share(const struct user *user)
{
	struct scored *d = user->scored;
	struct user *excess;
	size_t own, all;
	char why[512];

	if (!account_shares_places(user->account))
		return;
	all = count_jobs(d, user->account, &own);
	for (; account_takes_share(user->account, own, all, why, sizeof(why)); all--) {
		excess = find_excess(d, user->account, true);
		/* lacks_place() has counted that there are enough. */
		if (!excess)
			return;
		take_place(d, excess);
	}
}

static void submit(struct user *user, const json_t *head)
{
	struct scored *d = user->scored;
	struct sjob *new;
	struct job *job;
	char why[512];

	if (user->job) {
		refuse(user, "EBUSY", "one job per connection");
		return;
	}
	job = take_job(d, json_object_get(head, "job"), why, sizeof(why));
	if (!job) {
		refuse(user, "EINVAL", why);
		return;
	}
	if (json_is_true(json_object_get(head, "dry_run"))) {
		json_t *place = ask_place(d, job, why, sizeof(why));

		if (place)
			users_say(user, place);
		else
			refuse(user, "EINVAL", why);
		job_free(job);
		return;
	}
	if (lacks_place(user, why, sizeof(why))) {
		job_free(job);
		refuse(user, "EUSERS", why);
		return;
	}
	new = jobs_submit(d, user, link_uid(user->link), link_gid(user->link), job, why,
			  sizeof(why));
	if (!new) {
		job_free(job);
		refuse(user, "EINVAL", why);
		return;
	}
	/* Not before: nobody yields to a job that is refused. */
	take_share(user);
	user->job = new;
	users_tell_queued(d, user, user->job);
}

static void restart(struct user *user, const json_t *head)
{
	const struct restart_wish wish = {
		.id = head_number(head, "id"),
		.round = head_number(head, "round"),
		.uid = link_uid(user->link),
		.is_operator = is_operator(user),
		.hosts = json_string_value(json_object_get(head, "hosts")),
		.network = json_string_value(json_object_get(head, "network")),
		.waits = json_is_true(json_object_get(head, "waits"))};
	struct sjob *job;
	char why[512];

	if (user->job) {
		refuse(user, "EBUSY", "one job per connection");
		return;
	}
	if (lacks_place(user, why, sizeof(why))) {
		refuse(user, "EUSERS", why);
		return;
	}
	job = jobs_restart(user->scored, user, &wish, why, sizeof(why));
	if (!job) {
		refuse(user, "EINVAL", why);
		return;
	}
	user->job = job;
	take_share(user);
	if (wish.waits)
		users_tell_queued(user->scored, user, job);
}

static void suspend(struct user *user, const json_t *head)
{
	struct sjob *job = json_object_get(head, "id") ? job_of(user, head) : user->job;

	if (!job) {
		if (!json_object_get(head, "id"))
			refuse(user, "ESRCH", "no job was submitted over this connection");
		return;
	}
	jobs_suspend(user->scored, job, json_is_true(json_object_get(head, "is_suspended")));
	users_say(user, json_pack("{s:s}", "op", OP_OK));
}

static void migrate(struct user *user, const json_t *head)
{
	struct sjob *job = job_of(user, head);
	const char *error;
	char *why = job ? migrate_ask(user, job,
				      json_string_value(json_object_get(head, "network")), &error)
			: NULL;

	if (why)
		refuse_taking(user, error, why);
}

static void remove_checkpoints(struct user *user, uint64_t id)
{
	char why[512];

	if (restart_remove(user->scored, id, link_uid(user->link), is_operator(user), why,
			   sizeof(why)))
		refuse(user, "EINVAL", why);
	else
		users_say(user, json_pack("{s:s}", "op", OP_OK));
}

static void checkpoint(struct user *user, const json_t *head)
{
	struct sjob *job;
	const char *error;
	char *why = NULL;

	if (json_is_true(json_object_get(head, "is_remove"))) {
		remove_checkpoints(user, head_number(head, "id"));
		return;
	}
	job = job_of(user, head);
	if (job && json_is_true(json_object_get(head, "is_try")))
		why = migrate_try(user, job, &error);
	else if (job)
		why = checkpoint_ask(user->scored, user, job, &error);
	if (why)
		refuse_taking(user, error, why);
}

static void cancel_one(struct user *user, struct sjob *job, int signal, const char *text)
{
	if (signal)
		jobs_signal(job, signal);
	else
		jobs_end(user->scored, job, 128 + SIGTERM, text);
}

/* All of his own; returns how many there were. */
static int cancel_all(struct user *user, int signal, const char *text)
{
	struct sjob *job, *next;
	int count = 0;

	for (job = TAILQ_FIRST(&user->scored->jobs); job; job = next) {
		next = TAILQ_NEXT(job, all);
		if (job->uid != link_uid(user->link) || job->is_ended)
			continue;
		cancel_one(user, job, signal, text);
		count++;
	}
	return count;
}

static void cancel(struct user *user, const json_t *head)
{
	int signal = (int)json_integer_value(json_object_get(head, "signal"));
	bool is_all = json_is_true(json_object_get(head, "all"));
	const struct passwd *who;
	struct sjob *job = NULL;
	int count = 1;
	char *text;

	if (!is_all && !(job = job_of(user, head)))
		return;
	/* Once for all of them: it may take long where users are in a directory service. */
	who = signal ? NULL : getpwuid(link_uid(user->link));
	text = daemon_text("cancelled by %s", who ? who->pw_name : "its user");
	if (is_all)
		count = cancel_all(user, signal, text);
	else
		cancel_one(user, job, signal, text);
	free(text);
	users_say(user, json_pack("{s:s, s:i}", "op", OP_OK, "count", count));
}

static void drain(struct user *user, const json_t *head)
{
	const char *host = json_string_value(json_object_get(head, "host")),
		   *state = json_string_value(json_object_get(head, "state")),
		   *text = json_string_value(json_object_get(head, "text"));
	struct node *node = nodes_find(user->scored, host);

	if (!is_operator(user)) {
		refuse(user, "EPERM",
		       "only operators may do that: root, and whom --operators of scored names");
	} else if (!node) {
		refuse_taking(user, "ENOENT",
			      daemon_text("host %s is not in the cluster; scinfo shows the hosts",
					  host));
	} else {
		nodes_drain(user->scored, node, !strcmp(state, "drained"), text);
		users_say(user, json_pack("{s:s}", "op", OP_OK));
	}
}

static void activity(struct user *user, const json_t *head)
{
	double every = json_number_value(json_object_get(head, "every_s"));

	char why[256];

	if (every > 0 && !activity_follow(user, every, why, sizeof(why)))
		refuse(user, "EUSERS", why);
	else
		users_say(user, report_activity(user->scored, link_uid(user->link)));
}

static void jobs(struct user *user, const json_t *head)
{
	users_say(user, report_jobs(user->scored, link_uid(user->link),
				    json_integer_value(json_object_get(head, "history"))));
}

static void cluster(struct user *user, const json_t *head)
{
	(void)head;
	users_say(user, report_cluster(user->scored));
}

/* Those of locks are in locks.c. */
static void (*const requests[MESSAGES_OPS])(struct user *user, const json_t *head) = {
	[ON_SUBMIT] = submit,  [ON_SUSPEND] = suspend, [ON_CANCEL] = cancel,
	[ON_JOBS] = jobs,      [ON_CLUSTER] = cluster, [ON_ACTIVITY] = activity,
	[ON_DRAIN] = drain,    [ON_MIGRATE] = migrate, [ON_CHECKPOINT] = checkpoint,
	[ON_RESTART] = restart};

static void message(struct link *link, const char *op, json_t *head, const char *body,
		    size_t body_size, void *owner)
{
	struct user *user = owner;
	char why[256];
	int request = messages_check(MESSAGES_USER_TO_SCORED, head, why, sizeof(why));

	(void)body;
	(void)body_size;
	if (request == -EINVAL)
		refuse(user, "EINVAL", why);
	else if (request >= 0 && requests[request])
		requests[request](user, head);
	else if (!locks_request(user->scored, link, &user->waits, op, head))
		refuse_taking(user, "ENOSYS",
			      daemon_text("\"%.*s\" is no request that this scored knows",
					  head_cut(op, HEAD_OP_SHOWN), op));
	/* No more requests are read from a client that does not read the answers. */
	user->is_behind = link_is_full(link);
	users_watch(user);
	spend(user);
}

static void drained(struct link *link, void *owner)
{
	struct user *user = owner;

	(void)link;
	user->is_behind = false;
	users_watch(user);
}

static void closed(struct link *link, int error, const char *why, void *owner)
{
	struct user *user = owner;

	if (error == EBADMSG || error == ENOMEM)
		daemon_say("%s, of user %u%s", why, link_uid(link),
			   error == ENOMEM
				   ? "; raise scored's limit of memory, or lower --user-memory"
				   : "");
	/* The link's buffers are not his any more when this has returned. */
	link_limit(link, 0, 0, NULL);
	if (user->job)
		jobs_user_gone(user->scored, user->job);
	leave(user);
}

static void refused(struct link *link, int error, void *owner)
{
	struct user *user = owner;
	char why[256];

	(void)link;
	account_explain(user->account, error, why, sizeof(why));
	refuse(user, error == EDQUOT ? "EDQUOT" : "EMSGSIZE", why);
	spend(user);
	show_out(user, GOODBYE_S);
}

static const struct link_events events = {.message = message,
					  .drained = drained,
					  .refused = refused,
					  .closed = closed};

void users_turn_away(struct link *link, const char *error, const char *why)
{
	link_send(link, json_pack("{s:s, s:s, s:s}", "op", OP_ERROR, "error", error, "text", why),
		  NULL, 0);
	link_close(link, GOODBYE_S);
}

/* ---- who comes and goes ---- */

void users_enter(struct scored *d, struct link *link)
{
	struct account *account = account_of(d, link_uid(link));
	struct user *user;
	char why[256];

	if (account && account_is_crowded(account))
		make_place(d, account);
	if (account && account_has_links(account, why, sizeof(why))) {
		users_turn_away(link, "EUSERS", why);
		return;
	}
	user = account ? calloc(1, sizeof(*user)) : NULL;
	if (!user) {
		users_turn_away(link, "EUSERS", "scored has no memory");
		if (account)
			account_settle(account);
		return;
	}
	account->links++;
	user->scored = d;
	user->link = link;
	user->account = account;
	link_limit(link, ACCOUNT_FRAME_MAX, ACCOUNT_VALUES_MAX, &account->bytes);
	LIST_INSERT_HEAD(&d->users, user, all);
	link_set(link, &events, user);
	users_watch(user);
}

void users_close(struct scored *d)
{
	struct user *user;

	while ((user = LIST_FIRST(&d->users))) {
		link_limit(user->link, 0, 0, NULL);
		link_close(user->link, GOODBYE_S);
		leave(user);
	}
}
