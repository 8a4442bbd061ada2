/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pattern - who sends to whom in which round. Knows hosts and coordinates only.
 *
 *   all-to-all  in round r each host sends to the one shift[r] places further on, and gets from the
 *   one as far
 *               before: the pairwise exchange of MPI_Alltoall. With fewer rounds than hosts the
 *               shifts are a
 *               random sample, so each round loads the network as one of the whole exchange does.
 *   neighbour   every round the same: the two neighbours in each dimension, round the torus
 *   incast      every round the same: the senders, a random choice, send to one host
 */
#ifndef HXBSIM_PATTERN_H
#define HXBSIM_PATTERN_H

#include "tests/sim/hxbsim/settings.h"

struct pattern_plan {
	const struct settings *settings;
	uint32_t hosts, rounds, rounds_all; /* all: of the whole exchange, 0 = there is no such */
	uint32_t *shift;                    /* all-to-all: of each round */
	uint32_t root;                      /* incast */
	uint32_t *senders, n_senders;
	bool *is_sender; /* by host */
};

/* settings->rounds must be known. */
void pattern_init(struct pattern_plan *plan, const struct settings *settings);
void pattern_fini(struct pattern_plan *plan);
/* Hosts that @host sends to, or gets from, in a round; @ret has room for all hosts. */
uint32_t pattern_targets(const struct pattern_plan *plan, uint32_t host, uint32_t round,
			 uint32_t *ret);
uint32_t pattern_sources(const struct pattern_plan *plan, uint32_t host, uint32_t round,
			 uint32_t *ret);

#endif
