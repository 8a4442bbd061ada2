// SPDX-License-Identifier: BSD-3-Clause
/*
 * standstill - ranks write into the page and wake nobody, so a timer looks at their slots while an
 * order is under way; otherwise nothing runs.
 */
#include "scheduler/scstepd/standstill.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pmcore/util/clock.h"
#include "pmcore/util/splitmix.h"
#include "scheduler/proto/head.h"
#include "scheduler/proto/ops.h"
#include "scheduler/scstepd/collective.h"
#include "scheduler/scstepd/ranks.h"
#include "scheduler/scstepd/standstill_page.h"
#include "scheduler/scstepd/standstill_part.h"
#include "scheduler/scstepd/standstill_plan.h"

#define LOOK_S 0.001
/* One that is late may be so for long: others have the cores. */
#define LOOK_AT_LATE_S 0.02
/* Ranks that stand wait so long for one that computes; then all go on for a while. */
#define PATIENCE_S 0.3
#define PAUSE_S 0.2
#define TRIES 60
/* To send what was accepted, and to be quiet: no more than the network's own times. */
#define LIMIT_S 60.0
/* Beside the job's own ranks: of worlds that are spawned. */
#define SPAWNED_MAX 4096u
/* Of the address of a rank, at most on the average: those of all travel in one message. */
#define ADDRESS_BYTES 256

struct standstill {
	struct step *step;
	const struct standstill_events *events;
	struct standstill_page page;
	uint32_t first; /* order of this try */
	bool is_under_way;
	int page_error; /* errno: there is no memory for the page */
	struct standstill_plan plan;
	char *devices;   /* that the job has; NULL: as at first */
	char *wanted;    /* that were asked for */
	char *set;       /* all worlds */
	uint64_t serial; /* of the request */
	uint64_t count;  /* of changes and incarnations, which makes each key another */
	double limit_s;  /* clock_monotonic_s() */
	double given_s;  /* the order */
	double since_s;  /* the ranks stand */
	struct ev_timer look, pause;
};

/* ---- opened and closed ---- */

static void on_look(struct ev_loop *loop, ev_timer *timer, int events);
static void on_pause(struct ev_loop *loop, ev_timer *timer, int events);

static int make_page(struct standstill *s, const struct step *step)
{
	const struct world *world = worlds_get(&step->worlds, 0);
	char *path;
	int rc;

	if (asprintf(&path, "%s/" STANDSTILL_FILE, step->tmpdir) < 0)
		return -ENOMEM;
	rc = standstill_page_make(&s->page, path, world->hosts[step->here].ranks + SPAWNED_MAX,
				  world->n_ranks + SPAWNED_MAX);
	free(path);
	return rc;
}

struct standstill *standstill_open(struct step *step, const struct standstill_events *events)
{
	struct standstill *s = calloc(1, sizeof(*s));
	int rc = s ? make_page(s, step) : -ENOMEM;

	if (rc) {
		free(s);
		errno = -rc;
		return NULL;
	}
	s->step = step;
	s->events = events;
	ev_timer_init(&s->look, on_look, LOOK_S, LOOK_S);
	ev_init(&s->pause, on_pause);
	s->look.data = s->pause.data = s;
	return s;
}

void standstill_expect(struct standstill *s, const struct world *world)
{
	const struct world_host *host = &world->hosts[s->step->here];

	/* ranks without a slot are told when it matters */
	(void)standstill_page_reserve_slots(&s->page, host->before + host->ranks);
	s->step->slots = s->page.slots_ready;
}

void standstill_close(struct standstill *s)
{
	if (!s)
		return;
	ev_timer_stop(s->step->loop, &s->look);
	ev_timer_stop(s->step->loop, &s->pause);
	standstill_page_drop(&s->page);
	free(s->devices);
	free(s->wanted);
	free(s->set);
	free(s);
}

/* ---- an order, on this host ---- */

/* Also a second try is another life: what the first one sent may still be on its way. */
static void tell_devices(struct standstill *s)
{
	const struct order *order = s->step->order;
	const char *devices = s->plan.is_new ? s->wanted : s->devices;

	standstill_page_tell_devices(
		&s->page, splitmix_mix(splitmix_mix(order->key + order->id) + ++s->count),
		devices ? devices : "");
}

/*
 * From SUSPEND_AWAY on there is no other way than on, so a rank that is stopped, by a debugger or
 * with its whole job, is waited for. So it is before the job may go on.
 */
static double limit_of(enum suspend_step step)
{
	switch (step) {
	case SUSPEND_DRAIN:
		return PATIENCE_S;
	case SUSPEND_HOLD:
	case SUSPEND_QUIESCE:
		return LIMIT_S;
	default:
		return INFINITY;
	}
}

static void give(struct standstill *s)
{
	if (s->plan.step == STANDSTILL_PART) {
		s->events->part(s->step);
		return;
	}
	if (s->plan.step == STANDSTILL_ABSENCE) {
		s->events->go_away(s->step);
		return;
	}
	if (s->plan.step == SUSPEND_REVIVE)
		tell_devices(s);
	s->limit_s = clock_monotonic_s() + limit_of(s->plan.step);
	standstill_page_give(&s->page, s->plan.step);
	if (s->plan.step == SUSPEND_DRAIN)
		s->first = s->page.order;
	if (s->plan.step == SUSPEND_DRAIN)
		s->since_s = clock_monotonic_s();
	s->given_s = clock_monotonic_s();
	s->look.repeat = LOOK_S;
	ev_timer_again(s->step->loop, &s->look);
}

/* Its characters. */
static size_t name_rank(const struct rank *rank, char *why)
{
	uint32_t world = rank->world->number;
	int used = snprintf(why, STANDSTILL_WHY, "rank %" PRIu32, rank->number);

	if (world)
		used += snprintf(why + used, STANDSTILL_WHY - (size_t)used, " of world %" PRIu32,
				 world);
	used += snprintf(why + used, STANDSTILL_WHY - (size_t)used, " on %s", rank->step->host);
	return (size_t)used < STANDSTILL_WHY ? (size_t)used : STANDSTILL_WHY - 1;
}

static enum standstill_outcome fails(const struct rank *rank, char *why, const char *reason)
{
	size_t used = name_rank(rank, why);

	snprintf(why + used, STANDSTILL_WHY - used, "%s", reason);
	return STANDSTILL_FAILED;
}

/* Of a rank that runs, as it has computed since SUSPEND_DRAIN, SUSPEND_RUN asks nothing. */
static bool is_done(const struct standstill *s, const struct suspend_slot *slot)
{
	uint32_t done = __atomic_load_n(&slot->done, __ATOMIC_ACQUIRE);

	return done == s->page.order ||
	       (s->plan.step == SUSPEND_RUN && (int32_t)(done - s->first) < 0);
}

static enum standstill_outcome look_at(const struct standstill *s, const struct rank *rank,
				       char *why)
{
	const struct suspend_slot *slot = s->page.slots + rank->slot;
	uint32_t presence;
	char reason[sizeof(slot->why) + 32];

	if (rank->slot >= s->page.slots_ready)
		return s->plan.step == SUSPEND_RUN
			       ? STANDSTILL_DONE
			       : fails(rank, why,
				       " was spawned when there was no room for it in the page of "
				       "orders, after very many others or as $TMPDIR was full");
	presence = __atomic_load_n(&slot->presence, __ATOMIC_ACQUIRE);
	if (presence == SUSPEND_ABSENT && s->plan.step == SUSPEND_DRAIN)
		return fails(rank, why, " does not use PM, or has not come to MPI_Init yet");
	if (presence == SUSPEND_GONE && s->plan.step != SUSPEND_RUN)
		return fails(rank, why, " has come to MPI_Finalize");
	if (presence != SUSPEND_PRESENT || is_done(s, slot))
		return STANDSTILL_DONE;
	if (__atomic_load_n(&slot->failed, __ATOMIC_ACQUIRE) == s->page.order) {
		snprintf(reason, sizeof(reason), ": %.*s", (int)sizeof(slot->why), slot->why);
		return fails(rank, why, reason);
	}
	fails(rank, why,
	      " computes, or waits for something beside MPI: it has not come to MPI's progress in "
	      "time");
	return STANDSTILL_LATE;
}

/* Of all ranks here: the worst; and whether any is late. */
static enum standstill_outcome look(const struct standstill *s, char *why, bool *ret_is_late)
{
	enum standstill_outcome worst = STANDSTILL_DONE;
	char text[STANDSTILL_WHY];

	*why = 0;
	*ret_is_late = false;
	if (s->page_error && s->plan.step == SUSPEND_DRAIN) {
		snprintf(
			why, STANDSTILL_WHY,
			s->page_error == E2BIG
				? "host %s: the job has more ranks than can change their devices"
				: "host %s: the directory of the job, $TMPDIR, has no room for the "
				  "addresses of its ranks (%s); remove files there",
			s->step->host, strerror(s->page_error));
		return STANDSTILL_FAILED;
	}
	for (size_t i = 0; i < ranks_count(s->step->ranks); i++) {
		const struct rank *rank = ranks_at(s->step->ranks, i);
		enum standstill_outcome outcome;

		if (rank->has_ended)
			continue;
		outcome = look_at(s, rank, text);
		*ret_is_late |= outcome == STANDSTILL_LATE;
		if (outcome <= worst)
			continue;
		worst = outcome;
		memcpy(why, text, sizeof(text));
	}
	return worst;
}

/* ---- and on all ---- */

static enum standstill_outcome take_parts(struct standstill *s, const char *data, size_t size,
					  char *why)
{
	enum standstill_outcome worst = STANDSTILL_DONE;
	bool has_addresses = s->plan.step == SUSPEND_REVIVE;
	uint32_t n = 0;

	*why = 0;
	while (size) {
		struct standstill_part part;
		ssize_t used = standstill_part_decode(data, size, &part);

		if (used < 0) {
			snprintf(why, STANDSTILL_WHY, "a host says what makes no sense");
			return STANDSTILL_FAILED;
		}
		if (part.outcome > worst) {
			worst = part.outcome;
			memcpy(why, part.why, sizeof(part.why));
		}
		while (has_addresses && n < s->page.nodes_ready &&
		       standstill_part_address(&part, s->page.addresses + n))
			n++;
		/* one that is left out would count as a rank that has ended */
		if (has_addresses && part.n_addresses) {
			snprintf(why, STANDSTILL_WHY, "hosts tell more addresses than ranks");
			return STANDSTILL_FAILED;
		}
		data += used;
		size -= (size_t)used;
	}
	if (has_addresses)
		standstill_page_tell_addresses(&s->page, n);
	return worst;
}

static void end(struct standstill *s)
{
	struct step *step = s->step;
	bool is_changed = s->plan.end == STANDSTILL_CHANGED;
	double stood_s = clock_monotonic_s() - s->since_s;
	char text[STANDSTILL_WHY + 64];

	s->is_under_way = false;
	if (is_changed) {
		free(s->devices);
		s->devices = s->wanted;
		s->wanted = NULL;
	}
	if (!step->leader)
		return;
	snprintf(text, sizeof(text), "%s%s", s->plan.why,
		 is_changed                       ? ""
		 : s->plan.end == STANDSTILL_LOST ? "; the job ends"
		 : s->plan.parts                  ? "; the job goes on"
						  : "; the job goes on by the devices that it had");
	s->events->told(step, s->serial, is_changed, text, stood_s);
	if (s->plan.end == STANDSTILL_LOST)
		step->stop(step, STEP_CODE_LOST, s->plan.why);
}

static void pause_then_give(struct standstill *s)
{
	ev_timer_set(&s->pause, PAUSE_S, 0);
	ev_timer_start(s->step->loop, &s->pause);
}

static void on_all(int error, const char *data, size_t size, void *arg)
{
	struct standstill *s = arg;
	char why[STANDSTILL_WHY];
	enum standstill_outcome outcome;

	if (s->step->state >= STEP_STOPPING)
		return;
	if (error) {
		snprintf(why, sizeof(why), "the hosts can't tell each other: %s", strerror(error));
		outcome = STANDSTILL_FAILED;
	} else {
		outcome = take_parts(s, data, size, why);
	}
	if (s->plan.step == STANDSTILL_PART && outcome != STANDSTILL_DONE)
		s->events->stay(s->step);
	standstill_plan_next(&s->plan, outcome, why);
	if (s->plan.end != STANDSTILL_UNDER_WAY)
		end(s);
	else if (s->plan.is_paused)
		pause_then_give(s);
	else
		give(s);
}

/* The slots whose addresses are to be told; to be freed. NULL: no memory. */
static const struct suspend_slot **slots_to_tell(const struct standstill *s, uint32_t *ret_n)
{
	size_t count = ranks_count(s->step->ranks);
	const struct suspend_slot **slots = calloc(count + 1, sizeof(struct suspend_slot *));

	*ret_n = 0;
	for (size_t i = 0; slots && s->plan.step == SUSPEND_REVIVE && i < count; i++) {
		const struct rank *rank = ranks_at(s->step->ranks, i);

		if (!rank->has_ended && rank->slot < s->page.slots_ready &&
		    s->page.slots[rank->slot].presence == SUSPEND_PRESENT)
			slots[(*ret_n)++] = s->page.slots + rank->slot;
	}
	return slots;
}

static void tell_all(struct standstill *s, enum standstill_outcome outcome, const char *why)
{
	uint32_t n;
	const struct suspend_slot **slots = slots_to_tell(s, &n);
	size_t size = 0;
	char *part = slots ? standstill_part_encode(outcome, why, slots, n, &size) : NULL,
	     text[300];
	int rc = part ? collective_join(s->step->collectives, OP_STOOD, s->set, part, size, on_all,
					s)
		      : -ENOMEM;

	free(part);
	free(slots);
	if (!rc)
		return;
	snprintf(text, sizeof(text), "host %s can't tell how its ranks stand still: %s",
		 s->step->host, strerror(-rc));
	s->step->stop(s->step, STEP_CODE_LOST, text);
}

void standstill_ready(struct standstill *s, const char *why)
{
	tell_all(s, why ? STANDSTILL_FAILED : STANDSTILL_DONE, why ? why : "");
}

static void on_look(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct standstill *s = timer->data;
	char why[STANDSTILL_WHY];
	bool is_late;
	enum standstill_outcome outcome = look(s, why, &is_late);

	/* Behind a failure others are waited for: they would read what goes with the next order. */
	if (s->plan.step == SUSPEND_DRAIN)
		is_late = outcome == STANDSTILL_LATE;
	if (is_late && clock_monotonic_s() < s->limit_s) {
		timer->repeat = clock_monotonic_s() < s->given_s + PATIENCE_S ? LOOK_S
									      : LOOK_AT_LATE_S;
		ev_timer_again(loop, timer);
		return;
	}
	ev_timer_stop(loop, timer);
	tell_all(s, outcome, why);
}

static void on_pause(struct ev_loop *loop, ev_timer *timer, int events)
{
	give(timer->data);
}

/* ---- the beginning ---- */

/* All worlds, as the set of a collective. */
static char *set_of_all(const struct step *step)
{
	struct collective_rank *ranks = calloc(step->worlds.n, sizeof(*ranks));
	size_t n = 0;
	char *set;

	for (uint32_t i = 0; ranks && i < step->worlds.n; i++)
		if (worlds_get(&step->worlds, i))
			ranks[n++] = (struct collective_rank){i, COLLECTIVE_ALL_RANKS};
	set = ranks ? collective_set(&step->worlds, ranks, n) : NULL;
	free(ranks);
	return set;
}

void standstill_ask(struct standstill *s, const json_t *head)
{
	struct step *step = s->step;
	uint64_t serial = head_number(head, "serial");
	char *set = set_of_all(step);
	const char *why = NULL;

	if (step->state != STEP_RUN)
		why = "the job does not run yet, or ends";
	else if (s->is_under_way)
		why = "the ranks of the job stand still already, for another request; try again in "
		      "a "
		      "moment";
	else if (!set)
		why = "no memory";
	if (why) {
		s->events->told(step, serial, false, why, 0);
	} else {
		s->serial = serial;
		/* a world that is spawned now is known here, and not everywhere */
		step_send(step, TREE_ALL,
			  json_pack("{s:s, s:s, s:s*, s:b}", "op", OP_STANDSTILL, "set", set,
				    "devices", json_string_value(json_object_get(head, "devices")),
				    "parts", !strcmp(head_text(head, "op"), OP_CHECKPOINT)),
			  NULL, 0);
	}
	free(set);
}

/* For the addresses of all ranks. 0 or errno. */
static int reserve_nodes(struct standstill *s)
{
	const struct worlds *worlds = &s->step->worlds;
	uint64_t n = 0;

	for (uint32_t i = 0; i < worlds->n; i++)
		if (worlds_get(worlds, i))
			n += worlds_get(worlds, i)->n_ranks;
	if (n > COLLECTIVE_DATA_MAX / ADDRESS_BYTES)
		return E2BIG;
	return -standstill_page_reserve_nodes(&s->page, (uint32_t)n);
}

int standstill_moved(struct standstill *s, uint32_t incarnation, const char *devices)
{
	char *wanted = devices ? strdup(devices) : NULL;

	if (devices && !wanted)
		return -ENOMEM;
	if (devices) {
		free(s->wanted);
		s->wanted = wanted;
	}
	/* The job has gone on behind its image, and used the keys of the changes that follow. */
	s->count = (uint64_t)incarnation << 32;
	return 0;
}

void standstill_begin(struct standstill *s, const json_t *head)
{
	const char *devices = json_string_value(json_object_get(head, "devices"));

	if (s->is_under_way || s->step->state != STEP_RUN)
		return;
	free(s->wanted);
	free(s->set);
	devices = devices ? devices : s->devices;
	s->wanted = strdup(devices ? devices : "");
	s->set = strdup(json_string_value(json_object_get(head, "set")));
	if (!s->wanted || !s->set) {
		s->step->stop(s->step, STEP_CODE_LOST, "no memory for a change of devices");
		return;
	}
	s->is_under_way = true;
	s->page_error = reserve_nodes(s);
	standstill_plan_begin(&s->plan, TRIES, json_is_true(json_object_get(head, "parts")));
	give(s);
}
