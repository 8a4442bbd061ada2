// SPDX-License-Identifier: BSD-3-Clause
/*
 * takeover_queue - messages and parts of taken nodes that wait: to go out, to be put together, to
 * be read.
 */
#include <stdlib.h>

#include "pmcore/device/takeover_private.h"

struct taken_out *takeover_out(struct taken *t, uint32_t len)
{
	struct taken_out *out = malloc(sizeof(*out) + len);

	if (!out)
		return NULL;
	*out = (struct taken_out){.number = UINT64_MAX, .len = len};
	t->n_out++;
	return out;
}

void takeover_enqueue(struct taken *t, struct taken_out *out)
{
	out->next = NULL;
	*t->out_tail = out;
	t->out_tail = &out->next;
}

struct taken_in *takeover_in(uint32_t src, uint32_t room)
{
	struct taken_in *in = calloc(1, sizeof(*in) + room);

	if (!in)
		return NULL;
	in->src = src;
	in->len = room;
	in->data = in->bytes;
	in->slot = -1;
	return in;
}

void takeover_drop_in(struct takeover *tk, struct taken_in *in)
{
	struct composite_slot *slot = in->slot < 0 ? NULL : &tk->c->slots[in->slot];

	if (slot)
		slot->ops.release(slot->link, in->cookie);
	free(in);
}

void takeover_drop_list(struct takeover *tk, struct taken_in_list *list)
{
	struct taken_in *in;

	while ((in = taken_in_take(list)))
		takeover_drop_in(tk, in);
}

void takeover_drop_queues(struct taken *t)
{
	struct taken_out *out;

	while ((out = t->out)) {
		t->out = out->next;
		t->n_out--;
		free(out);
	}
	t->out_tail = &t->out;
	takeover_drop_list(t->takeover, &t->waiting);
	free(t->parts.message);
	t->parts = (struct taken_parts){0};
}
