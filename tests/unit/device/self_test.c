// SPDX-License-Identifier: BSD-3-Clause
#include "pmcore/device/self.h"

#include <errno.h>
#include <string.h>

#include "pmcore/util/region.h"
#include "pmcore/util/stats.h"
#include "tests/harness/tap.h"

#define OPS (&pm_self_ops)
#define NODE 3
#define BUFFERS 256

struct node {
	struct region_table *regions;
	struct stats_link stats;
	struct pm_link *link;
	struct pm_link_peer *peer;
};

static bool begin(struct node *n)
{
	struct pm_device_env env = {.stats = &n->stats, .self = NODE};

	memset(n, 0, sizeof(*n));
	env.stats = &n->stats;
	env.regions = n->regions = region_table_create(1);
	return is_int(OPS->open(&env, &n->link), 0) &&
	       is_int(OPS->peer_add(n->link, NODE, NULL, 0, &n->peer), 0);
}

static void end(struct node *n)
{
	OPS->close(n->link);
	region_table_destroy(n->regions);
}

static int put(struct node *n, const void *data, uint32_t len)
{
	uint64_t cookie;
	void *buf;
	int err = OPS->get_send(n->link, n->peer, len, &buf, &cookie);

	if (err)
		return err;
	memcpy(buf, data, len);
	return OPS->send(n->link, n->peer, cookie, len);
}

TAP_TEST(peer_add__another_node)
{
	struct pm_link_peer *peer = NULL;
	struct node n;

	must(begin(&n));
	is_int(n.stats.peers, 1);
	is_int(OPS->peer_add(n.link, NODE + 1, NULL, 0, &peer), -EHOSTUNREACH);
	ok(peer == NULL);
	is_int(n.stats.peers, 1);
	end(&n);
}

TAP_TEST(peer_del__counted)
{
	struct node n;

	must(begin(&n));
	OPS->peer_del(n.link, n.peer);
	is_int(n.stats.peers, 0);
	end(&n);
}

TAP_TEST(get_send__all_buffers_lent)
{
	uint64_t cookies[BUFFERS], cookie = 77;
	struct pm_inbound in;
	struct node n;
	void *buf;

	must(begin(&n));
	for (int i = 0; i < BUFFERS; i++)
		must(is_int(OPS->get_send(n.link, n.peer, 8, &buf, &cookies[i]), 0));
	is_int(OPS->get_send(n.link, n.peer, 8, &buf, &cookie), -EAGAIN);
	is_int(cookie, 77);
	is_int(n.stats.no_buffer, 1);
	/* discarding gives one back, sending does not until the message was released */
	is_int(OPS->send(n.link, n.peer, cookies[0], 0), 0);
	is_int(put(&n, "12345678", 8), 0);
	is_int(put(&n, "12345678", 8), -EAGAIN);
	must(is_int(OPS->receive(n.link, &in), 1));
	is_int(put(&n, "12345678", 8), -EAGAIN);
	OPS->release(n.link, in.cookie);
	is_int(put(&n, "12345678", 8), 0);
	end(&n);
}

TAP_TEST(receive__in_order_and_counted)
{
	struct pm_inbound in;
	struct node n;

	must(begin(&n));
	ok(n.link->is_empty);
	is_int(OPS->receive(n.link, &in), 0);
	is_int(put(&n, "one", 3), 0);
	is_int(put(&n, "three", 5), 0);
	ok(!n.link->is_empty);
	must(is_int(OPS->receive(n.link, &in), 1));
	is_int(in.src, NODE);
	is_int(in.len, 3);
	is_mem(in.buf, "one", 3);
	must(is_int(OPS->receive(n.link, &in), 1));
	is_int(in.len, 5);
	is_mem(in.buf, "three", 5);
	ok(n.link->is_empty);
	is_int(n.stats.tx_messages, 2);
	is_int(n.stats.tx_bytes, 8);
	is_int(n.stats.rx_messages, 2);
	is_int(n.stats.rx_bytes, 8);
	end(&n);
}

TAP_TEST(read_and_write__inside_the_region)
{
	char memory[16] = "0123456789abcde", local[4];
	struct node n;
	uint64_t rkey;
	uint32_t op;

	must(begin(&n));
	must(is_int(region_add(n.regions, memory, sizeof(memory), &rkey), 0));
	is_int(OPS->read(n.link, n.peer, rkey, 4, local, 4, &op), 0);
	is_int(OPS->rma_done(n.link, op), 0);
	is_mem(local, "4567", 4);
	is_int(OPS->write(n.link, n.peer, rkey, 0, "WXYZ", 4, &op), 0);
	is_int(OPS->rma_done(n.link, op), 0);
	is_mem(memory, "WXYZ4567", 8);
	is_int(n.stats.read_bytes, 4);
	is_int(n.stats.write_bytes, 4);
	end(&n);
}

TAP_TEST(read_and_write__refused)
{
	char memory[16] = "0123456789abcde", local[4] = "none";
	struct node n;
	uint64_t rkey, fixed;
	uint32_t op;

	must(begin(&n));
	must(is_int(region_add(n.regions, memory, sizeof(memory), &rkey), 0));
	must(is_int(region_add_readonly(n.regions, memory, sizeof(memory), &fixed), 0));
	is_int(OPS->read(n.link, n.peer, rkey, 13, local, 4, &op), 0);
	is_int(OPS->rma_done(n.link, op), -EACCES);
	is_int(OPS->read(n.link, n.peer, ~rkey, 0, local, 4, &op), 0);
	is_int(OPS->rma_done(n.link, op), -EACCES);
	is_int(OPS->write(n.link, n.peer, rkey, UINT64_MAX, local, 4, &op), 0);
	is_int(OPS->rma_done(n.link, op), -EACCES);
	is_int(OPS->write(n.link, n.peer, fixed, 0, local, 4, &op), 0);
	is_int(OPS->rma_done(n.link, op), -EACCES);
	is_mem(local, "none", 4);
	is_mem(memory, "0123456789abcde", 16);
	is_int(n.stats.read_bytes + n.stats.write_bytes, 0);
	end(&n);
}

TAP_TEST(arm__with_and_without_a_message)
{
	uint64_t timeout = UINT64_MAX;
	struct node n;

	must(begin(&n));
	is_int(OPS->arm(n.link, &timeout), 0);
	is_int(put(&n, "x", 1), 0);
	is_int(OPS->arm(n.link, &timeout), 1);
	ok(timeout == UINT64_MAX);
	end(&n);
}

TAP_TEST(quiesce__closes_the_entrance)
{
	struct node n;

	must(begin(&n));
	is_int(put(&n, "before", 6), 0);
	is_int(OPS->quiesce(n.link), 0);
	is_int(put(&n, "during", 6), -EAGAIN);
	OPS->resume(n.link);
	is_int(put(&n, "after", 5), 0);
	is_int(n.stats.tx_messages, 2);
	end(&n);
}

TAP_TEST(restore__what_was_saved)
{
	struct node n, again;
	struct pm_inbound in;
	uint8_t blob[64];
	int len;

	must(begin(&n) && begin(&again));
	is_int(OPS->save(n.link, blob, sizeof(blob)), 0);
	is_int(put(&n, "first", 5), 0);
	is_int(put(&n, "second", 6), 0);
	len = OPS->save(n.link, NULL, 0);
	is_int(len, 4 + 5 + 4 + 6);
	memset(blob, 0x55, sizeof(blob));
	is_int(OPS->save(n.link, blob, (size_t)len - 1), len);
	is_int(blob[0], 0x55);
	is_int(OPS->save(n.link, blob, sizeof(blob)), len);
	is_int(OPS->restore(again.link, blob, (size_t)len, NULL, NULL), 0);
	must(is_int(OPS->receive(again.link, &in), 1));
	is_mem(in.buf, "first", 5);
	must(is_int(OPS->receive(again.link, &in), 1));
	is_int(in.len, 6);
	is_mem(in.buf, "second", 6);
	is_int(OPS->receive(again.link, &in), 0);
	end(&n);
	end(&again);
}

TAP_TEST(restore__damaged)
{
	struct pm_inbound in;
	uint8_t blob[64];
	struct node n;
	int len;

	must(begin(&n));
	is_int(put(&n, "first", 5), 0);
	is_int(put(&n, "second", 6), 0);
	len = OPS->save(n.link, blob, sizeof(blob));
	while (OPS->receive(n.link, &in) == 1)
		OPS->release(n.link, in.cookie);
	/* the first message is whole in most of these: it must not come either */
	for (int cut = 1; cut < len; cut++)
		if (cut != 4 + 5)
			is_int(OPS->restore(n.link, blob, (size_t)cut, NULL, NULL), -EINVAL);
	memset(blob + 4 + 5, 0, 4);
	is_int(OPS->restore(n.link, blob, (size_t)len, NULL, NULL), -EINVAL);
	memset(blob + 4 + 5, 0xff, 4);
	is_int(OPS->restore(n.link, blob, (size_t)len, NULL, NULL), -EINVAL);
	is_int(OPS->receive(n.link, &in), 0);
	end(&n);
}
