// SPDX-License-Identifier: BSD-3-Clause
/*
 * Tests of lane: which rails and packets are whose, addresses with and without datagrams, what each
 * side is asked.
 */
#include "pmcore/device/lane.h"

#include "tests/unit/device/other.h"

/* ---- the frames below: the scripted device, and what it lacks ---- */

static struct pm_packet_ops frames_ops;
static int frames_kicks, frames_disarmed, frames_suspended;
static uint32_t frames_peers;

static int frames_address(struct pm_dev *dev, void *buf, size_t room)
{
	if (room < 5)
		return -ENOSPC;
	memcpy(buf, "frame", 5);
	return 5;
}

static int frames_peer_add(struct pm_dev *dev, uint32_t node, const void *addr, size_t len,
			   struct pm_dev_peer **ret_peer, uint32_t *ret_rails)
{
	if (node == 99)
		return -EHOSTUNREACH;
	ok(len == 5 && !memcmp(addr, "frame", 5));
	frames_peers++;
	*ret_peer = (struct pm_dev_peer *)&frames_peers;
	*ret_rails = (1u << ((struct lower *)dev)->n_rails) - 1;
	return 0;
}

static void frames_peer_del(struct pm_dev *dev, struct pm_dev_peer *peer)
{
	ok(peer == (struct pm_dev_peer *)&frames_peers);
	frames_peers--;
}

static void frames_kick(struct pm_dev *dev)
{
	frames_kicks++;
}

static void frames_disarm(struct pm_dev *dev)
{
	frames_disarmed++;
}

static int frames_suspend(struct pm_dev *dev)
{
	is_int(other.suspended, frames_suspended + 1); /* the datagrams first */
	frames_suspended++;
	return 0;
}

static uint8_t frames_bytes[LOWER_BYTES];
static struct pm_packet frames_packet;
static bool frames_are_dry;
static int frames_freed;
static struct pm_packet *frames_posted;

static struct pm_packet *frames_tx_alloc(struct pm_dev *dev)
{
	frames_packet = (struct pm_packet){.data = frames_bytes, .room = sizeof(frames_bytes)};
	return frames_are_dry ? NULL : &frames_packet;
}

static void frames_tx_free(struct pm_dev *dev, struct pm_packet *packet)
{
	ok(!packet->is_bulk);
	frames_freed++;
}

static uint32_t frames_tx_alloc_run(struct pm_dev *dev, bool is_bulk, uint32_t n,
				    struct pm_packet **ret_packets)
{
	ok(!is_bulk);
	for (uint32_t i = 0; i < n; i++)
		ret_packets[i] = frames_tx_alloc(dev);
	return n;
}

static void frames_tx_free_run(struct pm_dev *dev, struct pm_packet *const *packets, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		frames_tx_free(dev, packets[i]);
}

static int frames_tx_post(struct pm_dev *dev, uint32_t rail, struct pm_dev_peer *peer,
			  struct pm_packet *packet)
{
	frames_posted = packet;
	return lower_tx_post(dev, rail, peer, packet);
}

static int frames_peer_event(struct pm_dev *dev, uint32_t *ret_node)
{
	return 0;
}

static enum pm_rail_state frames_rail_state(struct pm_dev *dev, uint32_t rail)
{
	return PM_RAIL_UP;
}

static struct stand *stand;

static int open_lane(uint32_t n_rails, enum conf_lane lane, uint32_t packets)
{
	stand = calloc(1, sizeof(*stand));
	other = (struct other){.room = INT_MAX};
	frames_kicks = frames_disarmed = frames_suspended = 0;
	frames_peers = 0;
	frames_freed = 0;
	frames_are_dry = false;
	lower_init(&stand->lower, n_rails, packets);
	frames_ops = lower_ops;
	frames_ops.address = frames_address;
	frames_ops.peer_add = frames_peer_add;
	frames_ops.peer_del = frames_peer_del;
	frames_ops.tx_alloc = frames_tx_alloc;
	frames_ops.tx_free = frames_tx_free;
	frames_ops.tx_post = frames_tx_post;
	frames_ops.tx_kick = frames_kick;
	frames_ops.disarm = frames_disarm;
	frames_ops.suspend = frames_suspend;
	frames_ops.peer_event = frames_peer_event;
	frames_ops.rail_state = frames_rail_state;
	frames_ops.tx_alloc_run = frames_tx_alloc_run;
	frames_ops.tx_free_run = frames_tx_free_run;
	stand->lower.dev.ops = &frames_ops;
	stand->conf.ethernet_lane = lane;
	stand->conf.send_buffers = 2048;
	for (uint32_t r = 0; r < n_rails; r++)
		snprintf(stand->rails[r].name, sizeof(stand->rails[r].name), "eth%u", r + 1);
	stand->env = (struct pm_device_env){.conf = &stand->conf,
					    .stats = &stand->link,
					    .rails = stand->rails,
					    .why = stand->why,
					    .why_size = sizeof(stand->why)};
	return 0;
}

static int stack(int refusal)
{
	other.refusal = refusal;
	return lane_open(&stand->env, &stand->lower.dev, &other_ops, &stand->dev);
}

static void shut(void)
{
	pm_lane_ops.close(stand->dev);
	free(stand);
}

TAP_TEST(lane__rails_of_datagrams_follow_those_of_frames)
{
	open_lane(2, CONF_LANE_AUTO, 0);
	is_int(stack(0), 0);
	is_int(stand->dev->n_rails, 4);
	is_int(stand->dev->bulk_rails, 0xc);
	is_int(stand->dev->rx_buffers, 300);
	is_str(other.names[0], "eth1");
	is_str(other.names[1], "eth2");
	ok(other.is_lane && other.send_buffers == 2048);
	ok(other.dev.lender == &stand->lower.dev);
	is_str(stand->rails[1].name, "eth2");
	is_str(stand->rails[2].name, "eth1:udp");
	is_str(stand->rails[3].name, "eth2:udp");
	is_int(pm_lane_ops.rail_state(stand->dev, 1), PM_RAIL_UP);
	is_int(pm_lane_ops.rail_state(stand->dev, 2), PM_RAIL_DOWN);
	shut();
	is_int(other.closed, 1);
}

TAP_TEST(lane__a_long_name_keeps_its_mark)
{
	open_lane(1, CONF_LANE_AUTO, 0);
	strcpy(stand->rails[0].name, "enp129s0f1np123");
	is_int(stack(0), 0);
	is_str(stand->rails[1].name, "enp129s0f1n:udp");
	shut();
}

TAP_TEST(lane__none_without_room_or_by_wish)
{
	char text[300];

	open_lane(5, CONF_LANE_AUTO, 0);
	is_int(stack(0), 0);
	is_int(stand->dev->n_rails, 5);
	is_int(stand->dev->bulk_rails, 0);
	pm_lane_ops.dump(stand->dev, text, sizeof(text));
	ok(strstr(text, "lane: none: 5 rails leave no room") != NULL);
	shut();
	open_lane(1, CONF_LANE_NEVER, 0);
	is_int(stack(0), 0);
	is_int(stand->dev->n_rails, 1);
	shut();
	open_lane(1, CONF_LANE_AUTO, 0);
	is_int(stack(-ENODEV), 0);
	is_int(stand->dev->n_rails, 1);
	pm_lane_ops.dump(stand->dev, text, sizeof(text));
	ok(strstr(text, "udp: refused here") != NULL);
	shut();
}

TAP_TEST(lane__always_means_always)
{
	open_lane(1, CONF_LANE_ALWAYS, 0);
	is_int(stack(-ENODEV), -ENODEV);
	is_str(stand->why, "ethernet.lane: udp: refused here");
	free(stand);
}

/*
 * Adds a peer that has the address of @stand itself, without its datagrams if not @has_datagrams.
 */
static int add_peer(uint32_t node, bool has_datagrams, struct pm_dev_peer **ret,
		    uint32_t *ret_rails)
{
	uint8_t blob[64];
	int len = pm_lane_ops.address(stand->dev, blob, sizeof(blob));

	is_int(len, 12);
	return pm_lane_ops.peer_add(stand->dev, node, blob, (size_t)len - (has_datagrams ? 0 : 3),
				    ret, ret_rails);
}

TAP_TEST(lane__peers_with_and_without_datagrams)
{
	struct pm_dev_peer *peer;
	uint32_t rails;

	open_lane(2, CONF_LANE_AUTO, 0);
	is_int(stack(0), 0);
	is_int(add_peer(1, true, &peer, &rails), 0);
	is_int(rails, 0xf);
	is_int(pm_lane_ops.mtu(stand->dev, peer), LOWER_BYTES - 8);
	pm_lane_ops.peer_del(stand->dev, peer);
	is_int(add_peer(1, false, &peer, &rails), 0);
	is_int(rails, 3);
	is_int(pm_lane_ops.mtu(stand->dev, peer), LOWER_BYTES);
	pm_lane_ops.peer_del(stand->dev, peer);
	other.unreachable = -EHOSTUNREACH; /* another subnet */
	is_int(add_peer(1, true, &peer, &rails), 0);
	is_int(rails, 3);
	pm_lane_ops.peer_del(stand->dev, peer);
	other.unreachable = -EINVAL;
	is_int(add_peer(1, true, &peer, &rails), -EINVAL);
	is_int(add_peer(99, true, &peer, &rails), -EHOSTUNREACH);
	is_int(frames_peers, 0);
	shut();
}

TAP_TEST(lane_address_unpack__damaged)
{
	const uint8_t good[] = {1, 0, 2, 0, 'f', 'f', 'd'};
	struct lane_address parts;
	uint8_t bad[sizeof(good)];

	is_int(lane_address_unpack(good, sizeof(good), &parts), 0);
	is_int(parts.frames_len, 2);
	is_int(parts.datagrams_len, 1);
	ok(parts.frames == good + 4 && parts.datagrams == good + 6);
	is_int(lane_address_unpack(good, 6, &parts), 0);
	is_int(parts.datagrams_len, 0);
	for (size_t len = 0; len < 6; len++)
		is_int(lane_address_unpack(good, len, &parts), -EINVAL);
	for (int i = 0; i < 4; i++) {
		memcpy(bad, good, sizeof(bad));
		bad[i] ^= i == 2 ? 2
				 /* no frames; or another version, or more bytes than there are */
				 : 9;
		is_int(lane_address_unpack(bad, sizeof(bad), &parts), -EINVAL);
	}
}

TAP_TEST(lane__packets_go_by_their_rail)
{
	struct pm_dev_peer *peer;
	struct pm_packet packet = {0};
	uint32_t rails;

	open_lane(1, CONF_LANE_AUTO, 0);
	is_int(stack(0), 0);
	is_int(add_peer(1, true, &peer, &rails), 0);
	is_int(pm_lane_ops.tx_post(stand->dev, 0, peer, &packet), 0);
	is_int(stand->lower.posted, 1);
	is_int(other.posted, 0);
	for (int i = 0; i < 3; i++)
		is_int(pm_lane_ops.tx_post(stand->dev, 1, peer, &packet), 0);
	is_int(other.posted, 3);
	is_int(other.kicks, 0);
	is_int(pm_lane_ops.tx_post(stand->dev, 1, peer, &packet), 0);
	is_int(other.kicks, 1); /* one datagram is full */
	is_int(stand->lower.posted, 1);
	pm_lane_ops.tx_kick(stand->dev);
	is_int(other.kicks, 2);
	is_int(frames_kicks, 1);
	pm_lane_ops.peer_del(stand->dev, peer);
	shut();
}

TAP_TEST(lane__a_run_goes_by_its_rail)
{
	struct pm_packet packet[7] = {{0}}, *run[7];
	struct pm_dev_peer *peer;
	uint32_t rails;

	for (int i = 0; i < 7; i++)
		run[i] = &packet[i];
	open_lane(1, CONF_LANE_AUTO, 0);
	is_int(stack(0), 0);
	is_int(add_peer(1, true, &peer, &rails), 0);
	is_int(pm_lane_ops.tx_post_run(stand->dev, 0, peer, run, 2), 2);
	is_int(stand->lower.posted, 2);
	is_int(other.posted, 0);
	is_int(pm_lane_ops.tx_post(stand->dev, 1, peer, &packet[0]), 0);
	is_int(pm_lane_ops.tx_post_run(stand->dev, 1, peer, run, 2), 2);
	is_int(other.kicks, 0);
	is_int(pm_lane_ops.tx_post_run(stand->dev, 1, peer, run, 7), 7);
	is_int(other.kicks,
	       2); /* after the fourth and the eighth of the ten: each datagram when it is full */
	is_int(other.posted, 10);
	other.room = 3;
	is_int(pm_lane_ops.tx_post_run(stand->dev, 1, peer, run, 7), 3);
	is_int(other.kicks, 3);
	is_int(pm_lane_ops.tx_post_run(stand->dev, 1, peer, run, 7), 0);
	is_int(other.posted, 13);
	pm_lane_ops.peer_del(stand->dev, peer);
	shut();
}

TAP_TEST(lane__each_pool_gets_its_own_back)
{
	struct pm_packet *packet;

	open_lane(1, CONF_LANE_AUTO, 0);
	is_int(stack(0), 0);
	packet = pm_lane_ops.tx_alloc_bulk(stand->dev);
	ok(packet == &other_packet && packet->is_bulk);
	pm_lane_ops.tx_free(stand->dev, packet);
	is_int(other.freed, 1);
	other.is_dry = true;
	packet = pm_lane_ops.tx_alloc_bulk(stand->dev);
	ok(packet == &frames_packet && !packet->is_bulk);
	pm_lane_ops.tx_free(stand->dev, packet);
	is_int(frames_freed, 1);
	shut();
	open_lane(1, CONF_LANE_NEVER, 0);
	is_int(stack(0), 0);
	ok(pm_lane_ops.tx_alloc_bulk(stand->dev) == &frames_packet);
	shut();
}

TAP_TEST(lane__runs_of_one_kind_come_and_go)
{
	struct pm_packet *run[3], *mixed[3];

	open_lane(1, CONF_LANE_AUTO, 0);
	is_int(stack(0), 0);
	is_int(pm_lane_ops.tx_alloc_run(stand->dev, true, 2, run), 2);
	ok(run[0] == &other_packet && run[0]->is_bulk);
	is_int(pm_lane_ops.tx_alloc_run(stand->dev, false, 2, run + 1), 2);
	ok(run[1] == &frames_packet && !run[1]->is_bulk);
	mixed[0] = &frames_packet;
	mixed[1] = mixed[2] = &other_packet;
	pm_lane_ops.tx_free_run(stand->dev, mixed, 3);
	is_int(frames_freed, 1);
	is_int(other.freed, 2);
	other.is_dry = true;
	is_int(pm_lane_ops.tx_alloc_run(stand->dev, true, 2, run), 2);
	ok(run[0] == &frames_packet && !run[1]->is_bulk);
	shut();
}

/* A bulk packet that can't go by datagrams any more goes in a packet of the frames device. */
TAP_TEST(lane__a_bulk_packet_goes_by_frames_as_a_copy)
{
	uint8_t bytes[] = "the bytes of a packet";
	struct pm_dev_peer *peer;
	struct pm_packet *packet;
	uint32_t rails;

	open_lane(1, CONF_LANE_AUTO, 0);
	is_int(stack(0), 0);
	ok(stand->dev->can_gather);
	is_int(add_peer(1, true, &peer, &rails), 0);
	packet = pm_lane_ops.tx_alloc_bulk(stand->dev);
	packet->data = bytes;
	packet->len = sizeof(bytes);
	is_int(pm_lane_ops.tx_post(stand->dev, 0, peer, packet), 0);
	ok(frames_posted == &frames_packet);
	is_int(frames_packet.len, sizeof(bytes));
	is_mem(frames_packet.data, bytes, sizeof(bytes));
	is_int(frames_freed, 1);
	is_int(other.posted, 0);
	packet->len = 8;
	packet->more = bytes + 8;
	packet->more_len = sizeof(bytes) - 8;
	is_int(pm_lane_ops.tx_post(stand->dev, 0, peer, packet), 0);
	is_int(frames_packet.len, sizeof(bytes));
	is_mem(frames_packet.data, bytes, sizeof(bytes));
	packet->more_len = 0;
	frames_are_dry = true;
	is_int(pm_lane_ops.tx_post(stand->dev, 0, peer, packet), -EAGAIN);
	pm_lane_ops.tx_free(stand->dev, packet);
	pm_lane_ops.peer_del(stand->dev, peer);
	shut();
}

TAP_TEST(lane__received_packets_go_back_to_whom_they_are_of)
{
	struct pm_rx rx[8];

	open_lane(1, CONF_LANE_AUTO, 3);
	is_int(stack(0), 0);
	other.given = 1;
	is_int(pm_lane_ops.rx_burst(stand->dev, rx, 3), 3);
	while (other.given)
		pm_lane_ops.rx_burst(stand->dev, rx, 3);
	is_int(rx[0].rail, 1);
	pm_lane_ops.rx_return(stand->dev, rx[0].token);
	stand->lower.end = 6;
	other.given = 1;
	is_int(pm_lane_ops.rx_burst(stand->dev, rx, 8), 4);
	for (int i = 0; i < 4; i++) {
		is_int(rx[i].rail, i == 3);
		pm_lane_ops.rx_return(stand->dev, rx[i].token);
	}
	is_int(other.returned, 2);
	is_int(stand->lower.held, 3);
	shut();
}

TAP_TEST(lane__a_quiet_socket_is_looked_at_now_and_then)
{
	struct pm_rx rx[8];
	int before;

	open_lane(1, CONF_LANE_AUTO, 0);
	is_int(stack(0), 0);
	for (int i = 0; i < 1000; i++)
		pm_lane_ops.rx_burst(stand->dev, rx, 8);
	ok(other.looks > 20 && other.looks < 50);
	other.given = 1;
	while (other.given)
		pm_lane_ops.rx_burst(stand->dev, rx, 8);
	before = other.looks;
	for (int i = 0; i < 100; i++)
		pm_lane_ops.rx_burst(stand->dev, rx, 8);
	is_int(other.looks, before + 100);
	shut();
}

/* A firewall that answers datagrams for the peer kills nobody. */
TAP_TEST(lane__refused_datagrams_are_no_death)
{
	uint32_t node = 0;

	open_lane(1, CONF_LANE_AUTO, 0);
	is_int(stack(0), 0);
	other.event = 7;
	is_int(pm_lane_ops.peer_event(stand->dev, &node), 0);
	is_int(other.event, 0);
	shut();
}

TAP_TEST(lane__sleeps_on_both)
{
	open_lane(1, CONF_LANE_AUTO, 0);
	is_int(stack(0), 0);
	is_int(pm_lane_ops.arm(stand->dev), 0);
	is_int(stand->lower.armed, 1);
	is_int(other.armed, 1);
	pm_lane_ops.disarm(stand->dev);
	is_int(frames_disarmed, 1);
	is_int(other.disarmed, 1);
	other.has_work = 1;
	is_int(pm_lane_ops.arm(stand->dev), 1);
	is_int(frames_disarmed, 2);
	is_int(pm_lane_ops.suspend(stand->dev), 0);
	is_int(frames_suspended, 1);
	shut();
}
