// SPDX-License-Identifier: BSD-3-Clause
/* Tests of pm-ethernet/daemon/clients.c that need no connection. */
#include "pm-ethernet/daemon/clients.h"

#include <stdlib.h>

#include "tests/harness/tap.h"

TAP_TEST(ethd_clients_bound__a_part_of_few_descriptors)
{
	static const uint32_t files[] = {ETHD_FILES, 8192, 4096, 1024, 160, 16},
			      contexts[] = {ETHD_UID_CONTEXTS, ETHD_UID_CONTEXTS, 128, 32, 5, 1};
	struct ethd *d = calloc(1, sizeof(*d));

	must(d);
	for (int i = 0; i < 6; i++) {
		ethd_clients_bound(d, files[i]);
		is_int(d->uid_contexts, contexts[i]);
		is_int(d->n_files, files[i]);
	}
	free(d);
}
