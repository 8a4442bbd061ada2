// SPDX-License-Identifier: BSD-3-Clause
/*
 * Any bytes as a packet: what wire_decode lets through can be walked, read, and written back the
 * same.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "pmcore/wire/codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_bodies(const struct wire_msg_view *view)
{
	struct wire_read read;
	struct wire_write write;
	struct wire_refuse refuse;
	struct wire_place place;

	if (!wire_get_read(view, &read) && view->msg.length < sizeof(read))
		abort();
	if (!wire_get_write(view, &write) && view->msg.length < sizeof(write))
		abort();
	if (!wire_get_refuse(view, &refuse) && view->msg.length < sizeof(refuse))
		abort();
	if (!wire_get_place(view, &place) && view->msg.length < sizeof(place))
		abort();
}

static void walk(const uint8_t *data, size_t size, const struct wire_header *header)
{
	volatile uint8_t sum = 0;
	struct wire_msg_view view;
	uint32_t cursor = 0, i;

	while (wire_next_msg(data, header, &cursor, &view)) {
		if (view.payload + view.msg.length > data + size)
			abort();
		for (i = 0; i < view.msg.length; i++)
			sum ^= view.payload[i];
		read_bodies(&view);
	}
	(void)sum;
}

static void check_ack(const uint8_t *data, const struct wire_header *header)
{
	uint64_t bitmap[WIRE_WINDOW_MAX / 64];
	uint8_t again[sizeof(struct wire_ack) + sizeof(bitmap)];
	struct wire_ack ack;

	wire_get_ack(data, header, &ack, bitmap);
	if (ack.n_words > WIRE_WINDOW_MAX / 64)
		abort();
	wire_put_ack(again, &ack, bitmap);
	memset(again + offsetof(struct wire_ack, pad), 0, 4);
	if (memcmp(again, data + sizeof(*header), offsetof(struct wire_ack, pad)) ||
	    memcmp(again + sizeof(ack), data + sizeof(*header) + sizeof(ack), ack.n_words * 8))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t again[sizeof(struct wire_header)];
	struct wire_header header;

	if (wire_decode(data, (uint32_t)size, 0, &header) != DROP_NONE)
		return 0;
	if (header.type == WIRE_DATA)
		walk(data, size, &header);
	if (header.type == WIRE_ACK)
		check_ack(data, &header);
	wire_put_header(again, &header);
	if (memcmp(again, data, offsetof(struct wire_header, crc)))
		abort();
	return 0;
}
