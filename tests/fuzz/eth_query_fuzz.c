// SPDX-License-Identifier: BSD-3-Clause
/*
 * Any bytes as a control frame: what eth_query_decode lets through is in range and packs to the
 * same again.
 */
#include <arpa/inet.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "pm-ethernet/query.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t first[ETH_QUERY_BYTES], second[ETH_QUERY_BYTES];
	struct eth_query query, twice;

	if (eth_query_decode(data, size, htons(ETH_TYPE_DEFAULT), &query) != ETH_DROP_NONE)
		return 0;
	if (query.rail >= ETH_RAILS || query.n_rails > ETH_RAILS || query.rail >= query.n_rails ||
	    query.src_host == ETH_QUERY_ANYONE || query.mtu > ETH_QUERY_MTU_MAX ||
	    strlen(query.rail_name) >= sizeof(query.rail_name) ||
	    strlen(query.host_name) >= sizeof(query.host_name))
		abort();
	eth_query_put(first, &query, htons(ETH_TYPE_DEFAULT));
	if (eth_query_decode(first, sizeof(first), htons(ETH_TYPE_DEFAULT), &twice))
		abort();
	eth_query_put(second, &twice, htons(ETH_TYPE_DEFAULT));
	if (memcmp(first, second, sizeof(first)))
		abort();
	return 0;
}
