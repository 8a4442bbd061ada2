// SPDX-License-Identifier: BSD-3-Clause
/*
 * absence - one record for each world that has such a rank: at the leader with the time until all
 * are told, at every host once it was told.
 */
#include "scheduler/scstepd/absence.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "scheduler/proto/ops.h"
#include "scheduler/scstepd/ranks.h"

#define CODE 1

struct absence {
	struct absence *next;
	struct step *step;
	uint32_t world, rank;
	bool is_told;
	ev_timer timeout;
};

static struct absence *all;

static void tell(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct absence *absence = timer->data;

	(void)loop;
	(void)events;
	if (absence->step->state == STEP_RUN)
		step_send(absence->step, TREE_ALL,
			  json_pack("{s:s, s:I, s:I}", "op", OP_ABSENT, "world",
				    (json_int_t)absence->world, "rank", (json_int_t)absence->rank),
			  NULL, 0);
}

static struct absence *find(uint32_t world)
{
	struct absence *absence = all;

	while (absence && absence->world != world)
		absence = absence->next;
	return absence;
}

static struct absence *get(struct step *step, uint32_t world, uint32_t rank)
{
	struct absence *absence = find(world);

	if (absence)
		return absence;
	absence = calloc(1, sizeof(*absence));
	if (!absence)
		return NULL;
	*absence = (struct absence){.next = all, .step = step, .world = world, .rank = rank};
	ev_timer_init(&absence->timeout, tell, ABSENCE_S, 0);
	absence->timeout.data = absence;
	all = absence;
	return absence;
}

void absence_begin(struct step *step, uint32_t world, uint32_t rank)
{
	struct absence *absence = find(world) ? NULL : get(step, world, rank);

	if (absence)
		ev_timer_start(step->loop, &absence->timeout);
}

void absence_told(struct step *step, const json_t *head)
{
	const struct world *world = worlds_get(
		&step->worlds, (uint64_t)json_integer_value(json_object_get(head, "world")));
	json_int_t rank = json_integer_value(json_object_get(head, "rank"));
	struct absence *absence;

	if (!world || rank < 0 || rank >= world->n_ranks)
		return;
	absence = get(step, world->number, (uint32_t)rank);
	if (!absence)
		return;
	absence->is_told = true;
	absence_check(step, world);
}

static bool is_awaited(const struct step *step, const struct world *world)
{
	for (size_t i = 0; i < ranks_count(step->ranks); i++) {
		const struct rank *rank = ranks_at(step->ranks, i);

		if (rank->world == world && rank->is_in_mpi && !rank->has_ended)
			return true;
	}
	return false;
}

void absence_check(struct step *step, const struct world *world)
{
	const struct absence *absence = find(world->number);
	char text[400];

	if (!absence || !absence->is_told || step->state != STEP_RUN || !is_awaited(step, world))
		return;
	snprintf(text, sizeof(text),
		 "rank %" PRIu32 " on %s: it ended before MPI_Init, and others wait for it there",
		 absence->rank, step->order->hosts[world_host_of(world, absence->rank)].name);
	step_failed(step, world->number, absence->rank, CODE, text);
}

void absence_close(struct step *step)
{
	while (all) {
		struct absence *absence = all;

		all = absence->next;
		ev_timer_stop(step->loop, &absence->timeout);
		free(absence);
	}
}
