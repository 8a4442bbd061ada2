/* SPDX-License-Identifier: BSD-3-Clause */
/* The switch thread against groups that only write down when they were frozen. */
#include "scheduler/scnoded/turn.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "tests/harness/tap.h"

#define QUANTUM_NS 20000000ull
#define EVENTS 256

struct cgroup {
	uint64_t id;
	bool is_frozen;
};

static struct event {
	uint64_t id, at_ns;
	bool is_frozen;
} events[EVENTS];
static int n_events;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

int cgroup_freeze(struct cgroup *group, bool is_frozen)
{
	pthread_mutex_lock(&lock);
	if (n_events < EVENTS && group->is_frozen != is_frozen)
		events[n_events++] = (struct event){group->id, now_ns(), is_frozen};
	group->is_frozen = is_frozen;
	pthread_mutex_unlock(&lock);
	return 0;
}

bool cgroup_is_frozen(const struct cgroup *group)
{
	bool is_frozen;

	pthread_mutex_lock(&lock);
	is_frozen = group->is_frozen;
	pthread_mutex_unlock(&lock);
	return is_frozen;
}

static int count_events(void)
{
	int n;

	pthread_mutex_lock(&lock);
	n = n_events;
	pthread_mutex_unlock(&lock);
	return n;
}

static struct slots *table(uint64_t begins_ns, uint32_t n_rows, uint64_t rows1, uint64_t rows2)
{
	struct slots *s = calloc(1, sizeof(*s));

	*s = (struct slots){
		.begins_ns = begins_ns, .quantum_ns = QUANTUM_NS, .n_rows = n_rows, .n_jobs = 2};
	s->jobs = calloc(2, sizeof(*s->jobs));
	s->jobs[0] = (struct slots_job){.id = 1, .rows = rows1};
	s->jobs[1] = (struct slots_job){.id = 2, .rows = rows2};
	return s;
}

static void sleep_until(uint64_t ns)
{
	struct timespec ts = {.tv_sec = (time_t)(ns / 1000000000ull),
			      .tv_nsec = (long)(ns % 1000000000ull)};

	while (clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &ts, NULL))
		;
}

static struct cgroup one, two;

static struct turn *two_jobs(void)
{
	struct turn *turn = turn_open();

	n_events = 0;
	one = (struct cgroup){.id = 1};
	two = (struct cgroup){.id = 2};
	if (turn) {
		turn_take(turn, 1, &one);
		turn_take(turn, 2, &two);
	}
	return turn;
}

TAP_TEST(turn__nobody_is_frozen_without_a_table)
{
	struct turn *turn = two_jobs();

	must(turn);
	is_int(count_events(), 0);
	turn_close(turn);
	is_int(count_events(), 0);
}

/* Two jobs, 15 quanta: they alternate, and never run both once the first switch is over. */
TAP_TEST(turn__two_jobs_alternate)
{
	uint64_t begins = now_ns() + QUANTUM_NS, ran[2] = {0}, since[2] = {0}, late;
	struct turn *turn = two_jobs();
	struct turn_counts counts;

	must(turn);
	turn_table(turn, table(begins, 2, 1, 2));
	sleep_until(begins + 15 * QUANTUM_NS + QUANTUM_NS / 2);
	turn_counts(turn, &counts);
	late = (now_ns() - begins) / QUANTUM_NS - 15; /* we slept longer: the switches went on */
	turn_close(turn);
	okf(counts.done >= 13 && counts.done <= 16 + late, "%d switches, %d quanta late",
	    (int)counts.done, (int)late);
	okf(events[0].id == 2 && events[0].is_frozen, "the second job is frozen first");
	for (int e = 1; e + 1 < n_events && e < 29; e += 2)
		okf(events[e].is_frozen && !events[e + 1].is_frozen &&
			    events[e].id != events[e + 1].id,
		    "event %d: frozen before the other is thawed", e);
	for (int e = 0; e < n_events && events[e].at_ns < begins + 15 * QUANTUM_NS; e++) {
		int job = (int)events[e].id - 1;

		if (events[e].is_frozen)
			ran[job] += since[job] ? events[e].at_ns - since[job] : 0;
		else
			since[job] = events[e].at_ns;
	}
	okf(ran[1] > 5 * QUANTUM_NS && ran[1] < 9 * QUANTUM_NS, "the second job ran %llu ms",
	    (unsigned long long)ran[1] / 1000000);
	ok(!cgroup_is_frozen(&one) && !cgroup_is_frozen(&two));
}

TAP_TEST(turn__a_table_waits_for_its_time)
{
	uint64_t begins = now_ns() + 5 * QUANTUM_NS;
	struct turn *turn = two_jobs();

	must(turn);
	turn_table(turn, table(begins, 1, 1, 0));
	sleep_until(begins - 2 * QUANTUM_NS);
	is_int(count_events(), 0);
	sleep_until(begins + 2 * QUANTUM_NS);
	ok(cgroup_is_frozen(&two));
	ok(!cgroup_is_frozen(&one));
	turn_close(turn);
}

TAP_TEST(turn__a_job_that_leaves_is_thawed)
{
	struct turn *turn = two_jobs();

	must(turn);
	turn_table(turn, table(now_ns(), 1, 1, 0));
	sleep_until(now_ns() + QUANTUM_NS);
	ok(cgroup_is_frozen(&two));
	turn_drop(turn, 2);
	ok(!cgroup_is_frozen(&two));
	/* The table still names it, which is nobody's business. */
	sleep_until(now_ns() + 2 * QUANTUM_NS);
	ok(!cgroup_is_frozen(&two));
	turn_close(turn);
}

TAP_TEST(turn__who_comes_later_takes_its_turn)
{
	struct turn *turn = two_jobs();
	struct cgroup three = {.id = 3};

	must(turn);
	turn_table(turn, table(now_ns(), 1, 1, 0));
	turn_drop(turn, 2);
	is_int(turn_take(turn, 3, &three), 0);
	ok(!cgroup_is_frozen(&three));
	is_int(turn_take(turn, 2, &two), 0);
	sleep_until(now_ns() + QUANTUM_NS);
	ok(cgroup_is_frozen(&two));
	turn_table(turn, table(now_ns(), 1, 0, 1));
	sleep_until(now_ns() + QUANTUM_NS);
	ok(cgroup_is_frozen(&one) && !cgroup_is_frozen(&two) && !cgroup_is_frozen(&three));
	turn_close(turn);
}

/* Tables come faster than they begin: only the last counts. */
TAP_TEST(turn__many_tables)
{
	struct turn *turn = two_jobs();

	must(turn);
	for (int i = 0; i < 200; i++)
		turn_table(turn,
			   table(now_ns() + (i % 3) * QUANTUM_NS / 8, 2, 1 + (i & 1), 2 - (i & 1)));
	turn_table(turn, table(now_ns(), 1, 0, 0));
	sleep_until(now_ns() + QUANTUM_NS);
	ok(cgroup_is_frozen(&one) && cgroup_is_frozen(&two));
	turn_close(turn);
	ok(!cgroup_is_frozen(&one) && !cgroup_is_frozen(&two));
}
