// SPDX-License-Identifier: BSD-3-Clause
/* mtl_pm_watch: who is asked for, when, and ever more rarely. Time is an argument. */
#include <errno.h>

#include "tests/unit/mpi-glue/mtl/fake_pm.h"

#define NODE 3
#define LOOK_NS 500000000u

static struct mtl_pm_request req;
static uint64_t now_ns, id;

/* A receive that the peer owes something. */
static struct mtl_pm_peer *begin(void)
{
	struct mtl_pm_peer *peer;

	fake_open("udp");
	peer = mtl_pm_peer_of_node(NODE);
	req = (struct mtl_pm_request){.is_receive = true, .receive = {.peer = peer}};
	id = ids_add(&mtl_pm.ids, &req);
	mtl_pm.watch_ns = 0;
	now_ns = 1000000000u;
	return peer;
}

static void look(void)
{
	mtl_pm_watch(now_ns);
	now_ns += LOOK_NS;
}

TAP_TEST(watch__not_before_the_second_look)
{
	begin();
	look();
	is_int(fake.n_probes, 0);
	/* Half a look later is none. */
	now_ns -= 1;
	mtl_pm_watch(now_ns);
	is_int(fake.n_probes, 0);
	now_ns += 1;
	look();
	is_int(fake.n_probes, 1);
	fake_close();
}

TAP_TEST(watch__rounds_of_three_ever_further_apart)
{
	int last = 0, n = 0;
	int gaps[32];

	begin();
	for (int i = 0; i < 40; i++) {
		int before = fake.n_probes;

		look();
		if (fake.n_probes > before && n < 32) {
			gaps[n++] = i - last;
			last = i;
		}
	}
	must(n >= 9);
	/* Three questions, one a look; then pauses of 2, 4 and more looks. */
	is_int(gaps[0], 1);
	is_int(gaps[1], 1);
	is_int(gaps[2], 1);
	is_int(gaps[3], 2);
	is_int(gaps[4], 1);
	is_int(gaps[5], 1);
	is_int(gaps[6], 4);
	is_int(gaps[7], 1);
	fake_close();
}

TAP_TEST(watch__the_longest_pause_is_a_minute)
{
	uint64_t last = 0, longest = 0;

	begin();
	for (int i = 0; i < 2000; i++) {
		int before = fake.n_probes;

		look();
		if (fake.n_probes == before)
			continue;
		if (last && now_ns - last > longest)
			longest = now_ns - last;
		last = now_ns;
	}
	is_int(longest, 60000000000u);
	fake_close();
}

TAP_TEST(watch__a_wait_that_goes_on_begins_anew)
{
	begin();
	look();
	look();
	look();
	is_int(fake.n_probes, 2);
	/* That has come, and another is awaited. */
	ids_take(&mtl_pm.ids, id);
	ids_add(&mtl_pm.ids, &req);
	look();
	is_int(fake.n_probes, 2);
	/* A round of three for that one. */
	for (int i = 3; i <= 5; i++) {
		look();
		is_int(fake.n_probes, i);
	}
	look();
	is_int(fake.n_probes, 5);
	fake_close();
}

TAP_TEST(watch__nobody_is_awaited_or_alive)
{
	struct mtl_pm_peer *peer = begin();

	peer->is_dead = true;
	for (int i = 0; i < 5; i++)
		look();
	is_int(fake.n_probes, 0);
	peer->is_dead = false;
	ids_take(&mtl_pm.ids, id);
	for (int i = 0; i < 5; i++)
		look();
	is_int(fake.n_probes, 0);
	fake_close();
}

TAP_TEST(watch__a_question_that_cannot_be_asked_now)
{
	begin();
	fake.probe_error = ENOBUFS;
	for (int i = 0; i < 6; i++)
		look();
	/* At each look, as none was asked. */
	is_int(fake.n_probes, 5);
	fake_close();
}

TAP_TEST(watch__a_message_that_fills_a_receive)
{
	struct mtl_pm_peer *peer = begin();

	ids_take(&mtl_pm.ids, id);
	peer->filling = &req;
	peer->filling_left = 10;
	look();
	look();
	is_int(fake.n_probes, 1);
	peer->filling_left = 9;
	look();
	is_int(fake.n_probes, 1);
	peer->filling = NULL;
	fake_close();
}
