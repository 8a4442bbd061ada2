// SPDX-License-Identifier: BSD-3-Clause
/*
 * mtl_pm_hold: messages without a receive: their memory, and when senders are told to keep theirs.
 */
#include "tests/unit/mpi-glue/mtl/fake_pm.h"

#define NODE 3

static const struct envelope head = {.source = 2, .tag = 9};

static struct mtl_pm_message *hold(struct mtl_pm_peer *peer, size_t size, size_t unasked)
{
	return mtl_pm_hold(match_context(&mtl_pm.match, FAKE_CONTEXT), &head, peer, size, unasked);
}

static void release(struct mtl_pm_message *m)
{
	match_discard(&m->match);
	mtl_pm_message_drop(m);
}

TAP_TEST(hold__is_found_by_source_and_tag)
{
	struct mtl_pm_peer *peer;
	struct mtl_pm_message *m;
	struct match_context *c;

	fake_open("udp");
	peer = mtl_pm_peer_of_node(NODE);
	c = match_context(&mtl_pm.match, FAKE_CONTEXT);
	m = hold(peer, 10, 10);
	ok(m->peer == peer && !m->claimed && !m->got && !m->is_rts && !m->remote);
	ok(match_peek(c, 2, 9) == &m->match);
	ok(!match_peek(c, 2, 8) && !match_peek(c, 1, 9));
	fake_close();
}

TAP_TEST(hold__small_messages_are_kept_for_the_next)
{
	struct mtl_pm_peer *peer;
	struct mtl_pm_message *small, *large, *announced;

	fake_open("udp");
	peer = mtl_pm_peer_of_node(NODE);
	small = hold(peer, MTL_PM_SMALL, MTL_PM_SMALL);
	large = hold(peer, MTL_PM_SMALL + 1, MTL_PM_SMALL + 1);
	announced = hold(peer, 1 << 20, 0);
	ok(small->is_small && !large->is_small && !announced->is_small);
	release(large);
	release(announced);
	ok(!mtl_pm.free_messages);
	release(small);
	ok(mtl_pm.free_messages == small);
	ok(hold(peer, 1, 1) == small);
	ok(!mtl_pm.free_messages);
	fake_close();
}

TAP_TEST(hold__senders_above_the_limit_are_choked_once)
{
	struct mtl_pm_peer *peer, *other;
	struct mtl_pm_message *first, *second, *third;
	size_t one = sizeof(struct mtl_pm_message) + 1000;

	fake_open("udp");
	peer = mtl_pm_peer_of_node(NODE);
	other = mtl_pm_peer_of_node(NODE + 1);
	mtl_pm.unexpected_limit = 2 * one;
	first = hold(peer, 1000, 1000);
	second = hold(peer, 1000, 1000);
	is_int(mtl_pm.unexpected_bytes, 2 * one);
	ok(!fake_sent() && !peer->is_choked);
	/* An announcement brings no bytes, and is no reason. */
	release(hold(other, 1000, 0));
	is_int(mtl_pm.unexpected_bytes, 2 * one);
	third = hold(peer, 1000, 1000);
	fake_sent_control(NODE, ENVELOPE_CHOKE, 0);
	ok(peer->is_choked && !other->is_choked);
	release(hold(peer, 1000, 1000));
	ok(!fake_sent());
	/* At the limit they stay so; at half of it they are let go. */
	release(first);
	ok(!fake_sent() && peer->is_choked);
	release(second);
	fake_sent_control(NODE, ENVELOPE_UNCHOKE, 0);
	ok(!peer->is_choked && TAILQ_EMPTY(&mtl_pm.choked));
	release(third);
	is_int(mtl_pm.unexpected_bytes, 0);
	ok(!fake_sent());
	fake_close();
}

TAP_TEST(hold__an_empty_message_has_its_weight)
{
	fake_open("udp");
	hold(mtl_pm_peer_of_node(NODE), 0, 0);
	is_int(mtl_pm.unexpected_bytes, sizeof(struct mtl_pm_message));
	fake_close();
}

TAP_TEST(message_drop__is_open_no_more)
{
	struct mtl_pm_peer *peer;
	struct mtl_pm_message *open, *other;

	fake_open("udp");
	peer = mtl_pm_peer_of_node(NODE);
	open = hold(peer, 1000, 1000);
	other = hold(peer, 1000, 1000);
	peer->open = open;
	release(other);
	ok(peer->open == open);
	release(open);
	ok(!peer->open);
	fake_close();
}
