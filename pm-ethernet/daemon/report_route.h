/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * report_route - the way frames to a host of the hypercrossbar take from here now. The first link
 * is as the kernel programs choose it. Those behind it are as they would choose with all links open
 * that we don't know to be dead.
 */
#ifndef PM_ETHERNET_DAEMON_REPORT_ROUTE_H
#define PM_ETHERNET_DAEMON_REPORT_ROUTE_H

#include <jansson.h>

#include "pm-ethernet/daemon/ethd.h"

/* The reason why our link by a rail to a neighbour is closed, as far as it is known. */
enum ethd_closed {
	ETHD_CLOSED_RAIL, /* our rail is down */
	ETHD_CLOSED_LINE, /* nobody of its line answers */
	ETHD_CLOSED_HOST, /* it answers on none of our rails to it */
	ETHD_CLOSED_LINK, /* it does, on others */
};

/* Of the neighbour at a coordinate, which is closed on @rail. */
enum ethd_closed ethd_route_closed(const struct ethd *d, uint32_t rail, uint32_t at);

/*
 * Fills @ret with what pm-ethernetctl(8) describes. @about: the name of a host, its id, or its
 * coordinates with commas. -EINVAL with a sentence for what is none, -EOPNOTSUPP without a grid,
 * -ENOMEM.
 */
int ethd_report_route(const struct ethd *d, const char *about, json_t *ret, char *why,
		      size_t why_size);

#endif
