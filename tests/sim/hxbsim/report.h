/* SPDX-License-Identifier: BSD-3-Clause */
/* report - what a run of hxbsim shows. */
#ifndef HXBSIM_REPORT_H
#define HXBSIM_REPORT_H

#include "tests/sim/hxbsim/traffic.h"
#include "tests/sim/hxbsim/wire.h"

struct report {
	double seconds; /* virtual, until the last byte had come */
	double real;    /* seconds */
	double rate; /* bytes per second and host, mean over those that get or, in incast, send */
	double fairness;     /* Jain's index of their rates */
	double far_fairness; /* of those that differ from incast's receiver in all coordinates */
	double slowest, fastest; /* of the rates, to the mean */
	uint64_t retransmits, timeouts;
	double memory_mean, memory_max; /* bytes of an engine, peers included */
	double peers;                   /* of an engine, mean */
	double resident;                /* bytes of the simulator, per host */
	struct hxbnet_count count;
	struct wire_load wire;
};

/* When the traffic is done, and the engines are still there. */
void report_gather(const struct traffic *traffic, struct report *report);
void report_print(const struct settings *settings, const struct pattern_plan *plan,
		  const struct report *report);

#endif
