// SPDX-License-Identifier: BSD-3-Clause
/*
 * Any packets to an engine with live state. An input is a row of records: mode, length, bytes. Mode
 * bit 0 makes it ours (version, key, nodes), and 1 makes the numbers small. Bit 2 puts the key of
 * real memory into the first word of the body. Bit 3 lets time pass, 4 is the rail.
 */
#include <stdint.h>
#include <string.h>

#include "pmcore/wire/codec.h"
#include "tests/fuzz/rig.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BODY_AT (sizeof(struct wire_header) + sizeof(struct wire_msg))

static void make_ours(uint8_t *packet)
{
	const uint64_t key = RIG_KEY;

	packet[0] = WIRE_VERSION;
	packet[offsetof(struct wire_header, flags)] &= (uint8_t)~WIRE_F_CRC;
	memcpy(packet + offsetof(struct wire_header, key), &key, sizeof(key));
	memset(packet + offsetof(struct wire_header, src), 0, 8);
	packet[offsetof(struct wire_header, dst)] = RIG_SELF;
}

/* Keeps the low byte of each number. */
static void make_small(uint8_t *packet)
{
	size_t at;

	for (at = offsetof(struct wire_header, seq); at < sizeof(struct wire_header); at += 4)
		memset(packet + at + 1, 0, 3);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rig *rig = rig_create();
	uint8_t packet[256];

	while (size >= 2) {
		uint8_t mode = data[0];
		size_t len = data[1];
		uint64_t rkey = rig_rkey(rig);

		data += 2;
		size -= 2;
		if (len > size)
			len = size;
		memcpy(packet, data, len);
		data += len;
		size -= len;
		if ((mode & 1) && len >= sizeof(struct wire_header))
			make_ours(packet);
		if ((mode & 2) && len >= sizeof(struct wire_header))
			make_small(packet);
		if ((mode & 4) && len >= BODY_AT + sizeof(rkey))
			memcpy(packet + BODY_AT, &rkey, sizeof(rkey));
		rig_input(rig, packet, len, mode >> 4);
		if (mode & 8)
			rig_wait(rig, (uint64_t)mode << 18);
	}
	rig_destroy(rig);
	return 0;
}
