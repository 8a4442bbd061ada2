// SPDX-License-Identifier: BSD-3-Clause
/*
 * envelope - the checks on arriving datagrams: kind, length, and numbers that would overflow.
 */
#include "mpi-glue/common/envelope.h"

static const uint8_t header_size[ENVELOPE_KINDS] = {
	[ENVELOPE_EAGER] = sizeof(struct envelope),
	[ENVELOPE_EAGER_SYNC] = sizeof(struct envelope_sync),
	[ENVELOPE_FIRST] = sizeof(struct envelope_first),
	[ENVELOPE_MORE] = sizeof(struct envelope_control),
	[ENVELOPE_RTS] = sizeof(struct envelope_rts),
	[ENVELOPE_ACK] = sizeof(struct envelope_control),
	[ENVELOPE_PULL] = sizeof(struct envelope_pull),
	[ENVELOPE_DATA] = sizeof(struct envelope_control),
	[ENVELOPE_FIN] = sizeof(struct envelope_control),
	[ENVELOPE_CHOKE] = sizeof(struct envelope_control),
	[ENVELOPE_UNCHOKE] = sizeof(struct envelope_control),
	[ENVELOPE_READ] = sizeof(struct envelope_control),
	[ENVELOPE_COPY] = sizeof(struct envelope_control),
};

static int is_exact(uint32_t kind)
{
	switch (kind) {
	case ENVELOPE_ACK:
	case ENVELOPE_PULL:
	case ENVELOPE_FIN:
	case ENVELOPE_CHOKE:
	case ENVELOPE_UNCHOKE:
	case ENVELOPE_READ:
	case ENVELOPE_COPY:
		return 1;
	default:
		return 0;
	}
}

/* The pad behind the header; 0 for kinds without data. */
static uint32_t pad_of(const void *datagram, uint32_t kind)
{
	switch (kind) {
	case ENVELOPE_EAGER:
	case ENVELOPE_EAGER_SYNC:
	case ENVELOPE_FIRST:
		return ((const struct envelope *)datagram)->pad;
	default:
		return 0;
	}
}

int envelope_parse(const void *datagram, size_t len)
{
	uint32_t kind, pad;
	size_t head;

	if (len < sizeof(struct envelope_control))
		return -EBADMSG;
	kind = envelope_kind(datagram);
	if (kind >= ENVELOPE_KINDS || !header_size[kind])
		return -EBADMSG;
	if (kind == ENVELOPE_MORE || kind == ENVELOPE_DATA)
		return envelope_parse_part(datagram, len, kind);
	head = header_size[kind];
	if (len < head || (is_exact(kind) && len != head))
		return -EBADMSG;
	pad = pad_of(datagram, kind);
	if (pad >= ENVELOPE_ALIGN || pad > len - head)
		return -EBADMSG;
	head += pad;

	switch (kind) {
	case ENVELOPE_EAGER:
	case ENVELOPE_EAGER_SYNC:
	case ENVELOPE_FIRST:
	case ENVELOPE_RTS:
		if (((const struct envelope *)datagram)->source < 0)
			return -EBADMSG;
		break;
	default:
		if (((const struct envelope_control *)datagram)->kind != kind)
			return -EBADMSG;
		break;
	}
	if (kind == ENVELOPE_RTS) {
		const struct envelope_rts *rts = datagram;

		if (rts->head > rts->size || len - head > rts->head)
			return -EBADMSG;
	}
	if (kind == ENVELOPE_FIRST && len - head > ((const struct envelope_first *)datagram)->size)
		return -EBADMSG;
	return (int)head;
}
