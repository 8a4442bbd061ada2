/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * restorable - whether CRIU could write down processes with such holdings, and could restore them
 * on any host. Pure. The rules are those of CRIU 4.2 and some that are stricter: CRIU also writes
 * down what it could only restore in this place, such as a connection to another host.
 * docs/design/checkpoint.md has the table.
 */
#ifndef SCHEDULER_SCNODED_HOLDINGS_RESTORABLE_H
#define SCHEDULER_SCNODED_HOLDINGS_RESTORABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "scheduler/scnoded/holdings/holdings.h"
#include "scheduler/scnoded/holdings/refusals.h"

#define RESTORABLE_GHOST_BYTES (1u << 20) /* CRIU's own limit without --ghost-limit */

struct restorable_terms {
	uint64_t job;
	const char *host;
	uint64_t ghost_bytes; /* of a file without a name: CRIU's --ghost-limit */
	bool keeps_locks;     /* CRIU gets --file-locks */
};

/* No refusal, not even an uncounted one: yes. Fills a zeroed @ret; refusals_free() it. */
void restorable_judge(const struct holdings *h, const struct restorable_terms *terms,
		      struct refusals *ret);

#endif
