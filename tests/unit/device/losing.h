/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A reliable link in memory that fails on command. In two contexts of one process it comes before
 * udp. The test decides the fate of each message: it arrives when the test calls losing_carry, and
 * is acknowledged when the test raises n_acked. One-sided operations never come to an end by
 * themselves.
 */
#ifndef TESTS_UNIT_DEVICE_LOSING_H
#define TESTS_UNIT_DEVICE_LOSING_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pmcore/api/context.h"
#include "pmcore/util/clock.h"
#include "tests/harness/tap.h"

#define LOSING_MTU 4000u
#define LOSING_MESSAGES 64
#define LOSING_OPS 40
#define LOSING_DOUBT_NS 2000000ull   /* between two times that a silence is told */
#define LOSING_TURN_NS 5000000000ull /* longest wait for anything */

struct losing_message {
	uint32_t len;
	bool is_carried;
	uint8_t bytes[LOSING_MTU];
};

struct losing {
	struct pm_link link;
	struct pm_device_env env;
	struct losing *other;
	struct losing_message sent[LOSING_MESSAGES]; /* by number */
	uint32_t n_sent, n_acked;
	uint32_t n_arrived; /* at the other side */
	uint32_t n_given;   /* of those that arrived here, by receive() */
	struct losing_message lent[4];
	uint32_t n_lent;
	struct pm_unfinished ops[LOSING_OPS];
	int results[LOSING_OPS];
	uint32_t n_ops;
	uint32_t n_lives;  /* times that the other process was heard by another link */
	uint64_t doubt_ns; /* when receive() tells again that it is silent */
	bool is_lost, is_left, is_deaf, is_forsaken, is_deleted, is_silent, is_patient;
};

static inline struct losing *losing_of(struct pm_link *link)
{
	return (struct losing *)link;
}

static int losing_open(const struct pm_device_env *env, struct pm_link **ret_link)
{
	struct losing *l = calloc(1, sizeof(*l));

	l->env = *env;
	l->link.can_leave = true;
	*ret_link = &l->link;
	return 0;
}

static void losing_close(struct pm_link *link)
{
	static struct losing nobody;
	struct losing *other = losing_of(link)->other;

	/* nothing more comes to the other one, which may be open still */
	if (other && other != &nobody) {
		nobody.n_arrived = other->n_given;
		other->other = &nobody;
	}
	free(link);
}

static int losing_address(struct pm_link *link, void *buf, size_t room)
{
	memcpy(buf, "way", 3);
	return 3;
}

static int losing_peer_add(struct pm_link *link, uint32_t node, const void *addr, size_t len,
			   struct pm_link_peer **ret_peer)
{
	*ret_peer = (struct pm_link_peer *)link;
	return 0;
}

static void losing_peer_del(struct pm_link *link, struct pm_link_peer *peer)
{
	losing_of(link)->is_deleted = true;
}

static uint32_t losing_mtu(struct pm_link *link, struct pm_link_peer *peer)
{
	return LOSING_MTU;
}

static int losing_get_send(struct pm_link *link, struct pm_link_peer *peer, uint32_t len,
			   void **ret_buf, uint64_t *ret_cookie)
{
	struct losing *l = losing_of(link);
	struct losing_message *m = &l->lent[l->n_lent % 4];

	if (l->is_lost || l->is_left)
		return -EPIPE;
	l->n_lent++;
	*ret_buf = m->bytes;
	*ret_cookie = (uintptr_t)m;
	return 0;
}

static int losing_send(struct pm_link *link, struct pm_link_peer *peer, uint64_t cookie,
		       uint32_t len)
{
	struct losing *l = losing_of(link);
	struct losing_message *m = (struct losing_message *)(uintptr_t)cookie;

	l->n_lent--;
	if (!len)
		return 0;
	if (l->is_lost || l->is_left)
		return -EPIPE;
	m->len = len;
	m->is_carried = false;
	l->sent[l->n_sent++] = *m;
	return 0;
}

static int losing_carry_short(struct pm_link *link, struct pm_link_peer *peer, const void *head,
			      uint32_t head_len, const void *data, uint32_t len)
{
	struct losing *l = losing_of(link);
	struct losing_message *m = &l->sent[l->n_sent];

	if (l->is_lost || l->is_left)
		return -EPIPE;
	memcpy(m->bytes, head, head_len);
	m->len = head_len;
	m->is_carried = true;
	l->n_sent++;
	return 0;
}

static int losing_send_done(struct pm_link *link, struct pm_link_peer *peer)
{
	return losing_of(link)->n_acked < losing_of(link)->n_sent ? -EAGAIN : 0;
}

static int losing_receive(struct pm_link *link, struct pm_inbound *ret)
{
	struct losing *l = losing_of(link);

	ret->src = !l->env.self;
	if (l->is_lost) {
		l->is_lost = false;
		snprintf(l->env.why, l->env.why_size, "node %u: it does not answer", ret->src);
		return -ENETUNREACH;
	}
	if (l->is_silent && clock_monotonic_ns() >= l->doubt_ns) {
		l->doubt_ns = clock_monotonic_ns() + LOSING_DOUBT_NS;
		return -ETIMEDOUT;
	}
	if (l->is_deaf || l->n_given == l->other->n_arrived)
		return 0;
	ret->buf = l->other->sent[l->n_given].bytes;
	ret->len = l->other->sent[l->n_given].len;
	ret->cookie = ++l->n_given;
	return l->other->sent[l->n_given - 1].is_carried ? 2 : 1;
}

static void losing_release(struct pm_link *link, uint64_t cookie)
{
}

static int losing_op(struct losing *l, const struct pm_unfinished *op, uint32_t *ret_op)
{
	l->results[l->n_ops] = -EAGAIN;
	l->ops[l->n_ops] = *op;
	*ret_op = l->n_ops + 1;
	l->ops[l->n_ops++].op = *ret_op;
	return 0;
}

static int losing_read(struct pm_link *link, struct pm_link_peer *peer, uint64_t rkey,
		       uint64_t roffset, void *local, uint64_t len, uint32_t *ret_op)
{
	const struct pm_unfinished op = {
		.rkey = rkey, .roffset = roffset, .local = local, .len = len};

	return losing_op(losing_of(link), &op, ret_op);
}

static int losing_write(struct pm_link *link, struct pm_link_peer *peer, uint64_t rkey,
			uint64_t roffset, const void *local, uint64_t len, uint32_t *ret_op)
{
	const struct pm_unfinished op = {.is_write = true,
					 .rkey = rkey,
					 .roffset = roffset,
					 .local = (void *)(uintptr_t)local,
					 .len = len};

	return losing_op(losing_of(link), &op, ret_op);
}

static int losing_rma_done(struct pm_link *link, uint32_t op)
{
	return losing_of(link)->results[op - 1];
}

static int losing_leave(struct pm_link *link, struct pm_link_peer *peer, uint64_t *ret_next)
{
	struct losing *l = losing_of(link);

	l->is_left = true;
	l->is_lost = false;
	if (l->n_given < l->other->n_arrived)
		return -EAGAIN;
	*ret_next = l->n_given;
	return 0;
}

static int losing_unsent(struct pm_link *link, struct pm_link_peer *peer,
			 int (*give)(void *arg, const struct pm_unsent *message), void *arg,
			 uint64_t *ret_next)
{
	struct losing *l = losing_of(link);

	for (; l->n_acked < l->n_sent; l->n_acked++) {
		const struct losing_message *m = &l->sent[l->n_acked];
		const struct pm_unsent message = {.number = l->n_acked,
						  .data = m->bytes,
						  .len = m->len,
						  .is_carried = m->is_carried};

		if (give(arg, &message))
			return -ENOMEM;
	}
	*ret_next = l->n_sent;
	return 0;
}

static void *losing_lent(struct pm_link *link, uint64_t cookie)
{
	return ((struct losing_message *)(uintptr_t)cookie)->bytes;
}

static int losing_unfinished(struct pm_link *link, struct pm_link_peer *peer,
			     struct pm_unfinished *ops, int room)
{
	struct losing *l = losing_of(link);
	int n = 0;

	for (uint32_t i = 0; i < l->n_ops && n < room; i++)
		if (l->results[i] == -EAGAIN)
			ops[n++] = l->ops[i];
	return n;
}

static void losing_finish(struct pm_link *link, uint32_t op, int result)
{
	losing_of(link)->results[op - 1] = result;
}

static void losing_forsake(struct pm_link *link, struct pm_link_peer *peer)
{
	struct losing *l = losing_of(link);

	l->is_forsaken = true;
	for (uint32_t i = 0; i < l->n_ops; i++)
		if (l->results[i] == -EAGAIN)
			l->results[i] = -EPIPE;
}

/*
 * The peer's process has given a sign of life by another link. A silent link fails now, unless it
 * is patient.
 */
static void losing_lives(struct pm_link *link, struct pm_link_peer *peer)
{
	struct losing *l = losing_of(link);

	l->n_lives++;
	l->is_lost = l->is_silent && !l->is_patient;
}

static int losing_quiesce(struct pm_link *link)
{
	const struct losing *l = losing_of(link);

	return l->is_lost || (!l->is_left && l->n_acked < l->n_sent) ? -EAGAIN : 0;
}

static const struct pm_leave_ops losing_leave_ops = {
	losing_leave,  losing_unsent,  losing_lent,  losing_unfinished,
	losing_finish, losing_forsake, losing_lives,
};

static const struct pm_link_ops losing_ops = {
	.abi = PM_DEVICE_ABI,
	.size = sizeof(struct pm_link_ops),
	.name = "losing",
	.open = losing_open,
	.close = losing_close,
	.address = losing_address,
	.peer_add = losing_peer_add,
	.peer_del = losing_peer_del,
	.mtu = losing_mtu,
	.get_send = losing_get_send,
	.carry = losing_carry_short,
	.send = losing_send,
	.send_done = losing_send_done,
	.receive = losing_receive,
	.release = losing_release,
	.read = losing_read,
	.write = losing_write,
	.rma_done = losing_rma_done,
	.quiesce = losing_quiesce,
	.leaving = &losing_leave_ops,
};

/* The first @n messages that @l has sent arrive, unless the other side has left the link. */
static inline void losing_carry(struct losing *l, uint32_t n)
{
	while (!l->other->is_left && l->n_arrived < n && l->n_arrived < l->n_sent)
		l->n_arrived++;
}

#endif
