// SPDX-License-Identifier: BSD-3-Clause
/*
 * Tests of the simulated network: rates, queues, order, loss, cables, and that a seed repeats a
 * run.
 */
#include <errno.h>
#include <string.h>

#include "tests/harness/simnet.h"
#include "tests/harness/tap.h"

static uint32_t room_calls; /* of has_room */

static void on_arrived(void *arg, uint32_t node)
{
	(void)arg;
	(void)node;
}

static void on_room(void *arg, uint32_t node)
{
	(void)arg;
	(void)node;
	room_calls++;
}

static const struct simnet_ops ops = {.arrived = on_arrived, .has_room = on_room};

/* Three nodes, two rails of 1 MB/s and 1 ms. */
static struct simnet_config small_net(void)
{
	struct simnet_config config = {.nodes = 3,
				       .rails = 2,
				       .mtu = 1000,
				       .tx_buffers = 300,
				       .rx_buffers = 300,
				       .seed = tap_seed()};

	config.rail[0] = config.rail[1] =
		(struct simnet_rail){.rate = 1000000, .latency_ns = 1000000};
	return config;
}

static int post(struct simnet *net, uint32_t src, uint32_t rail, uint32_t dst, uint8_t tag,
		uint32_t len)
{
	struct pm_packet *packet = simnet_alloc(net, src);
	int rc;

	if (!packet)
		return -ENOBUFS;
	memset(packet->data, tag, len);
	packet->len = len;
	rc = simnet_post(net, src, rail, dst, packet);
	simnet_free(net, src, packet);
	return rc;
}

/* First byte of the next packet at the node, -1 if none has arrived. */
static int take(struct simnet *net, uint32_t node)
{
	struct pm_rx rx;
	int tag;

	if (!simnet_receive(net, node, &rx))
		return -1;
	tag = rx.data[0];
	simnet_return(net, node, rx.token);
	return tag;
}

TAP_TEST(simnet_post__serialised_twice_and_delayed)
{
	struct simnet_config config = small_net();
	struct simnet *net = simnet_create(&config, &ops, NULL);
	uint64_t start = simnet_now(net);

	is_int(post(net, 0, 0, 1, 7, 1000), 0);
	simnet_advance(net, start + 2999999);
	is_int(take(net, 1), -1);
	simnet_advance(net, start + 3000000);
	is_int(take(net, 1), 7);
	is_int(take(net, 1), -1);
	is_int(simnet_count(net, 0)->bytes, 1000);
	is_int(simnet_next(net), UINT64_MAX);
	simnet_destroy(net);
}

TAP_TEST(simnet_post__two_senders_share_the_receivers_cable)
{
	struct simnet_config config = small_net();
	struct simnet *net = simnet_create(&config, &ops, NULL);
	uint64_t start = simnet_now(net);
	int i, n;

	for (i = 0; i < 10; i++) {
		is_int(post(net, 0, 0, 2, 1, 1000), 0);
		is_int(post(net, 1, 0, 2, 2, 1000), 0);
	}
	simnet_advance(net, start + 12 * 1000000ull);
	for (n = 0; take(net, 2) >= 0; n++)
		;
	is_int(n, 10);
	simnet_advance(net, start + 22 * 1000000ull);
	for (n = 0; take(net, 2) >= 0; n++)
		;
	is_int(n, 10);
	simnet_destroy(net);
}

TAP_TEST(simnet_post__tail_drop)
{
	struct simnet_config config = small_net();
	struct simnet *net;
	int i;

	config.rail[0].queue_bytes = 3000;
	net = simnet_create(&config, &ops, NULL);
	for (i = 0; i < 20; i++) {
		is_int(post(net, 0, 0, 2, 1, 1000), 0);
		is_int(post(net, 1, 0, 2, 2, 1000), 0);
	}
	simnet_advance(net, simnet_now(net) + 1000000000);
	is_int(simnet_count(net, 0)->arrived + simnet_count(net, 0)->tail_dropped, 40);
	ok(simnet_count(net, 0)->arrived >= 20 && simnet_count(net, 0)->arrived <= 24);
	simnet_destroy(net);
}

TAP_TEST(simnet_post__nic_is_full_then_has_room)
{
	struct simnet_config config = small_net();
	struct simnet *net;

	config.rail[0].nic_packets = 2;
	net = simnet_create(&config, &ops, NULL);
	is_int(post(net, 0, 0, 1, 1, 1000), 0);
	is_int(post(net, 0, 0, 1, 2, 1000), 0);
	is_int(post(net, 0, 0, 1, 3, 1000), -EAGAIN);
	is_int(post(net, 0, 1, 1, 3, 1000), 0);
	room_calls = 0;
	simnet_advance(net, simnet_now(net) + 1000000);
	is_int(room_calls, 1);
	is_int(post(net, 0, 0, 1, 4, 1000), 0);
	simnet_destroy(net);
}

TAP_TEST(simnet_free__while_busy)
{
	struct simnet_config config = small_net();
	struct simnet *net;
	struct pm_packet *packet;

	config.tx_buffers = 1;
	net = simnet_create(&config, &ops, NULL);
	packet = simnet_alloc(net, 0);
	packet->len = 100;
	is_int(simnet_post(net, 0, 0, 1, packet), 0);
	is_int(packet->busy, 1);
	simnet_free(net, 0, packet);
	is_int(simnet_tx_lent(net, 0), 1);
	ok(!simnet_alloc(net, 0));
	room_calls = 0;
	simnet_advance(net, simnet_now(net) + 100000);
	is_int(simnet_tx_lent(net, 0), 0);
	is_int(room_calls, 1);
	simnet_destroy(net);
}

/* Sends 200 numbered packets over a rail; how many came out of order and how many came at all. */
static void count_order(const struct simnet_rail *rail, int *ret_moved, int *ret_arrived)
{
	struct simnet_config config = small_net();
	struct simnet *net;
	int i, tag, last = -1;

	config.rail[0] = *rail;
	net = simnet_create(&config, &ops, NULL);
	*ret_moved = *ret_arrived = 0;
	for (i = 0; i < 200; i++)
		is_int(post(net, 0, 0, 1, (uint8_t)i, 10), 0);
	simnet_advance(net, simnet_now(net) + 1000000000);
	while ((tag = take(net, 1)) >= 0) {
		*ret_moved += tag < last;
		*ret_arrived += 1;
		last = tag;
	}
	simnet_destroy(net);
}

TAP_TEST(simnet_post__rail_is_fifo_unless_told)
{
	struct simnet_rail rail = {.rate = 1000000, .latency_ns = 1000, .jitter_ns = 1000000};
	int moved, arrived;

	count_order(&rail, &moved, &arrived);
	is_int(moved, 0);
	is_int(arrived, 200);
	rail.reorder = 0.2;
	rail.reorder_ns = 1000000;
	count_order(&rail, &moved, &arrived);
	ok(moved > 5);
	is_int(arrived, 200);
}

TAP_TEST(simnet_post__loss_and_duplicates)
{
	struct simnet_rail rail = {.loss_mask = 0x5};
	int moved, arrived;

	count_order(&rail, &moved, &arrived);
	is_int(arrived, 200 - 8);
	rail = (struct simnet_rail){.loss = 0.5};
	count_order(&rail, &moved, &arrived);
	okf(arrived > 60 && arrived < 140, "%d of 200 arrived", arrived);
	rail = (struct simnet_rail){.duplicate = 1};
	count_order(&rail, &moved, &arrived);
	is_int(arrived, 300); /* all the receiver has room for */
}

TAP_TEST(simnet_cable__unplugged_and_one_way)
{
	struct simnet_config config = small_net();
	struct simnet *net = simnet_create(&config, &ops, NULL);

	simnet_path(net, 0, 1, 0, false);
	is_int(post(net, 0, 0, 1, 1, 10), 0);
	is_int(post(net, 1, 0, 0, 2, 10), 0);
	is_int(post(net, 0, 1, 1, 3, 10), 0);
	simnet_advance(net, simnet_now(net) + 10000000);
	is_int(take(net, 0), 2);
	is_int(take(net, 1), 3);
	is_int(take(net, 1), -1);
	simnet_path(net, 0, 1, 0, true);
	simnet_cable(net, 1, 0, false);
	is_int(post(net, 0, 0, 1, 4, 10), 0);
	simnet_advance(net, simnet_now(net) + 10000000);
	is_int(take(net, 1), -1);
	simnet_cable(net, 1, 0, true);
	is_int(post(net, 0, 0, 1, 5, 10), 0);
	simnet_advance(net, simnet_now(net) + 10000000);
	is_int(take(net, 1), 5);
	is_int(simnet_count(net, 0)->unplugged, 2);
	simnet_destroy(net);
}

/* Digest and arrivals of a messy run. */
static uint64_t messy_run(uint64_t seed)
{
	struct simnet_config config = small_net();
	struct simnet *net;
	uint64_t sum = 0;
	int i, tag;

	config.seed = seed;
	config.rail[1] = (struct simnet_rail){.rate = 1000000,
					      .jitter_ns = 100000,
					      .loss = 0.3,
					      .duplicate = 0.2,
					      .corrupt = 0.5,
					      .reorder = 0.3,
					      .reorder_ns = 1000000};
	net = simnet_create(&config, &ops, NULL);
	for (i = 0; i < 100; i++)
		is_int(post(net, (uint32_t)i % 3, 1, (uint32_t)(i + 1) % 3, (uint8_t)i, 10), 0);
	simnet_advance(net, simnet_now(net) + 1000000000);
	for (i = 0; i < 3; i++)
		while ((tag = take(net, (uint32_t)i)) >= 0)
			sum = sum * 31 + (uint64_t)tag;
	sum += simnet_digest(net);
	simnet_destroy(net);
	return sum;
}

TAP_TEST(simnet_create__same_seed_same_run)
{
	ok(messy_run(1) == messy_run(1));
	ok(messy_run(1) != messy_run(2));
}
