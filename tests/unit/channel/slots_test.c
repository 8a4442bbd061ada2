// SPDX-License-Identifier: BSD-3-Clause
/* slots: the entry of a sequence number and back, lists that lose their ends and their middle. */
#include "pmcore/channel/peer.h"
#include "pmcore/channel/slots.h"
#include "tests/unit/channel/rig.h"

TAP_TEST(slot_seq__of_each_entry_across_the_wrap)
{
	struct rig *rig = rig_new(1);
	struct chan_flow *flow = peer_attach(rig->chan, rig->peer);
	uint32_t i;

	rig->peer->tx_una = UINT32_MAX - 5;
	for (i = 0; i < rig->config.window; i++) {
		uint32_t seq = rig->peer->tx_una + i;

		is_int(slot_seq(rig->chan, rig->peer, slot_at(rig->chan, flow, seq)), seq);
	}
	rig->peer->tx_una = 0;
	rig_close(rig);
}

TAP_TEST(slot_list_del__ends_and_middle)
{
	struct rig *rig = rig_new(1);
	struct chan_flow *flow = peer_attach(rig->chan, rig->peer);
	struct slot_list list = {CHAN_NIL, CHAN_NIL};
	uint16_t i;

	for (i = 0; i < 4; i++)
		slot_list_add(flow, &list, &flow->slots[i]);
	slot_list_del(flow, &list, &flow->slots[1]);
	slot_list_del(flow, &list, &flow->slots[0]);
	is_int(list.head, 2);
	is_int(flow->slots[2].prev, CHAN_NIL);
	slot_list_del(flow, &list, &flow->slots[3]);
	is_int(list.tail, 2);
	is_int(flow->slots[2].next, CHAN_NIL);
	slot_list_del(flow, &list, &flow->slots[2]);
	is_int(list.head, CHAN_NIL);
	is_int(list.tail, CHAN_NIL);
	rig_close(rig);
}
