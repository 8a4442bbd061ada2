// SPDX-License-Identifier: BSD-3-Clause
#include "pmcore/device/address.h"

#include <errno.h>
#include <string.h>

#define VERSION 1
#define NAME_LEN 8

static uint32_t get16(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

static uint32_t get32(const uint8_t *p)
{
	return get16(p) | get16(p + 2) << 16;
}

static void put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)v;
	p[1] = (uint8_t)(v >> 8);
}

int address_begin(uint8_t *buf, size_t room, uint32_t node)
{
	if (room < ADDRESS_HEADER)
		return -ENOSPC;
	buf[0] = VERSION;
	buf[1] = 0;
	put16(buf + 2, ADDRESS_HEADER);
	put16(buf + 4, node & 0xffff);
	put16(buf + 6, node >> 16);
	return ADDRESS_HEADER;
}

uint8_t *address_room(uint8_t *buf, size_t room, size_t *ret_room)
{
	size_t used = get16(buf + 2);

	if (room > 0xffff)
		room = 0xffff;
	if (used + ADDRESS_SECTION > room)
		return NULL;
	*ret_room = room - used - ADDRESS_SECTION;
	return buf + used + ADDRESS_SECTION;
}

int address_add(uint8_t *buf, const char *name, size_t len)
{
	uint32_t used = get16(buf + 2);
	uint8_t *section = buf + used;

	memset(section, 0, NAME_LEN);
	memcpy(section, name, strnlen(name, NAME_LEN));
	put16(section + NAME_LEN, (uint32_t)len);
	used += ADDRESS_SECTION + (uint32_t)len;
	buf[1]++;
	put16(buf + 2, used);
	return (int)used;
}

int address_check(const void *addr, size_t len, uint32_t node)
{
	const uint8_t *p = addr;
	size_t at = ADDRESS_HEADER;

	if (len < ADDRESS_HEADER || p[0] != VERSION || get16(p + 2) != len || get32(p + 4) != node)
		return -EINVAL;
	for (unsigned int i = 0; i < p[1]; i++) {
		if (len - at < ADDRESS_SECTION)
			return -EINVAL;
		at += ADDRESS_SECTION;
		if (len - at < get16(p + at - 2))
			return -EINVAL;
		at += get16(p + at - 2);
	}
	return at == len ? 0 : -EINVAL;
}

int address_find(const void *addr, size_t len, const char *name, const void **ret_part,
		 size_t *ret_len)
{
	const uint8_t *p = addr;
	size_t at = ADDRESS_HEADER;
	char want[NAME_LEN] = {0};

	(void)len;
	memcpy(want, name, strnlen(name, NAME_LEN));
	for (unsigned int i = 0; i < p[1]; i++) {
		size_t part = get16(p + at + NAME_LEN);

		if (!memcmp(p + at, want, NAME_LEN)) {
			*ret_part = p + at + ADDRESS_SECTION;
			*ret_len = part;
			return 0;
		}
		at += ADDRESS_SECTION + part;
	}
	return -EHOSTUNREACH;
}
