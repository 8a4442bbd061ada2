// SPDX-License-Identifier: BSD-3-Clause
/* shared - see shared.h. */
#include <stdlib.h>

#include "scheduler/proto/shared.h"

struct shared *shared_new(char *bytes, size_t size)
{
	struct shared *shared = bytes ? malloc(sizeof(*shared)) : NULL;

	if (!shared) {
		free(bytes);
		return NULL;
	}
	*shared = (struct shared){.n_holders = 1, .size = size, .bytes = bytes};
	return shared;
}

struct shared *shared_hold(struct shared *shared)
{
	shared->n_holders++;
	return shared;
}

void shared_release(struct shared *shared)
{
	if (!shared || --shared->n_holders)
		return;
	free(shared->bytes);
	free(shared);
}
