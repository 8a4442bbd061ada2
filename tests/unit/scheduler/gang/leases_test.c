// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/gang/leases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/harness/tap.h"

#define HOSTS 3
#define MOST 16 /* leases of one test */
#define LEASE_S 60.0

/* Leases 1, 2, ...; each has its own list of hosts. */
struct world {
	struct leases leases;
	struct lease lease[MOST + 1];
	uint32_t hosts[MOST + 1][HOSTS];
	uint64_t last;
	bool has_job[HOSTS], is_down[HOSTS];
	struct lease_list losers;
	double now;
	char said[256]; /* who got what: "1:012 3:1 " */
};

static bool has_job(void *arg, uint32_t host)
{
	return ((const struct world *)arg)->has_job[host];
}

static bool is_usable(void *arg, uint32_t host)
{
	return !((const struct world *)arg)->is_down[host];
}

static void open_world(struct world *w)
{
	memset(w, 0, sizeof(*w));
	TAILQ_INIT(&w->losers);
	w->leases.has_job = has_job;
	w->leases.is_usable = is_usable;
	w->leases.arg = w;
	leases_init(&w->leases);
}

/*
 * Hosts as digits: "02". @how: x exclusive, s shared, then a user, then f forced, c scattered.
 * Number 0: all.
 */
static struct lease *add(struct world *w, const char *hosts, const char *how, size_t n)
{
	struct lease *lease = &w->lease[++w->last];

	*lease = (struct lease){.id = w->last,
				.uid = (uint32_t)how[1],
				.is_exclusive = how[0] == 'x',
				.is_forced = strchr(how + 2, 'f'),
				.may_scatter = strchr(how + 2, 'c'),
				.hosts = w->hosts[w->last],
				.n_hosts = strlen(hosts),
				.lease_s = LEASE_S};
	lease->n_wanted = n ? n : lease->n_hosts;
	for (size_t i = 0; hosts[i]; i++)
		lease->hosts[i] = (uint32_t)(hosts[i] - '0');
	leases_add(&w->leases, lease);
	return lease;
}

/* Grants what can be granted now; the leases and their hosts, as "1:01 3:2". */
static const char *grant(struct world *w)
{
	struct lease *lease;
	char *at = w->said;

	*at = 0;
	while ((lease = leases_next(&w->leases, w->now, &w->losers))) {
		at += sprintf(at, "%s%llu:", at == w->said ? "" : " ",
			      (unsigned long long)lease->id);
		for (size_t i = 0; i < lease->n_hosts; i++)
			at += sprintf(at, "%u", lease->hosts[i]);
	}
	return w->said;
}

static const char *ask(struct world *w, const char *hosts, const char *how, size_t n)
{
	add(w, hosts, how, n);
	return grant(w);
}

static const char *give_back(struct world *w, uint64_t id)
{
	leases_remove(&w->leases, &w->lease[id]);
	return grant(w);
}

static uint64_t in_way(const struct world *w, uint64_t id, uint32_t host)
{
	const struct lease *other = leases_in_way(&w->leases, &w->lease[id], host);

	return other ? other->id : 0;
}

TAP_TEST(leases__exclusive_and_shared)
{
	struct world w;

	open_world(&w);
	is_str(ask(&w, "01", "xA", 0), "1:01");
	is_str(ask(&w, "12", "sB", 0), "");
	is_str(ask(&w, "2", "sC", 0), "3:2");
	is_int(in_way(&w, 2, 1), 1);
	is_int(in_way(&w, 2, 2), 0);
	is_str(give_back(&w, 1), "2:12");
	is_str(ask(&w, "2", "xA", 0), "");
	is_int(in_way(&w, 4, 2), 2);
	is_str(give_back(&w, 2), "");
	is_str(give_back(&w, 3), "4:2");
	leases_fini(&w.leases);
}

TAP_TEST(leases__own_shared_beside_own_exclusive)
{
	struct world w;

	open_world(&w);
	ask(&w, "0", "xA", 0);
	is_str(ask(&w, "0", "xB", 0), "");
	/* The elder is not overtaken: it waits for the exclusive one in any case. */
	is_str(ask(&w, "0", "sA", 0), "3:0");
	is_str(ask(&w, "0", "xA", 0), "");
	is_str(give_back(&w, 1), "");
	is_int(in_way(&w, 2, 0), 3);
	is_str(give_back(&w, 3), "2:0");
	leases_fini(&w.leases);
}

TAP_TEST(leases__nobody_overtakes_on_a_host_that_both_want)
{
	struct world w;

	open_world(&w);
	ask(&w, "0", "xA", 0);
	is_str(ask(&w, "01", "xB", 0), "");
	is_str(ask(&w, "1", "xC", 0), "");
	is_str(ask(&w, "1", "sD", 0), "");
	is_str(ask(&w, "2", "xC", 0), "5:2");
	is_int(in_way(&w, 3, 1), 2);
	is_int(leases_position(&w.leases, &w.lease[4]), 2);
	is_str(give_back(&w, 2), "3:1");
	is_str(give_back(&w, 3), "4:1");
	leases_fini(&w.leases);
}

TAP_TEST(leases__jobs)
{
	struct world w;

	open_world(&w);
	w.has_job[1] = true;
	is_str(ask(&w, "01", "xA", 0), "");
	is_str(ask(&w, "01", "sB", 0), "");
	ok(leases_keep_off(&w.leases, 0, 2) == &w.lease[1]);
	ok(!leases_keep_off(&w.leases, 0, 1)); /* an older job */
	ok(!leases_keep_off(&w.leases, 2, 9));
	w.has_job[1] = false;
	is_str(grant(&w), "1:01");
	ok(leases_keep_off(&w.leases, 1, 1) == &w.lease[1]);
	is_str(give_back(&w, 1), "2:01");
	ok(!leases_keep_off(&w.leases, 1, 9));
	leases_fini(&w.leases);
}

TAP_TEST(leases__any_that_many)
{
	struct world w;

	open_world(&w);
	ask(&w, "1", "xA", 0);
	is_str(ask(&w, "012", "xB", 2), "");
	is_str(give_back(&w, 2), "");
	is_str(ask(&w, "012", "xBc", 2), "3:02");
	is_str(give_back(&w, 3), "");
	is_str(ask(&w, "012", "xB", 1), "4:0");
	is_str(give_back(&w, 1), "");
	is_str(ask(&w, "201", "xC", 2), "");
	is_str(give_back(&w, 4), "5:20");
	is_str(give_back(&w, 5), "");
	w.is_down[0] = true;
	is_str(ask(&w, "012", "xB", 2), "6:12");
	/* A request for all of its hosts gets them, also one that is down. */
	is_str(ask(&w, "0", "xB", 0), "7:0");
	leases_fini(&w.leases);
}

TAP_TEST(leases__force)
{
	struct world w;

	open_world(&w);
	ask(&w, "01", "xA", 0);
	ask(&w, "2", "sB", 0);
	ask(&w, "2", "xC", 0);
	w.has_job[0] = true;
	is_str(ask(&w, "012", "xRf", 0), "");
	w.has_job[0] = false;
	is_str(grant(&w), "4:012");
	ok(TAILQ_FIRST(&w.losers) == &w.lease[1]);
	ok(TAILQ_LAST(&w.losers, lease_list) == &w.lease[2]);
	ok(!w.lease[1].is_held && !w.lease[2].is_held);
	ok(!leases_find(&w.leases, 1) && leases_find(&w.leases, 3) == &w.lease[3]);
	is_str(give_back(&w, 4), "3:2");
	/* Free ones are enough: nobody loses any. */
	TAILQ_INIT(&w.losers);
	is_str(ask(&w, "210", "xRf", 1), "5:1");
	ok(TAILQ_EMPTY(&w.losers));
	leases_fini(&w.leases);
}

TAP_TEST(leases__time)
{
	struct world w;
	struct lease old = {.id = 90, .uid = 1, .is_exclusive = true, .lease_s = LEASE_S};
	uint32_t host = 1;

	open_world(&w);
	ask(&w, "0", "sA", 0);
	old.hosts = &host;
	old.n_hosts = old.n_wanted = 1;
	w.now = 30;
	is_int(leases_restore(&w.leases, &old, w.now), 0);
	ok(leases_keep_off(&w.leases, 1, 5) == &old);
	ok(!leases_expired(&w.leases, 59.9));
	ok(leases_expired(&w.leases, 60) == &w.lease[1]);
	leases_renew(&w.lease[1], 59);
	ok(leases_expired(&w.leases, 90) == &old);
	leases_remove(&w.leases, &old);
	ok(!leases_expired(&w.leases, 118));
	leases_fini(&w.leases);
}

/* ---- all courses of a few requests ---- */

static bool wants(const struct lease *lease, uint32_t host)
{
	for (size_t i = 0; i < lease->n_hosts; i++)
		if (lease->hosts[i] == host)
			return true;
	return false;
}

static bool do_exclude(const struct lease *a, const struct lease *b)
{
	return (a->is_exclusive || b->is_exclusive) &&
	       !(a->uid == b->uid && a->is_exclusive != b->is_exclusive);
}

static bool do_meet(const struct lease *a, const struct lease *b)
{
	for (uint32_t h = 0; h < HOSTS; h++)
		if (wants(a, h) && wants(b, h))
			return true;
	return false;
}

enum fate { NOT_YET, WAITING, HELD, OVER };

struct course {
	struct world w;
	enum fate fate[MOST + 1];
	const char *wrong;
};

/* A lease that is held excludes no other one that is held. A waiting one has a reason to wait. */
static void judge(struct course *c, uint64_t n)
{
	for (uint64_t a = 1; a <= n; a++) {
		bool has_reason = false;

		for (uint64_t b = 1; b <= n; b++) {
			bool is_hard = a != b && do_meet(&c->w.lease[a], &c->w.lease[b]) &&
				       (c->w.lease[a].is_exclusive || c->w.lease[b].is_exclusive);

			if (c->fate[a] == HELD && c->fate[b] == HELD && is_hard &&
			    do_exclude(&c->w.lease[a], &c->w.lease[b]))
				c->wrong = "two that exclude each other have a host";
			has_reason |= is_hard &&
				      (c->fate[b] == HELD || (c->fate[b] == WAITING && b < a));
		}
		for (uint32_t h = 0; h < HOSTS; h++)
			has_reason |= c->w.lease[a].is_exclusive && wants(&c->w.lease[a], h) &&
				      c->w.has_job[h];
		if (c->fate[a] == WAITING && !has_reason)
			c->wrong = "one waits for nothing";
	}
}

/*
 * Whether they want a host alone, or from each other, that is not the lock of the younger one's
 * user already.
 */
static bool compete(const struct course *c, const struct lease *elder, const struct lease *lease)
{
	for (uint32_t h = 0; h < HOSTS; h++) {
		const struct lease *exclusive =
			h < c->w.leases.n_hosts ? c->w.leases.hosts[h].exclusive : NULL;

		if (wants(elder, h) && wants(lease, h) &&
		    (lease->is_exclusive ||
		     (elder->is_exclusive && !(exclusive && exclusive->uid == lease->uid))))
			return true;
	}
	return false;
}

/* Grants what there is to grant; in order where hosts are shared. */
static void go_on(struct course *c, uint64_t n)
{
	struct lease *lease;

	while ((lease = leases_next(&c->w.leases, 0, &c->w.losers))) {
		c->fate[lease->id] = HELD;
		for (uint64_t elder = 1; elder < lease->id; elder++)
			if (c->fate[elder] == WAITING && compete(c, &c->w.lease[elder], lease))
				c->wrong = "an elder one was overtaken";
	}
	judge(c, n);
}

static void end_one(struct course *c, uint64_t id, uint64_t n)
{
	if (c->fate[id] == OVER)
		return;
	leases_remove(&c->w.leases, &c->w.lease[id]);
	c->fate[id] = OVER;
	go_on(c, n);
}

/* All who are left end when they have had their hosts: each of them gets there. */
static void end_all(struct course *c, uint64_t n)
{
	for (uint64_t round = 0; round <= n; round++)
		for (uint64_t id = 1; id <= n; id++)
			if (c->fate[id] == HELD)
				end_one(c, id, n);
	for (uint64_t id = 1; id <= n; id++)
		if (c->fate[id] != OVER)
			c->wrong = "one starves";
}

static const char *const host_sets[] = {"0", "1", "2", "01", "12", "20", "012"};
#define SETS 7
#define KINDS (SETS * 3) /* exclusive, shared of the same user, shared of another */

static void ask_kind(struct course *c, unsigned int kind, uint64_t n)
{
	static const char *const how[] = {"xA", "sA", "sB"};
	struct lease *lease = add(&c->w, host_sets[kind % SETS], how[kind / SETS], 0);

	c->fate[lease->id] = WAITING;
	go_on(c, n);
}

/*
 * @order: for each step, who: the first time it asks, the second it gives up or back. All orders of
 * two steps for each of three requests in which they ask one after the other.
 */
static void run_course(struct course *c, const unsigned int *kinds, const char *order)
{
	memset(c, 0, sizeof(*c));
	open_world(&c->w);
	for (; *order; order++) {
		uint64_t id = (uint64_t)(*order - '0');

		if (c->fate[id] == NOT_YET)
			ask_kind(c, kinds[id - 1], c->w.last + 1);
		else
			end_one(c, id, c->w.last);
	}
	end_all(c, c->w.last);
	leases_fini(&c->w.leases);
}

TAP_TEST(leases__all_courses_of_three_requests)
{
	static const char *const orders[] = {"123123", "123132", "123213", "123231", "123312",
					     "123321", "121323", "121332", "121233", "112233",
					     "112323", "112332", "122133", "122313", "122331",
					     "123",    "1223",   "1213",   "1123"};
	struct course *c = malloc(sizeof(*c));
	unsigned int kinds[3], courses = 0, wrong = 0;

	for (unsigned int k = 0; k < KINDS * KINDS * KINDS; k++)
		for (size_t o = 0; o < sizeof(orders) / sizeof(orders[0]); o++) {
			kinds[0] = k % KINDS;
			kinds[1] = k / KINDS % KINDS;
			kinds[2] = k / KINDS / KINDS;
			run_course(c, kinds, orders[o]);
			courses++;
			if (c->wrong && !wrong++)
				tap_diag("kinds %u %u %u, order %s: %s", kinds[0], kinds[1],
					 kinds[2], orders[o], c->wrong);
		}
	is_int(courses, 19 * KINDS * KINDS * KINDS);
	is_int(wrong, 0);
	free(c);
}

/* ---- at random: counts, force, jobs as well ---- */

static void step(struct course *c, uint64_t *state)
{
	static const char *const how[] = {"xA", "xBc", "sA", "sC", "xCf"};
	uint64_t id = c->w.last ? 1 + tap_rand(state) % c->w.last : 0;

	if (c->w.last < MOST && tap_rand(state) % 2) {
		const char *hosts = host_sets[tap_rand(state) % SETS];
		struct lease *lease = add(&c->w, hosts, how[tap_rand(state) % 5],
					  1 + tap_rand(state) % strlen(hosts));

		c->fate[lease->id] = WAITING;
	} else if (id && c->fate[id] != OVER) {
		leases_remove(&c->w.leases, &c->w.lease[id]);
		c->fate[id] = OVER;
	}
}

static bool keeps_apart(const struct course *c)
{
	for (uint64_t a = 1; a <= c->w.last; a++)
		for (uint64_t b = 1; b < a; b++)
			if (c->fate[a] == HELD && c->fate[b] == HELD &&
			    do_meet(&c->w.lease[a], &c->w.lease[b]) &&
			    do_exclude(&c->w.lease[a], &c->w.lease[b]))
				return false;
	return true;
}

static bool random_course(struct course *c, uint64_t *state)
{
	struct lease *lease;
	bool is_good = true;

	memset(c, 0, sizeof(*c));
	open_world(&c->w);
	for (unsigned int s = 0; s < 6 * MOST; s++) {
		uint32_t host = (uint32_t)(tap_rand(state) % HOSTS);

		/* A job starts only where nobody keeps it off. */
		c->w.has_job[host] = !c->w.has_job[host] &&
				     !leases_keep_off(&c->w.leases, host, UINT64_MAX);
		step(c, state);
		while ((lease = leases_next(&c->w.leases, 0, &c->w.losers))) {
			c->fate[lease->id] = HELD;
			for (uint32_t h = 0; lease->is_exclusive && h < HOSTS; h++)
				is_good &= !(wants(lease, h) && c->w.has_job[h]);
		}
		while ((lease = TAILQ_FIRST(&c->w.losers))) {
			TAILQ_REMOVE(&c->w.losers, lease, entry);
			c->fate[lease->id] = OVER;
		}
		is_good &= keeps_apart(c);
	}
	memset(c->w.has_job, 0, sizeof(c->w.has_job));
	for (uint64_t id = 1; id <= c->w.last; id++)
		if (c->fate[id] == HELD)
			leases_remove(&c->w.leases, &c->w.lease[id]);
	while ((lease = leases_next(&c->w.leases, 0, &c->w.losers)))
		leases_remove(&c->w.leases, lease);
	is_good &= TAILQ_EMPTY(&c->w.leases.waiting) && TAILQ_EMPTY(&c->w.leases.held);
	for (size_t h = 0; h < c->w.leases.n_hosts; h++)
		is_good &= !c->w.leases.hosts[h].exclusive && !c->w.leases.hosts[h].n_shared &&
			   !c->w.leases.hosts[h].wanted;
	leases_fini(&c->w.leases);
	return is_good;
}

TAP_TEST(leases__random_courses_with_counts_force_and_jobs)
{
	struct course *c = malloc(sizeof(*c));
	uint64_t state = tap_seed();
	unsigned int wrong = 0;

	for (int i = 0; i < 20000; i++)
		wrong += !random_course(c, &state);
	is_int(wrong, 0);
	free(c);
}
