/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fault - a lossy wire on demand: an interposer that stacks on any packet device and mistreats the
 * packets that it receives, by a seeded script, so that a run can be repeated. Sent packets pass
 * untouched.
 *
 * Script (option "fault"): SEED then any number of :ACTION=RATE[/HOW][@RAIL]
 *   drop=1%        the packet is gone
 *   dup=0.5%       it comes twice
 *   corrupt=0.1%   one bit of it is flipped (seen by the channel only with channel.crc=1)
 *   reorder=2%/3   it comes after up to 3 later packets of its rail; 1..64, default 3
 *   delay=5%/2ms   it and all behind it on its rail come that much later; us or ms, default 1ms
 * Rates are percent (with %) or parts per million (without). Without @RAIL an action is for every
 * rail; one with a rail overrides it there. Each node draws its own numbers from seed and node.
 */
#ifndef PM_DEVICE_FAULT_H
#define PM_DEVICE_FAULT_H

#include "pm_device.h"

enum fault_action {
	FAULT_DROP,
	FAULT_DUP,
	FAULT_CORRUPT,
	FAULT_REORDER,
	FAULT_DELAY,
	FAULT_ACTIONS
};

/* The actions on one rail. */
struct fault_rules {
	uint32_t ppm[FAULT_ACTIONS]; /* probability, parts per million */
	uint32_t distance;           /* reorder: later packets that may overtake, 1..64 */
	uint64_t delay_ns;
};

struct fault_script {
	uint64_t seed;
	struct fault_rules rails[PM_RAILS_MAX];
};

/*
 * 0, or -EINVAL with a sentence in @why (what is wrong, what to write); *ret_script is unchanged
 * then.
 */
int fault_parse(const char *text, struct fault_script *ret_script, char *why, size_t why_size);

extern const struct pm_packet_ops pm_fault_ops;

#endif
