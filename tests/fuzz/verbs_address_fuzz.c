// SPDX-License-Identifier: BSD-3-Clause
/*
 * Any bytes as the address of a link: what is let through encodes to the same, and has ways both
 * sides agree on.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "pm-verbs/hw/address.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pmv_address ours = {.n_rails = 2, .buffer_bytes = 4096}, theirs;
	struct pmv_pair there[PM_RAILS_MAX], back[PM_RAILS_MAX];
	uint8_t again[256];
	char why[200];
	int n;

	if (pmv_address_decode(data, size, &theirs))
		return 0;
	if (pmv_address_encode(&theirs, again, sizeof(again)) != (int)size ||
	    memcmp(again, data, size))
		abort();
	for (int i = 0; i < 2; i++)
		ours.rails[i] = (struct pmv_end){.mtu = 1024, .protocol = PMV_ROCE_V2};
	n = pmv_address_pairs(&ours, &theirs, true, there, why, sizeof(why));
	if (n > PM_RAILS_MAX ||
	    n != pmv_address_pairs(&theirs, &ours, false, back, why, sizeof(why)))
		abort();
	for (int i = 0; i < n; i++)
		if (there[i].ours >= 2 || there[i].theirs >= theirs.n_rails ||
		    there[i].ours != back[i].theirs || there[i].theirs != back[i].ours)
			abort();
	return 0;
}
