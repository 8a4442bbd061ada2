// SPDX-License-Identifier: BSD-3-Clause
/*
 * Any JSON as a wish for a lock: what is let through is within its bounds, and it comes out the
 * same twice.
 */
#include <errno.h>
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/proto/lock_wish.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int cond)
{
	if (!cond)
		abort();
}

static void check(const struct lock_wish *wish)
{
	require(wish->n_hosts >= 1 && wish->n_hosts <= LOCK_HOSTS_MAX);
	require(wish->count >= 1 && wish->count <= wish->n_hosts);
	require(strlen(wish->reason) <= LOCK_TEXT_MAX && strlen(wish->place) <= LOCK_TEXT_MAX);
	require(wish->lease_s >= LOCK_LEASE_MIN_S && wish->lease_s <= LOCK_LEASE_MAX_S);
}

static void check_again(const struct lock_wish *wish)
{
	json_t *first = lock_wish_encode(wish), *second;
	struct lock_wish *again = NULL;
	char why[128] = "";

	require(first != NULL);
	require(!lock_wish_decode(&again, first, why, sizeof(why)));
	second = lock_wish_encode(again);
	require(second && json_equal(first, second));
	lock_wish_free(again);
	json_decref(first);
	json_decref(second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *from = json_loadb((const char *)data, size,
				  JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);
	struct lock_wish *wish = NULL;
	char why[128] = "";
	int err;

	if (!from)
		return 0;
	err = lock_wish_decode(&wish, from, why, sizeof(why));
	json_decref(from);
	require(memchr(why, 0, sizeof(why)) != NULL);
	if (err) {
		require(err == -EINVAL && why[0] && !wish);
		return 0;
	}
	check(wish);
	check_again(wish);
	lock_wish_free(wish);
	return 0;
}
