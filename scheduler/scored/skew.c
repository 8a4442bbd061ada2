// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scored/skew.h"

#include <stdlib.h>

void skew_begin(struct skew *skew)
{
	*skew = (struct skew){0};
}

bool skew_take(struct skew *skew, int64_t seen_ns)
{
	int64_t was = skew->ns;

	skew->seen_ns[skew->n_seen++ % SKEW_MESSAGES] = seen_ns;
	skew->ns = seen_ns;
	for (unsigned int i = 0; i < SKEW_MESSAGES; i++)
		if (skew->seen_ns[i] > skew->ns)
			skew->ns = skew->seen_ns[i];
	return llabs(skew->ns) > SKEW_TOLD_NS && llabs(was) <= SKEW_TOLD_NS;
}
