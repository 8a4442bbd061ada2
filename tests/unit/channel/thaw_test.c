// SPDX-License-Identifier: BSD-3-Clause
/* thaw: round trip of numbers and messages; damaged, forged and foreign blocks. */
#include "pmcore/channel/freeze.h"
#include "pmcore/util/crc32c.h"
#include "tests/unit/channel/rig.h"

static int resolve(void *arg, uint32_t node, struct chan_peer **ret_peer)
{
	struct rig *rig = arg;

	*ret_peer = chan_peer_find(rig->chan, node);
	return *ret_peer ? 0 : -EHOSTUNREACH;
}

/* Two messages unsent, three unread, numbers that are not zero. */
static struct rig *busy_rig(void)
{
	struct rig *rig = rig_new(2);
	uint32_t i;

	for (i = 0; i < 5; i++) {
		is_int(rig_send(rig, 20, 1), 0);
		rig_datagram(rig, i, i);
	}
	is_int(rig_take(rig), 0);
	is_int(rig_take(rig), 1);
	rig_ack(rig, 5, 0, NULL);
	chan_quiesce(rig->chan, true);
	is_int(rig_send(rig, 400, 8), 0);
	is_int(rig_send(rig, 300, 9), 0);
	rig_poll(rig, 0);
	ok(chan_is_quiet(rig->chan));
	return rig;
}

TAP_TEST(chan_thaw__goes_on_where_it_stopped)
{
	struct rig *old = busy_rig(), *new = rig_new(2);
	struct wire_header from = old->from;
	uint8_t buf[4000];
	int len = chan_freeze(old->chan, buf, sizeof(buf));

	must(len > 0);
	is_int(chan_thaw(new->chan, buf, (size_t)len, resolve, new), 0);
	chan_check(new->chan);
	is_int(rig_take(new), 2);
	is_int(rig_take(new), 3);
	is_int(rig_take(new), 4);
	is_int(rig_take(new), -1);
	is_int(new->peer->rx_done, 5);
	new->from = from;
	ok(rig_poll(new, 0) >= 2);
	is_int(new->sent[0].header.seq, 5);
	is_int(new->sent[0].header.ack, 5);
	is_int(rig_view(&new->sent[0], 0).msg.op, 5);
	is_int(rig_view(&new->sent[0], 0).payload[399], 8);
	is_int(rig_view(&new->sent[1], 0).payload[299], 9);
	rig_datagram(new, 5, 5);
	is_int(rig_take(new), 5);
	rig_ack(new, 7, 0, NULL);
	ok(chan_is_acked(new->chan, NULL));
	is_int(new->rails[0].losses + new->rails[1].losses, 0);
	rig_close(old);
	rig_close(new);
}

/*
 * A carried message, which is not the user's, keeps that mark through freeze and thaw, in either
 * direction.
 */
TAP_TEST(chan_thaw__carried_messages)
{
	const struct wire_msg mark = {.length = 4, .kind = WIRE_DATAGRAM, .flags = WIRE_M_CARRIED};
	struct rig *old = rig_new(1), *new = rig_new(1);
	uint8_t buf[4000], body[sizeof(mark) + 4] = {0};
	struct pm_packet *packet;
	struct chan_msg msg;
	void *payload;
	int len;

	wire_put_msg(body, &mark);
	rig_from(old, WIRE_DATA, body, sizeof(body));
	rig_poll(old, SEC);
	chan_quiesce(old->chan, true);
	is_int(chan_reserve(old->chan, old->peer, 8, &packet, &payload), 0);
	memset(payload, 1, 8);
	chan_submit_carried(old->chan, old->peer, packet, 8, old->now);
	is_int(rig_send(old, 8, 2), 0);
	len = chan_freeze(old->chan, buf, sizeof(buf));
	must(len > 0);
	is_int(chan_thaw(new->chan, buf, (size_t)len, resolve, new), 0);
	must(chan_next(new->chan, &msg) == 1);
	ok(msg.is_carried);
	chan_release(new->chan, msg.cookie);
	rig_poll(new, 0);
	is_int(rig_view(&new->sent[0], 0).msg.flags, WIRE_M_CARRIED);
	is_int(rig_view(&new->sent[0], 1).msg.flags, 0);
	is_int(rig_view(&new->sent[0], 1).payload[0], 2);
	rig_close(old);
	rig_close(new);
}

/* Every single byte changed, every shorter length: refused, and nothing has changed. */
TAP_TEST(chan_thaw__damaged)
{
	struct rig *old = busy_rig(), *new = rig_new(2);
	uint8_t buf[4000];
	int len = chan_freeze(old->chan, buf, sizeof(buf));
	int i;

	for (i = 0; i < len; i++) {
		buf[i] ^= 0x41;
		is_int(chan_thaw(new->chan, buf, (size_t)len, resolve, new), -EINVAL);
		buf[i] ^= 0x41;
		is_int(chan_thaw(new->chan, buf, (size_t)i, resolve, new), -EINVAL);
	}
	is_int(chan_thaw(new->chan, buf, (size_t)len + 1, resolve, new), -EINVAL);
	is_int(new->peer->tx_next, 0);
	is_int(rig_take(new), -1);
	is_int(chan_thaw(new->chan, buf, (size_t)len, resolve, new), 0);
	rig_close(old);
	rig_close(new);
}

/* With a right checksum: whatever it says, memory stays intact. */
TAP_TEST(chan_thaw__forged)
{
	uint64_t random = tap_seed();
	struct rig *old = busy_rig();
	uint8_t buf[4000], copy[4000];
	int len = chan_freeze(old->chan, buf, sizeof(buf));
	const size_t covered = offsetof(struct freeze_head, bytes);
	uint32_t round, crc;

	for (round = 0; round < 3000; round++) {
		struct rig *new = rig_new(2);
		int i;

		memcpy(copy, buf, (size_t)len);
		for (i = 0; i < 3; i++)
			copy[24 + tap_rand(&random) % (uint64_t)(len - 24)] =
				(uint8_t)tap_rand(&random);
		crc = crc32c(0, copy + covered, (size_t)len - covered);
		memcpy(copy + 12, &crc, 4);
		if (!chan_thaw(new->chan, copy, (size_t)len, resolve, new))
			while (rig_take(new) >= 0)
				;
		rig_destroy(new);
		is_int(rig_create(new), 0);
		rig_close(new);
	}
	rig_close(old);
}

TAP_TEST(chan_thaw__of_another_node)
{
	struct rig *old = busy_rig(), *new = rig_init();
	uint8_t buf[4000];
	int len = chan_freeze(old->chan, buf, sizeof(buf));

	new->config.self = 17;
	rig_open(new);
	is_int(chan_thaw(new->chan, buf, (size_t)len, resolve, new), -EINVAL);
	rig_close(old);
	rig_close(new);
}

TAP_TEST(chan_thaw__unresolved_peer_and_lack_of_buffers)
{
	struct rig *old = busy_rig(), *new = rig_init();
	uint8_t buf[4000];
	int len = chan_freeze(old->chan, buf, sizeof(buf));

	rig_open(new);
	chan_peer_del(new->chan, new->peer);
	is_int(chan_thaw(new->chan, buf, (size_t)len, resolve, new), -EHOSTUNREACH);
	is_int(chan_peer_add(new->chan, RIG_PEER, NULL, 1, RIG_MTU, &new->peer), 0);
	new->alloc_limit = 1;
	is_int(chan_thaw(new->chan, buf, (size_t)len, resolve, new), -ENOMEM);
	rig_close(old);
	rig_close(new);
}

TAP_TEST(chan_thaw__smaller_packets)
{
	struct rig *old = busy_rig(), *new = rig_init();
	uint8_t buf[4000];
	int len = chan_freeze(old->chan, buf, sizeof(buf));

	rig_open(new);
	chan_peer_del(new->chan, new->peer);
	is_int(chan_peer_add(new->chan, RIG_PEER, NULL, 1, 200, &new->peer), 0);
	is_int(chan_thaw(new->chan, buf, (size_t)len, resolve, new), -EINVAL);
	rig_close(old);
	rig_close(new);
}
