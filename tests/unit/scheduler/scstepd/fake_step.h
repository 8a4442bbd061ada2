/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fake_step - a struct step without daemons around it: what its parts send, and what they say of
 * it, is kept for the test to look at. Defines the functions of step.h, so it is for one file of a
 * test program.
 */
#ifndef TESTS_UNIT_SCHEDULER_SCSTEPD_FAKE_STEP_H
#define TESTS_UNIT_SCHEDULER_SCSTEPD_FAKE_STEP_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/scstepd/ranks.h"
#include "scheduler/scstepd/step.h"
#include "tests/harness/tap.h"
#include "tests/unit/scheduler/scstepd/small_order.h"

struct sent {
	struct sent *next;
	int64_t to;
	json_t *head;
	size_t size;
	char body[];
};

struct fake {
	struct step step;
	struct small_order small;
	struct sent *first, **last;
	bool is_full;        /* the way up */
	unsigned int n_over; /* ranks whose end was told */
	struct rank *over;   /* the last of them */
	unsigned int n_running;
	int code; /* of step_failed() */
	char text[512];
};

static struct fake fake;

/* @each ranks on each of @n_hosts; we are host 0. fake_close(). */
static inline void fake_open(size_t n_hosts, uint32_t each)
{
	fake = (struct fake){.last = &fake.first};
	small_order_init(&fake.small, n_hosts, each);
	fake.small.job.cores = 1;
	fake.step.order = &fake.small.order;
	fake.step.host = "host";
	fake.step.loop = ev_loop_new(EVFLAG_AUTO);
	ok(!worlds_init(&fake.step.worlds, &fake.small.order));
}

/* The oldest message is forgotten. */
static inline void fake_drop(void)
{
	struct sent *sent = fake.first;

	fake.first = sent->next;
	if (!fake.first)
		fake.last = &fake.first;
	json_decref(sent->head);
	free(sent);
}

static inline void fake_close(void)
{
	while (fake.first)
		fake_drop();
	worlds_fini(&fake.step.worlds);
	small_order_fini(&fake.small);
	ev_loop_destroy(fake.step.loop);
}

static inline void fake_turn(void)
{
	for (int i = 0; i < 8; i++)
		ev_run(fake.step.loop, EVRUN_NOWAIT);
}

static inline void fake_keep(int64_t to, json_t *head, const void *body, size_t size)
{
	struct sent *sent = calloc(1, sizeof(*sent) + size + 1);

	*sent = (struct sent){.to = to, .head = head, .size = size};
	if (size)
		memcpy(sent->body, body, size);
	*fake.last = sent;
	fake.last = &sent->next;
}

/*
 * Asserts that the oldest message is this one: "OP to 0 {json without op}" and its body. Then it is
 * forgotten.
 */
static inline void fake_sent(int64_t to, const char *want_head, const char *want_body)
{
	char *text;

	if (!ok(fake.first != NULL))
		return;
	text = json_dumps(fake.first->head, JSON_COMPACT | JSON_SORT_KEYS);
	is_str(text, want_head);
	is_int(fake.first->to, to);
	is_str(fake.first->body, want_body);
	free(text);
	fake_drop();
}

void step_send(struct step *step, int64_t to, json_t *head, const void *body, size_t size)
{
	fake_keep(to, head, body, size);
}

bool tree_is_full(const struct tree *tree)
{
	return fake.is_full;
}

void step_rank_ended(struct step *step, struct rank *rank)
{
	fake.n_over++;
	fake.over = rank;
}

void step_running(struct step *step)
{
	fake.n_running++;
}

void step_failed(struct step *step, uint32_t world, int64_t rank, int code, const char *text)
{
	fake.code = code;
	snprintf(fake.text, sizeof(fake.text), "%s", text);
}

#endif
