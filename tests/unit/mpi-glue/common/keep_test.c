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
	int next;    /* the thread wakes then; KEEP_FOR_GOOD */
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
	w->wakes++;
	if (!w->is_marked) {
		w->is_marked = true;
		w->next = w->now + KEEP_DOZE_MS;
		return;
	}
	if (w->rounds++ && w->now - w->last > w->longest)
		w->longest = w->now - w->last;
	w->last = w->now;
	w->next = keep_looked(&w->keep, w->acked == NEVER || w->now < w->acked,
			      w->acked == NEVER || w->now < w->acked ? LOOK_MS : -1);
	if (w->next != KEEP_FOR_GOOD)
		w->next += w->now;
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

TAP_TEST(keep_looked__nothing_owed_is_for_good)
{
	struct world w = {.back = NEVER};

	run(&w, 1000 * SECOND_MS);
	is_int(w.wakes, 2);
	is_int(w.rounds, 1);
	is_int(w.next, KEEP_FOR_GOOD);
}

TAP_TEST(keep_looked__the_first_rounds_come_when_PM_wants_them)
{
	struct world w = {.back = NEVER, .acked = KEEP_DOZE_MS + 4 * LOOK_MS};

	run(&w, SECOND_MS);
	is_int(w.rounds, 5);
	is_int(w.longest, LOOK_MS);
	is_int(w.next, KEEP_FOR_GOOD);
}

TAP_TEST(keep_looked__a_silent_peer_is_asked_more_seldom)
{
	struct world w = {.back = NEVER, .acked = NEVER};

	run(&w, 10 * SECOND_MS);
	ok(w.wakes < 40);
	is_int(w.longest, KEEP_PAUSE_MAX_MS);
	/* and heard when it comes back at last */
	w.acked = w.now;
	run(&w, w.now + SECOND_MS);
	is_int(w.next, KEEP_FOR_GOOD);
}

TAP_TEST(keep_looked__without_a_deadline_the_pause_begins_small)
{
	struct keep k = {.state = KEEP_DOZES};

	is_int(keep_looked(&k, true, -1), KEEP_PAUSE_MIN_MS);
	is_int(keep_looked(&k, true, -1), 2 * KEEP_PAUSE_MIN_MS);
	is_int(keep_looked(&k, true, 1000000), KEEP_PAUSE_MAX_MS);
	is_int(k.state, KEEP_KEEPS);
}

TAP_TEST(keep_back__a_rest_ends_and_pauses_are_small_again)
{
	struct world w = {.back = 3 * SECOND_MS, .acked = NEVER};

	run(&w, w.back);
	w.longest = 0;
	run(&w, w.back + 2 * KEEP_DOZE_MS);
	is_int(w.keep.state, KEEP_DOZES);
	w.acked = w.back + 1;
	run(&w, 5 * SECOND_MS);
	is_int(w.keep.state, KEEP_RESTS);
	ok(!keep_back(&(struct keep){.state = KEEP_KEEPS, .pause_ms = 64}));
	ok(keep_back(&w.keep));
	is_int(w.keep.pause_ms, 0);
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
