// SPDX-License-Identifier: BSD-3-Clause
/*
 * takeover_state - taken nodes stopped, saved, restored, described. Saved form: per node a record,
 * the bytes of the message that is put together, and those on their way out; then the messages for
 * the program. Nodes go on in the same way after restore, without a connection of the old link.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pmcore/device/takeover_private.h"
#include "pmcore/util/text.h"

/* Quiet is who has left its old link: what waits goes on after resume, or is saved. */
int takeover_quiesce(struct pm_link *link)
{
	struct takeover *tk = takeover_of(link);

	tk->is_stopped = true;
	for (const struct taken *t = tk->all; t; t = t->next_taken)
		if (!t->is_dead && (t->is_leaving || t->waiting.head))
			return -EAGAIN;
	return 0;
}

void takeover_resume(struct pm_link *link)
{
	struct takeover *tk = takeover_of(link);

	tk->is_stopped = false;
	tk->base.is_empty = false;
}

/* ---- saved state ---- */

struct saved_head {
	uint32_t n_nodes;
	uint32_t n_ready;
};

struct saved_node {
	uint32_t node;
	uint32_t n_out;                              /* messages */
	char from[CONF_NAME_MAX], to[CONF_NAME_MAX]; /* links */
	uint64_t next, expected;                     /* as in struct taken */
	uint64_t number;                             /* of the message that is put together */
	uint32_t left;                               /* of it; 0 = there is none */
	uint32_t len;                                /* all of it; 0 = it is not wanted */
	uint8_t is_marked, is_answered;
	char why[160];
};

struct saved_out {
	uint64_t number;
	uint32_t len, sent;
};

struct saved_in {
	uint32_t src, len;
};

/* Where it is written as far as there is room. */
struct writer {
	uint8_t *buf;
	size_t room, len;
};

static void put(struct writer *w, const void *bytes, size_t len)
{
	if (w->len + len <= w->room)
		memcpy(w->buf + w->len, bytes, len);
	w->len += len;
}

static void save_node(struct writer *w, const struct taken *t)
{
	struct saved_node s = {.node = t->node->node,
			       .next = t->next,
			       .expected = t->expected,
			       .number = t->parts.number,
			       .left = t->parts.left,
			       .len = t->parts.message ? t->parts.message->len : 0,
			       .is_marked = t->is_marked,
			       .is_answered = t->is_answered};

	for (const struct taken_out *out = t->out; out; out = out->next)
		s.n_out += !out->is_carried;
	memcpy(s.from, t->from->name, sizeof(s.from));
	memcpy(s.to, t->to->name, sizeof(s.to));
	memcpy(s.why, t->why, sizeof(s.why));
	put(w, &s, sizeof(s));
	if (s.len)
		put(w, t->parts.message->bytes, s.len);
	for (const struct taken_out *out = t->out; out; out = out->next) {
		const struct saved_out o = {out->number, out->len, out->sent};

		/* their asker is not saved as long as an operation is open */
		if (out->is_carried)
			continue;
		put(w, &o, sizeof(o));
		put(w, out->bytes, out->len);
	}
}

int takeover_save(struct pm_link *link, void *buf, size_t room)
{
	struct takeover *tk = takeover_of(link);
	struct writer w = {buf, room, 0};
	struct saved_head head = {0};

	put(&w, &head, sizeof(head));
	for (const struct taken *t = tk->all; t; t = t->next_taken) {
		if (t->is_dead)
			continue;
		if (t->is_leaving || t->waiting.head)
			return -EAGAIN;
		save_node(&w, t);
		head.n_nodes++;
	}
	for (const struct taken_in *in = tk->ready.head; in; in = in->next) {
		const struct saved_in s = {in->src, in->len};

		if (in->is_carried)
			continue;
		put(&w, &s, sizeof(s));
		put(&w, in->data, in->len);
		head.n_ready++;
	}
	if (room >= sizeof(head))
		memcpy(buf, &head, sizeof(head));
	return w.len > INT32_MAX ? -EFBIG : (int)w.len;
}

/* The bytes that are left to be read. */
struct reader {
	const uint8_t *at;
	size_t len;
};

static bool get(struct reader *r, void *ret, size_t len)
{
	if (r->len < len)
		return false;
	memcpy(ret, r->at, len);
	r->at += len;
	r->len -= len;
	return true;
}

static int restore_parts(struct reader *r, struct taken *t, const struct saved_node *s)
{
	struct taken_parts *p = &t->parts;

	if (s->left > t->node->mtu || s->len > t->node->mtu || (s->len && s->len < s->left))
		return -EINVAL;
	p->number = s->number;
	p->left = s->left;
	p->message = s->len ? takeover_in(s->node, s->len) : NULL;
	if (!p->message)
		return s->len ? -ENOMEM : 0;
	return get(r, p->message->bytes, s->len) ? 0 : -EINVAL;
}

static int restore_out(struct reader *r, struct taken *t)
{
	struct taken_out *out;
	struct saved_out s;

	if (!get(r, &s, sizeof(s)) || !s.len || s.len > t->node->mtu || s.sent >= s.len)
		return -EINVAL;
	out = takeover_out(t, s.len);
	if (!out)
		return -ENOMEM;
	out->number = s.number;
	out->sent = s.sent;
	takeover_enqueue(t, out);
	return get(r, out->bytes, s.len) ? 0 : -EINVAL;
}

static int slot_of(const struct composite *c, const char *name)
{
	for (unsigned int i = 0; i < c->n_slots; i++)
		if (!strncmp(c->slots[i].name, name, CONF_NAME_MAX))
			return (int)i;
	return -1;
}

/* Makes the node go by the link that it went by: 0, and *ret. */
static int enter_again(struct composite *c, const struct saved_node *s, struct taken **ret)
{
	int from = slot_of(c, s->from), to = slot_of(c, s->to), err;
	struct composite_node *n;
	struct pm_link_peer *peer;
	uint64_t none;

	if (from < 0 || to < 0 || !memchr(s->why, 0, sizeof(s->why)))
		return -EINVAL;
	err = composite_node(c, s->node, &n);
	if (err)
		return err;
	if (n->slot != from || !n->link->can_leave || takeover_has(c, n))
		return -EINVAL;
	err = takeover_ask(c, n, (unsigned int)to, &peer);
	if (!err)
		err = takeover_enter(c, n, (unsigned int)to, peer, s->why);
	if (err)
		return err;
	*ret = taken_of(n->peer);
	/* nothing has gone by the new one of the old links */
	err = (*ret)->from->ops.leaving->leave((*ret)->from->link, (*ret)->from_peer, &none);
	return err == -EAGAIN ? -EINVAL : err;
}

static int restore_node(struct reader *r, struct composite *c)
{
	struct saved_node s;
	struct taken *t;
	int err;

	if (!get(r, &s, sizeof(s)))
		return -EINVAL;
	err = enter_again(c, &s, &t);
	if (err)
		return err;
	t->is_leaving = false;
	t->is_marked = s.is_marked;
	t->is_answered = s.is_answered;
	t->next = s.next;
	t->expected = s.expected;
	err = restore_parts(r, t, &s);
	for (uint32_t i = 0; !err && i < s.n_out; i++)
		err = restore_out(r, t);
	return err;
}

static int restore_ready(struct reader *r, struct takeover *tk)
{
	struct taken_in *in;
	struct saved_in s;

	if (!get(r, &s, sizeof(s)) || !s.len || s.len > r->len)
		return -EINVAL;
	in = takeover_in(s.src, s.len);
	if (!in)
		return -ENOMEM;
	get(r, in->bytes, s.len);
	taken_in_add(&tk->ready, in);
	return 0;
}

int takeover_restore(struct pm_link *link, const void *buf, size_t len,
		     int (*resolve)(void *arg, uint32_t node, struct pm_link_peer **ret_peer),
		     void *arg)
{
	struct takeover *tk = takeover_of(link);
	struct reader r = {buf, len};
	struct saved_head head;
	int err = 0;

	(void)resolve, (void)arg;
	if (!get(&r, &head, sizeof(head)))
		return -EINVAL;
	for (uint32_t i = 0; !err && i < head.n_nodes; i++)
		err = restore_node(&r, tk->c);
	for (uint32_t i = 0; !err && i < head.n_ready; i++)
		err = restore_ready(&r, tk);
	tk->base.is_empty = false;
	return !err && r.len ? -EINVAL : err;
}

/* ---- what can be seen ---- */

static void dump_node(struct text *text, const struct taken *t)
{
	text_add(text, "  node %u: %s, went from %s to %s: %s; %u lent and queued%s%s\n",
		 t->node->node,
		 t->is_dead        ? "dead"
		 : t->is_leaving   ? "changing"
		 : !t->is_marked   ? "not told yet"
		 : !t->is_answered ? "told"
				   : "changed",
		 t->from->name, t->to->name, t->why, t->n_out,
		 t->waiting.head ? ", parts wait" : "", t->has_ops ? ", operations" : "");
}

int takeover_dump(struct pm_link *link, char *buf, size_t room)
{
	const struct takeover *tk = takeover_of(link);
	struct text text = {.buf = buf, .room = room};

	if (room)
		buf[0] = '\0';
	text_add(&text, "takeover: %u nodes go by another device\n",
		 (unsigned int)tk->stats->peers);
	for (const struct taken *t = tk->all; t; t = t->next_taken)
		dump_node(&text, t);
	return (int)text.len;
}

uint64_t takeover_memory(struct pm_link *link)
{
	const struct takeover *tk = takeover_of(link);
	uint64_t sum = sizeof(*tk);

	for (const struct taken *t = tk->all; t; t = t->next_taken) {
		sum += sizeof(*t);
		for (const struct taken_out *out = t->out; out; out = out->next)
			sum += sizeof(*out) + out->len;
	}
	return sum;
}
