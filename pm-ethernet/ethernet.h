/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ethernet - the packet device on raw Ethernet frames: AF_XDP sockets that pm-ethernetd hands out.
 * Options: ethernet.socket, ethernet.attach, ethernet.rails (see conf.h).
 */
#ifndef PM_ETHERNET_ETHERNET_H
#define PM_ETHERNET_ETHERNET_H

#include "pm_device.h"

extern const struct pm_packet_ops pm_ethernet_ops;

#endif
