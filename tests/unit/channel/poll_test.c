// SPDX-License-Identifier: BSD-3-Clause
/* poll: rounds that are bounded and do not spin, and no time when nothing waits. */
#include "tests/unit/channel/rig.h"

TAP_TEST(chan_deadline__never_when_idle)
{
	struct rig *rig = rig_new(2);

	ok(chan_deadline(rig->chan) == UINT64_MAX);
	is_int(rig_poll(rig, SEC), 0);
	rig_close(rig);
}

TAP_TEST(chan_poll__is_bounded_and_serves_all_in_turn)
{
	static uint8_t memory[400000];
	struct rig *rig = rig_init();
	uint8_t body[sizeof(struct wire_read)];
	uint32_t from[4] = {0};
	uint32_t i;
	uint64_t rkey;

	rig->config.window = 256;
	rig->is_adding = true;
	rig_open(rig);
	is_int(region_add(rig->config.regions, memory, sizeof(memory), &rkey), 0);
	wire_put_read(body, &(struct wire_read){.rkey = rkey, .length = sizeof(memory)});
	for (i = 0; i < 4; i++) {
		rig->from.src = 10 + i;
		rig->from.rail_seq = 0;
		rig_message(rig, 0, WIRE_READ, 1, body, sizeof(body));
		chan_peer_find(rig->chan, 10 + i)->limit = 256;
	}
	rig_poll(rig, 0);
	ok(rig->n_sent <= CHAN_POLL_POSTS + CHAN_BURST);
	for (i = 0; i < rig->n_sent && i < 4 * CHAN_BURST; i++)
		from[rig->sent[i].header.dst - 10]++;
	for (i = 0; i < 4 && rig->n_sent == RIG_POOL; i++)
		ok(from[i] > 0 || i == 3);
	rig_close(rig);
}

TAP_TEST(chan_poll__full_rails_do_not_spin)
{
	struct rig *rig = rig_new(1);

	rig->full = 1;
	is_int(rig_send(rig, 8, 1), 0);
	is_int(chan_deadline(rig->chan), 0);
	is_int(rig_poll(rig, 0), 0);
	ok(chan_deadline(rig->chan) > rig->now);
	rig->full = 0;
	is_int(rig_poll(rig, 0), 1);
	rig_close(rig);
}
