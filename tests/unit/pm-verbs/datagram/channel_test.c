// SPDX-License-Identifier: BSD-3-Clause
/*
 * The channel engine on the packet device: messages and one-sided operations over loss, broken
 * queue pairs and dead ports, and every call of the library failing once in turn.
 */
#include <stdlib.h>

#include "pmcore/device/chanlink.h"
#include "pmcore/util/region.h"
#include "tests/unit/pm-verbs/datagrams.h"

#define NODES 3
#define TURNS 100000
#define REGION 300000

static struct {
	struct pm_link *link;
	struct datagram_node box; /* what it was opened with */
	struct region_table *regions;
	struct pm_link_peer *peer[NODES];
	uint32_t sent[NODES], received[NODES];
	uint8_t *region;
	uint64_t rkey;
} ends[NODES];

static int address_of(void *arg, uint32_t node, const char *name, const void **ret_addr,
		      size_t *ret_len)
{
	if (node >= NODES || !ends[node].box.address_len || strcmp(name, "verbs-datagram") != 0)
		return -EHOSTUNREACH;
	*ret_addr = ends[node].box.address;
	*ret_len = ends[node].box.address_len;
	return 0;
}

static int end_open(uint32_t self)
{
	struct datagram_node *b = &ends[self].box;
	struct pm_device_env env = {
		.conf = &b->conf,
		.stats = &b->stats,
		.rails = b->rails,
		.job_key = 4711,
		.self = self,
		.why = b->why,
		.why_size = sizeof(b->why),
		.address_of = address_of,
	};
	int err;

	conf_defaults(&b->conf);
	ends[self].regions = env.regions = region_table_create(self + 99);
	err = chanlink_open(&pm_verbs_datagram_ops, &env, &ends[self].link);
	if (err) {
		ends[self].link = NULL;
		return err;
	}
	err = ends[self].link->ops->address(ends[self].link, b->address, sizeof(b->address));
	b->address_len = err > 0 ? (size_t)err : 0;
	ends[self].region = calloc(1, REGION);
	return region_add(ends[self].regions, ends[self].region, REGION, &ends[self].rkey);
}

static void ends_close(void)
{
	for (int i = 0; i < NODES; i++) {
		if (ends[i].link)
			ends[i].link->ops->close(ends[i].link);
		if (ends[i].regions)
			region_table_destroy(ends[i].regions);
		free(ends[i].region);
	}
	is_int(fake.live, 0);
	is_int(fake.overflows, 0);
	fake_end();
	memset(ends, 0, sizeof(ends));
}

/* Each knows each. False: one could not be opened, and said why. */
static bool ends_open(void)
{
	memset(ends, 0, sizeof(ends));
	for (uint32_t i = 0; i < NODES; i++)
		if (end_open(i)) {
			ok(strlen(ends[i].box.why) > 10);
			return false;
		}
	for (uint32_t i = 0; i < NODES; i++)
		for (uint32_t j = 0; j < NODES; j++)
			if (i != j)
				ok(!ends[i].link->ops->peer_add(
					ends[i].link, j, ends[j].box.address,
					ends[j].box.address_len, &ends[i].peer[j]));
	return true;
}

static void take(int at)
{
	struct pm_inbound in;
	uint32_t seq;

	if (ends[at].link->ops->receive(ends[at].link, &in) != 1)
		return;
	memcpy(&seq, in.buf, sizeof(seq));
	okf(seq == ends[at].received[in.src], "%u instead of %u from %u", seq,
	    ends[at].received[in.src], in.src);
	ends[at].received[in.src]++;
	ends[at].link->ops->release(ends[at].link, in.cookie);
}

static void send_one(int from, int to)
{
	static uint8_t message[1024 - 56];
	uint32_t seq = ends[from].sent[to];

	memcpy(message, &seq, sizeof(seq));
	if (!ends[from].link->ops->post(ends[from].link, ends[from].peer[to], message,
					seq % 3 ? 64 : sizeof(message)))
		ends[from].sent[to]++;
}

static bool is_drained(void)
{
	for (int i = 0; i < NODES; i++)
		for (int j = 0; j < NODES; j++)
			if (ends[i].sent[j] != ends[j].received[i])
				return false;
	return true;
}

static void turn(void)
{
	for (int i = 0; i < NODES; i++)
		take(i);
}

/* @n messages from each to each, all of them taken. */
static bool exchange(uint32_t n)
{
	for (uint32_t k = 0; k < n; k++) {
		for (int i = 0; i < NODES; i++)
			for (int j = 0; j < NODES; j++)
				if (i != j)
					send_one(i, j);
		turn();
		turn();
	}
	for (int k = 0; k < TURNS * 50 && !is_drained(); k++)
		turn();
	return is_drained();
}

static int rma(int from, int to, bool is_write, uint8_t *local)
{
	struct pm_link *link = ends[from].link;
	uint32_t op;
	int err = is_write ? link->ops->write(link, ends[from].peer[to], ends[to].rkey, 0, local,
					      REGION, &op)
			   : link->ops->read(link, ends[from].peer[to], ends[to].rkey, 0, local,
					     REGION, &op);

	for (err = err ? err : -EAGAIN; err == -EAGAIN; turn())
		err = link->ops->rma_done(link, op);
	return err;
}

static void read_and_write(void)
{
	static uint8_t local[REGION];

	for (uint32_t i = 0; i < REGION; i++)
		ends[1].region[i] = (uint8_t)(i * 7 + (i >> 8));
	is_int(rma(0, 1, false, local), 0);
	ok(!memcmp(local, ends[1].region, REGION));
	is_int(rma(0, 2, true, local), 0);
	ok(!memcmp(local, ends[2].region, REGION));
}

static bool is_by_both_rails(void)
{
	return ends[0].box.rails[0].tx_packets > 100 && ends[0].box.rails[1].tx_packets > 100;
}

TAP_TEST(channel__messages_and_one_sided)
{
	fake_begin(2);
	fake.max_inline = 128;
	must(ends_open());
	ok(exchange(300));
	read_and_write();
	ok(fake.unsignalled > 0);
	/* only what the clock of a busy machine makes of it */
	ok(ends[0].box.rails[0].retransmits < 30);
	/* a rail that a busy machine made look slow is used again */
	for (int round = 0; round < 20 && !is_by_both_rails(); round++)
		ok(exchange(300));
	ok(is_by_both_rails());
	ends_close();
}

TAP_TEST(channel__over_loss)
{
	fake_begin(2);
	fake.drop_every = 37;
	must(ends_open());
	ok(exchange(300));
	read_and_write();
	ok(ends[0].box.rails[0].retransmits + ends[0].box.rails[1].retransmits > 0);
	ends_close();
}

TAP_TEST(channel__over_broken_queue_pairs_and_ports)
{
	fake_begin(2);
	must(ends_open());
	for (int k = 0; k < 6; k++) {
		ok(exchange(20));
		fake_break_ud(k & 1);
		ok(exchange(20));
		fake.ports[k & 1].is_cut = true;
		fake_event(k & 1, IBV_EVENT_PORT_ERR);
		ok(exchange(20));
		fake.ports[k & 1].is_cut = false;
		fake_event(k & 1, IBV_EVENT_PORT_ACTIVE);
	}
	read_and_write();
	ends_close();
}

/* All that uses the library. */
static void use_all(enum fake_call call, int nth)
{
	uint64_t timeout = UINT64_MAX;

	if (!ends_open())
		return;
	okf(exchange(40), "%s %d: messages are missing", fake_call_name(call), nth);
	if (!ends[0].link->ops->arm(ends[0].link, &timeout))
		ends[0].link->ops->disarm(ends[0].link);
}

TAP_TEST(all_calls__each_fails_once)
{
	for (int call = 0; call < FAKE_CALLS; call++) {
		long uses;

		fake_begin(2);
		use_all((enum fake_call)call, 0);
		uses = fake.calls[call];
		ends_close();
		for (int nth = 1; nth <= uses; nth += nth < 15 ? 1 : nth < 1000 ? 149 : 2999) {
			fake_begin(2);
			fake_fail((enum fake_call)call, nth, ENOMEM);
			use_all((enum fake_call)call, nth);
			ends_close();
			if (tap_has_failed()) {
				tap_diag("%s failed at its use %d",
					 fake_call_name((enum fake_call)call), nth);
				return;
			}
		}
	}
}
