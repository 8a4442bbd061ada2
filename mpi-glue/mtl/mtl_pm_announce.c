// SPDX-License-Identifier: BSD-3-Clause
/*
 * mtl_pm_announce - long messages at their sender, up to the receiver's answer: RTS, and the head
 * of the data.
 */
#include "mpi-glue/mtl/mtl_pm_parts.h"
#include "pmcore/util/copy.h"

#include <errno.h>
#include <string.h>

/* The memory is offered for reading; without a handle the receiver pulls. */
static void expose(struct mtl_pm_send *s)
{
	if (!s->data || s->length <= s->peer->pull_limit || s->is_exposed)
		return;
	s->is_exposed = !pmMLock(mtl_pm.ctx, (void *)s->data, s->length, &s->handle);
	mtl_pm.exposed += s->is_exposed;
}

/*
 * A head keeps the wire busy until the receiver has asked for more. Where others are on their way
 * it is busy anyway.
 */
static size_t head_of(const struct mtl_pm_send *s)
{
	size_t limit = s->peer->announced ? 0 : s->peer->head_limit;

	return s->length < limit ? s->length : limit;
}

/* Packed data may end before a datagram is full, where an element would be cut. */
static int send_rts(struct mtl_pm_send *s)
{
	struct envelope_rts *e;
	size_t room = s->peer->mtu - sizeof(*e), n;
	pmDesc desc;
	int rc;

	if (mtl_pm_number_send(s))
		return ENOMEM;
	expose(s);
	s->head = head_of(s);
	n = s->head < room ? s->head : room;
	rc = pmGetSendBuffer(mtl_pm.ctx, s->peer->node, sizeof(*e) + n, (void **)&e, &desc);
	if (rc)
		return rc;
	if (s->data)
		copy_bytes(e + 1, s->data, n);
	else if (n)
		n = mtl_pm_pack(s, e + 1, n);
	if (s->head <= room && s->head < s->length)
		s->head = n;
	mtl_pm_fill_envelope(&e->base, ENVELOPE_RTS, s);
	e->base.stamp = mtl_pm_way_stamp(s->peer, s->length);
	e->size = s->length;
	e->id = s->id;
	e->head = s->head;
	if (s->is_exposed)
		memcpy(e->handle, s->handle.word, sizeof(e->handle));
	else
		memset(e->handle, 0, sizeof(e->handle));
	s->sent = n;
	s->is_announced = true;
	s->peer->announced++;
	pmTruncateBuffer(mtl_pm.ctx, desc, sizeof(*e) + n);
	return pmSend(mtl_pm.ctx, desc);
}

static int send_head_part(struct mtl_pm_send *s)
{
	struct envelope_control more = {.kind = ENVELOPE_MORE};
	size_t room = mtl_pm_part_room(s->peer, sizeof(more)), left = s->head - s->sent;
	size_t slack = s->data || s->head == s->length ? 0 : ENVELOPE_SLACK;
	bool is_last = left <= room + slack;
	int rc;

	more.id = is_last ? ENVELOPE_LAST : 0;
	rc = mtl_pm_send_part(s, &more, sizeof(more), left < room ? left : room);
	/* what a packed head falls short of its announcement goes with the rest */
	if (!rc && is_last && slack)
		s->head = s->sent;
	return rc;
}

/* All of the head but its last part, which says so. */
static int send_head_row(struct mtl_pm_send *s)
{
	struct envelope_control more = {.kind = ENVELOPE_MORE};
	size_t room = mtl_pm_part_room(s->peer, sizeof(more)), left = s->head - s->sent;

	if (!mtl_pm_is_row_possible(s) || left <= room)
		return 0;
	return mtl_pm_send_row(s, &more, room, s->sent + (left - 1) / room * room);
}

int mtl_pm_announce(struct mtl_pm_send *s)
{
	bool is_row = mtl_pm_begin_row(s->peer);
	int rc = s->is_announced ? 0 : send_rts(s);

	if (!rc)
		rc = send_head_row(s);
	while (!rc && s->sent < s->head)
		rc = send_head_part(s);
	mtl_pm_end_row(is_row);
	return rc;
}
