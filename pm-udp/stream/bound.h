/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bound - how many bytes several owners together may have on the way to us. The switch port before
 * us has a queue of unknown length. So the bound grows by half from round to round until packets
 * get lost, gives way then, and comes near again slowly. The bound of packets does the same
 * (pmcore/channel/grant.c, which names the sources). Pure.
 */
#ifndef PM_UDP_STREAM_BOUND_H
#define PM_UDP_STREAM_BOUND_H

#include <stdbool.h>
#include <stdint.h>

/* The least for each rail: 23 packets with the gap before them, which any port can hold. */
#define PMT_BOUND_LEAST (32u << 10)
#define PMT_BOUND_MOST (64u << 20)

struct pmt_bound {
	uint64_t bytes; /* may be under way */
	uint64_t least; /* ... whatever is lost */
	/* in this round, which ends after as many bytes as the bound had when it began */
	uint64_t arrived;
	uint64_t round; /* bytes of it */
	uint32_t calm;  /* rounds without loss, in a row */
	bool is_starting;
	bool is_settling; /* all of this round was asked for before the bound gave way */
};

void pmt_bound_init(struct pmt_bound *b, uint32_t rails);
/* So many bytes have come, and of what came since the last call packets were lost, or not. */
void pmt_bound_arrived(struct pmt_bound *b, uint64_t bytes, bool is_lossy);

#endif
