// SPDX-License-Identifier: BSD-3-Clause
/*
 * Any bytes as the saved state of a context that has the device self. Magic, node and length are
 * made right, so that what is behind them is reached. A refused state leaves nothing to receive; an
 * accepted one gives datagrams that can be read and released, and the context goes on working.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "pm.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NODE 5
#define HEAD 32 /* magic, node, count, bytes of the unread datagrams, bytes of all */
#define NODE_AT 8
#define TOTAL_AT 24

static void require(int cond)
{
	if (!cond)
		abort();
}

static pmContext open_self(void)
{
	struct pmOptions options = {
		.size = sizeof(options), .self = NODE, .config = "devices=self"};
	pmContext ctx;

	require(!pmOpenContext(&options, &ctx));
	return ctx;
}

/* Reads whatever there is; the number of datagrams. */
static int drain(pmContext ctx)
{
	volatile uint8_t sum = 0;
	int n = 0, err;
	pmDesc desc;
	pmNode src;
	size_t len;
	void *buf;

	while (!(err = pmReceive(ctx, &buf, &len, &src, &desc))) {
		require(len > 0);
		for (size_t i = 0; i < len; i++)
			sum ^= ((const uint8_t *)buf)[i];
		(void)sum;
		require(!pmReleaseReceiveBuffer(ctx, desc));
		n++;
	}
	require(err == ENOBUFS);
	return n;
}

static void restore(const uint8_t *blob, size_t size)
{
	pmContext ctx = open_self();
	int err = pmRestoreContext(ctx, blob, size), n = drain(ctx);

	require(err == 0 || err == EINVAL || err == ENOMEM);
	require(err != EINVAL || n == 0);
	require(!pmPost(ctx, NODE, "works", 5));
	require(drain(ctx) == 1);
	require(!pmCloseContext(ctx));
}

/* Magic and layout are those of a state that was saved here. */
static void make_right(uint8_t *blob, size_t size)
{
	const uint64_t total = size;
	pmContext ctx = open_self();
	uint8_t saved[512];
	size_t len;

	require(!pmQuiesce(ctx, 1000) && !pmSaveContext(ctx, saved, sizeof(saved), &len));
	require(!pmCloseContext(ctx));
	memcpy(blob, saved, NODE_AT + sizeof(uint32_t));
	memcpy(blob + TOTAL_AT, &total, sizeof(total));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *blob = malloc(size + 1);

	require(blob != NULL);
	if (size)
		memcpy(blob, data, size);
	restore(blob, size);
	if (size >= HEAD) {
		make_right(blob, size);
		restore(blob, size);
	}
	free(blob);
	return 0;
}
