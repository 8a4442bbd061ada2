// SPDX-License-Identifier: BSD-3-Clause
/* Queue pairs that neither carry out what they have nor report it, since their port failed. */
#include "pm-verbs/progress.h"
#include "tests/unit/pm-verbs/links.h"

#define OPS (&pm_verbs_ops)
#define MESSAGES 5

/* Node 0 on device 0, or on 0 and 2; node 1 on device 1, or on 1 and 3; in contact. */
static void open_two(bool has_rails, const char *options)
{
	static const char *const devices[2][2] = {{"fake0", "fake0+fake2"},
						  {"fake1", "fake1+fake3"}};

	fake_begin(4);
	memset(nodes, 0, sizeof(nodes));
	for (uint32_t i = 0; i < 2; i++) {
		char all[200];

		snprintf(all, sizeof(all), "verbs.devices=%s%s", devices[i][has_rails], options);
		must(node_open(&nodes[i], i, all) == 0);
		node_still(&nodes[i]);
	}
	must(links_add(0, 1) && links_add(1, 0));
	must(links_send(0, 1, 8) == 0);
	links_drain();
}

static struct pm_link_peer *peer(void)
{
	return nodes[0].peer[1];
}

static int device_in_use(void)
{
	return peer()->qp->rail->index ? 2 : 0;
}

/* Node 0 posts messages that get stuck, and its device does not report it. */
static void stick(void)
{
	fake_stick(device_in_use());
	for (int i = 0; i < MESSAGES; i++)
		must(links_send(0, 1, 100) == 0);
	links_run(3, 20000);
	is_int(nodes[1].received[0], 1);
}

TAP_TEST(stall__the_port_comes_back)
{
	open_two(false, "");
	stick();
	fake_event(0, IBV_EVENT_PORT_ERR);
	fake_event(0, IBV_EVENT_PORT_ACTIVE);
	links_hear();
	links_run(3, 1900);
	is_int(nodes[1].received[0], 1);
	links_run(3, 300);
	is_int(nodes[1].received[0], 1 + MESSAGES);
	ok(strstr(peer()->why, "fake0:1: nothing is acknowledged since its link failed") != NULL);
	is_int(nodes[0].dead, 0);
	links_close();
}

/* While the port is down, and until the peer has time to answer. */
TAP_TEST(stall__the_port_stays_down)
{
	open_two(false, "");
	stick();
	fake.ports[0].is_cut = true;
	fake_event(0, IBV_EVENT_PORT_ERR);
	links_hear();
	links_run(3, 30000);
	is_int(peer()->stage, PMV_GREETING);
	ok(strstr(peer()->why, "(its link is down)") != NULL);
	fake.ports[0].is_cut = false;
	links_run(3, 300);
	is_int(nodes[1].received[0], 1 + MESSAGES);
	is_int(nodes[0].dead, 0);
	links_close();
}

TAP_TEST(stall__by_the_other_rail)
{
	int device;

	open_two(true, "");
	device = device_in_use();
	stick();
	fake.ports[device].is_cut = true;
	fake_event(device, IBV_EVENT_PORT_ERR);
	links_hear();
	links_run(3, 2500);
	is_int(nodes[1].received[0], 1 + MESSAGES);
	ok(device_in_use() != device);
	links_close();
}

/*
 * Nothing was under way when the port went down, so nothing shows that what is posted next would
 * get stuck.
 */
TAP_TEST(stall__an_idle_connection_leaves_the_port)
{
	int device;

	open_two(true, "");
	device = device_in_use();
	fake.ports[device].is_cut = true;
	fake_event(device, IBV_EVENT_PORT_ERR);
	links_hear();
	links_run(3, 2500);
	fake_stick(device);
	must(links_send(0, 1, 8) == 0);
	links_run(3, 300);
	is_int(nodes[1].received[0], 2);
	ok(device_in_use() != device);
	ok(strstr(peer()->why, "(its link is down)") != NULL);
	is_int(nodes[0].dead + nodes[1].dead, 0);
	links_close();
}

/*
 * Both ports went down, so there was none to go to; now the other one is back, and this one is not.
 */
TAP_TEST(stall__an_idle_connection_leaves_when_another_port_is_back)
{
	int device;

	open_two(true, "");
	device = device_in_use();
	fake.ports[device].is_cut = true;
	fake_event(0, IBV_EVENT_PORT_ERR);
	fake_event(2, IBV_EVENT_PORT_ERR);
	links_hear();
	links_run(3, 5000);
	ok(device_in_use() == device);
	is_int(links_of(0)->n_stalling, 0);
	fake_event(2 - device, IBV_EVENT_PORT_ACTIVE);
	links_hear();
	links_run(3, 2500);
	fake_stick(device);
	must(links_send(0, 1, 8) == 0);
	links_run(3, 300);
	is_int(nodes[1].received[0], 2);
	ok(device_in_use() != device);
	is_int(nodes[0].dead + nodes[1].dead, 0);
	links_close();
}

/* It is back before that: the connection stays. */
TAP_TEST(stall__an_idle_connection_outlives_a_short_failure)
{
	uint32_t epoch;

	open_two(true, "");
	epoch = peer()->epoch;
	fake_event(device_in_use(), IBV_EVENT_PORT_ERR);
	links_hear();
	links_run(3, 1900);
	fake_event(device_in_use(), IBV_EVENT_PORT_ACTIVE);
	links_hear();
	links_run(3, 5000);
	must(links_send(0, 1, 8) == 0);
	links_run(3, 300);
	is_int(nodes[1].received[0], 2);
	is_int(peer()->epoch, epoch);
	links_close();
}

/* A one-sided operation is posted again. */
TAP_TEST(stall__one_sided)
{
	uint8_t region[1000], local[1000];
	uint64_t rkey;
	uint32_t op;

	open_two(false, "");
	links_fill(region, sizeof(region), 3);
	must(!region_add(nodes[1].regions, region, sizeof(region), &rkey));
	must(links_rma(0, 1, false, rkey, 0, local, 10) == 0);
	fake_stick(0);
	must(!OPS->read(nodes[0].link, peer(), rkey, 0, local, sizeof(local), &op));
	fake_event(0, IBV_EVENT_PORT_ACTIVE);
	links_hear();
	links_run(3, 1900);
	is_int(OPS->rma_done(nodes[0].link, op), -EAGAIN);
	links_run(3, 300);
	is_int(OPS->rma_done(nodes[0].link, op), 0);
	ok(links_is_filled(local, sizeof(local), 3));
	links_close();
}

/* The receiver is slow: nothing is wrong as long as something comes back. */
TAP_TEST(stall__slow_is_not_stuck)
{
	uint32_t epoch;

	open_two(false, ",verbs.shared=16,verbs.credit=64");
	epoch = peer()->epoch;
	while (links_send(0, 1, 100) == 0)
		links_take(0);
	must(peer()->posted.n > 2 * 16);
	fake_event(0, IBV_EVENT_PORT_ACTIVE);
	links_hear();
	for (int i = 0; i < 3; i++) {
		links_run(1, 1900);
		is_int(peer()->epoch, epoch);
		/* those that wait come by the receives that are posted again */
		is_int(pmv_progress(links_of(1)), 16);
	}
	links_drain();
	is_int(peer()->epoch, epoch);
	is_int(links_of(0)->n_stalling, 0);
	links_close();
}

/* A sleeping process wakes up at the deadline of a stuck queue pair. */
TAP_TEST(stall__has_a_deadline)
{
	uint64_t timeout = UINT64_MAX;

	open_two(false, "");
	stick();
	is_int(OPS->arm(nodes[0].link, &timeout), 0);
	ok(timeout == UINT64_MAX);
	fake_event(0, IBV_EVENT_PORT_ACTIVE);
	OPS->disarm(nodes[0].link);
	is_int(OPS->arm(nodes[0].link, &timeout), 0);
	okf(timeout > 1900000000 && timeout <= 2000000000, "%llu ns", (unsigned long long)timeout);
	OPS->disarm(nodes[0].link);
	links_pass_time(timeout);
	OPS->arm(nodes[0].link, &timeout);
	OPS->disarm(nodes[0].link);
	ok(peer()->stage != PMV_READY);
	links_run(3, 300);
	is_int(nodes[1].received[0], 1 + MESSAGES);
	links_close();
}

/* A connection that ends meanwhile takes its watch along. */
TAP_TEST(stall__closed_meanwhile)
{
	open_two(false, "");
	stick();
	fake_event(0, IBV_EVENT_PORT_ACTIVE);
	links_hear();
	is_int(links_of(0)->n_stalling, 1);
	fake_break(0);
	links_run(3, 300);
	is_int(links_of(0)->n_stalling, 0);
	is_int(nodes[1].received[0], 1 + MESSAGES);
	links_close();
}

TAP_TEST(stall__closed_while_the_port_is_down)
{
	open_two(false, "");
	fake_event(0, IBV_EVENT_PORT_ERR);
	links_hear();
	is_int(links_of(0)->n_stalling, 1);
	OPS->peer_del(nodes[0].link, peer());
	nodes[0].peer[1] = NULL;
	links_run(3, 10);
	is_int(links_of(0)->n_qps, 0);
	is_int(links_of(0)->n_stalling, 0);
	links_close();
}

/*
 * Its queue pair outlives it for some time, and nobody is there any more whose connection could be
 * lost.
 */
TAP_TEST(stall__removed_while_the_port_is_down)
{
	open_two(false, "");
	must(links_send(1, 0, 8) == 0);
	links_drain();
	fake_event(0, IBV_EVENT_PORT_ERR);
	links_hear();
	links_run(3, 1900);
	fake.is_late = true;
	must(links_send(1, 0, 8) == 0);
	OPS->peer_del(nodes[0].link, peer());
	nodes[0].peer[1] = NULL;
	is_int(links_of(0)->n_qps, 1);
	is_int(links_of(0)->n_stalling, 0);
	links_run(1, 200);
	is_int(links_of(0)->n_qps, 1);
	fake.is_late = false;
	links_run(1, 3000);
	is_int(links_of(0)->n_qps, 0);
	links_close();
}
