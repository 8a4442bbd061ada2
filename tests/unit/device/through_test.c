// SPDX-License-Identifier: BSD-3-Clause
/*
 * Tests of through: each call reaches the same operation of the lower device, with that device and
 * its answer.
 */
#include "pmcore/device/through.h"

#include <string.h>

#include "tests/harness/tap.h"

static struct pm_dev lower;
static struct through upper;
static char calls[256];    /* what the lower device was asked, in order */
static uintptr_t argument; /* the last one that tells calls apart */

static void note(struct pm_dev *dev, const char *call, uintptr_t arg)
{
	okf(dev == &lower, "%s: of another device", call);
	strcat(calls, call);
	strcat(calls, " ");
	argument = arg;
}

static int l_address(struct pm_dev *dev, void *buf, size_t room)
{
	note(dev, "address", room);
	memset(buf, 7, 1);
	return 1;
}

static int l_peer_add(struct pm_dev *dev, uint32_t node, const void *addr, size_t len,
		      struct pm_dev_peer **ret_peer, uint32_t *ret_rails)
{
	note(dev, "peer_add", node + len + (uintptr_t)addr);
	*ret_peer = (struct pm_dev_peer *)&lower;
	*ret_rails = 5;
	return -11;
}

static void l_peer_del(struct pm_dev *dev, struct pm_dev_peer *peer)
{
	note(dev, "peer_del", (uintptr_t)peer);
}

static uint32_t l_mtu(struct pm_dev *dev, struct pm_dev_peer *peer)
{
	note(dev, "mtu", (uintptr_t)peer);
	return 1234;
}

static struct pm_packet packet;

static struct pm_packet *l_tx_alloc(struct pm_dev *dev)
{
	note(dev, "tx_alloc", 0);
	return &packet;
}

static struct pm_packet *l_tx_alloc_bulk(struct pm_dev *dev)
{
	note(dev, "tx_alloc_bulk", 0);
	return &packet;
}

static void l_tx_free(struct pm_dev *dev, struct pm_packet *p)
{
	note(dev, "tx_free", (uintptr_t)p);
}

static int l_tx_post(struct pm_dev *dev, uint32_t rail, struct pm_dev_peer *peer,
		     struct pm_packet *p)
{
	note(dev, "tx_post", rail + (uintptr_t)peer + (uintptr_t)p);
	return -12;
}

static void l_tx_kick(struct pm_dev *dev)
{
	note(dev, "tx_kick", 0);
}

static void l_rx_return(struct pm_dev *dev, uint64_t token)
{
	note(dev, "rx_return", token);
}

static int l_peer_event(struct pm_dev *dev, uint32_t *ret_node)
{
	note(dev, "peer_event", 0);
	*ret_node = 9;
	return 1;
}

static enum pm_rail_state l_rail_state(struct pm_dev *dev, uint32_t rail)
{
	note(dev, "rail_state", rail);
	return PM_RAIL_DOWN;
}

static int l_poll_fds(struct pm_dev *dev, int *fds, int room)
{
	note(dev, "poll_fds", (uintptr_t)room);
	fds[0] = 3;
	return 1;
}

static int l_arm(struct pm_dev *dev)
{
	note(dev, "arm", 0);
	return 1;
}

static void l_disarm(struct pm_dev *dev)
{
	note(dev, "disarm", 0);
}

static int l_suspend(struct pm_dev *dev)
{
	note(dev, "suspend", 0);
	return -13;
}

static int l_resume(struct pm_dev *dev)
{
	note(dev, "resume", 0);
	return -14;
}

static const struct pm_packet_ops lower_ops = {
	.address = l_address,
	.peer_add = l_peer_add,
	.peer_del = l_peer_del,
	.mtu = l_mtu,
	.tx_alloc = l_tx_alloc,
	.tx_alloc_bulk = l_tx_alloc_bulk,
	.tx_free = l_tx_free,
	.tx_post = l_tx_post,
	.tx_kick = l_tx_kick,
	.rx_return = l_rx_return,
	.peer_event = l_peer_event,
	.rail_state = l_rail_state,
	.poll_fds = l_poll_fds,
	.arm = l_arm,
	.disarm = l_disarm,
	.suspend = l_suspend,
	.resume = l_resume,
};

static struct pm_dev *begin(void)
{
	lower.ops = &lower_ops;
	upper.lower = &lower;
	calls[0] = '\0';
	return &upper.dev;
}

TAP_TEST(through__peers)
{
	struct pm_dev_peer *peer = NULL;
	struct pm_dev *dev = begin();
	uint32_t rails = 0, node = 0;
	uint8_t byte = 0;

	is_int(through_address(dev, &byte, 40), 1);
	is_int(byte, 7);
	is_int(argument, 40);
	is_int(through_peer_add(dev, 6, &byte, 30, &peer, &rails), -11);
	is_int(argument, 36 + (uintptr_t)&byte);
	ok(peer == (struct pm_dev_peer *)&lower);
	is_int(rails, 5);
	is_int(through_mtu(dev, peer), 1234);
	is_int(argument, (uintptr_t)peer);
	is_int(through_peer_event(dev, &node), 1);
	is_int(node, 9);
	through_peer_del(dev, peer);
	is_int(argument, (uintptr_t)peer);
	is_str(calls, "address peer_add mtu peer_event peer_del ");
}

TAP_TEST(through__packets)
{
	struct pm_dev *dev = begin();

	ok(through_tx_alloc(dev) == &packet);
	ok(through_tx_alloc_bulk(dev) == &packet);
	is_int(through_tx_post(dev, 3, NULL, &packet), -12);
	is_int(argument, 3 + (uintptr_t)&packet);
	through_tx_kick(dev);
	through_tx_free(dev, &packet);
	is_int(argument, (uintptr_t)&packet);
	through_rx_return(dev, 77);
	is_int(argument, 77);
	is_str(calls, "tx_alloc tx_alloc_bulk tx_post tx_kick tx_free rx_return ");
}

TAP_TEST(through__sleep_and_state)
{
	struct pm_dev *dev = begin();
	int fds[2] = {0};

	is_int(through_rail_state(dev, 2), PM_RAIL_DOWN);
	is_int(argument, 2);
	is_int(through_poll_fds(dev, fds, 2), 1);
	is_int(argument, 2);
	is_int(fds[0], 3);
	is_int(through_arm(dev), 1);
	through_disarm(dev);
	is_int(through_suspend(dev), -13);
	is_int(through_resume(dev), -14);
	is_str(calls, "rail_state poll_fds arm disarm suspend resume ");
}
