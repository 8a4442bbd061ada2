/* SPDX-License-Identifier: BSD-3-Clause */
/* totals - what one node has done and found, and how it is shown. */
#ifndef SCSTEST_TOTALS_H
#define SCSTEST_TOTALS_H

#include <stdbool.h>
#include <stdint.h>

#include "pmcore/tools/scstest/settings.h"

/* Sent to node 0 as it lies. */
struct totals {
	uint64_t sent, sent_bytes;          /* datagrams of all kinds, and their bytes */
	uint64_t received, received_bytes;  /* the same, that came */
	uint64_t reads, read_bytes;         /* finished */
	uint64_t writes, write_bytes;       /* finished and verified by the other side */
	uint64_t missing, late, duplicates; /* struct ledger, over all senders */
	uint64_t corrupt;                   /* datagrams, reads and places with wrong bytes */
	uint64_t elapsed_ns;                /* from the first operation to the last END */
};

void totals_add(struct totals *sum, const struct totals *part);
bool totals_are_clean(const struct totals *totals);
/* The table or JSON object of all nodes. @is_complete: no node is missing. */
void totals_print(const struct totals *nodes, uint32_t n, const struct settings *settings,
		  bool is_complete);

#endif
