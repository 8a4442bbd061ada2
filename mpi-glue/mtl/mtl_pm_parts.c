// SPDX-License-Identifier: BSD-3-Clause
/*
 * mtl_pm_parts - how a message is cut into datagrams, and one of these given to PM.
 */
#include "mpi-glue/mtl/mtl_pm_parts.h"
#include "pmcore/util/copy.h"

#include <string.h>

/* Data of fewer bytes are not worth aligning. */
#define ALIGN_MIN 2048

/*
 * Datagrams are full if filling up the last one, which pm-udp/tx.c does by its FILL_PART, adds no
 * more than this part.
 */
#define FILL_PART 32

static size_t divided_up(size_t a, size_t b)
{
	return (a + b - 1) / b;
}

size_t mtl_pm_datagram_of(const struct mtl_pm_peer *peer, size_t length)
{
	const size_t first = sizeof(struct envelope_first), more = sizeof(struct envelope_control);
	size_t parts, bytes;

	/* a message that was begun may have become one of one datagram, by another device */
	if (!mtl_pm.is_corked || length <= peer->mtu - first)
		return peer->mtu;
	parts = 1 + divided_up(length - (peer->mtu - first), peer->mtu - more);
	bytes = length + first + (parts - 1) * more;
	if ((parts * peer->mtu - bytes) * FILL_PART <= bytes)
		return peer->mtu;
	return divided_up(bytes, parts);
}

size_t mtl_pm_room_in(const struct mtl_pm_peer *peer, size_t most, size_t head_size)
{
	size_t room = most - head_size;

	return peer->aligns ? (room - (ENVELOPE_ALIGN - 1)) & ~(size_t)(ENVELOPE_ALIGN - 1) : room;
}

size_t mtl_pm_part_room(const struct mtl_pm_peer *peer, size_t head_size)
{
	return mtl_pm_room_in(peer, peer->mtu, head_size);
}

/*
 * Pad behind a header of @head_size that aligns @n bytes as they are in our memory, if it is worth
 * it.
 */
static uint32_t pad_for(const struct mtl_pm_send *s, size_t head_size, size_t n)
{
	uint32_t pad;

	if (!s->peer->aligns || !s->data || n < ALIGN_MIN)
		return 0;
	pad = (uint32_t)((uintptr_t)(s->data + s->sent) - head_size) & (ENVELOPE_ALIGN - 1);
	return head_size + pad + n <= s->peer->mtu ? pad : 0;
}

int mtl_pm_send_part(struct mtl_pm_send *s, const void *head, size_t head_size, size_t room)
{
	char *buf;
	pmDesc desc;
	size_t n = s->length - s->sent < room ? s->length - s->sent : room;
	uint32_t pad = pad_for(s, head_size, n);
	size_t start = head_size + pad;
	int rc = pmGetSendBuffer(mtl_pm.ctx, s->peer->node, start + n, (void **)&buf, &desc);

	if (OPAL_UNLIKELY(rc))
		return rc;
	memcpy(buf, head, head_size);
	if (pad)
		envelope_set_pad(buf, pad);
	if (OPAL_LIKELY(s->data != NULL)) {
		copy_bytes(buf + start, s->data + s->sent, n);
	} else {
		size_t packed = mtl_pm_pack(s, buf + start, n);

		if (packed < n)
			pmTruncateBuffer(mtl_pm.ctx, desc, start + packed);
		n = packed;
	}
	s->sent += n;
	return pmSend(mtl_pm.ctx, desc);
}

static void gather(void *walk, void *to, size_t n)
{
	layout_gather(walk, to, n);
}

static int send_headed_row(struct mtl_pm_send *s, const pmRowHead *first, const pmRowHead *others,
			   size_t n)
{
	size_t done;
	int rc;

	if (s->data)
		rc = pmPostHeadedRow(mtl_pm.ctx, s->peer->node, first, others, s->data + s->sent, n,
				     &done);
	else
		rc = pmGatherHeadedRow(mtl_pm.ctx, s->peer->node, first, others, gather, &s->walk,
				       n, &done);
	s->sent += done;
	return rc;
}

int mtl_pm_send_row(struct mtl_pm_send *s, const struct envelope_control *head, size_t room,
		    size_t end)
{
	const pmRowHead all = {head, sizeof(*head), room};

	return send_headed_row(s, &all, &all, end - s->sent);
}

int mtl_pm_send_whole_row(struct mtl_pm_send *s, const struct envelope_first *first,
			  size_t first_room, const struct envelope_control *more, size_t room)
{
	return send_headed_row(s, &(pmRowHead){first, sizeof(*first), first_room},
			       &(pmRowHead){more, sizeof(*more), room}, s->length);
}

bool mtl_pm_is_row_possible(const struct mtl_pm_send *s)
{
	return (s->data || s->has_layout) && !s->peer->aligns;
}

bool mtl_pm_begin_row(const struct mtl_pm_peer *peer)
{
	bool is_new = peer->gathers && !mtl_pm.is_corked;

	if (is_new)
		pmCork(mtl_pm.ctx, 1);
	return is_new;
}

void mtl_pm_end_row(bool is_new)
{
	if (is_new)
		pmCork(mtl_pm.ctx, 0);
}
