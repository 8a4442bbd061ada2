// SPDX-License-Identifier: BSD-3-Clause
#include "pmcore/device/address.h"

#include <errno.h>
#include <string.h>

#include "tests/harness/tap.h"

#define NODE 0xdeadbeef

static int build(uint8_t *buf, size_t room)
{
	size_t left;
	uint8_t *part;

	if (address_begin(buf, room, NODE) < 0)
		return -ENOSPC;
	part = address_room(buf, room, &left);
	memcpy(part, "hello", 5);
	address_add(buf, "self", 5);
	part = address_room(buf, room, &left);
	memset(part, 7, 300);
	address_add(buf, "ethernet", 300);
	return address_add(buf, "udp", 0);
}

TAP_TEST(address_find__each_section)
{
	uint8_t buf[512];
	const void *part;
	size_t len;
	int n = build(buf, sizeof(buf));

	is_int(n, ADDRESS_HEADER + 3 * ADDRESS_SECTION + 305);
	is_int(address_check(buf, (size_t)n, NODE), 0);
	is_int(address_find(buf, (size_t)n, "self", &part, &len), 0);
	is_int(len, 5);
	is_mem(part, "hello", 5);
	is_int(address_find(buf, (size_t)n, "ethernet", &part, &len), 0);
	is_int(len, 300);
	is_int(address_find(buf, (size_t)n, "udp", &part, &len), 0);
	is_int(len, 0);
	is_int(address_find(buf, (size_t)n, "ud", &part, &len), -EHOSTUNREACH);
}

TAP_TEST(address_check__other_node_or_length)
{
	uint8_t buf[512];
	int n = build(buf, sizeof(buf));

	is_int(address_check(buf, (size_t)n, NODE + 1), -EINVAL);
	for (size_t len = 0; len < (size_t)n; len++)
		is_int(address_check(buf, len, NODE), -EINVAL);
	is_int(address_check(buf, (size_t)n + 1, NODE), -EINVAL);
}

/* Whatever a byte is changed to, find stays inside of a checked address. */
TAP_TEST(address_check__every_byte_changed)
{
	uint8_t buf[512];
	int n = build(buf, sizeof(buf));
	int refused = 0;

	for (int i = 0; i < n; i++) {
		for (int v = 0; v < 256; v++) {
			uint8_t old = buf[i];
			const void *part;
			size_t len;

			buf[i] = (uint8_t)v;
			if (address_check(buf, (size_t)n, NODE))
				refused++;
			else if (!address_find(buf, (size_t)n, "udp", &part, &len))
				ok((const uint8_t *)part + len <= buf + n);
			buf[i] = old;
		}
	}
	ok(refused > 255 * ADDRESS_HEADER);
}

TAP_TEST(address_room__none_left)
{
	uint8_t buf[64];
	size_t left;

	is_int(address_begin(buf, ADDRESS_HEADER - 1, NODE), -ENOSPC);
	is_int(address_begin(buf, sizeof(buf), NODE), ADDRESS_HEADER);
	ok(address_room(buf, ADDRESS_HEADER + ADDRESS_SECTION - 1, &left) == NULL);
	ok(address_room(buf, ADDRESS_HEADER + ADDRESS_SECTION, &left) != NULL);
	is_int(left, 0);
}
