// SPDX-License-Identifier: BSD-3-Clause
/*
 * link - what all parts of a link use: its random numbers, and the note of what a device refused.
 */
#include "pm-verbs/hw/link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pmcore/util/splitmix.h"

uint64_t pmv_random(struct pmv_link *link)
{
	return splitmix_next(&link->rng);
}

void pmv_note_refusal(struct pmv_link *link, const char *what, int err)
{
	link->n_refusals++;
	snprintf(link->refusal, sizeof(link->refusal), "%s: %s", what, strerror(abs(err)));
}
