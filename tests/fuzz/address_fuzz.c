// SPDX-License-Identifier: BSD-3-Clause
/*
 * Any bytes as a published address: of the context, and of pm-udp. The length and the node are made
 * right as well, so that the sections are reached; what is found has to lie inside, what is refused
 * is not written.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "pm-udp/addr.h"
#include "pmcore/device/address.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NODE 0xdeadbeef

static void require(int cond)
{
	if (!cond)
		abort();
}

static void unpack(const uint8_t *data, size_t size)
{
	struct pmu_address address, before;
	uint8_t again[PMU_BLOB_MAX];

	memset(&address, 0x55, sizeof(address));
	before = address;
	if (pmu_addr_unpack(data, size, &address)) {
		require(!memcmp(&address, &before, sizeof(before)));
		return;
	}
	require(address.port && address.n_rails >= 1 && address.n_rails <= PM_RAILS_MAX);
	for (uint32_t r = 0; r < address.n_rails; r++)
		require(address.rails[r].prefix <= 32 && !(address.rails[r].payload & 7) &&
			address.rails[r].payload <= PMU_PAYLOAD_MAX);
	require(pmu_addr_pack(&address, again, sizeof(again)) == (int)size);
	require(!memcmp(again, data, size));
}

static void find(const uint8_t *data, size_t size)
{
	static const char *const names[] = {"self", "shmem", "udp", "ethernet", ""};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const void *part;
		size_t len;

		if (address_find(data, size, names[i], &part, &len))
			continue;
		require((const uint8_t *)part >= data + ADDRESS_HEADER + ADDRESS_SECTION &&
			(const uint8_t *)part + len <= data + size);
		unpack(part, len);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size + 1);
	uint8_t right[ADDRESS_HEADER];

	require(copy != NULL);
	if (size)
		memcpy(copy, data, size);
	if (!address_check(copy, size, NODE))
		find(copy, size);
	unpack(copy, size);
	if (size >= ADDRESS_HEADER && size <= 0xffff) {
		require(address_begin(right, sizeof(right), NODE) == ADDRESS_HEADER);
		right[1] = copy[1];
		right[2] = (uint8_t)size;
		right[3] = (uint8_t)(size >> 8);
		memcpy(copy, right, sizeof(right));
		if (!address_check(copy, size, NODE))
			find(copy, size);
	}
	free(copy);
	return 0;
}
