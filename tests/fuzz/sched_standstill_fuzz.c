// SPDX-License-Identifier: BSD-3-Clause
/*
 * Any bytes as what hosts say of an order of a standstill: what is let through lies within the
 * bytes, and is text and addresses of lengths that are possible.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/scstepd/standstill_part.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int cond)
{
	if (!cond)
		abort();
}

static void check_part(struct standstill_part *part, const char *data, size_t size)
{
	struct suspend_address address;
	size_t length = strlen(part->why), used = 0;
	uint32_t n = part->n_addresses;

	require(part->outcome <= STANDSTILL_FAILED && length < STANDSTILL_WHY);
	for (size_t i = 0; i < length; i++)
		require(part->why[i] >= ' ' && part->why[i] <= '~');
	require(part->addresses >= data && part->addresses + part->size <= data + size);
	while (standstill_part_address(part, &address)) {
		require(address.length <= SUSPEND_ADDRESS_MAX && n-- > 0);
		used += 2 * sizeof(uint32_t) + address.length;
	}
	require(!n && used == part->size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* One that may be read to its last byte and no further. */
	char *copy = malloc(size ? size : 1);
	struct standstill_part part;
	size_t at = 0;
	ssize_t used;

	require(copy != NULL);
	if (size)
		memcpy(copy, data, size);
	while (at < size) {
		used = standstill_part_decode(copy + at, size - at, &part);
		require(used == -EPROTO || (used > 0 && (size_t)used <= size - at));
		if (used < 0)
			break;
		check_part(&part, copy + at, (size_t)used);
		at += (size_t)used;
	}
	free(copy);
	return 0;
}
