// SPDX-License-Identifier: BSD-3-Clause
/*
 * mtl_pm_note - short control messages to peers. They overtake waiting sends (only data is ordered
 * by MPI) but never each other; what PM has no room for waits in the peer's list.
 */
#include "mpi-glue/mtl/mtl_pm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int hand_over(struct mtl_pm_peer *peer, const void *message, size_t length)
{
	void *buf;
	pmDesc desc;
	int rc = pmGetSendBuffer(mtl_pm.ctx, peer->node, length, &buf, &desc);

	if (rc)
		return rc;
	memcpy(buf, message, length);
	return pmSend(mtl_pm.ctx, desc);
}

static struct mtl_pm_note *alloc_note(void)
{
	struct mtl_pm_note *note = STAILQ_FIRST(&mtl_pm.free_notes);

	if (!note)
		return malloc(sizeof(*note));
	STAILQ_REMOVE_HEAD(&mtl_pm.free_notes, link);
	return note;
}

void mtl_pm_note(struct mtl_pm_peer *peer, const void *message, size_t length)
{
	struct mtl_pm_note *note;

	if (peer->is_dead)
		return;
	mtl_pm_let_go();
	/* Other failures than "not now" mean a dead peer: pmReceive reports it. */
	if (STAILQ_EMPTY(&peer->notes) && hand_over(peer, message, length) != ENOBUFS)
		return;
	note = alloc_note();
	if (!note)
		mtl_pm_fatal("out of memory for a control message");
	note->length = (uint32_t)length;
	memcpy(&note->control, message, length);
	STAILQ_INSERT_TAIL(&peer->notes, note, link);
	mtl_pm_peer_busy(peer);
}

void mtl_pm_note_control(struct mtl_pm_peer *peer, enum envelope_kind kind, uint64_t id, int error)
{
	struct envelope_control m = {.kind = kind, .error = error ? 1 : 0, .id = id};

	mtl_pm_note(peer, &m, sizeof(m));
}

int mtl_pm_push_notes(struct mtl_pm_peer *peer)
{
	struct mtl_pm_note *note;
	int n = 0;

	while ((note = STAILQ_FIRST(&peer->notes))) {
		if (!peer->is_dead && hand_over(peer, &note->control, note->length) == ENOBUFS)
			break;
		STAILQ_REMOVE_HEAD(&peer->notes, link);
		STAILQ_INSERT_HEAD(&mtl_pm.free_notes, note, link);
		n++;
	}
	return n;
}
