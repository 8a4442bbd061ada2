// SPDX-License-Identifier: BSD-3-Clause
/* keep: when the thread that keeps PM's timers wakes, in time that is a variable. */
#include "mpi-glue/common/keep.h"
#include "tests/harness/tap.h"

enum { NEVER = -1, SECOND_MS = 1000, LOOK_MS = 10 /* what PM says while packets are under way */ };

/* A program, its network and the thread. Times in ms. */
struct world {
	int now;
	int back;    /* the program calls MPI, and stays there for a doze; NEVER */
	int acked;   /* all is acknowledged from then on; NEVER: it never is */
	int wakes;   /* of the thread */
	int rounds;  /* it gave PM */
	int longest; /* time between two rounds */
	int last;    /* round */
	int next;    /* the thread wakes then */
	bool is_marked;
	struct keep keep;
};

static void be_back(struct world *w)
{
	w->is_marked = false;
	/* the same as mtl_pm_lock.c does */
	if (keep_back(&w->keep))
		w->next = w->now;
}

static void wake(struct world *w)
{
	bool is_owed = w->acked == NEVER || w->now < w->acked;

	w->wakes++;
	if (!w->is_marked) {
		w->is_marked = true;
		w->next = w->now + KEEP_DOZE_MS;
		return;
	}
	if (w->rounds++ && w->now - w->last > w->longest)
		w->longest = w->now - w->last;
	w->last = w->now;
	w->next = w->now + keep_looked(&w->keep, is_owed, is_owed ? LOOK_MS : -1);
}

static void run(struct world *w, int until)
{
	for (; w->now < until; w->now++) {
		if (w->now == w->back)
			be_back(w);
		if (w->now == w->next)
			wake(w);
	}
}

TAP_TEST(keep_looked__nothing_owed_is_a_rest_with_a_round_each_second)
{
	struct world w = {.back = NEVER};

	run(&w, 100 * SECOND_MS);
	is_int(w.longest, KEEP_REST_MS);
	/* and another one right after it, for what the first one took */
	ok(w.rounds > 195 && w.rounds <= 200);
}

TAP_TEST(keep_looked__rounds_come_when_PM_wants_them)
{
	struct world w = {.back = NEVER, .acked = KEEP_DOZE_MS + 4 * LOOK_MS};

	run(&w, SECOND_MS);
	is_int(w.rounds, 6);
	is_int(w.longest, LOOK_MS);
	is_int(w.keep.state, KEEP_RESTS);
}

/* PM's time stands still while nobody looks, beyond what it was told of. */
TAP_TEST(keep_looked__a_silent_peer_is_asked_at_the_same_pace)
{
	struct world w = {.back = NEVER, .acked = NEVER};

	run(&w, 10 * SECOND_MS);
	is_int(w.longest, KEEP_PACE_MS);
	w.acked = w.now;
	run(&w, w.now + SECOND_MS / 2);
	is_int(w.keep.state, KEEP_RESTS);
}

TAP_TEST(keep_looked__a_deadline_is_kept_and_none_is_the_pace)
{
	struct keep k = {.state = KEEP_DOZES};

	is_int(keep_looked(&k, true, 3), 3);
	is_int(keep_looked(&k, true, 0), KEEP_PACE_MS);
	is_int(keep_looked(&k, true, -1), KEEP_PACE_MS);
	is_int(keep_looked(&k, true, 1000000), KEEP_PACE_MS);
	is_int(k.state, KEEP_KEEPS);
}

TAP_TEST(keep_looked__rests_after_two_rounds_with_nothing_owed)
{
	struct keep k = {.state = KEEP_DOZES};

	is_int(keep_looked(&k, false, -1), KEEP_SETTLE_MS);
	is_int(keep_looked(&k, true, -1), KEEP_PACE_MS);
	is_int(keep_looked(&k, false, -1), KEEP_SETTLE_MS);
	is_int(keep_looked(&k, false, -1), KEEP_REST_MS);
	is_int(keep_looked(&k, false, -1), KEEP_SETTLE_MS);
	is_int(keep_looked(&k, false, -1), KEEP_REST_MS);
	is_int(keep_looked(&k, true, -1), KEEP_PACE_MS);
}

TAP_TEST(keep_back__a_rest_ends)
{
	struct world w = {.back = 3 * SECOND_MS, .acked = NEVER};

	run(&w, w.back);
	w.longest = 0;
	run(&w, w.back + KEEP_DOZE_MS);
	is_int(w.keep.state, KEEP_DOZES);
	w.acked = w.back + 1;
	run(&w, 5 * SECOND_MS);
	is_int(w.keep.state, KEEP_RESTS);
	ok(!keep_back(&(struct keep){.state = KEEP_KEEPS}));
	ok(!keep_back(&(struct keep){.state = KEEP_SETTLES}));
	ok(keep_back(&w.keep));
	is_int(w.keep.state, KEEP_DOZES);
}

TAP_TEST(keep_back__a_program_in_MPI_costs_a_look_each_doze)
{
	struct world w = {.acked = NEVER};

	while (w.now < 10 * SECOND_MS) {
		w.back = w.now;
		run(&w, w.now + KEEP_DOZE_MS / 2);
	}
	is_int(w.rounds, 0);
	ok(w.wakes <= 10 * SECOND_MS / KEEP_DOZE_MS + 1);
}
