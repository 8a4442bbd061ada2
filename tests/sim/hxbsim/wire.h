/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wire - how long a pattern takes at least: the load of the busiest link when all data goes the
 * default way, divided evenly among lanes, at line rate and without acknowledgements.
 */
#ifndef HXBSIM_WIRE_H
#define HXBSIM_WIRE_H

#include "tests/sim/hxbsim/pattern.h"

struct wire_load {
	double seconds; /* of the busiest link */
	uint32_t host;  /* its end */
	uint32_t dim;   /* and dimension */
	double links;   /* crossed by a transfer, mean */
	double gbytes;  /* on all links together, heads included */
	uint64_t n;     /* transfers */
};

/* @bytes: on the wire, of each transfer. */
void wire_load(const struct pattern_plan *plan, double bytes, struct wire_load *ret);

#endif
