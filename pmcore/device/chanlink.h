/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * chanlink - makes a reliable link of a packet device by putting the channel engine on it. The only
 * place that sees both: it reads the clock, moves packets between the two, and turns device events
 * into engine events.
 */
#ifndef PM_DEVICE_CHANLINK_H
#define PM_DEVICE_CHANLINK_H

#include "pm_device.h"

/*
 * Opens @ops (with the interposers that env->conf asks for stacked on it) and an engine on top. The
 * link's operations are in (*ret_link)->ops.
 */
int chanlink_open(const struct pm_packet_ops *ops, const struct pm_device_env *env,
		  struct pm_link **ret_link);
/* Rails of the device below. */
uint32_t chanlink_rails(const struct pm_link *link);

#endif
