// SPDX-License-Identifier: BSD-3-Clause
/* Any bytes as a datagram of an atomic operation: what is let through writes the same bytes. */
#include <stdlib.h>
#include <string.h>

#include "pmcore/util/atomic.h"
#include "pmcore/wire/atomic.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t again[WIRE_ATOMIC_BYTES];
	struct wire_atomic m;

	if (!wire_atomic_get(data, (uint32_t)size, &m))
		return 0;
	if (m.kind == WIRE_ATOMIC && !atomic_is_op(m.op))
		abort();
	if (wire_atomic_put(again, &m) != size || memcmp(again, data, size))
		abort();
	return 0;
}
