// SPDX-License-Identifier: BSD-3-Clause
/* Tests of device/takeover*.c: nodes that go from a link that loses its way (losing.h) to udp. */
#include "tests/unit/device/couple.h"

/*
 * One course of events: of four messages each way so many arrived, were acknowledged, were taken.
 */
struct course {
	uint32_t arrived[2], acked[2];
	bool is_taken; /* before the change */
	int losers;    /* bit per side */
};

static void run(const struct course *course)
{
	size_t mtu = 0;

	if (!open_couple(CONFIG))
		return;
	for (int i = 0; i < 2; i++) {
		send_some(i, 4);
		is_str(device(i), "losing");
	}
	for (int i = 0; i < 2; i++) {
		losing_carry(couple.way[i], course->arrived[i]);
		couple.way[i]->n_acked = course->acked[i];
	}
	if (course->is_taken)
		turn(1);
	for (int i = 0; i < 2; i++)
		couple.way[i]->is_lost = course->losers >> i & 1;
	for (int i = 0; i < 2; i++) {
		take(i);
		if (couple.way[i]->is_left || course->losers >> i & 1)
			send_some(i, 2);
	}
	drain();
	for (int i = 0; i < 2; i++) {
		is_str(device(i), "udp");
		is_int(pmGetMtu(couple.ctx[i], (pmNode)!i, &mtu), 0);
		is_int(mtu, LOSING_MTU);
		send_some(i, 6);
	}
	drain();
	settle();
	turn(10);
	is_int(couple.received[0], couple.sent[1]);
	is_int(couple.received[1], couple.sent[0]);
	is_int(couple.dead[0] + couple.dead[1], 0);
	close_couple();
}

/* Every border between arrived and not, acknowledged and not; either side notices, or both. */
TAP_TEST(takeover__every_message_once_and_in_order)
{
	struct course c;

	for (c.losers = 1; c.losers <= 3; c.losers++)
		for (uint32_t arrived = 0; arrived <= 4; arrived++)
			for (uint32_t acked = 0; acked <= arrived; acked++)
				for (int taken = 0; taken < 2; taken++) {
					c.is_taken = taken;
					c.arrived[0] = arrived;
					c.acked[0] = acked;
					c.arrived[1] = 4 - acked;
					c.acked[1] = 4 - arrived;
					run(&c);
					if (tap_has_failed()) {
						tap_diag("losers %d, %u arrived, %u acknowledged",
							 c.losers, arrived, acked);
						return;
					}
				}
}

/*
 * The other side has not read what the old link brought: it comes before what the new one brings.
 */
TAP_TEST(takeover__waits_for_what_the_old_link_still_has)
{
	if (!open_couple(CONFIG))
		return;
	send_some(0, 3);
	losing_carry(couple.way[0], 2);
	couple.way[1]->is_deaf = true;
	couple.way[0]->is_lost = true;
	turn(1);
	send_some(0, 2);
	turn(2000);
	is_int(couple.received[1], 0);
	is_int(pmIsSendDone(couple.ctx[1], 0), ENOBUFS);
	couple.way[1]->is_deaf = false;
	drain();
	is_str(device(1), "udp");
	close_couple();
}

static int know_nobody(void *arg, pmNode node, const void **ret_addr, size_t *ret_len)
{
	return EHOSTUNREACH;
}

/*
 * A context that got a node's address by pmAddNode() knows it for all links. It has no resolver, or
 * one that does not know the node.
 */
TAP_TEST(takeover__node_that_was_added)
{
	for (int i = 0; i < 4; i++) {
		int loser = i % 2;

		if (!open_couple_added(CONFIG))
			return;
		if (i >= 2)
			is_int(pmSetResolver(couple.ctx[!loser], know_nobody, NULL), 0);
		send_some(0, 3);
		send_some(1, 3);
		losing_carry(couple.way[0], 2);
		couple.way[loser]->is_lost = true;
		drain();
		is_str(device(0), "udp");
		is_str(device(1), "udp");
		send_some(0, 3);
		send_some(1, 3);
		drain();
		settle();
		close_couple();
	}
}

/* Buffers that the old link lent are sent, and given back to it. */
TAP_TEST(takeover__buffers_lent_before)
{
	pmDesc desc[2], held;
	void *buf[2];
	size_t len;
	pmNode src;

	if (!open_couple(CONFIG))
		return;
	send_some(0, 1);
	for (int i = 0; i < 2; i++)
		is_int(pmGetSendBuffer(couple.ctx[0], 1, LOSING_MTU, &buf[i], &desc[i]), 0);
	couple.way[0]->is_lost = true;
	turn(2);
	is_str(device(0), "udp");
	drain();
	fill(buf[0], 0, 1);
	is_int(pmTruncateBuffer(couple.ctx[0], desc[0], length(1)), 0);
	is_int(pmSend(couple.ctx[0], desc[0]), 0);
	couple.sent[0]++;
	is_int(pmDiscardSendBuffer(couple.ctx[0], desc[1]), 0);
	is_int(couple.way[0]->n_lent, 0);
	drain();
	/* one of the new kind that is not sent, and one message that is not given back */
	is_int(pmGetSendBuffer(couple.ctx[0], 1, 100, &buf[0], &desc[0]), 0);
	is_int(pmPost(couple.ctx[1], 0, "held", 5), 0);
	while (pmReceive(couple.ctx[0], &buf[1], &len, &src, &held) == ENOBUFS)
		take(1);
	is_str(buf[1], "held");
	close_couple();
}

/* More may be sent than the new link takes at once; who sends too much is told so. */
TAP_TEST(takeover__many_messages)
{
	uint64_t end = clock_monotonic_ns() + LOSING_TURN_NS;
	bool is_refused = false;

	if (!open_couple(CONFIG))
		return;
	send_some(0, 1);
	couple.way[0]->is_lost = true;
	turn(1);
	while (couple.sent[0] < 5000 && clock_monotonic_ns() < end) {
		int err = send_one(0);

		is_refused |= err == ENOBUFS;
		okf(!err || err == ENOBUFS, "error %d", err);
		if (err)
			turn(1);
	}
	ok(is_refused);
	drain();
	settle();
	close_couple();
}

/* ---- one-sided ---- */

static int finish(bool is_write, pmDesc desc)
{
	uint64_t end = clock_monotonic_ns() + LOSING_TURN_NS;
	int err = ENOBUFS;

	while (err == ENOBUFS && clock_monotonic_ns() < end) {
		turn(1);
		err = is_write ? pmIsWriteDone(couple.ctx[0], desc)
			       : pmIsReadDone(couple.ctx[0], desc);
	}
	return err;
}

/* Operations under way are done by the new link, more of them than it is given at once. */
TAP_TEST(takeover__operations_under_way)
{
	static uint8_t remote[LOSING_OPS * 3000], local[LOSING_OPS * 3000];
	pmDesc desc[LOSING_OPS];
	pmHandle handle;

	if (!open_couple(CONFIG))
		return;
	memset(local, 0, sizeof(local));
	for (uint32_t i = 0; i < sizeof(remote); i++)
		remote[i] = byte_of(1, 0, i);
	is_int(pmMLock(couple.ctx[1], remote, sizeof(remote), &handle), 0);
	for (uint32_t i = 0; i < LOSING_OPS; i++) {
		uint8_t *at = local + (size_t)i * 3000;

		if (i % 2) {
			memset(at, (int)i, 3000);
			is_int(pmWrite(couple.ctx[0], 1, &handle, i * 3000, at, 3000, &desc[i]), 0);
		} else {
			is_int(pmRead(couple.ctx[0], 1, &handle, i * 3000, at, 3000, &desc[i]), 0);
		}
	}
	is_int(couple.way[0]->n_ops, LOSING_OPS);
	couple.way[0]->is_lost = true;
	for (uint32_t i = 0; i < LOSING_OPS; i++)
		is_int(finish(i % 2, desc[i]), 0);
	is_mem(local, remote, sizeof(local));
	for (uint32_t i = 0; i < 3000; i++)
		if (!is_int(local[i], byte_of(1, 0, i)))
			break;
	/* and new ones */
	is_int(pmRead(couple.ctx[0], 1, &handle, 0, local, 3000, &desc[0]), 0);
	is_int(finish(false, desc[0]), 0);
	/* a key that is none: as at any link */
	is_int(pmMUnlock(couple.ctx[1], &handle), 0);
	is_int(pmRead(couple.ctx[0], 1, &handle, 0, local, 3000, &desc[0]), 0);
	is_int(finish(false, desc[0]), EACCES);
	close_couple();
}

/*
 * A write of the old link may come late: none is done again before the other side has left that
 * link.
 */
TAP_TEST(takeover__operations_wait_for_the_other_side)
{
	static uint8_t remote[100], local[100] = {1};
	pmHandle handle;
	pmDesc desc;

	if (!open_couple(CONFIG))
		return;
	is_int(pmMLock(couple.ctx[1], remote, sizeof(remote), &handle), 0);
	send_some(0, 1);
	losing_carry(couple.way[0], 1);
	couple.way[1]->is_deaf = true;
	is_int(pmWrite(couple.ctx[0], 1, &handle, 0, local, 100, &desc), 0);
	couple.way[0]->is_lost = true;
	turn(2000);
	is_int(pmIsWriteDone(couple.ctx[0], desc), ENOBUFS);
	is_int(remote[0], 0);
	couple.way[1]->is_deaf = false;
	is_int(finish(true, desc), 0);
	is_int(remote[0], 1);
	close_couple();
}

/* ---- when it does not help ---- */

TAP_TEST(takeover__no_other_device)
{
	static uint8_t remote[10], local[10];
	pmHandle handle;
	pmDesc desc;

	if (!open_couple("devices=self+udp,udp.rails=lo"))
		return;
	/* udp is not in the address */
	couple.address_len[0] = couple.address_len[1] = 0;
	is_int(pmMLock(couple.ctx[1], remote, sizeof(remote), &handle), 0);
	for (int i = 0; i < 2; i++) {
		struct composite *c = context_get(couple.ctx[i])->c;

		c->n_slots--;
		couple.address_len[i] = PM_ADDRESS_MAX;
		pmGetAddress(couple.ctx[i], couple.address[i], &couple.address_len[i]);
		c->n_slots++;
	}
	send_some(0, 1);
	is_int(pmRead(couple.ctx[0], 1, &handle, 0, local, 10, &desc), 0);
	couple.way[0]->is_lost = true;
	turn(3);
	is_int(couple.dead[0], 1);
	ok(couple.way[0]->is_forsaken);
	is_int(pmIsReadDone(couple.ctx[0], desc), EPIPE);
	is_int(send_one(0), EPIPE);
	okf(strstr(pmLastError(), "it does not answer") != NULL, "%s", pmLastError());
	close_couple();
}

/* Found dead by the new link too: both reasons are told. */
TAP_TEST(takeover__peer_is_dead)
{
	uint64_t end = clock_monotonic_ns() + LOSING_TURN_NS;

	if (!open_couple(CONFIG ",channel.peer_timeout=300"))
		return;
	send_some(0, 2);
	is_int(pmCloseContext(couple.ctx[1]), 0);
	couple.way[0]->is_lost = true;
	while (!couple.dead[0] && clock_monotonic_ns() < end) {
		take(0);
		pmWait(couple.ctx[0], 10);
	}
	is_int(couple.dead[0], 1);
	is_int(send_one(0), EPIPE);
	okf(strstr(pmLastError(), "losing: it does not answer; then udp: ") != NULL, "%s",
	    pmLastError());
	ok(couple.way[0]->is_forsaken);
	is_int(pmCloseContext(couple.ctx[0]), 0);
}

TAP_TEST(takeover__removed_node)
{
	if (!open_couple(CONFIG))
		return;
	send_some(0, 1);
	send_some(1, 3);
	couple.way[0]->is_lost = true;
	drain();
	is_int(pmRemoveNode(couple.ctx[0], 1), 0);
	ok(couple.way[0]->is_deleted);
	close_couple();
}

/* ---- what is seen ---- */

TAP_TEST(takeover__is_told)
{
	const char *note;
	char text[8192];
	int fds[2];
	ssize_t len;

	if (!open_couple(CONFIG))
		return;
	send_some(0, 1);
	couple.way[0]->is_lost = true;
	drain();
	is_int(pmGetNote(couple.ctx[0], &note), 0);
	is_str(note, "node 1 goes by udp: losing: it does not answer");
	is_int(pmGetNote(couple.ctx[1], &note), 0);
	is_str(note, "node 0 goes by udp: losing: it has lost its way to us");
	must(!pipe(fds));
	is_int(pmDumpContext(couple.ctx[0], fds[1]), 0);
	len = read(fds[0], text, sizeof(text) - 1);
	text[len > 0 ? len : 0] = '\0';
	okf(strstr(text, "takeover: 1 nodes go by another device\n  node 1: ") != NULL, "%s", text);
	close(fds[0]);
	close(fds[1]);
	close_couple();
}
