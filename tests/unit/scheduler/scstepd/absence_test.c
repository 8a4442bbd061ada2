// SPDX-License-Identifier: BSD-3-Clause
/* absence: two hosts with two ranks each; the clock stands still until the test moves it. */
#include "scheduler/scstepd/absence.h"

#include "scheduler/proto/ops.h"
#include "tests/harness/stillclock.h"
#include "tests/unit/scheduler/scstepd/fake_step.h"

#define TOLD "{\"op\":\"absent\",\"rank\":%u,\"world\":0}"

static struct rank ranks[2];

size_t ranks_count(const struct ranks *table)
{
	return 2;
}

struct rank *ranks_at(const struct ranks *table, size_t i)
{
	return &ranks[i];
}

static void begin(void)
{
	fake_open(2, 2);
	fake.step.state = STEP_RUN;
	for (uint32_t i = 0; i < 2; i++)
		ranks[i] = (struct rank){.world = worlds_get(&fake.step.worlds, 0), .number = i};
}

static void finish(void)
{
	ok(!fake.first);
	absence_close(&fake.step);
	fake_close();
}

static void pass(double seconds)
{
	stillclock_ns += (uint64_t)(seconds * 1e9);
	fake_turn();
}

static void is_told(uint32_t rank)
{
	char want[64];

	snprintf(want, sizeof(want), TOLD, rank);
	fake_sent(TREE_ALL, want, "");
}

static void tell(json_int_t world, json_int_t rank)
{
	json_t *head = json_pack("{s:I, s:I}", "world", world, "rank", rank);

	absence_told(&fake.step, head);
	json_decref(head);
}

TAP_TEST(absence_begin__told_after_a_while)
{
	begin();
	absence_begin(&fake.step, 0, 3);
	pass(ABSENCE_S - 0.01);
	ok(!fake.first);
	pass(0.02);
	is_told(3);
	pass(10 * ABSENCE_S);
	finish();
}

TAP_TEST(absence_begin__only_the_first_of_a_world)
{
	begin();
	absence_begin(&fake.step, 0, 3);
	absence_begin(&fake.step, 0, 2);
	absence_begin(&fake.step, 1, 0);
	pass(ABSENCE_S + 0.01);
	/* Both are due at once: either may come first. */
	if (ok(fake.first && fake.first->next && !fake.first->next->next)) {
		const json_t *heads[] = {fake.first->head, fake.first->next->head};
		unsigned int seen = 0;

		for (size_t i = 0; i < 2; i++)
			seen |= 1u << (4 * json_integer_value(json_object_get(heads[i], "world")) +
				       json_integer_value(json_object_get(heads[i], "rank")));
		is_int(seen, 1u << 3 | 1u << 4);
		fake_drop();
		fake_drop();
	}
	absence_begin(&fake.step, 0, 2);
	pass(ABSENCE_S + 0.01);
	finish();
}

TAP_TEST(absence_begin__the_job_ends_meanwhile)
{
	begin();
	absence_begin(&fake.step, 0, 3);
	fake.step.state = STEP_STOPPING;
	pass(ABSENCE_S + 0.01);
	finish();
}

TAP_TEST(absence_close__before_it_was_told)
{
	begin();
	absence_begin(&fake.step, 0, 3);
	absence_close(&fake.step);
	pass(ABSENCE_S + 0.01);
	finish();
}

TAP_TEST(absence_told__others_are_in_mpi)
{
	begin();
	ranks[1].is_in_mpi = true;
	tell(0, 2);
	is_int(fake.code, 1);
	is_str(fake.text, "rank 2 on host: it ended before MPI_Init, and others wait for it there");
	finish();
}

TAP_TEST(absence_told__nobody_is_in_mpi)
{
	begin();
	tell(0, 2);
	is_int(fake.code, 0);
	/* It had been there, and has ended. */
	ranks[0].is_in_mpi = ranks[0].has_ended = true;
	absence_check(&fake.step, ranks[0].world);
	is_int(fake.code, 0);
	/* One comes later. */
	ranks[1].is_in_mpi = true;
	absence_check(&fake.step, ranks[1].world);
	is_int(fake.code, 1);
	finish();
}

TAP_TEST(absence_told__ranks_of_another_world)
{
	static struct world other = {.number = 1};

	begin();
	ranks[0].world = ranks[1].world = &other;
	ranks[0].is_in_mpi = true;
	tell(0, 2);
	absence_check(&fake.step, &other);
	is_int(fake.code, 0);
	finish();
}

TAP_TEST(absence_told__the_job_does_not_run)
{
	begin();
	ranks[0].is_in_mpi = true;
	fake.step.state = STEP_STOPPING;
	tell(0, 2);
	is_int(fake.code, 0);
	finish();
}

TAP_TEST(absence_told__ranks_that_there_are_not)
{
	begin();
	ranks[0].is_in_mpi = true;
	tell(0, 4);
	tell(0, -1);
	tell(1, 0);
	tell(-1, 0);
	is_int(fake.code, 0);
	tell(0, 3);
	is_int(fake.code, 1);
	finish();
}

/* At the leader itself: what has begun counts only when all are told. */
TAP_TEST(absence_check__not_told_yet)
{
	begin();
	ranks[0].is_in_mpi = true;
	absence_begin(&fake.step, 0, 3);
	absence_check(&fake.step, ranks[0].world);
	is_int(fake.code, 0);
	tell(0, 3);
	is_int(fake.code, 1);
	finish();
}
