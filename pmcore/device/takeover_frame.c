// SPDX-License-Identifier: BSD-3-Clause
/*
 * takeover_frame - what the two ends of a taken node send each other, each by carry() as one
 * datagram of the new link. Little-endian: u8 kind, 3 bytes 0, u32 bytes left, u64 number, and then
 *   MARK  the name of the link that the sender has left, CONF_NAME_MAX bytes
 *   PART  bytes of the message with this number; left counts them and those in the parts behind it
 *   WHOLE all bytes of what a link carries under this number, which is no message of the user
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pmcore/device/takeover_private.h"

#define HEADER 16
#define MARK_BYTES (HEADER + CONF_NAME_MAX)

enum kind { MARK = 1, PART, WHOLE };

struct frame {
	uint8_t kind; /* enum kind */
	uint32_t left;
	uint64_t number;
};

static void put_frame(uint8_t *at, const struct frame *f)
{
	const uint64_t first = htole64(f->kind | (uint64_t)f->left << 32);
	const uint64_t second = htole64(f->number);

	memcpy(at, &first, sizeof(first));
	memcpy(at + 8, &second, sizeof(second));
}

/* Checks all that can be without the message before it; false: nothing that we send. */
static bool get_frame(const uint8_t *data, uint32_t len, struct frame *ret)
{
	uint64_t first, second;

	if (len < HEADER)
		return false;
	memcpy(&first, data, sizeof(first));
	memcpy(&second, data + 8, sizeof(second));
	first = le64toh(first);
	ret->kind = first & 0xff;
	ret->left = (uint32_t)(first >> 32);
	ret->number = le64toh(second);
	if (first & 0xffffff00)
		return false;
	if (ret->kind == MARK)
		return len == MARK_BYTES && !ret->left && !ret->number &&
		       memchr(data + HEADER, 0, CONF_NAME_MAX);
	if (ret->kind == WHOLE)
		return len > HEADER && ret->left == len - HEADER;
	return ret->kind == PART && len > HEADER && ret->left >= len - HEADER;
}

/* ---- out ---- */

static int send_mark(struct taken *t)
{
	const struct frame f = {.kind = MARK};
	uint8_t head[MARK_BYTES] = {0};

	put_frame(head, &f);
	memcpy(head + HEADER, t->from->name, strlen(t->from->name));
	return t->to->ops.carry(t->to->link, t->to_peer, head, sizeof(head), NULL, 0);
}

static int send_part(struct taken *t, struct taken_out *out)
{
	uint32_t room = t->to->ops.mtu(t->to->link, t->to_peer) - HEADER;
	const struct frame f = {.kind = out->is_carried ? WHOLE : PART,
				.left = out->len - out->sent,
				.number = out->number};
	uint32_t len = f.left < room ? f.left : room;
	uint8_t head[HEADER];
	int err;

	put_frame(head, &f);
	err = t->to->ops.carry(t->to->link, t->to_peer, head, sizeof(head), out->bytes + out->sent,
			       len);
	if (!err)
		out->sent += len;
	return err;
}

bool takeover_send(struct taken *t)
{
	bool has_sent = false;

	if (t->is_leaving || t->is_dead || t->takeover->is_stopped)
		return false;
	if (!t->is_marked) {
		t->is_marked = has_sent = !send_mark(t);
		if (!t->is_marked)
			return false;
	}
	while (t->out) {
		struct taken_out *out = t->out;

		if (out->number == UINT64_MAX)
			out->number = t->next++;
		if (send_part(t, out))
			break;
		has_sent = true;
		if (out->sent < out->len)
			continue;
		t->out = out->next;
		if (!t->out)
			t->out_tail = &t->out;
		t->n_out--;
		free(out);
	}
	return has_sent;
}

/* ---- in ---- */

const char *takeover_mark(const void *data, uint32_t len, char *name)
{
	struct frame f;

	if (!get_frame(data, len, &f) || f.kind != MARK)
		return NULL;
	memcpy(name, (const uint8_t *)data + HEADER, CONF_NAME_MAX);
	return name;
}

/* The message is there. */
static void deliver(struct taken *t, struct taken_in *in)
{
	t->expected = t->parts.number + 1;
	t->takeover->stats->rx_messages += !in->is_carried;
	t->takeover->stats->rx_bytes += in->is_carried ? 0 : in->len;
	taken_in_add(&t->takeover->ready, in);
}

/* The first part of a message: room for all of it, if the old link has not brought it. */
static int begin(struct taken *t, const struct frame *f)
{
	struct taken_parts *p = &t->parts;

	if (f->left > t->node->mtu)
		return -EBADMSG;
	p->number = f->number;
	p->left = f->left;
	p->message = NULL;
	if (f->number < t->expected)
		return 0;
	p->message = takeover_in(t->node->node, f->left);
	return p->message ? 0 : -ENOMEM;
}

static int take_part(struct taken *t, const struct frame *f, const uint8_t *bytes, uint32_t len)
{
	struct taken_parts *p = &t->parts;
	int err = p->left ? 0 : begin(t, f);

	if (err)
		return err;
	if (f->number != p->number || f->left != p->left)
		return -EBADMSG;
	if (p->message)
		memcpy(p->message->bytes + p->message->len - p->left, bytes, len);
	p->left -= len;
	if (!p->left && p->message) {
		deliver(t, p->message);
		p->message = NULL;
	}
	return 0;
}

/* A message in one part stays where it came. */
static bool is_whole(const struct taken *t, const struct frame *f, const struct taken_in *in)
{
	return !t->parts.left && f->left == in->len - HEADER && f->left <= t->node->mtu &&
	       f->number >= t->expected;
}

int takeover_take(struct taken *t, struct taken_in *in)
{
	struct frame f;
	int err = 0;

	if (!get_frame(in->data, in->len, &f)) {
		err = -EBADMSG;
	} else if (f.kind == MARK) {
		t->is_answered = true;
	} else if (is_whole(t, &f, in)) {
		t->parts.number = f.number;
		in->data += HEADER;
		in->len -= HEADER;
		in->is_carried = f.kind == WHOLE;
		deliver(t, in);
		return 0;
	} else if (f.kind == WHOLE) {
		/* the old link has brought it, or it comes between parts */
		err = t->parts.left ? -EBADMSG : 0;
	} else {
		err = take_part(t, &f, in->data + HEADER, in->len - HEADER);
	}
	takeover_drop_in(t->takeover, in);
	return err;
}
