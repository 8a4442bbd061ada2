/* SPDX-License-Identifier: BSD-3-Clause */
/* report_grid - what the daemon knows of its hypercrossbar, as JSON for pm-ethernetctl. Only reads. */
#ifndef PM_ETHERNET_DAEMON_REPORT_GRID_H
#define PM_ETHERNET_DAEMON_REPORT_GRID_H

#include <jansson.h>

#include "pm-ethernet/daemon/ethd.h"
#include "pm-ethernet/daemon/peers.h"

/* Our place, our lines, what is wrong with the wiring; null without a grid. */
json_t *ethd_report_grid(const struct ethd *d);
/* Where a host stands; null if it has no place. */
json_t *ethd_report_place(const struct ethd *d, uint32_t id);

#endif
