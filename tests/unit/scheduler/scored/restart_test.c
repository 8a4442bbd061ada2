// SPDX-License-Identifier: BSD-3-Clause
/*
 * restart: a job on two hosts that has ended, and its checkpoints. The journal is real, in memory,
 * and so is the matrix. The list of jobs, accounts and locks are fakes.
 */
#include "scheduler/scored/restart.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/scored/account.h"
#include "scheduler/scored/jobs_list.h"
#include "scheduler/scored/locks.h"
#include "scheduler/scored/nodes.h"
#include "tests/harness/tap.h"
#include "tests/unit/scheduler/scored/fake_cluster.h"

#define JOB 7
#define OWNER 1000
#define OTHER 1001
#define HOSTS 2
#define ALL_HOSTS 4 /* of the cluster; the job had the first ones */

static struct {
	struct fake_cluster f;
	struct sjob *job; /* in the list */
	bool is_charged, is_unqueued;
	const struct node *locked;
	char told[300]; /* the hosts */
	char why[512];
	const char *hosts, *network; /* that are wished */
	bool waits;
} t;

/* ---- fakes ---- */

struct sjob *jobs_find(const struct scored *d, uint64_t id)
{
	return t.job && t.job->id == id ? t.job : NULL;
}

void jobs_enlist(struct scored *d, struct sjob *job)
{
	ok(d == &t.f.d && !t.job);
	t.job = job;
}

void jobs_forget(struct scored *d, struct sjob *job)
{
	ok(job == t.job);
	t.job = NULL;
	if (job->place) {
		matrix_place_fini(job->place, job->n_hosts);
		free(job->place);
	}
	order_free(job->order ? job->order : job->again);
	free(job->hosts);
	free(job->devices);
	free(job->only);
	free(job);
}

void account_charge(struct scored *d, struct sjob *job)
{
	ok(job == t.job);
	t.is_charged = true;
}

void account_unqueue(struct sjob *job)
{
	ok(job == t.job && t.is_charged);
	t.is_unqueued = true;
}

struct lock *locks_keep_off(const struct scored *d, const struct node *node, uint64_t job)
{
	is_int(job, JOB);
	return node == t.locked ? (struct lock *)&t : NULL;
}

void locks_say(struct lock *lock, char *to, size_t size)
{
	ok(lock == (struct lock *)&t);
	snprintf(to, size, "locked by ann: disks");
}

struct node *nodes_find(const struct scored *d, const char *name)
{
	for (size_t h = 0; h < d->n_nodes; h++)
		if (!strcmp(d->nodes[h]->name, name))
			return d->nodes[h];
	return NULL;
}

void nodes_send(struct node *node, json_t *head)
{
	size_t n = strlen(t.told);
	char *text = json_dumps(head, JSON_COMPACT | JSON_SORT_KEYS);

	snprintf(t.told + n, sizeof(t.told) - n, "%s %s\n", node->name, text);
	free(text);
	json_decref(head);
}

bool nodes_is_usable(const struct node *node)
{
	return node->link && node->state == NODE_UP;
}

/* ---- the journal ---- */

static char h0[] = "h0", h1[] = "h1", old_address[] = "10.0.0.9:1", cluster[] = "lab", cwd[] = "/",
	    variable[] = "A=1", name[] = "a";
static char *env[] = {variable, NULL}, *none[] = {NULL}, *argv[] = {name, NULL};
static uint32_t cores[] = {0, 1, 2, 3};

/* To be freed. */
static char *order_text(uint64_t id, uid_t uid)
{
	struct job_app app = {.argv = argv, .env = none, .ranks = 3};
	struct job job = {.name = name,
			  .ranks = 3,
			  .cores = 1,
			  .cwd = cwd,
			  .env = env,
			  .apps = &app,
			  .n_apps = 1,
			  .wants_checkpoint = true};
	struct order_host hosts[HOSTS] = {
		{.name = h0, .address = old_address, .ranks = 2, .cores = cores, .n_cores = 2},
		{.name = h1,
		 .address = old_address,
		 .first = 2,
		 .ranks = 1,
		 .cores = cores,
		 .n_cores = 1}};
	struct order order = {.id = id,
			      .key = 5,
			      .uid = uid,
			      .gid = 100,
			      .cluster = cluster,
			      .hosts = hosts,
			      .n_hosts = HOSTS,
			      .job = &job};
	json_t *json = order_encode(&order, 0);
	char *text = json_dumps(json, JSON_COMPACT);

	json_decref(json);
	return text;
}

static void record(uint64_t round, const char *order)
{
	struct journal_checkpoint c = {.job = JOB,
				       .round = round,
				       .uid = OWNER,
				       .taken = 100 + (int64_t)round,
				       .bytes = 1000 * round,
				       .order = order};

	is_int(journal_checkpoint_number(t.f.d.journal, JOB, t.why, sizeof(t.why)), round);
	is_int(journal_checkpoint_done(t.f.d.journal, &c, t.why, sizeof(t.why)), 0);
}

static void begin_without(void)
{
	memset(&t, 0, sizeof(t));
	fake_cluster_open(&t.f, ALL_HOSTS, 4, 2);
	t.f.d.journal = journal_open(JOURNAL_NONE, t.why, sizeof(t.why));
	must(t.f.d.journal);
}

static void begin(void)
{
	char *order = order_text(JOB, OWNER);

	begin_without();
	record(1, order);
	record(2, order);
	free(order);
}

static void finish(void)
{
	if (t.job)
		jobs_forget(&t.f.d, t.job);
	journal_close(t.f.d.journal);
	fake_cluster_close(&t.f);
}

static struct sjob *make(uint64_t round, uid_t uid, bool is_operator)
{
	struct restart_wish wish = {.id = JOB,
				    .round = round,
				    .uid = uid,
				    .is_operator = is_operator,
				    .hosts = t.hosts,
				    .network = t.network,
				    .waits = t.waits};

	return restart_make(&t.f.d, &wish, t.why, sizeof(t.why));
}

static void starts(uint64_t round, uid_t uid, bool is_operator, uint64_t want)
{
	struct sjob *job = make(round, uid, is_operator);

	okf(job, "%s", t.why);
	must(job);
	ok(job == t.job && t.is_charged && t.is_unqueued);
	is_int(job->id, JOB);
	is_int(job->uid, OWNER);
	is_int(job->gid, 100);
	is_int(job->state, SJOB_STARTING);
	ok(job->job == job->order->job && job->job->wants_checkpoint);
	is_int(job->n_hosts, HOSTS);
	is_int(job->image.round, want);
	is_int(job->image.taken, 100 + want);
	is_int(job->image.bytes, 1000 * want);
	ok(job->submitted > 0 && job->started > 0);
}

static void is_refused(uint64_t round, uid_t uid, const char *want)
{
	t.why[0] = 0;
	ok(!make(round, uid, false));
	is_str(t.why, want);
	ok(!t.job);
}

TAP_TEST(restart_make__from_the_last_one)
{
	begin();
	starts(0, OWNER, false, 2);
	for (size_t h = 0; t.job && h < HOSTS; h++) {
		ok(t.job->hosts[h].node == &t.f.nodes[h]);
		is_int(t.job->hosts[h].ranks, 2 - h);
	}
	finish();
}

TAP_TEST(restart_make__from_the_one_before)
{
	begin();
	starts(1, OWNER, false, 1);
	finish();
}

#define NONE                                                                                       \
	"job 7 of yours has no checkpoint; scqueue shows those of jobs that run, and images of a " \
	"job that went well are removed"
#define NOT_THAT(round)                                                                            \
	"job 7 of yours has no checkpoint " round                                                  \
	"; scrun -restart 7 takes the last one, if there is any"

TAP_TEST(restart_make__no_checkpoint)
{
	begin_without();
	is_refused(0, OWNER, NONE);
	is_refused(1, OWNER, NOT_THAT("1"));
	/* One that is not complete is none. */
	is_int(journal_checkpoint_number(t.f.d.journal, JOB, t.why, sizeof(t.why)), 1);
	is_refused(0, OWNER, NONE);
	is_refused(1, OWNER, NOT_THAT("1"));
	finish();
}

TAP_TEST(restart_make__another_round)
{
	begin();
	is_refused(3, OWNER, NOT_THAT("3"));
	is_refused(UINT64_MAX / 2, OWNER, NOT_THAT("9223372036854775807"));
	finish();
}

/* The words are those of a job that does not exist. */
TAP_TEST(restart_make__of_another_user)
{
	begin();
	is_refused(0, OTHER, NONE);
	is_refused(2, OTHER, NOT_THAT("2"));
	finish();
}

/* It stays its user's. */
TAP_TEST(restart_make__by_an_operator)
{
	begin();
	starts(0, OTHER, true, 2);
	finish();
}

TAP_TEST(restart_make__job_has_not_ended)
{
	struct sjob *first;

	begin();
	starts(0, OWNER, false, 2);
	first = t.job;
	ok(!make(0, OWNER, false));
	is_str(t.why, "job 7 has not ended; scqueue shows it");
	ok(t.job == first);
	finish();
}

static void not_up(const char *host)
{
	char want[200];

	snprintf(want, sizeof(want),
		 "host %s, which has images of job 7, is not up; try again when scinfo shows it "
		 "as up; other hosts can take its place if they share its directory of "
		 "checkpoints",
		 host);
	is_refused(0, OWNER, want);
	ok(!t.is_charged);
}

TAP_TEST(restart_make__host_is_not_up)
{
	begin();
	t.f.nodes[1].state = NODE_ABSENT;
	not_up("h1");
	t.f.nodes[1].state = NODE_UP;
	t.f.nodes[0].link = NULL;
	not_up("h0");
	t.f.nodes[0].link = (struct link *)&t.f;
	/* The cluster has none of that name any more. */
	t.f.d.n_nodes = 1;
	not_up("h1");
	t.f.d.n_nodes = ALL_HOSTS;
	starts(0, OWNER, false, 2);
	finish();
}

TAP_TEST(restart_make__address_has_changed)
{
	begin();
	starts(0, OWNER, false, 2);
	must(t.job);
	for (size_t h = 0; h < HOSTS; h++)
		is_str(t.job->order->hosts[h].address, t.f.hosts[h].address);
	ok(strcmp(t.f.hosts[0].address, old_address) != 0);
	finish();
}

TAP_TEST(restart_make__cores_are_taken)
{
	struct matrix_host taken = {.host = 1, .cores = cores, .n_cores = 4};

	begin();
	/* By jobs that want them alone, in each row. */
	is_int(matrix_restore(t.f.d.matrix, 8, &taken, 1, true), 0);
	is_refused(0, OWNER,
		   "the cores of job 7 on its hosts are taken by other jobs; try again when they "
		   "have ended (scqueue)");
	matrix_remove(t.f.d.matrix, 8);
	starts(0, OWNER, false, 2);
	finish();
}

TAP_TEST(restart_make__host_is_locked)
{
	begin();
	t.locked = &t.f.nodes[1];
	is_refused(0, OWNER, "host h1, which has images of job 7, is locked by ann: disks");
	t.locked = NULL;
	starts(0, OWNER, false, 2);
	finish();
}

TAP_TEST(restart_make__order_is_damaged)
{
	static const char *const all[] = {"", "{", "[]", "{}", "7", "{\"id\":7}"};
	char *order;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		begin_without();
		record(1, all[i]);
		ok(!make(0, OWNER, false));
		okf(strlen(t.why) > 0, "\"%s\"", all[i]);
		ok(!t.job && !t.is_charged);
		finish();
	}
	begin_without();
	order = order_text(JOB + 1, OWNER);
	record(1, order);
	free(order);
	is_refused(0, OWNER, "the journal's order of job 7 is damaged");
	finish();
}

static void share(void)
{
	for (size_t h = 0; h < ALL_HOSTS; h++)
		strcpy(t.f.nodes[h].store, "0a1b");
}

/* A host that is down, and one that is free and can read its images. */
TAP_TEST(restart_make__on_a_spare)
{
	begin();
	t.f.nodes[1].state = NODE_ABSENT;
	not_up("h1");
	share();
	/* It has not been here since scored began. */
	t.f.nodes[1].store[0] = 0;
	starts(0, OWNER, false, 2);
	must(t.job);
	is_str(t.job->order->hosts[0].name, "h0");
	is_str(t.job->order->hosts[1].name, "h2");
	finish();
}

/* The last host of these is none of then; the one of then keeps its part. */
TAP_TEST(restart_make__on_other_hosts)
{
	struct order *order;

	begin();
	t.hosts = "h[1-3]";
	t.f.nodes[0].state = NODE_ABSENT;
	is_refused(0, OWNER,
		   "job 7 can't be restored on h[1-3]: host h2 does not share the directory of "
		   "checkpoints with h0, which has images of the job");
	share();
	starts(0, OWNER, false, 2);
	must(t.job);
	order = t.job->order;
	is_str(order->hosts[0].name, "h2");
	is_int(order->hosts[0].ranks, 2);
	is_int(order->hosts[0].n_cores, 2);
	is_str(order->hosts[1].name, "h1");
	is_int(order->hosts[1].first, 2);
	ok(t.job->hosts[0].node == &t.f.nodes[2] && t.job->hosts[1].node == &t.f.nodes[1]);
	is_int(t.job->place[0].host, 2);
	is_int(order->key, 5);
	ok(order->incarnation > 1);
	finish();
}

TAP_TEST(restart_make__too_few_other_hosts)
{
	begin();
	share();
	t.hosts = "h2";
	is_refused(0, OWNER,
		   "job 7 has no place on h2 now: waits for hosts that are down or drained; try "
		   "again when other jobs have ended (scqueue)");
	t.hosts = "h[2";
	t.why[0] = 0;
	ok(!make(0, OWNER, false));
	okf(strstr(t.why, "h[2"), "%s", t.why);
	t.hosts = NULL;
	starts(0, OWNER, false, 2);
	finish();
}

TAP_TEST(restart_make__by_another_network)
{
	begin();
	t.network = "nothing";
	t.why[0] = 0;
	ok(!make(0, OWNER, false));
	okf(strstr(t.why, "nothing"), "%s", t.why);
	t.network = "self+udp";
	starts(0, OWNER, false, 2);
	is_str(t.job ? t.job->devices : "", "self+udp");
	finish();
}

/* It has no place yet, so nothing is in its way; the caller puts it into the queue. */
TAP_TEST(restart_make__that_waits)
{
	struct sjob *job;

	begin();
	t.waits = true;
	t.hosts = "h[0-1]";
	t.f.nodes[1].state = NODE_ABSENT;
	job = make(0, OWNER, false);
	must(job && job == t.job);
	is_int(job->state, SJOB_QUEUED);
	ok(job->again && !job->order && !job->place && !job->n_hosts);
	ok(job->job == job->again->job);
	is_str(job->only, "h[0-1]");
	is_int(job->image.round, 2);
	ok(t.is_charged && !t.is_unqueued);
	finish();
	begin();
	t.waits = true;
	is_refused(3, OWNER, NOT_THAT("3"));
	finish();
}

static void removes(uid_t uid, bool is_operator, int want)
{
	t.why[0] = t.told[0] = 0;
	is_int(restart_remove(&t.f.d, JOB, uid, is_operator, t.why, sizeof(t.why)), want);
	ok(want ? *t.why && !*t.told : !*t.why);
}

TAP_TEST(restart_remove__all_images_of_a_job)
{
	begin();
	removes(OWNER + 1, false, -ESRCH);
	is_str(t.why, NONE);
	t.f.nodes[1].link = NULL;
	removes(OWNER, false, -EHOSTDOWN);
	is_str(t.why, "host h1, which has images of job 7, is not connected; try again when scinfo "
		      "shows it as up");
	t.f.nodes[1].link = t.f.nodes[0].link;
	removes(OWNER, false, 0);
	is_str(t.told, "h0 {\"id\":7,\"op\":\"image\",\"round\":2,\"stage\":\"remove\"}\n"
		       "h1 {\"id\":7,\"op\":\"image\",\"round\":2,\"stage\":\"remove\"}\n");
	removes(OWNER, false, -ESRCH);
	is_refused(0, OWNER, NONE);
	finish();
}

TAP_TEST(restart_remove__by_an_operator)
{
	begin();
	removes(OWNER + 1, true, 0);
	finish();
}

TAP_TEST(restart_remove__job_has_not_ended)
{
	begin();
	starts(0, OWNER, false, 2);
	removes(OWNER, false, -EBUSY);
	finish();
}
