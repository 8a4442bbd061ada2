/* SPDX-License-Identifier: BSD-3-Clause */
/* settings - what a run of hxbsim is asked to simulate. */
#ifndef HXBSIM_SETTINGS_H
#define HXBSIM_SETTINGS_H

#include "tests/sim/hxbnet.h"

enum pattern { ALL_TO_ALL, NEIGHBOUR, INCAST };

struct settings {
	const char *dims_text, *rate_text, *nic_rate_text, *pattern_text, *by_text;
	uint64_t lanes, mtu, buffer, latency_ns, relay_ns, react_ns, overhead, socket;
	uint64_t bytes;    /* of a message or read */
	uint64_t messages; /* of a transfer */
	uint64_t rounds;   /* 0 = chosen so that the run takes less than a minute */
	uint64_t depth;    /* rounds a host may be in at once */
	uint64_t senders;  /* of incast, 0 = all hosts */
	uint64_t window, credit, pull_bytes; /* of the channel */
	uint64_t seed;
	double limit; /* virtual seconds */
	bool json;
	/* from the texts */
	enum pattern pattern;
	bool is_read; /* data is fetched by one-sided reads, else sent in messages */
	struct hxbnet_config net;
};

const char *settings_pattern_name(const struct settings *settings);
/* 0; -ECANCELED: help or version was printed; -EINVAL after saying why. */
int settings_read(int argc, char **argv, struct settings *ret_settings);

#endif
