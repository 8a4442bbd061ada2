// SPDX-License-Identifier: BSD-3-Clause
/* freeze: when it is refused, what it needs. The way back is in thaw_test.c. */
#include "tests/unit/channel/rig.h"

TAP_TEST(chan_freeze__busy_until_quiet)
{
	struct rig *rig = rig_new(1);
	uint8_t buf[4000];

	is_int(rig_send(rig, 8, 1), 0);
	is_int(chan_freeze(rig->chan, buf, sizeof(buf)), -EBUSY);
	rig_ack(rig, 1, 0, NULL);
	ok(chan_freeze(rig->chan, buf, sizeof(buf)) > 0);
	rig_datagram(rig, 0, 0); /* its ack is owed */
	is_int(chan_freeze(rig->chan, buf, sizeof(buf)), -EBUSY);
	chan_quiesce(rig->chan, true);
	ok(rig_poll(rig, 0) == 1);
	ok(chan_freeze(rig->chan, buf, sizeof(buf)) > 0);
	rig_close(rig);
}

TAP_TEST(chan_freeze__busy_while_anything_is_lent)
{
	struct rig *rig = rig_new(1);
	struct pm_packet *packet;
	struct chan_msg msg;
	uint8_t buf[4000];
	void *payload;

	chan_quiesce(rig->chan, true);
	is_int(chan_reserve(rig->chan, rig->peer, 8, &packet, &payload), 0);
	is_int(chan_freeze(rig->chan, buf, sizeof(buf)), -EBUSY);
	chan_discard(rig->chan, rig->peer, packet);
	ok(chan_freeze(rig->chan, buf, sizeof(buf)) > 0);
	rig_datagram(rig, 0, 0);
	rig_poll(rig, 0);
	must(chan_next(rig->chan, &msg) == 1);
	is_int(chan_freeze(rig->chan, buf, sizeof(buf)), -EBUSY);
	chan_release(rig->chan, msg.cookie);
	rig_poll(rig, 0);
	ok(chan_freeze(rig->chan, buf, sizeof(buf)) > 0);
	rig_close(rig);
}

TAP_TEST(chan_freeze__says_how_much_room_it_needs)
{
	struct rig *rig = rig_new(1);
	uint8_t buf[4000];
	int need, room;

	chan_quiesce(rig->chan, true);
	is_int(rig_send(rig, 100, 1), 0);
	rig_datagram(rig, 0, 0);
	rig_poll(rig, 0);
	need = chan_freeze(rig->chan, NULL, 0);
	ok(need > 100);
	for (room = 0; room < need; room++) {
		memset(buf, 0xee, sizeof(buf));
		is_int(chan_freeze(rig->chan, buf, (size_t)room), need);
		is_int(buf[room], 0xee);
	}
	is_int(chan_freeze(rig->chan, buf, (size_t)need), need);
	rig_close(rig);
}

TAP_TEST(chan_freeze__idle_peers_take_no_room)
{
	struct rig *rig = rig_new(1);
	struct chan_peer *peer;
	uint8_t buf[4000];
	uint32_t i;
	int empty;

	empty = chan_freeze(rig->chan, buf, sizeof(buf));
	for (i = 0; i < 1000; i++)
		is_int(chan_peer_add(rig->chan, 100 + i, NULL, 1, RIG_MTU, &peer), 0);
	is_int(chan_freeze(rig->chan, buf, sizeof(buf)), empty);
	rig_close(rig);
}
