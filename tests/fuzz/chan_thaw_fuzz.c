// SPDX-License-Identifier: BSD-3-Clause
/*
 * Any bytes as a saved engine. The checksum, the length and the node are made right, so that what
 * is behind them is reached; an engine that took the state has to be sound and to go on working.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "pmcore/channel/freeze.h"
#include "pmcore/util/crc32c.h"
#include "tests/fuzz/rig.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void make_right(uint8_t *blob, size_t size)
{
	const size_t covered = offsetof(struct freeze_head, bytes);
	struct freeze_head head;

	memcpy(&head, blob, sizeof(head));
	head.magic = FREEZE_MAGIC;
	head.version = FREEZE_VERSION;
	head.bytes = size;
	head.self = RIG_SELF;
	memcpy(blob, &head, sizeof(head));
	head.crc = crc32c(0, blob + covered, size - covered);
	memcpy(blob, &head, sizeof(head));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rig *rig = rig_create_idle();
	uint8_t *blob = malloc(size + 1);
	int rc;

	memcpy(blob, data, size);
	if (chan_thaw(rig_chan(rig), blob, size, rig_resolve, rig) == 0 && size < 40)
		abort();
	rig_destroy(rig);
	if (size >= sizeof(struct freeze_head)) {
		make_right(blob, size);
		rig = rig_create_idle();
		rc = chan_thaw(rig_chan(rig), blob, size, rig_resolve, rig);
		if (rc == 0) {
			chan_check(rig_chan(rig));
			rig_wait(rig, 1000000);
			rig_wait(rig, 1000000000);
		}
		rig_destroy(rig);
	}
	free(blob);
	return 0;
}
