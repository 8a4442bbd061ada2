// SPDX-License-Identifier: BSD-3-Clause
/* peer: adding, flows lent and taken back, death by silence, deletion, memory running out. */
#include "tests/unit/channel/rig.h"

TAP_TEST(chan_peer_add__bad_arguments)
{
	struct rig *rig = rig_new(1);
	struct chan_peer *peer = NULL;

	is_int(chan_peer_add(rig->chan, RIG_PEER, NULL, 1, RIG_MTU, &peer), -EEXIST);
	is_int(chan_peer_add(rig->chan, RIG_SELF, NULL, 1, RIG_MTU, &peer), -EINVAL);
	is_int(chan_peer_add(rig->chan, 9, NULL, 0, RIG_MTU, &peer), -EINVAL);
	is_int(chan_peer_add(rig->chan, 9, NULL, 2, RIG_MTU, &peer), -EINVAL);
	is_int(chan_peer_add(rig->chan, 9, NULL, 1, 60, &peer), -EINVAL);
	ok(!peer);
	is_int(rig->stats.peers, 1);
	rig_close(rig);
}

TAP_TEST(chan_peer_add__costs_nothing_but_its_state)
{
	struct rig *rig = rig_new(1);
	uint64_t before = chan_memory(rig->chan);
	struct chan_peer *peer;
	uint32_t i;

	for (i = 0; i < 1000; i++)
		is_int(chan_peer_add(rig->chan, 100 + i, NULL, 1, RIG_MTU, &peer), 0);
	ok(chan_memory(rig->chan) - before <= 1000 * 256);
	ok(chan_idle_peer_bytes() <= 256);
	ok(chan_peer_find(rig->chan, 1099) == peer);
	is_int(chan_peer_node(peer), 1099);
	ok(!chan_peer_find(rig->chan, 1100));
	rig_close(rig);
}

TAP_TEST(peer_detach__after_rest)
{
	struct rig *rig = rig_new(1);

	is_int(rig_send(rig, 8, 1), 0);
	rig->now += 100 * US;
	rig_ack(rig, 1, 0, NULL);
	ok(rig->peer->flow != NULL);
	while (chan_deadline(rig->chan) != UINT64_MAX) {
		rig->now = chan_deadline(rig->chan) > rig->now ? chan_deadline(rig->chan)
							       : rig->now;
		rig_poll(rig, 0);
	}
	ok(!rig->peer->flow);
	is_int(rig->chan->n_flows, 0);
	/* and goes on with the same numbers */
	is_int(rig_send(rig, 8, 1), 0);
	is_int(rig_last(rig)->header.seq, 1);
	is_int(rig->peer->srtt_ns, 100 * US);
	rig_close(rig);
}

TAP_TEST(peer_attach__many_short_contacts_share_few_flows)
{
	struct rig *rig = rig_new(1);
	struct chan_peer *peer;
	uint32_t i;

	rig->is_adding = true;
	for (i = 0; i < 1000; i++) {
		rig->from.src = 100 + i;
		rig->from.rail_seq = 0;
		rig->from.flags = WIRE_F_ACK_NOW;
		rig_datagram(rig, 0, 0);
		is_int(rig_take(rig), 0);
		rig_poll(rig, 0);
		rig->n_sent = 0;
	}
	ok(rig->chan->n_flows <= CHAN_IDLE_FLOWS);
	peer = chan_peer_find(rig->chan, 100);
	ok(peer && !peer->flow && peer->rx_next == 1);
	rig_close(rig);
}

TAP_TEST(peer__dead_after_silence)
{
	struct rig *rig = rig_init();
	uint64_t start;

	rig->config.peer_timeout_ns = SEC;
	rig_open(rig);
	rig->now += 100 * SEC; /* nothing was asked: silence means nothing */
	rig_poll(rig, 0);
	start = rig->now;
	is_int(rig_send(rig, 8, 1), 0);
	while (!rig->n_dead && rig->now < start + 10 * SEC) {
		ok(chan_deadline(rig->chan) > rig->now);
		rig->now = chan_deadline(rig->chan);
		rig_poll(rig, 0);
	}
	is_int(rig->now - start, SEC);
	is_int(rig->n_dead, 1);
	is_int(rig->dead_error, ETIMEDOUT);
	ok(chan_peer_is_dead(rig->peer));
	is_int(rig->stats.peers_dead, 1);
	is_int(rig->n_lent, CHAN_SPARES < rig->n_lent ? 0 : rig->n_lent);
	rig_datagram(rig, 0, 0);
	is_int(rig->rails[0].drops[DROP_DEAD_PEER], 1);
	is_int(rig_send(rig, 8, 1), -EPIPE);
	rig_close(rig);
}

TAP_TEST(peer__asked_while_one_sided_data_is_awaited)
{
	struct rig *rig = rig_init();
	uint8_t memory[100];
	uint32_t op, probes = 0;
	uint64_t start;
	uint32_t i;

	rig->config.peer_timeout_ns = SEC;
	rig_open(rig);
	is_int(chan_read(rig->chan, rig->peer, 1, 0, memory, 100, rig->now, &op), 0);
	rig_ack(rig, 1, 0, NULL);
	start = rig->now;
	while (!rig->n_dead && rig->now < start + 10 * SEC) {
		rig->now = chan_deadline(rig->chan) > rig->now ? chan_deadline(rig->chan)
							       : rig->now;
		rig_poll(rig, 0);
	}
	is_int(rig->now - start, SEC);
	for (i = 0; i < rig->n_sent; i++)
		probes += rig->sent[i].header.type == WIRE_PROBE;
	ok(probes >= 2);
	is_int(chan_op_done(rig->chan, op), -EPIPE);
	rig_close(rig);
}

TAP_TEST(chan_peer_dead__twice_is_told_once)
{
	struct rig *rig = rig_new(1);

	chan_peer_dead(rig->chan, rig->peer, ENETUNREACH);
	chan_peer_dead(rig->chan, rig->peer, EPIPE);
	is_int(rig->n_dead, 1);
	is_int(rig->dead_error, ENETUNREACH);
	rig_close(rig);
}

TAP_TEST(chan_peer_dead__delivered_messages_stay)
{
	struct rig *rig = rig_new(1);

	rig_datagram(rig, 0, 0);
	rig_datagram(rig, 2, 2);
	chan_peer_dead(rig->chan, rig->peer, EPIPE);
	is_int(rig_take(rig), 0);
	is_int(rig_take(rig), -1);
	is_int(rig->n_rx, 0);
	rig_close(rig);
}

TAP_TEST(chan_peer_del__in_the_midst_of_everything)
{
	struct rig *rig = rig_new(1);
	uint8_t memory[100];
	uint32_t op, i;

	for (i = 0; i < 30; i++)
		if (rig_send(rig, 400, 1))
			break;
	rig_datagram(rig, 0, 0);
	rig_datagram(rig, 5, 3);
	is_int(chan_read(rig->chan, rig->peer, 1, 0, memory, 100, rig->now, &op), 0);
	chan_peer_del(rig->chan, rig->peer);
	is_int(chan_op_done(rig->chan, op), -EPIPE);
	is_int(rig->n_rx, 0);
	ok(!chan_peer_find(rig->chan, RIG_PEER));
	is_int(rig_poll(rig, 0), 0);
	is_int(chan_peer_add(rig->chan, RIG_PEER, NULL, 1, RIG_MTU, &rig->peer), 0);
	is_int(rig_send(rig, 8, 1), 0);
	is_int(rig_last(rig)->header.seq, 0);
	rig_close(rig);
}

/* A sanitizer brings its own calloc. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_OWN_CALLOC 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_OWN_CALLOC 1
#endif
#endif

#ifndef HAS_OWN_CALLOC
extern void *__libc_calloc(size_t n, size_t size);
static int fail_in = -1; /* allocations until one fails, -1 = never */

void *calloc(size_t n, size_t size)
{
	if (fail_in >= 0 && !fail_in--)
		return NULL;
	return __libc_calloc(n, size);
}

/* Everything a small exchange does, with the n-th allocation failing, for each n. */
static bool exchange(struct rig *rig)
{
	uint8_t memory[100];
	struct chan_peer *peer;
	struct chan *chan;
	uint32_t op;
	bool is_fine = true;

	if (rig_create(rig))
		return false;
	chan = rig->chan;
	rig->from.rail_seq = 0;
	rig->from.ack = 0;
	if (chan_peer_add(chan, RIG_PEER, NULL, 1, RIG_MTU, &peer)) {
		is_fine = false;
	} else {
		rig->peer = peer;
		is_fine &= !rig_send(rig, 8, 1);
		is_fine &= !chan_read(chan, peer, 1, 0, memory, 100, rig->now, &op);
		rig_datagram(rig, 0, 0);
		is_fine &= rig_take(rig) == 0;
		rig_poll(rig, MS);
	}
	fail_in = -1;
	chan_check(chan);
	rig_destroy(rig);
	return is_fine;
}

TAP_TEST(chan__each_allocation_fails_once)
{
	struct rig *rig = rig_init();
	int n;

	rig_open(rig);
	rig_destroy(rig);
	for (n = 0; n < 100; n++) {
		fail_in = n;
		if (exchange(rig))
			break;
	}
	fail_in = -1;
	ok(n >= 5 && n < 100);
	is_int(rig_create(rig), 0);
	rig_close(rig);
}
#endif
