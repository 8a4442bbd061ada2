// SPDX-License-Identifier: BSD-3-Clause
/*
 * Any bytes as the address of a packet device: what is let through encodes to the same, and ways
 * lead to rails that are there.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "pm-verbs/datagram/address.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pmvd_address ours = {.n_rails = 3}, theirs;
	uint8_t to[PM_RAILS_MAX] = {0}, again[PMVD_ADDRESS_MAX];
	char why[160];
	uint32_t rails;

	if (pmvd_address_decode(data, size, &theirs))
		return 0;
	if (pmvd_address_encode(&theirs, again, sizeof(again)) != (int)size ||
	    memcmp(again, data, size))
		abort();
	/* the last one is closed */
	for (int i = 0; i < 2; i++)
		ours.rails[i] = (struct pmv_end){.mtu = 1024, .protocol = PMV_ROCE_V2};
	rails = pmvd_address_ways(&ours, &theirs, to, why, sizeof(why));
	if (rails > 3)
		abort();
	for (int i = 0; i < 2; i++)
		if (rails >> i & 1 && (to[i] >= theirs.n_rails || theirs.rails[to[i]].mtu != 1024))
			abort();
	return 0;
}
