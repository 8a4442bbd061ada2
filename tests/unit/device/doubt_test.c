// SPDX-License-Identifier: BSD-3-Clause
/*
 * Tests of device/takeover.c: nodes that one link hears nothing of, and whose processes are asked
 * by udp.
 */
#include "tests/unit/device/couple.h"

/* Only @at looks for messages, for so many times that a silence is told. */
static void look_alone(int at, int times)
{
	uint64_t end = clock_monotonic_ns() + (uint64_t)times * LOSING_DOUBT_NS;

	while (clock_monotonic_ns() < end)
		take(at);
}

/* Both look until @at has heard of the other process. */
static bool hear(int at)
{
	uint64_t end = clock_monotonic_ns() + LOSING_TURN_NS;

	while (!couple.way[at]->n_lives && clock_monotonic_ns() < end)
		turn(1);
	return ok(couple.way[at]->n_lives > 0);
}

/*
 * The way is broken: the process answers by the other link, and its node goes by that from then on.
 */
TAP_TEST(doubt__process_that_looks)
{
	for (int silent = 1; silent <= 3; silent++) {
		if (!open_couple(CONFIG))
			return;
		for (int i = 0; i < 2; i++) {
			couple.way[i]->is_silent = silent >> i & 1;
			send_some(i, 3);
		}
		drain();
		is_str(device(0), "udp");
		is_str(device(1), "udp");
		settle();
		is_int(couple.dead[0] + couple.dead[1], 0);
		close_couple();
	}
}

/* Nothing is known of one that does not look, however long it takes. */
TAP_TEST(doubt__process_that_computes)
{
	if (!open_couple(CONFIG))
		return;
	couple.way[0]->is_silent = true;
	send_some(0, 1);
	look_alone(0, 20);
	is_int(couple.way[0]->n_lives, 0);
	is_str(device(0), "losing");
	/* nothing waits for the answer */
	couple.way[0]->n_acked = 1;
	is_int(pmIsSendDone(couple.ctx[0], PM_NODE_ANY), 0);
	couple.way[0]->n_acked = 0;
	drain();
	is_str(device(0), "udp");
	close_couple();
}

/* It is heard of by its own link too, as soon as it looks: nothing changes. */
TAP_TEST(doubt__way_that_works)
{
	if (!open_couple(CONFIG))
		return;
	couple.way[0]->is_silent = true;
	send_some(0, 1);
	look_alone(0, 2);
	for (int i = 0; i < 50 && !couple.way[0]->n_lives; i++) {
		take(1);
		couple.way[0]->is_silent = false;
		take(0);
	}
	losing_carry(couple.way[0], 1);
	couple.way[0]->n_acked = 1;
	drain();
	is_str(device(0), "losing");
	is_str(device(1), "losing");
	close_couple();
}

/*
 * A host that refuses udp, by a firewall or as the process is gone: who never answered may not be
 * dead.
 */
TAP_TEST(doubt__refused_by_who_never_answered)
{
	if (!open_couple(CONFIG))
		return;
	couple.way[0]->is_silent = true;
	send_some(0, 1);
	is_int(pmCloseContext(couple.ctx[1]), 0);
	look_alone(0, 50);
	is_int(couple.dead[0], 0);
	is_str(device(0), "losing");
	is_int(pmPost(couple.ctx[0], 1, "more", 4), 0);
	is_int(pmCloseContext(couple.ctx[0]), 0);
}

static uint64_t udp_peers(int at)
{
	const struct composite *c = context_get(couple.ctx[at])->c;

	for (unsigned int i = 0; i < c->n_slots; i++)
		if (!strcmp(c->slots[i].name, "udp"))
			return c->slots[i].stats->peers;
	return UINT64_MAX;
}

/* Neither who asked nor who was asked keeps anything of the node behind its back. */
TAP_TEST(doubt__node_is_removed)
{
	if (!open_couple_added(CONFIG))
		return;
	couple.way[0]->is_silent = couple.way[0]->is_patient = true;
	send_some(0, 1);
	if (!hear(0))
		return;
	for (int i = 0; i < 2; i++) {
		is_int(udp_peers(i), 1);
		is_int(pmRemoveNode(couple.ctx[i], (pmNode)!i), 0);
		is_int(udp_peers(i), 0);
		ok(couple.way[i]->is_deleted);
	}
	close_couple();
}

/* One that answered once and is refused now is gone, though its own link can't tell. */
TAP_TEST(doubt__refused_by_who_has_answered)
{
	struct losing *way;

	if (!open_couple(CONFIG))
		return;
	way = couple.way[0];
	way->is_silent = way->is_patient = true;
	send_some(0, 1);
	if (!hear(0))
		return;
	is_int(pmCloseContext(couple.ctx[1]), 0);
	for (int i = 0; i < 500 && !couple.dead[0]; i++)
		look_alone(0, 1);
	is_int(couple.dead[0], 1);
	ok(way->is_forsaken);
	is_int(pmPost(couple.ctx[0], 1, "more", 4), EPIPE);
	is_int(pmCloseContext(couple.ctx[0]), 0);
}
