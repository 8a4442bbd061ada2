/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mtl_pm_parts - the datagrams of a message: how much of it each carries, and how they are sent.
 */
#ifndef MTL_PM_PARTS_H
#define MTL_PM_PARTS_H

#include <errno.h>

#include "mpi-glue/mtl/mtl_pm.h"

/*
 * The longest datagram, its header included, of a message that is sent unasked in several. In a
 * burst those of a short message are all of the same length, to a few bytes, or nearly all are
 * full: then datagrams of many messages leave as one segmented datagram.
 */
size_t mtl_pm_datagram_of(const struct mtl_pm_peer *peer, size_t length);
/*
 * Most bytes of data that a datagram of @most carries behind a header of @head_size: whole lines,
 * when they are aligned.
 */
size_t mtl_pm_room_in(const struct mtl_pm_peer *peer, size_t most, size_t head_size);
/* The same of a datagram as long as the peer takes. */
size_t mtl_pm_part_room(const struct mtl_pm_peer *peer, size_t head_size);
/*
 * One datagram with up to @room bytes of data behind a header; s->sent counts them. 0 or PM's
 * error.
 */
int mtl_pm_send_part(struct mtl_pm_send *s, const void *head, size_t head_size, size_t room);
/*
 * True for data that may be cut anywhere, to a peer that wants nothing aligned: each datagram might
 * need a pad of its own.
 */
bool mtl_pm_is_row_possible(const struct mtl_pm_send *s);
/*
 * Sends a row of @room bytes of data each, up to @end, which is behind what was sent. 0 or PM's
 * error; what was sent is counted.
 */
int mtl_pm_send_row(struct mtl_pm_send *s, const struct envelope_control *head, size_t room,
		    size_t end);
/*
 * Sends a whole message so, whose first datagram has a head of its own and @first_room bytes of
 * data.
 */
int mtl_pm_send_whole_row(struct mtl_pm_send *s, const struct envelope_first *first,
			  size_t first_room, const struct envelope_control *more, size_t room);
/* Between these the datagrams of a message gather, and leave in one go. */
bool mtl_pm_begin_row(const struct mtl_pm_peer *peer);
void mtl_pm_end_row(bool is_new);

/* mtl_pm_announce.c */
/*
 * Announces a message and sends its head. 0: the receiver has to answer. ENOBUFS: later, from where
 * it stopped.
 */
int mtl_pm_announce(struct mtl_pm_send *s);

static inline void mtl_pm_fill_envelope(struct envelope *e, enum envelope_kind kind,
					const struct mtl_pm_send *s)
{
	e->kind_context = envelope_pack(kind, s->context);
	e->source = s->rank;
	e->tag = s->tag;
	e->pad = 0;
}

/* Gives the send its number for answers, once. ENOMEM. */
static inline int mtl_pm_number_send(struct mtl_pm_send *s)
{
	if (!s->id)
		s->id = ids_add(&mtl_pm.ids, mtl_pm_request_of_send(s));
	return s->id ? 0 : ENOMEM;
}

#endif
