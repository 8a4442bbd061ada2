// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/pm-shmem/links.h"

static struct node a, b;
static struct pm_link_peer *to_b;

static bool begin(void)
{
	links_begin();
	return is_int(node_open(&a, 1, NULL), 0) && is_int(node_open(&b, 2, NULL), 0) &&
	       is_int(node_add(&a, 2, &b, &to_b), 0);
}

static void end(void)
{
	node_close(&a);
	node_close(&b);
	links_end();
}

TAP_TEST(quiesce__closes_the_entrance)
{
	uint64_t cookie;
	uint32_t op;
	char byte;
	void *buf;

	must(begin());
	is_int(OPS->quiesce(a.link), 0);
	is_int(OPS->get_send(a.link, to_b, 8, &buf, &cookie), -EAGAIN);
	is_int(OPS->read(a.link, to_b, 1, 0, &byte, 1, &op), -EAGAIN);
	OPS->resume(a.link);
	is_int(node_send(&a, to_b, 8, 1), 0);
	end();
}

TAP_TEST(quiesce__waits_for_the_queue)
{
	void *bufs[20];
	uint64_t cookies[20];
	struct pm_inbound in;
	uint32_t received = 0;

	must(begin());
	for (int i = 0; i < 20; i++)
		must(is_int(OPS->get_send(a.link, to_b, 16000, &bufs[i], &cookies[i]), 0));
	for (int i = 0; i < 20; i++)
		is_int(OPS->send(a.link, to_b, cookies[i], 16000), 0);
	is_int(OPS->quiesce(a.link), -EAGAIN);
	while (received < 20) {
		must(is_int(node_receive(&b, &in), 1));
		OPS->release(b.link, in.cookie);
		received++;
		OPS->receive(a.link, &in);
	}
	is_int(OPS->quiesce(a.link), 0);
	end();
}

static int no_resolve(void *arg, uint32_t node, struct pm_link_peer **ret_peer)
{
	(void)arg, (void)node, (void)ret_peer;
	return -EHOSTUNREACH;
}

/* Receives messages 0..49 of varying length in order. */
static void expect_all(struct node *n)
{
	for (uint32_t i = 0; i < 50; i++) {
		struct pm_inbound in;

		must(is_int(node_receive(n, &in), 1));
		is_int(in.src, 1);
		is_int(in.len, 1 + i * 23);
		ok(is_filled(in.buf, 1 + i * 23, i));
		OPS->release(n->link, in.cookie);
	}
}

TAP_TEST(save__unread_messages_arrive_after_restore)
{
	static uint8_t blob[100000];
	struct node again;
	int len, same;

	must(begin());
	for (uint32_t i = 0; i < 50; i++)
		is_int(node_send(&a, to_b, 1 + i * 23, i), 0);
	is_int(OPS->quiesce(a.link), 0);
	is_int(OPS->quiesce(b.link), 0);
	len = OPS->save(b.link, NULL, 0);
	okf(len > 50 * 23 * 25, "%d bytes", len);
	same = OPS->save(b.link, blob, sizeof(blob));
	is_int(same, len);
	/* the one that was saved goes on */
	OPS->resume(b.link);
	expect_all(&b);
	node_close(&b);
	must(is_int(node_open(&again, 2, NULL), 0));
	is_int(OPS->restore(again.link, blob, (size_t)len, no_resolve, NULL), 0);
	expect_all(&again);
	/* a restored link saves again what nobody read */
	is_int(OPS->restore(again.link, blob, (size_t)len, no_resolve, NULL), 0);
	is_int(OPS->save(again.link, NULL, 0), len);
	b = again;
	end();
}

TAP_TEST(save__nothing_unread)
{
	uint8_t blob[64];
	int len;

	must(begin());
	len = OPS->save(a.link, blob, sizeof(blob));
	ok(len > 0 && len <= 64);
	is_int(OPS->restore(a.link, blob, (size_t)len, no_resolve, NULL), 0);
	end();
}

TAP_TEST(restore__damaged)
{
	uint8_t blob[64] = {0};

	must(begin());
	is_int(OPS->restore(a.link, blob, 0, no_resolve, NULL), -EINVAL);
	is_int(OPS->restore(a.link, blob, 8, no_resolve, NULL), -EINVAL);
	is_int(node_send(&a, to_b, 8, 1), 0);
	is_int(OPS->save(b.link, blob, sizeof(blob)), 24);
	for (size_t len = 9; len < 24; len++)
		is_int(OPS->restore(b.link, blob, len, no_resolve, NULL), -EINVAL);
	memset(blob + 12, 0xff, 4);
	is_int(OPS->restore(b.link, blob, 24, no_resolve, NULL), -EINVAL);
	end();
}

/* The good message before the damage must not arrive. */
TAP_TEST(restore__damaged_behind_a_good_message)
{
	struct pm_inbound in;
	uint8_t blob[64];

	must(begin());
	is_int(node_send(&a, to_b, 8, 1), 0);
	is_int(node_send(&a, to_b, 8, 2), 0);
	is_int(OPS->save(b.link, blob, sizeof(blob)), 8 + 2 * 16);
	for (int i = 0; i < 2; i++) {
		must(is_int(node_receive(&b, &in), 1));
		OPS->release(b.link, in.cookie);
	}
	is_int(OPS->restore(b.link, blob, 8 + 2 * 16 - 1, no_resolve, NULL), -EINVAL);
	is_int(OPS->receive(b.link, &in), 0);
	end();
}

TAP_TEST(dump__names_the_peer)
{
	char text[4096], cut[40];
	int len;

	must(begin());
	len = OPS->dump(a.link, text, sizeof(text));
	ok(len > 0 && strstr(text, "node 2"));
	is_int(OPS->dump(a.link, cut, sizeof(cut)), len);
	is_int(strlen(cut), sizeof(cut) - 1);
	end();
}

TAP_TEST(memory__grows_with_peers)
{
	uint64_t alone, with_peer;

	links_begin();
	must(is_int(node_open(&a, 1, NULL), 0));
	must(is_int(node_open(&b, 2, NULL), 0));
	alone = OPS->memory(a.link);
	must(is_int(node_add(&a, 2, &b, &to_b), 0));
	with_peer = OPS->memory(a.link);
	okf(with_peer > alone && with_peer - alone < 200000, "%llu then %llu",
	    (unsigned long long)alone, (unsigned long long)with_peer);
	end();
}
