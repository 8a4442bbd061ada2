// SPDX-License-Identifier: BSD-3-Clause
/*
 * Atomic operations and messages of a node that goes from a link that loses its way (losing.h) to
 * udp: each operation is carried out once, in its place between the messages, and answered.
 */
#include "tests/unit/device/couple.h"

#define OPS 3

/* Node 0 sends a message, an operation, ... and a last message: seven of the link. */
#define SENT (2 * OPS + 1)

struct course {
	uint32_t arrived, acked;  /* of those */
	bool is_taken;            /* node 1 has seen them before the change */
	uint32_t answered, heard; /* of its answers so many arrived, were acknowledged */
	int losers;               /* bit per side */
};

static uint64_t number;
static pmDesc desc[OPS];

static void start_all(void)
{
	const pmAtomicOp add = {.kind = PM_ATOMIC_ADD, .width = 8, .operand = 1};
	pmHandle h;

	number = 0;
	is_int(pmMLock(couple.ctx[1], &number, sizeof(number), &h), 0);
	for (int i = 0; i < OPS; i++) {
		send_some(0, 1);
		is_int(pmAtomic(couple.ctx[0], 1, &h, 0, &add, &desc[i]), 0);
	}
	send_some(0, 1);
}

/* Waits for all of them; each has found the number that those before it left. */
static bool finish_all(void)
{
	uint64_t end = clock_monotonic_ns() + LOSING_TURN_NS, before;

	for (uint64_t i = 0; i < OPS; i++) {
		int err = ENOBUFS;

		while (err == ENOBUFS && clock_monotonic_ns() < end) {
			err = pmIsAtomicDone(couple.ctx[0], desc[i], &before);
			turn(1);
		}
		if (!is_int(err, 0) || !is_int(before, i))
			return false;
	}
	return is_int(number, OPS);
}

static void run(const struct course *course)
{
	if (!open_couple(CONFIG))
		return;
	start_all();
	losing_carry(couple.way[0], course->arrived);
	if (course->is_taken)
		turn(SENT);
	couple.way[0]->n_acked = course->acked;
	losing_carry(couple.way[1], course->answered);
	couple.way[1]->n_acked = course->heard;
	for (int i = 0; i < 2; i++)
		couple.way[i]->is_lost = course->losers >> i & 1;
	if (finish_all()) {
		drain();
		settle();
		is_str(device(0), "udp");
		start_all();
		finish_all();
		drain();
	}
	is_int(couple.dead[0] + couple.dead[1], 0);
	close_couple();
}

TAP_TEST(takeover__every_operation_once_and_in_order)
{
	struct course c;

	for (c.losers = 1; c.losers <= 3; c.losers++)
		for (c.arrived = 0; c.arrived <= SENT; c.arrived++)
			for (c.acked = 0; c.acked <= c.arrived; c.acked++)
				for (uint32_t answers = 0; answers <= c.arrived / 2; answers++) {
					c.is_taken = answers > 0;
					c.answered = answers;
					c.heard = c.acked < answers ? c.acked : answers;
					run(&c);
					if (tap_has_failed()) {
						tap_diag("losers %d, %u arrived, %u acknowledged, "
							 "%u answers",
							 c.losers, c.arrived, c.acked, answers);
						return;
					}
				}
}

/* It goes by the new link before the other end has heard of the change. */
TAP_TEST(takeover__operation_while_it_happens)
{
	if (!open_couple(CONFIG))
		return;
	send_some(0, 1);
	losing_carry(couple.way[0], 1);
	drain();
	couple.way[0]->is_lost = true;
	take(0);
	start_all();
	finish_all();
	drain();
	is_str(device(0), "udp");
	close_couple();
}

/* The node dies: what it was asked for ends. */
TAP_TEST(takeover__operation_of_a_node_that_no_link_reaches)
{
	uint64_t before;

	memset(&couple, 0, sizeof(couple));
	if (!open_both("devices=self"))
		return;
	start_all();
	couple.way[0]->is_lost = true;
	turn(3);
	is_int(couple.dead[0], 1);
	for (int i = 0; i < OPS; i++) {
		is_int(pmIsAtomicDone(couple.ctx[0], desc[i], &before), EPIPE);
		is_int(pmIsAtomicDone(couple.ctx[0], desc[i], &before), EBADF);
	}
	close_couple();
}
