// SPDX-License-Identifier: BSD-3-Clause
/*
 * Any JSON as a request for a lock: what is let through is within its bounds, and it comes out the
 * same twice.
 */
#include <errno.h>
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/proto/lock_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int cond)
{
	if (!cond)
		abort();
}

static void check(const struct lock_request *request)
{
	require(request->n_hosts >= 1 && request->n_hosts <= LOCK_HOSTS_MAX);
	require(request->count >= 1 && request->count <= request->n_hosts);
	require(strlen(request->reason) <= LOCK_TEXT_MAX &&
		strlen(request->place) <= LOCK_TEXT_MAX);
	require(request->lease_s >= LOCK_LEASE_MIN_S && request->lease_s <= LOCK_LEASE_MAX_S);
}

static void check_again(const struct lock_request *request)
{
	json_t *first = lock_request_encode(request), *second;
	struct lock_request *again = NULL;
	char why[128] = "";

	require(first != NULL);
	require(!lock_request_decode(&again, first, why, sizeof(why)));
	second = lock_request_encode(again);
	require(second && json_equal(first, second));
	lock_request_free(again);
	json_decref(first);
	json_decref(second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *from = json_loadb((const char *)data, size,
				  JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);
	struct lock_request *request = NULL;
	char why[128] = "";
	int err;

	if (!from)
		return 0;
	err = lock_request_decode(&request, from, why, sizeof(why));
	json_decref(from);
	require(memchr(why, 0, sizeof(why)) != NULL);
	if (err) {
		require(err == -EINVAL && why[0] && !request);
		return 0;
	}
	check(request);
	check_again(request);
	lock_request_free(request);
	return 0;
}
