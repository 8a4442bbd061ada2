/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * other - a packet device of datagrams that the lane opens by itself, in memory only: it does what
 * the test says and remembers what it was asked. It is the only one in a process.
 */
#ifndef TESTS_UNIT_DEVICE_OTHER_H
#define TESTS_UNIT_DEVICE_OTHER_H

#include <limits.h>

#include "tests/unit/device/lower.h"

/* The other device: one that the lane opens by itself. */
static struct other {
	struct pm_dev dev;
	int refusal;     /* of open */
	int unreachable; /* of peer_add */
	char names[8][48];
	uint32_t n_names;
	bool is_lane;
	uint32_t send_buffers;
	int kicks, closed, suspended, posted, armed, disarmed, has_work;
	uint32_t given, returned; /* packets */
	int looks;
	bool is_dry; /* has no packets */
	int freed;
	int room; /* packets until its rails are full */
	uint32_t event;
	struct pm_packet *held; /* the last posted */
} other;

static const struct pm_packet_ops other_ops;

static int other_open(const struct pm_device_env *env, struct pm_dev *lower, struct pm_dev **ret)
{
	if (other.refusal) {
		snprintf(env->why, env->why_size, "udp: refused here");
		return other.refusal;
	}
	other.n_names = env->conf->n_udp_rails;
	memcpy(other.names, env->conf->udp_rails, sizeof(other.names));
	other.is_lane = env->conf->udp_is_lane;
	other.send_buffers = env->conf->send_buffers;
	other.dev = (struct pm_dev){.can_gather = true,

				    .ops = &other_ops,
				    .n_rails = other.n_names,
				    .rx_buffers = 300,
				    .burst = 4};
	for (uint32_t r = 0; r < other.n_names; r++)
		memcpy(env->rails[r].name, other.names[r], sizeof(env->rails[r].name));
	*ret = &other.dev;
	return 0;
}

static void other_close(struct pm_dev *dev)
{
	other.closed++;
}

static int other_address(struct pm_dev *dev, void *buf, size_t room)
{
	if (room < 3)
		return -ENOSPC;
	memcpy(buf, "udp", 3);
	return 3;
}

static int other_peer_add(struct pm_dev *dev, uint32_t node, const void *addr, size_t len,
			  struct pm_dev_peer **ret_peer, uint32_t *ret_rails)
{
	ok(len == 3 && !memcmp(addr, "udp", 3));
	if (other.unreachable)
		return other.unreachable;
	*ret_peer = (struct pm_dev_peer *)&other;
	*ret_rails = (1u << other.n_names) - 1;
	return 0;
}

static void other_peer_del(struct pm_dev *dev, struct pm_dev_peer *peer)
{
	ok(peer == (struct pm_dev_peer *)&other);
}

static uint32_t other_mtu(struct pm_dev *dev, struct pm_dev_peer *peer)
{
	ok(!peer || peer == (struct pm_dev_peer *)&other);
	return LOWER_BYTES - 8;
}

static struct pm_packet other_packet;

static struct pm_packet *other_tx_alloc(struct pm_dev *dev)
{
	return other.is_dry ? NULL : &other_packet;
}

static void other_tx_free(struct pm_dev *dev, struct pm_packet *packet)
{
	ok(packet == &other_packet);
	other.freed++;
}

static int other_tx_post(struct pm_dev *dev, uint32_t rail, struct pm_dev_peer *peer,
			 struct pm_packet *packet)
{
	ok(rail < other.n_names && peer == (struct pm_dev_peer *)&other);
	if (!other.room)
		return -EAGAIN;
	other.room--;
	other.posted++;
	other.held = packet;
	return 0;
}

static void other_tx_kick(struct pm_dev *dev)
{
	other.kicks++;
}

static int other_rx_burst(struct pm_dev *dev, struct pm_rx *rx, int n)
{
	static uint8_t bytes[8];

	other.looks++;
	if (!other.given || n < 1)
		return 0;
	other.given--;
	rx[0] = (struct pm_rx){.data = bytes, .len = 8, .rail = 0, .token = 0x10005};
	return 1;
}

static void other_rx_return(struct pm_dev *dev, uint64_t token)
{
	is_int(token, 0x10005);
	other.returned++;
}

static int other_peer_event(struct pm_dev *dev, uint32_t *ret_node)
{
	if (!other.event)
		return 0;
	*ret_node = other.event;
	other.event = 0;
	return 1;
}

static enum pm_rail_state other_rail_state(struct pm_dev *dev, uint32_t rail)
{
	ok(rail < other.n_names);
	return PM_RAIL_DOWN;
}

static int other_arm(struct pm_dev *dev)
{
	other.armed++;
	return other.has_work;
}

static void other_disarm(struct pm_dev *dev)
{
	other.disarmed++;
}

static int other_suspend(struct pm_dev *dev)
{
	other.suspended++;
	return 0;
}

static const struct pm_packet_ops other_ops = {
	.abi = PM_DEVICE_ABI,
	.size = sizeof(struct pm_packet_ops),
	.name = "other",
	.open = other_open,
	.close = other_close,
	.address = other_address,
	.peer_add = other_peer_add,
	.peer_del = other_peer_del,
	.mtu = other_mtu,
	.tx_alloc = other_tx_alloc,
	.tx_free = other_tx_free,
	.tx_post = other_tx_post,
	.tx_kick = other_tx_kick,
	.rx_burst = other_rx_burst,
	.rx_return = other_rx_return,
	.peer_event = other_peer_event,
	.rail_state = other_rail_state,
	.arm = other_arm,
	.disarm = other_disarm,
	.suspend = other_suspend,
	.resume = other_suspend,
};

#endif
