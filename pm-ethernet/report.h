/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * report - what pm-ethernetd can be asked about itself (ETH_OP_REPORT), by number. The answer is
 * one JSON object, described in pm-ethernetctl(8); its writer is daemon/report.c, its reader ctl/.
 */
#ifndef PM_ETHERNET_REPORT_H
#define PM_ETHERNET_REPORT_H

enum eth_topic {
	ETH_TOPIC_STATUS = 1,   /* the daemon, its mode, its contexts */
	ETH_TOPIC_RAILS = 2,    /* our NICs */
	ETH_TOPIC_PEERS = 3,    /* who answers on which rail */
	ETH_TOPIC_COUNTERS = 4, /* frames taken and dropped, by rail and reason */
	ETH_TOPIC_ROUTE = 5,    /* the way to the host that the request names, in a hypercrossbar */
};

#endif
