// SPDX-License-Identifier: BSD-3-Clause
/* Any JSON as an order: what is let through has its ranks in a row, and it comes out the same twice; else a sentence. */
#include <errno.h>
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/proto/order.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int cond)
{
	if (!cond)
		abort();
}

static void check(const struct order *order)
{
	char name[256];
	uint32_t next = 0;

	require(order->id && order->n_hosts && order->here < order->n_hosts);
	for (size_t i = 0; i < order->n_hosts; i++) {
		const struct order_host *host = &order->hosts[i];

		require(host->first == next && host->ranks && host->n_cores && host->name[0]);
		next += host->ranks;
	}
	require(next == order->job->ranks);
	order_namespace(order, UINT32_MAX, name, sizeof(name));
	require(strlen(name) < sizeof(name) - 1);
}

static void check_again(const struct order *order)
{
	json_t *first = order_encode(order, 0), *second;
	struct order *again = NULL;
	char why[128] = "";

	require(first != NULL);
	require(!order_decode(&again, first, why, sizeof(why)));
	second = order_encode(again, 0);
	require(second && json_equal(first, second));
	order_free(again);
	json_decref(first);
	json_decref(second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *from = json_loadb((const char *)data, size,
				  JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);
	struct order *order = NULL;
	char why[128] = "";
	int err;

	if (!from)
		return 0;
	err = order_decode(&order, from, why, sizeof(why));
	json_decref(from);
	require(memchr(why, 0, sizeof(why)) != NULL);
	if (err) {
		require(err == -EINVAL && why[0] && !order);
		return 0;
	}
	check(order);
	check_again(order);
	order_free(order);
	return 0;
}
