// SPDX-License-Identifier: BSD-3-Clause
/*
 * Any JSON as a host: what is let through is within its bounds, and it comes out the same twice;
 * else a sentence.
 */
#include <errno.h>
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/proto/host.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int cond)
{
	if (!cond)
		abort();
}

static void check(const struct host *host)
{
	require(host->name[0] && host->address[0] && host->version[0] && host->kernel[0]);
	require(host->n_cores >= 1 && host->n_cores <= HOST_CORES_MAX);
}

static void check_again(const struct host *host)
{
	json_t *first = host_encode(host), *second;
	struct host *again = NULL;
	char why[128] = "";

	require(first != NULL);
	require(!host_decode(&again, first, why, sizeof(why)));
	second = host_encode(again);
	require(second && json_equal(first, second));
	host_free(again);
	json_decref(first);
	json_decref(second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *from = json_loadb((const char *)data, size,
				  JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);
	struct host *host = NULL;
	char why[128] = "";
	int err;

	if (!from)
		return 0;
	err = host_decode(&host, from, why, sizeof(why));
	json_decref(from);
	require(memchr(why, 0, sizeof(why)) != NULL);
	if (err) {
		require(err == -EINVAL && why[0] && !host);
		return 0;
	}
	check(host);
	check_again(host);
	host_free(host);
	return 0;
}
