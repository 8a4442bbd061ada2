// SPDX-License-Identifier: BSD-3-Clause
/* dump: says what matters, cuts where the room ends. */
#include "tests/unit/channel/rig.h"

TAP_TEST(chan_dump__like_snprintf)
{
	struct rig *rig = rig_new(2);
	char all[4000], some[4000];
	int len, room;

	is_int(rig_send(rig, 8, 1), 0);
	len = chan_dump(rig->chan, all, sizeof(all));
	ok(strstr(all, "channel node 1"));
	ok(strstr(all, "peer 2"));
	ok(strstr(all, "rail 1"));
	is_int(strlen(all), len);
	is_int(chan_dump(rig->chan, NULL, 0), len);
	for (room = 1; room <= len; room++) {
		memset(some, 'x', sizeof(some));
		is_int(chan_dump(rig->chan, some, (size_t)room), len);
		is_int(strlen(some), room - 1);
		is_mem(some, all, (size_t)room - 1);
		is_int(some[room], 'x');
	}
	rig_close(rig);
}

TAP_TEST(chan_dump__silent_about_idle_peers)
{
	struct rig *rig = rig_new(1);
	char buf[1000];

	chan_dump(rig->chan, buf, sizeof(buf));
	ok(!strstr(buf, "peer 2"));
	rig_close(rig);
}
