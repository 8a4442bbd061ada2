// SPDX-License-Identifier: BSD-3-Clause
/*
 * Any acks to an engine with packets in flight. An input is a row of records: flags and rail, ack,
 * sack, rail_ack, credit, then the receive state with its bitmap; only what makes it an ack is
 * given.
 */
#include <stdint.h>
#include <string.h>

#include "pmcore/wire/codec.h"
#include "tests/fuzz/rig.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define WORDS 2

/* As it lies in the input. */
struct record {
	uint8_t flags, rail;
	uint8_t ack, credit; /* small numbers are the interesting ones */
	uint32_t sack, rail_ack, rail_seq;
	uint8_t rail_next[WIRE_RAILS];
	uint64_t bitmap[WORDS];
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_Alignas(8)
		uint8_t packet[sizeof(struct wire_header) + sizeof(struct wire_ack) + WORDS * 8];
	struct rig *rig = rig_create();
	struct record r;
	int i;

	for (; size >= sizeof(r); data += sizeof(r), size -= sizeof(r)) {
		struct wire_header header = {.version = WIRE_VERSION,
					     .type = WIRE_ACK,
					     .key = RIG_KEY,
					     .src = RIG_PEER,
					     .dst = RIG_SELF};
		struct wire_ack ack = {.n_words = WORDS};

		memcpy(&r, data, sizeof(r));
		header.flags = r.flags & (uint8_t)~WIRE_F_CRC;
		header.rail = r.rail % WIRE_RAILS;
		header.ack = (uint32_t)(int8_t)r.ack;
		header.credit = (uint16_t)(int8_t)r.credit;
		header.sack = r.sack;
		header.rail_ack = r.rail_ack;
		header.rail_seq = r.rail_seq;
		header.length = sizeof(ack) + sizeof(r.bitmap);
		for (i = 0; i < WIRE_RAILS; i++)
			ack.rail_next[i] = (uint32_t)(int8_t)r.rail_next[i];
		wire_put_header(packet, &header);
		wire_put_ack(packet + sizeof(header), &ack, r.bitmap);
		rig_input(rig, packet, sizeof(packet), r.rail & 1);
		rig_wait(rig, r.flags * 100000ull);
	}
	rig_destroy(rig);
	return 0;
}
