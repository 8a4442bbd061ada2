// SPDX-License-Identifier: BSD-3-Clause
/* Sleeping on completion channels. */
#include <poll.h>

#include "pm-verbs/conn/greeting.h"
#include "tests/unit/pm-verbs/links.h"

#define OPS (&pm_verbs_ops)

static bool is_readable(struct node *n)
{
	struct pollfd fds[8];
	int list[8], count = OPS->poll_fds(n->link, list, 8);

	for (int i = 0; i < count; i++)
		fds[i] = (struct pollfd){.fd = list[i], .events = POLLIN};
	return poll(fds, (nfds_t)count, 0) > 0;
}

TAP_TEST(arm__a_message_wakes)
{
	uint64_t timeout = UINT64_MAX;

	fake_begin(1);
	must(links_open(2, NULL));
	must(links_send(0, 1, 8) == 0);
	links_drain();
	links_turn(10);
	is_int(OPS->arm(nodes[1].link, &timeout), 0);
	ok(timeout == UINT64_MAX);
	ok(!is_readable(&nodes[1]));
	must(links_send(0, 1, 8) == 0);
	ok(is_readable(&nodes[1]));
	OPS->disarm(nodes[1].link);
	ok(!is_readable(&nodes[1]));
	links_drain();
	links_close();
}

TAP_TEST(arm__not_with_work)
{
	uint64_t timeout = UINT64_MAX;

	fake_begin(1);
	must(links_open(2, NULL));
	must(links_send(0, 1, 8) == 0);
	links_drain();
	must(links_send(0, 1, 8) == 0);
	is_int(OPS->arm(nodes[1].link, &timeout), 1);
	/* taken from the device by arm itself, and not lost */
	is_int(OPS->arm(nodes[1].link, &timeout), 1);
	ok(!is_readable(&nodes[1]));
	links_drain();
	links_close();
}

TAP_TEST(arm__a_greeting_has_a_deadline)
{
	uint64_t timeout = UINT64_MAX;

	fake_begin(1);
	must(links_open(2, NULL));
	fake.drop_ud = 1000;
	must(links_send(0, 1, 8) == 0);
	links_turn(1);
	is_int(OPS->arm(nodes[0].link, &timeout), 0);
	ok(timeout <= PMV_GREET_MIN_NS);
	OPS->disarm(nodes[0].link);
	fake.drop_ud = 0;
	links_drain();
	links_close();
}
