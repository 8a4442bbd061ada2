// SPDX-License-Identifier: BSD-3-Clause
/*
 * Any datagrams as what the other end of a taken node sends: u8 length, bytes, and so on. The
 * node's first error ends it. No message is longer than the node's largest, and there is no more in
 * them than was sent.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "pmcore/device/takeover_private.h"

#define LARGEST 200 /* bytes of a message */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* One datagram; whether the next is looked at, too. */
static bool feed(struct taken *t, const uint8_t *bytes, uint8_t len)
{
	char name[CONF_NAME_MAX];
	struct taken_in *in = takeover_in(t->node->node, len);

	if (!in)
		abort();
	memcpy(in->bytes, bytes, len);
	if (takeover_mark(in->data, len, name) && !memchr(name, 0, sizeof(name)))
		abort();
	return !takeover_take(t, in);
}

/* The bytes of all messages that are ready. */
static size_t take_all(struct taken_in_list *ready)
{
	struct taken_in *in;
	size_t sum = 0;

	while ((in = taken_in_take(ready))) {
		if (!in->len || in->len > LARGEST || in->src != 1)
			abort();
		sum += in->len;
		free(in);
	}
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct stats_link stats = {0};
	struct takeover takeover = {.stats = &stats};
	struct composite_node node = {.node = 1, .mtu = LARGEST};
	struct taken t = {.takeover = &takeover, .node = &node};
	bool is_sound = true;

	taken_in_init(&takeover.ready);
	for (size_t at = 0; at < size && is_sound; at += 1 + data[at]) {
		if (data[at] > size - at - 1)
			break;
		is_sound = feed(&t, data + at + 1, data[at]);
		if (is_sound && t.parts.left >= LARGEST)
			abort();
	}
	if (take_all(&takeover.ready) > size)
		abort();
	free(t.parts.message);
	return 0;
}
