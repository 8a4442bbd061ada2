// SPDX-License-Identifier: BSD-3-Clause
/*
 * Every call of the library failing once in turn: the link opens or says why not, works or reports,
 * leaks nothing.
 */
#include "tests/unit/pm-verbs/links.h"

#define OPS (&pm_verbs_ops)

static uint8_t region[3000000], local[3000000];

/* All that uses the library: open, connect, messages, one-sided, sleep, close. */
static void use_all(enum fake_call call, int nth)
{
	uint64_t timeout = UINT64_MAX, rkey;
	bool is_open = true;
	uint32_t op = 0;

	memset(nodes, 0, sizeof(nodes));
	for (uint32_t i = 0; i < 2; i++) {
		/* so many credits that the first completion queue is too small */
		int err = node_open(&nodes[i], i, "verbs.credit=256");

		okf(!err || (strlen(nodes[i].why) > 10 && err != -EINVAL && err != -ENOMEM),
		    "%s %d: %d, \"%s\"", fake_call_name(call), nth, err, nodes[i].why);
		is_open &= !err;
	}
	if (!is_open)
		return;
	must(links_add(0, 1) && links_add(1, 0));
	must(!region_add(nodes[1].regions, region, sizeof(region), &rkey));
	for (int i = 0; i < 60; i++) {
		links_send(0, 1, 1000);
		links_send(1, 0, 1000);
		links_turn(2);
	}
	OPS->read(nodes[0].link, nodes[0].peer[1], rkey, 0, local, sizeof(local), &op);
	for (int i = 0; i < 100; i++) {
		links_turn(20);
		OPS->rma_done(nodes[0].link, op);
		/* greetings are sent again in the job's time */
		pmv_of(nodes[0].link)->clock.now += 10000000;
		pmv_of(nodes[1].link)->clock.now += 10000000;
	}
	if (!OPS->arm(nodes[0].link, &timeout))
		OPS->disarm(nodes[0].link);
	okf(nodes[0].dead || nodes[1].dead ||
		    (nodes[0].received[1] == nodes[1].sent[0] &&
		     nodes[1].received[0] == nodes[0].sent[1]),
	    "%s %d: messages are missing and nobody is said to be dead", fake_call_name(call), nth);
}

/* Whether the device offers it. */
static bool fake_has(int call)
{
	return fake.max_srq || (call != FAKE_CREATE_SRQ && call != FAKE_POST_SRQ_RECV);
}

TAP_TEST(all_calls__each_fails_once)
{
	for (int call = 0; call < FAKE_CALLS; call++) {
		long uses;

		fake_begin(2);
		use_all((enum fake_call)call, 0);
		uses = fake.calls[call];
		okf(uses > 0 || !fake_has(call), "%s is not used",
		    fake_call_name((enum fake_call)call));
		links_close();
		/* all of the first uses, and some of the many that are alike */
		for (int nth = 1; nth <= uses; nth += nth < 40 ? 1 : 23) {
			fake_begin(2);
			fake_fail((enum fake_call)call, nth, ENOMEM);
			use_all((enum fake_call)call, nth);
			links_close();
			if (tap_has_failed()) {
				tap_diag("%s failed at its use %d",
					 fake_call_name((enum fake_call)call), nth);
				return;
			}
		}
	}
}

TAP_TEST(open__says_why_not)
{
	struct node n;

	fake_begin(0);
	is_int(node_open(&n, 0, NULL), -ENODEV);
	ok(strstr(n.why, "no RDMA device") != NULL);
	fake_begin(1);
	fake_fail(FAKE_OPEN_DEVICE, 1, EACCES);
	is_int(node_open(&n, 0, NULL), -EPERM);
	ok(strstr(n.why, "no permission for /dev/infiniband/uverbs0") != NULL);
	fake_begin(1);
	fake_fail(FAKE_REG_MR, 1, ENOMEM);
	is_int(node_open(&n, 0, NULL), -EPERM);
	ok(strstr(n.why, "RLIMIT_MEMLOCK") != NULL);
	fake_begin(1);
	fake_fail(FAKE_REG_MR, 2, ENOMEM);
	is_int(node_open(&n, 0, NULL), -EPERM);
	ok(strstr(n.why, "fake0:1: memory for messages: ") != NULL);
	ok(strstr(n.why, "RLIMIT_MEMLOCK") != NULL);
	fake_begin(1);
	fake_fail(FAKE_CREATE_QP, 1, EAGAIN);
	is_int(node_open(&n, 0, NULL), -EPERM);
	ok(strstr(n.why, "fake0:1: no queue pair for greetings: the device or the control group "
			 "gives no more of these objects: ") != NULL);
	ok(strstr(n.why, "RLIMIT_MEMLOCK") == NULL);
	fake_begin(1);
	is_int(node_open(&n, 0, "verbs.gid=5"), -ENXIO);
	ok(strstr(n.why, "verbs.gid=5: port fake0:1 has no such entry") != NULL);
	fake_begin(1);
	is_int(node_open(&n, 0, "verbs.devices=fake0:1+fake3:1"), -ENODEV);
	ok(strstr(n.why, "verbs.devices=fake3:1: there is no such port here") != NULL);
	fake_begin(1);
	fake.ports[0].attr.state = IBV_PORT_DOWN;
	is_int(node_open(&n, 0, NULL), -ENODEV);
	ok(strstr(n.why, "no port is active") != NULL);
	is_int(fake.live, 0);
	fake_end();
}

/* Others have all that the device has, or the control group allows no more. */
TAP_TEST(connect__no_more_queue_pairs)
{
	fake_begin(1);
	must(links_open(3, NULL));
	must(links_send(0, 1, 8) == 0);
	links_drain();
	fake_fail(FAKE_CREATE_QP, 1, EAGAIN);
	must(links_send(0, 2, 8) == 0);
	links_drain();
	is_int(nodes[0].dead, 0);
	is_int(links_of(0)->n_most, 1);
	is_int((long)nodes[2].received[0], 1);
	links_close();
}

TAP_TEST(peer_add__says_why_not)
{
	struct pm_link_peer *peer;

	fake_begin(2);
	memset(nodes, 0, sizeof(nodes));
	must(!node_open(&nodes[0], 0, "verbs.devices=fake0"));
	fake.ports[1].attr.active_mtu = IBV_MTU_4096;
	must(!node_open(&nodes[1], 1, "verbs.devices=fake1"));
	is_int(OPS->peer_add(nodes[0].link, 1, nodes[1].address, nodes[1].address_len, &peer),
	       -EHOSTUNREACH);
	ok(strstr(nodes[0].why,
		  "node 1: not by verbs: the MTU is 1024 bytes on this port and 4096") != NULL);
	is_int(OPS->peer_add(nodes[0].link, 1, nodes[1].address, 11, &peer), -EINVAL);
	links_close();
}
