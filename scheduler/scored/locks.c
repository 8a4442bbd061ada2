// SPDX-License-Identifier: BSD-3-Clause
/*
 * A lock is in the table of leases, and while it is held also in the journal: written before its
 * user is told, removed after the lock is free. A lock that the journal can't store is not given.
 */
#include "scheduler/scored/locks.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "pmcore/util/clock.h"
#include "scheduler/proto/head.h"
#include "scheduler/proto/messages.h"
#include "scheduler/proto/ops.h"
#include "scheduler/scored/account.h"
#include "scheduler/scored/jobs_list.h"
#include "scheduler/scored/lock_limits.h"
#include "scheduler/scored/lock_news.h"
#include "scheduler/scored/locks_inside.h"
#include "scheduler/scored/nodes.h"
#include "scheduler/scored/operators.h"

#define HOSTS_SIZE 300

/* A renewal that waited while we stood still has come in time. */
static double now_s(const struct scored *d)
{
	return awake_now(&d->awake, clock_monotonic_ns());
}

static void refuse(struct link *link, const char *error, const char *text)
{
	link_send(link, json_pack("{s:s, s:s, s:s}", "op", OP_ERROR, "error", error, "text", text),
		  NULL, 0);
}

static bool has_job(void *arg, uint32_t host)
{
	return ((const struct scored *)arg)->nodes[host]->n_jobs > 0;
}

/* A host that never registered may do without scnoded. */
static bool is_usable(void *arg, uint32_t host)
{
	const struct node *node = ((const struct scored *)arg)->nodes[host];

	return !node->is_out && !node->is_drained && (!node->host || nodes_is_usable(node));
}

/* ---- a lock's life ---- */

static void lock_free(struct lock *lock)
{
	if (lock->waits)
		*lock->waits = NULL;
	if (lock->account)
		account_discharge_lock(lock->account, lock->bytes);
	json_decref(lock->told);
	lock_request_free(lock->request);
	free(lock->lease.hosts);
	free(lock->user);
	free(lock);
}

static size_t size_of(const struct lock_request *request)
{
	size_t size = sizeof(struct lock) + sizeof(*request);

	for (size_t i = 0; i < request->n_hosts; i++)
		size += sizeof(uint32_t) + sizeof(char *) + 2 * strlen(request->hosts[i]);
	return size;
}

/* Takes @request over, also when it fails. */
static struct lock *lock_new(struct scored *d, uid_t uid, struct lock_request *request)
{
	struct lock *lock = calloc(1, sizeof(*lock));
	uint32_t *hosts = calloc(request->n_hosts, sizeof(*hosts));
	struct account *account = lock && hosts ? account_of(d, uid) : NULL;

	if (!account) {
		lock_request_free(request);
		free(hosts);
		free(lock);
		return NULL;
	}
	*lock = (struct lock){.scored = d,
			      .request = request,
			      .account = account,
			      .bytes = size_of(request),
			      .since = clock_realtime_s()};
	lock->lease = (struct lease){.uid = uid,
				     .is_exclusive = request->is_exclusive,
				     .is_forced = request->is_forced,
				     .may_scatter = request->may_scatter,
				     .hosts = hosts,
				     .lease_s = request->lease_s,
				     .owner = lock};
	account_charge_lock(account, lock->bytes);
	return lock;
}

static void add_host(struct lease *lease, uint32_t host)
{
	for (size_t i = 0; i < lease->n_hosts; i++)
		if (lease->hosts[i] == host)
			return;
	lease->hosts[lease->n_hosts++] = host;
}

/* Numbers of the names that were asked for. 0 or -ENOENT with a sentence. */
static int find_hosts(struct lock *lock, char *why, size_t why_size)
{
	const struct lock_request *request = lock->request;

	/* To look for each takes long, and the loop waits. */
	if (request->n_hosts > lock->scored->n_nodes) {
		snprintf(why, why_size, "%zu hosts are wanted; the cluster has %zu",
			 request->n_hosts, lock->scored->n_nodes);
		return -ENOENT;
	}
	for (size_t i = 0; i < request->n_hosts; i++) {
		const struct node *node = nodes_find(lock->scored, request->hosts[i]);

		if (!node || !node->is_listed) {
			snprintf(why, why_size,
				 "host %s is not in the cluster; scinfo shows the hosts",
				 request->hosts[i]);
			return -ENOENT;
		}
		add_host(&lock->lease, node->number);
	}
	lock->lease.n_wanted = request->count < lock->lease.n_hosts ? request->count
								    : lock->lease.n_hosts;
	return 0;
}

/* ---- the journal ---- */

static struct journal_lease row_of(const struct lock *lock)
{
	return (struct journal_lease){
		.id = lock->lease.id, .uid = lock->lease.uid, .since = lock->since};
}

/* The request with the hosts that it has got. NULL: no memory. */
static char *text_of(const struct lock *lock)
{
	json_t *json = lock_request_encode(lock->request), *hosts = json_array();
	const struct lease *lease = &lock->lease;
	char *text = NULL;

	for (size_t i = 0; i < lease->n_hosts; i++)
		json_array_append_new(hosts,
				      json_string(lock->scored->nodes[lease->hosts[i]]->name));
	if (json && !json_object_set_new(json, "hosts", hosts) &&
	    !json_object_set_new(json, "count", json_integer((json_int_t)lease->n_hosts)))
		text = json_dumps(json, JSON_COMPACT);
	json_decref(json);
	return text;
}

static int write_begun(const struct lock *lock, char *why, size_t why_size)
{
	struct journal_lease row = row_of(lock);
	char *text = text_of(lock);
	int err;

	if (!text) {
		snprintf(why, why_size, "scored has no memory");
		return -ENOMEM;
	}
	row.request = text;
	err = journal_lease_begun(lock->scored->journal, &row, why, why_size);
	free(text);
	return err;
}

/* @taker: who ended it, if it is not its own user. */
static void write_ended(const struct lock *lock, const uid_t *taker, const char *text)
{
	struct journal_lease row = row_of(lock);
	char why[512];

	if (journal_lease_ended(lock->scored->journal, &row, taker, text, why, sizeof(why)))
		daemon_say("lock %llu ended, which is not recorded: %s", (unsigned long long)row.id,
			   why);
}

/* ---- given and taken ---- */

static void tell_locked(const struct lock *lock)
{
	const struct lease *lease = &lock->lease;
	json_t *hosts = json_array();

	for (size_t i = 0; i < lease->n_hosts; i++)
		json_array_append_new(hosts,
				      json_string(lock->scored->nodes[lease->hosts[i]]->name));
	link_send(lock->link,
		  json_pack("{s:s, s:I, s:o, s:i}", "op", OP_LOCKED, "id", (json_int_t)lease->id,
			    "hosts", hosts, "lease_s", lock->request->lease_s),
		  NULL, 0);
}

/* It is held; from now on it does without the connection. */
static void give(struct lock *lock)
{
	struct scored *d = lock->scored;
	char why[512];

	lock->since = clock_realtime_s();
	if (write_begun(lock, why, sizeof(why))) {
		daemon_say("lock %llu is not given: %s", (unsigned long long)lock->lease.id, why);
		refuse(lock->link, "EIO", why);
		leases_remove(&d->locks->leases, &lock->lease);
		jobs_plan(d);
		lock_free(lock);
		return;
	}
	tell_locked(lock);
	*lock->waits = NULL;
	lock->waits = NULL;
	lock->link = NULL;
	json_decref(lock->told);
	lock->told = NULL;
}

/* Ended by an operator: its user hears so when he renews it. It is no longer in the table. */
static void dispossess(struct lock *lock, uid_t taker, const char *how, const char *by,
		       const char *reason)
{
	char hosts[HOSTS_SIZE], text[1024];

	locks_say_hosts(lock, hosts, sizeof(hosts));
	snprintf(text, sizeof(text), "lock %llu of %s was %s by %s%s%s",
		 (unsigned long long)lock->lease.id, hosts, how, by, *reason ? ": " : "", reason);
	daemon_say("%s; it was %s's", text, locks_user(lock));
	write_ended(lock, &taker, text);
	lock_free(lock);
}

static void dispossess_all(struct lease_list *losers, struct lock *winner)
{
	struct lease *loser;

	while ((loser = TAILQ_FIRST(losers))) {
		TAILQ_REMOVE(losers, loser, entry);
		dispossess(loser->owner, winner->lease.uid, "taken by force", locks_user(winner),
			   winner->request->reason);
	}
}

static void tell_waiting(struct lock *lock)
{
	json_t *news = locks_tell_waiting(lock);

	if (json_equal(news, lock->told)) {
		json_decref(news);
		return;
	}
	json_decref(lock->told);
	lock->told = json_incref(news);
	/* A client that does not read is sent no more messages. */
	if (link_is_full(lock->link))
		json_decref(news);
	else
		link_send(lock->link, news, NULL, 0);
}

static void give_all(struct scored *d)
{
	struct lease_list losers = TAILQ_HEAD_INITIALIZER(losers);
	struct lease *lease;

	while ((lease = leases_next(&d->locks->leases, now_s(d), &losers))) {
		if (!TAILQ_EMPTY(&losers))
			jobs_plan(d);
		dispossess_all(&losers, lease->owner);
		give(lease->owner);
		lock_news_publish(d);
	}
}

void locks_look(struct scored *d)
{
	struct lease *lease;

	if (!d->locks || d->locks->looked == d->plan_epoch)
		return;
	d->locks->looked = d->plan_epoch;
	give_all(d);
	TAILQ_FOREACH(lease, &d->locks->leases.waiting, entry)
		tell_waiting(lease->owner);
}

/* Out of the table and the journal. @text: its user is told so when he renews it; NULL: nothing. */
static void end(struct lock *lock, const char *text)
{
	const uid_t ours = geteuid();
	struct scored *d = lock->scored;

	leases_remove(&d->locks->leases, &lock->lease);
	if (lock->lease.is_held)
		write_ended(lock, text ? &ours : NULL, text);
	lock_free(lock);
	lock_news_publish(d);
	jobs_plan(d);
}

void locks_forget(struct lock *lock)
{
	end(lock, NULL);
}

void locks_beat(struct scored *d)
{
	struct lease *lease;
	char text[1024];

	while ((lease = leases_expired(&d->locks->leases, now_s(d)))) {
		bool is_told = lock_limits_explain(lease->owner, now_s(d), text, sizeof(text));

		daemon_say("%s", text);
		end(lease->owner, is_told ? text : NULL);
	}
}

/* ---- requests ---- */

static bool is_operator(const struct scored *d, const struct link *link)
{
	return operators_has(d->operators, link_uid(link), clock_monotonic_s());
}

/* Checks a request before hosts are looked for. The error, with a sentence; NULL: there is none. */
static const char *objection(const struct scored *d, const struct link *link,
			     const struct lock_request *request, char *why, size_t why_size)
{
	struct account *account;
	bool is_too_much;

	if (request->is_forced && !is_operator(d, link)) {
		snprintf(why, why_size,
			 "only operators may take locks by force: root, and whom --operators of "
			 "scored names");
		return "EPERM";
	}
	account = account_of((struct scored *)d, link_uid(link));
	if (!account) {
		snprintf(why, why_size, "scored has no memory");
		return "ENOMEM";
	}
	is_too_much = account_refuses_lock(account, size_of(request), why, why_size);
	account_settle(account);
	return is_too_much ? "EDQUOT" : NULL;
}

/* A lock that waits for its first look; NULL: it was refused. */
static struct lock *take(struct scored *d, struct link *link, const json_t *head)
{
	struct lock_request *request = NULL;
	struct lock *lock;
	const char *error;
	char why[512];

	if (lock_request_decode(&request, head, why, sizeof(why))) {
		refuse(link, "EINVAL", why);
		return NULL;
	}
	error = objection(d, link, request, why, sizeof(why));
	if (error) {
		refuse(link, error, why);
		lock_request_free(request);
		return NULL;
	}
	lock = lock_new(d, link_uid(link), request);
	if (!lock) {
		refuse(link, "ENOMEM", "scored has no memory");
		return NULL;
	}
	if (find_hosts(lock, why, sizeof(why))) {
		refuse(link, "ENOENT", why);
		lock_free(lock);
		return NULL;
	}
	if (lock_limits_refuse(lock, why, sizeof(why))) {
		refuse(link, "EDQUOT", why);
		lock_free(lock);
		return NULL;
	}
	lock_limits_set(lock, 0);
	lock->lease.id = journal_lease_number(d->journal, why, sizeof(why));
	if (!lock->lease.id || leases_add(&d->locks->leases, &lock->lease)) {
		refuse(link, "EIO", lock->lease.id ? "scored has no memory" : why);
		lock_free(lock);
		return NULL;
	}
	lock->link = link;
	return lock;
}

static void ask(struct scored *d, struct link *link, struct lock **waits, const json_t *head)
{
	struct lock *lock;
	char why[1024];

	if (*waits) {
		refuse(link, "EBUSY", "this connection waits for a lock already");
		return;
	}
	lock = take(d, link, head);
	if (!lock)
		return;
	lock->waits = waits;
	*waits = lock;
	give_all(d);
	/* A client that was given the lock, or refused by the journal, waits no more. */
	if (!*waits)
		return;
	if (lock->request->may_wait) {
		tell_waiting(lock);
		return;
	}
	locks_explain(lock, why, sizeof(why));
	refuse(link, "EBUSY", why);
	end(lock, NULL);
}

/* The held one of field "id"; NULL: it was told that there is none. */
static struct lock *lock_of(const struct scored *d, struct link *link, const json_t *head)
{
	uint64_t id = head_number(head, "id");
	struct lease *lease = leases_find(&d->locks->leases, id);
	char text[1024];

	if (lease && lease->is_held)
		return lease->owner;
	if (!journal_lease_taken(d->journal, id, link_uid(link), text, sizeof(text)))
		snprintf(text, sizeof(text),
			 "there is no lock %llu: it was given back, or not renewed in time",
			 (unsigned long long)id);
	refuse(link, "ENOENT", text);
	return NULL;
}

static void refuse_other(struct link *link, struct lock *lock, const char *who_may)
{
	char text[256];

	snprintf(text, sizeof(text), "lock %llu is %s's: only %s",
		 (unsigned long long)lock->lease.id, locks_user(lock), who_may);
	refuse(link, "EPERM", text);
}

static void renew(struct scored *d, struct link *link, struct lock **waits, const json_t *head)
{
	struct lock *lock = lock_of(d, link, head);

	if (!lock)
		return;
	if (lock->lease.uid != link_uid(link)) {
		refuse_other(link, lock, "he may renew it");
		return;
	}
	leases_renew(&lock->lease, now_s(d));
	link_send(link, json_pack("{s:s}", "op", OP_OK), NULL, 0);
}

static const char *name_of(uid_t uid, char *to, size_t size)
{
	const struct passwd *who = getpwuid(uid);

	if (who)
		snprintf(to, size, "%s", who->pw_name);
	else
		snprintf(to, size, "user %u", uid);
	return to;
}

static void unlock(struct scored *d, struct link *link, struct lock **waits, const json_t *head)
{
	struct lock *lock = lock_of(d, link, head);
	char name[64];

	if (!lock)
		return;
	if (lock->lease.uid == link_uid(link)) {
		end(lock, NULL);
	} else if (is_operator(d, link)) {
		leases_remove(&d->locks->leases, &lock->lease);
		dispossess(lock, link_uid(link), "released",
			   name_of(link_uid(link), name, sizeof(name)), "");
		lock_news_publish(d);
		jobs_plan(d);
	} else {
		refuse_other(link, lock, "he and operators may release it");
		return;
	}
	link_send(link, json_pack("{s:s}", "op", OP_OK), NULL, 0);
}

static void show(struct scored *d, struct link *link, struct lock **waits, const json_t *head)
{
	link_send(link, locks_tell_all(d), NULL, 0);
}

static void (*const requests[MESSAGES_OPS])(struct scored *d, struct link *link,
					    struct lock **waits, const json_t *head) =
	{[ON_LOCK] = ask, [ON_RENEW] = renew, [ON_UNLOCK] = unlock, [ON_LOCKS] = show};

bool locks_request(struct scored *d, struct link *link, struct lock **waits, const char *op,
		   const json_t *head)
{
	const struct messages_entry *entry = messages_find(MESSAGES_USER_TO_SCORED, op);

	if (!entry || !requests[entry->op])
		return false;
	requests[entry->op](d, link, waits, head);
	return true;
}

struct lock *locks_keep_off(const struct scored *d, const struct node *node, uint64_t job)
{
	const struct lease *lease = d->locks ? leases_keep_off(&d->locks->leases, node->number, job)
					     : NULL;

	return lease ? lease->owner : NULL;
}

/* ---- up and down ---- */

static bool take_back(struct scored *d, const struct journal_lease *row,
		      struct lock_request *request)
{
	struct lock *lock = lock_new(d, row->uid, request);
	time_t now = clock_realtime_s(); /* before it was taken, when the clock was set back */

	if (!lock)
		return false;
	for (size_t i = 0; i < request->n_hosts; i++) {
		const struct node *node = nodes_make(d, request->hosts[i]);

		if (node)
			add_host(&lock->lease, node->number);
	}
	lock->lease.n_wanted = lock->lease.n_hosts;
	lock->lease.id = row->id;
	lock->since = row->since < now ? row->since : now;
	lock_limits_set(lock, difftime(now, (time_t)lock->since));
	if (lock->lease.n_hosts && !leases_restore(&d->locks->leases, &lock->lease, now_s(d)))
		return true;
	lock_free(lock);
	return false;
}

static void restore(const struct journal_lease *row, void *owner)
{
	json_t *json = json_loads(row->request, JSON_REJECT_DUPLICATES, NULL);
	struct lock_request *wanted = NULL;
	char why[256] = "scored has no memory";

	if (lock_request_decode(&wanted, json, why, sizeof(why)) || !take_back(owner, row, wanted))
		daemon_say("lock %llu of the journal is given up: %s", (unsigned long long)row->id,
			   why);
	json_decref(json);
}

int locks_open(struct scored *d, char *why, size_t why_size)
{
	d->locks = calloc(1, sizeof(*d->locks));
	if (!d->locks) {
		snprintf(why, why_size, "no memory");
		return -ENOMEM;
	}
	d->locks->leases = (struct leases){.has_job = has_job, .is_usable = is_usable, .arg = d};
	leases_init(&d->locks->leases);
	return journal_leases(d->journal, restore, d, why, why_size);
}

void locks_close(struct scored *d)
{
	struct leases *leases = d->locks ? &d->locks->leases : NULL;
	struct lease *lease;

	if (!leases)
		return;
	while ((lease = TAILQ_FIRST(&leases->held)) || (lease = TAILQ_FIRST(&leases->waiting))) {
		leases_remove(leases, lease);
		lock_free(lease->owner);
	}
	leases_fini(leases);
	free(d->locks);
	d->locks = NULL;
}
