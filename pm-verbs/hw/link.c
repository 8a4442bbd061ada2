// SPDX-License-Identifier: BSD-3-Clause
/*
 * link - what all parts of a link use: its random numbers, and the note of what a device refused.
 */
#include "pm-verbs/hw/link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t pmv_random(struct pmv_link *link)
{
	uint64_t z = link->rng += 0x9e3779b97f4a7c15ull; /* splitmix64 */

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

void pmv_note_refusal(struct pmv_link *link, const char *what, int err)
{
	link->n_refusals++;
	snprintf(link->refusal, sizeof(link->refusal), "%s: %s", what, strerror(abs(err)));
}
