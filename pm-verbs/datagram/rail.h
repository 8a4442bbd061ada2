/* SPDX-License-Identifier: BSD-3-Clause */
/* rail - what is opened of a port. */
#ifndef PM_VERBS_DATAGRAM_RAIL_H
#define PM_VERBS_DATAGRAM_RAIL_H

#include "pm-verbs/datagram/device.h"

/*
 * In this order: @device, for entry @gid of @port; then, when all ports are known, what is needed
 * of it.
 */
int pmvd_rail_take(struct pmvd_dev *d, struct pmvd_rail *rail, const struct pmv_port *port, int gid,
		   struct ibv_device *device);
int pmvd_rail_open(struct pmvd_dev *d, struct pmvd_rail *rail);
/* Also of one that is half open; the buffers stay. */
void pmvd_rail_close(struct pmvd_dev *d, struct pmvd_rail *rail);
/* Starts a failed one again with the same number; what was under way is lost. */
void pmvd_rail_restart(struct pmvd_dev *d, struct pmvd_rail *rail);

#endif
