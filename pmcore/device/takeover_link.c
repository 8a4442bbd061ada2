// SPDX-License-Identifier: BSD-3-Clause
/* takeover_link - the link that the messages and operations of taken nodes pass through. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pmcore/device/takeover_private.h"

#define OUT_MAX 64 /* messages lent and queued per node */
#define ODD 1u     /* of our cookies; those of the old link are even */

bool takeover_is_busy(const struct taken *t)
{
	return !t->is_dead &&
	       (t->is_leaving || !t->is_marked || t->out || t->waiting.head || t->has_ops);
}

/* ---- the end of a node ---- */

/* The new link's operations are over with its peer: it only has to be asked. */
static void drop_ops(struct taken *t)
{
	for (uint32_t i = 0; i < t->n_ops; i++)
		if (t->again[i])
			t->to->ops.rma_done(t->to->link, t->again[i]);
	t->n_ops = 0;
	t->has_ops = false;
}

/* ---- progress ---- */

static int keep_unsent(void *arg, const struct pm_unsent *message)
{
	struct taken *t = arg;
	struct taken_out *out = takeover_out(t, message->len);

	if (!out)
		return -ENOMEM;
	memcpy(out->bytes, message->data, message->len);
	out->number = message->number;
	out->is_carried = message->is_carried;
	takeover_enqueue(t, out);
	return 0;
}

/* Takes what the old link leaves undone; what was sent meanwhile goes behind it. */
static int take_unsent(struct taken *t)
{
	const struct composite_slot *from = t->from;
	struct taken_out *behind = t->out, **behind_tail = t->out_tail;
	int err;

	t->out = NULL;
	t->out_tail = &t->out;
	err = from->ops.leaving->unsent(from->link, t->from_peer, keep_unsent, t, &t->next);
	*t->out_tail = behind;
	if (behind)
		t->out_tail = behind_tail;
	return err;
}

/* True when the old link is left. */
static bool leave(struct taken *t)
{
	const struct composite_slot *from = t->from;
	int err = from->ops.leaving->leave(from->link, t->from_peer, &t->expected);

	if (err == -EAGAIN)
		return false;
	if (!err)
		err = take_unsent(t);
	if (err) {
		takeover_kill(t, err == -ENOMEM ? "no memory for what was sent to it"
						: "what it has received cannot be known");
		return false;
	}
	t->is_leaving = false;
	t->has_ops = true;
	return true;
}

static int start_again(struct taken *t, const struct pm_unfinished *op, uint32_t *ret_again)
{
	const struct pm_link_ops *to = &t->to->ops;

	return op->is_write ? to->write(t->to->link, t->to_peer, op->rkey, op->roffset, op->local,
					op->len, ret_again)
			    : to->read(t->to->link, t->to_peer, op->rkey, op->roffset, op->local,
				       op->len, ret_again);
}

/* One operation: started, or looked after; true when it is over. */
static bool redo_one(struct taken *t, uint32_t i)
{
	int result;

	if (!t->again[i]) {
		result = start_again(t, &t->ops[i], &t->again[i]);
		if (!result)
			result = -EAGAIN;
	} else {
		result = t->to->ops.rma_done(t->to->link, t->again[i]);
	}
	if (result == -EAGAIN)
		return false;
	t->from->ops.leaving->finish(t->from->link, t->ops[i].op, result);
	t->n_ops--;
	t->ops[i] = t->ops[t->n_ops];
	t->again[i] = t->again[t->n_ops];
	return true;
}

/*
 * Operations of the old link are done again by the new one. A write of the old one could still be
 * on its way until the other end has left, and come after the new one is done: so none begins
 * before that.
 */
static bool redo(struct taken *t)
{
	const struct composite_slot *from = t->from;
	bool is_any = false;

	if (!t->has_ops || !t->is_answered || t->takeover->is_stopped)
		return false;
	if (!t->n_ops) {
		int n = from->ops.leaving->unfinished(from->link, t->from_peer, t->ops,
						      TAKEOVER_OPS);

		t->n_ops = n > 0 ? (uint32_t)n : 0;
		t->has_ops = n > 0;
		memset(t->again, 0, sizeof(t->again));
	}
	for (uint32_t i = t->n_ops; i-- > 0;)
		is_any |= redo_one(t, i);
	return is_any;
}

/* Goes on with one node; true when something happened. */
static bool advance(struct taken *t)
{
	struct taken_in *in;
	bool is_any = false;

	if (t->is_dead)
		return false;
	if (t->is_leaving) {
		if (!leave(t))
			return t->is_dying;
		is_any = true;
	}
	while (!t->is_dead && (in = taken_in_take(&t->waiting))) {
		int err = takeover_take(t, in);

		is_any = true;
		if (err)
			takeover_kill(t, err == -ENOMEM
						 ? "no memory for a message"
						 : "it sent bytes that are no part of a message");
	}
	is_any |= takeover_send(t);
	return redo(t) || is_any;
}

static bool advance_all(struct takeover *tk)
{
	bool is_any = false;

	for (struct taken *t = tk->all; t; t = t->next_taken)
		is_any |= advance(t);
	return is_any;
}

static void look_empty(struct takeover *tk)
{
	bool is_busy = tk->ready.head != NULL;

	for (const struct taken *t = tk->all; t && !is_busy; t = t->next_taken)
		is_busy = takeover_is_busy(t) || t->is_dying;
	tk->base.is_empty = !is_busy;
}

static int report_dying(struct takeover *tk, uint32_t *ret_node)
{
	for (struct taken *t = tk->all; t; t = t->next_taken)
		if (t->is_dying) {
			t->is_dying = false;
			*ret_node = t->node->node;
			return -EPIPE;
		}
	return 0;
}

/* ---- operations of the link ---- */

static int op_open(const struct pm_device_env *env, struct pm_link **ret_link)
{
	(void)env, (void)ret_link;
	return -ENOSYS; /* see takeover_open */
}

static int op_peer_add(struct pm_link *link, uint32_t node, const void *addr, size_t len,
		       struct pm_link_peer **ret_peer)
{
	(void)link, (void)node, (void)addr, (void)len, (void)ret_peer;
	return -EHOSTUNREACH;
}

static void op_peer_del(struct pm_link *link, struct pm_link_peer *peer)
{
	struct takeover *tk = takeover_of(link);
	struct taken_in_list all = tk->ready;
	struct taken *t = taken_of(peer), **at = &tk->all;
	struct taken_in *in;

	if (!all.head)
		taken_in_init(&all);
	taken_in_init(&tk->ready);
	while ((in = taken_in_take(&all)))
		if (in->src == t->node->node)
			takeover_drop_in(tk, in);
		else
			taken_in_add(&tk->ready, in);
	takeover_drop_queues(t);
	t->from->ops.peer_del(t->from->link, t->from_peer);
	t->to->ops.peer_del(t->to->link, t->to_peer);
	drop_ops(t);
	while (t->lent) {
		struct taken_out *out = t->lent;

		t->lent = out->next;
		free(out);
	}
	while (*at != t)
		at = &(*at)->next_taken;
	*at = t->next_taken;
	free(t);
}

static uint32_t op_mtu(struct pm_link *link, struct pm_link_peer *peer)
{
	const struct composite *c = takeover_of(link)->c;

	/* without a node it must not stand out among the devices */
	return peer ? taken_of(peer)->node->mtu : c->slots[0].ops.mtu(c->slots[0].link, NULL);
}

static int op_get_send(struct pm_link *link, struct pm_link_peer *peer, uint32_t len,
		       void **ret_buf, uint64_t *ret_cookie)
{
	struct takeover *tk = takeover_of(link);
	struct taken *t = taken_of(peer);
	struct taken_out *out;

	if (t->is_dead)
		return -EPIPE;
	out = tk->is_stopped || t->n_out >= OUT_MAX ? NULL : takeover_out(t, len);
	if (!out) {
		tk->stats->no_buffer++;
		return -EAGAIN;
	}
	out->next = t->lent;
	t->lent = out;
	*ret_buf = out->bytes;
	*ret_cookie = (uintptr_t)out | ODD;
	return 0;
}

/* A buffer that the old link lent before it was left. */
static int send_old(struct taken *t, uint64_t cookie, uint32_t len)
{
	const struct composite_slot *from = t->from;
	const struct pm_unsent message = {.number = UINT64_MAX,
					  .data = from->ops.leaving->lent(from->link, cookie),
					  .len = len};
	int err = 0;

	if (len && t->is_dead)
		err = -EPIPE;
	else if (len)
		err = keep_unsent(t, &message);
	from->ops.send(from->link, t->from_peer, cookie, 0);
	if (err == -ENOMEM)
		takeover_kill(t, "no memory for what is sent to it");
	return err ? -EPIPE : 0;
}

static int send_own(struct taken *t, struct taken_out *out, uint32_t len)
{
	struct taken_out **at = &t->lent;

	while (*at != out)
		at = &(*at)->next;
	*at = out->next;
	if (len && !t->is_dead) {
		out->len = len;
		takeover_enqueue(t, out);
		return 0;
	}
	t->n_out--;
	free(out);
	return len ? -EPIPE : 0;
}

static int op_send(struct pm_link *link, struct pm_link_peer *peer, uint64_t cookie, uint32_t len)
{
	struct takeover *tk = takeover_of(link);
	struct taken *t = taken_of(peer);
	int err = cookie & ODD ? send_own(t, (struct taken_out *)(uintptr_t)(cookie - ODD), len)
			       : send_old(t, cookie, len);

	if (len && !err) {
		tk->stats->tx_messages++;
		tk->stats->tx_bytes += len;
		takeover_send(t);
	}
	look_empty(tk);
	return err;
}

static int op_carry(struct pm_link *link, struct pm_link_peer *peer, const void *head,
		    uint32_t head_len, const void *data, uint32_t len)
{
	struct takeover *tk = takeover_of(link);
	struct taken *t = taken_of(peer);
	struct taken_out *out;

	if (t->is_dead)
		return -EPIPE;
	out = tk->is_stopped || t->n_out >= OUT_MAX ? NULL : takeover_out(t, head_len + len);
	if (!out)
		return -EAGAIN;
	pm_carry_fill(out->bytes, head, head_len, data, len);
	out->is_carried = true;
	takeover_enqueue(t, out);
	takeover_send(t);
	look_empty(tk);
	return 0;
}

static void op_await(struct pm_link *link, struct pm_link_peer *peer, bool is_on)
{
	const struct taken *t = taken_of(peer);

	(void)link;
	t->to->ops.await(t->to->link, t->to_peer, is_on);
}

static int op_probe(struct pm_link *link, struct pm_link_peer *peer)
{
	const struct taken *t = taken_of(peer);

	(void)link;
	return t->is_dead ? -EPIPE : t->to->ops.probe(t->to->link, t->to_peer);
}

static int op_send_out(struct pm_link *link, struct pm_link_peer *peer)
{
	const struct taken *t = taken_of(peer);

	(void)link;
	return t->out ? -EAGAIN : t->to->ops.send_out(t->to->link, t->to_peer);
}

static int op_send_done(struct pm_link *link, struct pm_link_peer *peer)
{
	const struct taken *t = taken_of(peer);

	if (peer && t->is_dead)
		return -EPIPE;
	if (peer)
		return t->is_leaving || t->out ? -EAGAIN
					       : t->to->ops.send_done(t->to->link, t->to_peer);
	for (t = takeover_of(link)->all; t; t = t->next_taken)
		if (!t->is_dead && (t->is_leaving || t->out))
			return -EAGAIN;
	return 0;
}

static int op_receive(struct pm_link *link, struct pm_inbound *ret)
{
	struct takeover *tk = takeover_of(link);
	struct taken_in *in;

	if (!tk->ready.head)
		advance_all(tk);
	in = taken_in_take(&tk->ready);
	if (!in) {
		int err = report_dying(tk, &ret->src);

		look_empty(tk);
		return err;
	}
	in->next = tk->given;
	in->at = &tk->given;
	if (in->next)
		in->next->at = &in->next;
	tk->given = in;
	ret->buf = in->data;
	ret->len = in->len;
	ret->src = in->src;
	ret->cookie = (uintptr_t)in;
	return in->is_carried ? 2 : 1;
}

static void op_release(struct pm_link *link, uint64_t cookie)
{
	struct taken_in *in = (struct taken_in *)(uintptr_t)cookie;

	*in->at = in->next;
	if (in->next)
		in->next->at = in->at;
	takeover_drop_in(takeover_of(link), in);
}

static void op_close(struct pm_link *link)
{
	struct takeover *tk = takeover_of(link);

	takeover_drop_list(tk, &tk->ready);
	while (tk->given)
		op_release(link, (uintptr_t)tk->given);
	free(tk);
}

/* The new link's own names of operations are good at it. */
static int op_read(struct pm_link *link, struct pm_link_peer *peer, uint64_t rkey, uint64_t roffset,
		   void *local, uint64_t len, uint32_t *ret_op)
{
	const struct taken *t = taken_of(peer);

	(void)link;
	return t->to->ops.read(t->to->link, t->to_peer, rkey, roffset, local, len, ret_op);
}

static int op_write(struct pm_link *link, struct pm_link_peer *peer, uint64_t rkey,
		    uint64_t roffset, const void *local, uint64_t len, uint32_t *ret_op)
{
	const struct taken *t = taken_of(peer);

	(void)link;
	return t->to->ops.write(t->to->link, t->to_peer, rkey, roffset, local, len, ret_op);
}

/*
 * Messages that are sent here start timers at another link, which may be armed already. The
 * result 1 then makes the caller arm all links again.
 */
static int op_arm(struct pm_link *link, uint64_t *timeout_ns)
{
	struct takeover *tk = takeover_of(link);
	bool is_any = advance_all(tk);

	(void)timeout_ns;
	look_empty(tk);
	for (const struct taken *t = tk->all; t; t = t->next_taken)
		is_any |= t->is_dying;
	return is_any || tk->ready.head;
}

const struct pm_link_ops takeover_ops = {
	.abi = PM_DEVICE_ABI,
	.size = sizeof(struct pm_link_ops),
	.name = TAKEOVER_NAME,
	.open = op_open,
	.close = op_close,
	.peer_add = op_peer_add,
	.peer_del = op_peer_del,
	.mtu = op_mtu,
	.get_send = op_get_send,
	.send = op_send,
	.carry = op_carry,
	.await = op_await,
	.probe = op_probe,
	.send_out = op_send_out,
	.send_done = op_send_done,
	.receive = op_receive,
	.release = op_release,
	.read = op_read,
	.write = op_write,
	.arm = op_arm,
	.quiesce = takeover_quiesce,
	.resume = takeover_resume,
	.save = takeover_save,
	.restore = takeover_restore,
	.dump = takeover_dump,
	.memory = takeover_memory,
};
