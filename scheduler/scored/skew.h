/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * skew - how far a host's clock is off ours, by what its messages say. Knows neither hosts nor the
 * time. A message is always late, never early, and sometimes by seconds: of what the last ones say
 * the highest is nearest to the truth.
 */
#ifndef SCHEDULER_SCORED_SKEW_H
#define SCHEDULER_SCORED_SKEW_H

#include <stdbool.h>
#include <stdint.h>

#define SKEW_MESSAGES 8        /* of which the least delayed tells */
#define SKEW_TOLD_NS 5000000ll /* clocks further apart than this spoil switches, and are told */

struct skew {
	int64_t seen_ns[SKEW_MESSAGES]; /* its clock less ours and the message's delay */
	unsigned int n_seen;            /* ever; the next one's place modulo SKEW_MESSAGES */
	int64_t ns;                     /* its clock less ours: the highest of them */
};

/*
 * A host is there anew. No clock is called slow before SKEW_MESSAGES have said so: the first of
 * them, the registration, is the latest of all.
 */
void skew_begin(struct skew *skew);

/*
 * Takes the difference that the next message shows. Returns whether it has just become large enough
 * to be reported.
 */
bool skew_take(struct skew *skew, int64_t seen_ns);

#endif
