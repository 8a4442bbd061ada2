// SPDX-License-Identifier: BSD-3-Clause
/*
 * The daemon's main thread makes a new snapshot of the jobs for each change, and hands it over by
 * one pointer. The switch thread takes it at its next look, which a futex brings about at once, and
 * says so. Only then the old one is freed. The switch thread neither allocates nor opens nor
 * searches nor waits for anybody: what it needs stands in the snapshot. Only without cgroups it
 * reads /proc.
 *
 * At a switch those whose turn is over are frozen before the others are thawed, but not waited for:
 * a task stops only when it gets its core, which this thread may hold. Whether they have stopped is
 * looked at before the next switch, and those that have not are frozen again.
 *
 * The clock may be set, ours or scored's. The rows of a table go on before its beginning as they do
 * after it. A table that seems to begin later than any is sent ahead begins now: no job waits for
 * a clock to catch up. A clock that is set forwards ends the nap of the switch thread; for one
 * that is set back turn_tick() does.
 */
#include "scheduler/scnoded/turn.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "scheduler/scnoded/nap.h"

#define PRIORITY 50
#define STACK_BYTES (64 << 10)
#define CLOCK_SET_NS 10000000 /* the clock of the day is further off the steady one: it was set */
/* a table is sent a quantum ahead; of clocks that go right it is no more than so much earlier */
#define AHEAD_NS 1000000000ull

struct entry {
	uint64_t id;
	struct cgroup *group;
	const struct slots_job *now,
		*next;  /* its rows in either table; NULL: not in it, so it runs */
	bool is_frozen; /* as the switch thread has left it */
};

struct snapshot {
	struct entry *jobs;
	size_t n;
	const struct slots *now, *next; /* next holds from its begins_ns on; either may be NULL */
};

struct turn {
	pthread_t thread;
	bool is_realtime;
	_Atomic(struct snapshot *) given; /* NULL: taken */
	atomic_uint news;                 /* futex of the switch thread: grows with each snapshot */
	atomic_uint taken;                /* futex of the main thread: snapshots taken */
	atomic_bool is_ending;
	/* Main thread. */
	struct snapshot *snapshot;
	struct slots *now, *next;
	int64_t offset_ns; /* see was_set() */
	/* Switch thread writes, anybody reads. */
	_Atomic uint64_t done, late, worst_ns, lost_ns, slow_freezes;
};

/* ---- both threads ---- */

/*
 * Was the clock of the day set since the last call? @offset_ns: how far the two clocks were apart
 * then.
 */
static bool was_set(int64_t *offset_ns)
{
	int64_t offset = (int64_t)(nap_clock_ns() - nap_steady_ns()), moved = offset - *offset_ns;

	*offset_ns = offset;
	return moved > CLOCK_SET_NS || moved < -CLOCK_SET_NS;
}

static bool has_begun(const struct slots *slots, uint64_t now_ns)
{
	return now_ns >= slots->begins_ns ||
	       slots->begins_ns - now_ns > slots->quantum_ns + AHEAD_NS;
}

/* ---- the switch thread ---- */

static bool has_turn(const struct entry *job, uint32_t row)
{
	return !job->now || slots_runs(job->now, row);
}

/*
 * Counts the jobs that should be frozen and have not all stopped; with one row no switch waits for
 * them, so they are not counted. Freezes those of them again that have no turn, as cgroup_freeze()
 * wants it. Whether there were such.
 */
static bool freeze_slow(struct turn *turn, const struct snapshot *s, uint32_t row)
{
	bool is_any = false;

	for (size_t j = 0; j < s->n; j++) {
		const struct entry *job = &s->jobs[j];

		if (!job->is_frozen || cgroup_is_frozen(job->group))
			continue;
		turn->slow_freezes += s->now->n_rows > 1;
		if (has_turn(job, row))
			continue;
		cgroup_freeze(job->group, true);
		is_any = true;
	}
	return is_any;
}

/* One pass over all: freezes, or thaws. Whether anybody changed. */
static bool pass(struct snapshot *s, uint32_t row, bool is_freezing)
{
	bool has_changed = false;

	for (size_t j = 0; j < s->n; j++) {
		struct entry *job = &s->jobs[j];

		if (job->is_frozen == is_freezing || has_turn(job, row) == is_freezing)
			continue;
		/* A job that ends has no group to write to any more. */
		cgroup_freeze(job->group, is_freezing);
		job->is_frozen = is_freezing;
		has_changed = true;
	}
	return has_changed;
}

static void count(struct turn *turn, uint64_t planned_ns, uint64_t began_ns)
{
	uint64_t late = began_ns > planned_ns ? began_ns - planned_ns : 0,
		 ended_ns = nap_clock_ns();

	turn->done++;
	turn->late += late > TURN_LATE_NS;
	if (late > turn->worst_ns)
		turn->worst_ns = late;
	turn->lost_ns += ended_ns > planned_ns ? ended_ns - planned_ns : 0;
}

/* Does what is due, and says when to look again. @planned_ns: when this look was to be. */
static uint64_t look(struct turn *turn, struct snapshot *s, uint64_t planned_ns)
{
	uint64_t now_ns = nap_clock_ns(), until_ns = NAP_FOREVER;
	bool has_changed, is_slow;
	uint32_t row;

	if (s->next && has_begun(s->next, now_ns)) {
		s->now = s->next;
		s->next = NULL;
		for (size_t j = 0; j < s->n; j++)
			s->jobs[j].now = s->jobs[j].next;
	}
	if (!s->now)
		return s->next ? s->next->begins_ns : NAP_FOREVER;
	row = slots_row(s->now, now_ns, &until_ns);
	is_slow = freeze_slow(turn, s, row);
	has_changed = pass(s, row, true);
	has_changed |= pass(s, row, false);
	if (has_changed && planned_ns)
		count(turn, planned_ns, now_ns);
	/* One row: nothing more is due, once all that are frozen have been seen to have stopped. */
	if (s->now->n_rows == 1 && !has_changed && !is_slow)
		until_ns = NAP_FOREVER;
	return s->next && s->next->begins_ns < until_ns ? s->next->begins_ns : until_ns;
}

/*
 * Jobs frozen in @old are frozen in @new. Both have nearly the same order: a search begins where
 * the last one ended.
 */
static void adopt(struct snapshot *new, const struct snapshot *old)
{
	size_t n = old ? old->n : 0, at = 0;

	for (size_t i = 0; i < new->n; i++)
		for (size_t tried = 0; tried < n; tried++, at = (at + 1) % n)
			if (old->jobs[at].id == new->jobs[i].id) {
				new->jobs[i].is_frozen = old->jobs[at].is_frozen;
				break;
			}
}

static void *run(void *argument)
{
	struct turn *turn = argument;
	struct snapshot *snapshot = NULL;
	uint64_t until_ns = NAP_FOREVER;
	int64_t offset_ns = 0;

	was_set(&offset_ns);
	while (!turn->is_ending) {
		unsigned int seen = turn->news;
		struct snapshot *given = atomic_exchange(&turn->given, NULL);
		bool is_set = was_set(&offset_ns);
		uint64_t planned_ns = given || is_set || until_ns == NAP_FOREVER ? 0 : until_ns;

		if (given) {
			adopt(given, snapshot);
			snapshot = given;
			nap_end(&turn->taken);
		}
		if (snapshot && (given || is_set || nap_clock_ns() >= until_ns))
			until_ns = look(turn, snapshot, planned_ns);
		nap_until(&turn->news, seen, until_ns);
	}
	return NULL;
}

/* ---- the main thread ---- */

static void free_snapshot(struct snapshot *s)
{
	if (s)
		free(s->jobs);
	free(s);
}

/* Tables list jobs as they began, as snapshots do: the search begins behind the last one found. */
static const struct slots_job *find_rows(const struct slots *slots, uint64_t id, size_t *hint)
{
	for (size_t tried = 0; slots && tried < slots->n_jobs; tried++) {
		const struct slots_job *job = &slots->jobs[(*hint + tried) % slots->n_jobs];

		if (job->id != id)
			continue;
		*hint = (size_t)(job - slots->jobs) + 1;
		return job;
	}
	return NULL;
}

static void find_all_rows(struct snapshot *s)
{
	size_t now = 0, next = 0;

	for (size_t j = 0; j < s->n; j++) {
		s->jobs[j].now = find_rows(s->now, s->jobs[j].id, &now);
		s->jobs[j].next = find_rows(s->next, s->jobs[j].id, &next);
	}
}

/* Hands over a snapshot, and waits until it was taken: the old one is nobody's then. */
static void give(struct turn *turn, struct snapshot *s)
{
	unsigned int taken = turn->taken;

	find_all_rows(s);
	atomic_store(&turn->given, s);
	nap_end(&turn->news);
	while (turn->taken == taken)
		nap_until(&turn->taken, taken, NAP_FOREVER);
	free_snapshot(turn->snapshot);
	turn->snapshot = s;
}

/* A copy of the snapshot with @more entries of room. */
static struct snapshot *copy(const struct turn *turn, size_t more)
{
	struct snapshot *s = calloc(1, sizeof(*s));
	size_t n = turn->snapshot ? turn->snapshot->n : 0;

	if (s)
		s->jobs = calloc(n + more + 1, sizeof(*s->jobs));
	if (!s || !s->jobs) {
		free(s);
		return NULL;
	}
	for (size_t j = 0; j < n; j++)
		s->jobs[j] = (struct entry){.id = turn->snapshot->jobs[j].id,
					    .group = turn->snapshot->jobs[j].group};
	s->n = n;
	s->now = turn->now;
	s->next = turn->next;
	return s;
}

static int set_priority(struct turn *turn)
{
	struct sched_param param = {.sched_priority = PRIORITY};
	int err = pthread_setschedparam(turn->thread, SCHED_FIFO | SCHED_RESET_ON_FORK, &param);

	turn->is_realtime = !err && !mlockall(MCL_CURRENT | MCL_FUTURE);
	return err;
}

struct turn *turn_open(void)
{
	struct turn *turn = calloc(1, sizeof(*turn));
	pthread_attr_t attr;
	sigset_t all, old;
	int err;

	if (!turn)
		return NULL;
	was_set(&turn->offset_ns);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	err = pthread_create(&turn->thread, &attr, run, turn);
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err) {
		free(turn);
		errno = err;
		return NULL;
	}
	set_priority(turn);
	return turn;
}

bool turn_is_realtime(const struct turn *turn)
{
	return turn->is_realtime;
}

int turn_take(struct turn *turn, uint64_t id, struct cgroup *group)
{
	struct snapshot *s = copy(turn, 1);

	if (!s)
		return -ENOMEM;
	s->jobs[s->n++] = (struct entry){.id = id, .group = group};
	give(turn, s);
	return 0;
}

void turn_drop(struct turn *turn, uint64_t id)
{
	struct snapshot *s = copy(turn, 0);

	if (!s)
		abort(); /* the thread would go on writing to a group that is freed */
	for (size_t j = 0; j < s->n; j++)
		if (s->jobs[j].id == id) {
			struct cgroup *group = s->jobs[j].group;

			s->jobs[j] = s->jobs[--s->n];
			give(turn, s);
			cgroup_freeze(group, false);
			return;
		}
	free_snapshot(s);
}

void turn_table(struct turn *turn, struct slots *slots)
{
	struct slots *unused;
	struct snapshot *s;

	if (turn->next && has_begun(turn->next, nap_clock_ns())) {
		unused = turn->now;
		turn->now = turn->next;
	} else {
		unused = turn->next;
	}
	turn->next = slots;
	s = copy(turn, 0);
	if (!s)
		abort(); /* as above: the tables of the old snapshot are freed now */
	give(turn, s);
	slots_free(unused);
}

void turn_tick(struct turn *turn)
{
	if (was_set(&turn->offset_ns))
		nap_end(&turn->news);
}

void turn_counts(const struct turn *turn, struct turn_counts *ret)
{
	*ret = (struct turn_counts){.done = turn->done,
				    .late = turn->late,
				    .worst_ns = turn->worst_ns,
				    .lost_ns = turn->lost_ns,
				    .slow_freezes = turn->slow_freezes};
}

void turn_close(struct turn *turn)
{
	if (!turn)
		return;
	turn->is_ending = true;
	nap_end(&turn->news);
	pthread_join(turn->thread, NULL);
	for (size_t j = 0; turn->snapshot && j < turn->snapshot->n; j++)
		cgroup_freeze(turn->snapshot->jobs[j].group, false);
	free_snapshot(turn->snapshot);
	slots_free(turn->now);
	slots_free(turn->next);
	free(turn);
}
