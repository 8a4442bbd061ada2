// SPDX-License-Identifier: BSD-3-Clause
/*
 * Tests of chanlink on a packet device of two rails that exists in memory only and does what the
 * test says.
 */
#include "pmcore/device/chanlink.h"

#include <errno.h>
#include <string.h>

#include "pmcore/util/conf.h"
#include "pmcore/util/region.h"
#include "pmcore/util/stats.h"
#include "pmcore/wire/codec.h"
#include "tests/harness/tap.h"

#define SELF 1
#define PEER 2
#define KEY 0x1122334455667788ull
#define MTU 512
#define PACKETS 64

/* The device, and the link on it. */
static struct fake {
	struct pm_dev dev;
	struct pm_packet pool[PACKETS];
	uint64_t bytes[PACKETS][MTU / 8];
	struct pm_packet *free;
	uint32_t lent;
	uint8_t full;       /* rails that take no more */
	uint32_t room;      /* packets until all of them are, renewed by a kick */
	uint32_t renewed;   /* ... to so many */
	uint8_t down;       /* rails without carrier */
	uint32_t posted[2]; /* packets taken, per rail */
	uint32_t refused;   /* posts answered with -EAGAIN */
	uint32_t kicks;
	uint64_t rx[MTU / 8]; /* the packet to be received */
	uint32_t rx_len;      /* of it, 0 = none */
	uint32_t rx_held;
	uint32_t event; /* node reported unreachable, 0 = none */
	int has_work;   /* what arm answers */
	uint32_t armed, disarmed;
	uint32_t added; /* peers */
	uint32_t rails; /* that lead to a peer */
	char added_by[8];
} fake;

static struct stand {
	struct conf conf;
	struct region_table *regions;
	struct stats_link stats;
	struct stats_rail rails[PM_RAILS_MAX];
	struct pm_link *link;
	uint32_t asked; /* calls of address_of */
	char asked_name[16];
	int answer; /* of address_of */
	char why[256];
} stand;

static int fake_open(const struct pm_device_env *env, struct pm_dev *below, struct pm_dev **ret_dev)
{
	(void)env;
	ok(below == NULL);
	fake.dev = (struct pm_dev){.n_rails = 2, .rx_buffers = 64, .tx_buffers = PACKETS};
	for (int i = 0; i < PACKETS; i++) {
		fake.pool[i].data = (uint8_t *)fake.bytes[i];
		fake.pool[i].room = MTU;
		fake.pool[i].next = fake.free;
		fake.free = &fake.pool[i];
	}
	*ret_dev = &fake.dev;
	return 0;
}

static void fake_close(struct pm_dev *dev)
{
	ok(dev == &fake.dev);
	is_int(fake.lent, 0);
	is_int(fake.rx_held, 0);
}

static int fake_peer_add(struct pm_dev *dev, uint32_t node, const void *addr, size_t len,
			 struct pm_dev_peer **ret_peer, uint32_t *ret_rails)
{
	(void)node;
	if (len >= sizeof(fake.added_by))
		return -EINVAL;
	memcpy(fake.added_by, addr, len);
	fake.added++;
	*ret_peer = (struct pm_dev_peer *)dev;
	*ret_rails = fake.rails;
	return 0;
}

static void fake_peer_del(struct pm_dev *dev, struct pm_dev_peer *peer)
{
	(void)dev, (void)peer;
}

static uint32_t fake_mtu(struct pm_dev *dev, struct pm_dev_peer *peer)
{
	(void)dev, (void)peer;
	return MTU;
}

static struct pm_packet *fake_tx_alloc(struct pm_dev *dev)
{
	struct pm_packet *packet = fake.free;

	(void)dev;
	if (!packet)
		return NULL;
	fake.free = packet->next;
	fake.lent++;
	packet->len = 0;
	return packet;
}

static void fake_tx_free(struct pm_dev *dev, struct pm_packet *packet)
{
	(void)dev;
	packet->next = fake.free;
	fake.free = packet;
	fake.lent--;
}

static int fake_tx_post(struct pm_dev *dev, uint32_t rail, struct pm_dev_peer *peer,
			struct pm_packet *packet)
{
	(void)dev, (void)peer, (void)packet;
	if (fake.full >> rail & 1 || !fake.room) {
		fake.refused++;
		return -EAGAIN;
	}
	fake.room--;
	fake.posted[rail]++;
	return 0;
}

static void fake_tx_kick(struct pm_dev *dev)
{
	(void)dev;
	fake.kicks++;
	fake.room = fake.renewed;
}

static int fake_rx_burst(struct pm_dev *dev, struct pm_rx *rx, int n)
{
	(void)dev;
	if (!fake.rx_len || n < 1)
		return 0;
	rx[0] = (struct pm_rx){.data = (uint8_t *)fake.rx, .len = fake.rx_len, .token = 1};
	fake.rx_len = 0;
	fake.rx_held++;
	return 1;
}

static void fake_rx_return(struct pm_dev *dev, uint64_t token)
{
	(void)dev;
	is_int(token, 1);
	fake.rx_held--;
}

static int fake_peer_event(struct pm_dev *dev, uint32_t *ret_node)
{
	(void)dev;
	if (!fake.event)
		return 0;
	*ret_node = fake.event;
	fake.event = 0;
	return 1;
}

static enum pm_rail_state fake_rail_state(struct pm_dev *dev, uint32_t rail)
{
	(void)dev;
	return fake.down >> rail & 1 ? PM_RAIL_DOWN : PM_RAIL_UP;
}

static int fake_arm(struct pm_dev *dev)
{
	(void)dev;
	fake.armed++;
	return fake.has_work;
}

static void fake_disarm(struct pm_dev *dev)
{
	(void)dev;
	fake.disarmed++;
}

static const struct pm_packet_ops fake_ops = {
	.abi = PM_DEVICE_ABI,
	.size = sizeof(struct pm_packet_ops),
	.name = "fake",
	.open = fake_open,
	.close = fake_close,
	.peer_add = fake_peer_add,
	.peer_del = fake_peer_del,
	.mtu = fake_mtu,
	.tx_alloc = fake_tx_alloc,
	.tx_free = fake_tx_free,
	.tx_post = fake_tx_post,
	.tx_kick = fake_tx_kick,
	.rx_burst = fake_rx_burst,
	.rx_return = fake_rx_return,
	.peer_event = fake_peer_event,
	.rail_state = fake_rail_state,
	.arm = fake_arm,
	.disarm = fake_disarm,
};

static int address_of(void *arg, uint32_t node, const char *name, const void **ret_addr,
		      size_t *ret_len)
{
	struct stand *s = arg;

	is_int(node, PEER);
	strncpy(s->asked_name, name, sizeof(s->asked_name) - 1);
	s->asked++;
	if (s->answer)
		return s->answer;
	*ret_addr = "there";
	*ret_len = 6;
	return 0;
}

static bool begin(void)
{
	struct pm_device_env env = {
		.conf = &stand.conf,
		.stats = &stand.stats,
		.rails = stand.rails,
		.job_key = KEY,
		.self = SELF,
		.why = stand.why,
		.why_size = sizeof(stand.why),
		.address_of = address_of,
		.address_arg = &stand,
	};

	memset(&fake, 0, sizeof(fake));
	fake.room = fake.renewed = UINT32_MAX;
	fake.rails = 3;
	memset(&stand, 0, sizeof(stand));
	conf_defaults(&stand.conf);
	stand.regions = region_table_create(1);
	env.regions = stand.regions;
	return is_int(chanlink_open(&fake_ops, &env, &stand.link), 0);
}

static void end(void)
{
	stand.link->ops->close(stand.link);
	region_table_destroy(stand.regions);
}

static struct pm_link_peer *add_peer(void)
{
	struct pm_link_peer *peer = NULL;

	is_int(stand.link->ops->peer_add(stand.link, PEER, "here", 5, &peer), 0);
	return peer;
}

/* The peer's first datagram waits at the device. */
static void put_datagram(const char *text)
{
	uint32_t len = (uint32_t)strlen(text);
	struct wire_msg msg = {.length = (uint16_t)len, .kind = WIRE_DATAGRAM};
	struct wire_header header = {
		.version = WIRE_VERSION, .type = WIRE_DATA, .key = KEY, .src = PEER, .dst = SELF};
	uint8_t *at = (uint8_t *)fake.rx;

	header.length = (uint16_t)(sizeof(msg) + len);
	wire_put_header(at, &header);
	wire_put_msg(at + sizeof(header), &msg);
	memcpy(at + sizeof(header) + sizeof(msg), text, len);
	fake.rx_len = (uint32_t)sizeof(header) + header.length;
}

TAP_TEST(chanlink_open__rails_of_the_device)
{
	must(begin());
	is_int(chanlink_rails(stand.link), 2);
	ok(stand.link->is_expensive);
	is_int(stand.link->ops->mtu(stand.link, NULL), MTU - WIRE_OVERHEAD);
	end();
}

TAP_TEST(receive__full_rail_is_asked_again)
{
	const struct pm_link_ops *ops;
	struct pm_link_peer *peer;
	struct pm_inbound in;

	must(begin());
	ops = stand.link->ops;
	peer = add_peer();
	fake.full = 3;
	is_int(ops->post(stand.link, peer, "hello", 5), 0);
	ok(fake.refused > 0);
	is_int(fake.posted[0] + fake.posted[1], 0);
	/* at each receive, not by a timer of the engine only */
	for (int i = 0; i < 100; i++) {
		uint32_t refused = fake.refused;

		is_int(ops->receive(stand.link, &in), 0);
		ok(fake.refused > refused);
	}
	fake.full = 0;
	is_int(ops->receive(stand.link, &in), 0);
	is_int(fake.posted[0] + fake.posted[1], 1);
	is_int(ops->send_done(stand.link, peer), -EAGAIN);
	end();
}

/* Messages too long to share a packet, held while the rails take nothing. */
static void hold(struct pm_link_peer *peer, int n)
{
	static const uint8_t bytes[400];

	fake.full = 3;
	for (int i = 0; i < n; i++)
		is_int(stand.link->ops->post(stand.link, peer, bytes, sizeof(bytes)), 0);
	is_int(fake.posted[0] + fake.posted[1], 0);
	fake.full = 0;
}

TAP_TEST(receive__a_run_that_fills_the_ring_starts_it)
{
	struct pm_link_peer *peer;
	struct pm_inbound in;
	uint32_t kicks;

	must(begin());
	fake.rails = 1;
	peer = add_peer();
	hold(peer, 8);
	fake.room = fake.renewed = 3;
	kicks = fake.kicks;
	is_int(stand.link->ops->receive(stand.link, &in), 0);
	is_int(fake.posted[0], 8);
	is_int(fake.kicks - kicks, 4); /* first of all, after each three, and at the end */
	end();
}

TAP_TEST(receive__a_run_leaves_in_bursts_of_the_device)
{
	struct pm_link_peer *peer;
	struct pm_inbound in;
	uint32_t kicks;

	must(begin());
	fake.dev.burst = 3;
	fake.rails = 1;
	peer = add_peer();
	hold(peer, 8);
	kicks = fake.kicks;
	is_int(stand.link->ops->receive(stand.link, &in), 0);
	is_int(fake.posted[0], 8);
	is_int(fake.kicks - kicks, 4);
	end();
}

TAP_TEST(receive__a_run_on_a_full_rail_is_asked_again)
{
	struct pm_link_peer *peer;
	struct pm_inbound in;

	must(begin());
	fake.rails = 1;
	peer = add_peer();
	hold(peer, 8);
	fake.renewed = 0;
	fake.room = 2;
	is_int(stand.link->ops->receive(stand.link, &in), 0);
	is_int(fake.posted[0], 0); /* a kick came first */
	fake.renewed = 5;
	is_int(stand.link->ops->receive(stand.link, &in), 0);
	is_int(fake.posted[0], 8);
	end();
}

TAP_TEST(receive__unknown_peer_is_resolved)
{
	struct pm_inbound in;

	must(begin());
	put_datagram("hello");
	must(is_int(stand.link->ops->receive(stand.link, &in), 1));
	is_int(in.src, PEER);
	is_int(in.len, 5);
	is_mem(in.buf, "hello", 5);
	is_int(stand.asked, 1);
	is_str(stand.asked_name, "fake");
	is_int(fake.added, 1);
	is_str(fake.added_by, "there");
	is_int(fake.rx_held, 1);
	/* speaking to it afterwards adds nothing */
	ok(add_peer() != NULL);
	is_int(fake.added, 1);
	stand.link->ops->release(stand.link, in.cookie);
	is_int(fake.rx_held, 0);
	end();
}

TAP_TEST(release__cheap_device_has_it_at_the_next_poll)
{
	struct pm_inbound in;

	must(begin());
	fake.dev.is_cheap = true;
	put_datagram("hello");
	must(is_int(stand.link->ops->receive(stand.link, &in), 1));
	stand.link->ops->release(stand.link, in.cookie);
	is_int(stand.link->ops->receive(stand.link, &in), 0);
	is_int(fake.rx_held, 0);
	end();
}

TAP_TEST(receive__unknown_peer_without_address)
{
	struct pm_inbound in;

	must(begin());
	stand.answer = -EHOSTUNREACH;
	put_datagram("hello");
	is_int(stand.link->ops->receive(stand.link, &in), 0);
	is_int(stand.asked, 1);
	is_int(fake.added, 0);
	is_int(fake.rx_held, 0);
	is_int(stand.rails[0].drops[DROP_UNKNOWN_PEER], 1);
	end();
}

TAP_TEST(receive__rail_without_carrier_is_left)
{
	struct pm_link_peer *peer;
	struct pm_inbound in;

	must(begin());
	peer = add_peer();
	fake.down = 1;
	is_int(stand.link->ops->receive(stand.link, &in), 0);
	is_int(stand.rails[0].deaths, 1);
	is_int(stand.rails[1].deaths, 0);
	for (int i = 0; i < 8; i++)
		is_int(stand.link->ops->post(stand.link, peer, "hello", 5), 0);
	ok(fake.posted[1] > 0);
	is_int(fake.posted[0], 0);
	end();
}

TAP_TEST(receive__dead_peer_is_reported_once)
{
	struct pm_link_peer *peer;
	struct pm_inbound in = {0};
	uint64_t cookie;
	void *buf;

	must(begin());
	peer = add_peer();
	fake.event = PEER;
	is_int(stand.link->ops->receive(stand.link, &in), -EPIPE);
	is_int(in.src, PEER);
	is_int(stand.link->ops->receive(stand.link, &in), 0);
	is_int(stand.link->ops->get_send(stand.link, peer, 5, &buf, &cookie), -EPIPE);
	is_int(stand.link->ops->send_done(stand.link, peer), -EPIPE);
	is_int(stand.stats.peers_dead, 1);
	end();
}

TAP_TEST(probe__leaves_by_each_rail_and_is_owed_nothing)
{
	struct pm_link_peer *peer;
	struct pm_inbound in;

	must(begin());
	peer = add_peer();
	is_int(stand.link->ops->probe(stand.link, peer), 0);
	is_int(fake.posted[0], 1);
	is_int(fake.posted[1], 1);
	ok(fake.kicks > 0);
	is_int(stand.link->ops->send_done(stand.link, peer), 0);
	is_int(stand.link->ops->receive(stand.link, &in), 0);
	is_int(stand.link->ops->quiesce(stand.link), 0);
	is_int(stand.link->ops->probe(stand.link, peer), -EAGAIN);
	end();
}

TAP_TEST(probe__full_rails)
{
	struct pm_link_peer *peer;

	must(begin());
	peer = add_peer();
	fake.full = 1;
	is_int(stand.link->ops->probe(stand.link, peer), 0);
	is_int(fake.posted[1], 1);
	fake.full = 3;
	is_int(stand.link->ops->probe(stand.link, peer), -EAGAIN);
	end();
}

/* The event is what a refused probe brings. */
TAP_TEST(probe__network_says_dead)
{
	struct pm_link_peer *peer;
	struct pm_inbound in = {0};

	must(begin());
	peer = add_peer();
	is_int(stand.link->ops->probe(stand.link, peer), 0);
	fake.event = PEER;
	is_int(stand.link->ops->receive(stand.link, &in), -EPIPE);
	is_int(in.src, PEER);
	is_int(stand.link->ops->probe(stand.link, peer), -EPIPE);
	end();
}

TAP_TEST(receive__event_of_a_node_never_met)
{
	struct pm_inbound in;

	must(begin());
	fake.event = PEER + 1;
	is_int(stand.link->ops->receive(stand.link, &in), 0);
	is_int(fake.event, 0);
	is_int(stand.stats.peers_dead, 0);
	end();
}

TAP_TEST(arm__nothing_to_do)
{
	uint64_t timeout = UINT64_MAX;

	must(begin());
	is_int(stand.link->ops->arm(stand.link, &timeout), 0);
	is_int(fake.armed, 1);
	is_int(fake.disarmed, 0);
	ok(timeout == UINT64_MAX);
	stand.link->ops->disarm(stand.link);
	is_int(fake.disarmed, 1);
	end();
}

TAP_TEST(arm__device_has_work)
{
	uint64_t timeout = UINT64_MAX;

	must(begin());
	fake.has_work = 1;
	is_int(stand.link->ops->arm(stand.link, &timeout), 1);
	ok(timeout == UINT64_MAX);
	end();
}

TAP_TEST(arm__message_is_waiting)
{
	uint64_t timeout = UINT64_MAX;
	struct pm_inbound in;

	must(begin());
	put_datagram("hello");
	is_int(stand.link->ops->arm(stand.link, &timeout), 1);
	is_int(fake.armed, 0);
	must(is_int(stand.link->ops->receive(stand.link, &in), 1));
	stand.link->ops->release(stand.link, in.cookie);
	end();
}

/* A packet that was sent and not acknowledged may have to be sent again, so it bounds the sleep. */
TAP_TEST(arm__unacked_packet_bounds_the_sleep)
{
	uint64_t timeout = UINT64_MAX;

	must(begin());
	is_int(stand.link->ops->post(stand.link, add_peer(), "hello", 5), 0);
	is_int(stand.link->ops->arm(stand.link, &timeout), 0);
	okf(timeout <= 10000000, "%llu ns", (unsigned long long)timeout);
	end();
}
