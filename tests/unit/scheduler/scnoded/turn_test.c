// SPDX-License-Identifier: BSD-3-Clause
/* The switch thread against groups that only write down when they were frozen. */
#include "scheduler/scnoded/turn.h"

#include <pthread.h>
#include <stdlib.h>

#include "scheduler/scnoded/nap.h"
#include "tests/harness/tap.h"

#define QUANTUM_NS 20000000ull
#define EVENTS 256

struct cgroup {
	uint64_t id;
	bool is_frozen;
	int n_failing; /* so many times freezing misses a process of it */
};

static struct event {
	uint64_t id, at_ns;
	bool is_frozen;
} events[EVENTS];
static int n_events;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The clock of slot tables stands still until a test moves it on. */
static pthread_mutex_t clock_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t clock_news = PTHREAD_COND_INITIALIZER;
static uint64_t clock_ns = 1000000 * QUANTUM_NS;
static uint64_t set_ns; /* by how much it was set */
static pthread_t tester;

/* The word and the deadline that the switch thread waits for; word is NULL while it is awake. */
static struct {
	atomic_uint *word;
	unsigned int seen;
	uint64_t until_ns;
} asleep;

static bool is_over(atomic_uint *word, unsigned int seen, uint64_t until_ns)
{
	return atomic_load(word) != seen || clock_ns >= until_ns;
}

uint64_t nap_clock_ns(void)
{
	uint64_t ns;

	pthread_mutex_lock(&clock_lock);
	ns = clock_ns;
	pthread_mutex_unlock(&clock_lock);
	return ns;
}

uint64_t nap_steady_ns(void)
{
	uint64_t ns;

	pthread_mutex_lock(&clock_lock);
	ns = clock_ns - set_ns;
	pthread_mutex_unlock(&clock_lock);
	return ns;
}

void nap_until(atomic_uint *word, unsigned int seen, uint64_t until_ns)
{
	bool is_switch = !pthread_equal(pthread_self(), tester);

	pthread_mutex_lock(&clock_lock);
	if (is_switch) {
		asleep.word = word;
		asleep.seen = seen;
		asleep.until_ns = until_ns;
		pthread_cond_broadcast(&clock_news);
	}
	while (!is_over(word, seen, until_ns))
		pthread_cond_wait(&clock_news, &clock_lock);
	if (is_switch)
		asleep.word = NULL;
	pthread_mutex_unlock(&clock_lock);
}

void nap_end(atomic_uint *word)
{
	pthread_mutex_lock(&clock_lock);
	atomic_fetch_add(word, 1);
	pthread_cond_broadcast(&clock_news);
	pthread_mutex_unlock(&clock_lock);
}

/* Until the switch thread has done what is due and sleeps. With clock_lock held. */
static void wait_asleep(void)
{
	while (!asleep.word || is_over(asleep.word, asleep.seen, asleep.until_ns))
		pthread_cond_wait(&clock_news, &clock_lock);
}

/*
 * Moves the clock on once the switch thread has done what was due before, and waits until it has
 * done what is now.
 */
static void advance_to(uint64_t ns)
{
	pthread_mutex_lock(&clock_lock);
	wait_asleep();
	clock_ns = ns;
	pthread_cond_broadcast(&clock_news);
	wait_asleep();
	pthread_mutex_unlock(&clock_lock);
}

/* Somebody sets the clock; the kernel ends a nap whose moment is past by then. */
static void set_clock(int64_t by_ns)
{
	pthread_mutex_lock(&clock_lock);
	wait_asleep();
	clock_ns += (uint64_t)by_ns;
	set_ns += (uint64_t)by_ns;
	pthread_cond_broadcast(&clock_news);
	wait_asleep();
	pthread_mutex_unlock(&clock_lock);
}

int cgroup_freeze(struct cgroup *group, bool is_frozen)
{
	pthread_mutex_lock(&lock);
	if (is_frozen && group->n_failing) {
		group->n_failing--;
		is_frozen = false;
	}
	if (n_events < EVENTS && group->is_frozen != is_frozen)
		events[n_events++] = (struct event){group->id, nap_clock_ns(), is_frozen};
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

static struct cgroup one, two;

static struct turn *two_jobs(void)
{
	struct turn *turn;

	tester = pthread_self();
	turn = turn_open();
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
	uint64_t begins = nap_clock_ns() + QUANTUM_NS, ran[2] = {0}, since[2] = {0};
	struct turn *turn = two_jobs();
	struct turn_counts counts;

	must(turn);
	turn_table(turn, table(begins, 2, 1, 2));
	for (uint64_t q = 0; q <= 15; q++)
		advance_to(begins + q * QUANTUM_NS);
	turn_counts(turn, &counts);
	turn_close(turn);
	is_int(counts.done, 16);
	is_int(counts.late, 0);
	okf(events[0].id == 2 && events[0].is_frozen, "the second job is frozen first");
	for (int e = 1; e < 31; e += 2)
		okf(events[e].is_frozen && !events[e + 1].is_frozen &&
			    events[e].id != events[e + 1].id,
		    "event %d: frozen before the other is thawed", e);
	for (int e = 0; e < n_events; e++) {
		int job = (int)events[e].id - 1;

		if (events[e].is_frozen)
			ran[job] += since[job] ? events[e].at_ns - since[job] : 0;
		else
			since[job] = events[e].at_ns;
	}
	is_int(ran[1], 7 * QUANTUM_NS);
	ok(!cgroup_is_frozen(&one) && !cgroup_is_frozen(&two));
}

/* Quanta from now on in which each of the two has run. */
static void goes_on(const char *when)
{
	bool ran[2] = {0};

	for (uint64_t q = 0; q < 4; q++) {
		advance_to(nap_clock_ns() + QUANTUM_NS);
		ran[0] |= !cgroup_is_frozen(&one) && cgroup_is_frozen(&two);
		ran[1] |= cgroup_is_frozen(&one) && !cgroup_is_frozen(&two);
	}
	okf(ran[0] && ran[1], "both have turns %s", when);
}

TAP_TEST(turn__the_clock_is_set)
{
	static const int64_t hour_ns = 3600000000000ll;
	struct turn *turn = two_jobs();
	struct turn_counts counts;

	must(turn);
	turn_table(turn, table(nap_clock_ns(), 2, 1, 2));
	goes_on("before that");
	set_clock(-hour_ns);
	turn_tick(turn);
	goes_on("when it was set back");
	set_clock(hour_ns);
	goes_on("when it was set forwards");
	turn_tick(turn);
	goes_on("when that was seen");
	turn_counts(turn, &counts);
	is_int(counts.late, 0);
	is_int(counts.worst_ns, 0);
	turn_close(turn);
}

TAP_TEST(turn_table__of_a_clock_far_ahead)
{
	uint64_t begins = nap_clock_ns() + 1000000 * QUANTUM_NS;
	struct turn *turn = two_jobs();

	must(turn);
	turn_table(turn, table(begins, 2, 1, 2));
	goes_on("by a table that would begin in hours");
	turn_table(turn, table(begins + QUANTUM_NS, 1, 1, 0));
	advance_to(nap_clock_ns() + QUANTUM_NS);
	ok(!cgroup_is_frozen(&one) && cgroup_is_frozen(&two));
	turn_table(turn, table(begins + 2 * QUANTUM_NS, 1, 0, 1));
	advance_to(nap_clock_ns() + QUANTUM_NS);
	ok(cgroup_is_frozen(&one) && !cgroup_is_frozen(&two));
	turn_close(turn);
}

TAP_TEST(turn__a_late_switch_is_counted)
{
	uint64_t begins = nap_clock_ns();
	struct turn *turn = two_jobs();
	struct turn_counts counts;

	must(turn);
	turn_table(turn, table(begins, 2, 1, 2));
	advance_to(begins + QUANTUM_NS + 2 * TURN_LATE_NS);
	/* Two switches slept over: the same job has its turn again, so there is none. */
	advance_to(begins + 3 * QUANTUM_NS + TURN_LATE_NS);
	advance_to(begins + 4 * QUANTUM_NS + TURN_LATE_NS);
	turn_counts(turn, &counts);
	is_int(counts.done, 2);
	is_int(counts.late, 1);
	is_int(counts.worst_ns, 2 * TURN_LATE_NS);
	is_int(counts.lost_ns, 3 * TURN_LATE_NS);
	ok(!cgroup_is_frozen(&one) && cgroup_is_frozen(&two));
	turn_close(turn);
}

TAP_TEST(turn__a_table_waits_for_its_time)
{
	uint64_t begins = nap_clock_ns() + 5 * QUANTUM_NS;
	struct turn *turn = two_jobs();

	must(turn);
	turn_table(turn, table(begins, 1, 1, 0));
	advance_to(begins - 2 * QUANTUM_NS);
	is_int(count_events(), 0);
	advance_to(begins + 2 * QUANTUM_NS);
	ok(cgroup_is_frozen(&two));
	ok(!cgroup_is_frozen(&one));
	turn_close(turn);
}

TAP_TEST(turn__a_job_that_leaves_is_thawed)
{
	struct turn *turn = two_jobs();

	must(turn);
	turn_table(turn, table(nap_clock_ns(), 1, 1, 0));
	advance_to(nap_clock_ns() + QUANTUM_NS);
	ok(cgroup_is_frozen(&two));
	turn_drop(turn, 2);
	ok(!cgroup_is_frozen(&two));
	/* The table still names it, which is nobody's business. */
	advance_to(nap_clock_ns() + 2 * QUANTUM_NS);
	ok(!cgroup_is_frozen(&two));
	turn_close(turn);
}

/* Three rows, the last of nobody. */
TAP_TEST(turn__what_has_not_stopped_is_frozen_again)
{
	uint64_t begins = nap_clock_ns() + QUANTUM_NS;
	struct turn *turn = two_jobs();
	struct turn_counts counts;

	must(turn);
	one.n_failing = 1;
	turn_table(turn, table(begins, 3, 1, 2));
	advance_to(begins + QUANTUM_NS);
	ok(!cgroup_is_frozen(&one) && !cgroup_is_frozen(&two));
	advance_to(begins + 2 * QUANTUM_NS);
	ok(cgroup_is_frozen(&one) && cgroup_is_frozen(&two));
	advance_to(begins + 3 * QUANTUM_NS);
	ok(!cgroup_is_frozen(&one) && cgroup_is_frozen(&two));
	turn_counts(turn, &counts);
	is_int(counts.slow_freezes, 1);
	turn_close(turn);
}

/* With one row no switch follows: the thread wakes for it until all have stopped. */
TAP_TEST(turn__what_has_not_stopped_for_one_row)
{
	uint64_t begins = nap_clock_ns() + QUANTUM_NS;
	struct turn *turn = two_jobs();

	must(turn);
	two.n_failing = 2;
	turn_table(turn, table(begins, 1, 1, 0));
	advance_to(begins);
	advance_to(begins + QUANTUM_NS);
	ok(!cgroup_is_frozen(&one) && !cgroup_is_frozen(&two));
	advance_to(begins + 2 * QUANTUM_NS);
	ok(!cgroup_is_frozen(&one) && cgroup_is_frozen(&two));
	advance_to(begins + 3 * QUANTUM_NS);
	ok(asleep.until_ns == NAP_FOREVER);
	turn_close(turn);
}

TAP_TEST(turn__who_comes_later_takes_its_turn)
{
	struct turn *turn = two_jobs();
	struct cgroup three = {.id = 3};

	must(turn);
	turn_table(turn, table(nap_clock_ns(), 1, 1, 0));
	turn_drop(turn, 2);
	is_int(turn_take(turn, 3, &three), 0);
	ok(!cgroup_is_frozen(&three));
	is_int(turn_take(turn, 2, &two), 0);
	advance_to(nap_clock_ns() + QUANTUM_NS);
	ok(cgroup_is_frozen(&two));
	turn_table(turn, table(nap_clock_ns(), 1, 0, 1));
	advance_to(nap_clock_ns() + QUANTUM_NS);
	ok(cgroup_is_frozen(&one) && !cgroup_is_frozen(&two) && !cgroup_is_frozen(&three));
	turn_close(turn);
}

/* Tables come faster than they begin: only the last counts. */
TAP_TEST(turn__many_tables)
{
	struct turn *turn = two_jobs();

	must(turn);
	for (int i = 0; i < 200; i++)
		turn_table(turn, table(nap_clock_ns() + (i % 3) * QUANTUM_NS / 8, 2, 1 + (i & 1),
				       2 - (i & 1)));
	turn_table(turn, table(nap_clock_ns(), 1, 0, 0));
	advance_to(nap_clock_ns() + QUANTUM_NS);
	ok(cgroup_is_frozen(&one) && cgroup_is_frozen(&two));
	turn_close(turn);
	ok(!cgroup_is_frozen(&one) && !cgroup_is_frozen(&two));
}
