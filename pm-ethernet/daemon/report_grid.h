/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * report_grid - what the daemon knows of its hypercrossbar, as JSON for pm-ethernetctl. Only reads.
 */
#ifndef PM_ETHERNET_DAEMON_REPORT_GRID_H
#define PM_ETHERNET_DAEMON_REPORT_GRID_H

#include <jansson.h>

#include "pm-ethernet/daemon/grid.h"

/* Our place, our lines, what is wrong with the wiring; null without a grid. */
json_t *ethd_report_grid(const struct ethd *d);
/* Why a neighbour on @rail is not open. */
const char *ethd_report_closed(const struct ethd *d, uint32_t rail, const struct ethd_neighbour *n);
/* Where a host stands; null if it has no place. */
json_t *ethd_report_place(const struct ethd *d, uint32_t id);

#endif
