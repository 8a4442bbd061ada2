// SPDX-License-Identifier: BSD-3-Clause
/*
 * The rights of users to take, renew and give back hosts. Each connection is faked by one end of a
 * socket pair.
 */
#include "scheduler/scored/locks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "pmcore/util/clock.h"
#include "scheduler/proto/frame.h"
#include "scheduler/proto/lock_request.h"
#include "scheduler/proto/ops.h"
#include "scheduler/scored/jobs.h"
#include "scheduler/scored/jobs_list.h"
#include "scheduler/scored/plan.h"
#include "tests/harness/setclock.h"
#include "tests/harness/tap.h"
#include "tests/unit/scheduler/scored/fake_cluster.h"

#define HOSTS 3
#define ANN 70001u /* no users of this machine */
#define BOB 70002u
#define ROOT 0u
#define S 1000000000ull
#define LASTS_S 7200

struct person {
	struct link *link;
	int fd;
	struct lock *waits;
	char said[1024]; /* what it was told last, in short */
};

struct world {
	struct fake_cluster f;
	struct person ann, bob, root;
	struct person hosts[HOSTS]; /* their scnodeds */
	char dir[64];
};

static void person_open(struct world *w, struct person *p, uid_t uid)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair))
		return;
	p->fd = pair[1];
	p->link = link_local(w->f.d.loop, pair[0], uid, &(struct link_events){.message = NULL}, w);
}

static void open_scored(struct world *w)
{
	struct scored *d = &w->f.d;

	d->journal = journal_open(w->dir, w->f.why, sizeof(w->f.why));
	ok(d->journal && !jobs_open(d, w->f.why, sizeof(w->f.why)) &&
	   !locks_open(d, w->f.why, sizeof(w->f.why)));
}

static void close_scored(struct world *w)
{
	locks_close(&w->f.d);
	jobs_close(&w->f.d);
	journal_close(w->f.d.journal);
}

static struct world *new_world(void)
{
	struct world *w = calloc(1, sizeof(*w));

	fake_cluster_open(&w->f, HOSTS, 2, 2);
	w->f.d.loop = ev_default_loop(EVFLAG_AUTO);
	for (int h = 0; h < HOSTS; h++) {
		person_open(w, &w->hosts[h], ROOT);
		w->f.nodes[h].link = w->hosts[h].link;
		w->f.nodes[h].is_listed = true;
	}
	strcpy(w->dir, "/tmp/locks-XXXXXX");
	ok(mkdtemp(w->dir));
	w->f.d.options.user_jobs = 3;
	w->f.d.options.user_lock_s = LASTS_S;
	w->f.d.options.user_memory = 1 << 20;
	open_scored(w);
	person_open(w, &w->ann, ANN);
	person_open(w, &w->bob, BOB);
	person_open(w, &w->root, ROOT);
	return w;
}

static void end_world(struct world *w)
{
	struct person *all[] = {&w->ann, &w->bob, &w->root};
	char command[128];

	close_scored(w);
	for (int i = 0; i < 3; i++) {
		link_close(all[i]->link, 0);
		close(all[i]->fd);
	}
	for (int h = 0; h < HOSTS; h++) {
		link_close(w->hosts[h].link, 0);
		close(w->hosts[h].fd);
	}
	ev_run(w->f.d.loop, EVRUN_NOWAIT);
	fake_cluster_close(&w->f);
	snprintf(command, sizeof(command), "rm -r %s", w->dir);
	ok(!system(command));
	free(w);
}

/* "locked h0,h1", "waiting 0: h0 is ...", "EBUSY ...", "ok". */
static void shorten(json_t *head, char *to, size_t size)
{
	const char *op = json_string_value(json_object_get(head, "op"));
	json_t *names = json_object_get(head, "hosts"), *name;
	size_t i, used;

	if (!strcmp(op, OP_ERROR))
		snprintf(to, size, "%s %s", json_string_value(json_object_get(head, "error")),
			 json_string_value(json_object_get(head, "text")));
	else if (!strcmp(op, OP_HOST_LOCK))
		snprintf(to, size, "of %lld, %.22s",
			 (long long)json_integer_value(json_object_get(head, "uid")),
			 json_string_value(json_object_get(head, "text"))
				 ? json_string_value(json_object_get(head, "text"))
				 : "nobody's");
	else
		snprintf(to, size, "%s", op);
	json_array_foreach(names, i, name) {
		used = strlen(to);
		snprintf(to + used, size - used, "%s%s", i ? "," : " ", json_string_value(name));
	}
	used = strlen(to);
	if (!strcmp(op, OP_WAITING))
		snprintf(to + used, size - used, " %d: %s",
			 (int)json_integer_value(json_object_get(head, "position")),
			 json_string_value(json_array_get(json_object_get(head, "holders"), 0)));
}

/* The last message that a person was sent since the call before, in short; "" = none. */
static const char *hear(struct world *w, struct person *p)
{
	static char data[1 << 16];
	struct frame frame;
	size_t at = 0, used;
	ssize_t n;

	*p->said = 0;
	for (int i = 0; i < 3; i++)
		ev_run(w->f.d.loop, EVRUN_NOWAIT);
	n = read(p->fd, data, sizeof(data));
	while (n > 0 && frame_decode(&frame, data + at, (size_t)n - at, FRAME_MAX, &used) == 1) {
		shorten(frame.head, p->said, sizeof(p->said));
		json_decref(frame.head);
		at += used;
	}
	return p->said;
}

static const char *ask(struct world *w, struct person *p, json_t *head)
{
	const char *op = json_string_value(json_object_get(head, "op"));

	ok(locks_request(&w->f.d, p->link, &p->waits, op, head));
	json_decref(head);
	return hear(w, p);
}

/* @how: x or s, then w waits, f by force. */
static json_t *lock(const char *host, const char *other, const char *how)
{
	json_t *hosts = json_pack("[s]", host);

	if (other)
		json_array_append_new(hosts, json_string(other));
	return json_pack("{s:s, s:o, s:s, s:s, s:b, s:b}", "op", OP_LOCK, "hosts", hosts, "mode",
			 how[0] == 'x' ? "exclusive" : "shared", "reason", "disks", "wait",
			 strchr(how, 'w') != NULL, "force", strchr(how, 'f') != NULL);
}

static json_t *about(const char *op, int id)
{
	return json_pack("{s:s, s:i}", "op", op, "id", id);
}

static bool begins(const char *text, const char *with)
{
	bool does = !strncmp(text, with, strlen(with));

	if (!does)
		tap_diag("\"%s\" does not begin with \"%s\"", text, with);
	return does;
}

TAP_TEST(locks__taken_waited_for_and_given_back)
{
	struct world *w = new_world();

	is_str(ask(w, &w->ann, lock("h0", "h1", "x")), "locked h0,h1");
	ok(begins(ask(w, &w->bob, lock("h2", "h1", "x")),
		  "EBUSY h1 is locked by user 70001 since 20"));
	ok(strstr(w->bob.said, ": disks; msgb shows all locks"));
	ok(begins(ask(w, &w->bob, lock("h2", "h1", "xw")), "waiting 0: h1 is locked by"));
	is_str(ask(w, &w->bob, lock("h2", NULL, "x")),
	       "EBUSY this connection waits for a lock already");
	is_str(ask(w, &w->ann, about(OP_RENEW, 1)), "ok");
	is_str(ask(w, &w->ann, about(OP_UNLOCK, 1)), "ok");
	is_str(hear(w, &w->bob), "locked h2,h1");
	ok(!w->bob.waits);
	is_str(ask(w, &w->ann, about(OP_RENEW, 1)),
	       "ENOENT there is no lock 1: it was given back, or not renewed in time");
	end_world(w);
}

TAP_TEST(locks__who_goes_away_waits_no_more)
{
	struct world *w = new_world();

	ask(w, &w->ann, lock("h0", NULL, "x"));
	ask(w, &w->bob, lock("h0", "h1", "xw"));
	ok(begins(ask(w, &w->root, lock("h1", NULL, "xw")), "waiting 1: h1 is wanted by user"));
	locks_forget(w->bob.waits);
	ok(!w->bob.waits);
	is_str(hear(w, &w->root), "locked h1");
	end_world(w);
}

TAP_TEST(locks__others_neither_steal_nor_release)
{
	struct world *w = new_world();

	ask(w, &w->ann, lock("h0", NULL, "x"));
	ok(begins(ask(w, &w->bob, lock("h0", NULL, "xf")), "EPERM only operators may take locks"));
	is_str(ask(w, &w->bob, about(OP_UNLOCK, 1)),
	       "EPERM lock 1 is user 70001's: only he and operators may release it");
	is_str(ask(w, &w->root, about(OP_RENEW, 1)),
	       "EPERM lock 1 is user 70001's: only he may renew it");
	is_str(ask(w, &w->ann, about(OP_RENEW, 1)), "ok");
	end_world(w);
}

TAP_TEST(locks__operators_do_and_it_is_told)
{
	struct world *w = new_world();

	ask(w, &w->ann, lock("h0", NULL, "x"));
	ask(w, &w->bob, lock("h1", NULL, "s"));
	is_str(ask(w, &w->root, lock("h0", NULL, "xf")), "locked h0");
	is_str(ask(w, &w->root, about(OP_UNLOCK, 2)), "ok");
	/* Also after a kill. */
	close_scored(w);
	open_scored(w);
	is_str(ask(w, &w->ann, about(OP_RENEW, 1)),
	       "ENOENT lock 1 of h0 was taken by force by root: disks");
	is_str(ask(w, &w->bob, about(OP_RENEW, 2)), "ENOENT lock 2 of h1 was released by root");
	ok(begins(ask(w, &w->bob, about(OP_RENEW, 1)), "ENOENT there is no lock 1"));
	is_str(ask(w, &w->root, about(OP_RENEW, 3)), "ok");
	end_world(w);
}

TAP_TEST(locks__outlive_us)
{
	struct world *w = new_world();

	ask(w, &w->ann, lock("h1", "h0", "x"));
	ask(w, &w->bob, lock("h2", NULL, "s"));
	is_str(ask(w, &w->bob, about(OP_UNLOCK, 2)), "ok");
	close_scored(w);
	open_scored(w);
	ok(begins(ask(w, &w->bob, lock("h0", NULL, "x")), "EBUSY h0 is locked by user 70001"));
	is_str(ask(w, &w->bob, lock("h2", NULL, "x")), "locked h2");
	is_str(ask(w, &w->ann, about(OP_RENEW, 1)), "ok");
	end_world(w);
}

/* Renewals that came meanwhile are read after it. */
TAP_TEST(locks__a_stall_of_ours_ends_none)
{
	struct world *w = new_world();
	struct scored *d = &w->f.d;
	uint64_t now_ns = clock_monotonic_ns();

	awake_begin(&d->awake, now_ns, BEAT_S);
	is_str(ask(w, &w->ann, lock("h0", NULL, "x")), "locked h0");
	awake_beat(&d->awake, now_ns + 1000 * S);
	locks_beat(d);
	is_str(ask(w, &w->ann, about(OP_RENEW, 1)), "ok");
	for (int i = 1; i <= LOCK_LEASE_S + 1; i++)
		awake_beat(&d->awake, now_ns + (1000 + i) * S);
	locks_beat(d);
	ok(begins(ask(w, &w->ann, about(OP_RENEW, 1)), "ENOENT there is no lock 1"));
	end_world(w);
}

/* A user who takes all hosts for the longest time, renews that for ever, or goes without a word. */
TAP_TEST(locks__nobody_closes_the_cluster)
{
	struct world *w = new_world();
	struct scored *d = &w->f.d;
	uint64_t now_ns = clock_monotonic_ns();
	json_t *request;
	int s = 0;

	awake_begin(&d->awake, now_ns, BEAT_S);
	request = lock("h0", "h1", "x");
	json_object_set_new(request, "lease_s", json_integer(LOCK_LEASE_MAX_S));
	is_str(ask(w, &w->ann, request), "locked h0,h1");
	ask(w, &w->bob, lock("h0", NULL, "xw"));
	for (; s < LASTS_S + 10 && w->bob.waits; s++) {
		awake_beat(&d->awake, now_ns + (uint64_t)s * S);
		locks_beat(d);
		if (s % 60 == 0)
			ask(w, &w->ann, about(OP_RENEW, 1));
		locks_look(d);
	}
	okf(s >= LASTS_S && s <= LASTS_S + 2, "it lasted %d s", s);
	is_str(hear(w, &w->bob), "locked h0");
	ok(begins(ask(w, &w->ann, about(OP_RENEW, 1)),
		  "ENOENT lock 1 of h0 and 1 more has lasted 7200 s, as long as --user-lock-time"));
	/* Bob asked for a minute, and is not heard of any more. An operator may have his time. */
	request = lock("h1", NULL, "x");
	json_object_set_new(request, "lease_s", json_integer(LOCK_LEASE_MAX_S));
	is_str(ask(w, &w->root, request), "locked h1");
	for (int i = 0; i < 600; i++, s++)
		awake_beat(&d->awake, now_ns + (uint64_t)s * S);
	locks_beat(d);
	is_str(ask(w, &w->root, about(OP_RENEW, 3)), "ok");
	ok(begins(ask(w, &w->bob, about(OP_RENEW, 2)), "ENOENT there is no lock 2"));
	request = lock("h0", NULL, "x");
	json_object_set_new(request, "lease_s", json_integer(LOCK_LEASE_MAX_S));
	is_str(ask(w, &w->ann, request), "locked h0");
	for (int i = 0; i <= 301; i++, s++)
		awake_beat(&d->awake, now_ns + (uint64_t)s * S);
	locks_beat(d);
	ok(begins(ask(w, &w->ann, about(OP_RENEW, 4)), "ENOENT there is no lock 4"));
	end_world(w);
}

/* The clock of the day alone tells a scored that was started again how long a lock has lasted. */
TAP_TEST(locks__the_clock_was_set_back_before_a_restart)
{
	struct world *w = new_world();
	struct scored *d = &w->f.d;
	uint64_t now_ns = clock_monotonic_ns();
	int s = 0;

	is_str(ask(w, &w->ann, lock("h0", NULL, "x")), "locked h0");
	close_scored(w);
	setclock_by_s = -3 * 86400;
	awake_begin(&d->awake, now_ns, BEAT_S);
	open_scored(w);
	while (s < LASTS_S + 100 && !strcmp(ask(w, &w->ann, about(OP_RENEW, 1)), "ok"))
		for (int i = 0; i < 20; i++, s++) {
			awake_beat(&d->awake, now_ns + (uint64_t)s * S);
			locks_beat(d);
		}
	okf(s >= LASTS_S && s < LASTS_S + 60, "it lasts no longer than it may: %d s", s);
	setclock_by_s = 0;
	end_world(w);
}

TAP_TEST(locks__half_of_the_hosts_at_once)
{
	struct world *w = new_world();

	w->f.d.options.user_lock_hosts = 2;
	is_str(ask(w, &w->ann, lock("h0", NULL, "x")), "locked h0");
	is_str(ask(w, &w->ann, lock("h1", "h2", "x")),
	       "EDQUOT user 70001 has and wants 3 hosts alone, and --user-lock-hosts of scored "
	       "allows 2; lock fewer at once, or ask an operator");
	is_str(ask(w, &w->ann, lock("h1", "h2", "s")), "locked h1,h2");
	is_str(ask(w, &w->ann, about(OP_UNLOCK, 2)), "ok");
	is_str(ask(w, &w->ann, lock("h1", NULL, "x")), "locked h1");
	is_str(ask(w, &w->ann, about(OP_UNLOCK, 3)), "ok");
	is_str(ask(w, &w->ann, about(OP_UNLOCK, 1)), "ok");
	is_str(ask(w, &w->root, lock("h0", "h1", "x")), "locked h0,h1");
	is_str(ask(w, &w->root, lock("h2", NULL, "x")), "locked h2");
	end_world(w);
}

TAP_TEST(locks__hosts_are_told_who_has_them_alone)
{
	struct world *w = new_world();

	ask(w, &w->ann, lock("h0", "h1", "x"));
	is_str(hear(w, &w->hosts[0]), "of 70001, locked by user 70001 s");
	is_str(hear(w, &w->hosts[1]), "of 70001, locked by user 70001 s");
	is_str(hear(w, &w->hosts[2]), "");
	ask(w, &w->bob, lock("h0", NULL, "xw"));
	ask(w, &w->bob, lock("h2", NULL, "s"));
	is_str(hear(w, &w->hosts[0]), "");
	ask(w, &w->ann, about(OP_UNLOCK, 1));
	/* The last of what they hear: bob waited for one of them. */
	is_str(hear(w, &w->hosts[0]), "of 70002, locked by user 70002 s");
	is_str(hear(w, &w->hosts[1]), "of 0, nobody's");
	ask(w, &w->root, about(OP_UNLOCK, 2));
	is_str(hear(w, &w->hosts[0]), "of 0, nobody's");
	is_str(hear(w, &w->hosts[2]), "");
	end_world(w);
}

TAP_TEST(locks__bad_requests)
{
	struct world *w = new_world();

	ok(begins(ask(w, &w->ann, lock("h7", NULL, "x")), "ENOENT host h7 is not in the cluster"));
	is_str(ask(w, &w->ann, json_pack("{s:s}", "op", OP_LOCK)),
	       "EINVAL lock: hosts are missing");
	ok(begins(ask(w, &w->ann, about(OP_UNLOCK, 99)), "ENOENT there is no lock 99"));
	is_str(ask(w, &w->ann,
		   json_pack("{s:s, s:[s,s,s,s]}", "op", OP_LOCK, "hosts", "h0", "h0", "h0", "h0")),
	       "ENOENT 4 hosts are wanted; the cluster has 3");
	is_str(ask(w, &w->ann, lock("h0", "h0", "x")), "locked h0");
	ok(!locks_request(&w->f.d, w->ann.link, &w->ann.waits, "other", NULL));
	end_world(w);
}

TAP_TEST(locks__as_many_as_a_user_may_have)
{
	struct world *w = new_world();

	for (int i = 0; i < 3; i++)
		is_str(ask(w, &w->ann, lock("h0", NULL, "s")), "locked h0");
	ok(begins(ask(w, &w->ann, lock("h0", NULL, "s")),
		  "EDQUOT user 70001 has or waits for 3 locks, as many as --user-jobs"));
	is_str(ask(w, &w->bob, lock("h0", NULL, "s")), "locked h0");
	is_str(ask(w, &w->ann, about(OP_UNLOCK, 1)), "ok");
	is_str(ask(w, &w->ann, lock("h0", NULL, "s")), "locked h0");
	end_world(w);
}

TAP_TEST(locks__jobs_keep_away_and_are_waited_for)
{
	struct world *w = new_world();
	struct job job = {.ranks = 6, .nodes = 3, .cores = 1}, any = {.ranks = 1, .cores = 1};
	struct plan plan = {0};
	char why[512];

	w->f.nodes[1].n_jobs = 1;
	is_str(ask(w, &w->ann, lock("h0", NULL, "x")), "locked h0");
	ask(w, &w->bob, lock("h1", "h2", "xw"));
	is_int(plan_place(&w->f.d, 9, &job, &plan, why, sizeof(why)), -EBUSY);
	ok(begins(why, "waits: hosts h0 and 2 more are locked by user 70001 since 20"));
	/* Job 1 was there before the request for h1 and h2 came. */
	is_int(plan_place(&w->f.d, 1, &any, &plan, why, sizeof(why)), 0);
	is_int(plan.place[0].host, 2);
	plan_fini(&plan);
	is_int(plan_place(&w->f.d, 9, &any, &plan, why, sizeof(why)), -EBUSY);
	w->f.nodes[1].n_jobs = 0;
	jobs_plan(&w->f.d);
	is_str(hear(w, &w->bob), "locked h1,h2");
	ask(w, &w->ann, about(OP_UNLOCK, 1));
	is_int(plan_place(&w->f.d, 9, &any, &plan, why, sizeof(why)), 0);
	is_int(plan.place[0].host, 0);
	plan_fini(&plan);
	end_world(w);
}
