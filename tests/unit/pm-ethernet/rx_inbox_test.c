// SPDX-License-Identifier: BSD-3-Clause
/* rx.c where frames come by the inbox. */
#include "tests/unit/pm-ethernet/inboxrig.h"
#include "tests/unit/pm-ethernet/rig.h"

static struct inboxrig kernel;

static struct rig *open_rig(void)
{
	struct rig *r = rig_open(RIG_DIRECT);

	kernel = inboxrig_open(&r->d.inbox);
	r->d.granted.inbox_bytes = INBOX_BYTES;
	return r;
}

static void close_rig(struct rig *r)
{
	inboxrig_close(&kernel, &r->d.inbox);
	rig_close(r, true);
}

/* A frame with @len bytes of packet that all are @fill. */
static void arrive(struct eth_frame head, uint32_t len, uint8_t fill)
{
	uint8_t frame[2048];

	memset(frame, fill, sizeof(frame));
	memcpy(frame, &head, sizeof(head));
	inboxrig_put(&kernel, len + ETH_HEAD <= 112 ? 120 : 2040, 0, frame, len + ETH_HEAD);
}

static int burst(struct rig *r, struct pm_rx *rx, int n)
{
	return eth_rx_burst(&r->d.dev, rx, n);
}

TAP_TEST(rx_burst__copies_from_the_inbox)
{
	struct rig *r = open_rig();
	struct pm_rx rx[4];

	is_int(burst(r, rx, 4), 0);
	arrive(rig_head(r, 2), 1480, 'b');
	arrive(rig_head(r, 1), 56, 'a');
	ok(eth_rx_is_pending(&r->d));
	is_int(burst(r, rx, 4), 2);
	ok(!eth_rx_is_pending(&r->d));
	is_int(rx[0].len, 1480);
	is_int(rx[0].rail, 1);
	is_int(rx[0].data[1479], 'b');
	is_int((uintptr_t)rx[0].data % 8, 0);
	is_int(rx[1].len, 56);
	is_int(rx[1].rail, 0);
	is_int(rx[1].data[55], 'a');
	/* what is lent stays when its place in the ring is used again */
	for (int i = 0; i < 20; i++) {
		struct pm_rx other;

		arrive(rig_head(r, 1), 56, 'x');
		must(burst(r, &other, 1) == 1);
		eth_rx_return(&r->d.dev, other.token);
	}
	is_int(rx[0].data[0], 'b');
	is_int(rx[1].data[0], 'a');
	eth_rx_return(&r->d.dev, rx[1].token);
	eth_rx_return(&r->d.dev, rx[0].token);
	is_int(r->d.n_free_slots, 8);
	close_rig(r);
}

TAP_TEST(rx_burst__what_finds_no_slot_stays_in_the_inbox)
{
	struct rig *r = open_rig();
	struct pm_rx rx[9];

	for (int i = 0; i < 9; i++)
		arrive(rig_head(r, 1), 56, (uint8_t)i);
	is_int(burst(r, rx, 9), 8);
	ok(!eth_rx_has_room(&r->d));
	is_int(burst(r, &rx[8], 1), 0);
	eth_rx_return(&r->d.dev, rx[3].token);
	ok(eth_rx_has_room(&r->d));
	is_int(burst(r, &rx[8], 1), 1);
	is_int(rx[8].data[0], 8);
	is_int(rx[2].data[0], 2);
	close_rig(r);
}

TAP_TEST(rx_burst__wrong_frames_in_the_inbox_are_counted)
{
	struct rig *r = open_rig();
	struct eth_frame head = rig_head(r, 1);
	struct pm_rx rx[8];

	arrive(head, sizeof(struct wire_header) - 1, 0);
	head.version++;
	arrive(head, 60, 0);
	head = rig_head(r, 1);
	head.dst_context++;
	arrive(head, 60, 0);
	arrive(rig_head(r, ETH_RAILS), 60, 0);
	arrive(rig_head(r, 7), 60, 0); /* a rail of the host that is none of ours */
	is_int(burst(r, rx, 8), 0);
	arrive(rig_head(r, 1), 1488, 0); /* larger than any packet */
	is_int(burst(r, rx, 8), 0);
	is_int(r->rails[0].drops[DROP_TRUNCATED], 1);
	is_int(r->rails[0].drops[DROP_VERSION], 1);
	is_int(r->rails[0].drops[DROP_DESTINATION], 1);
	is_int(r->rails[0].drops[DROP_RAIL], 2);
	is_int(r->rails[0].drops[DROP_MALFORMED], 1);
	is_int(r->d.n_free_slots, 8);
	ok(!eth_rx_is_pending(&r->d));
	close_rig(r);
}

TAP_TEST(rx_burst__news_of_a_context_that_is_gone)
{
	struct rig *r = open_rig();
	struct eth_frame head = rig_head(r, 1);
	uint32_t node = 0;
	struct pm_rx rx;

	rig_peer(r, 4);
	head.kind = ETH_GONE;
	arrive(head, 60, 0);
	is_int(burst(r, &rx, 1), 0);
	is_int(eth_peer_event(&r->d.dev, &node), 1);
	is_int(node, 4);
	close_rig(r);
}

TAP_TEST(rx_burst__of_a_closed_inbox)
{
	struct rig *r = open_rig();
	struct pm_rx rx;

	arrive(rig_head(r, 1), 60, 0);
	inboxrig_close(&kernel, &r->d.inbox);
	is_int(burst(r, &rx, 1), 0);
	ok(!eth_rx_is_pending(&r->d));
	rig_close(r, true);
}
