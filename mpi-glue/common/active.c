// SPDX-License-Identifier: BSD-3-Clause
#include "mpi-glue/common/active.h"

#include <errno.h>
#include <stdbool.h>

static const uint8_t sizes[] = {
	[ACTIVE_MESSAGE - ACTIVE_MESSAGE] = sizeof(struct active_head),
	[ACTIVE_FIRST - ACTIVE_MESSAGE] = sizeof(struct active_head),
	[ACTIVE_MORE - ACTIVE_MESSAGE] = sizeof(struct active_head),
	[ACTIVE_PUT - ACTIVE_MESSAGE] = sizeof(struct active_request),
	[ACTIVE_GET - ACTIVE_MESSAGE] = sizeof(struct active_request),
	[ACTIVE_RESULT - ACTIVE_MESSAGE] = sizeof(struct active_result),
	[ACTIVE_DONE - ACTIVE_MESSAGE] = sizeof(struct active_head),
	[ACTIVE_PUTS - ACTIVE_MESSAGE] = sizeof(struct active_puts),
	[ACTIVE_PULL - ACTIVE_MESSAGE] = sizeof(struct active_pull),
};

/* So many pieces fill these bytes to the last one. */
static bool are_pieces(const char *at, size_t left, uint32_t n)
{
	for (; n; n--) {
		const struct active_piece *piece = (const void *)at;
		size_t size;

		if (left < sizeof(*piece) || !piece->length || piece->length > left)
			return false;
		size = active_piece_size(piece->length);
		if (size > left)
			return false;
		at += size;
		left -= size;
	}
	return !left;
}

int active_parse(const void *datagram, size_t len)
{
	const struct active_head *head = datagram;
	size_t size, data;
	bool is_good = true;

	if (len < sizeof(*head) || head->kind < ACTIVE_MESSAGE || head->kind >= ACTIVE_KINDS)
		return -EBADMSG;
	size = sizes[head->kind - ACTIVE_MESSAGE];
	if (len < size)
		return -EBADMSG;
	data = len - size;
	switch (head->kind) {
	case ACTIVE_MESSAGE:
		is_good = head->tag <= ACTIVE_TAG_MAX;
		break;
	case ACTIVE_FIRST:
		is_good = head->tag <= ACTIVE_TAG_MAX && data && data < head->length &&
			  head->length <= ACTIVE_LENGTH_MAX;
		break;
	case ACTIVE_MORE:
	case ACTIVE_PUT:
		is_good = data > 0;
		break;
	case ACTIVE_GET:
		is_good = !data && head->length;
		break;
	case ACTIVE_DONE:
		is_good = head->length && head->length <= ACTIVE_DONE_MAX &&
			  data == head->length * sizeof(uint64_t);
		break;
	case ACTIVE_PUTS:
		is_good = head->length &&
			  are_pieces((const char *)datagram + size, data, head->length);
		break;
	case ACTIVE_PULL:
		is_good = !data && ((const struct active_pull *)datagram)->length;
		break;
	case ACTIVE_RESULT:
		is_good = head->length ? !data : data > 0;
		break;
	default:
		break;
	}
	return is_good ? (int)size : -EBADMSG;
}
