// SPDX-License-Identifier: BSD-3-Clause
/* region - exported memory. */
#include "pmcore/tools/pmtest/region.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pmcore/tools/common/message.h"

#define PAGE 4096u

char *region_memory(size_t len)
{
	size_t room = (len + PAGE - 1) / PAGE * PAGE;
	char *mem = aligned_alloc(PAGE, room ? room : PAGE);

	if (mem)
		memset(mem, 0, room);
	else
		message_error("no memory for %zu bytes of test data", len);
	return mem;
}

int region_export(struct session *s, struct region *region, size_t len, uint64_t seed)
{
	int err;

	region_withdraw(s, region);
	region->mem = region_memory(len);
	if (!region->mem)
		return -ENOMEM;
	region->len = len;
	pattern_fill(region->mem, len, seed, 0);
	err = pmMLock(s->ctx, region->mem, len, &region->handle);
	if (!err)
		return 0;
	free(region->mem);
	region->mem = NULL;
	return session_failed(s, "pmMLock", s->self, err);
}

void region_withdraw(struct session *s, struct region *region)
{
	if (!region->mem)
		return;
	pmMUnlock(s->ctx, &region->handle);
	free(region->mem);
	*region = (struct region){.mem = NULL};
}
