// SPDX-License-Identifier: BSD-3-Clause
/*
 * Any JSON as an order: what is let through has its ranks in a row, and it comes out the same
 * twice; else a sentence.
 */
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

/* As text with the place beside it, the same comes out. */
static void check_text(const struct order *order)
{
	json_t *here = json_integer((json_int_t)order->here), *first, *second;
	struct shared *text = order_encode_text(order);
	char why[128] = "";
	struct order *again = NULL;

	require(here && text);
	require(!order_decode_text(&again, text->bytes, text->size, here, why, sizeof(why)));
	require(again->here == order->here);
	first = order_encode(order, 0);
	second = order_encode(again, 0);
	require(first && second && json_equal(first, second));
	json_decref(first);
	json_decref(second);
	json_decref(here);
	order_free(again);
	shared_release(text);
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

/* A text without its host's number beside it is rejected, whatever the text is. */
static void check_placeless(const char *text, size_t size)
{
	struct order *order = NULL;
	char why[128] = "";

	require(order_decode_text(&order, text, size, NULL, why, sizeof(why)) == -EINVAL);
	require(why[0] && memchr(why, 0, sizeof(why)) && !order);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *from = json_loadb((const char *)data, size,
				  JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);
	struct order *order = NULL;
	char why[128] = "";
	int err;

	check_placeless((const char *)data, size);
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
	check_text(order);
	order_free(order);
	return 0;
}
