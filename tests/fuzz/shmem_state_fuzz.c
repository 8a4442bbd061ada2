// SPDX-License-Identifier: BSD-3-Clause
/*
 * Any bytes as the saved state of a shmem link. The magic word is made right too. A refused state
 * leaves nothing behind; an accepted one gives all its messages, with their bytes. There is no
 * segment below the link.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "pm-shmem/device.h"
#include "pm-shmem/shmem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MAGIC 0x3176617374687350ull /* of pm-shmem/state.c */

static void require(int cond)
{
	if (!cond)
		abort();
}

static int no_peers(void *arg, uint32_t node, struct pm_link_peer **ret_peer)
{
	(void)arg, (void)node, (void)ret_peer;
	return -EHOSTUNREACH;
}

/* Takes every message, compares it with where it stood, and gives it back. */
static void take_all(struct pms_link *link, const uint8_t *blob, size_t size)
{
	size_t at = sizeof(uint64_t);
	struct pm_inbound in;

	while (link->saved) {
		require(pms_saved_take(link, &in) == 1);
		require(at + 8 + in.len <= size && !memcmp(&in.src, blob + at, sizeof(in.src)));
		require(!memcmp(in.buf, blob + at + 8, in.len));
		at += 8 + ((in.len + 7) & ~7u);
		if (at & 8)
			pms_saved_release(link, (uint32_t)in.cookie);
	}
	require(at == size);
}

static void restore(const uint8_t *blob, size_t size)
{
	struct pms_link *link = calloc(1, sizeof(*link));
	struct stats_link stats = {0};
	int err;

	require(link != NULL);
	link->stats = &stats;
	link->saved_tail = &link->saved;
	err = pms_restore(&link->base, blob, size, no_peers, NULL);
	require(err == 0 || err == -EINVAL);
	if (err)
		require(!link->saved);
	else
		take_all(link, blob, size);
	pms_saved_fini(link);
	free(link);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint64_t magic = MAGIC;
	uint8_t *blob = malloc(size + 1);

	require(blob != NULL);
	if (size)
		memcpy(blob, data, size);
	restore(blob, size);
	if (size >= sizeof(magic)) {
		memcpy(blob, &magic, sizeof(magic));
		restore(blob, size);
	}
	free(blob);
	return 0;
}
