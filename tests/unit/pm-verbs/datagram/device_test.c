// SPDX-License-Identifier: BSD-3-Clause
/*
 * Life of the packet device: what goes wrong at open, peers, suspend and resume, what can be seen
 * of it.
 */
#include "tests/unit/pm-verbs/datagrams.h"

#define OPS (&pm_verbs_datagram_ops)

TAP_TEST(open__says_why_not)
{
	struct datagram_node *n = &boxes[0];

	fake_begin(0);
	is_int(box_open(n, NULL), -ENODEV);
	ok(strstr(n->why, "no RDMA device") != NULL);
	fake_begin(1);
	fake_fail(FAKE_OPEN_DEVICE, 1, EACCES);
	is_int(box_open(n, NULL), -EPERM);
	ok(strstr(n->why, "no permission for /dev/infiniband/uverbs0") != NULL);
	fake_begin(1);
	fake_fail(FAKE_REG_MR, 1, ENOMEM);
	is_int(box_open(n, NULL), -EPERM);
	ok(strstr(n->why, "RLIMIT_MEMLOCK") != NULL);
	fake_begin(1);
	is_int(box_open(n, "verbs.gid=5"), -ENXIO);
	ok(strstr(n->why, "verbs.gid=5: port fake0:1 has no such entry") != NULL);
	fake_begin(1);
	fake.ports[0].attr.state = IBV_PORT_DOWN;
	is_int(box_open(n, NULL), -ENODEV);
	ok(strstr(n->why, "no port is active") != NULL);
	fake_begin(2);
	fake.ports[1].attr.active_mtu = IBV_MTU_512;
	is_int(box_open(n, NULL), -ENODEV);
	ok(strstr(n->why, "port fake1:1 has an MTU of 512 bytes, datagrams need 1024") != NULL);
	is_int(fake.live, 0);
	fake_end();
}

TAP_TEST(peer_add__says_why_not)
{
	struct pm_dev_peer *peer = NULL;
	uint32_t rails = 77;

	fake_begin(2);
	memset(boxes, 0, sizeof(boxes));
	must(!box_open(&boxes[0], "verbs.devices=fake0"));
	fake.ports[1].attr.active_mtu = IBV_MTU_4096;
	must(!box_open(&boxes[1], "verbs.devices=fake1"));
	is_int(box_meet(0, 1), -EHOSTUNREACH);
	is_str(boxes[0].why,
	       "node 1: not by verbs-datagram: the MTU is 1024 bytes on this port and 4096 on the "
	       "other: make them equal");
	for (size_t len = 0; len < boxes[1].address_len; len++)
		is_int(OPS->peer_add(boxes[0].dev, 1, boxes[1].address, len, &peer, &rails),
		       -EINVAL);
	ok(!peer && rails == 77);
	boxes_close();
}

TAP_TEST(address__room_and_size_of_packets)
{
	uint8_t small[8];

	fake_begin(2);
	fake.ports[1].attr.active_mtu = IBV_MTU_4096;
	must(boxes_open(2, NULL));
	is_int(OPS->address(boxes[0].dev, small, sizeof(small)), -ENOSPC);
	is_int(boxes[0].mask[1], 3);
	/* the least of all rails, so that each packet may take any of them */
	is_int(OPS->mtu(boxes[0].dev, NULL), 1024);
	is_int(OPS->mtu(boxes[0].dev, boxes[0].peer[1]), 1024);
	is_str(boxes[0].rails[1].name, "fake1:1");
	boxes_close();
}

TAP_TEST(peer_del__with_packets_under_way)
{
	fake_begin(1);
	must(boxes_open(2, NULL));
	fake.is_held = true;
	for (uint32_t i = 0; i < 3; i++)
		is_int(box_post(0, 1, 0, i, 600), 0);
	box_kick(0);
	OPS->peer_del(boxes[0].dev, boxes[0].peer[1]);
	/* the address handle is there as long as the device may look at it */
	is_int(pmvd_of(boxes[0].dev)->n_peers, 1);
	fake.is_held = false;
	fake_run();
	box_kick(0);
	is_int(pmvd_of(boxes[0].dev)->n_peers, 0);
	is_int(fake.early, 0);
	for (int i = 0; i < 3; i++)
		is_int(box_take(1, NULL, NULL), i);
	boxes_close();
}

TAP_TEST(peer_add__many_are_small)
{
	struct pm_dev_peer *peers[1000];
	uint64_t before;
	uint32_t rails;

	fake_begin(2);
	must(boxes_open(2, NULL));
	before = OPS->memory(boxes[0].dev);
	for (uint32_t i = 0; i < 1000; i++)
		must(!OPS->peer_add(boxes[0].dev, 100 + i, boxes[1].address, boxes[1].address_len,
				    &peers[i], &rails));
	/* of a thousand peers, with two rails */
	ok((OPS->memory(boxes[0].dev) - before) / 1000 < 200);
	is_int(fake.calls[FAKE_CREATE_QP] > 0, 1);
	is_int(fake.calls[FAKE_CREATE_AH], 0);
	for (uint32_t i = 0; i < 1000; i++)
		OPS->peer_del(boxes[0].dev, peers[i * 7 % 1000]);
	ok(box_passes(0, 1, 1));
	boxes_close();
}

TAP_TEST(resume__traffic_goes_on)
{
	struct pm_rx rx;
	uint32_t numbers[2];

	fake_begin(2);
	must(boxes_open(2, NULL));
	ok(box_passes(0, 1, 0));
	/* one packet is lent over it all */
	is_int(box_post(1, 0, 1, 5, 900), 0);
	box_kick(1);
	is_int(OPS->rx_burst(boxes[0].dev, &rx, 1), 1);
	for (int i = 0; i < 2; i++)
		is_int(OPS->suspend(boxes[i].dev), 0);
	is_int(fake.live, 0);
	is_int((long)fake.locked, 0);
	is_int(OPS->rail_state(boxes[0].dev, 0), PM_RAIL_DOWN);
	is_int(OPS->address(boxes[0].dev, boxes[0].address, sizeof(boxes[0].address)), -ENODEV);
	/* swallowed */
	is_int(box_post(0, 1, 0, 1, 100), 0);
	box_kick(0);
	is_int(box_take(1, NULL, NULL), -1);
	is_int(OPS->arm(boxes[0].dev), 0);
	OPS->disarm(boxes[0].dev);
	for (int i = 0; i < 2; i++)
		is_int(OPS->resume(boxes[i].dev), 0);
	memcpy(numbers, rx.data, 4);
	is_int(numbers[0], 5);
	OPS->rx_return(boxes[0].dev, rx.token);
	is_int(OPS->rail_state(boxes[0].dev, 0), PM_RAIL_UP);
	/* queue pairs have other numbers now: peers are added anew */
	for (int i = 0; i < 2; i++)
		boxes[i].address_len = (size_t)OPS->address(boxes[i].dev, boxes[i].address,
							    sizeof(boxes[i].address));
	for (int i = 0; i < 2; i++) {
		OPS->peer_del(boxes[i].dev, boxes[i].peer[!i]);
		is_int(box_meet(i, !i), 0);
	}
	for (uint32_t r = 0; r < 2; r++) {
		ok(box_passes(0, 1, r));
		ok(box_passes(1, 0, r));
	}
	boxes_close();
}

TAP_TEST(suspend__sends_what_waits)
{
	fake_begin(1);
	must(boxes_open(2, NULL));
	is_int(box_post(0, 1, 0, 5, 300), 0);
	is_int(OPS->suspend(boxes[0].dev), 0);
	is_int(box_take(1, NULL, NULL), 5);
	boxes_close();
}

TAP_TEST(resume__a_port_has_gone)
{
	fake_begin(2);
	must(boxes_open(2, NULL));
	is_int(OPS->suspend(boxes[0].dev), 0);
	fake.ports[0].attr.state = IBV_PORT_DOWN;
	is_int(OPS->resume(boxes[0].dev), 0);
	is_int(OPS->rail_state(boxes[0].dev, 0), PM_RAIL_DOWN);
	is_int(OPS->rail_state(boxes[0].dev, 1), PM_RAIL_UP);
	is_int(OPS->address(boxes[0].dev, boxes[0].address, sizeof(boxes[0].address)), 4 + 28);
	ok(box_passes(0, 1, 1));
	is_int(OPS->suspend(boxes[0].dev), 0);
	fake.ports[1].attr.state = IBV_PORT_DOWN;
	is_int(OPS->resume(boxes[0].dev), -ENODEV);
	ok(strstr(boxes[0].why, "no port is active") != NULL);
	boxes_close();
}

TAP_TEST(open__one_port_is_not_active)
{
	struct pmvd_address address;

	fake_begin(2);
	fake.ports[0].attr.state = IBV_PORT_DOWN;
	must(box_open(&boxes[0], "verbs.devices=fake0+fake1") == 0);
	is_int(pmvd_address_decode(boxes[0].address, boxes[0].address_len, &address), 0);
	is_int(address.n_rails, 1);
	is_int(address.rails[0].skipped, 1);
	boxes_close();
}

/* A wire is called alike by both ends, whichever others are missing. */
TAP_TEST(resume__rails_keep_their_numbers)
{
	struct datagram_node *a = &boxes[0];
	struct pmvd_address address;

	fake_begin(2);
	must(boxes_open(2, "verbs.devices=fake0+fake1"));
	for (int i = 0; i < 2; i++) {
		/* the first port is not there, then it is again */
		fake.ports[0].attr.state = i ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
		is_int(OPS->suspend(a->dev), 0);
		is_int(OPS->resume(a->dev), 0);
		a->address_len = (size_t)OPS->address(a->dev, a->address, sizeof(a->address));
		is_int(pmvd_address_decode(a->address, a->address_len, &address), 0);
		is_int(address.n_rails, i + 1);
		is_int(address.rails[i].skipped, !i);
		OPS->peer_del(boxes[1].dev, boxes[1].peer[0]);
		is_int(box_meet(1, 0), 0);
		is_int(boxes[1].mask[0], i ? 3 : 2);
		ok(box_passes(1, 0, 1));
	}
	boxes_close();
}

TAP_TEST(resume__each_call_fails_once)
{
	for (int call = 0; call < FAKE_CALLS; call++)
		for (long nth = 1, uses = 1; nth <= uses; nth += nth < 20 ? 1 : 97) {
			long before;
			int err;

			fake_begin(2);
			must(boxes_open(2, NULL));
			is_int(OPS->suspend(boxes[0].dev), 0);
			before = fake.calls[call];
			fake_fail((enum fake_call)call, (int)nth, EIO);
			err = OPS->resume(boxes[0].dev);
			fake_fail((enum fake_call)call, 0, 0);
			uses = fake.calls[call] - before > uses ? fake.calls[call] - before : uses;
			okf(!err || strlen(boxes[0].why) > 10, "%s %ld: \"%s\"",
			    fake_call_name((enum fake_call)call), nth, boxes[0].why);
			if (err) {
				is_int(OPS->suspend(boxes[0].dev), 0);
				is_int(OPS->resume(boxes[0].dev), 0);
			}
			/* a device that can't be asked leaves its rail closed */
			ok(box_passes(0, 1,
				      OPS->rail_state(boxes[0].dev, 1) == PM_RAIL_DOWN ? 0 : 1));
			boxes_close();
			if (tap_has_failed()) {
				tap_diag("%s failed at its use %ld",
					 fake_call_name((enum fake_call)call), nth);
				return;
			}
		}
}

static bool is_said(const char *what)
{
	char text[4000];

	OPS->dump(boxes[0].dev, text, sizeof(text));
	return okf(strstr(text, what) != NULL, "\"%s\" is not in: %s", what, text);
}

/* Objects that a device refuses to destroy or deregister are counted and reported. */
TAP_TEST(refused__ends)
{
	static const struct {
		enum fake_call call;
		const char *what;
	} cases[] = {
		{FAKE_DESTROY_QP,
		 "1 calls refused by devices, last: a queue pair is not destroyed: "
		 "Device or resource busy"},
		{FAKE_DESTROY_AH,
		 "2 calls refused by devices, last: an address handle is not destr"},
		{FAKE_DEREG_MR,
		 "3 calls refused by devices, last: memory for packets is not dereg"},
	};

	fake_begin(1);
	must(boxes_open(2, NULL));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ok(box_passes(0, 1, 0));
		fake_fail(cases[i].call, 1, EBUSY);
		is_int(OPS->suspend(boxes[0].dev), 0);
		is_int(OPS->resume(boxes[0].dev), 0);
		is_said(cases[i].what);
	}
	/* one that is deleted alone */
	ok(box_passes(0, 1, 0));
	fake_fail(FAKE_DESTROY_AH, 1, EBUSY);
	OPS->peer_del(boxes[0].dev, boxes[0].peer[1]);
	is_said("4 calls refused by devices, last: an address handle");
	box_close(&boxes[0]);
	box_close(&boxes[1]);
	/* what the device still has registered */
	is_int(fake.live, 1);
	fake_forget();
	boxes_close();
}

TAP_TEST(dump__fits_any_room)
{
	char text[2000], part[2000];
	int len;

	fake_begin(2);
	must(boxes_open(2, NULL));
	len = OPS->dump(boxes[0].dev, text, sizeof(text));
	ok(len > 0 && len < 1000);
	ok(strstr(text, "verbs-datagram: 1 peers") && strstr(text, "rail 1: fake1:1, RoCE v2"));
	for (size_t room = 0; room < 400; room++) {
		memset(part, 'x', sizeof(part));
		is_int(OPS->dump(boxes[0].dev, part, room), len);
		ok(part[room] == 'x');
	}
	boxes_close();
}
