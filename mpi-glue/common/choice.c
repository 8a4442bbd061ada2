// SPDX-License-Identifier: BSD-3-Clause
#include "mpi-glue/common/choice.h"

#include <stdbool.h>

#define UNKNOWN UINT32_MAX

static uint32_t cost_of(const struct choice_costs *costs)
{
	if (!costs->n)
		return UNKNOWN;
	return costs->before < costs->least ? costs->before : costs->least;
}

/* The cheaper way; the first one as long as nothing is known. */
static unsigned cheaper(const struct choice *c)
{
	return cost_of(&c->of[1]) < cost_of(&c->of[0]);
}

static void begin(struct choice *c, enum choice_phase phase, unsigned way)
{
	c->phase = phase;
	c->way = way;
	c->picks = 0;
}

static void turn(struct choice *c)
{
	unsigned now = cheaper(c);

	switch (c->phase) {
	case CHOICE_ONE:
		begin(c, CHOICE_OTHER, 1);
		break;
	case CHOICE_OTHER:
		c->every = CHOICE_EVERY;
		begin(c, CHOICE_USE, now);
		break;
	case CHOICE_USE:
		begin(c, CHOICE_TRIAL, !c->way);
		break;
	case CHOICE_TRIAL:
		if (now == c->way)
			c->every = CHOICE_EVERY;
		else if (c->every < CHOICE_EVERY_MAX)
			c->every *= 2;
		begin(c, CHOICE_USE, now);
		break;
	}
}

/* The way in use may have become the dearer one. */
static bool is_over(const struct choice *c)
{
	if (c->phase == CHOICE_USE)
		return c->picks >= c->every || cheaper(c) != c->way;
	return c->picks >= CHOICE_RUN;
}

unsigned choice_pick(struct choice *c)
{
	if (is_over(c))
		turn(c);
	c->picks++;
	return c->way;
}

void choice_note(struct choice *c, unsigned way, uint64_t ns, uint64_t bytes)
{
	struct choice_costs *costs = &c->of[way];
	uint64_t wide = ns * 1000 / bytes;
	uint32_t cost = wide >= UNKNOWN ? UNKNOWN - 1 : (uint32_t)wide;

	if (costs->n++ % CHOICE_WINDOW == 0) {
		costs->before = costs->n > 1 ? costs->least : UNKNOWN;
		costs->least = cost;
	} else if (cost < costs->least) {
		costs->least = cost;
	}
}
